//! Room for numbers: an array where their number is known to the compiler, so that loops over them are unrolled, or a vector.

use std::fmt::Debug;
use std::ops::IndexMut;

/// Room for numbers.
pub(crate) trait Storage:
    AsRef<[f64]> + AsMut<[f64]> + IndexMut<usize, Output = f64> + Clone + Debug
{
    /// Makes it this long, with whatever is in it; an array is as long as it is, and may be longer than it need be.
    fn fit(&mut self, len: usize);

    /// Copies, number by number: a call of the system's copy costs more than a few numbers do.
    #[inline]
    fn copy(&mut self, from: &[f64]) {
        self.fit(from.len());
        for (to, from) in self.as_mut().iter_mut().zip(from) {
            *to = *from;
        }
    }
}

impl<const D: usize> Storage for [f64; D] {
    #[inline(always)]
    fn fit(&mut self, len: usize) {
        debug_assert!(len <= D, "{len} numbers in room for {D}");
    }
}

impl Storage for Vec<f64> {
    /// Cheaper than filling it with zeros where it has that length already.
    #[inline]
    fn fit(&mut self, len: usize) {
        if self.len() != len {
            self.clear();
            self.resize(len, 0.0);
        }
    }
}
