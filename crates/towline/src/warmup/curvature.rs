//! The curvature of the marginal of many slow variables, by differences that all chains share.

use super::common::{self, Common};
use super::limits::curvature::{LONGEST, RIDGES, SHORT, STEPS};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::FrameRule;
use crate::linalg::Factor;
use crate::slow::surrogate::Visit;
use crate::target::Target;
use crate::warmup::tuning::Tuning;

/// Newton's method on the estimated marginal, from the tuning's centre; returns how many slow evaluations it took.
///
/// A random walk of a few hundred steps cannot learn a covariance of twenty variables; p²/2 differences give it.
pub(super) fn improve<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    rule: &FrameRule,
    visits: &mut Vec<Visit>,
    common: &mut Common,
    exchange: &mut impl Exchange,
) -> Result<usize, Error> {
    let p = tuning.centre.len();
    let mut spent = 0;
    for _ in 0..STEPS {
        let widths = tuning.slow.sds();
        let points = stencil(&tuning.centre, &widths);
        let found = common.visit(walker, rule, &points, exchange)?;
        spent += points.len();
        common::note(visits, &points, &found);
        let Some((slope, curvature)) = derivatives(&found, p) else {
            break;
        };
        let Some(precision) = factored(&curvature, p) else {
            break;
        };
        let mut step = slope.clone();
        precision.solve(&mut step);
        precision.solve_transposed(&mut step);
        let decrement: f64 = step.iter().zip(&slope).map(|(a, b)| a * b).sum();
        let longest = step.iter().map(|v| v.abs()).fold(0.0, f64::max);
        let shorter = (LONGEST / longest.max(1e-300)).min(1.0);
        if let Some(slow) = covariance(&precision, &widths) {
            tuning.slow = slow;
        }
        let next: Vec<f64> = (0..p)
            .map(|k| tuning.centre[k] + shorter * widths[k] * step[k])
            .collect();
        let there = common.visit(walker, rule, std::slice::from_ref(&next), exchange)?;
        spent += 1;
        common::note(visits, std::slice::from_ref(&next), &there);
        if there[0] > found[0] {
            tuning.centre = next;
        }
        if decrement < SHORT * p as f64 {
            break;
        }
    }
    Ok(spent)
}

/// The centre, a step up and down along each coordinate, and along each pair of them.
fn stencil(centre: &[f64], widths: &[f64]) -> Vec<Vec<f64>> {
    let p = centre.len();
    let moved = |by: &[(usize, f64)]| {
        let mut x = centre.to_vec();
        for &(k, sign) in by {
            x[k] += sign * widths[k];
        }
        x
    };
    let mut points = vec![centre.to_vec()];
    for k in 0..p {
        points.push(moved(&[(k, 1.0)]));
        points.push(moved(&[(k, -1.0)]));
    }
    for i in 0..p {
        for j in 0..i {
            points.push(moved(&[(i, 1.0), (j, 1.0)]));
        }
    }
    points
}

/// The gradient, and minus the second derivatives, in units of the widths; `None` where a point of the
/// stencil has no value.
fn derivatives(found: &[Option<f64>], p: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let all: Vec<f64> = found.iter().copied().collect::<Option<_>>()?;
    if !all.iter().all(|value| value.is_finite()) {
        return None;
    }
    let (here, up, down) = (all[0], |k: usize| all[1 + 2 * k], |k: usize| all[2 + 2 * k]);
    let slope = (0..p).map(|k| 0.5 * (up(k) - down(k))).collect();
    let mut curvature = vec![0.0; p * p];
    let mut pair = 1 + 2 * p;
    for i in 0..p {
        curvature[i * p + i] = 2.0 * here - up(i) - down(i);
        for j in 0..i {
            let mixed = up(i) + up(j) - all[pair] - here;
            curvature[i * p + j] = mixed;
            curvature[j * p + i] = mixed;
            pair += 1;
        }
    }
    Some((slope, curvature))
}

/// A factor of the curvature, with the smallest ridge that makes it one of a maximum.
fn factored(curvature: &[f64], p: usize) -> Option<Factor> {
    let mean = (0..p).map(|k| curvature[k * p + k].abs()).sum::<f64>() / p as f64;
    RIDGES.iter().find_map(|ridge| {
        let mut with = curvature.to_vec();
        for k in 0..p {
            with[k * p + k] += ridge * mean;
        }
        Factor::from_covariance(&with, "the curvature of the marginal").ok()
    })
}

/// The covariance that a precision in units of the widths stands for.
fn covariance(precision: &Factor, widths: &[f64]) -> Option<Factor> {
    let p = widths.len();
    let mut covariance = vec![0.0; p * p];
    for (k, row) in covariance.chunks_mut(p).enumerate() {
        row[k] = 1.0;
        precision.solve(row);
        precision.solve_transposed(row);
        for (j, entry) in row.iter_mut().enumerate() {
            *entry *= widths[k] * widths[j];
        }
    }
    let symmetric: Vec<f64> = (0..p * p)
        .map(|k| 0.5 * (covariance[k] + covariance[(k % p) * p + k / p]))
        .collect();
    Factor::from_covariance(&symmetric, "the slow covariance").ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_a_quadratic_are_its_curvature() {
        let h = [2.0, 0.5, -0.3, 0.5, 1.0, 0.2, -0.3, 0.2, 3.0];
        let g = [0.3, -0.2, 0.1];
        let value = |x: &[f64]| {
            let mut sum = 0.0;
            for i in 0..3 {
                sum += g[i] * x[i];
                for j in 0..3 {
                    sum -= 0.5 * h[i * 3 + j] * x[i] * x[j];
                }
            }
            sum
        };
        let found: Vec<Option<f64>> = stencil(&[0.0; 3], &[1.0; 3])
            .iter()
            .map(|x| Some(value(x)))
            .collect();
        let (slope, curvature) = derivatives(&found, 3).unwrap();
        for k in 0..3 {
            assert!((slope[k] - g[k]).abs() < 1e-12);
        }
        for k in 0..9 {
            assert!((curvature[k] - h[k]).abs() < 1e-12, "{k}");
        }
    }
}
