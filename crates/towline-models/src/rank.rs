//! Finds covariates that are combinations of others, and says of which.

use crate::error::Error;
use crate::table::list;

/// What is left of a column beside the others, relative to it, below which it counts as their combination (as in R's `lm`).
const TOLERANCE: f64 = 1e-7;

/// A column that is a combination of those before it.
#[derive(Debug)]
pub(crate) struct Aliased {
    pub column: usize,
    /// Of which, in words.
    pub relation: String,
}

impl Aliased {
    /// As a refusal.
    pub fn error(&self, name: &str) -> Error {
        Error::Collinear {
            column: name.into(),
            relation: self.relation.clone(),
        }
    }
}

/// The columns that are combinations of those before them, in order.
///
/// Gram and Schmidt's process, twice for each column since once loses digits on nearly parallel ones; the coefficients
/// in the earlier columns say which of them are to blame.
pub(crate) fn aliased(columns: &[Vec<f64>], names: &[&str]) -> Vec<Aliased> {
    let mut found = Vec::new();
    let mut kept: Vec<&str> = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // Row k of the triangle: the coefficients of column k in the basis, with all columns at length one.
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for (column, values) in columns.iter().enumerate() {
        let length = norm(values);
        if length == 0.0 {
            let relation = "zero in every row".into();
            found.push(Aliased { column, relation });
            continue;
        }
        let mut rest: Vec<f64> = values.iter().map(|value| value / length).collect();
        let mut row = vec![0.0; basis.len()];
        for _ in 0..2 {
            for (coefficient, direction) in row.iter_mut().zip(&basis) {
                let along: f64 = rest.iter().zip(direction).map(|(a, b)| a * b).sum();
                *coefficient += along;
                rest.iter_mut()
                    .zip(direction)
                    .for_each(|(a, b)| *a -= along * b);
            }
        }
        let left = norm(&rest);
        if left < TOLERANCE {
            let relation = relation(&row, &triangle, &kept);
            found.push(Aliased { column, relation });
            continue;
        }
        rest.iter_mut().for_each(|value| *value /= left);
        basis.push(rest);
        row.push(left);
        triangle.push(row);
        kept.push(names[column]);
    }
    found
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// The columns that make up one whose coefficients in the basis are `row`.
fn relation(row: &[f64], triangle: &[Vec<f64>], names: &[&str]) -> String {
    let mut left = row.to_vec();
    let mut culprits = Vec::new();
    for k in (0..left.len()).rev() {
        let coefficient = left[k] / triangle[k][k];
        for j in 0..=k {
            left[j] -= coefficient * triangle[k][j];
        }
        if coefficient.abs() > 1e-6 {
            culprits.push(names[k].to_string());
        }
    }
    culprits.reverse();
    match culprits.as_slice() {
        [one] => format!("a multiple of `{one}`"),
        several => format!("a combination of {}", list(several)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_columns_pass_even_if_nearly_parallel() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let near: Vec<f64> = x.iter().map(|v| v + 1e-4 * (v * 1.7).sin()).collect();
        assert!(aliased(&[vec![1.0; 50], x, near], &["1", "x", "near"]).is_empty());
    }

    #[test]
    fn a_combination_is_named_with_its_parts_and_no_others() {
        let a: Vec<f64> = (0..20).map(|k| f64::from(k).sin()).collect();
        let b: Vec<f64> = (0..20).map(|k| f64::from(k * k).cos()).collect();
        let c: Vec<f64> = (0..20).map(|k| f64::from(k % 3)).collect();
        let sum: Vec<f64> = (0..20).map(|k| 100.0 * a[k] - 1e-3 * c[k]).collect();
        let twice: Vec<f64> = a.iter().map(|v| 2.0 * v).collect();
        let columns = [vec![1.0; 20], a, sum, b, c, twice, vec![0.0; 20]];
        let names = ["1", "a", "sum", "b", "c", "twice", "z"];
        let found: Vec<(usize, String)> = aliased(&columns, &names)
            .into_iter()
            .map(|one| (one.column, one.relation))
            .collect();
        let expected = [
            (4, "a combination of `a`, `sum`".to_string()),
            (5, "a multiple of `a`".into()),
            (6, "zero in every row".into()),
        ];
        assert_eq!(found, expected);
    }
}
