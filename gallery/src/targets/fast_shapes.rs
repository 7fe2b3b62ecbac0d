//! Shapes of the fast variables: walled, coupled, of very different widths.

use super::{student, winding};
use crate::known::{Known, following};
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        walls(),
        half_walls(),
        coupled("chain20", 20, false),
        coupled("chain200", 200, false),
        coupled("chain200g", 200, true),
        scales(),
        heavy_fast(),
        twisted(),
    ]
}

/// Fast variables between hard walls, with a density that pushes at them.
fn walls() -> Known {
    let rate = |x: f64, k: usize| 4.0 * (x + k as f64).sin();
    Known::new(
        "walls",
        "three fast variables between hard walls, pushed against them",
        (vec![0.1], vec![0.5; 3]),
        move |x, y| {
            if y.iter().any(|v| !(0.0..1.0).contains(v)) {
                return f64::NEG_INFINITY;
            }
            let mut sum = -0.5 * x[0] * x[0];
            for (k, v) in y.iter().enumerate() {
                let r = rate(x[0], k);
                // Normalised: r e^{rv}/(eʳ − 1) on the unit interval.
                let norm = if r.abs() < 1e-6 { 1.0 } else { r.exp_m1() / r };
                sum += r * v - norm.ln();
            }
            sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..3)
                .map(|k| {
                    let (r, u) = (rate(x, k), rng.uniform());
                    if r.abs() < 1e-6 {
                        u
                    } else {
                        (u * r.exp_m1()).ln_1p() / r
                    }
                })
                .collect();
            (vec![x], y)
        },
    )
}

/// Exponential fast variables, whose mode is at their wall.
fn half_walls() -> Known {
    Known::new(
        "halfwalls",
        "four exponential fast variables, the mode at the wall",
        (vec![0.1], vec![0.5; 4]),
        |x, y| {
            if y.iter().any(|v| *v < 0.0) {
                return f64::NEG_INFINITY;
            }
            let rate = (0.7 * x[0]).exp();
            -0.5 * x[0] * x[0] + y.iter().map(|v| rate.ln() - rate * v).sum::<f64>()
        },
        |rng| {
            let x = rng.normal();
            let y = (0..4)
                .map(|_| rng.exponential() / (0.7 * x).exp())
                .collect();
            (vec![x], y)
        },
    )
}

/// A chain of coupled fast variables whose width depends on x.
fn coupled(name: &str, fast: usize, gradient: bool) -> Known {
    let width = |x: f64| 0.2 / (1.0 + 0.2 * x * x);
    let push = |x: f64, k: usize| 0.1 * (0.05 * (k + 1) as f64 * x).sin();
    let density = move |x: &[f64], y: &[f64]| {
        let (x, s) = (x[0], width(x[0]));
        let mut sum = -0.5 * x * x - y.len() as f64 * s.ln();
        let mut before = 0.0;
        for (k, v) in y.iter().enumerate() {
            let z = (v - 0.9 * before - push(x, k)) / s;
            sum -= 0.5 * z * z;
            before = *v;
        }
        sum
    };
    let target = Known::new(
        name,
        &format!("{fast} coupled fast variables whose width depends on x"),
        (vec![0.3], vec![0.0; fast]),
        density,
        move |rng| {
            let x = rng.normal();
            let mut before = 0.0;
            let y = (0..fast)
                .map(|k| {
                    before = 0.9 * before + push(x, k) + width(x) * rng.normal();
                    before
                })
                .collect();
            (vec![x], y)
        },
    );
    if !gradient {
        return target;
    }
    target.with_gradient(move |x, y, gradient| {
        let (at, s) = (x[0], width(x[0]));
        gradient.fill(0.0);
        let mut before = 0.0;
        for k in 0..y.len() {
            let z = (y[k] - 0.9 * before - push(at, k)) / (s * s);
            gradient[k] -= z;
            if k > 0 {
                gradient[k - 1] += 0.9 * z;
            }
            before = y[k];
        }
        density(x, y)
    })
}

/// Widths of the fast variables that span six orders of magnitude.
fn scales() -> Known {
    following(
        "scales",
        "five fast variables whose widths span eight orders of magnitude",
        vec![0.3],
        5,
        |x| -0.5 * x[0] * x[0],
        |rng| vec![rng.normal()],
        |x, k| 10f64.powi(2 * k as i32 - 4) * (3.0 * x[0] + k as f64).sin(),
        |_, k| 0.1 * 10f64.powi(2 * k as i32 - 4),
    )
}

/// Fast variables of Student's t with two degrees of freedom.
fn heavy_fast() -> Known {
    Known::new(
        "heavyfast",
        "three fast variables of Student's t with two degrees of freedom",
        (vec![0.3], vec![0.0; 3]),
        |x, y| {
            let mut sum = -0.5 * x[0] * x[0];
            for (k, v) in y.iter().enumerate() {
                let t = v - winding(x, k);
                sum -= 1.5 * (t * t / 2.0).ln_1p();
            }
            sum
        },
        |rng: &mut Rng| {
            let x = vec![rng.normal()];
            let y = (0..3).map(|k| winding(&x, k) + student(2, rng)).collect();
            (x, y)
        },
    )
}

/// A fast banana that turns with x.
fn twisted() -> Known {
    Known::new(
        "twisted",
        "a banana of two fast variables, whose bend depends on x",
        (vec![0.3], vec![0.0, 0.0]),
        |x, y| {
            let bend = y[1] - x[0] * (y[0] * y[0] - 1.0);
            -0.5 * x[0] * x[0] - 0.5 * y[0] * y[0] - 0.5 * (bend / 0.5).powi(2)
        },
        |rng| {
            let (x, a) = (rng.normal(), rng.normal());
            (vec![x], vec![a, x * (a * a - 1.0) + 0.5 * rng.normal()])
        },
    )
}
