//! Successes among so many trials, with the logistic link.

use super::random::{binomial, ln_choose};
use super::{Pointwise, Settled};
use crate::vector::{logistic, logistic_slope, softplus};
use towline::Rng;

/// Successes and trials.
#[derive(Debug, Clone)]
pub(crate) struct Binomial {
    data: Vec<[f64; 2]>,
    constant: f64,
}

impl Binomial {
    pub fn new(data: Vec<[f64; 2]>) -> Self {
        let constant = data.iter().map(|[y, m]| ln_choose(*m, *y)).sum();
        Self { data, constant }
    }
}

impl Pointwise for Binomial {
    type Datum = [f64; 2];

    fn data(&self) -> &[[f64; 2]] {
        &self.data
    }

    fn constant(&self, _: f64) -> f64 {
        self.constant
    }

    /// With η mirrored so that it is never above 0, nothing large is subtracted.
    #[inline(always)]
    fn log_p([y, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        let (count, low) = if eta > 0.0 { (m - y, -eta) } else { (y, eta) };
        count * low - m * softplus(low)
    }

    #[inline(always)]
    fn slope([y, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        y * logistic(-eta) - (m - y) * logistic(eta)
    }

    #[inline(always)]
    fn weight([_, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        m * logistic_slope(eta)
    }

    fn draw([_, m]: [f64; 2], eta: f64, _: Settled, rng: &mut Rng) -> f64 {
        binomial(m, logistic(eta), rng)
    }
}
