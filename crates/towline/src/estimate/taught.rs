//! What weighed points teach: they were drawn to measure how wrong π̃ is, and where it is too wrong to go on with, they say what it should be.

use super::point::Weighted;
use crate::linalg::Factor;
use crate::slow::Visit;
use crate::slow::surrogate::Surrogate;

/// Points for each number that is fitted to what Laplace's estimate misses.
const POINTS_EACH: usize = 4;
/// A whitened coordinate counts up to this: beyond, what is missed stays as it is there.
const FURTHEST: f64 = 2.5;
/// The ridge of that fit, by the number of points.
const RIDGE: f64 = 0.02;

/// The visits of warm-up, whose heights are Laplace's estimates, with what those miss as the points tell it; and the points themselves.
pub(super) fn taught(surrogate: &Surrogate, visits: &[Visit], points: &[Weighted]) -> Vec<Visit> {
    let weighed: Vec<(Visit, Option<f64>)> = points
        .iter()
        .filter(|point| point.log_weight.is_finite())
        .map(|point| {
            let log_marginal = point.log_weight + surrogate.log_density(&point.x);
            let x = point.x.clone();
            let missed = point.laplace.map(|laplace| log_marginal - laplace);
            (Visit { x, log_marginal }, missed)
        })
        .collect();
    let known: Vec<(Vec<f64>, f64)> = weighed
        .iter()
        .filter_map(|(visit, missed)| Some((surrogate.whitened(&visit.x), (*missed)?)))
        .filter(|(_, missed)| missed.is_finite())
        .collect();
    let miss = Miss::fit(&known);
    let corrected = visits.iter().map(|visit| Visit {
        log_marginal: visit.log_marginal + miss.at(&surrogate.whitened(&visit.x)),
        x: visit.x.clone(),
    });
    corrected
        .chain(weighed.into_iter().map(|(visit, _)| visit))
        .collect()
}

/// What Laplace's estimate misses: a constant, and where there are enough points a line and a parabola along each whitened coordinate.
struct Miss {
    coefficients: Vec<f64>,
}

impl Miss {
    fn fit(known: &[(Vec<f64>, f64)]) -> Self {
        let Some((first, _)) = known.first() else {
            return Self {
                coefficients: vec![0.0],
            };
        };
        let all = 1 + 2 * first.len();
        let q = if known.len() >= POINTS_EACH * all {
            all
        } else {
            1
        };
        let count = known.len() as f64;
        let mean = known.iter().map(|(_, missed)| missed).sum::<f64>() / count;
        let (mut gram, mut right) = (vec![0.0; q * q], vec![0.0; q]);
        for (w, missed) in known {
            let row = terms(w, q);
            for i in 0..q {
                right[i] += row[i] * (missed - mean) / count;
                for j in 0..q {
                    gram[i * q + j] += row[i] * row[j] / count;
                }
            }
        }
        for k in 0..q {
            gram[k * q + k] += RIDGE;
        }
        if let Ok(factor) = Factor::from_covariance(&gram, "what Laplace's estimate misses") {
            factor.solve(&mut right);
            factor.solve_transposed(&mut right);
        } else {
            right.fill(0.0);
        }
        right[0] += mean;
        Self {
            coefficients: right,
        }
    }

    fn at(&self, w: &[f64]) -> f64 {
        let row = terms(w, self.coefficients.len());
        row.iter().zip(&self.coefficients).map(|(r, c)| r * c).sum()
    }
}

/// The first of one, the coordinates and their squares.
fn terms(w: &[f64], count: usize) -> Vec<f64> {
    let near = |v: &f64| v.clamp(-FURTHEST, FURTHEST);
    let lines = w.iter().map(near);
    let squares = w.iter().map(|v| near(v).powi(2) - 1.0);
    std::iter::once(1.0)
        .chain(lines)
        .chain(squares)
        .take(count)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn what_laplace_misses_is_found_where_there_are_points_enough() {
        let mut rng = Rng::stream(41, 0);
        let missed = |w: &[f64]| 0.7 - 0.3 * w[0] + 0.2 * (w[1] * w[1] - 1.0);
        let mut known = Vec::new();
        for _ in 0..60 {
            let w = vec![rng.normal(), rng.normal()];
            let value = missed(&w) + 0.02 * rng.normal();
            known.push((w, value));
        }
        let at = [0.8, -1.1];
        let found = Miss::fit(&known).at(&at);
        assert!((found - missed(&at)).abs() < 0.03, "{found}");
        // Of few points the constant alone.
        let few = Miss::fit(&known[..12]);
        assert_eq!(few.coefficients.len(), 1);
        assert!((few.at(&at) - 0.7).abs() < 0.3);
        assert_eq!(Miss::fit(&[]).at(&at), 0.0);
    }
}
