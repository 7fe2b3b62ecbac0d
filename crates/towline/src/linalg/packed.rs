//! Lower triangles packed row by row, in memory that is used again.

use super::dot;

/// Where row i of a packed lower triangle begins.
#[inline]
pub(crate) fn row(i: usize) -> usize {
    i * (i + 1) / 2
}

/// The Cholesky factor of a symmetric matrix, packed into `rows`; where it is none, the pivot that says so.
pub(crate) fn cholesky(matrix: &[f64], dim: usize, rows: &mut Vec<f64>) -> Result<(), usize> {
    for i in 0..dim {
        for j in 0..i {
            let (a, b) = (matrix[i * dim + j], matrix[j * dim + i]);
            if (a - b).abs() > 1e-8 * (a.abs() + b.abs()) {
                return Err(j);
            }
        }
    }
    rows.clear();
    rows.resize(row(dim), 0.0);
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

/// v ← L⁻¹ v.
#[inline]
pub(crate) fn solve(rows: &[f64], v: &mut [f64]) {
    for i in 0..v.len() {
        let known = dot(&rows[row(i)..row(i) + i], v);
        v[i] = (v[i] - known) / rows[row(i) + i];
    }
}

/// v ← L⁻ᵀ v.
#[inline]
pub(crate) fn solve_transposed(rows: &[f64], v: &mut [f64]) {
    for i in (0..v.len()).rev() {
        v[i] /= rows[row(i) + i];
        let solved = v[i];
        for (k, entry) in rows[row(i)..row(i) + i].iter().enumerate() {
            v[k] -= entry * solved;
        }
    }
}
