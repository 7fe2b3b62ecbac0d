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
}
