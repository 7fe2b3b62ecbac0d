//! Moving frames: y = m(x) + L(x) z, so that dragging works in z, which hardly depends on x.
//!
//! A frame belongs to a kernel, never to the state: the state stays (x, y), and kernels with
//! different frames can be mixed. Any frame is exact, however bad, as long as it is a deterministic
//! function of x alone.

use crate::error::Error;
use crate::factor::Factor;
use crate::info::Info;
use crate::laplace::{Curvature, Laplace};
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
    /// The mode and curvature of the conditional at each x.
    Laplace(Box<Laplace>),
}

/// A frame found at some x, with the rule it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub key: u64,
    frame: Frame,
}

/// The constants of FNV-1a hashing.
pub(crate) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// A hash of these numbers, after what was hashed before.
pub(crate) fn hashed(begun: u64, numbers: impl Iterator<Item = f64>) -> u64 {
    numbers.flat_map(f64::to_le_bytes).fold(begun, |key, byte| {
        (key ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    })
}

/// m(x) = m₀ + B (x − x₀), L(x) = L₀: what warm-up learns, then freezes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "LinearParts")]
pub struct Linear {
    x: Vec<f64>,
    centre: Vec<f64>,
    slope: Vec<f64>,
    root: Arc<Factor>,
    /// Computed, never read: a file in which something was changed must not keep its old key.
    #[serde(skip)]
    key: u64,
}

/// What is read of a linear frame.
#[derive(Deserialize)]
struct LinearParts {
    x: Vec<f64>,
    centre: Vec<f64>,
    slope: Vec<f64>,
    root: Factor,
}

impl TryFrom<LinearParts> for Linear {
    type Error = Error;

    fn try_from(parts: LinearParts) -> Result<Self, Error> {
        Self::new(parts.x, parts.centre, parts.slope, parts.root)
    }
}

impl Linear {
    /// From x₀, m₀, B (row by row: one row for each fast variable) and L₀.
    ///
    /// # Errors
    /// [`Error::Dimension`] where they do not fit together, [`Error::Setting`] where one is no number.
    pub fn new(
        x: Vec<f64>,
        centre: Vec<f64>,
        slope: Vec<f64>,
        root: Factor,
    ) -> Result<Self, Error> {
        let numbers = x.iter().chain(&centre).chain(&slope);
        if let Some(&value) = numbers.clone().find(|value| !value.is_finite()) {
            return Err(Error::Setting {
                what: "a number in the linear frame",
                value,
                expected: "finite",
            });
        }
        // Byte by byte, and every entry of the root: of whole words, two changed signs would cancel.
        let key = hashed(FNV_START, numbers.chain(root.entries()).copied());
        let (slow_dim, fast_dim) = (x.len(), centre.len());
        let linear = Self {
            x,
            centre,
            slope,
            root: Arc::new(root),
            key,
        };
        linear.validate(slow_dim, fast_dim)?;
        Ok(linear)
    }

    /// L₀.
    pub(crate) fn root(&self) -> &Arc<Factor> {
        &self.root
    }

    /// m₀.
    pub(crate) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Everything in it, as a vector to send to other chains.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let parts = self.x.iter().chain(&self.centre).chain(&self.slope);
        parts.copied().chain(self.root.numbers()).collect()
    }

    /// From such a vector.
    pub(crate) fn from_numbers(numbers: &[f64], slow_dim: usize, fast_dim: usize) -> Option<Self> {
        let (x, rest) = numbers.split_at_checked(slow_dim)?;
        let (centre, rest) = rest.split_at_checked(fast_dim)?;
        let (slope, root) = rest.split_at_checked(slow_dim * fast_dim)?;
        let root = Factor::from_numbers(root, fast_dim)?;
        Self::new(x.to_vec(), centre.to_vec(), slope.to_vec(), root).ok()
    }

    /// Whether every number in it is one.
    pub(crate) fn is_finite(&self) -> bool {
        self.numbers().iter().all(|v| v.is_finite())
    }

    /// The number of fast variables.
    pub(crate) fn fast_dim(&self) -> usize {
        self.centre.len()
    }

    /// What tells this frame from another.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// m(x).
    pub(crate) fn centre_at(&self, x: &[f64]) -> Vec<f64> {
        let mut centre = self.centre.clone();
        let width = self.x.len();
        for (k, m) in centre.iter_mut().enumerate() {
            let row = &self.slope[k * width..(k + 1) * width];
            for ((b, value), origin) in row.iter().zip(x).zip(&self.x) {
                *m += b * (value - origin);
            }
        }
        centre
    }

    /// The frame at x.
    pub fn frame(&self, x: &[f64]) -> Frame {
        Frame::Affine {
            centre: self.centre_at(x),
            root: Root::Lower(self.root.clone()),
        }
    }

    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
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
        target: &T,
        slow: &mut Slow<T::Cache>,
        work: &mut Workspace,
        info: &mut Info,
    ) {
        let key = self.key();
        if slow.frames.iter().any(|placed| placed.key == key) {
            return;
        }
        let placed = match self {
            Self::Identity => return,
            Self::Linear(linear) => Placed {
                key,
                frame: linear.frame(&slow.x),
            },
            Self::Laplace(laplace) => {
                let scratch = &mut work.buffers.scratch;
                let found = laplace.find(target, &slow.x, &slow.cache, scratch);
                info.fast_evaluations += found.evaluations;
                info.frame_searches += 1;
                info.frame_failures += u64::from(found.log_marginal.is_none());
                work.note_visit(&slow.x, &found);
                Placed {
                    key,
                    frame: found.frame,
                }
            }
        };
        slow.frames.push(placed);
    }

    /// Whether frames are searched for at each x, so that the search may fail.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self, Self::Laplace(_))
    }

    /// Whether a search also tells the marginal of x: where only the mode moves, the width of the conditional is missed.
    pub(crate) fn tells_the_marginal(&self) -> bool {
        matches!(self, Self::Laplace(laplace) if laplace.curvature() != Curvature::Learned)
    }

    /// The frame placed at this x; without one, the identity.
    pub(crate) fn of<'a, C>(&self, slow: &'a Slow<C>) -> &'a Frame {
        let key = self.key();
        let placed = slow.frames.iter().find(|placed| placed.key == key);
        placed.map_or(&Frame::Identity, |placed| &placed.frame)
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
#[derive(Debug, Clone)]
pub enum Root {
    /// A lower-triangular matrix: the root of a covariance.
    Lower(Arc<Factor>),
    /// The inverse transpose of a lower-triangular matrix: what the root of a precision matrix gives
    /// without inverting it.
    InverseTransposed(Arc<Factor>),
    /// A target's own.
    Own(Arc<dyn RootMap>),
}

