//! R-hat: whether chains started apart have come to agree, in location and in spread.

use super::chains::{are_usable, halves};
use super::moments::{mean, variance};
use super::rank::{folded, normalised};

/// The rank-normalised split R-hat: the larger of that of the draws and that of their distances
/// from the median (Vehtari et al. 2021). Values above 1.01 say that the chains still disagree.
///
/// Each chain is split in two, so one that drifts disagrees with itself. NaN for a single chain
/// (as in ArviZ), with fewer than four draws, with a NaN, with chains of unequal length, and
/// where all draws are the same. Infinite where every chain stands still, but not all at one place.
///
/// ```
/// use towline::diagnose::rhat;
/// let here: Vec<f64> = (0..500).map(|i| (i as f64 * 2.4).sin()).collect();
/// let there: Vec<f64> = here.iter().map(|x| x + 1.0).collect();
/// assert!(rhat(&[&here, &here]) < 1.01);
/// assert!(rhat(&[&here, &there]) > 1.2);
/// ```
pub fn rhat(chains: &[&[f64]]) -> f64 {
    if !are_usable(chains, 2) {
        return f64::NAN;
    }
    let halves = halves(chains);
    let bulk = plain(&normalised(&halves));
    let distances = folded(&halves);
    let distances: Vec<&[f64]> = distances.iter().map(Vec::as_slice).collect();
    let tail = plain(&normalised(&distances));
    // Not f64::max: if only one of the two is NaN it is the folded one (draws of two values,
    // equally far from their median), which then has nothing to say.
    if tail > bulk { tail } else { bulk }
}

/// Gelman and Rubin's R-hat of chains as they are.
fn plain(chains: &[Vec<f64>]) -> f64 {
    let length = chains[0].len() as f64;
    let means: Vec<f64> = chains.iter().map(|chain| mean(&[chain])).collect();
    let variances: Vec<f64> = chains.iter().map(|chain| variance(&[chain])).collect();
    let between = length * variance(&[&means]);
    let within = mean(&[&variances]);
    ((between / within + length - 1.0) / length).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::processes::ar1;
    use super::*;

    #[test]
    fn chains_that_agree_have_rhat_near_one() {
        let chains: Vec<Vec<f64>> = (0..4).map(|seed| ar1(0.5, 4_000, seed)).collect();
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        assert!(rhat(&chains) < 1.01);
    }

    #[test]
    fn chains_that_differ_only_in_spread_are_told_apart() {
        let narrow = ar1(0.0, 1_000, 1);
        let wide: Vec<f64> = ar1(0.0, 1_000, 2).iter().map(|x| 3.0 * x).collect();
        assert!(rhat(&[&narrow, &wide]) > 1.1);
    }

    #[test]
    fn a_drifting_pair_disagrees_with_itself() {
        let drift: Vec<f64> = (0..1_000).map(|i| f64::from(i) / 100.0).collect();
        assert!(rhat(&[&drift, &drift]) > 1.5);
    }

    #[test]
    fn what_has_no_rhat_is_nan_and_frozen_apart_is_infinite() {
        assert!(rhat(&[]).is_nan());
        assert!(rhat(&[&ar1(0.0, 100, 1)]).is_nan());
        assert!(rhat(&[&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]]).is_nan());
        assert!(rhat(&[&[0.1; 50], &[0.1; 50]]).is_nan());
        assert_eq!(rhat(&[&[0.1; 50], &[0.3; 50]]), f64::INFINITY);
    }
}
