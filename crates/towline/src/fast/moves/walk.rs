//! Joint random walk: all fast variables at once, Gaussian with a full covariance.

use super::check_dim;
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::random::selection::Choose;
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

    /// The number of variables it moves.
    pub(super) fn dim(&self) -> usize {
        self.factor.dim()
    }

    /// y′ = y + L ξ; `noise` is working space.
    ///
    /// Part of the hot path: inlined whatever the compiler thinks, so that the number of variables is known.
    #[inline(always)]
    pub(crate) fn propose(
        &self,
        current: &[f64],
        noise: &mut [f64],
        proposal: &mut [f64],
        rng: &mut Rng,
    ) {
        for xi in noise.iter_mut() {
            *xi = rng.normal();
        }
        self.factor.apply(noise, proposal);
        for (new, old) in proposal.iter_mut().zip(current) {
            *new += old;
        }
    }
}

impl Move for RandomWalk {
    /// The hot path of the plain drag.
    ///
    /// To accept with probability min(1, exp(log new − log old)) is to accept what rises above a height
    /// drawn uniformly under the old density. It is drawn first, so that the proposal's density is the last
    /// thing waited for; and the state is chosen without a jump, since nobody can predict an
    /// acceptance: a jump foretold wrongly costs more than the step.
    #[inline(always)]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let mut height = rng.height(density.log(point.value));
        let (noise, proposal) = (work.noise.as_mut(), work.proposal.as_mut());
        self.propose(point.at.as_ref(), noise, proposal, rng);
        let value = density.value(proposal);
        let choice = rng.choose(&mut height, density.log(value));
        for (old, &new) in point.at.as_mut().iter_mut().zip(&*proposal) {
            *old = f64::choose(choice, new, *old);
        }
        point.value = D::Value::choose(choice, value, point.value);
        Tally::one(choice.is_new())
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_dim(
            "the covariance of the fast random walk",
            self.factor.dim(),
            dim,
        )
    }
}
