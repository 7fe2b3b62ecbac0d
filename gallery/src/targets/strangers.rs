//! Shapes that a stranger might try: none of them was looked at while the engine was written.

use super::{breathing, log_sum, winding};
use crate::known::{Known, following};

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        donut(),
        wedge(),
        spike2(),
        log_normals(),
        gap(),
        cusp(),
        squiggle(),
        half_box(),
    ]
}

/// A torus.
fn donut() -> Known {
    following(
        "donut",
        "a torus of three slow variables, radius 3 and width 0.3",
        vec![3.0, 0.0, 0.0],
        2,
        |x| {
            let r = x[0].hypot(x[1]).max(1e-300);
            -0.5 * ((r - 3.0) / 0.3).powi(2) - r.ln() - 0.5 * (x[2] / 0.3).powi(2)
        },
        |rng| {
            let r = (3.0 + 0.3 * rng.normal()).max(1e-9);
            let angle = std::f64::consts::TAU * rng.uniform();
            vec![r * angle.cos(), r * angle.sin(), 0.3 * rng.normal()]
        },
        |x, k| 0.5 * x[k % 2],
        |_, _| 0.2,
    )
}

/// A triangle with hard edges.
fn wedge() -> Known {
    following(
        "wedge",
        "two slow variables, uniform in a triangle that leans",
        vec![2.0, 2.5],
        2,
        |x| {
            // Corners (0, 0), (4, 1), (1, 5).
            let (a, b) = ((5.0 * x[0] - x[1]) / 19.0, (4.0 * x[1] - x[0]) / 19.0);
            match a > 0.0 && b > 0.0 && a + b < 1.0 {
                true => 0.0,
                false => f64::NEG_INFINITY,
            }
        },
        |rng| {
            let (mut a, mut b) = (rng.uniform(), rng.uniform());
            if a + b > 1.0 {
                (a, b) = (1.0 - a, 1.0 - b);
            }
            vec![4.0 * a + b, a + 5.0 * b]
        },
        winding,
        breathing,
    )
}

/// A narrow normal in the middle of a wide one.
fn spike2() -> Known {
    following(
        "spike2",
        "two slow variables: a spike ten times as narrow as the slab around it, half of the mass each",
        vec![0.5, -0.7],
        2,
        |x| {
            let square = x[0] * x[0] + x[1] * x[1];
            log_sum(&[(0.5, -0.5 * square), (50.0, -50.0 * square)])
        },
        |rng| {
            let width = if rng.uniform() < 0.5 { 1.0 } else { 0.1 };
            vec![width * rng.normal(), width * rng.normal()]
        },
        winding,
        breathing,
    )
}

/// Correlated log-normals.
fn log_normals() -> Known {
    following(
        "lognormals",
        "three correlated log-normal slow variables on their own scale",
        vec![1.0; 3],
        2,
        |x| {
            if x.iter().any(|v| *v <= 0.0) {
                return f64::NEG_INFINITY;
            }
            let z: Vec<f64> = x.iter().map(|v| v.ln() / 0.6).collect();
            let mut sum = -0.5 * z[0] * z[0];
            for w in z.windows(2) {
                sum -= 0.5 * (w[1] - 0.7 * w[0]).powi(2) / 0.51;
            }
            sum - x.iter().map(|v| v.ln()).sum::<f64>()
        },
        |rng| {
            let mut z = vec![rng.normal()];
            for k in 1..3 {
                z.push(0.7 * z[k - 1] + 0.51f64.sqrt() * rng.normal());
            }
            z.iter().map(|z| (0.6 * z).exp()).collect()
        },
        winding,
        breathing,
    )
}

/// Two modes twelve standard deviations apart, a tenth of the mass in one.
fn gap() -> Known {
    following(
        "gap",
        "two modes 12 sd apart, 0.1 and 0.9 of the mass, all chains begun in the smaller",
        vec![0.2],
        2,
        |x| {
            log_sum(&[
                (0.1, -0.5 * x[0] * x[0]),
                (0.9, -0.5 * (x[0] - 12.0).powi(2)),
            ])
        },
        |rng| {
            let at = if rng.uniform() < 0.1 { 0.0 } else { 12.0 };
            vec![at + rng.normal()]
        },
        winding,
        breathing,
    )
}

/// A cusp at the mode and stretched tails.
fn cusp() -> Known {
    following(
        "cusp",
        "exp(−2 √|x|): a cusp at the mode, tails that are heavier than exponential",
        vec![0.3],
        2,
        |x| -2.0 * x[0].abs().sqrt(),
        |rng| {
            // √|x| is Gamma(2, 1/2).
            let root = 0.5 * super::gamma2(rng);
            vec![root * root * rng.normal().signum()]
        },
        winding,
        breathing,
    )
}

/// A ridge that winds.
fn squiggle() -> Known {
    following(
        "squiggle",
        "x2 follows sin(3 x1) within 0.15, x1 of sd 1.5",
        vec![0.3, 0.7],
        2,
        |x| -0.5 * (x[0] / 1.5).powi(2) - 0.5 * ((x[1] - (3.0 * x[0]).sin()) / 0.15).powi(2),
        |rng| {
            let a = 1.5 * rng.normal();
            vec![a, (3.0 * a).sin() + 0.15 * rng.normal()]
        },
        |x, k| x[k % 2],
        |_, _| 0.2,
    )
}

/// A normal seen through a window.
fn half_box() -> Known {
    following(
        "window",
        "a correlated normal of three slow variables, two of them within hard walls",
        vec![0.2, 0.1, 0.0],
        2,
        |x| {
            if !(-0.5..1.0).contains(&x[0]) || x[1] < 0.0 {
                return f64::NEG_INFINITY;
            }
            -0.5 * x[0] * x[0]
                - 0.5 * (x[1] - 0.5 * x[0]).powi(2)
                - 0.5 * ((x[2] - x[1]) / 0.5).powi(2)
        },
        |rng| {
            loop {
                let a = rng.normal();
                let b = 0.5 * a + rng.normal();
                if (-0.5..1.0).contains(&a) && b >= 0.0 {
                    return vec![a, b, b + 0.5 * rng.normal()];
                }
            }
        },
        winding,
        breathing,
    )
}
