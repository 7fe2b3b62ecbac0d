//! Joint random walk: all fast variables at once, Gaussian with a full covariance.

use super::{Coordinates, Move, Point, Tally, Work, check_dim};
use crate::density::FastDensity;
use crate::error::Error;
use crate::factor::Factor;
use crate::rng::Rng;
use core::hint::select_unpredictable;
use serde::{Deserialize, Serialize};

/// Metropolis with y′ = y + L ξ, ξ standard normal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomWalk {
    factor: Factor,
}

impl RandomWalk {
    /// A random walk whose steps have the covariance of this factor.
    pub fn new(factor: Factor) -> Self {
        Self { factor }
    }
}

impl Move for RandomWalk {
    /// The hot path of the plain drag. The new state is selected without a branch, since nobody can
    /// predict an acceptance: a mispredicted one costs more than the step.
    #[inline]
    fn step<D: FastDensity, C: Coordinates>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let (noise, proposal) = (work.noise.as_mut(), work.proposal.as_mut());
        for xi in noise.iter_mut() {
            *xi = rng.normal();
        }
        self.factor.apply(noise, proposal);
        for (new, old) in proposal.iter_mut().zip(point.at.as_ref()) {
            *new += old;
        }
        let value = density.value(proposal);
        let accepted = rng.accept(density.log(value) - density.log(point.value));
        for (old, new) in point.at.as_mut().iter_mut().zip(&*proposal) {
            *old = select_unpredictable(accepted, *new, *old);
        }
        point.value = select_unpredictable(accepted, value, point.value);
        Tally::one(accepted)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_dim(
            "the covariance of the fast random walk",
            self.factor.dim(),
            dim,
        )
    }
}