/// A square matrix L as a target knows it: sparse, or a product, or a solve.
pub trait RootMap: std::fmt::Debug + Send + Sync {
    /// out = L z.
    fn apply(&self, z: &[f64], out: &mut [f64]);

    /// out = L⁻¹ v; `v` may be spoilt.
    fn solve(&self, v: &mut [f64], out: &mut [f64]);

    /// out = Lᵀ v; `v` may be spoilt.
    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]);

    /// ln |det L|.
    fn log_det(&self) -> f64;
}

impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lower(a), Self::Lower(b))
            | (Self::InverseTransposed(a), Self::InverseTransposed(b)) => a == b,
            (Self::Own(a), Self::Own(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
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
            Self::Own(map) => map.apply(z, out),
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
            Self::Own(map) => map.solve(v, out),
        }
    }

    /// L Lᵀ, row by row.
    pub(crate) fn covariance(&self, dim: usize) -> Option<Vec<f64>> {
        match self {
            Self::Lower(factor) => Some(factor.covariance()),
            Self::InverseTransposed(factor) => {
                let mut covariance = vec![0.0; dim * dim];
                for (k, row) in covariance.chunks_mut(dim).enumerate() {
                    row[k] = 1.0;
                    factor.solve(row);
                    factor.solve_transposed(row);
                }
                let symmetric: Vec<f64> = (0..dim * dim)
                    .map(|k| 0.5 * (covariance[k] + covariance[(k % dim) * dim + k / dim]))
                    .collect();
                symmetric.iter().all(|v| v.is_finite()).then_some(symmetric)
            }
            // A target with frames of its own has too many variables for a full matrix.
            Self::Own(_) => None,
        }
    }

    /// ln |det L|.
    pub fn log_det(&self) -> f64 {
        match self {
            Self::Lower(factor) => factor.log_det(),
            Self::InverseTransposed(factor) => -factor.log_det(),
            Self::Own(map) => map.log_det(),
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

    /// Whether every number in it is one.
    pub(crate) fn is_usable(&self) -> bool {
        match self {
            Self::Identity => true,
            Self::Affine { centre, root } => {
                root.log_det().is_finite() && centre.iter().all(|m| m.is_finite())
            }
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
                Root::Own(map) => map.apply_transposed(by_y, by_z),
            },
        }
    }
}
