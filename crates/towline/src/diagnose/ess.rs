//! Effective sample sizes: how many independent draws would do as well, for each kind of question.

use super::autocorrelation::Transform;
use super::chains::{are_usable, halves, map};
use super::moments::{mean, quantile, variance};
use super::rank::normalised;

/// Draws whose range is below this fraction of their size are taken for constant: rounding.
const CONSTANT_RANGE: f64 = 1e-15;

/// The effective sample size of the bulk: of the rank-normalised draws of the split chains.
///
/// The figure to look at first; it exists even where the mean does not. See
/// [the module](super#when-there-is-no-answer) for when it is NaN.
///
/// ```
/// use towline::diagnose::ess_bulk;
/// let steps: Vec<f64> = (0..1000).map(|i| (i as f64 * 0.01).sin()).collect();
/// assert!(ess_bulk(&[&steps]) < 50.0);
/// ```
pub fn ess_bulk(chains: &[&[f64]]) -> f64 {
    if !are_usable(chains, 1) {
        return f64::NAN;
    }
    let scores = normalised(&halves(chains));
    let scores: Vec<&[f64]> = scores.iter().map(Vec::as_slice).collect();
    ess(&scores)
}

/// The effective sample size of the tails: the smaller of those of the 5 % and 95 % quantiles.
///
/// ```
/// use towline::diagnose::{ess_quantile, ess_tail};
/// let draws: Vec<f64> = (0..1000).map(|i| (i as f64).sin().powi(3)).collect();
/// let chains: [&[f64]; 1] = [&draws];
/// assert_eq!(
///     ess_tail(&chains),
///     ess_quantile(&chains, 0.05).min(ess_quantile(&chains, 0.95))
/// );
/// ```
pub fn ess_tail(chains: &[&[f64]]) -> f64 {
    // Both are NaN or neither is, so `min` cannot hide one.
    ess_quantile(chains, 0.05).min(ess_quantile(chains, 0.95))
}

/// The effective sample size for the mean: of the draws of the split chains as they are.
///
/// Meaningful only where the variance exists.
///
/// ```
/// use towline::diagnose::ess_mean;
/// assert_eq!(ess_mean(&[&[2.5; 100], &[2.5; 100]]), 200.0);
/// ```
pub fn ess_mean(chains: &[&[f64]]) -> f64 {
    if !are_usable(chains, 1) {
        return f64::NAN;
    }
    ess(&halves(chains))
}

/// The effective sample size for a quantile: of whether each draw lies at or below it.
///
/// ```
/// use towline::diagnose::ess_quantile;
/// let draws: Vec<f64> = (0..1000).map(|i| (i as f64).sin()).collect();
/// assert!(ess_quantile(&[&draws], 0.5) > 0.0);
/// assert!(ess_quantile(&[&draws], 1.5).is_nan());
/// ```
pub fn ess_quantile(chains: &[&[f64]], probability: f64) -> f64 {
    let quantile = quantile(chains, probability);
    if !are_usable(chains, 1) || quantile.is_nan() {
        return f64::NAN;
    }
    let below = map(chains, |x| f64::from(u8::from(x <= quantile)));
    ess(&halves(&below))
}

