//! What constraints do to a root: R Rᵀ + V S Vᵀ has the root R (I + U (C − I) Uᵀ), with few orthonormal columns U.

use crate::triangle::Triangle;
use crate::vector::{inner, square};

/// I + U (C − I) Uᵀ.
#[derive(Debug)]
pub(crate) struct LowRank {
    dim: usize,
    /// U, column by column.
    basis: Vec<f64>,
    c: Triangle,
}

/// Columns that are this close to a combination of the others, relatively, bring nothing of their own.
const DEPENDENT: f64 = 1e-11;

impl LowRank {
    /// From T = R⁻¹V, column by column, and S, row by row; `None` where the sum is not positive definite.
    pub fn new(columns: Vec<Vec<f64>>, s: &[f64], dim: usize) -> Option<Self> {
        let count = columns.len();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        // T = U r, column by column.
        let mut r: Vec<Vec<f64>> = Vec::new();
        for column in columns {
            let whole = square(&column).sqrt();
            let mut left = column;
            let mut parts = vec![0.0; basis.len()];
            // Twice is enough.
            for _ in 0..2 {
                for (u, part) in basis.iter().zip(&mut parts) {
                    let along = inner(u, &left);
                    *part += along;
                    left.iter_mut().zip(u).for_each(|(l, u)| *l -= along * u);
                }
            }
            let rest = square(&left).sqrt();
            if rest > DEPENDENT * whole && rest > 0.0 {
                left.iter_mut().for_each(|l| *l /= rest);
                basis.push(left);
                parts.push(rest);
            }
            r.push(parts);
        }
        let rank = basis.len();
        let at = |i: usize, j: usize| r[j].get(i).copied().unwrap_or(0.0);
        // S rᵀ first: a product of three matrices, not a sum over four indices.
        let mut half = vec![0.0; count * rank];
        for (row, half) in s
            .chunks_exact(count)
            .zip(half.chunks_exact_mut(rank.max(1)))
        {
            for (b, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                half.iter_mut()
                    .zip(&r[b])
                    .for_each(|(h, r)| *h += value * r);
            }
        }
        let mut inside = vec![0.0; rank * rank];
        for i in 0..rank {
            inside[i * rank + i] = 1.0;
            for (a, half) in half.chunks_exact(rank).enumerate() {
                let along = at(i, a);
                for (j, value) in half.iter().enumerate() {
                    inside[j * rank + i] += along * value;
                }
            }
        }
        let c = Triangle::root_of(inside, rank)?;
        Some(Self {
            dim,
            basis: basis.concat(),
            c,
        })
    }

    pub fn log_det(&self) -> f64 {
        self.c.log_det()
    }

    /// v becomes (I + U (f(Uᵀv) − Uᵀv)): whatever f makes of the coordinates along U.
    fn change(&self, v: &mut [f64], f: impl FnOnce(&mut Vec<f64>)) {
        let columns = || self.basis.chunks_exact(self.dim);
        let along: Vec<f64> = columns().map(|u| inner(u, v)).collect();
        let mut changed = along.clone();
        f(&mut changed);
        for (u, (new, old)) in columns().zip(changed.iter().zip(&along)) {
            let step = new - old;
            v.iter_mut().zip(u).for_each(|(v, u)| *v += step * u);
        }
    }

    /// v becomes (I + U (C − I) Uᵀ)⁻¹ v.
    pub fn solve(&self, v: &mut [f64]) {
        self.change(v, |along| self.c.solve(along));
    }

    /// v becomes (I + U (C − I) Uᵀ)⁻ᵀ v.
    pub fn solve_transposed(&self, v: &mut [f64]) {
        self.change(v, |along| self.c.solve_transposed(along));
    }

    /// v becomes (I + U (C − I) Uᵀ)ᵀ v.
    pub fn multiply_transposed(&self, v: &mut [f64]) {
        self.change(v, |along| {
            let old = along.clone();
            self.c.multiply_transposed(&old, along);
        });
    }
}
