//! Counts with mean e^η.

use super::random::poisson;
use super::{Pointwise, Settled};
use crate::vector::exp;
use towline::Rng;

/// The counts.
#[derive(Debug, Clone)]
pub(crate) struct Poisson {
    data: Vec<f64>,
    constant: f64,
}

impl Poisson {
    pub fn new(data: Vec<f64>) -> Self {
        let constant = -data.iter().map(|y| libm::lgamma(y + 1.0)).sum::<f64>();
        Self { data, constant }
    }
}

impl Pointwise for Poisson {
    type Datum = f64;

    fn data(&self) -> &[f64] {
        &self.data
    }

    fn constant(&self, _: f64) -> f64 {
        self.constant
    }

    #[inline(always)]
    fn log_p(y: f64, eta: f64, _: Settled) -> f64 {
        y * eta - exp(eta)
    }

    #[inline(always)]
    fn slope(y: f64, eta: f64, _: Settled) -> f64 {
        y - exp(eta)
    }

    #[inline(always)]
    fn weight(_: f64, eta: f64, _: Settled) -> f64 {
        exp(eta)
    }

    fn draw(_: f64, eta: f64, _: Settled, rng: &mut Rng) -> f64 {
        poisson(eta.exp(), rng)
    }
}