/// The effective sample size of chains as they are, by Geyer's initial monotone sequence.
///
/// Follows ArviZ (and Stan) step by step, in the same order, so that the few comparisons in it
/// fall the same way.
fn ess(chains: &[&[f64]]) -> f64 {
    let length = chains[0].len();
    let total = (chains.len() * length) as f64;
    if are_constant(chains) {
        return total;
    }

    // The autocovariance averaged over chains, each about its own mean.
    let mut covariance = vec![0.0; length];
    let mut means = Vec::with_capacity(chains.len());
    let transform = Transform::new(length);
    for chain in chains {
        let centre = mean(&[chain]);
        let products = transform.lagged_products(chain, centre);
        for (sum, product) in covariance.iter_mut().zip(products) {
            *sum += product / total;
        }
        means.push(centre);
    }
    let n = length as f64;
    let within = covariance[0] * n / (n - 1.0);
    let mut pooled = covariance[0];
    if chains.len() > 1 {
        pooled += variance(&[&means]);
    }
    let rho_at = |lag: usize| 1.0 - (within - covariance[lag]) / pooled;

    // Pairs of autocorrelations are positive in theory: the first one that is not is noise.
    let mut rho = vec![0.0; length];
    let (mut even, mut odd) = (1.0, rho_at(1));
    (rho[0], rho[1]) = (even, odd);
    let mut next = 2;
    while next + 2 < length && even + odd > 0.0 {
        (even, odd) = (rho_at(next), rho_at(next + 1));
        if even + odd >= 0.0 {
            (rho[next], rho[next + 1]) = (even, odd);
        }
        next += 2;
    }
    // The last pair looked at starts at `last`; only its first member, if positive, is kept.
    let last = next - 2;
    if even > 0.0 {
        rho[last] = even;
    }
    // They decrease in theory: level those that do not. Pairs start at 2, 4, … below `last`.
    for k in (2..last.saturating_sub(1)).step_by(2) {
        let before = rho[k - 2] + rho[k - 1];
        if rho[k] + rho[k + 1] > before {
            rho[k] = before / 2.0;
            rho[k + 1] = rho[k];
        }
    }
    if rho.iter().any(|r| r.is_nan()) {
        return f64::NAN;
    }
    let time = -1.0 + 2.0 * rho[..last].iter().sum::<f64>() + rho[last];
    // Antithetic chains may do better than independent draws, but not without limit.
    total / time.max(1.0 / total.log10())
}

/// Whether all draws are the same but for rounding.
fn are_constant(chains: &[&[f64]]) -> bool {
    let draws = || chains.iter().copied().flatten().copied();
    let low = draws().fold(f64::INFINITY, f64::min);
    let high = draws().fold(f64::NEG_INFINITY, f64::max);
    // Equality first: it is right for zeros and for infinities too.
    low == high || high - low < CONSTANT_RANGE * low.abs().max(high.abs())
}

#[cfg(test)]
mod tests {
    use super::super::processes::{ar1, ar1_time};
    use super::*;

    #[test]
    fn effective_draws_of_ar1_are_draws_over_its_time() {
        // 4 × 50 000 draws: the estimate scatters by some 5 %.
        for phi in [0.0, 0.5, 0.9, -0.5] {
            let chains: Vec<Vec<f64>> = (0..4).map(|seed| ar1(phi, 50_000, seed)).collect();
            let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let exact = 200_000.0 / ar1_time(phi);
            for ess in [ess_mean(&chains), ess_bulk(&chains)] {
                assert!(
                    (ess / exact - 1.0).abs() < 0.2,
                    "{phi}: {ess} is not {exact}"
                );
            }
        }
    }

    #[test]
    fn units_do_not_change_effective_draws() {
        let draws = ar1(0.9, 1_000, 3);
        let tiny: Vec<f64> = draws.iter().map(|x| x * 2f64.powi(-90)).collect();
        assert_eq!(ess_mean(&[&draws]), ess_mean(&[&tiny]));
        assert!(ess_mean(&[&tiny]) < 200.0);
    }

    #[test]
    fn constant_draws_count_each_and_meaningless_ones_give_nan() {
        assert_eq!(ess_bulk(&[&[0.1; 50], &[0.1; 50]]), 100.0);
        assert_eq!(ess_tail(&[&[0.0; 50]]), 50.0);
        for chains in [
            &[][..],
            &[&[1.0, 2.0, 3.0][..]][..],
            &[&[1.0, f64::NAN, 3.0, 4.0][..]][..],
            &[&[1.0, 2.0, 3.0, 4.0][..], &[1.0, 2.0, 3.0, 4.0, 5.0][..]][..],
        ] {
            assert!(ess_bulk(chains).is_nan());
            assert!(ess_tail(chains).is_nan());
            assert!(ess_mean(chains).is_nan());
            assert!(ess_quantile(chains, 0.5).is_nan());
        }
        // An infinite draw has a rank, though it has no mean.
        let infinite = [1.0, f64::INFINITY, 0.5, 2.0, 0.7, 3.0];
        assert!(ess_mean(&[&infinite]).is_nan());
        assert!(ess_bulk(&[&infinite]).is_finite());
    }
}
