//! The moves that warm-up chooses for few fast variables, apart from the rest: these are compiled for arrays too.
//!
//! All moves run in vectors. To compile every one of them again for one and for two variables would make every target slower
//! to compile for the sake of moves that a warmed-up kernel of so few variables does not have.

use super::{FastMove, Mixture};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;

/// A move that is known to be a common one, or a mixture of such.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Common<'a> {
    One(&'a FastMove),
    Mixture(Mixture<'a>),
}

impl FastMove {
    /// The same move, if it is a common one.
    #[inline]
    pub(crate) fn common(&self) -> Option<Common<'_>> {
        match self {
            Self::Mixture(parts) => {
                let all = parts.iter().all(|(_, part)| is_common(part));
                all.then(|| Common::Mixture(Mixture::new(parts)))
            }
            one => is_common(one).then_some(Common::One(one)),
        }
    }
}

#[inline]
fn is_common(one: &FastMove) -> bool {
    matches!(
        one,
        FastMove::RandomWalk(_)
            | FastMove::CrankNicolson(_)
            | FastMove::Slice(_)
            | FastMove::EllipticalSlice(_)
    )
}

impl Move for Common<'_> {
    #[inline(always)]
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let one = match self {
            Self::One(one) => one,
            Self::Mixture(mixture) => mixture.draw(rng),
        };
        match one {
            FastMove::RandomWalk(it) => it.step(density, point, work, rng),
            FastMove::CrankNicolson(it) => it.step(density, point, work, rng),
            FastMove::Slice(it) => it.step(density, point, work, rng),
            FastMove::EllipticalSlice(it) => it.step(density, point, work, rng),
            _ => unreachable!("`common` lets no other move through"),
        }
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        match self {
            Self::One(one) => one.validate(dim),
            Self::Mixture(mixture) => mixture.validate(dim),
        }
    }
}
