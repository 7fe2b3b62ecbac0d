//! One parameter in one line: where it is, how sure that is, and whether to believe it.

use super::{ess_bulk, ess_tail, mcse_mean, mean, moments, rhat, sd};
use serde::{Deserialize, Serialize};

/// What a table says of one parameter.
///
/// Every figure is NaN where it has no answer (see [the module](super#when-there-is-no-answer));
/// JSON writes that as `null`.
///
/// ```
/// use towline::diagnose::Summary;
/// let a: Vec<f64> = (0..1000).map(|i| 3.0 + (i as f64 * 2.4).sin()).collect();
/// let b: Vec<f64> = (0..1000).map(|i| 3.0 + (i as f64 * 2.4).cos()).collect();
/// let summary = Summary::of(&[&a, &b]);
/// assert!((summary.mean - 3.0).abs() < 0.01);
/// assert!(summary.rhat < 1.01);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The mean of all draws.
    pub mean: f64,
    /// Their standard deviation (divisor count − 1).
    pub sd: f64,
    /// Their 5 % quantile.
    pub q5: f64,
    /// Their median.
    pub median: f64,
    /// Their 95 % quantile.
    pub q95: f64,
    /// The Monte Carlo standard error of the mean ([`mcse_mean`]).
    pub mcse_mean: f64,
    /// The effective sample size of the bulk ([`ess_bulk`]).
    pub ess_bulk: f64,
    /// The effective sample size of the tails ([`ess_tail`]).
    pub ess_tail: f64,
    /// The rank-normalised split R-hat ([`rhat`]).
    pub rhat: f64,
}

impl Summary {
    /// The summary of an angle's draws: of a parameter whose bounds are the same point.
    ///
    /// The mean is the direction of the mean vector, the standard deviation the circular one, √(−2 ln R) for a mean vector of
    /// length R. Everything else is of the draws as they lie around the mean, the circle cut opposite to it. Means and quantiles
    /// are given within the bounds: an interval whose 5 % quantile is above its 95 % one lies across them.
    ///
    /// ```
    /// use towline::diagnose::Summary;
    /// let a: Vec<f64> = (0..1000).map(|i| (0.3 * (i as f64 * 2.4).sin()).rem_euclid(360.0)).collect();
    /// let summary = Summary::of_angles(&[&a], 0.0, 360.0);
    /// assert!(summary.mean < 1.0 || summary.mean > 359.0); // not 180
    /// assert!(summary.sd < 1.0);
    /// ```
    pub fn of_angles(chains: &[&[f64]], lower: f64, upper: f64) -> Summary {
        let period = upper - lower;
        let turn = std::f64::consts::TAU / period;
        let count = chains.iter().map(|chain| chain.len()).sum::<usize>() as f64;
        let (mut sine, mut cosine) = (0.0, 0.0);
        for value in chains.iter().copied().flatten() {
            let (s, c) = ((value - lower) * turn).sin_cos();
            sine += s;
            cosine += c;
        }
        let centre = lower + sine.atan2(cosine) / turn;
        let around: Vec<Vec<f64>> = chains
            .iter()
            .map(|chain| {
                let near = |value: &f64| (value - centre + 0.5 * period).rem_euclid(period);
                chain
                    .iter()
                    .map(|value| centre - 0.5 * period + near(value))
                    .collect()
            })
            .collect();
        let around: Vec<&[f64]> = around.iter().map(Vec::as_slice).collect();
        let plain = Self::of(&around);
        let inside = |value: f64| lower + (value - lower).rem_euclid(period);
        let length = (sine.hypot(cosine) / count).min(1.0);
        Summary {
            mean: inside(centre),
            sd: if plain.sd == 0.0 {
                0.0
            } else {
                (-2.0 * length.ln()).sqrt() / turn
            },
            q5: inside(plain.q5),
            median: inside(plain.median),
            q95: inside(plain.q95),
            ..plain
        }
    }

    /// The summary of one parameter's draws, one slice per chain.
    pub fn of(chains: &[&[f64]]) -> Summary {
        let sorted = moments::sorted(chains);
        let quantile = |probability| moments::quantile_of_sorted(&sorted, probability);
        Summary {
            mean: mean(chains),
            sd: sd(chains),
            q5: quantile(0.05),
            median: quantile(0.5),
            q95: quantile(0.95),
            mcse_mean: mcse_mean(chains),
            ess_bulk: ess_bulk(chains),
            ess_tail: ess_tail(chains),
            rhat: rhat(chains),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::processes::ar1;
    use super::*;

    #[test]
    fn a_summary_is_its_parts() {
        let (a, b) = (ar1(0.5, 501, 1), ar1(0.5, 501, 2));
        let chains: [&[f64]; 2] = [&a, &b];
        let summary = Summary::of(&chains);
        assert_eq!(summary.q5, super::super::quantile(&chains, 0.05));
        assert_eq!(summary.q95, super::super::quantile(&chains, 0.95));
        assert_eq!(summary.ess_tail, ess_tail(&chains));
        assert_eq!(summary.rhat, rhat(&chains));
    }

    #[test]
    fn a_few_draws_still_have_a_mean() {
        let summary = Summary::of(&[&[1.0, 2.0, 3.0]]);
        assert_eq!((summary.mean, summary.sd, summary.median), (2.0, 1.0, 2.0));
        assert!(summary.ess_bulk.is_nan() && summary.rhat.is_nan());
        let json = serde_json::to_value(summary).unwrap();
        assert!(json["rhat"].is_null());
    }

    #[test]
    fn no_draws_do_not_panic() {
        assert!(Summary::of(&[]).mean.is_nan());
        assert!(Summary::of(&[&[]]).median.is_nan());
        assert!(Summary::of(&[&[], &[1.0]]).ess_bulk.is_nan());
    }

    #[test]
    fn an_angle_is_summarised_the_same_wherever_its_seam_lies() {
        let draws = ar1(0.5, 4000, 3);
        let wrapped = |shift: f64| -> Vec<f64> {
            draws
                .iter()
                .map(|v| (0.4 * v + shift).rem_euclid(std::f64::consts::TAU))
                .collect()
        };
        let (middle, seam) = (wrapped(3.0), wrapped(0.0));
        let full = std::f64::consts::TAU;
        let a = Summary::of_angles(&[&middle], 0.0, full);
        let b = Summary::of_angles(&[&seam], 0.0, full);
        let turned = |x: f64, y: f64| (x - y + 0.5 * full).rem_euclid(full) - 0.5 * full;
        assert!(turned(a.mean - 3.0, b.mean).abs() < 1e-9);
        for (x, y) in [(a.q5, b.q5), (a.median, b.median), (a.q95, b.q95)] {
            assert!(turned(x - 3.0, y).abs() < 1e-9);
        }
        for (x, y) in [
            (a.sd, b.sd),
            (a.ess_bulk, b.ess_bulk),
            (a.mcse_mean, b.mcse_mean),
        ] {
            assert!((x / y - 1.0).abs() < 1e-9);
        }
        // Of a narrow angle the circular spread is the plain one; as a line it is not.
        let line = Summary::of(&[&middle]);
        assert!((a.sd / line.sd - 1.0).abs() < 0.02, "{} {}", a.sd, line.sd);
        assert!(Summary::of(&[&seam]).sd > 3.0 * b.sd);
        assert!(
            Summary::of_angles(&[&[]], 0.0, full).mean.is_nan()
                || Summary::of(&[&[]]).mean.is_nan()
        );
    }
}
