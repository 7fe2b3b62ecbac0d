//! What y is drawn from at one x, in the coordinates of its frame: a normal, and two heavier shapes beside it.
//!
//! Where the conditional is what its frame says, the normal part is all there is to it. The other parts bound the weights
//! where it is not (Hesterberg's defensive mixture): one with heavy tails in every direction at once, one along single axes,
//! where independent heavy tails lie. Each part is drawn a fixed number of times, and the density is that of the whole mixture,
//! so that the mean of density over reference is unbiased with less noise than with random parts (Owen and Zhou 2000).

use crate::random::Rng;
use std::f64::consts::TAU;

/// The shares of the two heavy parts.
const HEAVY: [f64; 2] = [0.2, 0.2];
/// Degrees of freedom of the heavy parts: the fewest whose draws are made of exponential numbers (χ² with two of them).
const FREEDOM: f64 = 2.0;

/// A mixture over z with a fixed number of draws from each part.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    dim: usize,
    /// Pairs ±z of the normal, of the heavy part, and of the part with one heavy axis.
    pairs: [usize; 3],
    /// The logarithms of the shares, each with its part's constant.
    logs: [f64; 3],
}

impl Reference {
    /// For so many pairs ±z.
    pub fn new(dim: usize, pairs: usize) -> Self {
        let share = |share: f64| (share * pairs as f64).round() as usize;
        // One axis is every direction.
        let heavy = [share(HEAVY[0]), if dim > 1 { share(HEAVY[1]) } else { 0 }];
        Self::with(dim, [pairs - heavy[0] - heavy[1], heavy[0], heavy[1]])
    }

    /// With so many pairs from each part.
    pub fn with(dim: usize, pairs: [usize; 3]) -> Self {
        let total = pairs.iter().sum::<usize>() as f64;
        let d = dim as f64;
        let log = |k: usize| (pairs[k] as f64 / total).ln();
        let normal = -0.5 * d * TAU.ln();
        Self {
            dim,
            pairs,
            logs: [
                log(0) + normal,
                log(1) + student_constant(d),
                log(2) + student_constant(1.0) - 0.5 * (d - 1.0) * TAU.ln() - d.ln(),
            ],
        }
    }

    /// The number of draws.
    pub fn count(&self) -> usize {
        2 * self.pairs.iter().sum::<usize>()
    }

    /// All draws one after another, each with its negative after it.
    pub fn draws(&self, rng: &mut Rng) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.count() * self.dim);
        for (part, &pairs) in self.pairs.iter().enumerate() {
            for _ in 0..pairs {
                let mut z: Vec<f64> = (0..self.dim).map(|_| rng.normal()).collect();
                match part {
                    0 => {}
                    1 => {
                        let stretch = heavy(rng);
                        z.iter_mut().for_each(|v| *v *= stretch);
                    }
                    _ => {
                        let axis = rng.index(self.dim);
                        z[axis] *= heavy(rng);
                    }
                }
                all.extend(&z);
                all.extend(z.iter().map(|v| -v));
            }
        }
        all
    }

    /// The log density of the mixture.
    pub fn log_density(&self, z: &[f64]) -> f64 {
        let square: f64 = z.iter().map(|v| v * v).sum();
        let d = self.dim as f64;
        let tail = |square: f64, dim: f64| -0.5 * (FREEDOM + dim) * (square / FREEDOM).ln_1p();
        let mut logs = [
            self.logs[0] - 0.5 * square,
            self.logs[1] + tail(square, d),
            f64::NEG_INFINITY,
        ];
        if self.pairs[2] > 0 {
            let axes = z.iter().map(|v| 0.5 * v * v + tail(v * v, 1.0));
            logs[2] = self.logs[2] - 0.5 * square + log_sum(&axes.collect::<Vec<_>>());
        }
        log_sum(&logs)
    }
}

/// A normal number times this has Student's t distribution.
fn heavy(rng: &mut Rng) -> f64 {
    // χ² with two degrees of freedom is twice an exponential number.
    (FREEDOM / (2.0 * rng.exponential())).sqrt()
}

/// The constant of Student's t in so many dimensions.
fn student_constant(d: f64) -> f64 {
    libm::lgamma(0.5 * (FREEDOM + d))
        - libm::lgamma(0.5 * FREEDOM)
        - 0.5 * d * (FREEDOM * std::f64::consts::PI).ln()
}

/// ln Σ exp.
pub(crate) fn log_sum(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + logs.iter().map(|log| (log - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_that_is_drawn_from_is_the_one_that_is_evaluated() {
        // E over its draws of box(z)/density is the volume of the box, in one and in more dimensions.
        for dim in [1, 2, 5] {
            let mut rng = Rng::stream(11, dim as u64);
            let reference = Reference::new(dim, 40_000);
            let draws = reference.draws(&mut rng);
            let half: f64 = 1.5;
            let values: Vec<f64> = draws
                .chunks_exact(dim)
                .map(|z| match z.iter().all(|v| v.abs() < half) {
                    true => (-reference.log_density(z)).exp(),
                    false => 0.0,
                })
                .collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            // A pair is one draw here: the box is symmetric.
            let error = (2.0 * variance / count).sqrt();
            let volume = (2.0 * half).powi(dim as i32);
            assert!(
                (mean - volume).abs() < 4.0 * error,
                "{dim}: {mean} {volume} ± {error}"
            );
        }
    }
}
