//! Running means and variances of many columns, exact and in memory that does not grow.

use serde::{Deserialize, Serialize};

/// Means and sums of squared deviations of columns (Welford's recurrence).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Of so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            count: 0,
            mean: vec![0.0; columns],
            squares: vec![0.0; columns],
        }
    }

    /// Adds a row.
    #[inline]
    pub fn add(&mut self, row: &[f64]) {
        self.count += 1;
        let weight = 1.0 / self.count as f64;
        for ((&value, mean), squares) in row.iter().zip(&mut self.mean).zip(&mut self.squares) {
            let off = value - *mean;
            *mean += weight * off;
            *squares += off * (value - *mean);
        }
    }

    /// Adds another chain's rows (Chan, Golub and LeVeque's formula).
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        for k in 0..self.mean.len().min(other.mean.len()) {
            let off = other.mean[k] - self.mean[k];
            self.mean[k] += off * b / (a + b);
            self.squares[k] += other.squares[k] + off * off * a * b / (a + b);
        }
        self.count += other.count;
    }

    /// How many rows were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.mean.len()
    }

    /// The mean of a column.
    pub fn mean(&self, column: usize) -> f64 {
        self.mean[column]
    }

    /// The variance of a column (divisor count − 1).
    pub fn variance(&self, column: usize) -> f64 {
        self.squares[column] / (self.count as f64 - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn moments_of_parts_are_moments_of_the_whole() {
        let mut rng = Rng::stream(1, 0);
        let rows: Vec<[f64; 2]> = (0..1000)
            .map(|_| [1e6 + rng.normal(), rng.exponential()])
            .collect();
        let of = |rows: &[[f64; 2]]| {
            let mut moments = Moments::new(2);
            rows.iter().for_each(|row| moments.add(row));
            moments
        };
        let whole = of(&rows);
        let mut parts = of(&rows[..300]);
        parts.merge(&of(&rows[300..]));
        for column in 0..2 {
            let mean = rows.iter().map(|r| r[column]).sum::<f64>() / 1000.0;
            let squares = rows.iter().map(|r| (r[column] - mean).powi(2)).sum::<f64>();
            for moments in [&whole, &parts] {
                assert!((moments.mean(column) / mean - 1.0).abs() < 1e-12);
                assert!((moments.variance(column) / (squares / 999.0) - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!(parts.count(), 1000);
    }
}
