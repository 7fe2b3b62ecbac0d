//! The report's two tests, and fast variables that wind with x.

use super::{gamma2, student};
use crate::known::{Known, following};
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        neal1("neal1", Some(1000.0)),
        neal2(),
        neal1("cheap", Some(1.0)),
        neal1("dear", Some(1e6)),
        first(),
        moving("wind4", 4, Kind::Skewed),
        moving("windt4", 4, Kind::Heavy),
        moving("wind10", 10, Kind::Skewed),
        moving("humps4", 4, Kind::Humps),
        funnel9(),
        stairs(),
    ]
}

/// A draw from exp(−x²)/(1 + x²), by rejection from N(0, 1/2).
fn neal_x(rng: &mut Rng) -> f64 {
    loop {
        let x = rng.normal() * std::f64::consts::FRAC_1_SQRT_2;
        if rng.uniform() * (1.0 + x * x) < 1.0 {
            return x;
        }
    }
}

fn neal1(name: &str, ratio: Option<f64>) -> Known {
    Known::new(
        name,
        "the report's first test",
        (vec![0.5], vec![0.0]),
        |x, y| {
            let wide = 1.0 + x[0] * x[0];
            -x[0] * x[0] - 50.0 * wide * wide * (y[0] - x[0].sin()).powi(2)
        },
        |rng| {
            let x = neal_x(rng);
            let y = x.sin() + 0.1 / (1.0 + x * x) * rng.normal();
            (vec![x], vec![y])
        },
    )
    .costing(ratio)
}

/// README's first example: x is normal, y normal about sin x with a uniform prior on (−3, 3), on an unbounded scale; cheap to evaluate.
fn first() -> Known {
    // y = 3 tanh t, which has the density 1 − tanh² t beside that of y.
    let normal = |x: f64, y: f64| -0.5 * x * x - 0.5 * ((y - x.sin()) / 0.1).powi(2);
    Known::new(
        "first",
        "README's first example, on the scale on which it is sampled",
        (vec![0.5], vec![0.1]),
        move |x, t| {
            let y = t[0].tanh();
            normal(x[0], 3.0 * y) + (1.0 - y * y).max(1e-300).ln()
        },
        |rng| {
            let x = rng.normal();
            let y = x.sin() + 0.1 * rng.normal();
            (vec![x], vec![(y / 3.0).atanh()])
        },
    )
    .costing(Some(10.0))
}

fn neal2() -> Known {
    Known::new(
        "neal2",
        "the report's second test",
        (vec![0.5], vec![0.0, 0.0]),
        |x, y| {
            let wide = 1.0 + x[0] * x[0];
            -x[0] * x[0]
                - 50.0 * wide * wide * (y[0] - x[0].sin()).powi(2)
                - 12.5 * (y[1] - y[0]).powi(2)
        },
        |rng| {
            let x = neal_x(rng);
            let y = x.sin() + 0.1 / (1.0 + x * x) * rng.normal();
            (vec![x], vec![y, y + 0.2 * rng.normal()])
        },
    )
}

#[derive(Clone, Copy)]
enum Kind {
    Skewed,
    Heavy,
    Humps,
}

/// One slow variable (the logarithm of a gamma variable of shape 2) and fast ones whose centres move by fifty of their
/// widths; each leans on the one before.
fn moving(name: &str, fast: usize, kind: Kind) -> Known {
    const LEAN: f64 = 0.6;
    let amplitude = match kind {
        Kind::Skewed => 14.0,
        _ => 25.0,
    };
    let centre = move |x: f64, k: f64| amplitude * (0.9 * x + 0.4 * k).sin();
    let width = |x: f64, k: f64| (0.6 * (1.3 * x + k).sin()).exp();
    let about = match kind {
        Kind::Skewed => "skewed fast variables that wind with x",
        Kind::Heavy => "fast variables of Student's t that wind with x",
        Kind::Humps => "fast variables with two humps each",
    };
    let density = move |x: &[f64], y: &[f64]| {
        let x = x[0];
        let mut sum = 2.0 * (x - x.exp());
        let mut before = 0.0;
        for (k, v) in y.iter().enumerate() {
            let k = k as f64;
            let u = (v - centre(x, k)) / width(x, k);
            let t = u - LEAN * before;
            before = u;
            sum += match kind {
                // A log-gamma variable of shape 3.
                Kind::Skewed => 3.0 * (t - t.exp()),
                Kind::Heavy => -2.5 * (t * t / 4.0).ln_1p(),
                Kind::Humps => {
                    let (a, b) = ((t - 2.0) / 0.6, (t + 2.0) / 0.6);
                    let (a, b) = (-0.5 * a * a, -0.5 * b * b);
                    a.max(b) + (-(a - b).abs()).exp().ln_1p()
                }
            } - width(x, k).ln();
        }
        sum
    };
    let draw = move |rng: &mut Rng| {
        let x = (0.5 * gamma2(rng)).ln();
        let mut before = 0.0;
        let mut y = Vec::new();
        for k in 0..fast {
            let k = k as f64;
            let t = match kind {
                Kind::Skewed => ((gamma2(rng) + rng.exponential()) / 3.0).ln(),
                Kind::Heavy => student(4, rng),
                Kind::Humps => 2.0 * rng.normal().signum() + 0.6 * rng.normal(),
            };
            let u = t + LEAN * before;
            y.push(centre(x, k) + width(x, k) * u);
            before = u;
        }
        (vec![x], y)
    };
    let start: Vec<f64> = (0..fast).map(|k| centre(0.3, k as f64)).collect();
    Known::new(name, about, (vec![0.3], start), density, draw)
}

/// Neal's funnel: the log scale is slow, nine variables of that scale are fast.
fn funnel9() -> Known {
    following(
        "funnel9",
        "a log scale of sd 3, and nine fast variables of that scale",
        vec![1.0],
        9,
        |x| -x[0] * x[0] / 18.0,
        |rng| vec![3.0 * rng.normal()],
        |_, _| 0.0,
        |x, _| (0.5 * x[0]).exp(),
    )
}

/// A normal times a staircase, with fast centres that jump where it does.
fn stairs() -> Known {
    const HEIGHTS: [f64; 4] = [1.0, 2.0, 0.7, 1.5];
    let stair = |x: f64| HEIGHTS[(x.floor() as i64).rem_euclid(4) as usize];
    following(
        "stairs",
        "a staircase of factors 0.7 to 2, with fast centres that jump",
        vec![0.2],
        4,
        move |x| -0.5 * x[0] * x[0] + stair(x[0]).ln(),
        move |rng| {
            loop {
                let x = rng.normal();
                if rng.uniform() * 2.0 < stair(x) {
                    return vec![x];
                }
            }
        },
        |x, k| 0.7 * (2.0 * x[0]).floor() + k as f64,
        |_, _| 0.3,
    )
}
