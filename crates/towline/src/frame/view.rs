//! How z is seen as y: it is y itself, or in a frame, or in a frame of few variables, copied out so that it stays in registers.

use super::map::Frame;
use crate::linalg::{Factor, SmallRoot};

/// What makes y of z before the target is evaluated.
pub(crate) trait View {
    /// Whether z differs from y.
    const FRAMED: bool;

    /// Whether L z is worth computing once for two ends that share L.
    const SHARES: bool;

    /// What the target says at the y of this z; `room` is working space.
    fn at(&self, z: &[f64], room: &mut [f64], evaluate: impl FnOnce(&[f64]) -> f64) -> f64;
}

/// z is y.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl View for Plain {
    const FRAMED: bool = false;
    const SHARES: bool = false;

    #[inline(always)]
    fn at(&self, z: &[f64], _: &mut [f64], evaluate: impl FnOnce(&[f64]) -> f64) -> f64 {
        evaluate(z)
    }
}

/// In any frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framed<'a>(pub &'a Frame);

impl View for Framed<'_> {
    const FRAMED: bool = true;
    const SHARES: bool = true;

    #[inline(always)]
    fn at(&self, z: &[f64], room: &mut [f64], evaluate: impl FnOnce(&[f64]) -> f64) -> f64 {
        self.0.to_y(z, room);
        evaluate(room)
    }
}

/// In a frame of D variables: the arithmetic of [`Framed`], to the bit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Few<const D: usize> {
    centre: [f64; D],
    root: SmallRoot<D>,
}

impl<const D: usize> Few<D> {
    /// The view in a frame; `None` where it is no affine one of D variables.
    #[inline]
    pub fn of(frame: &Frame) -> Option<Self> {
        let Frame::Affine { centre, root } = frame else {
            return None;
        };
        Some(Self {
            centre: centre[..].try_into().ok()?,
            root: root.small()?,
        })
    }

    /// The same by its parts.
    #[inline]
    pub fn from_parts(centre: &[f64], root: &Factor) -> Option<Self> {
        Some(Self {
            centre: centre.try_into().ok()?,
            root: root.small()?,
        })
    }
}

impl<const D: usize> View for Few<D> {
    const FRAMED: bool = true;
    const SHARES: bool = false;

    #[inline(always)]
    fn at(&self, z: &[f64], _: &mut [f64], evaluate: impl FnOnce(&[f64]) -> f64) -> f64 {
        let mut y = [0.0; D];
        self.root.apply(z, &mut y);
        for (value, m) in y.iter_mut().zip(&self.centre) {
            *value += m;
        }
        evaluate(&y)
    }
}
