//! The square matrix of an affine frame, in whichever form it is had.

use super::{Factor, Inverse, SmallRoot, Stretched};
use std::sync::Arc;

/// L(x), the square matrix of an affine frame.
#[derive(Debug, Clone)]
pub enum Root {
    /// A lower-triangular matrix: the root of a covariance.
    Lower(Arc<Factor>),
    /// The inverse transpose of a lower-triangular matrix: what the root of a precision matrix gives.
    Inverted(Arc<Inverse>),
    /// A lower-triangular matrix with stretched columns: known axes, each with a width of its own.
    Stretched(Arc<Stretched>),
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
            (Self::Lower(a), Self::Lower(b)) => a == b,
            (Self::Inverted(a), Self::Inverted(b)) => a == b,
            (Self::Stretched(a), Self::Stretched(b)) => a == b,
            (Self::Own(a), Self::Own(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Root {
    /// out = L z.
    #[inline(always)]
    pub fn apply(&self, z: &[f64], out: &mut [f64]) {
        match self {
            Self::Lower(factor) => factor.apply(z, out),
            Self::Inverted(inverse) => inverse.apply(z, out),
            Self::Stretched(root) => root.apply(z, out),
            Self::Own(map) => map.apply(z, out),
        }
    }

    /// A copy in an array, where it is of D variables and no target's own.
    #[inline]
    pub(crate) fn small<const D: usize>(&self) -> Option<SmallRoot<D>> {
        match self {
            Self::Lower(factor) => factor.small(),
            Self::Inverted(inverse) => inverse.small(),
            Self::Stretched(_) | Self::Own(_) => None,
        }
    }

    /// out = L⁻¹ v; `v` is spoilt.
    #[inline]
    pub(crate) fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        match self {
            Self::Lower(factor) => {
                factor.solve(v);
                out.copy_from_slice(v);
            }
            Self::Inverted(inverse) => inverse.solve(v, out),
            Self::Stretched(root) => root.solve(v, out),
            Self::Own(map) => map.solve(v, out),
        }
    }

    /// out = Lᵀ v; `v` is spoilt.
    pub(crate) fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        match self {
            Self::Lower(factor) => factor.apply_transposed(v, out),
            Self::Inverted(inverse) => inverse.apply_transposed(v, out),
            Self::Stretched(root) => root.apply_transposed(v, out),
            Self::Own(map) => map.apply_transposed(v, out),
        }
    }

    /// The lower triangle with the same L Lᵀ.
    pub(crate) fn factor(&self) -> Option<Factor> {
        match self {
            Self::Lower(factor) => Some((**factor).clone()),
            Self::Inverted(inverse) => {
                Factor::from_covariance(&inverse.covariance(), "a frame's covariance").ok()
            }
            Self::Stretched(root) => Some(root.factor()),
            // A target with frames of its own has too many variables for a full matrix.
            Self::Own(_) => None,
        }
    }

    /// Whether this is that very triangle.
    pub(crate) fn is(&self, factor: &Arc<Factor>) -> bool {
        matches!(self, Self::Lower(mine) if Arc::ptr_eq(mine, factor))
    }

    /// The lower triangle that two roots share, where they are the same one.
    #[inline]
    pub(crate) fn shared<'a>(&'a self, other: &Self) -> Option<&'a Factor> {
        match (self, other) {
            (Self::Lower(a), Self::Lower(b)) if Arc::ptr_eq(a, b) => Some(a),
            _ => None,
        }
    }

    /// ln |det L|.
    pub fn log_det(&self) -> f64 {
        match self {
            Self::Lower(factor) => factor.log_det(),
            Self::Inverted(inverse) => inverse.log_det(),
            Self::Stretched(root) => root.log_det(),
            Self::Own(map) => map.log_det(),
        }
    }
}
