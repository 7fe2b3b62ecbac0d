//! Random single coordinate: one fast variable, chosen afresh each time.

use super::{check_dim, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// Metropolis on one coordinate chosen at random, with a Gaussian step.
///
/// The choice is drawn for every move: a scan in a fixed order would not be reversible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    sds: Vec<f64>,
}

impl Coordinate {
    /// Steps of these standard deviations, one for each fast variable.
    pub fn new(sds: Vec<f64>) -> Self {
        Self { sds }
    }
}

impl Move for Coordinate {
    #[inline]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        _: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let k = rng.index(self.sds.len());
        let old = point.at.as_ref()[k];
        point.at.as_mut()[k] = old + self.sds[k] * rng.normal();
        let value = density.value(point.at.as_ref());
        let accepted = rng.accept(density.log(value) - density.log(point.value));
        if accepted {
            point.value = value;
        } else {
            point.at.as_mut()[k] = old;
        }
        Tally::one(accepted)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_dim("the list of coordinate steps", self.sds.len(), dim)?;
        self.sds
            .iter()
            .try_for_each(|&sd| check_positive("a coordinate step", sd))
    }
}
