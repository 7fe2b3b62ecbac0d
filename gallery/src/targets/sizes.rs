//! Many slow variables, many fast ones, none of either; and variables far from where chains begin.

use super::{breathing, winding};
use crate::known::{Known, following};

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        normal("slow1", 1, 0),
        normal("slow5", 5, 0),
        normal("slow12", 12, 2),
        normal("slow30", 30, 0),
        normal("fast30", 2, 30),
        fast_alone(),
        thousand(),
        distant(),
        islands(),
    ]
}

/// Correlated normal slow variables.
fn normal(name: &str, slow: usize, fast: usize) -> Known {
    following(
        name,
        "normal slow variables, each correlated with the one before",
        vec![0.5; slow],
        fast,
        |x| {
            let mut sum = -0.5 * x[0] * x[0];
            for w in x.windows(2) {
                sum -= 0.5 * (w[1] - 0.8 * w[0]).powi(2) / 0.36;
            }
            sum
        },
        move |rng| {
            let mut x = vec![rng.normal()];
            for k in 1..slow {
                x.push(0.8 * x[k - 1] + 0.6 * rng.normal());
            }
            x
        },
        winding,
        breathing,
    )
}

/// No slow variables at all.
fn fast_alone() -> Known {
    Known::new(
        "fastalone",
        "three fast variables, no slow ones",
        (vec![], vec![0.0; 3]),
        |_, y| {
            -0.5 * y[0] * y[0]
                - 0.5 * ((y[1] - y[0]) / 0.3).powi(2)
                - 0.5 * ((y[2] - 0.5 * y[0] * y[0]) / 0.5).powi(2)
        },
        |rng| {
            let a = rng.normal();
            let y = vec![a, a + 0.3 * rng.normal(), 0.5 * a * a + 0.5 * rng.normal()];
            (vec![], y)
        },
    )
}

/// A thousand fast variables with a gradient.
fn thousand() -> Known {
    let centre = |x: f64, k: usize| (x + 0.01 * k as f64).sin();
    Known::new(
        "thousand",
        "a thousand independent fast variables with a gradient",
        (vec![0.3], vec![0.0; 1000]),
        move |x, y| {
            let sum: f64 = y
                .iter()
                .enumerate()
                .map(|(k, v)| (v - centre(x[0], k)).powi(2))
                .sum();
            -0.5 * x[0] * x[0] - 0.5 * sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..1000).map(|k| centre(x, k) + rng.normal()).collect();
            (vec![x], y)
        },
    )
    .with_gradient(move |x, y, gradient| {
        let mut sum = -0.5 * x[0] * x[0];
        for (k, v) in y.iter().enumerate() {
            let off = v - centre(x[0], k);
            gradient[k] = -off;
            sum -= 0.5 * off * off;
        }
        sum
    })
}

/// Chains begin fifty standard deviations away, and scales are a million apart.
fn distant() -> Known {
    following(
        "distant",
        "begun fifty sd away, scales a million apart",
        vec![50e-3, 50e3],
        2,
        |x| -0.5 * (x[0] / 1e-3).powi(2) - 0.5 * (x[1] / 1e3).powi(2),
        |rng| vec![1e-3 * rng.normal(), 1e3 * rng.normal()],
        |x, k| if k == 0 { x[0] } else { x[1] },
        |_, k| if k == 0 { 1e-3 } else { 1e3 },
    )
}

/// Places without mass inside the bulk.
fn islands() -> Known {
    let hole = |x: f64| (x * 2.0).rem_euclid(3.0) < 0.5;
    following(
        "islands",
        "a normal with holes in which there is no mass",
        vec![0.6],
        2,
        move |x| {
            if hole(x[0]) {
                f64::NEG_INFINITY
            } else {
                -0.5 * x[0] * x[0]
            }
        },
        move |rng| {
            loop {
                let x = rng.normal();
                if !hole(x) {
                    return vec![x];
                }
            }
        },
        winding,
        breathing,
    )
}
