//! Moving frames: y = m(x) + L(x) z, so that dragging works in z, which hardly depends on x.
//!
//! A frame belongs to a kernel, never to the state: the state stays (x, y), and kernels with
//! different frames can be mixed. Any frame is exact, however bad, as long as it is a deterministic
//! function of x alone.

use crate::error::Error;
use crate::factor::Factor;
use crate::info::Info;
use crate::state::{Slow, Workspace};
use crate::target::Target;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How a frame is had at each x: a deterministic function of x alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub enum FrameRule {
    /// y itself: the paper's method.
    #[default]
    Identity,
    /// A centre that moves linearly with x, and a fixed root.
    Linear(Linear),
}

/// m(x) = m₀ + B (x − x₀), L(x) = L₀: what warm-up learns, then freezes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// x₀.
    pub x: Vec<f64>,
    /// m₀.
    pub centre: Vec<f64>,
    /// B, row by row: one row for each fast variable.
    pub slope: Vec<f64>,
    /// L₀.
    pub root: Arc<Factor>,
}

impl Linear {
    /// The frame at x.
    pub fn frame(&self, x: &[f64]) -> Frame {
        let mut centre = self.centre.clone();
        let width = self.x.len();
        for (k, m) in centre.iter_mut().enumerate() {
            let row = &self.slope[k * width..(k + 1) * width];
            for ((b, value), origin) in row.iter().zip(x).zip(&self.x) {
                *m += b * (value - origin);
            }
        }
        Frame::Affine {
            centre,
            root: Root::Lower(self.root.clone()),
        }
    }

    fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        for (what, expected, found) in [
            ("the origin of the linear frame", slow_dim, self.x.len()),
            (
                "the centre of the linear frame",
                fast_dim,
                self.centre.len(),
            ),
            (
                "the slope of the linear frame",
                slow_dim * fast_dim,
                self.slope.len(),
            ),
            ("the root of the linear frame", fast_dim, self.root.dim()),
        ] {
            if expected != found {
                return Err(Error::Dimension {
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }
}

impl FrameRule {
    /// Makes sure that the frame at this x is there, and counts what that cost.
    pub(crate) fn place<T: Target>(
        &self,
        _target: &T,
        slow: &mut Slow<T::Cache>,
        _work: &mut Workspace,
        _info: &mut Info,
    ) {
        let key = self.key();
        if slow.frames.iter().any(|(k, _)| *k == key) {
            return;
        }
        match self {
            Self::Identity => {}
            Self::Linear(linear) => slow.frames.push((key, linear.frame(&slow.x))),
        }
    }

    /// The frame placed at this x; without one, the identity.
    pub(crate) fn of<'a, C>(&self, slow: &'a Slow<C>) -> &'a Frame {
        let key = self.key();
        let placed = slow.frames.iter().find(|(k, _)| *k == key);
        placed.map_or(&Frame::Identity, |(_, frame)| frame)
    }

    /// What tells this rule's frames from another's.
    fn key(&self) -> u64 {
        match self {
            Self::Identity => 0,
            Self::Linear(_) => 1,
        }
    }

    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        match self {
            Self::Identity => Ok(()),
            Self::Linear(linear) => linear.validate(slow_dim, fast_dim),
        }
    }
}

/// The map between y and z at one x.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// z = y.
    Identity,
    /// y = centre + root · z.
    Affine {
        /// m(x).
        centre: Vec<f64>,
        /// L(x).
        root: Root,
    },
}

/// L(x), the square matrix of an affine frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Root {
    /// A lower-triangular matrix: the root of a covariance.
    Lower(Arc<Factor>),
    /// The inverse transpose of a lower-triangular matrix: what the root of a precision matrix gives
    /// without inverting it.
    InverseTransposed(Arc<Factor>),
}

impl Root {
    /// out = L z.
    pub fn apply(&self, z: &[f64], out: &mut [f64]) {
        match self {
            Self::Lower(factor) => factor.apply(z, out),
            Self::InverseTransposed(factor) => {
                out.copy_from_slice(z);
                factor.solve_transposed(out);
            }
        }
    }

    /// out = L⁻¹ v; `v` is spoilt.
    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        match self {
            Self::Lower(factor) => {
                factor.solve(v);
                out.copy_from_slice(v);
            }
            Self::InverseTransposed(factor) => factor.apply_transposed(v, out),
        }
    }

    /// ln |det L|.
    pub fn log_det(&self) -> f64 {
        match self {
            Self::Lower(factor) => factor.log_det(),
            Self::InverseTransposed(factor) => -factor.log_det(),
        }
    }
}

impl Frame {
    pub(crate) fn is_identity(&self) -> bool {
        matches!(self, Self::Identity)
    }

    /// ln |det L(x)|: the Jacobian of the map from z to y.
    pub fn log_det(&self) -> f64 {
        match self {
            Self::Identity => 0.0,
            Self::Affine { root, .. } => root.log_det(),
        }
    }

    /// y from z.
    #[inline]
    pub fn to_y(&self, z: &[f64], y: &mut [f64]) {
        match self {
            Self::Identity => y.copy_from_slice(z),
            Self::Affine { centre, root } => {
                root.apply(z, y);
                for (value, m) in y.iter_mut().zip(centre) {
                    *value += m;
                }
            }
        }
    }

    /// z from y. (`spare` is working space.)
    pub fn to_z(&self, y: &[f64], z: &mut [f64], spare: &mut [f64]) {
        match self {
            Self::Identity => z.copy_from_slice(y),
            Self::Affine { centre, root } => {
                for ((v, value), m) in spare.iter_mut().zip(y).zip(centre) {
                    *v = value - m;
                }
                root.solve(spare, z);
            }
        }
    }

    /// The gradient in z from the gradient in y, which is spoilt: Lᵀ g.
    pub(crate) fn gradient_to_z(&self, by_y: &mut [f64], by_z: &mut [f64]) {
        match self {
            Self::Identity => by_z.copy_from_slice(by_y),
            Self::Affine { root, .. } => match root {
                Root::Lower(factor) => factor.apply_transposed(by_y, by_z),
                Root::InverseTransposed(factor) => {
                    factor.solve(by_y);
                    by_z.copy_from_slice(by_y);
                }
            },
        }
    }
}
