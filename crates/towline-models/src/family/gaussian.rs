//! Numbers with mean η and a common standard deviation.

use super::{Pointwise, Settled};
use towline::Rng;

/// The numbers.
#[derive(Debug, Clone)]
pub(crate) struct Gaussian(Vec<f64>);

impl Gaussian {
    pub fn new(data: Vec<f64>) -> Self {
        Self(data)
    }
}

const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

impl Pointwise for Gaussian {
    type Datum = f64;

    fn data(&self) -> &[f64] {
        &self.0
    }

    fn constant(&self, sd: f64) -> f64 {
        -(self.0.len() as f64) * (sd.ln() + HALF_LN_TAU)
    }

    #[inline(always)]
    fn log_p(y: f64, eta: f64, sd: Settled) -> f64 {
        let u = (y - eta) / sd.value;
        -0.5 * u * u
    }

    #[inline(always)]
    fn slope(y: f64, eta: f64, sd: Settled) -> f64 {
        (y - eta) / (sd.value * sd.value)
    }

    #[inline(always)]
    fn weight(_: f64, _: f64, sd: Settled) -> f64 {
        1.0 / (sd.value * sd.value)
    }

    fn draw(_: f64, eta: f64, sd: Settled, rng: &mut Rng) -> f64 {
        eta + sd.value * rng.normal()
    }
}
