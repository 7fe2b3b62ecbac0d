//! The conditional density of y at one x: what fast-only moves run on.

use super::density::FastDensity;
use super::end::{End, Left};
use super::ledger::{Buffers, Ledger};
use super::nested::corners::Corners;
use super::nested::refine::Kept;
use crate::error::Error;
use crate::frame::view::View;
use crate::target::Target;

/// The conditional density of y (or z) at one x.
pub(crate) struct Conditional<'a, T: Target, V: View> {
    end: End<'a, T>,
    /// How z is seen.
    view: V,
    buffers: &'a mut Buffers,
    ledger: Ledger,
}

impl<'a, T: Target, V: View> Conditional<'a, T, V> {
    pub fn new(end: End<'a, T>, view: V, buffers: &'a mut Buffers) -> Self {
        Self {
            end,
            view,
            buffers,
            ledger: Ledger::default(),
        }
    }

    /// What it leaves behind, or the fault met in an evaluation.
    pub fn finish(self) -> Result<Left<Kept<T::Cache>>, Error> {
        Ok(Left {
            kept: self.end.check()?,
            spent: self.ledger.close()?,
        })
    }
}

impl<T: Target, V: View> FastDensity for Conditional<'_, T, V> {
    type Value = f64;
    type Nested<'n>
        = Corners<'n, T>
    where
        Self: 'n;

    #[inline]
    fn value(&mut self, z: &[f64]) -> f64 {
        self.ledger.spent.fast += 1;
        self.end.log_density(&self.view, z, self.buffers)
    }

    #[inline]
    fn log(&self, value: f64) -> f64 {
        value
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.ledger.spent.fast += 1;
        self.end.gradient::<V>(z, gradient, self.buffers)
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, T> {
        let places = std::iter::once(&self.end).map(|end| (end.place(), 1.0));
        Corners::new(
            self.end.target,
            places,
            at,
            head,
            &mut self.ledger,
            self.buffers,
        )
    }
}
