//! The drag: the paper's sections 2 and 3.

use super::passage::{Passage, Proposed};
use crate::error::Error;
use crate::fast::moves::FastMove;
use crate::fast::step::Move;
use crate::frame::FrameRule;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace};
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
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
    pub(super) n: usize,
    pub(super) proposal: SlowProposal,
    pub(super) inner: Option<FastMove>,
    pub(super) frame: FrameRule,
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

    /// One step, beside the paper's section 3; what it did is added to `info`.
    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        // "we first propose a new x* according to the probabilities S(x*|x)"
        let Some(mut proposed) = Proposed::draw(self, target, state, work, info, rng)? else {
            return Ok(());
        };

        // "We then generate a series of values y₁, …, yₙ₋₁, with yᵢ being drawn according to the
        // probabilities Tᵢ(yᵢ|yᵢ₋₁; x, x*)", in a frame: all that follows is about z, not y.
        proposed.see(self, target, state, work, info)?;
        let passage = Passage::new(self, target, &state.slow, &proposed.slow);
        let start = passage.start(state.log_density, work, info)?;
        let path = passage.drag(start, work, info, rng)?;

        // Equation 15: S(x|x*)/S(x*|x) · exp((1/n) Σᵢ₌₀ⁿ⁻¹ [E(x, yᵢ) − E(x*, yᵢ)]), with ℓ = −E
        // and the ratio of the two frames' Jacobians.
        info.log_ratio = proposed.log_s + path.mean_difference + passage.log_jacobian();
        if rng.accept(info.log_ratio) {
            info.outer_accepted += 1;
            // y* = yₙ₋₁, with the density it has there, not the one it started from.
            let [_, kept] = path.kept;
            proposed.arrive(self, state, path.end.to, kept, work);
        } else {
            work.left.take(proposed.slow);
        }
        Ok(())
    }

    /// The x* that a step from x with these random numbers proposes.
    pub(crate) fn proposal_from(&self, x: &[f64], rng: &mut Rng) -> Vec<f64> {
        let mut new = vec![0.0; x.len()];
        self.proposal.propose(x, &mut new, rng);
        new
    }

    /// What the acceptance ratio of this x* would be, without going there: so that warm-up can compare
    /// settings on the same proposal.
    pub(crate) fn foretell<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        proposed: &mut Proposed<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info::default();
        self.frame.place(target, &mut state.slow, work, &mut info);
        self.frame
            .place(target, &mut proposed.slow, work, &mut info);
        proposed.see(self, target, state, work, &mut info)?;
        let passage = Passage::new(self, target, &state.slow, &proposed.slow);
        let start = passage.start(state.log_density, work, &mut info)?;
        let path = passage.drag(start, work, &mut info, rng)?;
        info.log_ratio = proposed.log_s + path.mean_difference + passage.log_jacobian();
        Ok(info)
    }

    /// Refuses what does not fit the start.
    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        if self.n == 0 {
            return Err(Error::ZeroIntervals);
        }
        self.proposal.validate(x.len())?;
        self.frame.validate(x.len(), y.len())?;
        match &self.inner {
            Some(inner) if !y.is_empty() => inner.validate(y.len()),
            _ => Ok(()),
        }
    }

    pub(crate) fn needs_gradient(&self) -> Option<&'static str> {
        self.inner.as_ref().and_then(Move::needs_gradient)
    }

    pub(crate) fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        let mut inner = self.inner.iter();
        inner.try_for_each(|inner| inner.check_blocks(blocks))
    }
}
