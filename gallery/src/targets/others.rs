//! Shapes that nothing was tuned on when they were written: cousins of the other targets, harder or at other scales.

use super::{breathing, log_student, log_sum, winding};
use crate::known::{Known, following};
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![
        haario(),
        moons(),
        wide_funnel(),
        children(),
        widths(),
        three_far(),
        five(),
        student_ball("tball3", 3, 4),
        student_ball("tball6", 6, 6),
        shell(),
        away(),
        long_tail(),
        sinh8(),
        simplex(),
        plateau(),
        rosenbrock(),
        cauchy(),
        shifting(),
        wells(),
    ]
}

/// Haario's banana, on its own scale.
fn haario() -> Known {
    following(
        "haario",
        "Haario's banana: x1 of sd 10, x2 bent by 0.03 x1²",
        vec![5.0, 0.0],
        0,
        |x| {
            let bend = x[1] - 0.03 * (x[0] * x[0] - 100.0);
            -0.5 * (x[0] / 10.0).powi(2) - 0.5 * bend * bend
        },
        |rng| {
            let a = 10.0 * rng.normal();
            vec![a, 0.03 * (a * a - 100.0) + rng.normal()]
        },
        winding,
        breathing,
    )
}

/// Two crescents that face each other.
fn moons() -> Known {
    let arm = |a: f64, b: f64| -0.5 * (a / 1.2).powi(2) - 0.5 * ((b - 0.8 * a * a) / 0.35).powi(2);
    following(
        "moons",
        "two crescents that face each other",
        vec![0.3, 0.1],
        2,
        move |x| log_sum(&[(0.5, arm(x[0], x[1])), (0.5, arm(x[0] - 1.0, 4.0 - x[1]))]),
        |rng| {
            let a = 1.2 * rng.normal();
            let b = 0.8 * a * a + 0.35 * rng.normal();
            if rng.uniform() < 0.5 {
                vec![a, b]
            } else {
                vec![a + 1.0, 4.0 - b]
            }
        },
        winding,
        breathing,
    )
}

/// A funnel of two slow variables, twice as wide in its log scale as the other.
fn wide_funnel() -> Known {
    following(
        "widefunnel",
        "x2 has the scale exp(x1/2), x1 of sd 3: Neal's, both slow",
        vec![0.2, 0.1],
        1,
        |x| -0.5 * (x[0] / 3.0).powi(2) - 0.5 * x[1] * x[1] * (-x[0]).exp() - 0.5 * x[0],
        |rng| {
            let a = 3.0 * rng.normal();
            vec![a, (0.5 * a).exp() * rng.normal()]
        },
        |x, _| x[0].sin(),
        |_, _| 0.2,
    )
}

/// A log scale and three slow variables of that scale.
fn children() -> Known {
    following(
        "children",
        "a log scale of sd 1 and three slow variables of that scale",
        vec![0.2; 4],
        2,
        |x| {
            let rest: f64 = x[1..].iter().map(|v| v * v).sum();
            -0.5 * x[0] * x[0] - 0.5 * rest * (-2.0 * x[0]).exp() - 3.0 * x[0]
        },
        |rng| {
            let a = rng.normal();
            let mut x = vec![a];
            x.extend((0..3).map(|_| a.exp() * rng.normal()));
            x
        },
        winding,
        breathing,
    )
}

/// Two modes of very different widths, with chains begun in both: the narrow one could not be seen from the other.
fn widths() -> Known {
    following(
        "widths",
        "two modes of two slow variables, one five times as wide as the other",
        vec![0.5, 0.5],
        2,
        |x| {
            let near = (x[0] * x[0] + x[1] * x[1]).mul_add(-0.5, 0.0);
            let far = (x[0] - 5.0).powi(2) + (x[1] - 4.0).powi(2);
            log_sum(&[(0.6, near), (0.4 / 0.04, -0.5 * far / 0.04)])
        },
        |rng| {
            let (a, b) = (rng.normal(), rng.normal());
            if rng.uniform() < 0.6 {
                vec![a, b]
            } else {
                vec![5.0 + 0.2 * a, 4.0 + 0.2 * b]
            }
        },
        winding,
        breathing,
    )
    .starting(|rng| {
        let x = match rng.uniform() < 0.5 {
            true => vec![0.5, 0.5],
            false => vec![5.1, 3.9],
        };
        let y = (0..2).map(|k| winding(&x, k)).collect();
        (x, y)
    })
}

