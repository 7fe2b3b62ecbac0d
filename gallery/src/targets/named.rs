//! Targets that have been written down for good, names and all, so that versions can be compared: see each one's formula.
//!
//! uₖ = (yₖ − mₖ)/s, k counts from 1, and y begins at 0 unless said.

use super::rotation;
use crate::known::Known;
use std::sync::Arc;
use towline::Rng;

/// These targets.
pub fn all() -> Vec<Known> {
    vec![skew4(), student4(), funnel(), steps(), banana(), twenty()]
}

/// mₖ = sin kx and s of the two targets with four fast variables.
fn winding4(x: f64, k: usize) -> f64 {
    (k as f64 * x).sin()
}

fn narrow4(x: f64) -> f64 {
    0.1 / (1.0 + x * x)
}

/// −x² − Σ h (e^{uₖ} − uₖ), with h = 1 + x²/2.
fn skew4() -> Known {
    let density = |x: &[f64], y: &[f64]| {
        let (x, mut sum) = (x[0], -x[0] * x[0]);
        let h = 1.0 + 0.5 * x * x;
        for (k, v) in y.iter().enumerate() {
            let u = (v - winding4(x, k + 1)) / narrow4(x);
            sum -= h * (u.exp() - u);
        }
        sum
    };
    // e^{uₖ} is Gamma(h)/h, and integrates to s Γ(h) h^{−h}: largest at x = 0, where it is s.
    let draw = |rng: &mut Rng| loop {
        let x = rng.normal() * std::f64::consts::FRAC_1_SQRT_2;
        let h = 1.0 + 0.5 * x * x;
        let log_share = statrs::function::gamma::ln_gamma(h) - h * h.ln() - (1.0 + x * x).ln();
        if rng.uniform().ln() < 4.0 * log_share {
            let y = (1..=4).map(|k| winding4(x, k) + narrow4(x) * (gamma(h, rng) / h).ln());
            return (vec![x], y.collect());
        }
    };
    let start = (vec![0.3], vec![0.0; 4]);
    let about = "four fast variables, skewed, whose centres wind and whose width breathes";
    Known::new("skew4", about, start, density, draw)
}

/// −x² − 4 ln(1 + Σ uₖ²/4).
fn student4() -> Known {
    let density = |x: &[f64], y: &[f64]| {
        let squares = y
            .iter()
            .enumerate()
            .map(|(k, v)| ((v - winding4(x[0], k + 1)) / narrow4(x[0])).powi(2))
            .sum::<f64>();
        -x[0] * x[0] - 4.0 * (squares / 4.0).ln_1p()
    };
    let draw = |rng: &mut Rng| loop {
        let x = rng.normal() * std::f64::consts::FRAC_1_SQRT_2;
        if rng.uniform() * (1.0 + x * x).powi(4) < 1.0 {
            // Four degrees of freedom, one scale for all four variables.
            let square = 2.0 * (rng.exponential() + rng.exponential());
            let common = narrow4(x) / (square / 4.0).sqrt();
            let y = (1..=4).map(|k| winding4(x, k) + common * rng.normal());
            return (vec![x], y.collect());
        }
    };
    let start = (vec![0.3], vec![0.0; 4]);
    let about = "four fast variables of a joint Student distribution whose centres wind";
    Known::new("student4", about, start, density, draw)
}

/// −x²/18 − ½ Σ yₖ² e^{−x} − 5x: yₖ has variance e^x.
fn funnel() -> Known {
    let density = |x: &[f64], y: &[f64]| {
        let squares: f64 = y.iter().map(|v| v * v).sum();
        -x[0] * x[0] / 18.0 - 0.5 * squares * (-x[0]).exp() - 5.0 * x[0]
    };
    let draw = |rng: &mut Rng| {
        let x = 3.0 * rng.normal();
        let y = (0..10).map(|_| (0.5 * x).exp() * rng.normal());
        (vec![x], y.collect())
    };
    let start = (vec![0.5], vec![0.5; 10]);
    let about = "a log scale of sd 3, and ten fast variables of that scale";
    Known::new("funnel", about, start, density, draw)
}

