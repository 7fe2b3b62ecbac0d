//! The target at one x, seen in a frame: a density over z.

use super::ledger::{Buffers, Spent};
use super::nested::corners::Place;
use super::nested::refine::{Kept, Refined};
use crate::error::Error;
use crate::frame::Frame;
use crate::frame::view::View;
use crate::target::{Scratch, Target};
use std::cell::RefCell;

/// What a density leaves behind: evaluations spent, and the refined caches of where nested moves ended.
pub(crate) struct Left<K> {
    pub spent: Spent,
    pub kept: K,
}

/// A log density that is neither a number nor −∞, and where it was met.
#[derive(Debug, Clone)]
struct Fault {
    y: Vec<f64>,
    value: f64,
}

/// The target at one x, seen in a frame: a density over z.
pub(crate) struct End<'a, T: Target> {
    pub(super) target: &'a T,
    x: &'a [f64],
    cache: &'a T::Cache,
    frame: &'a Frame,
    /// In a box: nearly every end is without, and is made and left at every step.
    fault: Option<Box<Fault>>,
    /// The refined cache of the start, for nested moves.
    kept: Option<&'a Refined<T::Cache>>,
    /// The refined cache of where the nested moves have come, where that is elsewhere.
    current: RefCell<Kept<T::Cache>>,
}

impl<'a, T: Target> End<'a, T> {
    /// The target at x, where the slow computation left `cache`; `kept` is the refined cache of the start.
    pub fn new(
        target: &'a T,
        x: &'a [f64],
        cache: &'a T::Cache,
        frame: &'a Frame,
        kept: Option<&'a Refined<T::Cache>>,
    ) -> Self {
        Self {
            target,
            x,
            cache,
            frame,
            fault: None,
            kept,
            current: RefCell::default(),
        }
    }

    /// Where nested moves start from.
    pub fn place(&self) -> Place<'_, T::Cache> {
        Place {
            x: self.x,
            frame: self.frame,
            cache: self.cache,
            held: &[],
            kept: self.kept,
            current: &self.current,
        }
    }

    /// ℓ(x, y) at the start, by its refined cache if it has one.
    pub fn log_density_at_start(&mut self, z: &[f64], buffers: &mut Buffers) -> f64 {
        let Buffers { scratch, y, .. } = buffers;
        self.frame.to_y(z, y);
        let kept = self
            .kept
            .filter(|kept| y.get(..kept.head.len()).is_some_and(|y| kept.serves(y)));
        let cache = kept.map_or(self.cache, |kept| &kept.cache);
        let value = self.target.log_density_in(cache, y, scratch);
        if value.is_nan() || value == f64::INFINITY {
            self.note(&buffers.y, value);
        }
        value
    }

    /// ℓ(x, y) where z is y in this end's frame, seen by `view`. The frame's determinant is the caller's to add,
    /// once, since it is the same for every z.
    #[inline]
    pub fn log_density(&mut self, view: &impl View, z: &[f64], buffers: &mut Buffers) -> f64 {
        let value = self.unchecked(view, z, buffers);
        // One comparison for both: false for every number and for −∞.
        if value.is_nan() || value == f64::INFINITY {
            self.frame.to_y(z, &mut buffers.y);
            self.note(&buffers.y, value);
        }
        value
    }

    /// The same, for a caller that looks for NaN and +∞ itself.
    #[inline(always)]
    pub fn unchecked(&self, view: &impl View, z: &[f64], buffers: &mut Buffers) -> f64 {
        let Self { target, cache, .. } = self;
        let Buffers { scratch, y, .. } = buffers;
        view.at(z, y, |y| target.log_density_in(cache, y, scratch))
    }

    /// Whether z is seen by the same root at both ends.
    pub fn shares_root(&self, other: &Self) -> bool {
        match (self.frame, other.frame) {
            (Frame::Affine { root: a, .. }, Frame::Affine { root: b, .. }) => a.shared(b).is_some(),
            _ => false,
        }
    }

    /// L z.
    #[inline]
    pub fn image(&self, z: &[f64], image: &mut [f64]) {
        if let Frame::Affine { root, .. } = self.frame {
            root.apply(z, image);
        }
    }

    /// As [`unchecked`](Self::unchecked), where L z is known.
    #[inline]
    pub fn at_image(&self, image: &[f64], y: &mut [f64], scratch: &mut Scratch) -> f64 {
        if let Frame::Affine { centre, .. } = self.frame {
            for ((y, v), m) in y.iter_mut().zip(image).zip(centre) {
                *y = v + m;
            }
        }
        self.target.log_density_in(self.cache, y, scratch)
    }

    pub fn gradient<V: View>(
        &mut self,
        z: &[f64],
        gradient: &mut [f64],
        buffers: &mut Buffers,
    ) -> Option<f64> {
        let Buffers {
            scratch,
            y,
            gradient: by_y,
            ..
        } = buffers;
        let value = if V::FRAMED {
            self.frame.to_y(z, y);
            let value = self.target.gradient(self.cache, y, by_y, scratch)?;
            self.frame.gradient_to_z(by_y, gradient);
            value
        } else {
            self.target.gradient(self.cache, z, gradient, scratch)?
        };
        if value.is_nan() || value == f64::INFINITY {
            let y = if V::FRAMED { &y[..] } else { z };
            self.note(y, value);
        }
        Some(value)
    }

    #[cold]
    fn note(&mut self, y: &[f64], value: f64) {
        // Fast moves may run off to infinity on their way; only the model's answer at a point is its own.
        self.fault.get_or_insert_with(|| {
            Box::new(Fault {
                y: y.to_vec(),
                value,
            })
        });
    }

    /// The refined cache of where nested moves ended, if they moved; or the fault met on the way.
    #[inline]
    pub fn check(self) -> Result<Kept<T::Cache>, Error> {
        match self.fault {
            None => Ok(self.current.into_inner()),
            Some(fault) => Err(Error::NotANumber {
                x: self.x.to_vec(),
                y: fault.y,
                value: fault.value,
            }),
        }
    }
}
