//! Shapes of the slow variables: bent, heavy, skewed, narrow, walled.

use super::{breathing, gamma2, log_student, log_sum, student, winding};
use crate::known::{Known, following};
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        bananas("banana4", 4),
        bananas("banana10", 10),
        slow_funnel(),
        student_slow("tslow4", 2, 4),
        student_slow("tslow2", 1, 2),
        skewed("loggamma3", 3),
        ridge(),
        horseshoe(),
        ring(),
        cliff(),
        uniform(),
        exponential(),
        log_normal(),
        cross(),
        double_exponential(),
        boomerang(),
    ]
}

/// Pairs of slow variables, each a milder banana.
fn bananas(name: &str, slow: usize) -> Known {
    following(
        name,
        "pairs of slow variables, the second of each bent by the first",
        vec![0.3; slow],
        3,
        |x| {
            x.chunks_exact(2)
                .map(|v| {
                    -0.5 * v[0] * v[0] - 0.5 * ((v[1] - 0.7 * (v[0] * v[0] - 1.0)) / 0.6).powi(2)
                })
                .sum()
        },
        move |rng| {
            let mut x = Vec::new();
            for _ in 0..slow / 2 {
                let a = rng.normal();
                x.extend([a, 0.7 * (a * a - 1.0) + 0.6 * rng.normal()]);
            }
            x
        },
        winding,
        breathing,
    )
}

/// A funnel among the slow variables.
fn slow_funnel() -> Known {
    following(
        "slowfunnel",
        "x2 has the scale exp(x1/2), x1 of sd 1.5",
        vec![0.2, 0.1],
        3,
        |x| -0.5 * (x[0] / 1.5).powi(2) - 0.5 * x[1] * x[1] * (-x[0]).exp() - 0.5 * x[0],
        |rng| {
            let a = 1.5 * rng.normal();
            vec![a, (0.5 * a).exp() * rng.normal()]
        },
        winding,
        breathing,
    )
}

/// Student's t in one or more correlated dimensions.
fn student_slow(name: &str, slow: usize, freedom: usize) -> Known {
    let nu = freedom as f64;
    let draw = move |rng: &mut Rng| {
        let square: f64 = (0..freedom / 2).map(|_| 2.0 * rng.exponential()).sum();
        let scale = (square / nu).sqrt();
        let a = rng.normal();
        (0..slow)
            .map(|k| match k {
                0 => a / scale,
                _ => (0.7 * a + 0.51f64.sqrt() * rng.normal()) / scale,
            })
            .collect()
    };
    let log = move |x: &[f64]| match x {
        [x] => log_student(*x, nu),
        _ => {
            let rest = (x[1] - 0.7 * x[0]) / 0.51f64.sqrt();
            -0.5 * (nu + 2.0) * ((x[0] * x[0] + rest * rest) / nu).ln_1p()
        }
    };
    following(
        name,
        "slow variables of Student's t",
        vec![0.3; slow],
        2,
        log,
        draw,
        winding,
        breathing,
    )
}

/// Log-gamma variables of shape 1: skewed to the left with an exponential tail.
fn skewed(name: &str, slow: usize) -> Known {
    following(
        name,
        "three slow variables, each the logarithm of an exponential",
        vec![0.0; slow],
        3,
        |x| x.iter().map(|v| v - v.exp()).sum(),
        move |rng| {
            (0..slow)
                .map(|_| rng.exponential().max(1e-300).ln())
                .collect()
        },
        winding,
        breathing,
    )
}

/// Two slow variables with correlation 0.9995.
fn ridge() -> Known {
    let narrow = (1.0f64 - 0.9995 * 0.9995).sqrt();
    following(
        "ridge",
        "two slow variables with correlation 0.9995",
        vec![0.0, 0.5],
        3,
        move |x| -0.5 * x[0] * x[0] - 0.5 * ((x[1] - 0.9995 * x[0]) / narrow).powi(2),
        move |rng| {
            let a = rng.normal();
            vec![a, 0.9995 * a + narrow * rng.normal()]
        },
        winding,
        breathing,
    )
}

/// A horseshoe: the log of a half-Cauchy scale is slow, coefficients of that scale are fast.
fn horseshoe() -> Known {
    following(
        "horseshoe",
        "the log of a half-Cauchy scale, and five fast variables of that scale",
        vec![0.0],
        5,
        |x| x[0] - (2.0 * x[0]).exp().ln_1p(),
        |rng| {
            let angle = std::f64::consts::FRAC_PI_2 * rng.uniform();
            vec![angle.tan().max(1e-300).ln()]
        },
        |_, _| 0.0,
        |x, _| x[0].exp(),
    )
}