/// Three modes along a line, the furthest 33 sd away.
fn three_far() -> Known {
    following(
        "threefar",
        "three modes 8 and 25 sd apart, all chains begun in the first",
        vec![0.2],
        2,
        |x| {
            log_sum(&[
                (0.4, -0.5 * x[0] * x[0]),
                (0.2, -0.5 * (x[0] - 8.0).powi(2)),
                (0.4, -0.5 * (x[0] - 33.0).powi(2)),
            ])
        },
        |rng| {
            let u = rng.uniform();
            let at = if u < 0.4 {
                0.0
            } else if u < 0.6 {
                8.0
            } else {
                33.0
            };
            vec![at + rng.normal()]
        },
        winding,
        breathing,
    )
}

/// Five modes of four slow variables.
fn five() -> Known {
    let at = |k: usize| -> [f64; 4] {
        let mut centre = [0.0; 4];
        if k < 4 {
            centre[k] = 6.0;
        }
        centre
    };
    following(
        "five",
        "five modes of four slow variables, 6 to 8.5 sd apart",
        vec![0.3; 4],
        2,
        move |x| {
            let terms: Vec<(f64, f64)> = (0..5)
                .map(|k| {
                    let square: f64 = x.iter().zip(at(k)).map(|(x, c)| (x - c).powi(2)).sum();
                    (0.2, -0.5 * square)
                })
                .collect();
            log_sum(&terms)
        },
        move |rng| {
            let centre = at(rng.index(5));
            centre.iter().map(|c| c + rng.normal()).collect()
        },
        winding,
        breathing,
    )
}

/// Student's t in several dimensions, round.
fn student_ball(name: &str, slow: usize, freedom: usize) -> Known {
    let nu = freedom as f64;
    following(
        name,
        &format!("{slow} slow variables of one Student's t with {freedom} degrees"),
        vec![0.3; slow],
        2,
        move |x| {
            let square: f64 = x.iter().map(|v| v * v).sum();
            -0.5 * (nu + x.len() as f64) * (square / nu).ln_1p()
        },
        move |rng| {
            let square: f64 = (0..freedom / 2).map(|_| 2.0 * rng.exponential()).sum();
            let scale = (square / nu).sqrt();
            (0..slow).map(|_| rng.normal() / scale).collect()
        },
        winding,
        breathing,
    )
}

/// A hollow ball of three slow variables.
fn shell() -> Known {
    following(
        "shell",
        "a hollow ball of radius 4 and width 0.4, in three slow variables",
        vec![4.0, 0.0, 0.0],
        2,
        |x| {
            let r = x.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
            -0.5 * ((r - 4.0) / 0.4).powi(2) - 2.0 * r.ln()
        },
        |rng| {
            let v: Vec<f64> = (0..3).map(|_| rng.normal()).collect();
            let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            let r = 4.0 + 0.4 * rng.normal();
            v.iter().map(|v| v / length * r).collect()
        },
        |x, k| 0.5 * x[k],
        |_, _| 0.2,
    )
}

/// Chains begin thirty standard deviations away from a skewed, correlated target.
fn away() -> Known {
    following(
        "away",
        "three slow variables, skewed and correlated, begun thirty sd away",
        vec![30.0, -30.0, 30.0],
        3,
        |x| {
            let (a, b) = (x[1] - 0.8 * x[0], x[2] + 0.5 * x[1]);
            -0.5 * x[0] * x[0] - 0.5 * (a / 0.6).powi(2) + 2.0 * (b - b.exp())
        },
        |rng| {
            let a = rng.normal();
            let b = 0.8 * a + 0.6 * rng.normal();
            let c = (0.5 * super::gamma2(rng)).ln() - 0.5 * b;
            vec![a, b, c]
        },
        winding,
        breathing,
    )
}

/// Log-gamma variables of shape a half: a long exponential tail on the left.
fn long_tail() -> Known {
    following(
        "longtail",
        "two slow variables, each the log of a squared normal: tails of e^(x/2)",
        vec![0.0, 0.0],
        2,
        |x| x.iter().map(|v| 0.5 * v - 0.5 * v.exp()).sum(),
        |rng| {
            (0..2)
                .map(|_| rng.normal().powi(2).max(1e-300).ln())
                .collect()
        },
        winding,
        breathing,
    )
}

/// Eight correlated slow variables, each skewed and heavier than normal.
fn sinh8() -> Known {
    // x = sinh((z + skew)/δ), with z an autoregressive normal vector.
    const SKEW: f64 = 0.4;
    const DELTA: f64 = 0.8;
    following(
        "sinh8",
        "eight correlated slow variables, skewed and heavy (sinh of normals)",
        vec![0.5; 8],
        3,
        |x| {
            let z: Vec<f64> = x.iter().map(|v| DELTA * v.asinh() - SKEW).collect();
            let mut sum = -0.5 * z[0] * z[0];
            for w in z.windows(2) {
                sum -= 0.5 * (w[1] - 0.8 * w[0]).powi(2) / 0.36;
            }
            sum - x.iter().map(|v| 0.5 * (v * v).ln_1p()).sum::<f64>()
        },
        |rng| {
            let mut z = vec![rng.normal()];
            for k in 1..8 {
                z.push(0.8 * z[k - 1] + 0.6 * rng.normal());
            }
            z.iter().map(|z| ((z + SKEW) / DELTA).sinh()).collect()
        },
        winding,
        breathing,
    )
}

