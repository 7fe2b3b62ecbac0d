//! Lower triangles packed row by row, in memory that is used again.

use super::{Lanes, Storage, dot, widely};
use pulp::{Simd, WithSimd};

/// Where row i of a packed lower triangle begins.
#[inline]
pub(crate) fn row(i: usize) -> usize {
    i * (i + 1) / 2
}

/// The Cholesky factor of a symmetric matrix, packed into `rows`; where it is none, the pivot that says so. One and two
/// variables apart, as most searches are along so few: inlined whatever the compiler thinks, so that it need not loop.
#[inline(always)]
pub(crate) fn cholesky(matrix: &[f64], dim: usize, rows: &mut impl Storage) -> Result<(), usize> {
    rows.fit(row(dim));
    match dim {
        1 => {
            let rest = matrix[0];
            rows[0] = rest.sqrt();
            if rest > 0.0 && rest.is_finite() {
                Ok(())
            } else {
                Err(0)
            }
        }
        2 => factorise(matrix, 2, rows.as_mut()),
        _ => factorise_many(matrix, dim, rows.as_mut()),
    }
}

#[inline(never)]
fn factorise_many(matrix: &[f64], dim: usize, rows: &mut [f64]) -> Result<(), usize> {
    factorise(matrix, dim, rows)
}

#[inline(always)]
fn factorise(matrix: &[f64], dim: usize, rows: &mut [f64]) -> Result<(), usize> {
    if let Some(column) = unsymmetric(matrix, dim) {
        return Err(column);
    }
    if dim >= WIDE {
        let mut panel = vec![0.0; dim * PANEL];
        for first in (0..dim).step_by(PANEL) {
            widely(PanelOfRows {
                matrix,
                dim,
                first,
                rows,
                panel: &mut panel,
            })?;
        }
        return Ok(());
    }
    for i in 0..dim {
        let (above, below) = rows.split_at_mut(row(i));
        for j in 0..i {
            let known = dot(&below[..j], &above[row(j)..row(j) + j]);
            below[j] = (matrix[i * dim + j] - known) / above[row(j) + j];
        }
        let rest = matrix[i * dim + i] - dot(&below[..i], &below[..i]);
        if !(rest > 0.0 && rest.is_finite()) {
            return Err(i);
        }
        below[i] = rest.sqrt();
    }
    Ok(())
}

/// A column in which a matrix is not symmetric. By tiles, as going down columns of a large matrix takes longer than its factor.
#[inline(always)]
fn unsymmetric(matrix: &[f64], dim: usize) -> Option<usize> {
    for top in (0..dim).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(dim) {
                for j in left..(left + TILE).min(i) {
                    let (a, b) = (matrix[i * dim + j], matrix[j * dim + i]);
                    if (a - b).abs() > 1e-8 * (a.abs() + b.abs()) {
                        return Some(j);
                    }
                }
            }
        }
    }
    None
}

/// A side of a tile: its rows and columns are all in the nearest cache.
const TILE: usize = 16;

/// Rows that are made side by side: each sum is taken in the order of a plain dot product, so that the bits are the same, but the sums
/// of several rows do not wait for one another.
const PANEL: usize = 16;

/// Smaller matrices are made row by row: a panel would cost more than it saves.
const WIDE: usize = 2 * PANEL;

/// The rows `first` to `first + PANEL` of a Cholesky factor whose rows before them are known, or as many as there are. In the panel,
/// column by column.
struct PanelOfRows<'a> {
    matrix: &'a [f64],
    dim: usize,
    first: usize,
    rows: &'a mut [f64],
    panel: &'a mut [f64],
}

impl WithSimd for PanelOfRows<'_> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<(), usize> {
        match PANEL / S::F64_LANES {
            2 => self.made::<S, 2>(simd),
            4 => self.made::<S, 4>(simd),
            8 => self.made::<S, 8>(simd),
            _ => self.made::<S, 16>(simd),
        }
    }
}

impl PanelOfRows<'_> {
    /// The panel with the lanes of its rows in so many vectors.
    #[inline(always)]
    fn made<S: Simd, const VECTORS: usize>(self, simd: S) -> Result<(), usize> {
        let Self {
            matrix,
            dim,
            first,
            rows,
            panel,
        } = self;
        let (panel, _) = panel.as_chunks_mut::<PANEL>();
        let lanes = PANEL.min(dim - first);
        for j in 0..first + lanes {
            let (known, rest) = panel.split_at_mut(j);
            let mut sums = Lanes::<S, VECTORS>::all(simd, 0.0);
            // Where row j is itself in the panel, its lane there; rows before it have nothing in column j.
            let own = j.checked_sub(first);
            match own {
                None => {
                    for (column, factor) in known.iter().zip(&rows[row(j)..row(j) + j]) {
                        sums = sums.plus(Lanes::of(simd, column).times(Lanes::all(simd, *factor)));
                    }
                }
                Some(lane) => {
                    for column in known.iter() {
                        sums = sums
                            .plus(Lanes::of(simd, column).times(Lanes::all(simd, column[lane])));
                    }
                }
            }
            let vectors = sums;
            let mut sums = [0.0; PANEL];
            vectors.write(&mut sums);
            let column = &mut rest[0];
            let mut pivot = own.map_or_else(|| rows[row(j) + j], |_| 0.0);
            if let Some(lane) = own {
                let left = matrix[j * dim + j] - sums[lane];
                if !(left > 0.0 && left.is_finite()) {
                    return Err(j);
                }
                pivot = left.sqrt();
                column[lane] = pivot;
            }
            for lane in own.map_or(0, |lane| lane + 1)..lanes {
                column[lane] = (matrix[(first + lane) * dim + j] - sums[lane]) / pivot;
            }
        }
        for lane in 0..lanes {
            let i = first + lane;
            let columns = panel.iter().map(|column| column[lane]);
            for (to, from) in rows[row(i)..=row(i) + i].iter_mut().zip(columns) {
                *to = from;
            }
        }
        Ok(())
    }
}

