//! The reversible combination: a random mixture.

use super::{FastMove, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;

/// One of several moves, drawn afresh each time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mixture<'a> {
    parts: &'a [(f64, FastMove)],
    /// Of the weights, added up once for many moves.
    total: f64,
}

impl<'a> Mixture<'a> {
    /// One of these, with these weights.
    #[inline]
    pub fn new(parts: &'a [(f64, FastMove)]) -> Self {
        let total = parts.iter().map(|part| part.0).sum();
        Self { parts, total }
    }

    /// One of them.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> &'a FastMove {
        let k = rng.pick_of(self.total, self.parts.iter().map(|part| part.0));
        &self.parts[k].1
    }
}

impl Move for Mixture<'_> {
    #[inline]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        self.draw(rng).step(density, point, work, rng)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_positive("the number of moves in a mixture", self.parts.len() as f64)?;
        for (weight, part) in self.parts {
            check_positive("the weight of a move in a mixture", *weight)?;
            part.validate(dim)?;
        }
        Ok(())
    }

    fn needs_gradient(&self) -> Option<&'static str> {
        self.parts
            .iter()
            .find_map(|(_, part)| part.needs_gradient())
    }

    fn nested_block(&self) -> Option<usize> {
        self.parts.iter().find_map(|(_, part)| part.nested_block())
    }

    fn depth(&self) -> usize {
        self.parts
            .iter()
            .map(|(_, part)| part.depth())
            .max()
            .unwrap_or(0)
    }

    fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        let mut parts = self.parts.iter();
        parts.try_for_each(|(_, part)| part.check_blocks(blocks))
    }
}
