//! Finds covariates that are combinations of others, and says of which.

use crate::error::Error;

/// What is left of a column beside the others, relative to it, below which it counts as their combination (as in R's `lm`).
const TOLERANCE: f64 = 1e-7;

/// Refuses columns that are combinations of those before them.
///
/// Gram and Schmidt's process, twice for each column since once loses digits on nearly parallel ones; the coefficients
/// in the earlier columns say which of them are to blame.
pub(crate) fn refuse_collinear<'a>(
    columns: &[Vec<f64>],
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), Error> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // Row k of the triangle: the coefficients of column k in the basis, with all columns at length one.
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for (k, column) in columns.iter().enumerate() {
        let length = norm(column);
        if length == 0.0 {
            return Err(Error::Collinear {
                column: names[k].into(),
                relation: "zero in every row".into(),
            });
        }
        let mut rest: Vec<f64> = column.iter().map(|value| value / length).collect();
        let mut row = vec![0.0; k];
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
            return Err(Error::Collinear {
                column: names[k].into(),
                relation: relation(&row, &triangle, &names),
            });
        }
        rest.iter_mut().for_each(|value| *value /= left);
        basis.push(rest);
        row.push(left);
        triangle.push(row);
    }
    Ok(())
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
            culprits.push(format!("`{}`", names[k]));
        }
    }
    culprits.reverse();
    match culprits.as_slice() {
        [one] => format!("a multiple of {one}"),
        several => format!("a combination of {}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_columns_pass_even_if_nearly_parallel() {
        let x: Vec<f64> = (0..50).map(f64::from).collect();
        let near: Vec<f64> = x.iter().map(|v| v + 1e-4 * (v * 1.7).sin()).collect();
        assert!(refuse_collinear(&[vec![1.0; 50], x, near], ["1", "x", "near"]).is_ok());
    }

    #[test]
    fn a_combination_is_named_with_its_parts_and_no_others() {
        let a: Vec<f64> = (0..20).map(|k| f64::from(k).sin()).collect();
        let b: Vec<f64> = (0..20).map(|k| f64::from(k * k).cos()).collect();
        let c: Vec<f64> = (0..20).map(|k| f64::from(k % 3)).collect();
        let sum: Vec<f64> = (0..20).map(|k| 100.0 * a[k] - 1e-3 * c[k]).collect();
        let columns = [vec![1.0; 20], a.clone(), b, c, sum];
        let names = ["(Intercept)", "a", "b", "c", "sum"];
        let error = refuse_collinear(&columns, names).unwrap_err().to_string();
        assert!(
            error.contains("`sum` of the model is a combination of `a`, `c`"),
            "{error}"
        );
        let twice: Vec<f64> = a.iter().map(|v| 2.0 * v).collect();
        let error = refuse_collinear(&[a, twice], ["a", "twice"])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`twice` of the model is a multiple of `a`"),
            "{error}"
        );
        let error = refuse_collinear(&[vec![0.0; 3]], ["z"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("zero in every row"), "{error}");
    }
}
