//! Tests of the surrogate: what they share, and measurements that print.

mod bending;
mod choosing;
mod efficiency;
mod hostile;
mod jumping;
mod mixing;
mod proposing;
mod tails;
mod warping;

use super::{Surrogate, Visit};
use crate::linalg::Factor;
use crate::random::Rng;

/// Exact values of a log density at Gaussian points.
fn visits_at_normals(
    count: usize,
    dim: usize,
    seed: u64,
    log_density: impl Fn(&[f64]) -> f64,
) -> Vec<Visit> {
    let mut rng = Rng::stream(seed, 0);
    (0..count)
        .map(|_| {
            let x: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
            let log_marginal = log_density(&x);
            Visit { x, log_marginal }
        })
        .collect()
}

/// A surrogate of a density over variables that are already of size one.
fn fit_white(visits: &[Visit]) -> Surrogate {
    let dim = visits[0].x.len();
    let factor = Factor::diagonal(&vec![1.0; dim], "test").unwrap();
    Surrogate::fit(visits, &vec![0.0; dim], &factor).unwrap()
}

/// The logarithm of a gamma variable of whole shape, standardised: skewed to the left.
#[derive(Debug, Clone, Copy)]
struct LogGamma {
    shape: u32,
    mean: f64,
    sd: f64,
}

impl LogGamma {
    fn new(shape: u32) -> Self {
        let euler = 0.577_215_664_901_532_9;
        let below = || (1..shape).map(f64::from);
        let mean = below().map(|k| 1.0 / k).sum::<f64>() - euler;
        let variance =
            std::f64::consts::PI.powi(2) / 6.0 - below().map(|k| 1.0 / (k * k)).sum::<f64>();
        Self {
            shape,
            mean,
            sd: variance.sqrt(),
        }
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        let gamma: f64 = (0..self.shape).map(|_| rng.exponential()).sum();
        (gamma.ln() - self.mean) / self.sd
    }

    fn log_density(&self, s: f64) -> f64 {
        let t = self.mean + self.sd * s;
        f64::from(self.shape) * t - t.exp()
    }
}

/// Where a step began and where it ended.
type Pair = (Vec<f64>, Vec<f64>);

/// The z-score of a mean that should be zero.
fn z_score(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (count - 1.0);
    mean / (variance / count).sqrt()
}

/// z-scores that are all moderate where pairs (start, end) come from a chain that is reversible for the density
/// that the starts were drawn from: means stay, and exchanging start and end changes nothing.
fn reversibility_scores(pairs: &[Pair]) -> Vec<f64> {
    let functions: [fn(&[f64]) -> f64; 6] = [
        |x| x[0],
        |x| x[x.len() - 1],
        |x| x.iter().map(|v| v * v).sum(),
        |x| x[0].powi(3),
        |x| (2.0 * x[0]).sin(),
        |x| f64::from(x[0] > 1.0),
    ];
    let mut scores = Vec::new();
    for (k, f) in functions.iter().enumerate() {
        let drift: Vec<f64> = pairs.iter().map(|(a, b)| f(b) - f(a)).collect();
        scores.push(z_score(&drift));
        let g = functions[(k + 2) % functions.len()];
        let flow: Vec<f64> = pairs
            .iter()
            .map(|(a, b)| f(a) * g(b) - g(a) * f(b))
            .collect();
        scores.push(z_score(&flow));
    }
    scores
}

fn worst(scores: &[f64]) -> f64 {
    scores.iter().fold(0.0, |worst, z| z.abs().max(worst))
}
