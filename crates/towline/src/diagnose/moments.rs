//! Mean, standard deviation and quantiles of all draws together, in NumPy's conventions.

use super::chains::has_nan;

/// The mean of all draws of all chains; NaN when there are none.
///
/// ```
/// use towline::diagnose::mean;
/// assert_eq!(mean(&[&[1.0, 2.0], &[3.0, 6.0]]), 3.0);
/// ```
pub fn mean(chains: &[&[f64]]) -> f64 {
    let draws = || chains.iter().copied().flatten();
    let count = draws().count() as f64;
    let rough = draws().sum::<f64>() / count;
    if !rough.is_finite() {
        return rough;
    }
    // The second pass removes the rounding of the first: draws that are all the same then have
    // exactly that mean, so that their variance is exactly zero and is seen to be.
    rough + draws().map(|x| x - rough).sum::<f64>() / count
}

/// The standard deviation of all draws of all chains, with divisor count − 1.
///
/// NaN when there are fewer than two draws.
///
/// ```
/// use towline::diagnose::sd;
/// assert_eq!(sd(&[&[1.0, 3.0], &[5.0, 7.0]]), (20.0f64 / 3.0).sqrt());
/// ```
pub fn sd(chains: &[&[f64]]) -> f64 {
    variance(chains).sqrt()
}

/// The variance of all draws of all chains, with divisor count − 1.
pub(super) fn variance(chains: &[&[f64]]) -> f64 {
    let centre = mean(chains);
    let count: usize = chains.iter().map(|chain| chain.len()).sum();
    if count < 2 {
        return f64::NAN;
    }
    let squares: f64 = chains
        .iter()
        .copied()
        .flatten()
        .map(|x| (x - centre).powi(2))
        .sum();
    squares / (count - 1) as f64
}

/// The quantile of all draws of all chains at a probability in \[0, 1\].
///
/// Linear interpolation between order statistics (type 7 of Hyndman and Fan), which is what
/// NumPy, ArviZ and R do by default. NaN without draws, with a NaN among them, or with a
/// probability outside \[0, 1\].
///
/// ```
/// use towline::diagnose::quantile;
/// assert_eq!(quantile(&[&[4.0, 1.0], &[2.0, 3.0]], 0.5), 2.5);
/// ```
pub fn quantile(chains: &[&[f64]], probability: f64) -> f64 {
    quantile_of_sorted(&sorted(chains), probability)
}

/// All draws of all chains in ascending order; empty if one of them is NaN.
pub(super) fn sorted(chains: &[&[f64]]) -> Vec<f64> {
    if has_nan(chains) {
        return Vec::new();
    }
    let mut draws: Vec<f64> = chains.concat();
    draws.sort_unstable_by(f64::total_cmp);
    draws
}

/// The quantile of draws in ascending order.
pub(super) fn quantile_of_sorted(draws: &[f64], probability: f64) -> f64 {
    if draws.is_empty() || !(0.0..=1.0).contains(&probability) {
        return f64::NAN;
    }
    let place = (draws.len() - 1) as f64 * probability;
    let below = place.floor() as usize;
    let low = draws[below];
    let high = draws[(below + 1).min(draws.len() - 1)];
    let fraction = place - below as f64;
    // Interpolating from the nearer end never leaves [low, high], and equal ends give
    // themselves (even infinite ones): a draw tied with the quantile must not fall below it.
    if low == high || fraction == 0.0 {
        low
    } else if fraction < 0.5 {
        low + (high - low) * fraction
    } else {
        high - (high - low) * (1.0 - fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_draws_have_exactly_their_mean_and_no_variance() {
        for count in 1..200 {
            let draws = vec![0.1; count];
            assert_eq!(mean(&[&draws]), 0.1);
            if count > 1 {
                assert_eq!(sd(&[&draws]), 0.0);
            }
        }
    }

    #[test]
    fn a_tie_is_its_own_quantile_at_every_probability() {
        let draws = [0.3; 17];
        for step in 0..=1000 {
            assert_eq!(quantile(&[&draws], step as f64 / 1000.0), 0.3);
        }
    }

    #[test]
    fn quantiles_end_at_the_extremes() {
        let draws = [3.0, f64::INFINITY, -1.0];
        assert_eq!(quantile(&[&draws], 0.0), -1.0);
        assert_eq!(quantile(&[&draws], 0.5), 3.0);
        assert_eq!(quantile(&[&draws], 1.0), f64::INFINITY);
    }

    #[test]
    fn what_has_no_answer_is_nan() {
        assert!(mean(&[]).is_nan());
        assert!(sd(&[&[1.0]]).is_nan());
        assert!(quantile(&[], 0.5).is_nan());
        assert!(quantile(&[&[1.0, f64::NAN]], 0.5).is_nan());
        assert!(quantile(&[&[1.0, 2.0]], 1.1).is_nan());
        assert!(quantile(&[&[1.0, 2.0]], f64::NAN).is_nan());
    }
}
