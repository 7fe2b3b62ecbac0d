//! The drag: the paper's sections 2 and 3.

use crate::density::{Between, End};
use crate::error::Error;
use crate::frame::FrameRule;
use crate::info::Info;
use crate::moves::{FastMove, Move};
use crate::path::{self, Path};
use crate::proposal::SlowProposal;
use crate::rng::Rng;
use crate::state::{Slow, State, Workspace, prepare};
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// Proposes a new x and drags y along through n − 1 intermediate distributions.
///
/// ```
/// use towline::{Drag, Factor, FastMove, RandomWalk, SlowProposal};
/// let inner = RandomWalk::new(Factor::diagonal(&[0.2], "inner")?);
/// let drag = Drag::new(20, SlowProposal::random_walk(&[1.0])?, FastMove::RandomWalk(inner))?;
/// # Ok::<(), towline::Error>(())
/// ```
///
/// Only reversible moves can be put inside; a cycle of kernels, which is not, does not type-check:
///
/// ```compile_fail
/// # use towline::{Drag, Kernel, SlowProposal};
/// let cycle = Kernel::Cycle(vec![]);
/// let drag = Drag::new(20, SlowProposal::random_walk(&[1.0]).unwrap(), cycle);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drag {
    n: usize,
    proposal: SlowProposal,
    inner: Option<FastMove>,
    frame: FrameRule,
}

impl Drag {
    /// A drag of n intervals, so of n − 1 inner moves; n = 1 holds y still.
    ///
    /// # Errors
    /// [`Error::ZeroIntervals`] for n = 0.
    pub fn new(n: usize, proposal: SlowProposal, inner: FastMove) -> Result<Self, Error> {
        if n == 0 {
            return Err(Error::ZeroIntervals);
        }
        Ok(Self {
            n,
            proposal,
            inner: Some(inner),
            frame: FrameRule::Identity,
        })
    }

    /// Metropolis in x, y (if there is any) held still.
    pub fn without_fast(proposal: SlowProposal) -> Self {
        Self {
            n: 1,
            proposal,
            inner: None,
            frame: FrameRule::Identity,
        }
    }

    /// The same drag in a moving frame.
    #[must_use]
    pub fn in_frame(mut self, frame: FrameRule) -> Self {
        self.frame = frame;
        self
    }

    /// One step, beside the paper's section 3.
    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info {
            outer_proposed: 1,
            log_ratio: f64::NEG_INFINITY,
            ..Info::default()
        };
        // "we first propose a new x* according to the probabilities S(x*|x)"
        let log_s = self.proposal.propose(&state.slow.x, &mut work.x, rng);
        info.slow_evaluations = 1;
        let Some(mut proposed) = prepare(target, &work.x)? else {
            return Ok(info);
        };

        // "We then generate a series of values y₁, …, yₙ₋₁, with yᵢ being drawn according to the
        // probabilities Tᵢ(yᵢ|yᵢ₋₁; x, x*)", in a frame: all that follows is about z, not y.
        self.frame.place(target, &mut state.slow, work, &mut info);
        self.frame.place(target, &mut proposed, work, &mut info);
        let path = self.drag(target, state, &proposed, work, rng)?;
        info.inner_proposed += path.inner.proposed;
        info.inner_accepted += path.inner.accepted;
        info.fast_evaluations += path.evaluations;

        // Equation 15: S(x|x*)/S(x*|x) · exp((1/n) Σᵢ₌₀ⁿ⁻¹ [E(x, yᵢ) − E(x*, yᵢ)]), with ℓ = −E
        // and the ratio of the two frames' Jacobians.
        let log_jacobian =
            self.frame.of(&proposed).log_det() - self.frame.of(&state.slow).log_det();
        info.log_ratio = log_s + path.mean_difference + log_jacobian;
        if rng.accept(info.log_ratio) {
            info.outer_accepted = 1;
            // y* = yₙ₋₁, with the density it has there, not the one it started from.
            self.frame.of(&proposed).to_y(&work.z, &mut state.y);
            state.log_density = path.end.to;
            state.slow = proposed;
        }
        Ok(info)
    }

    /// Leaves the last point of the path, seen in the frame, in `work.z`.
    fn drag<T: Target>(
        &self,
        target: &T,
        state: &State<T::Cache>,
        proposed: &Slow<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Path, Error> {
        let (here, there) = (self.frame.of(&state.slow), self.frame.of(proposed));
        here.to_z(&state.y, &mut work.z, &mut work.spare);
        let from = End::new(target, &state.slow, here);
        let to = End::new(target, proposed, there);
        let (n, inner, start) = (self.n, self.inner.as_ref(), state.log_density);
        let Workspace {
            z, moves, buffers, ..
        } = work;
        if here.is_identity() && there.is_identity() {
            let between = Between::<T, false>::new(from, to, buffers);
            path::drag(n, inner, between, start, z, moves, rng)
        } else {
            let between = Between::<T, true>::new(from, to, buffers);
            path::drag(n, inner, between, start, z, moves, rng)
        }
    }

    /// Refuses what does not fit the start.
    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        if self.n == 0 {
            return Err(Error::ZeroIntervals);
        }
        self.proposal.validate(x.len())?;
        self.proposal.validate_start(x)?;
        self.frame.validate(x.len(), y.len())?;
        match &self.inner {
            Some(inner) if !y.is_empty() => inner.validate(y.len()),
            _ => Ok(()),
        }
    }

    pub(crate) fn needs_gradient(&self) -> Option<&'static str> {
        self.inner.as_ref().and_then(Move::needs_gradient)
    }
}
