//! Monte Carlo standard errors: how far a reported mean, spread or quantile may be from the truth.

use super::beta::beta_quantile;
use super::chains::{are_usable, map};
use super::ess::{ess_mean, ess_quantile};
use super::moments::{mean, sd, sorted};

/// The probabilities one standard deviation either side of the middle, to the digits ArviZ has.
const ONE_SIGMA: [f64; 2] = [0.158_655_3, 0.841_344_7];

/// The Monte Carlo standard error of the mean: sd / sqrt(effective draws for the mean).
///
/// ```
/// use towline::diagnose::{ess_mean, mcse_mean, sd};
/// let draws: Vec<f64> = (0..1000).map(|i| (i as f64 * 0.3).sin()).collect();
/// let chains: [&[f64]; 1] = [&draws];
/// assert_eq!(mcse_mean(&chains), sd(&chains) / ess_mean(&chains).sqrt());
/// ```
pub fn mcse_mean(chains: &[&[f64]]) -> f64 {
    sd(chains) / ess_mean(chains).sqrt()
}

/// The Monte Carlo standard error of the standard deviation.
///
/// From the scatter of the squared deviations and their own effective number (as ArviZ 0.23;
/// arviz-stats 0.8 uses that of the draws). NaN for draws that are all the same.
///
/// ```
/// use towline::diagnose::mcse_sd;
/// let draws: Vec<f64> = (0..1000).map(|i| (i as f64 * 2.4).sin()).collect();
/// assert!(mcse_sd(&[&draws]) < 0.02);
/// ```
pub fn mcse_sd(chains: &[&[f64]]) -> f64 {
    if !are_usable(chains, 1) {
        return f64::NAN;
    }
    let centre = mean(chains);
    let squares = map(chains, |x| (x - centre).powi(2));
    let fourth = map(chains, |x| (x - centre).powi(4));
    let view = |chains: &[Vec<f64>]| mean(&chains.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let (variance, fourth) = (view(&squares), view(&fourth));
    let squares: Vec<&[f64]> = squares.iter().map(Vec::as_slice).collect();
    let error_of_variance = (fourth - variance * variance) / ess_mean(&squares);
    // d sd = d variance / (2 sd)
    (error_of_variance / variance / 4.0).sqrt()
}

/// The Monte Carlo standard error of a quantile, at a probability in \[0, 1\].
///
/// Half the distance between the draws at the two probabilities that the effective number of
/// draws cannot tell from this one, by one standard deviation.
///
/// ```
/// use towline::diagnose::mcse_quantile;
/// let draws: Vec<f64> = (0..1000).map(|i| (i as f64 * 2.4).sin()).collect();
/// assert!(mcse_quantile(&[&draws], 0.5) < 0.1);
/// ```
pub fn mcse_quantile(chains: &[&[f64]], probability: f64) -> f64 {
    let ess = ess_quantile(chains, probability);
    if ess.is_nan() {
        return f64::NAN;
    }
    let draws = sorted(chains);
    let last = (draws.len() - 1) as f64;
    let [low, high] = ONE_SIGMA.map(|p| {
        let place = beta_quantile(p, ess * probability + 1.0, ess * (1.0 - probability) + 1.0);
        place * draws.len() as f64 - 1.0
    });
    if low.is_nan() || high.is_nan() {
        return f64::NAN;
    }
    let low = draws[low.clamp(0.0, last).floor() as usize];
    let high = draws[high.clamp(0.0, last).ceil() as usize];
    (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::super::processes::ar1;
    use super::super::quantile;
    use super::*;

    #[test]
    fn errors_are_what_replicates_show() {
        // AR(1) with φ = 0.7: exact mean 0, sd 1, 90 % point 1.2815515655446004.
        type Pair = (fn(&[&[f64]]) -> f64, fn(&[&[f64]]) -> f64, f64);
        let cases: [Pair; 3] = [
            (mean, mcse_mean, 0.0),
            (sd, mcse_sd, 1.0),
            (
                |c| quantile(c, 0.9),
                |c| mcse_quantile(c, 0.9),
                1.281_551_565_544_600_4,
            ),
        ];
        for (estimate, error, exact) in cases {
            let scores: Vec<f64> = (0..400)
                .map(|seed| {
                    let draws = ar1(0.7, 4_000, seed);
                    (estimate(&[&draws]) - exact) / error(&[&draws])
                })
                .collect();
            // The sd of 400 scores is itself known to 4 %.
            let spread = sd(&[&scores]);
            assert!((0.85..1.15).contains(&spread), "{spread}");
        }
    }

    #[test]
    fn constant_or_meaningless_draws_do_not_panic() {
        assert_eq!(mcse_mean(&[&[0.1; 50]]), 0.0);
        assert!(mcse_sd(&[&[0.1; 50]]).is_nan());
        assert_eq!(mcse_quantile(&[&[0.1; 50]], 0.5), 0.0);
        for chains in [&[][..], &[&[1.0, 2.0][..]][..], &[&[f64::NAN; 10][..]][..]] {
            assert!(mcse_mean(chains).is_nan());
            assert!(mcse_sd(chains).is_nan());
            assert!(mcse_quantile(chains, 0.5).is_nan());
        }
        let draws = ar1(0.0, 50, 1);
        assert!(mcse_quantile(&[&draws], 0.0) >= 0.0);
        assert!(mcse_quantile(&[&draws], 1.0) >= 0.0);
        assert!(mcse_quantile(&[&draws], -0.1).is_nan());
    }
}
