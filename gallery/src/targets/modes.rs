//! Several modes, of the slow variables and of the fast ones.

use super::{breathing, log_sum, winding};
use crate::known::{Known, following};
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        pair("near2", 6.0, vec![0.0]),
        pair("far2", 20.0, vec![0.0]),
        spread("far2starts", 20.0),
        triangle(),
        unequal(),
        y_modes("ymodes", 6.0),
        y_modes("yfar", 20.0),
    ]
}

fn two(x: f64, apart: f64) -> f64 {
    log_sum(&[(0.3, -0.5 * x * x), (0.7, -0.5 * (x - apart).powi(2))])
}

fn draw_two(apart: f64) -> impl Fn(&mut Rng) -> Vec<f64> + Send + Sync {
    move |rng| {
        let side = if rng.uniform() < 0.3 { 0.0 } else { apart };
        vec![side + rng.normal()]
    }
}

/// Two modes with weights 0.3 and 0.7, all chains begun in the smaller one.
fn pair(name: &str, apart: f64, start: Vec<f64>) -> Known {
    following(
        name,
        &format!(
            "two modes {apart} sd apart, weights 0.3 and 0.7, all chains begun in the smaller"
        ),
        start,
        2,
        move |x| two(x[0], apart),
        draw_two(apart),
        winding,
        breathing,
    )
}

/// The same with chains begun in both.
fn spread(name: &str, apart: f64) -> Known {
    let target = pair(name, apart, vec![0.0]);
    target.starting(move |rng| {
        let x = if rng.uniform() < 0.5 {
            0.5
        } else {
            apart - 0.5
        };
        (vec![x], vec![winding(&[x], 0), winding(&[x], 1)])
    })
}

/// Three modes of two slow variables, of different widths.
fn triangle() -> Known {
    const PARTS: [(f64, [f64; 2], f64); 3] = [
        (0.5, [0.0, 0.0], 1.0),
        (0.3, [8.0, 0.0], 0.5),
        (0.2, [3.0, 9.0], 1.5),
    ];
    following(
        "triangle",
        "three modes of two slow variables, of different widths",
        vec![0.5, -0.5],
        2,
        |x| {
            let terms = PARTS.map(|(weight, at, width)| {
                let square = (x[0] - at[0]).powi(2) + (x[1] - at[1]).powi(2);
                (weight / (width * width), -0.5 * square / (width * width))
            });
            log_sum(&terms)
        },
        |rng| {
            let u = rng.uniform();
            let (_, at, width) = PARTS[usize::from(u > 0.5) + usize::from(u > 0.8)];
            vec![at[0] + width * rng.normal(), at[1] + width * rng.normal()]
        },
        winding,
        breathing,
    )
}

/// A narrow mode beside a wide one.
fn unequal() -> Known {
    following(
        "unequal",
        "a wide mode, and a narrow one of a tenth of the mass",
        vec![0.0],
        2,
        |x| {
            log_sum(&[
                (0.9, -0.5 * x[0] * x[0]),
                // A tenth of the mass over a tenth of the width.
                (1.0, -0.5 * ((x[0] - 5.0) / 0.1).powi(2)),
            ])
        },
        |rng| match rng.uniform() < 0.9 {
            true => vec![rng.normal()],
            false => vec![5.0 + 0.1 * rng.normal()],
        },
        |_, k| k as f64,
        |_, _| 0.5,
    )
}

/// Two modes of the conditional of y, as likely as each other.
fn y_modes(name: &str, apart: f64) -> Known {
    let half = 0.5 * apart;
    Known::new(
        name,
        &format!("two modes of y, {apart} sd apart, at every x"),
        (vec![0.2], vec![half, 0.0]),
        move |x, y| {
            let centre = x[0];
            let (a, b) = (y[0] - centre - half, y[0] - centre + half);
            -0.5 * x[0] * x[0] + log_sum(&[(0.5, -0.5 * a * a), (0.5, -0.5 * b * b)])
                - 0.5 * (y[1] - 0.5 * y[0]).powi(2)
        },
        move |rng| {
            let x = rng.normal();
            let side = if rng.uniform() < 0.5 { half } else { -half };
            let y = x + side + rng.normal();
            (vec![x], vec![y, 0.5 * y + rng.normal()])
        },
    )
}
