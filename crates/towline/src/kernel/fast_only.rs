//! Moves of the fast variables at fixed x: no slow evaluation at all.

use crate::error::Error;
use crate::fast::conditional::Conditional;
use crate::fast::moves::FastMove;
use crate::fast::step::{Move, Point};
use crate::frame::FrameRule;
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

    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info::default();
        if state.y.is_empty() {
            return Ok(info);
        }
        self.frame.place(target, &mut state.slow, work, &mut info);
        let frame = self.frame.of(&state.slow);
        let end = state.slow.end(target, frame);
        frame.to_z(&state.y, &mut work.z, &mut work.spare);
        let Workspace {
            z, moves, buffers, ..
        } = work;
        let mut point = Point {
            at: z,
            value: state.log_density,
        };
        // Whether y moved at all: mapping an unmoved z back would move it by a rounding error.
        let mut accepted = 0;
        let mut density = Conditional::new(end, buffers);
        for _ in 0..self.times {
            let tally = self.inner.step(&mut density, &mut point, moves, rng);
            info.inner_proposed += tally.proposed;
            accepted += tally.accepted;
        }
        info.inner_accepted = accepted;
        let left = density.finish()?;
        info.medium_evaluations += left.spent.medium;
        info.fast_evaluations += left.spent.fast;
        if accepted > 0 {
            state.log_density = point.value;
            frame.to_y(z, &mut state.y);
        }
        if left.kept.is_some() {
            state.slow.kept = left.kept;
        }
        Ok(info)
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
