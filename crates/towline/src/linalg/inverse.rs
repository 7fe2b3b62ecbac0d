//! The inverse transpose of a lower triangle, computed once: the root of a covariance whose precision is known.

use super::packed::{cholesky, row};
use super::{SmallRoot, Storage, dot};

/// L = R⁻ᵀ, upper triangular, where R Rᵀ is a precision matrix.
///
/// Both R and its inverse are kept, so that no use of either divides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inverse {
    dim: usize,
    /// R, its rows one after another.
    lower: Vec<f64>,
    /// R⁻ᵀ, its rows one after another: row i begins with the diagonal.
    upper: Vec<f64>,
    log_det: f64,
}

impl Inverse {
    /// Makes this the root of the inverse of a precision matrix; false where that is not positive definite, and this is then
    /// of no use.
    pub(crate) fn refill(&mut self, precision: &[f64], dim: usize) -> bool {
        if cholesky(precision, dim, &mut self.lower).is_err() {
            return false;
        }
        self.dim = dim;
        self.upper.fit(row(dim));
        if dim == 1 {
            self.upper[0] = 1.0 / self.lower[0];
            self.log_det = -self.lower[0].ln();
            return true;
        }
        self.log_det = 0.0;
        for i in 0..dim {
            let pivot = self.lower[row(i) + i];
            self.log_det -= pivot.ln();
            // Column i of R⁻¹ is row i of R⁻ᵀ; its entries follow from those above them.
            let start = self.start(i);
            self.upper[start] = 1.0 / pivot;
            for k in i + 1..dim {
                let known = dot(
                    &self.lower[row(k) + i..row(k) + k],
                    &self.upper[start..start + k - i],
                );
                self.upper[start + k - i] = -known / self.lower[row(k) + k];
            }
        }
        true
    }

    /// Where row i of the upper triangle begins.
    #[inline]
    fn start(&self, i: usize) -> usize {
        i * self.dim - i * i.saturating_sub(1) / 2
    }

    /// A copy in an array, where it is of D variables.
    #[inline]
    pub(crate) fn small<const D: usize>(&self) -> Option<SmallRoot<D>> {
        SmallRoot::upper(&self.upper)
    }

    /// out = L z. One and two variables apart, as in [`apply`](super::packed::apply).
    #[inline(always)]
    pub(crate) fn apply(&self, z: &[f64], out: &mut [f64]) {
        match (&self.upper[..], z, &mut *out) {
            ([upper], [z], [value]) => *value = upper * z,
            ([a, b, c], [v, w], [first, second]) => {
                *first = a * v + b * w;
                *second = c * w;
            }
            _ => self.apply_many(z, out),
        }
    }

    #[inline(never)]
    fn apply_many(&self, z: &[f64], out: &mut [f64]) {
        let mut rest = &self.upper[..];
        for (i, value) in out.iter_mut().enumerate() {
            let (row, below) = rest.split_at(z.len() - i);
            *value = dot(row, &z[i..]);
            rest = below;
        }
    }

    /// out = L⁻¹ v = Rᵀ v.
    #[inline]
    pub(crate) fn solve(&self, v: &[f64], out: &mut [f64]) {
        if let ([value], [lower], [v]) = (&mut *out, &self.lower[..], v) {
            *value = lower * v;
            return;
        }
        out.fill(0.0);
        for i in 0..out.len() {
            for (k, entry) in self.lower[row(i)..=row(i) + i].iter().enumerate() {
                out[k] += entry * v[i];
            }
        }
    }

    /// out = Lᵀ v.
    pub(crate) fn apply_transposed(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let mut rest = &self.upper[..];
        for i in 0..out.len() {
            let (row, below) = rest.split_at(out.len() - i);
            for (value, entry) in out[i..].iter_mut().zip(row) {
                *value += entry * v[i];
            }
            rest = below;
        }
    }

    /// ln |det L|.
    pub(crate) fn log_det(&self) -> f64 {
        self.log_det
    }

    /// L Lᵀ, row by row.
    pub(crate) fn covariance(&self) -> Vec<f64> {
        let dim = self.dim;
        let mut out = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in i..dim {
                // Rows i and j of the upper triangle meet from column j on.
                let (a, b) = (self.start(i) + j - i, self.start(j));
                let sum = dot(&self.upper[a..a + dim - j], &self.upper[b..b + dim - j]);
                out[i * dim + j] = sum;
                out[j * dim + i] = sum;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_root_of_the_inverse() {
        let precision = [4.0, 1.0, -0.5, 1.0, 2.0, 0.3, -0.5, 0.3, 1.0];
        let mut inverse = Inverse::default();
        assert!(inverse.refill(&precision, 3));
        let covariance = inverse.covariance();
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3)
                    .map(|k| precision[i * 3 + k] * covariance[k * 3 + j])
                    .sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-13);
            }
        }
        let v = [0.3, -1.2, 2.0];
        let (mut image, mut back, mut turned) = ([0.0; 3], [0.0; 3], [0.0; 3]);
        inverse.apply(&v, &mut image);
        inverse.solve(&image, &mut back);
        inverse.apply_transposed(&v, &mut turned);
        for k in 0..3 {
            assert!((back[k] - v[k]).abs() < 1e-13);
        }
        // vᵀ (L v) = (Lᵀ v)ᵀ v.
        assert!((dot(&v, &image) - dot(&turned, &v)).abs() < 1e-13);
        let det = 4.0 * (2.0 - 0.09) - (1.0 + 0.15) - 0.5 * (0.3 + 1.0);
        assert!((inverse.log_det() + 0.5 * f64::ln(det)).abs() < 1e-13);
        assert!(!inverse.refill(&[1.0, 2.0, 2.0, 1.0], 2));
        assert!(inverse.refill(&[4.0], 1) && inverse.covariance() == [0.25]);
    }
}
