//! The intermediate density ρᵢ between the two ends of a drag.

use super::density::{FastDensity, Way};
use super::end::{End, Left};
use super::ends::Ends;
use super::ledger::{Buffers, Ledger};
use super::nested::corners::Corners;
use super::nested::refine::Kept;
use crate::error::Error;
use crate::frame::view::View;
use crate::target::Target;

/// The intermediate density ρᵢ between two ends (the paper's equation 11).
pub(crate) struct Between<'a, T: Target, V: View> {
    from: End<'a, T>,
    to: End<'a, T>,
    /// How z is seen at each end.
    views: [V; 2],
    buffers: &'a mut Buffers,
    weights: Ends,
    /// Whether both ends see z by the same root, so that L z is the same for both.
    shared: bool,
    /// Whether there is a point in `buffers.suspect`.
    suspected: bool,
    ledger: Ledger,
}

impl<'a, T: Target, V: View> Between<'a, T, V> {
    /// Between two ends, whose frames are seen so.
    pub fn new(from: End<'a, T>, to: End<'a, T>, views: [V; 2], buffers: &'a mut Buffers) -> Self {
        let shared = V::SHARES && from.shares_root(&to);
        Self {
            shared,
            from,
            to,
            views,
            buffers,
            weights: Ends { from: 0.5, to: 0.5 },
            suspected: false,
            ledger: Ledger::default(),
        }
    }

    /// Makes this ρᵢ of n.
    #[inline]
    pub fn set(&mut self, i: usize, n: usize) {
        self.weights = Ends::weights(i, n);
    }

    /// The proposed end alone, at z: what is needed at the start, where the current end is known.
    #[cfg(test)]
    pub fn value_at_proposed_end(&mut self, z: &[f64]) -> f64 {
        self.ledger.spent.fast += 1;
        self.to.log_density_at_start(z, self.buffers)
    }

    /// What it leaves behind, or the fault met in an evaluation.
    pub fn finish(mut self) -> Result<Left<[Kept<T::Cache>; 2]>, Error> {
        if self.suspected {
            self.suspected = false;
            // The ends look more closely, and note what they find.
            let z = std::mem::take(&mut self.buffers.suspect);
            let [from, to] = &self.views;
            self.from.log_density(from, &z, self.buffers);
            self.to.log_density(to, &z, self.buffers);
            self.buffers.suspect = z;
        }
        Ok(Left {
            kept: [self.from.check()?, self.to.check()?],
            spent: self.ledger.close()?,
        })
    }
}

impl<T: Target, V: View> Way for Between<'_, T, V> {
    #[inline(always)]
    fn set(&mut self, i: usize, n: usize) {
        Between::set(self, i, n);
    }

    #[inline(always)]
    fn difference(&self, value: Ends) -> f64 {
        value.to - value.from
    }
}

impl<T: Target, V: View> FastDensity for Between<'_, T, V> {
    type Value = Ends;
    type Nested<'n>
        = Corners<'n, T>
    where
        Self: 'n;

    #[inline(always)]
    fn value(&mut self, z: &[f64]) -> Ends {
        self.ledger.spent.fast += 2;
        let ends = if V::SHARES && self.shared {
            let Buffers {
                scratch, y, image, ..
            } = &mut *self.buffers;
            self.from.image(z, image);
            Ends {
                from: self.from.at_image(image, y, scratch),
                to: self.to.at_image(image, y, scratch),
            }
        } else {
            let [from, to] = &self.views;
            Ends {
                from: self.from.unchecked(from, z, self.buffers),
                to: self.to.unchecked(to, z, self.buffers),
            }
        };
        // With both weights positive, the sum is a number or −∞ just where both ends are (unless it
        // overflows: a false alarm). Here the point is only stored: a function to note it would, even if
        // never called, cost a cheap step a quarter of its time.
        let sound = self.log(ends) < f64::INFINITY;
        if !sound {
            self.buffers.suspect.copy_from_slice(z);
            self.suspected = true;
        }
        ends
    }

    #[inline(always)]
    fn log(&self, value: Ends) -> f64 {
        self.weights.from * value.from + self.weights.to * value.to
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<Ends> {
        self.ledger.spent.fast += 2;
        let from = self.from.gradient::<V>(z, gradient, self.buffers)?;
        let mut other = std::mem::take(&mut self.buffers.other_gradient);
        let to = self.to.gradient::<V>(z, &mut other, self.buffers);
        for (g, other) in gradient.iter_mut().zip(&other) {
            *g = self.weights.from * *g + self.weights.to * other;
        }
        self.buffers.other_gradient = other;
        to.map(|to| Ends { from, to })
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, T> {
        let ends = [(&self.from, self.weights.from), (&self.to, self.weights.to)];
        Corners::new(
            self.from.target,
            ends.into_iter().map(|(end, weight)| (end.place(), weight)),
            at,
            head,
            &mut self.ledger,
            self.buffers,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ModelError;
    use crate::frame::Frame;
    use crate::frame::view::Plain;

    /// Whatever y is told to be.
    struct Echo;

    impl Target for Echo {
        type Cache = f64;

        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(x[0]))
        }

        fn log_density(&self, sign: &f64, y: &[f64]) -> f64 {
            if *sign > 0.0 { y[0] } else { -1.0 }
        }
    }

    /// What a density between x = −1, where all is well, and x = 1 says after one evaluation.
    fn after(i: usize, answer: f64) -> Result<u64, Error> {
        let mut buffers = Buffers::new(1);
        let [good, told] =
            [&[-1.0], &[1.0]].map(|x: &[f64; 1]| End::new(&Echo, x, &x[0], &Frame::Identity, None));
        let mut between = Between::new(good, told, [Plain; 2], &mut buffers);
        between.set(i, 4);
        between.value(&[answer]);
        between.finish().map(|left| left.spent.fast)
    }

    #[test]
    fn what_is_no_number_is_reported_with_its_point() {
        for answer in [f64::NAN, f64::INFINITY] {
            let error = after(1, answer).unwrap_err();
            let Error::NotANumber { x, y, value } = error else {
                panic!("{error}");
            };
            assert_eq!(x, [1.0]);
            assert_eq!([y[0], value].map(f64::to_bits), [answer.to_bits(); 2]);
        }
    }

    #[test]
    fn a_false_alarm_is_not_reported() {
        // Zero times −∞ is no number, though both ends answered as they may.
        assert_eq!(after(0, f64::NEG_INFINITY).unwrap(), 2);
        assert_eq!(after(1, f64::NEG_INFINITY).unwrap(), 2);
        assert_eq!(after(1, f64::MAX).unwrap(), 2);
    }
}
