//! Dozens of fast variables whose widths or directions change with x, and modes at walls of several kinds.

use super::student;
use crate::known::Known;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        moving_walls(),
        half_normals(),
        gammas(),
        mixed_walls(),
        turning(),
        lengths(),
        students(),
    ]
}

/// Exponential fast variables beyond a wall that moves with x.
fn moving_walls() -> Known {
    let wall = |x: f64, k: usize| 0.5 * x + 0.25 * k as f64;
    let rate = |x: f64| (0.3 * x).exp();
    Known::new(
        "movingwalls",
        "three exponential fast variables, each beyond a wall that moves with x",
        (vec![0.1], vec![1.0; 3]),
        move |x, y| {
            let r = rate(x[0]);
            let mut sum = -0.5 * x[0] * x[0];
            for (k, v) in y.iter().enumerate() {
                let beyond = v - wall(x[0], k);
                if beyond < 0.0 {
                    return f64::NEG_INFINITY;
                }
                sum += r.ln() - r * beyond;
            }
            sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..3)
                .map(|k| wall(x, k) + rng.exponential() / rate(x))
                .collect();
            (vec![x], y)
        },
    )
}

/// Half-normal fast variables: the mode is at the wall, where the density is flat.
fn half_normals() -> Known {
    let width = |x: f64| (0.5 * x).exp();
    Known::new(
        "halfnormals",
        "three half-normal fast variables whose width depends on x",
        (vec![0.1], vec![0.5; 3]),
        move |x, y| {
            if y.iter().any(|v| *v < 0.0) {
                return f64::NEG_INFINITY;
            }
            let s = width(x[0]);
            let sum: f64 = y.iter().map(|v| -0.5 * (v / s).powi(2) - s.ln()).sum();
            -0.5 * x[0] * x[0] + sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..3).map(|_| width(x) * rng.normal().abs()).collect();
            (vec![x], y)
        },
    )
}

/// Gamma fast variables: a wall one width below the mode.
fn gammas() -> Known {
    let scale = |x: f64| (0.4 * x).exp();
    Known::new(
        "gammas",
        "three gamma fast variables of shape two: a wall close below the mode",
        (vec![0.1], vec![1.0; 3]),
        move |x, y| {
            if y.iter().any(|v| *v <= 0.0) {
                return f64::NEG_INFINITY;
            }
            let s = scale(x[0]);
            let sum: f64 = y.iter().map(|v| v.ln() - v / s - 2.0 * s.ln()).sum();
            -0.5 * x[0] * x[0] + sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..3)
                .map(|_| scale(x) * (rng.exponential() + rng.exponential()))
                .collect();
            (vec![x], y)
        },
    )
}

/// Two correlated normal fast variables, and one at a wall whose rate depends on the first.
fn mixed_walls() -> Known {
    let centre = |x: f64| (2.0 * x).sin();
    Known::new(
        "mixedwalls",
        "two correlated normal fast variables, and one at a wall that follows them",
        (vec![0.3], vec![0.0, 0.0, 1.0]),
        move |x, y| {
            if y[2] < 0.0 {
                return f64::NEG_INFINITY;
            }
            let log_rate = 0.5 * y[0];
            -0.5 * x[0] * x[0]
                - 0.5 * ((y[0] - centre(x[0])) / 0.3).powi(2)
                - 0.5 * ((y[1] - 0.9 * y[0]) / 0.1).powi(2)
                + log_rate
                - log_rate.exp() * y[2]
        },
        move |rng| {
            let x = rng.normal();
            let a = centre(x) + 0.3 * rng.normal();
            let b = 0.9 * a + 0.1 * rng.normal();
            (vec![x], vec![a, b, rng.exponential() / (0.5 * a).exp()])
        },
    )
}

/// Thirty narrow pairs of fast variables that turn with x: no axes fit everywhere.
fn turning() -> Known {
    let angle = |x: f64, pair: usize| 0.3 * x * (1.0 + 0.1 * pair as f64).sin();
    Known::new(
        "turning60",
        "thirty narrow pairs of fast variables that turn as x changes",
        (vec![0.3], vec![0.1; 60]),
        move |x, y| {
            let mut sum = -0.5 * x[0] * x[0];
            for (pair, v) in y.chunks_exact(2).enumerate() {
                let (sin, cos) = angle(x[0], pair).sin_cos();
                let (along, across) = (cos * v[0] + sin * v[1], cos * v[1] - sin * v[0]);
                sum -= 0.5 * along * along + 0.5 * (across / 0.2).powi(2);
            }
            sum
        },
        move |rng| {
            let x = rng.normal();
            let mut y = Vec::with_capacity(60);
            for pair in 0..30 {
                let (sin, cos) = angle(x, pair).sin_cos();
                let (along, across) = (rng.normal(), 0.2 * rng.normal());
                y.push(cos * along - sin * across);
                y.push(sin * along + cos * across);
            }
            (vec![x], y)
        },
    )
}

/// Fifty values of a process along a line, whose length scale is slow: what is correlated with what changes with x.
fn lengths() -> Known {
    let correlation = |x: f64| (-0.1 * (-0.5 * x).exp()).exp();
    Known::new(
        "lengths50",
        "fifty values of an Ornstein-Uhlenbeck process whose length scale is slow",
        (vec![0.3], vec![0.1; 50]),
        move |x, y| {
            let r = correlation(x[0]);
            let variance = 1.0 - r * r;
            let mut sum = -0.5 * x[0] * x[0] - 0.5 * y[0] * y[0];
            for v in y.windows(2) {
                sum -= 0.5 * (v[1] - r * v[0]).powi(2) / variance + 0.5 * variance.ln();
            }
            sum
        },
        move |rng| {
            let x = rng.normal();
            let r = correlation(x);
            let mut y = vec![rng.normal()];
            for k in 1..50 {
                y.push(r * y[k - 1] + (1.0 - r * r).sqrt() * rng.normal());
            }
            (vec![x], y)
        },
    )
}

/// Sixty fast variables of Student's t, whose centres and width depend on x.
fn students() -> Known {
    let width = |x: f64| 0.3 * (0.3 * x).exp();
    let centre = |x: f64, k: usize| (x + 0.1 * k as f64).sin();
    Known::new(
        "students60",
        "sixty fast variables of Student's t with six degrees of freedom",
        (vec![0.3], vec![0.0; 60]),
        move |x, y| {
            let s = width(x[0]);
            let mut sum = -0.5 * x[0] * x[0] - y.len() as f64 * s.ln();
            for (k, v) in y.iter().enumerate() {
                let t = (v - centre(x[0], k)) / s;
                sum -= 3.5 * (t * t / 6.0).ln_1p();
            }
            sum
        },
        move |rng| {
            let x = rng.normal();
            let y = (0..60)
                .map(|k| centre(x, k) + width(x) * student(6, rng))
                .collect();
            (vec![x], y)
        },
    )
}
