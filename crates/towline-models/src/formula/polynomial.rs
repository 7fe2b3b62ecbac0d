//! Orthogonal polynomials of a column, as R's `poly`: the recurrence of the fit serves new rows.

/// Polynomials that are orthonormal over the values they were made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Orthogonal {
    /// p_{k+1} = (x − alpha_k) p_k − (norms_k / norms_{k−1}) p_{k−1}.
    alpha: Vec<f64>,
    /// The sums of squares of p_0, p_1, …
    norms: Vec<f64>,
}

impl Orthogonal {
    /// Of degree 1 to `degree`, which must be below the number of different values.
    pub fn of(values: &[f64], degree: usize) -> Self {
        let mut alpha = Vec::new();
        let mut norms = Vec::new();
        let mut before = vec![0.0; values.len()];
        let mut now = vec![1.0; values.len()];
        for k in 0..=degree {
            let norm: f64 = now.iter().map(|p| p * p).sum();
            norms.push(norm);
            if k == degree {
                break;
            }
            let moment: f64 = now.iter().zip(values).map(|(p, x)| x * p * p).sum();
            alpha.push(moment / norm);
            let next = step(values, &now, &before, alpha[k], ratio(&norms, k));
            before = std::mem::replace(&mut now, next);
        }
        Self { alpha, norms }
    }

    /// The polynomials at these values, degree by degree from 1.
    pub fn columns(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let mut before = vec![0.0; values.len()];
        let mut now = vec![1.0; values.len()];
        let mut columns = Vec::new();
        for (k, alpha) in self.alpha.iter().enumerate() {
            let next = step(values, &now, &before, *alpha, ratio(&self.norms, k));
            before = std::mem::replace(&mut now, next);
            let length = self.norms[k + 1].sqrt();
            columns.push(now.iter().map(|p| p / length).collect());
        }
        columns
    }
}

fn ratio(norms: &[f64], k: usize) -> f64 {
    if k == 0 { 0.0 } else { norms[k] / norms[k - 1] }
}

fn step(values: &[f64], now: &[f64], before: &[f64], alpha: f64, ratio: f64) -> Vec<f64> {
    let pairs = now.iter().zip(before).zip(values);
    pairs
        .map(|((p, q), x)| (x - alpha) * p - ratio * q)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_orthonormal_and_new_values_lie_on_the_same_polynomials() {
        let values: Vec<f64> = (0..40)
            .map(|k| 2000.0 + (f64::from(k) * 1.7).sin() * 3.0)
            .collect();
        let basis = Orthogonal::of(&values, 4);
        let columns = basis.columns(&values);
        for a in 0..4 {
            for b in 0..=a {
                let inner: f64 = columns[a].iter().zip(&columns[b]).map(|(x, y)| x * y).sum();
                assert!(
                    (inner - f64::from(u8::from(a == b))).abs() < 1e-11,
                    "{inner}"
                );
            }
        }
        let alone = basis.columns(&values[7..8]);
        assert_eq!(alone[3][0], columns[3][7]);
    }
}