/// out = L v. One and two variables, for which a loop or a call costs more than it does, apart: inlined whatever the compiler
/// thinks.
#[inline(always)]
pub(crate) fn apply(rows: &[f64], v: &[f64], out: &mut [f64]) {
    match (rows, v, &mut *out) {
        ([l], [v], [out]) => *out = l * v,
        ([a, b, c], [v, w], [first, second]) => {
            *first = a * v;
            *second = b * v + c * w;
        }
        _ => apply_many(rows, v, out),
    }
}

/// Two rows at a time, each added up in its own order: half the work of finding one's way, and neither waits for the other.
#[inline(never)]
fn apply_many(rows: &[f64], v: &[f64], out: &mut [f64]) {
    let (mut rest, mut first) = (rows, 0);
    let mut pairs = out.chunks_exact_mut(2);
    for pair in &mut pairs {
        // Rows of `first` + 1 and + 2 numbers.
        let (a, below) = rest.split_at(first + 1);
        let (b, below) = below.split_at(first + 2);
        let (mut sum_a, mut sum_b) = (-0.0, -0.0);
        for ((a, b), v) in a[..first].iter().zip(&b[..first]).zip(&v[..first]) {
            sum_a += a * v;
            sum_b += b * v;
        }
        pair[0] = sum_a + a[first] * v[first];
        pair[1] = (sum_b + b[first] * v[first]) + b[first + 1] * v[first + 1];
        (rest, first) = (below, first + 2);
    }
    if let [last] = pairs.into_remainder() {
        *last = dot(rest, v);
    }
}

/// v ← L⁻¹ v. One and two variables apart, as in [`apply`].
#[inline(always)]
pub(crate) fn solve(rows: &[f64], v: &mut [f64]) {
    match v {
        [_] => forwards(rows, v),
        [_, _] => forwards(rows, v),
        _ => forwards_many(rows, v),
    }
}

#[inline(never)]
fn forwards_many(rows: &[f64], v: &mut [f64]) {
    forwards(rows, v);
}

#[inline(always)]
fn forwards(rows: &[f64], v: &mut [f64]) {
    for i in 0..v.len() {
        let known = dot(&rows[row(i)..row(i) + i], v);
        v[i] = (v[i] - known) / rows[row(i) + i];
    }
}

/// v ← L⁻ᵀ v. One and two variables apart, as in [`apply`].
#[inline(always)]
pub(crate) fn solve_transposed(rows: &[f64], v: &mut [f64]) {
    match v {
        [_] => backwards(rows, v),
        [_, _] => backwards(rows, v),
        _ => backwards_many(rows, v),
    }
}

#[inline(never)]
fn backwards_many(rows: &[f64], v: &mut [f64]) {
    backwards(rows, v);
}

#[inline(always)]
fn backwards(rows: &[f64], v: &mut [f64]) {
    for i in (0..v.len()).rev() {
        v[i] /= rows[row(i) + i];
        let solved = v[i];
        for (k, entry) in rows[row(i)..row(i) + i].iter().enumerate() {
            v[k] -= entry * solved;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn rows_made_side_by_side_have_the_bits_of_rows_made_one_by_one() {
        let mut rng = Rng::stream(11, 0);
        for dim in [31, 32, 33, 48, 75, 160] {
            let tall: Vec<f64> = (0..dim * dim).map(|_| rng.normal()).collect();
            let mut matrix = vec![0.0; dim * dim];
            for i in 0..dim {
                for j in 0..dim {
                    matrix[i * dim + j] = dot(&tall[i * dim..(i + 1) * dim], &tall[j * dim..]);
                }
                matrix[i * dim + i] += 1.0;
            }
            let mut plain = vec![0.0; row(dim)];
            for i in 0..dim {
                let (above, below) = plain.split_at_mut(row(i));
                for j in 0..i {
                    let known = dot(&below[..j], &above[row(j)..row(j) + j]);
                    below[j] = (matrix[i * dim + j] - known) / above[row(j) + j];
                }
                below[i] = (matrix[i * dim + i] - dot(&below[..i], &below[..i])).sqrt();
            }
            let mut rows = Vec::new();
            assert_eq!(cholesky(&matrix, dim, &mut rows), Ok(()));
            assert_eq!(rows, plain, "{dim}");
            // What is no covariance is refused at the pivot that says so, wherever it stands.
            for bad in [dim / 2, dim - 1] {
                let mut matrix = matrix.clone();
                matrix[bad * dim + bad] = -1.0;
                assert_eq!(cholesky(&matrix, dim, &mut rows), Err(bad));
            }
        }
    }

    #[test]
    fn rows_taken_together_give_the_bits_of_rows_taken_one_by_one() {
        let mut rng = crate::Rng::stream(2, 0);
        for dim in 3..20 {
            let rows: Vec<f64> = (0..row(dim)).map(|_| rng.normal()).collect();
            let mut v: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
            v[dim / 2] = -0.0;
            if dim % 2 == 0 {
                v.fill(-0.0);
            }
            let mut out = vec![0.0; dim];
            apply(&rows, &v, &mut out);
            for i in 0..dim {
                let expected = dot(&rows[row(i)..=row(i) + i], &v);
                assert_eq!(out[i].to_bits(), expected.to_bits(), "row {i} of {dim}");
            }
        }
    }
}
