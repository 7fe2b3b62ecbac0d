//! The processor's widest vectors, where there are any: the same numbers to the bit, in a fraction of the time.
//!
//! A loop over the lanes of a small array should compile to vectors by itself, and too often does not. Here lanes are vectors of whatever
//! width the processor has, and every step of the work must be inlined into it (closures are not, always). No product is merged with a sum and no sum is taken in another order, so the bits are those of plain loops.

use pulp::{Arch, Simd, WithSimd};

/// Does work with the widest vectors that this processor has.
#[inline(always)]
pub(crate) fn widely<W: WithSimd>(work: W) -> W::Output {
    Arch::new().dispatch(work)
}

/// Numbers side by side, in so many vectors.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<S: Simd, const VECTORS: usize> {
    simd: S,
    vectors: [S::f64s; VECTORS],
}

impl<S: Simd, const VECTORS: usize> Lanes<S, VECTORS> {
    /// The same number in all.
    #[inline(always)]
    pub fn all(simd: S, value: f64) -> Self {
        Self {
            simd,
            vectors: [simd.splat_f64s(value); VECTORS],
        }
    }

    /// As many of these numbers as there is room for.
    #[inline(always)]
    pub fn of(simd: S, numbers: &[f64]) -> Self {
        let mut out = Self::all(simd, 0.0);
        for (vector, numbers) in out.vectors.iter_mut().zip(S::as_simd_f64s(numbers).0) {
            *vector = *numbers;
        }
        out
    }

    /// Sums.
    #[inline(always)]
    pub fn plus(mut self, other: Self) -> Self {
        for k in 0..VECTORS {
            self.vectors[k] = self.simd.add_f64s(self.vectors[k], other.vectors[k]);
        }
        self
    }

    /// Differences.
    #[inline(always)]
    pub fn minus(mut self, other: Self) -> Self {
        for k in 0..VECTORS {
            self.vectors[k] = self.simd.sub_f64s(self.vectors[k], other.vectors[k]);
        }
        self
    }

    /// Products.
    #[inline(always)]
    pub fn times(mut self, other: Self) -> Self {
        for k in 0..VECTORS {
            self.vectors[k] = self.simd.mul_f64s(self.vectors[k], other.vectors[k]);
        }
        self
    }

    /// Quotients.
    #[inline(always)]
    pub fn over(mut self, other: Self) -> Self {
        for k in 0..VECTORS {
            self.vectors[k] = self.simd.div_f64s(self.vectors[k], other.vectors[k]);
        }
        self
    }

    /// Into as many numbers.
    #[inline(always)]
    pub fn write(self, numbers: &mut [f64]) {
        for (out, vector) in S::as_mut_simd_f64s(numbers).0.iter_mut().zip(self.vectors) {
            *out = vector;
        }
    }
}
