//! Products and solves with a lower-triangular matrix, at the speed of memory: what a fast evaluation is made of.
//!
//! Matrices are column by column, with their whole square stored. Four columns are treated at a time, so that the
//! vector is read a quarter as often; the order of every sum is fixed, whatever the machine and however many vectors
//! are treated together.

use crate::pool::Pooled;
use crate::vector::{LANES, total, wide};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltParams, LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::prelude::default;
use faer::{MatMut, MatRef, Par};

/// A lower-triangular matrix, column by column; what is above its diagonal is never read.
#[derive(Debug, Clone)]
pub(crate) struct Triangle {
    dim: usize,
    columns: Pooled,
}

/// The columns treated together.
const WIDTH: usize = 4;

impl Triangle {
    /// The Cholesky root of a symmetric matrix of which the lower triangle is given, column by column; `None` where it
    /// is not positive definite.
    pub fn root_of(columns: impl Into<Pooled>, dim: usize) -> Option<Self> {
        let mut columns = columns.into();
        if dim == 0 {
            return Some(Self { dim, columns });
        }
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(
            dim,
            Par::Seq,
            default::<faer::Spec<LltParams, f64>>(),
        ));
        let matrix = MatMut::from_column_major_slice_mut(&mut columns, dim, dim);
        let done = cholesky_in_place(
            matrix,
            LltRegularization::default(),
            Par::Seq,
            MemStack::new(&mut memory),
            default(),
        );
        let root = Self { dim, columns };
        (done.is_ok() && root.log_det().is_finite()).then_some(root)
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn as_mat(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.columns, self.dim, self.dim)
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.columns[j * self.dim..(j + 1) * self.dim]
    }

    /// ln det.
    pub fn log_det(&self) -> f64 {
        (0..self.dim)
            .map(|j| self.columns[j * self.dim + j].ln())
            .sum()
    }

    /// out = L v for each of several v, one after another.
    pub fn multiply(&self, v: &[f64], out: &mut [f64]) {
        wide(
            #[inline(always)]
            || self.multiply_wide(v, out),
        );
    }

    #[inline(always)]
    fn multiply_wide(&self, vs: &[f64], outs: &mut [f64]) {
        let n = self.dim;
        if n == 0 {
            return;
        }
        outs.fill(0.0);
        let mut j = 0;
        while j + WIDTH <= n {
            let [a, b, c, d] = self.four(j);
            for (v, out) in vs.chunks_exact(n).zip(outs.chunks_exact_mut(n)) {
                let w = [v[j], v[j + 1], v[j + 2], v[j + 3]];
                for r in 0..WIDTH {
                    let mut sum = out[j + r];
                    for k in 0..=r {
                        sum += self.columns[(j + k) * n + j + r] * w[k];
                    }
                    out[j + r] = sum;
                }
                let rest = &mut out[j + WIDTH..];
                let len = rest.len();
                let (a, b, c, d) = (&a[..len], &b[..len], &c[..len], &d[..len]);
                for i in 0..len {
                    rest[i] += (a[i] * w[0] + b[i] * w[1]) + (c[i] * w[2] + d[i] * w[3]);
                }
            }
            j += WIDTH;
        }
        for k in j..n {
            let column = self.column(k);
            for (v, out) in vs.chunks_exact(n).zip(outs.chunks_exact_mut(n)) {
                for i in k..n {
                    out[i] += column[i] * v[k];
                }
            }
        }
    }

    /// What is below rows j..j+4 in columns j..j+4.
    #[inline(always)]
    fn four(&self, j: usize) -> [&[f64]; WIDTH] {
        [0, 1, 2, 3].map(|k| &self.column(j + k)[j + WIDTH..])
    }

    /// The products of those with a vector.
    #[inline(always)]
    fn four_dots(&self, j: usize, v: &[f64]) -> [f64; WIDTH] {
        let below = &v[j + WIDTH..];
        let mut sums = [[0.0; LANES]; WIDTH];
        let [a, b, c, d] = self.four(j);
        let len = below.len() - below.len() % LANES;
        let (chunks, _) = below.as_chunks::<LANES>();
        let (ac, _) = a.as_chunks::<LANES>();
        let (bc, _) = b.as_chunks::<LANES>();
        let (cc, _) = c.as_chunks::<LANES>();
        let (dc, _) = d.as_chunks::<LANES>();
        for ((((x, a), b), c), d) in chunks.iter().zip(ac).zip(bc).zip(cc).zip(dc) {
            for k in 0..LANES {
                sums[0][k] += a[k] * x[k];
                sums[1][k] += b[k] * x[k];
                sums[2][k] += c[k] * x[k];
                sums[3][k] += d[k] * x[k];
            }
        }
        let mut dots = sums.map(total);
        for i in len..below.len() {
            dots[0] += a[i] * below[i];
            dots[1] += b[i] * below[i];
            dots[2] += c[i] * below[i];
            dots[3] += d[i] * below[i];
        }
        dots
    }

    /// out = Lᵀ v.
    pub fn multiply_transposed(&self, v: &[f64], out: &mut [f64]) {
        wide(
            #[inline(always)]
            || {
                let n = self.dim;
                let mut j = 0;
                while j + WIDTH <= n {
                    let dots = self.four_dots(j, v);
                    for k in 0..WIDTH {
                        let mut sum = dots[k];
                        for r in k..WIDTH {
                            sum += self.columns[(j + k) * n + j + r] * v[j + r];
                        }
                        out[j + k] = sum;
                    }
                    j += WIDTH;
                }
                for k in j..n {
                    let column = self.column(k);
                    out[k] = (k..n).map(|i| column[i] * v[i]).sum();
                }
            },
        );
    }

    /// v becomes L⁻¹ v.
    pub fn solve(&self, v: &mut [f64]) {
        wide(
            #[inline(always)]
            || {
                let n = self.dim;
                let mut j = 0;
                while j + WIDTH <= n {
                    for k in 0..WIDTH {
                        let mut sum = v[j + k];
                        for r in 0..k {
                            sum -= self.columns[(j + r) * n + j + k] * v[j + r];
                        }
                        v[j + k] = sum / self.columns[(j + k) * n + j + k];
                    }
                    let w = [v[j], v[j + 1], v[j + 2], v[j + 3]];
                    let [a, b, c, d] = self.four(j);
                    let rest = &mut v[j + WIDTH..];
                    let len = rest.len();
                    let (a, b, c, d) = (&a[..len], &b[..len], &c[..len], &d[..len]);
                    for i in 0..len {
                        rest[i] -= (a[i] * w[0] + b[i] * w[1]) + (c[i] * w[2] + d[i] * w[3]);
                    }
                    j += WIDTH;
                }
                for k in j..n {
                    let column = self.column(k);
                    v[k] /= column[k];
                    for i in k + 1..n {
                        v[i] -= column[i] * v[k];
                    }
                }
            },
        );
    }

    /// v becomes L⁻ᵀ v.
    pub fn solve_transposed(&self, v: &mut [f64]) {
        wide(
            #[inline(always)]
            || {
                let n = self.dim;
                let even = n - n % WIDTH;
                for k in (even..n).rev() {
                    let column = self.column(k);
                    let sum: f64 = (k + 1..n).map(|i| column[i] * v[i]).sum();
                    v[k] = (v[k] - sum) / column[k];
                }
                let mut j = even;
                while j >= WIDTH {
                    j -= WIDTH;
                    let dots = self.four_dots(j, v);
                    for k in (0..WIDTH).rev() {
                        let mut sum = v[j + k] - dots[k];
                        for r in k + 1..WIDTH {
                            sum -= self.columns[(j + k) * n + j + r] * v[j + r];
                        }
                        v[j + k] = sum / self.columns[(j + k) * n + j + k];
                    }
                }
            },
        );
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A well-conditioned symmetric matrix, column by column.
    pub fn example(n: usize) -> Vec<f64> {
        let mut k = vec![0.0; n * n];
        for j in 0..n {
            for i in 0..n {
                let d = (i as f64 - j as f64) / 7.0;
                k[j * n + i] = (-d * d).exp() + if i == j { 0.3 } else { 0.0 };
            }
        }
        k
    }

    #[test]
    fn products_and_solves_are_those_of_the_matrix_at_every_size() {
        for n in [0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 31, 64, 67] {
            let root = Triangle::root_of(example(n), n).unwrap();
            let v: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
            let at = |i: usize, j: usize| if i < j { 0.0 } else { root.columns[j * n + i] };
            let mut out = vec![0.0; n];
            root.multiply(&v, &mut out);
            for i in 0..n {
                let exact: f64 = (0..n).map(|j| at(i, j) * v[j]).sum();
                assert!((out[i] - exact).abs() < 1e-13);
            }
            let mut back = out.clone();
            root.solve(&mut back);
            root.multiply_transposed(&v, &mut out);
            for i in 0..n {
                let exact: f64 = (0..n).map(|j| at(j, i) * v[j]).sum();
                assert!((out[i] - exact).abs() < 1e-13);
                assert!((back[i] - v[i]).abs() < 1e-12);
            }
            root.solve_transposed(&mut out);
            assert!(out.iter().zip(&v).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn several_vectors_at_once_give_the_same_bits_as_one_at_a_time() {
        let n = 29;
        let root = Triangle::root_of(example(n), n).unwrap();
        let v: Vec<f64> = (0..3 * n).map(|i| (i as f64 * 0.7).cos()).collect();
        let mut together = vec![0.0; 3 * n];
        root.multiply(&v, &mut together);
        for k in 0..3 {
            let mut alone = vec![0.0; n];
            root.multiply(&v[k * n..(k + 1) * n], &mut alone);
            assert_eq!(alone, together[k * n..(k + 1) * n]);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_root() {
        assert!(Triangle::root_of(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Triangle::root_of(vec![f64::NAN], 1).is_none());
    }
}
