//! Means and covariances of draws, pooled over chains.

use super::limits::moments::MOST_COUPLED;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::linalg::Factor;

/// Sums over draws of (x, y), about a fixed reference so that nothing cancels.
#[derive(Debug, Clone)]
pub(super) struct Moments {
    reference: Vec<f64>,
    slow: usize,
    coupled: bool,
    count: f64,
    first: Vec<f64>,
    /// Products of the slow variables with all variables (row by row), then the fast ones' own.
    second: Vec<f64>,
}

/// What the draws say.
#[derive(Debug, Clone)]
pub(super) struct Learned {
    pub count: f64,
    pub mean_x: Vec<f64>,
    pub mean_y: Vec<f64>,
    /// Covariance of x, row by row.
    pub slow: Vec<f64>,
    /// Covariance of y with x: a row for each fast variable.
    pub cross: Vec<f64>,
    /// Covariance of y, row by row; only its diagonal where `coupled` is false.
    pub fast: Vec<f64>,
    pub coupled: bool,
}

impl Moments {
    pub fn new(x: &[f64], y: &[f64]) -> Self {
        let (p, d) = (x.len(), y.len());
        let coupled = d <= MOST_COUPLED;
        Self {
            reference: x.iter().chain(y).copied().collect(),
            slow: p,
            coupled,
            count: 0.0,
            first: vec![0.0; p + d],
            second: vec![0.0; p * (p + d) + if coupled { d * d } else { d }],
        }
    }

    /// Sets what sums are taken about: the same in every chain, or pooling would be meaningless.
    pub fn set_reference(&mut self, x: &[f64], y: &[f64]) {
        self.reference = x.iter().chain(y).copied().collect();
    }

    pub fn add(&mut self, x: &[f64], y: &[f64]) {
        let all: Vec<f64> = x
            .iter()
            .chain(y)
            .zip(&self.reference)
            .map(|(v, r)| v - r)
            .collect();
        let (p, total) = (self.slow, all.len());
        self.count += 1.0;
        for (sum, v) in self.first.iter_mut().zip(&all) {
            *sum += v;
        }
        for i in 0..p {
            for j in 0..total {
                self.second[i * total + j] += all[i] * all[j];
            }
        }
        let (d, start) = (total - p, p * total);
        for i in 0..d {
            if self.coupled {
                for j in 0..d {
                    self.second[start + i * d + j] += all[p + i] * all[p + j];
                }
            } else {
                self.second[start + i] += all[p + i] * all[p + i];
            }
        }
    }

    /// The moments over all chains.
    pub fn pool(&self, exchange: &mut impl Exchange) -> Result<Learned, Error> {
        let mine: Vec<f64> = [self.count]
            .iter()
            .chain(&self.first)
            .chain(&self.second)
            .copied()
            .collect();
        let mut sum = vec![0.0; mine.len()];
        for theirs in exchange.gather(&mine)? {
            for (s, v) in sum.iter_mut().zip(theirs) {
                *s += v;
            }
        }
        let (p, total) = (self.slow, self.first.len());
        let d = total - p;
        let count = sum[0].max(1.0);
        let mean: Vec<f64> = sum[1..=total].iter().map(|s| s / count).collect();
        let second = &sum[1 + total..];
        let product = |i: usize, j: usize| second[i * total + j] / count - mean[i] * mean[j];
        let slow = (0..p * p).map(|k| product(k / p, k % p)).collect();
        let cross = (0..d * p).map(|k| product(k % p, p + k / p)).collect();
        let start = p * total;
        let pairs = if self.coupled { d * d } else { d };
        let fast = (0..pairs)
            .map(|k| {
                let (i, j) = if self.coupled { (k / d, k % d) } else { (k, k) };
                second[start + k] / count - mean[p + i] * mean[p + j]
            })
            .collect();
        let centre: Vec<f64> = mean
            .iter()
            .zip(&self.reference)
            .map(|(m, r)| m + r)
            .collect();
        Ok(Learned {
            count,
            mean_x: centre[..p].to_vec(),
            mean_y: centre[p..].to_vec(),
            slow,
            cross,
            fast,
            coupled: self.coupled,
        })
    }
}