/// −x²/2, ten times as much on (0.5, 1) and five times below −1.5; − ½ Σ uₖ² with m = (⌊2x⌋, x), s = 0.1.
fn steps() -> Known {
    let factor = |x: f64| {
        if x > 0.5 && x < 1.0 {
            10.0
        } else if x < -1.5 {
            5.0
        } else {
            1.0
        }
    };
    let density = move |x: &[f64], y: &[f64]| {
        let (a, b) = ((y[0] - (2.0 * x[0]).floor()) / 0.1, (y[1] - x[0]) / 0.1);
        -0.5 * x[0] * x[0] + f64::ln(factor(x[0])) - 0.5 * (a * a + b * b)
    };
    let draw = move |rng: &mut Rng| loop {
        let x = rng.normal();
        if rng.uniform() * 10.0 < factor(x) {
            let y = vec![
                (2.0 * x).floor() + 0.1 * rng.normal(),
                x + 0.1 * rng.normal(),
            ];
            return (vec![x], y);
        }
    };
    let start = (vec![0.2], vec![0.0; 2]);
    let about = "a normal with steps of factors 10 and 5, and a fast centre that jumps";
    Known::new("steps", about, start, density, draw)
}

/// −x1²/2 − ½((x2 − x1² + 1)/0.3)² − ½ Σ uₖ² − 4 ln s, with mₖ = sin(3 x1) x2 + 0.3 k x1² and s = 0.05 (1 + x2²/2).
fn banana() -> Known {
    let centre =
        |x: &[f64], k: usize| (3.0 * x[0]).sin() * x[1] + 0.3 * (k + 1) as f64 * x[0] * x[0];
    let width = |x: &[f64]| 0.05 * (1.0 + 0.5 * x[1] * x[1]);
    let density = move |x: &[f64], y: &[f64]| {
        let squares: f64 = y
            .iter()
            .enumerate()
            .map(|(k, v)| ((v - centre(x, k)) / width(x)).powi(2))
            .sum();
        let across = (x[1] - x[0] * x[0] + 1.0) / 0.3;
        -0.5 * (x[0] * x[0] + across * across + squares) - 4.0 * width(x).ln()
    };
    let draw = move |rng: &mut Rng| {
        let a = rng.normal();
        let x = vec![a, a * a - 1.0 + 0.3 * rng.normal()];
        let y = (0..4).map(|k| centre(&x, k) + width(&x) * rng.normal());
        let y = y.collect();
        (x, y)
    };
    let start = (vec![1.0, 0.5], vec![0.0; 4]);
    let about = "x2 follows x1² within 0.3, four fast variables wind with both";
    Known::new("banana", about, start, density, draw)
}

/// −½ xᵀPx − ½ Σ uₖ² − 5 ln s: variances from 1e-3 to 10 along the axes of a rotation, which are what is judged;
/// mₖ = sin xₖ + x²ₖ₊₅, s = 0.05 (1 + x11²).
fn twenty() -> Known {
    let axes = Arc::new(rotation(20));
    let sd = |k: usize| 10f64.powf(0.5 * (-3.0 + 4.0 * k as f64 / 19.0));
    let along = |axes: &[Vec<f64>], x: &[f64]| -> Vec<f64> {
        let dot = |axis: &Vec<f64>| axis.iter().zip(x).map(|(a, b)| a * b).sum();
        axes.iter().map(dot).collect()
    };
    let centre = |x: &[f64], k: usize| x[k].sin() + x[k + 5].powi(2);
    let width = |x: &[f64]| 0.05 * (1.0 + x[10] * x[10]);
    let (of_density, of_draw) = (Arc::clone(&axes), Arc::clone(&axes));
    let density = move |x: &[f64], y: &[f64]| {
        let t = along(&of_density, x);
        let slow: f64 = t.iter().enumerate().map(|(k, t)| (t / sd(k)).powi(2)).sum();
        let fast: f64 = y
            .iter()
            .enumerate()
            .map(|(k, v)| ((v - centre(x, k)) / width(x)).powi(2))
            .sum();
        -0.5 * (slow + fast) - 5.0 * width(x).ln()
    };
    let draw = move |rng: &mut Rng| {
        let mut x = vec![0.0; 20];
        for (k, axis) in of_draw.iter().enumerate() {
            let t = sd(k) * rng.normal();
            x.iter_mut().zip(axis).for_each(|(x, a)| *x += a * t);
        }
        let y = (0..5).map(|k| centre(&x, k) + width(&x) * rng.normal());
        let y = y.collect();
        (x, y)
    };
    let start = (vec![0.2; 20], vec![0.0; 5]);
    let about = "twenty slow variables, variances from 1e-3 to 10 in a random rotation";
    Known::new("twenty", about, start, density, draw).shown_as(move |x| along(&axes, x))
}

