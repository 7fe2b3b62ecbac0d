//! Lower triangles packed row by row, in memory that is used again.

use super::dot;

/// Where row i of a packed lower triangle begins.
#[inline]
pub(crate) fn row(i: usize) -> usize {
    i * (i + 1) / 2
}

/// Makes a list this long, with whatever is in it: cheaper than filling it with zeros where it has that length already.
#[inline]
pub(crate) fn fit(list: &mut Vec<f64>, len: usize) {
    if list.len() != len {
        list.clear();
        list.resize(len, 0.0);
    }
}

/// Copies, number by number: a call of the system's copy costs more than a few numbers do.
#[inline]
pub(crate) fn copy(to: &mut Vec<f64>, from: &[f64]) {
    fit(to, from.len());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// The Cholesky factor of a symmetric matrix, packed into `rows`; where it is none, the pivot that says so.
pub(crate) fn cholesky(matrix: &[f64], dim: usize, rows: &mut Vec<f64>) -> Result<(), usize> {
    if dim == 1 {
        // Most searches are along one variable, and this is then a square root.
        fit(rows, 1);
        let rest = matrix[0];
        rows[0] = rest.sqrt();
        return if rest > 0.0 && rest.is_finite() {
            Ok(())
        } else {
            Err(0)
        };
    }
    for i in 0..dim {
        for j in 0..i {
            let (a, b) = (matrix[i * dim + j], matrix[j * dim + i]);
            if (a - b).abs() > 1e-8 * (a.abs() + b.abs()) {
                return Err(j);
            }
        }
    }
    fit(rows, row(dim));
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

#[inline(never)]
fn apply_many(rows: &[f64], v: &[f64], out: &mut [f64]) {
    let mut rest = rows;
    for (i, value) in out.iter_mut().enumerate() {
        let (row, below) = rest.split_at(i + 1);
        *value = dot(row, v);
        rest = below;
    }
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