impl Learned {
    /// B = cov(y, x) cov(x)⁻¹, by the factor of a (shrunk) covariance of x.
    pub fn slope(&self, slow: &Factor) -> Vec<f64> {
        let mut slope = self.cross.clone();
        if !self.mean_x.is_empty() {
            for row in slope.chunks_mut(self.mean_x.len()) {
                slow.solve(row);
                slow.solve_transposed(row);
            }
        }
        slope
    }

    /// The covariance of y about the line through x: cov(y) − B cov(x, y), or its diagonal.
    pub fn residual(&self, slope: &[f64]) -> Vec<f64> {
        let (p, d) = (self.mean_x.len(), self.mean_y.len());
        let mut residual = self.fast.clone();
        for (k, entry) in residual.iter_mut().enumerate() {
            let (i, j) = if self.coupled { (k / d, k % d) } else { (k, k) };
            *entry -= (0..p)
                .map(|k| slope[i * p + k] * self.cross[j * p + k])
                .sum::<f64>();
        }
        residual
    }
}

/// Draws and an earlier belief, weighted by how many independent draws each is worth. Where even that
/// is no covariance (a variable that never moved), the belief stands. Of `drawn` only variances may be known.
pub(super) fn shrunk(
    drawn: &[f64],
    worth: f64,
    belief: &Factor,
    belief_worth: f64,
    what: &'static str,
) -> Factor {
    let dim = belief.dim();
    if dim > 1 && drawn.len() == dim {
        // Correlations stay as they were believed to be.
        let wider: Vec<f64> = drawn
            .iter()
            .zip(belief.sds())
            .map(|(a, b)| ((worth * a / (b * b) + belief_worth) / (worth + belief_worth)).sqrt())
            .collect();
        let sound = wider.iter().all(|w| *w > 0.0 && w.is_finite());
        return match sound {
            true => belief.with_rows_scaled(&wider),
            false => belief.clone(),
        };
    }
    let mixed: Vec<f64> = drawn
        .iter()
        .zip(belief.covariance())
        .map(|(a, b)| (worth * a + belief_worth * b) / (worth + belief_worth))
        .collect();
    let symmetric: Vec<f64> = (0..dim * dim)
        .map(|k| 0.5 * (mixed[k] + mixed[(k % dim) * dim + k / dim]))
        .collect();
    Factor::from_covariance(&symmetric, what).unwrap_or_else(|_| belief.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::exchange::Solo;
    use crate::random::Rng;

    #[test]
    fn moments_far_from_zero_are_those_of_the_draws() {
        let mut rng = Rng::stream(3, 0);
        let mut moments = Moments::new(&[1e8], &[-1e8]);
        for _ in 0..20_000 {
            let x = rng.normal();
            moments.add(&[1e8 + x], &[-1e8 + 2.0 * x + 0.5 * rng.normal()]);
        }
        let learned = moments.pool(&mut Solo).unwrap();
        assert!((learned.slow[0] - 1.0).abs() < 0.05);
        let slow = Factor::from_covariance(&learned.slow, "test").unwrap();
        let slope = learned.slope(&slow);
        assert!((slope[0] - 2.0).abs() < 0.02, "{slope:?}");
        assert!((learned.residual(&slope)[0] - 0.25).abs() < 0.02);
    }

    #[test]
    fn a_variable_that_never_moved_keeps_its_believed_width() {
        let belief = Factor::diagonal(&[2.0], "test").unwrap();
        let factor = shrunk(&[0.0], 100.0, &belief, 5.0, "test");
        assert!(factor.diagonal_entry(0) > 0.0);
        let factor = shrunk(&[f64::NAN], 100.0, &belief, 5.0, "test");
        assert_eq!(factor, belief);
    }
}