/// A ring of radius 3 and width 0.3.
fn ring() -> Known {
    following(
        "ring",
        "a ring of radius 3 and width 0.3",
        vec![3.0, 0.0],
        2,
        |x| {
            let r = x[0].hypot(x[1]).max(1e-300);
            -0.5 * ((r - 3.0) / 0.3).powi(2) - r.ln()
        },
        |rng| {
            let r = loop {
                let r = 3.0 + 0.3 * rng.normal();
                if r > 0.0 {
                    break r;
                }
            };
            let angle = std::f64::consts::TAU * rng.uniform();
            vec![r * angle.cos(), r * angle.sin()]
        },
        |x, k| 0.5 * x[k % 2],
        |_, _| 0.2,
    )
}

/// A normal cut off where it is highest.
fn cliff() -> Known {
    following(
        "cliff",
        "a normal that ends in a wall at its mode",
        vec![0.5],
        2,
        |x| {
            if x[0] < 0.0 {
                f64::NEG_INFINITY
            } else {
                -0.5 * x[0] * x[0]
            }
        },
        |rng| vec![rng.normal().abs()],
        winding,
        breathing,
    )
}

/// A box.
fn uniform() -> Known {
    following(
        "box",
        "two slow variables uniform between hard walls",
        vec![0.3, 0.6],
        2,
        |x| match x.iter().all(|v| (0.0..1.0).contains(v)) {
            true => 0.0,
            false => f64::NEG_INFINITY,
        },
        |rng| vec![rng.uniform(), rng.uniform()],
        winding,
        breathing,
    )
}

/// An exponential with its wall.
fn exponential() -> Known {
    following(
        "exponential",
        "an exponential variable, its wall at zero",
        vec![1.0],
        2,
        |x| if x[0] < 0.0 { f64::NEG_INFINITY } else { -x[0] },
        |rng| vec![rng.exponential()],
        winding,
        breathing,
    )
}

/// A log-normal variable on its own scale.
fn log_normal() -> Known {
    following(
        "lognormal",
        "a log-normal variable on its own scale, sd 0.8",
        vec![1.0],
        2,
        |x| match x[0] > 0.0 {
            true => -0.5 * (x[0].ln() / 0.8).powi(2) - x[0].ln(),
            false => f64::NEG_INFINITY,
        },
        |rng| vec![(0.8 * rng.normal()).exp()],
        winding,
        breathing,
    )
}

/// Two long normals, one along each axis.
fn cross() -> Known {
    let arm = |a: f64, b: f64| -0.5 * (a / 2.0).powi(2) - 0.5 * (b / 0.3).powi(2);
    following(
        "cross",
        "two long normals that cross",
        vec![0.1, 0.1],
        2,
        move |x| log_sum(&[(0.5, arm(x[0], x[1])), (0.5, arm(x[1], x[0]))]),
        |rng| {
            let (a, b) = (2.0 * rng.normal(), 0.3 * rng.normal());
            if rng.uniform() < 0.5 {
                vec![a, b]
            } else {
                vec![b, a]
            }
        },
        winding,
        breathing,
    )
}

/// Double exponentials: a kink at the mode.
fn double_exponential() -> Known {
    following(
        "laplace2",
        "two double exponentials, a kink at the mode",
        vec![0.3, -0.4],
        2,
        |x| -x[0].abs() - x[1].abs(),
        |rng| {
            (0..2)
                .map(|_| rng.exponential() * rng.normal().signum())
                .collect()
        },
        winding,
        breathing,
    )
}

/// A skewed banana: x2 is a gamma variable whose scale bends with x1, which is Student's t.
fn boomerang() -> Known {
    following(
        "boomerang",
        "a bent, skewed ridge under a Student's t of four degrees",
        vec![0.4, 1.0],
        3,
        |x| {
            let t = x[1] - 0.5 * x[0] * x[0];
            log_student(x[0], 6.0) + 2.0 * (t - t.exp())
        },
        |rng| {
            let a = student(6, rng);
            vec![a, 0.5 * a * a + (0.5 * gamma2(rng)).ln()]
        },
        winding,
        breathing,
    )
}
