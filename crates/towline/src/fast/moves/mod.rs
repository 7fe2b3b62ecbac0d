//! Fast moves: reversible moves of y under whatever density they are handed.
//!
//! A move knows neither x nor x*, neither i nor n, and takes `&self`: it has no memory. Only
//! one combination exists, a random [`Mixture`](FastMove::Mixture); a plain sequence, which is not reversible, cannot be
//! written down here, which is what keeps a drag exact.

mod combine;
mod common;
mod coordinate;
mod elliptical;
mod hmc;
mod nested;
mod pcn;
mod slice;
mod tempered;
mod walk;

pub(crate) use combine::Mixture;
pub use coordinate::Coordinate;
pub use elliptical::EllipticalSlice;
pub use hmc::Hmc;
pub use nested::NestedDrag;
pub use pcn::CrankNicolson;
pub use slice::Slice;
pub use tempered::Tempered;
pub use walk::RandomWalk;

use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::forgotten::Forgotten;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// A reversible move of the fast variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum FastMove {
    /// All coordinates at once, Gaussian.
    RandomWalk(RandomWalk),
    /// One coordinate, chosen at random.
    Coordinate(Coordinate),
    /// A slice along one coordinate, chosen at random.
    Slice(Slice),
    /// Preconditioned Crank–Nicolson.
    CrankNicolson(CrankNicolson),
    /// Elliptical slice sampling.
    EllipticalSlice(EllipticalSlice),
    /// Hamiltonian Monte Carlo; with one leapfrog step, Langevin.
    Hmc(Hmc),
    /// A drag of the faster among the fast variables along with the slower.
    Nested(NestedDrag),
    /// Heated step by step and cooled again: between modes far apart.
    Tempered(Tempered),
    /// One of several moves, each with its weight.
    Mixture(Vec<(f64, FastMove)>),
}

/// Hands a call to whichever move this is: the one place where a new move is registered.
macro_rules! dispatch {
    ($self:expr, $it:ident => $call:expr) => {
        match $self {
            FastMove::RandomWalk($it) => $call,
            FastMove::Coordinate($it) => $call,
            FastMove::Slice($it) => $call,
            FastMove::CrankNicolson($it) => $call,
            FastMove::EllipticalSlice($it) => $call,
            FastMove::Hmc($it) => $call,
            FastMove::Nested($it) => $call,
            FastMove::Tempered($it) => $call,
            FastMove::Mixture(parts) => {
                let $it = &Mixture::new(parts);
                $call
            }
        }
    };
}

impl Move for FastMove {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        match self {
            // Picks a part and jumps there; the others have functions of their own, so that choosing among them costs no more
            // than the jump.
            Self::Mixture(parts) => Mixture::new(parts).step(density, point, work, rng),
            Self::RandomWalk(it) => apart(it, density, point, work, rng),
            Self::CrankNicolson(it) => apart(it, density, point, work, rng),
            Self::Slice(it) => apart(it, density, point, work, rng),
            Self::EllipticalSlice(it) => apart(it, density, point, work, rng),
            // The rarer ones are not compiled for every target: a call through a pointer is little beside what most of them do
            // between two evaluations.
            Self::Coordinate(it) => apart(it, &mut Forgotten::new(density), point, work, rng),
            Self::Hmc(it) => apart(it, &mut Forgotten::new(density), point, work, rng),
            Self::Nested(it) => apart(it, &mut Forgotten::new(density), point, work, rng),
            Self::Tempered(it) => apart(it, &mut Forgotten::new(density), point, work, rng),
        }
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        dispatch!(self, it => it.validate(dim))
    }

    fn needs_gradient(&self) -> Option<&'static str> {
        dispatch!(self, it => it.needs_gradient())
    }

    fn nested_block(&self) -> Option<usize> {
        dispatch!(self, it => it.nested_block())
    }

    fn depth(&self) -> usize {
        dispatch!(self, it => it.depth())
    }

    fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        dispatch!(self, it => it.check_blocks(blocks))
    }
}

/// A step of a move, never inlined.
#[inline(never)]
fn apart<M: Move, D: FastDensity, C: Storage>(
    it: &M,
    density: &mut D,
    point: &mut Point<'_, C, D::Value>,
    work: &mut Work<C>,
    rng: &mut Rng,
) -> Tally {
    it.step(density, point, work, rng)
}

/// Refuses a list whose length is not the number of fast variables.
fn check_dim(what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::Dimension {
            what,
            expected,
            found,
        })
    }
}

/// Refuses a setting that is not positive and finite.
fn check_positive(what: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting {
            what,
            value,
            expected: "positive and finite",
        })
    }
}
