//! What every fast move is: one reversible step of a point under a density.

use super::density::FastDensity;
use crate::error::Error;
/// Of the fast variables: an array when there are few, so that a drag runs in registers.
pub(crate) use crate::linalg::Storage;
use crate::random::Rng;

/// The fast variables and what the density is there.
#[derive(Debug)]
pub(crate) struct Point<'a, C, V> {
    pub at: &'a mut C,
    pub value: V,
}

/// Working space of a move.
#[derive(Debug, Clone, Default)]
pub(crate) struct Work<C> {
    pub proposal: C,
    pub noise: C,
    pub gradient: C,
    pub spare: C,
}

impl Work<Vec<f64>> {
    pub fn new(dim: usize) -> Self {
        Self {
            proposal: vec![0.0; dim],
            noise: vec![0.0; dim],
            gradient: vec![0.0; dim],
            spare: vec![0.0; dim],
        }
    }
}

impl<const D: usize> Work<[f64; D]> {
    pub fn fixed() -> Self {
        Self {
            proposal: [0.0; D],
            noise: [0.0; D],
            gradient: [0.0; D],
            spare: [0.0; D],
        }
    }
}

/// How many proposals were made and how many accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub proposed: u64,
    pub accepted: u64,
}

impl Tally {
    #[inline]
    pub fn one(accepted: bool) -> Self {
        Self {
            proposed: 1,
            accepted: u64::from(accepted),
        }
    }
}

impl std::ops::AddAssign for Tally {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.proposed += other.proposed;
        self.accepted += other.accepted;
    }
}

/// What every move can do.
pub(crate) trait Move {
    /// Moves the point, leaving the density it is handed invariant, by detailed balance.
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally;

    /// Refuses settings that make no sense for this number of fast variables.
    fn validate(&self, dim: usize) -> Result<(), Error>;

    /// The move's name where it needs gradients.
    fn needs_gradient(&self) -> Option<&'static str> {
        None
    }

    /// The number of leading variables that a nested drag in here moves.
    fn nested_block(&self) -> Option<usize> {
        None
    }

    /// How deep nested drags go in here.
    fn depth(&self) -> usize {
        0
    }

    /// Refuses nested drags of other blocks than the target has, where it has any.
    fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        let _ = blocks;
        Ok(())
    }
}
