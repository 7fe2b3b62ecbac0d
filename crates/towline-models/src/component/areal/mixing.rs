//! The prior of a BYM2's share of structure that penalises complexity (Simpson et al. 2017; Riebler et al. 2016).
//!
//! With γ the eigenvalues of the scaled covariance, the distance from no structure at all is
//! d(φ)² = Σ [φ(γ − 1) − ln(1 + φ(γ − 1))], and d is exponential as far as it goes, to d(1), with P(φ < u) = alpha. The levels of
//! connected parts, which have no variance at all, are not counted: they would put d(1), and a share of the mass, at infinity.

use super::graph::Graph;
use super::scaling_factor;
use crate::parameter::{OwnPrior, Scale};
use faer::{Mat, Side};
use towline::Rng;

/// Areas of one part beyond which its eigenvalues take too long.
const MOST: usize = 2500;
/// Below this share, d is a straight line to rounding.
const STRAIGHT: f64 = 1e-5;
/// Rates between which the one is looked for that gives the probability asked for: from even in d to next to a point.
const SLOWEST: f64 = 1e-6;
const FASTEST: f64 = 1e3;
/// The logit beyond which there is nothing.
const FAR: f64 = 40.0;

/// The prior.
#[derive(Debug)]
pub(super) struct Mixing {
    /// γ − 1.
    excess: Vec<f64>,
    rate: f64,
    /// How much of an exponential lies below d(1).
    whole: f64,
}

impl Mixing {
    /// With P(φ < u) = alpha; `None` where the graph is too large, or has nothing structured.
    pub fn new(graph: &Graph, u: f64, alpha: f64) -> Option<Self> {
        let mut excess = Vec::new();
        for part in graph.parts.iter().filter(|part| part.len() > 1) {
            if part.len() > MOST {
                return None;
            }
            let mut place = vec![usize::MAX; graph.names.len()];
            part.iter()
                .enumerate()
                .for_each(|(k, area)| place[*area] = k);
            let edges: Vec<[usize; 2]> = graph
                .edges
                .iter()
                .filter(|edge| place[edge[0]] != usize::MAX)
                .copied()
                .collect();
            let scale = scaling_factor(part, &edges)?;
            let mut matrix = Mat::<f64>::zeros(part.len(), part.len());
            for edge in &edges {
                let [i, j] = edge.map(|area| place[area]);
                matrix[(i, i)] += scale;
                matrix[(j, j)] += scale;
                matrix[(i, j)] -= scale;
                matrix[(j, i)] -= scale;
            }
            let values = matrix.self_adjoint_eigenvalues(Side::Lower).ok()?;
            excess.extend(values[1..].iter().map(|v| 1.0 / v - 1.0));
        }
        let mut mixing = Self {
            excess,
            rate: 1.0,
            whole: 0.0,
        };
        let (near, far) = (mixing.distance(u), mixing.distance(1.0));
        if !(near > 0.0 && far > near && far.is_finite()) {
            return None;
        }
        // The probability grows with the rate, from near/far on.
        let (mut low, mut high) = ((SLOWEST / far).ln(), (FASTEST / near).ln());
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            let rate = middle.exp();
            if (-rate * near).exp_m1() / (-rate * far).exp_m1() < alpha {
                low = middle;
            } else {
                high = middle;
            }
        }
        mixing.rate = (0.5 * (low + high)).exp();
        mixing.whole = -(-mixing.rate * far).exp_m1();
        Some(mixing)
    }

    fn distance(&self, share: f64) -> f64 {
        if share < STRAIGHT {
            return share * (0.5 * self.excess.iter().map(|e| e * e).sum::<f64>()).sqrt();
        }
        let one = |e: &f64| share * e - (share * e).ln_1p();
        self.excess.iter().map(one).sum::<f64>().max(0.0).sqrt()
    }

    /// d′.
    fn slope(&self, share: f64) -> f64 {
        if share < STRAIGHT {
            return self.distance(share) / share;
        }
        let one = |e: &f64| e * e * share / (1.0 + share * e);
        self.excess.iter().map(one).sum::<f64>() / (2.0 * self.distance(share))
    }
}

impl OwnPrior for Mixing {
    fn log_density(&self, share: f64) -> f64 {
        (self.rate / self.whole).ln() - self.rate * self.distance(share) + self.slope(share).ln()
    }

    fn draw(&self, rng: &mut Rng) -> f64 {
        let scale = Scale::Between(0.0, 1.0);
        let wanted = -(-rng.uniform() * self.whole).ln_1p() / self.rate;
        let (mut low, mut high) = (-FAR, FAR);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if self.distance(scale.value(middle)) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        scale.value(0.5 * (low + high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Graph {
        let pairs: Vec<(String, String)> = (0..12)
            .map(|k| (format!("{k}"), format!("{}", (k + 1) % 12)))
            .collect();
        let used: Vec<String> = (0..12).map(|k| k.to_string()).collect();
        Graph::new(&pairs, &used, &|_| String::new(), &mut Vec::new()).unwrap()
    }

    #[test]
    fn the_density_is_normalised_and_has_the_probability_that_was_asked_for() {
        let mixing = Mixing::new(&ring(), 0.5, 2.0 / 3.0).unwrap();
        let h = 1e-3;
        let mass = |from: f64, to: f64| -> f64 {
            let steps = ((to - from) / h) as usize;
            (0..steps)
                .map(|k| {
                    let x = from + (k as f64 + 0.5) * h;
                    let share = 1.0 / (1.0 + (-x).exp());
                    (mixing.log_density(share) + (share * (1.0 - share)).ln()).exp() * h
                })
                .sum()
        };
        let (below, above) = (mass(-30.0, 0.0), mass(0.0, 30.0));
        assert!((below - 2.0 / 3.0).abs() < 1e-4, "{below}");
        assert!((below + above - 1.0).abs() < 1e-4, "{above}");
    }

    #[test]
    fn draws_follow_the_density() {
        let mixing = Mixing::new(&ring(), 0.5, 2.0 / 3.0).unwrap();
        let mut rng = Rng::stream(4, 0);
        let n = 20_000;
        let below = (0..n).filter(|_| mixing.draw(&mut rng) < 0.5).count() as f64 / f64::from(n);
        let error = (2.0 / 9.0 / f64::from(n)).sqrt();
        assert!((below - 2.0 / 3.0).abs() < 4.0 * error, "{below}");
    }
}
