//! Moves of the fast variables at fixed x: no slow evaluation at all.

use crate::error::Error;
use crate::fast::conditional::Conditional;
use crate::fast::end::Left;
use crate::fast::moves::{FastMove, Mixture};
use crate::fast::nested::refine::Kept;
use crate::fast::repeat;
use crate::fast::step::{Move, Tally};
use crate::frame::view::{Few, Framed};
use crate::frame::{Frame, FrameRule};
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace};
use crate::random::Rng;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// Several moves of y at fixed x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FastOnly {
    inner: FastMove,
    times: usize,
    pub(super) frame: FrameRule,
}

/// What repeated moves leave behind, besides where they end.
struct Moved<C> {
    tally: Tally,
    value: f64,
    left: Left<Kept<C>>,
}

impl FastOnly {
    /// This move, so many times in each step.
    pub fn new(inner: FastMove, times: usize) -> Self {
        Self {
            inner,
            times,
            frame: FrameRule::Identity,
        }
    }

    /// The same in a frame.
    #[must_use]
    pub fn in_frame(mut self, frame: FrameRule) -> Self {
        self.frame = frame;
        self
    }

    /// One step; what it did is added to `info`.
    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        if state.y.is_empty() {
            return Ok(());
        }
        self.frame.place(target, &mut state.slow, work, info);
        let frame = self.frame.of(&state.slow);
        frame.to_z(&state.y, &mut work.z, &mut work.spare);
        let few = match work.z.len() {
            1 => self.moves_of_few::<T, 1>(target, state, frame, work, rng),
            2 => self.moves_of_few::<T, 2>(target, state, frame, work, rng),
            _ => None,
        };
        let moved = match few {
            Some(moved) => moved,
            None => self.moves(target, state, frame, work, rng),
        };
        let Moved { tally, value, left } = moved?;
        info.inner_proposed += tally.proposed;
        info.inner_accepted += tally.accepted;
        info.medium_evaluations += left.spent.medium;
        info.fast_evaluations += left.spent.fast;
        // Only if y moved at all: mapping an unmoved z back would move it by a rounding error.
        if tally.accepted > 0 {
            state.log_density = value;
            frame.to_y(&work.z, &mut state.y);
        }
        if left.kept.is_some() {
            state.slow.kept = left.kept;
        }
        Ok(())
    }

    /// Moves `work.z` under the conditional density.
    fn moves<T: Target>(
        &self,
        target: &T,
        state: &State<T::Cache>,
        frame: &Frame,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Moved<T::Cache>, Error> {
        let Workspace {
            z, moves, buffers, ..
        } = work;
        let (times, start) = (self.times, state.log_density);
        let mut density = Conditional::new(state.slow.end(target, frame), Framed(frame), buffers);
        let (tally, value) = match &self.inner {
            FastMove::Mixture(parts) => {
                let inner = Mixture::new(parts);
                repeat::in_vector(times, &inner, &mut density, start, z, moves, rng)
            }
            inner => repeat::in_vector(times, inner, &mut density, start, z, moves, rng),
        };
        let left = density.finish()?;
        Ok(Moved { tally, value, left })
    }

    /// The same in a frame of D variables, in registers; `None` where there is no such frame, or the moves are not compiled
    /// for it.
    fn moves_of_few<T: Target, const D: usize>(
        &self,
        target: &T,
        state: &State<T::Cache>,
        frame: &Frame,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Option<Result<Moved<T::Cache>, Error>> {
        let (inner, view) = (self.inner.common()?, Few::<D>::of(frame)?);
        let (times, start) = (self.times, state.log_density);
        let mut density = Conditional::new(state.slow.end(target, frame), view, &mut work.buffers);
        let (tally, value) =
            repeat::in_array::<_, _, D>(times, &inner, &mut density, start, &mut work.z, rng);
        let left = density.finish();
        Some(left.map(|left| Moved { tally, value, left }))
    }

    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        if self.times == 0 {
            return Err(Error::Setting {
                what: "the number of fast-only moves",
                value: 0.0,
                expected: "at least 1",
            });
        }
        self.frame.validate(x.len(), y.len())?;
        if y.is_empty() {
            return Ok(());
        }
        self.inner.validate(y.len())
    }

    pub(crate) fn needs_gradient(&self) -> Option<&'static str> {
        self.inner.needs_gradient()
    }

    pub(crate) fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        self.inner.check_blocks(blocks)
    }
}