/// Uniform on a simplex: walls that are not along the axes.
fn simplex() -> Known {
    following(
        "simplex",
        "three slow variables, positive with a sum below one",
        vec![0.2, 0.3, 0.1],
        2,
        |x| match x.iter().all(|v| *v > 0.0) && x.iter().sum::<f64>() < 1.0 {
            true => 0.0,
            false => f64::NEG_INFINITY,
        },
        |rng| {
            let e: Vec<f64> = (0..4).map(|_| rng.exponential()).collect();
            let sum: f64 = e.iter().sum();
            e[..3].iter().map(|v| v / sum).collect()
        },
        winding,
        breathing,
    )
}

/// Flat on top and steep at the sides.
fn plateau() -> Known {
    following(
        "plateau",
        "exp(−x⁸): flat on top, steep at the sides, two slow variables",
        vec![0.3, -0.4],
        2,
        |x| -x.iter().map(|v| v.powi(8)).sum::<f64>(),
        |rng| {
            (0..2)
                .map(|_| {
                    loop {
                        let x = 4.0 * rng.uniform() - 2.0;
                        if rng.uniform() < (-x.powi(8)).exp() {
                            return x;
                        }
                    }
                })
                .collect()
        },
        winding,
        breathing,
    )
}

/// A chain of two bends.
fn rosenbrock() -> Known {
    following(
        "rosenbrock",
        "x2 follows x1², x3 follows x2²: a ridge that bends twice",
        vec![0.5, 0.3, 0.1],
        2,
        |x| {
            let (a, b) = (x[1] - x[0] * x[0], x[2] - 0.5 * x[1] * x[1]);
            -0.5 * x[0] * x[0] - 0.5 * (a / 0.5).powi(2) - 0.5 * (b / 0.5).powi(2)
        },
        |rng| {
            let a = rng.normal();
            let b = a * a + 0.5 * rng.normal();
            vec![a, b, 0.5 * b * b + 0.5 * rng.normal()]
        },
        winding,
        breathing,
    )
}

/// Student's t with one degree of freedom.
fn cauchy() -> Known {
    following(
        "cauchy",
        "a Cauchy variable: one draw in a thousand is beyond 600",
        vec![0.3],
        2,
        |x| log_student(x[0], 1.0),
        |rng| vec![rng.normal() / rng.normal()],
        |x, k| (0.1 * x[0] + k as f64).sin(),
        |_, _| 0.2,
    )
}

/// Two modes of y whose shares depend on x.
fn shifting() -> Known {
    let plus = |x: f64| 1.0 / (1.0 + (-2.0 * x).exp());
    Known::new(
        "shifting",
        "two modes of y, 10 widths apart, whose shares depend on x",
        (vec![0.2], vec![2.5, 0.0]),
        move |x, y| {
            let (a, b) = ((y[0] - 2.5) / 0.5, (y[0] + 2.5) / 0.5);
            let p = plus(x[0]);
            -0.5 * x[0] * x[0] + log_sum(&[(p, -0.5 * a * a), (1.0 - p, -0.5 * b * b)])
                - 0.5 * (y[1] - x[0]).powi(2)
        },
        move |rng| {
            let x = rng.normal();
            let side = if rng.uniform() < plus(x) { 2.5 } else { -2.5 };
            (vec![x], vec![side + 0.5 * rng.normal(), x + rng.normal()])
        },
    )
}

/// Double wells in each of three fast variables.
fn wells() -> Known {
    let centre = |x: f64, k: usize| (x + k as f64).sin();
    Known::new(
        "wells",
        "three fast variables with two wells each: eight modes of y",
        (vec![0.2], vec![2.0; 3]),
        move |x, y| {
            let mut sum = -0.5 * x[0] * x[0];
            for (k, v) in y.iter().enumerate() {
                let t = v - centre(x[0], k);
                let (a, b) = ((t - 2.0) / 0.4, (t + 2.0) / 0.4);
                sum += log_sum(&[(0.7, -0.5 * a * a), (0.3, -0.5 * b * b)]);
            }
            sum
        },
        move |rng: &mut Rng| {
            let x = rng.normal();
            let y = (0..3)
                .map(|k| {
                    let side = if rng.uniform() < 0.7 { 2.0 } else { -2.0 };
                    centre(x, k) + side + 0.4 * rng.normal()
                })
                .collect();
            (vec![x], y)
        },
    )
}
