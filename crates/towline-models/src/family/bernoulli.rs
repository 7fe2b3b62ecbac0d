//! 0 or 1 with the logistic link.

use super::{Pointwise, Settled};
use crate::vector::{logistic, logistic_slope, softplus};
use towline::Rng;

/// Each observation as −1 or +1.
#[derive(Debug, Clone)]
pub(crate) struct Bernoulli(Vec<f64>);

impl Bernoulli {
    pub fn new(values: &[f64]) -> Self {
        Self(values.iter().map(|y| 2.0 * y - 1.0).collect())
    }
}

impl Pointwise for Bernoulli {
    type Datum = f64;

    fn data(&self) -> &[f64] {
        &self.0
    }

    fn constant(&self, _: f64) -> f64 {
        0.0
    }

    #[inline(always)]
    fn log_p(sign: f64, eta: f64, _: Settled) -> f64 {
        -softplus(-sign * eta)
    }

    #[inline(always)]
    fn slope(sign: f64, eta: f64, _: Settled) -> f64 {
        sign * logistic(-sign * eta)
    }

    #[inline(always)]
    fn weight(_: f64, eta: f64, _: Settled) -> f64 {
        logistic_slope(eta)
    }

    fn draw(_: f64, eta: f64, _: Settled, rng: &mut Rng) -> f64 {
        f64::from(rng.uniform() < logistic(eta))
    }
}
