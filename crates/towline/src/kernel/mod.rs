//! Kernels: what leaves the target invariant. One file each.

pub(crate) mod baseline;
mod drag;
mod fast_only;
pub(crate) mod info;
mod passage;
mod placing;
mod seen;
pub(crate) mod state;

pub use baseline::{Joint, Single};
pub use drag::Drag;
pub use fast_only::FastOnly;
pub use info::Info;
pub(crate) use passage::Proposed;
pub use seen::SeenDrag;

use crate::error::Error;
use crate::frame::FrameRule;
use crate::kernel::state::{State, Workspace};
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A transition that leaves the target invariant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Kernel {
    /// A slow proposal with the fast variables dragged along: the paper's method.
    Drag(Drag),
    /// Moves of the fast variables at fixed x.
    FastOnly(FastOnly),
    /// x and y proposed together.
    Joint(Joint),
    /// One variable after another.
    Single(Single),
    /// Several kernels, one after another, in every step.
    Cycle(Vec<Kernel>),
    /// One of several kernels, drawn with these weights in every step.
    Mix(Vec<(f64, Kernel)>),
}

impl Kernel {
    /// Metropolis in x alone: for targets without fast variables, such as a known marginal.
    pub fn metropolis(proposal: SlowProposal) -> Self {
        Self::Drag(Drag::without_fast(proposal))
    }

    /// One step.
    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info::default();
        self.step_noting(target, state, work, &mut info, rng)?;
        Ok(info)
    }

    /// One step; what it did is added to `info`, which is too large to be handed from kernel to kernel.
    fn step_noting<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        match self {
            Self::Drag(kernel) => kernel.step(target, state, work, info, rng),
            Self::FastOnly(kernel) => kernel.step(target, state, work, info, rng),
            Self::Joint(kernel) => {
                *info += kernel.step(target, state, work, rng)?;
                Ok(())
            }
            Self::Single(kernel) => {
                *info += kernel.step(target, state, work, rng)?;
                Ok(())
            }
            Self::Cycle(kernels) => kernels
                .iter()
                .try_for_each(|kernel| kernel.step_noting(target, state, work, info, rng)),
            Self::Mix(parts) => {
                let k = rng.pick(parts.iter().map(|part| part.0));
                // Of several mixes in a cycle the highest part is noted; of mixes in a mix the outermost.
                let before = info.part;
                parts[k].1.step_noting(target, state, work, info, rng)?;
                info.part = before.max(k as u32 + 1);
                Ok(())
            }
        }
    }

    /// The x* whose slow evaluation a step from x with these random numbers begins with; nothing where it has none, or draws
    /// other numbers first.
    pub(crate) fn first_proposal(&self, x: &[f64], rng: &mut Rng) -> Option<Vec<f64>> {
        match self {
            Self::Drag(kernel) => Some(kernel.proposal_from(x, rng)),
            Self::FastOnly(_) | Self::Joint(_) | Self::Single(_) => None,
            Self::Cycle(kernels) => kernels.first()?.first_proposal(x, rng),
            Self::Mix(parts) => {
                let k = rng.pick(parts.iter().map(|part| part.0));
                parts[k].1.first_proposal(x, rng)
            }
        }
    }

    /// Refuses, before anything runs, whatever does not fit the start.
    ///
    /// # Errors
    /// The error says which setting is wrong and which values it may have.
    pub fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        match self {
            Self::Drag(kernel) => kernel.validate(x, y),
            Self::FastOnly(kernel) => kernel.validate(x, y),
            Self::Joint(kernel) => kernel.validate(x, y),
            Self::Single(kernel) => kernel.validate(x, y),
            Self::Cycle(kernels) => {
                not_empty("the number of kernels in a cycle", kernels.len())?;
                kernels.iter().try_for_each(|k| k.validate(x, y))
            }
            Self::Mix(parts) => {
                not_empty("the number of kernels in a mix", parts.len())?;
                for (weight, kernel) in parts {
                    if !(*weight > 0.0 && weight.is_finite()) {
                        return Err(Error::Setting {
                            what: "the weight of a kernel in a mix",
                            value: *weight,
                            expected: "positive and finite",
                        });
                    }
                    kernel.validate(x, y)?;
                }
                Ok(())
            }
        }
    }

    /// The name of a move in here that needs gradients.
    pub(crate) fn needs_gradient(&self) -> Option<&'static str> {
        match self {
            Self::Drag(kernel) => kernel.needs_gradient(),
            Self::FastOnly(kernel) => kernel.needs_gradient(),
            Self::Joint(_) | Self::Single(_) => None,
            Self::Cycle(kernels) => kernels.iter().find_map(Self::needs_gradient),
            Self::Mix(parts) => parts.iter().find_map(|(_, k)| k.needs_gradient()),
        }
    }

    /// The frames in which anything in here moves.
    pub(crate) fn frame_rules(&self) -> Vec<&FrameRule> {
        match self {
            Self::Drag(kernel) => vec![&kernel.frame],
            Self::FastOnly(kernel) => vec![&kernel.frame],
            Self::Joint(_) | Self::Single(_) => Vec::new(),
            Self::Cycle(kernels) => kernels.iter().flat_map(Self::frame_rules).collect(),
            Self::Mix(parts) => parts.iter().flat_map(|(_, k)| k.frame_rules()).collect(),
        }
    }

    /// Refuses nested drags of other blocks than the target has, where it has any.
    pub(crate) fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        match self {
            Self::Drag(kernel) => kernel.check_blocks(blocks),
            Self::FastOnly(kernel) => kernel.check_blocks(blocks),
            Self::Joint(_) | Self::Single(_) => Ok(()),
            Self::Cycle(kernels) => kernels.iter().try_for_each(|k| k.check_blocks(blocks)),
            Self::Mix(parts) => parts.iter().try_for_each(|(_, k)| k.check_blocks(blocks)),
        }
    }
}

fn not_empty(what: &'static str, len: usize) -> Result<(), Error> {
    if len > 0 {
        return Ok(());
    }
    Err(Error::Setting {
        what,
        value: 0.0,
        expected: "at least 1",
    })
}

/// From a kernel's own type to the enum.
macro_rules! into_kernel {
    ($($name:ident),*) => {$(
        impl From<$name> for Kernel {
            fn from(kernel: $name) -> Self {
                Self::$name(kernel)
            }
        }
    )*};
}
into_kernel!(Drag, FastOnly, Joint, Single);