/// A Gamma(shape, 1) draw for a shape of at least one (Marsaglia and Tsang 2000).
fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = rng.normal();
        let v = (1.0 + c * z).powi(3);
        if v > 0.0 && rng.uniform().ln() < 0.5 * z * z + d * (1.0 - v + v.ln()) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second and fourth moment of x from a million draws, with their standard errors.
    fn moments(name: &str) -> [(f64, f64); 2] {
        let target = all().into_iter().find(|t| t.name == name).unwrap();
        let mut rng = Rng::stream(3, 0);
        let draws: Vec<f64> = (0..1_000_000).map(|_| target.draw(&mut rng).0[0]).collect();
        [2, 4].map(|power| {
            let n = draws.len() as f64;
            let mean = draws.iter().map(|x| x.powi(power)).sum::<f64>() / n;
            let square = draws.iter().map(|x| x.powi(2 * power)).sum::<f64>() / n;
            (mean, ((square - mean * mean) / n).sqrt())
        })
    }

    #[test]
    fn draws_have_the_moments_that_quadrature_gives() {
        let known = [
            ("skew4", [0.067_628_4, 0.014_599_6]),
            ("student4", [0.126_717_8, 0.056_487_8]),
            ("funnel", [9.0, 243.0]),
        ];
        for (name, exact) in known {
            for ((mean, error), exact) in moments(name).into_iter().zip(exact) {
                let z = (mean - exact) / error;
                assert!(z.abs() < 4.0, "{name}: {mean} and {exact}, z {z}");
            }
        }
    }

    #[test]
    fn densities_and_draws_are_of_one_target() {
        // The mean of e^{−ℓ} over draws in a box is the box's volume divided by the integral of e^ℓ: the same for two boxes
        // of one volume, where draws follow e^ℓ.
        for name in ["steps", "student4"] {
            let target = all().into_iter().find(|t| t.name == name).unwrap();
            let mut rng = Rng::stream(4, 0);
            let q = |x: &[f64], y: &[f64], shift: f64| {
                let inside = |v: f64, low: f64, high: f64| v > low && v < high;
                // A box in x and around the centres of y at the box's middle: its volume is known.
                let mid = 0.25 + shift;
                let centre = |k: usize| match name {
                    "steps" => [(2.0 * mid).floor(), mid][k],
                    _ => winding4(mid, k + 1),
                };
                let near = y
                    .iter()
                    .enumerate()
                    .all(|(k, v)| inside(*v, centre(k) - 0.1, centre(k) + 0.1));
                f64::from(u8::from(inside(x[0], mid - 0.05, mid + 0.05) && near))
            };
            let (mut sums, mut squares) = ([0.0; 2], [0.0; 2]);
            for _ in 0..2_000_000 {
                let (x, y) = target.draw(&mut rng);
                for (j, shift) in [0.0, 0.5].into_iter().enumerate() {
                    let value = q(&x, &y, shift) * (-target.density(&x, &y)).exp();
                    sums[j] += value;
                    squares[j] += value * value;
                }
            }
            let z = (sums[0] - sums[1]) / (squares[0] + squares[1]).sqrt();
            assert!(sums[0] > 0.0 && z.abs() < 4.0, "{name}: z {z}");
        }
    }
}
