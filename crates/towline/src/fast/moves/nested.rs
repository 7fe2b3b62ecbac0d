//! A drag inside a drag, for more than two speeds: medium variables proposed, faster ones dragged along.

use super::{FastMove, RandomWalk};
use crate::error::Error;
use crate::fast::density::{DEEPEST, FastDensity, Nested, Spread, Way};
use crate::fast::path;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::linalg::Factor;
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// Proposes new values of the leading fast variables (the medium ones) by a random walk and drags the
/// rest along through n − 1 intermediate densities.
///
/// It is the paper's update with the medium variables for x, so it is reversible for whatever density
/// it is handed, and may stand wherever a fast move may: at fixed x, inside a
/// [`Drag`](crate::Drag) and inside another nested drag (three deep at most: five speeds).
///
/// It pays where the target has [`blocks`](crate::Target::blocks) and
/// [`refine`](crate::Target::refine): then a proposal costs one medium computation (two inside a drag, one for
/// each end), and all the rest are the fastest evaluations. Without them it is as
/// right, and slower. In a frame, refined caches serve as long as its root is lower triangular, as that of
/// a linear frame is; a Laplace frame mixes the blocks, and every evaluation is then made from the
/// slow cache.
///
/// Acceptances are counted for its own proposals, not for the moves inside.
///
/// ```
/// use towline::{Factor, FastMove, NestedDrag, RandomWalk};
/// // One medium variable, two fast ones.
/// let inner = RandomWalk::new(Factor::diagonal(&[0.2, 0.2], "the fast steps")?);
/// let medium = Factor::diagonal(&[1.0], "the medium step")?;
/// let nested = FastMove::Nested(NestedDrag::new(10, medium, FastMove::RandomWalk(inner))?);
/// # Ok::<(), towline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NestedDrag {
    n: usize,
    block: RandomWalk,
    inner: Box<FastMove>,
}

impl NestedDrag {
    /// A drag of n intervals: the leading variables, as many as `block` has, take a step with its
    /// covariance; `inner` moves the rest.
    ///
    /// # Errors
    /// [`Error::ZeroIntervals`] for n = 0.
    pub fn new(n: usize, block: Factor, inner: FastMove) -> Result<Self, Error> {
        if n == 0 {
            return Err(Error::ZeroIntervals);
        }
        Ok(Self {
            n,
            block: RandomWalk::new(block),
            inner: Box::new(inner),
        })
    }
}

impl Move for NestedDrag {
    /// Allocates: next to a medium computation that is nothing.
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let size = self.block.dim();
        let (noise, head) = (work.noise.as_mut(), &mut work.proposal.as_mut()[..size]);
        let at = point.at.as_ref();
        self.block
            .propose(&at[..size], &mut noise[..size], head, rng);
        let mut rest = at[size..].to_vec();

        let mut way = density.nest(at, head);
        let start = way.start(point.value.spread(), &rest);
        if self.n > 1 && way.difference(start) > f64::NEG_INFINITY {
            way.open();
        }
        let mut inside = Point {
            value: start,
            at: &mut rest,
        };
        let mut room = Work::new(inside.at.len());
        let (mean_difference, _) =
            path::walk(self.n, &*self.inner, &mut way, &mut inside, &mut room, rng);
        let accepted = rng.accept(mean_difference);
        let arrived = way.arrived(inside.value);
        way.settle(accepted);
        if accepted {
            point.at.as_mut()[..size].copy_from_slice(head);
            point.at.as_mut()[size..].copy_from_slice(&rest);
            point.value = D::Value::gather(arrived);
        }
        Tally::one(accepted)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        if self.n == 0 {
            return Err(Error::ZeroIntervals);
        }
        let size = self.block.dim();
        if size == 0 || size >= dim {
            return Err(Error::Setting {
                what: "the number of variables in a nested drag's block",
                value: size as f64,
                expected: "at least 1, and fewer than there are variables to move",
            });
        }
        if self.depth() > DEEPEST {
            return Err(Error::Setting {
                what: "the depth of nested drags",
                value: self.depth() as f64,
                expected: "at most 3",
            });
        }
        self.inner.validate(dim - size)
    }

    fn needs_gradient(&self) -> Option<&'static str> {
        self.inner.needs_gradient()
    }

    fn nested_block(&self) -> Option<usize> {
        Some(self.block.dim())
    }

    fn depth(&self) -> usize {
        1 + self.inner.depth()
    }

    fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        match blocks.split_first() {
            None => Ok(()),
            Some((&expected, _)) if expected != self.block.dim() => Err(Error::Dimension {
                what: "the block of a nested drag",
                expected,
                found: self.block.dim(),
            }),
            Some((_, deeper)) => self.inner.check_blocks(deeper),
        }
    }
}
