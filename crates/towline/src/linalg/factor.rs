//! Square roots of covariances: lower-triangular, or diagonal where that is all there is.

use super::packed::{apply, cholesky, row, solve, solve_transposed};
use super::{SmallRoot, dot, symmetrise, transpose};
use crate::error::Error;
use serde::{Deserialize, Serialize};

/// A lower-triangular matrix L with positive diagonal; L Lᵀ is the covariance it stands for.
///
/// ```
/// use towline::Factor;
/// let factor = Factor::from_covariance(&[4.0, 2.0, 2.0, 5.0], "my covariance")?;
/// let mut out = [0.0; 2];
/// factor.apply(&[1.0, 1.0], &mut out);
/// assert_eq!(out, [2.0, 3.0]);
/// # Ok::<(), towline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Form")]
pub struct Factor(Form);

/// Diagonal factors are kept apart: with hundreds of variables the difference is d against d².
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Form {
    Diagonal(Vec<f64>),
    /// Rows of the lower triangle, one after another.
    Lower {
        dim: usize,
        rows: Vec<f64>,
    },
}

/// What is read from a file is checked as what is built is.
impl TryFrom<Form> for Factor {
    type Error = Error;

    fn try_from(form: Form) -> Result<Self, Error> {
        let what = "a factor read from a file";
        if let Form::Lower { dim, rows } = &form {
            let expected = dim.saturating_mul(dim.saturating_add(1)) / 2;
            let found = rows.len();
            if found != expected {
                return Err(Error::Dimension {
                    what,
                    expected,
                    found,
                });
            }
        }
        let factor = Self(form);
        let sound = |i: &usize| {
            let entry = factor.diagonal_entry(*i);
            entry > 0.0 && entry.is_finite()
        };
        match (0..factor.dim()).find(|i| !sound(i)) {
            Some(pivot) => Err(Error::NotPositiveDefinite { what, pivot }),
            None => Ok(factor),
        }
    }
}

/// Ridges tried, as shares of the mean precision, where differences do not give a precision.
const RIDGES: [f64; 4] = [0.0, 1e-6, 1e-4, 1e-2];

impl Factor {
    /// The factor of independent variables with these standard deviations.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where one is not positive and finite.
    pub fn diagonal(sds: &[f64], what: &'static str) -> Result<Self, Error> {
        match sds.iter().position(|&s| !(s > 0.0 && s.is_finite())) {
            Some(pivot) => Err(Error::NotPositiveDefinite { what, pivot }),
            None => Ok(Self(Form::Diagonal(sds.to_vec()))),
        }
    }

    /// The Cholesky factor of a covariance matrix given row by row.
    ///
    /// # Errors
    /// [`Error::Dimension`] where the matrix is not square, [`Error::NotPositiveDefinite`] where it
    /// is no covariance; `what` names it in the message.
    pub fn from_covariance(covariance: &[f64], what: &'static str) -> Result<Self, Error> {
        let dim = (covariance.len() as f64).sqrt().round() as usize;
        if dim * dim != covariance.len() {
            return Err(Error::Dimension {
                what,
                expected: dim * dim,
                found: covariance.len(),
            });
        }
        let mut rows = Vec::new();
        match cholesky(covariance, dim, &mut rows) {
            Ok(()) => Ok(Self(Form::Lower { dim, rows })),
            Err(pivot) => Err(Error::NotPositiveDefinite { what, pivot }),
        }
    }

    /// The number of variables.
    pub fn dim(&self) -> usize {
        match &self.0 {
            Form::Diagonal(sds) => sds.len(),
            Form::Lower { dim, .. } => *dim,
        }
    }

    /// Its entries: the diagonal, or the rows of the lower triangle.
    pub(crate) fn entries(&self) -> &[f64] {
        let (Form::Diagonal(entries) | Form::Lower { rows: entries, .. }) = &self.0;
        entries
    }

