//! Moving frames: y = m(x) + L(x) z, so that dragging works in z, which hardly depends on x.
//!
//! A frame belongs to a kernel, never to the state: the state stays (x, y), and kernels with
//! different frames can be mixed. Any frame is exact, however bad, as long as it is a deterministic
//! function of x alone.

pub(crate) mod anchors;
pub(crate) mod climb;
pub(crate) mod laplace;
mod linear;
mod map;
mod slope;
pub(crate) mod view;

pub use anchors::Anchors;
pub use laplace::{Curvature, Laplace};
pub use linear::Linear;
pub use map::Frame;

use crate::error::Error;
use serde::{Deserialize, Serialize};

/// How a frame is had at each x: a deterministic function of x alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum FrameRule {
    /// y itself: the paper's method.
    #[default]
    Identity,
    /// A centre that moves linearly with x, and a fixed root.
    Linear(Linear),
    /// The mode and curvature of the conditional at each x.
    Laplace(Box<Laplace>),
}

impl FrameRule {
    /// Whether frames are searched for at each x, so that the search may fail.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self, Self::Laplace(_))
    }

    /// Whether a search also tells the marginal of x: where only the mode moves, the width of the conditional is missed.
    pub(crate) fn tells_the_marginal(&self) -> bool {
        matches!(self, Self::Laplace(laplace) if laplace.curvature() != Curvature::Learned)
    }

    /// What tells this rule's frames from another's.
    pub(crate) fn key(&self) -> u64 {
        match self {
            Self::Identity => 0,
            Self::Linear(linear) => linear.key(),
            Self::Laplace(laplace) => laplace.key(),
        }
    }

    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        match self {
            Self::Identity => Ok(()),
            Self::Linear(linear) => linear.validate(slow_dim, fast_dim),
            Self::Laplace(laplace) => laplace.validate(slow_dim, fast_dim),
        }
    }
}
