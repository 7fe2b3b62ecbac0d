//! Fast moves: reversible moves of y under whatever density they are handed.
//!
//! A move knows neither x nor x*, neither i nor n, and takes `&self`: it has no memory. Only
//! reversible combinations exist, a random [`Mixture`](FastMove::Mixture) and a
//! [`Palindrome`](FastMove::Palindrome) (A B B A); a plain sequence cannot be written down here,
//! which is what keeps a drag exact.

mod combine;
mod coordinate;
mod elliptical;
mod hmc;
mod nested;
mod pcn;
mod slice;
mod walk;

pub use coordinate::Coordinate;
pub use elliptical::EllipticalSlice;
pub use hmc::Hmc;
pub use nested::NestedDrag;
pub use pcn::CrankNicolson;
pub use slice::Slice;
pub use walk::RandomWalk;

use crate::error::Error;
use crate::fast::density::FastDensity;
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
    /// One of several moves, each with its weight.
    Mixture(Vec<(f64, FastMove)>),
    /// Several moves in order, then in reverse order: A B B A.
    Palindrome(Vec<FastMove>),
}

/// The fast variables and what the density answered there.
#[derive(Debug)]
pub(crate) struct Point<'a, C, V> {
    pub at: &'a mut C,
    pub value: V,
}

/// Room for the fast variables: an array when there are few, so that a drag runs in registers, or a vector.
pub(crate) trait Coordinates: AsRef<[f64]> + AsMut<[f64]> {}
impl<const D: usize> Coordinates for [f64; D] {}
impl Coordinates for Vec<f64> {}

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
    fn step<D: FastDensity, C: Coordinates>(
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

/// A move that makes one proposal, evaluates it once and accepts it or not: many paths of such moves can
/// be advanced together.
pub(crate) trait Metropolis {
    /// Proposes; `noise` is working space.
    fn propose(&self, current: &[f64], noise: &mut [f64], proposal: &mut [f64], rng: &mut Rng);

    /// Minus the log density of what the proposals keep invariant, at y.
    fn base(&self, y: &[f64]) -> f64;
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
            FastMove::Mixture(parts) => {
                let $it = &combine::Mixture(parts);
                $call
            }
            FastMove::Palindrome(parts) => {
                let $it = &combine::Palindrome(parts);
                $call
            }
        }
    };
}

impl Move for FastMove {
    fn step<D: FastDensity, C: Coordinates>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        dispatch!(self, it => it.step(density, point, work, rng))
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
