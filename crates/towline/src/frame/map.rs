//! The map between y and z at one x.

use crate::linalg::Root;

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

    /// ln |det L(x)| less that of another frame: nothing where they share L.
    pub(crate) fn log_det_from(&self, other: &Self) -> f64 {
        match (self, other) {
            (Self::Affine { root: a, .. }, Self::Affine { root: b, .. })
                if a.shared(b).is_some() =>
            {
                0.0
            }
            _ => self.log_det() - other.log_det(),
        }
    }

    /// [`log_det`](Self::log_det), which costs as many logarithms as there are variables, where every number in the frame is one.
    pub(crate) fn usable_log_det(&self) -> Option<f64> {
        let centre = match self {
            Self::Identity => &[],
            Self::Affine { centre, .. } => &centre[..],
        };
        let log_det = self.log_det();
        let usable = log_det.is_finite() && centre.iter().all(|m| m.is_finite());
        usable.then_some(log_det)
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
    #[inline]
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
            Self::Affine { root, .. } => root.apply_transposed(by_y, by_z),
        }
    }
}
