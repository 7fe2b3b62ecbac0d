//! Preconditioned Crank–Nicolson: a random walk that keeps the standard normal distribution.

use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// y′ = √(1−β²) y + β ξ, accepted by the density relative to the standard normal.
///
/// For fast variables with a standard normal base (whitened latent values, or any y seen in a
/// Laplace frame) its acceptance does not fall as their number grows. Exact for every density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CrankNicolson {
    beta: f64,
}

impl CrankNicolson {
    /// Steps of size β, above 0 and at most 1.
    pub fn new(beta: f64) -> Self {
        Self { beta }
    }
}

impl Move for CrankNicolson {
    #[inline]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let (proposal, current) = (work.proposal.as_mut(), point.at.as_ref());
        let keep = (1.0 - self.beta * self.beta).sqrt();
        for (new, old) in proposal.iter_mut().zip(current) {
            *new = keep * old + self.beta * rng.normal();
        }
        let value = density.value(proposal);
        let log_ratio = (density.log(value) + half_square(proposal))
            - (density.log(point.value) + half_square(current));
        let accepted = rng.accept(log_ratio);
        if accepted {
            point.at.as_mut().copy_from_slice(proposal);
            point.value = value;
        }
        Tally::one(accepted)
    }

    fn validate(&self, _: usize) -> Result<(), Error> {
        if self.beta > 0.0 && self.beta <= 1.0 {
            Ok(())
        } else {
            Err(Error::Setting {
                what: "the step β of Crank–Nicolson",
                value: self.beta,
                expected: "above 0 and at most 1",
            })
        }
    }
}

/// |y|²/2: minus the logarithm of the standard normal density, up to a constant.
#[inline]
pub(super) fn half_square(y: &[f64]) -> f64 {
    0.5 * y.iter().map(|v| v * v).sum::<f64>()
}
