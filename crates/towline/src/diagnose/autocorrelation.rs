//! Autocovariance and autocorrelation of one chain at every lag, by fast Fourier transform.

use super::moments::mean;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::cell::RefCell;
use std::sync::Arc;

/// The autocovariance of a chain at lags 0, 1, …, N − 1, about its own mean.
///
/// Every lag is divided by N (not N − k): biased towards zero at long lags, but never noisier
/// than the draws allow, and what ArviZ does. NaN throughout if a draw is not finite.
///
/// ```
/// use towline::diagnose::autocovariance;
/// let c = autocovariance(&[1.0, -1.0, 1.0, -1.0]);
/// assert!((c[0] - 1.0).abs() < 1e-12);
/// assert!((c[1] + 0.75).abs() < 1e-12);
/// ```
pub fn autocovariance(draws: &[f64]) -> Vec<f64> {
    autocovariance_about(draws, mean(&[draws]))
}

/// The autocovariance of a chain at lags 0, 1, …, N − 1, about a mean known from elsewhere.
///
/// The mean of a short chain follows the chain, which makes every autocovariance about it too
/// small by the variance of that mean; about the exact mean there is no such bias.
///
/// ```
/// use towline::diagnose::autocovariance_about;
/// let c = autocovariance_about(&[1.0, 1.0, 1.0, 1.0], 0.0);
/// assert!((c[0] - 1.0).abs() < 1e-12);
/// assert!((c[2] - 0.5).abs() < 1e-12);
/// ```
pub fn autocovariance_about(draws: &[f64], mean: f64) -> Vec<f64> {
    let mut sums = Transform::new(draws.len()).lagged_products(draws, mean);
    for sum in &mut sums {
        *sum /= draws.len() as f64;
    }
    sums
}

/// The autocorrelation of a chain at lags 0, 1, …, N − 1: its autocovariance over its variance.
///
/// NaN throughout for draws that are all the same.
///
/// ```
/// use towline::diagnose::autocorrelation;
/// let rho = autocorrelation(&[3.0, 1.0, 3.0, 1.0]);
/// assert_eq!(rho[0], 1.0);
/// assert!((rho[1] + 0.75).abs() < 1e-12);
/// ```
pub fn autocorrelation(draws: &[f64]) -> Vec<f64> {
    let mut covariance = autocovariance(draws);
    let variance = covariance.first().copied().unwrap_or(f64::NAN);
    for c in &mut covariance {
        *c /= variance;
    }
    covariance
}

/// The Fourier transforms for chains of one length, planned once and used for all of them.
pub(super) struct Transform {
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
}

thread_local! {
    /// Planning costs more than transforming; a table of many columns asks for the same lengths again and again.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

impl Transform {
    /// Plans for chains of this many draws.
    pub(super) fn new(count: usize) -> Transform {
        // Padding with as many zeros as draws keeps the end of the chain from meeting its beginning.
        let padded = (2 * count.max(1)).next_power_of_two();
        PLANNER.with_borrow_mut(|planner| Transform {
            forward: planner.plan_fft_forward(padded),
            inverse: planner.plan_fft_inverse(padded),
        })
    }

    /// Σ_i (x_i − centre)(x_{i+k} − centre) for k = 0, 1, …, N − 1.
    pub(super) fn lagged_products(&self, draws: &[f64], centre: f64) -> Vec<f64> {
        let mut series = self.forward.make_input_vec();
        let padded = series.len();
        for (slot, x) in series.iter_mut().zip(draws) {
            *slot = x - centre;
        }
        let mut spectrum = self.forward.make_output_vec();
        let there = self.forward.process(&mut series, &mut spectrum);
        for value in &mut spectrum {
            value.re = value.norm_sqr();
            value.im = 0.0;
        }
        let back = self.inverse.process(&mut spectrum, &mut series);
        if there.is_err() || back.is_err() {
            // Only buffers of the wrong length are refused, and these come from the plan itself.
            return vec![f64::NAN; draws.len()];
        }
        series.truncate(draws.len());
        for value in &mut series {
            *value /= padded as f64;
        }
        series
    }
}

#[cfg(test)]
mod tests {
    use super::super::processes::ar1;
    use super::*;

    #[test]
    fn the_transform_agrees_with_the_sums_it_stands_for() {
        for count in [1, 2, 3, 7, 64, 101] {
            let draws = ar1(0.7, count, 1);
            let by_fft = autocovariance_about(&draws, 0.25);
            for k in 0..count {
                let direct: f64 = (0..count - k)
                    .map(|i| (draws[i] - 0.25) * (draws[i + k] - 0.25))
                    .sum();
                assert!((by_fft[k] - direct / count as f64).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn autocorrelations_of_ar1_are_powers_of_its_coefficient() {
        // 10⁶ draws: the standard error of every lag is below sqrt(19 / 10⁶) = 0.0044.
        let rho = autocorrelation(&ar1(0.9, 1_000_000, 2));
        for k in [1, 2, 5, 10, 20] {
            assert!((rho[k] - 0.9f64.powi(k as i32)).abs() < 4.0 * 0.0044);
        }
    }

    #[test]
    fn draws_without_variance_or_meaning_give_nan() {
        assert!(autocovariance(&[]).is_empty());
        assert!(autocorrelation(&[]).is_empty());
        assert!(autocorrelation(&[2.0; 9]).iter().all(|r| r.is_nan()));
        assert!(
            autocovariance(&[1.0, f64::NAN, 2.0])
                .iter()
                .all(|c| c.is_nan())
        );
        assert!(
            autocovariance(&[1.0, f64::INFINITY])
                .iter()
                .all(|c| c.is_nan())
        );
    }
}
