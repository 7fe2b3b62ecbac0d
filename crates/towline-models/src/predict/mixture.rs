//! The linear predictor over all draws: a mixture of normal distributions, whose quantiles are found by inverting it.

use crate::special::{normal_cdf, normal_density};

/// A mixture of normal distributions of equal weight, one from each draw; some may be points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mixture {
    /// The mean of each.
    pub means: Vec<f64>,
    /// The standard deviation of each; 0 for a point.
    pub sds: Vec<f64>,
}

/// Steps of the search for a quantile: bisection alone would reach the last digit in these.
const MOST_STEPS: usize = 200;

impl Mixture {
    /// How many distributions there are.
    pub fn len(&self) -> usize {
        self.means.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.means.is_empty()
    }

    /// Adds the normal distribution of one more draw.
    pub fn push(&mut self, mean: f64, variance: f64) {
        self.means.push(mean);
        self.sds.push(variance.max(0.0).sqrt());
    }

    /// Its parts: mean and standard deviation.
    pub fn parts(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.means.iter().copied().zip(self.sds.iter().copied())
    }

    /// The mean over all parts of some function of a part.
    pub fn average(&self, mut of: impl FnMut(f64, f64) -> f64) -> f64 {
        self.parts().map(|(m, s)| of(m, s)).sum::<f64>() / self.len() as f64
    }

    /// Its mean.
    pub fn mean(&self) -> f64 {
        self.average(|m, _| m)
    }

    /// Its standard deviation.
    pub fn sd(&self) -> f64 {
        let mean = self.mean();
        self.average(|m, s| s * s + (m - mean).powi(2)).sqrt()
    }

    /// The probability of at most t.
    pub fn cdf(&self, t: f64) -> f64 {
        self.average(|m, s| {
            if s > 0.0 {
                normal_cdf((t - m) / s)
            } else {
                f64::from(t >= m)
            }
        })
    }

    /// The density at t; points have none.
    pub fn density(&self, t: f64) -> f64 {
        self.average(|m, s| {
            if s > 0.0 {
                normal_density((t - m) / s) / s
            } else {
                0.0
            }
        })
    }

    /// Wider by an independent normal number: `extra[k]` is its standard deviation in part k.
    #[must_use]
    pub fn widened(&self, extra: impl Iterator<Item = f64>) -> Self {
        Self {
            means: self.means.clone(),
            sds: self
                .sds
                .iter()
                .zip(extra)
                .map(|(s, e)| s.hypot(e))
                .collect(),
        }
    }

    /// The t below which lies probability p. Where all parts are points, between neighbours as a sample's quantile is.
    pub fn quantile(&self, p: f64) -> f64 {
        if self.is_empty() || self.means.iter().any(|m| m.is_nan()) {
            return f64::NAN;
        }
        if self.sds.iter().all(|s| *s == 0.0) {
            return sample_quantile(&self.means, p);
        }
        // A quantile of a mixture lies between the least and the largest of its parts'.
        let z = crate::special::normal_quantile(p);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (m, s) in self.parts() {
            low = low.min(m + s * z);
            high = high.max(m + s * z);
        }
        let mut t = self.mean() + self.sd() * z;
        for _ in 0..MOST_STEPS {
            if !(t > low && t < high) {
                t = 0.5 * (low + high);
            }
            if high - low <= 4.0 * f64::EPSILON * low.abs().max(high.abs()) {
                break;
            }
            let excess = self.cdf(t) - p;
            if excess > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let step = excess / self.density(t);
            if step.abs() <= 1e-13 * t.abs().max(self.sds[0]) {
                return t - step;
            }
            // Newton's step; where it is no good, the middle is taken above.
            t -= step;
        }
        t
    }
}

/// The quantile of a sample, with its neighbours interpolated (the default of R and NumPy).
pub(crate) fn sample_quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = p * (sorted.len() - 1) as f64;
    let (below, part) = (at.floor() as usize, at.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] * (1.0 - part) + sorted[above] * part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_one_normal_are_its_own() {
        let mut mixture = Mixture::default();
        for _ in 0..40 {
            mixture.push(0.0, 1.0);
        }
        for (p, z) in [
            (0.975, 1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_901),
        ] {
            assert!((mixture.quantile(p) - z).abs() < 1e-12);
            assert!((mixture.quantile(1.0 - p) + z).abs() < 1e-12);
        }
    }

    #[test]
    fn quantiles_invert_the_distribution_function() {
        let mut mixture = Mixture::default();
        for k in 0..50 {
            let u = f64::from(k) / 49.0;
            mixture.push((7.0 * u).sin() * 30.0, 1e-3 + (3.0 * u).powi(4));
        }
        for p in [1e-6, 0.005, 0.025, 0.3, 0.5, 0.7, 0.9, 0.999_9] {
            let back = mixture.cdf(mixture.quantile(p));
            assert!((back - p).abs() < 1e-9, "{p} {back}");
        }
        // Points among normals: the quantile is where the distribution jumps over p.
        mixture.push(5.0, 0.0);
        let p = 0.5 * (mixture.cdf(5.0) + mixture.cdf(5.0 - 1e-9));
        assert!((mixture.quantile(p) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn points_alone_are_a_sample() {
        let mut mixture = Mixture::default();
        for m in [3.0, 1.0, 2.0] {
            mixture.push(m, 0.0);
        }
        assert_eq!(
            [0.0, 0.25, 1.0].map(|p| mixture.quantile(p)),
            [1.0, 1.5, 3.0]
        );
    }
}
