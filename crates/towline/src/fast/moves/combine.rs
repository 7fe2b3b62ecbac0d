//! The reversible combination: a random mixture.

use super::{FastMove, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;

/// One of several moves, drawn afresh each time.
pub(super) struct Mixture<'a>(pub &'a [(f64, FastMove)]);

impl Move for Mixture<'_> {
    #[inline]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let k = rng.pick(self.0.iter().map(|part| part.0));
        self.0[k].1.step(density, point, work, rng)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_positive("the number of moves in a mixture", self.0.len() as f64)?;
        for (weight, part) in self.0 {
            check_positive("the weight of a move in a mixture", *weight)?;
            part.validate(dim)?;
        }
        Ok(())
    }

    fn needs_gradient(&self) -> Option<&'static str> {
        self.0.iter().find_map(|(_, part)| part.needs_gradient())
    }

    fn nested_block(&self) -> Option<usize> {
        self.0.iter().find_map(|(_, part)| part.nested_block())
    }

    fn depth(&self) -> usize {
        self.0
            .iter()
            .map(|(_, part)| part.depth())
            .max()
            .unwrap_or(0)
    }

    fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        let mut parts = self.0.iter();
        parts.try_for_each(|(_, part)| part.check_blocks(blocks))
    }
}