    /// The factor as a vector to send to other chains: its form, then its entries.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let form = match self.0 {
            Form::Diagonal(_) => 0.0,
            Form::Lower { .. } => 1.0,
        };
        std::iter::once(form)
            .chain(self.entries().iter().copied())
            .collect()
    }

    /// From such a vector.
    pub(crate) fn from_numbers(numbers: &[f64], dim: usize) -> Option<Self> {
        let (&form, entries) = numbers.split_first()?;
        let form = if form == 0.0 {
            (entries.len() == dim).then(|| Form::Diagonal(entries.to_vec()))?
        } else {
            Form::Lower {
                dim,
                rows: entries.to_vec(),
            }
        };
        Self::try_from(form).ok()
    }

    /// The standard deviations that the factor stands for.
    pub(crate) fn sds(&self) -> Vec<f64> {
        match &self.0 {
            Form::Diagonal(sds) => sds.clone(),
            Form::Lower { dim, rows } => (0..*dim)
                .map(|i| {
                    let row = &rows[row(i)..=row(i) + i];
                    dot(row, row).sqrt()
                })
                .collect(),
        }
    }

    /// This factor with every entry multiplied by a positive number.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        let mut copy = self.clone();
        let (Form::Diagonal(entries) | Form::Lower { rows: entries, .. }) = &mut copy.0;
        entries.iter_mut().for_each(|entry| *entry *= by);
        copy
    }

    /// This factor with its columns multiplied by the sizes of these numbers.
    pub(crate) fn stretched(&self, by: &[f64]) -> Self {
        self.scaled_each(|_, column| by[column].abs())
    }

    /// This factor with its rows multiplied by these positive numbers.
    pub(crate) fn with_rows_scaled(&self, by: &[f64]) -> Self {
        self.scaled_each(|row, _| by[row])
    }

    /// This factor with every entry multiplied by a number of its row and column.
    fn scaled_each(&self, by: impl Fn(usize, usize) -> f64) -> Self {
        let mut copy = self.clone();
        match &mut copy.0 {
            Form::Diagonal(sds) => {
                for (k, sd) in sds.iter_mut().enumerate() {
                    *sd *= by(k, k);
                }
            }
            Form::Lower { dim, rows } => {
                for i in 0..*dim {
                    for (j, entry) in rows[row(i)..=row(i) + i].iter_mut().enumerate() {
                        *entry *= by(i, j);
                    }
                }
            }
        }
        copy
    }

    /// ln det L.
    pub fn log_det(&self) -> f64 {
        (0..self.dim()).map(|i| self.diagonal_entry(i).ln()).sum()
    }

    /// The root of L P⁻¹ Lᵀ: that of the covariance of y = L u, where u has this precision. A small ridge makes one of what differences
    /// did not.
    pub(crate) fn within(&self, precision: &[f64]) -> Option<Self> {
        let dim = self.dim();
        let mean = (0..dim).map(|k| precision[k * dim + k]).sum::<f64>() / dim as f64;
        let inner = RIDGES.iter().find_map(|ridge| {
            let mut with = precision.to_vec();
            for k in 0..dim {
                with[k * dim + k] += ridge * mean;
            }
            Self::from_covariance(&with, "a precision").ok()
        })?;
        // Rows of P⁻¹, each taken through L: L P⁻¹ is what is had after the first round, L P⁻¹ Lᵀ after the second.
        let mut matrix = vec![0.0; dim * dim];
        let mut out = vec![0.0; dim];
        for (k, row) in matrix.chunks_mut(dim).enumerate() {
            row[k] = 1.0;
            inner.solve(row);
            inner.solve_transposed(row);
            self.apply(row, &mut out);
            row.copy_from_slice(&out);
        }
        transpose(&mut matrix, dim);
        for row in matrix.chunks_mut(dim) {
            self.apply(row, &mut out);
            row.copy_from_slice(&out);
        }
        symmetrise(&mut matrix, dim);
        Self::from_covariance(&matrix, "a covariance").ok()
    }

    /// L_ii.
    pub fn diagonal_entry(&self, i: usize) -> f64 {
        match &self.0 {
            Form::Diagonal(sds) => sds[i],
            Form::Lower { rows, .. } => rows[row(i) + i],
        }
    }

    /// A copy in an array, where it is of D variables.
    #[inline]
    pub(crate) fn small<const D: usize>(&self) -> Option<SmallRoot<D>> {
        match &self.0 {
            Form::Diagonal(sds) => SmallRoot::diagonal(sds),
            Form::Lower { rows, .. } => SmallRoot::lower(rows),
        }
    }

    /// out = L v.
    #[inline(always)]
    pub fn apply(&self, v: &[f64], out: &mut [f64]) {
        match &self.0 {
            Form::Diagonal(sds) => {
                for i in 0..out.len() {
                    out[i] = sds[i] * v[i];
                }
            }
            Form::Lower { rows, .. } => apply(rows, v, out),
        }
    }

    /// v ← L v.
    #[inline]
    pub(crate) fn apply_in_place(&self, v: &mut [f64]) {
        match &self.0 {
            Form::Diagonal(sds) => {
                for (v, sd) in v.iter_mut().zip(sds) {
                    *v *= sd;
                }
            }
            // From the last row up: each needs what stands before it.
            Form::Lower { rows, .. } => {
                for i in (0..v.len()).rev() {
                    v[i] = dot(&rows[row(i)..=row(i) + i], &v[..=i]);
                }
            }
        }
    }

    /// out = Lᵀ v.
    pub fn apply_transposed(&self, v: &[f64], out: &mut [f64]) {
        match &self.0 {
            Form::Diagonal(sds) => {
                for i in 0..out.len() {
                    out[i] = sds[i] * v[i];
                }
            }
            Form::Lower { rows, .. } => {
                out.fill(0.0);
                for i in 0..out.len() {
                    for (k, entry) in rows[row(i)..=row(i) + i].iter().enumerate() {
                        out[k] += entry * v[i];
                    }
                }
            }
        }
    }

    /// v ← L⁻¹ v.
    pub fn solve(&self, v: &mut [f64]) {
        match &self.0 {
            Form::Diagonal(sds) => {
                for i in 0..v.len() {
                    v[i] /= sds[i];
                }
            }
            Form::Lower { rows, .. } => solve(rows, v),
        }
    }

    /// v ← L⁻ᵀ v.
    pub fn solve_transposed(&self, v: &mut [f64]) {
        match &self.0 {
            Form::Diagonal(_) => self.solve(v),
            Form::Lower { rows, .. } => solve_transposed(rows, v),
        }
    }

    /// L Lᵀ, row by row.
    pub fn covariance(&self) -> Vec<f64> {
        let dim = self.dim();
        let mut out = vec![0.0; dim * dim];
        let (mut unit, mut column, mut image) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
        for i in 0..dim {
            unit.fill(0.0);
            unit[i] = 1.0;
            self.apply_transposed(&unit, &mut column);
            self.apply(&column, &mut image);
            out[i * dim..(i + 1) * dim].copy_from_slice(&image);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COVARIANCE: [f64; 9] = [4.0, 1.0, -0.5, 1.0, 2.0, 0.3, -0.5, 0.3, 1.0];

    fn close(a: &[f64], b: &[f64]) {
        for (x, y) in a.iter().zip(b) {
            assert!((x - y).abs() < 1e-13, "{a:?} against {b:?}");
        }
    }

    #[test]
    fn a_factor_times_its_transpose_is_the_covariance() {
        let factor = Factor::from_covariance(&COVARIANCE, "test").unwrap();
        close(&factor.covariance(), &COVARIANCE);
        let diagonal = Factor::diagonal(&[2.0, 3.0], "test").unwrap();
        close(&diagonal.covariance(), &[4.0, 0.0, 0.0, 9.0]);
    }

    #[test]
    fn solving_undoes_applying() {
        for factor in [
            Factor::from_covariance(&COVARIANCE, "test").unwrap(),
            Factor::diagonal(&[2.0, 3.0, 0.1], "test").unwrap(),
        ] {
            let v = [0.3, -1.2, 2.0];
            let mut out = [0.0; 3];
            factor.apply(&v, &mut out);
            factor.solve(&mut out);
            close(&out, &v);
            factor.apply_transposed(&v, &mut out);
            factor.solve_transposed(&mut out);
            close(&out, &v);
        }
    }

    #[test]
    fn a_precision_within_a_factor_gives_the_covariance_of_both() {
        let precision = [2.0, 0.5, 0.0, 0.5, 1.0, -0.2, 0.0, -0.2, 3.0];
        for outer in [
            Factor::from_covariance(&COVARIANCE, "test").unwrap(),
            Factor::diagonal(&[2.0, 3.0, 0.1], "test").unwrap(),
        ] {
            let root = outer.within(&precision).unwrap();
            // Σ⁻¹ = L⁻ᵀ P L⁻¹: taken through both, the precision comes back.
            let covariance = root.covariance();
            for k in 0..3 {
                let mut v = vec![0.0; 3];
                v[k] = 1.0;
                outer.solve_transposed(&mut v);
                let image: Vec<f64> = (0..3)
                    .map(|i| (0..3).map(|j| covariance[i * 3 + j] * v[j]).sum())
                    .collect();
                let mut u = image;
                outer.solve(&mut u);
                for i in 0..3 {
                    let product: f64 = (0..3).map(|j| precision[i * 3 + j] * u[j]).sum();
                    assert!((product - f64::from(u8::from(i == k))).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn the_log_determinant_is_half_that_of_the_covariance() {
        let factor = Factor::from_covariance(&[4.0, 0.0, 0.0, 9.0], "test").unwrap();
        assert!((factor.log_det() - 6f64.ln()).abs() < 1e-15);
        assert!((factor.scaled(0.5).log_det() - 1.5f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_covariance_is_refused_with_its_pivot() {
        for (matrix, row) in [
            (vec![1.0, 2.0, 2.0, 1.0], 1),
            (vec![0.0], 0),
            (vec![f64::NAN], 0),
            (vec![1.0, 0.5, 0.0, 1.0], 0),
        ] {
            match Factor::from_covariance(&matrix, "test") {
                Err(Error::NotPositiveDefinite { pivot, .. }) => assert_eq!(pivot, row),
                other => panic!("{matrix:?} gave {other:?}"),
            }
        }
        assert!(matches!(
            Factor::from_covariance(&[1.0, 2.0], "test"),
            Err(Error::Dimension { .. })
        ));
        assert!(Factor::diagonal(&[1.0, -1.0], "test").is_err());
    }
}
