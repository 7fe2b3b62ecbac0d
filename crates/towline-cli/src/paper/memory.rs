//! How long the chains of a row remember x: autocorrelations and their time, pooled over chains.
//!
//! The engine's `pooled_autocorrelation_time` wants the draws of all chains at once, a quarter of a gigabyte for the
//! longest rows; here each chain is reduced to its autocovariances on the thread that ran it.

use super::result::Estimate;
use towline::diagnose::{RELIABLE_LENGTH, WINDOW_FACTOR, autocovariance_about};

/// The mean of x, known exactly: both distributions are unchanged when all variables change sign.
const MEAN: f64 = 0.0;

/// Chains are transformed in pieces of this many draws, which fit into a processor's cache: several times
/// faster than whole. The few pairs that straddle two pieces are not missed.
const PIECE: usize = 1 << 16;

/// The longest lag kept: forty times the longest autocorrelation time in the paper's tests.
const LONGEST_LAG: usize = 1 << 14;

/// The autocovariances of one chain about the known mean.
#[derive(Debug)]
pub struct Memory {
    length: usize,
    covariances: Vec<f64>,
}

impl Memory {
    /// Of a chain's draws. At every lag it is the mean over the pairs there are, so that short
    /// chains are not biased towards zero.
    pub fn of(x: &[f64]) -> Self {
        // Beyond half the length too few pairs are left to say anything.
        let lags = LONGEST_LAG.min(x.len() / 2) + 1;
        let (mut products, mut pairs) = (vec![0.0; lags], vec![0.0; lags]);
        for piece in x.chunks(PIECE) {
            let covariances = autocovariance_about(piece, MEAN);
            for (lag, value) in covariances.iter().enumerate().take(lags) {
                products[lag] += value * piece.len() as f64;
                pairs[lag] += (piece.len() - lag) as f64;
            }
        }
        Self {
            length: x.len(),
            covariances: products.iter().zip(pairs).map(|(p, n)| p / n).collect(),
        }
    }

    fn variance(&self) -> f64 {
        self.covariances[0]
    }

    /// 1 + 2 Σ ρ_k up to the window, times the variance.
    fn sum(&self, window: usize) -> f64 {
        self.variance() + 2.0 * self.covariances[1..=window].iter().sum::<f64>()
    }
}

/// Autocorrelations at lags 0, 1, …, from all chains together; they must be equally long.
pub fn autocorrelations(chains: &[&Memory]) -> Vec<f64> {
    let mut totals = vec![0.0; chains.first().map_or(0, |chain| chain.covariances.len())];
    for chain in chains {
        for (total, value) in totals.iter_mut().zip(&chain.covariances) {
            *total += value;
        }
    }
    let variance = totals.first().copied().unwrap_or(f64::NAN);
    totals.iter().map(|total| total / variance).collect()
}

/// The autocorrelation time 1 + 2 Σ ρ_k, with a standard error from leaving out each chain in turn.
///
/// The standard error is NaN where the chains are too short to tell: the time may then be far longer.
pub fn time(chains: &[&Memory]) -> Estimate {
    let window = Window::choose(&autocorrelations(chains));
    let sums: Vec<f64> = chains.iter().map(|c| c.sum(window.last)).collect();
    let variances: Vec<f64> = chains.iter().map(|c| c.variance()).collect();
    let draws: usize = chains.iter().map(|chain| chain.length).sum();
    let estimate = Estimate::of_ratio(&sums, &variances);
    if window.closed && draws as f64 >= RELIABLE_LENGTH * estimate.value {
        return estimate;
    }
    Estimate {
        se: f64::NAN,
        ..estimate
    }
}

/// How many lags are added up.
#[derive(Debug, PartialEq)]
struct Window {
    last: usize,
    closed: bool,
}

impl Window {
    /// The shortest sum that is self-consistent (`WINDOW_FACTOR` times as long as the time it gives)
    /// and after which the next pair of autocorrelations is no longer positive.
    ///
    /// The second condition, Geyer's, is for the single-variable updates: nine tenths of their memory is
    /// short, the rest comes from rare long excursions that the first condition alone cuts off.
    fn choose(rho: &[f64]) -> Self {
        let mut time = 1.0;
        for last in 1..rho.len().saturating_sub(2) {
            time += 2.0 * rho[last];
            let long_enough = last as f64 >= WINDOW_FACTOR * time;
            if long_enough && rho[last + 1] + rho[last + 2] <= 0.0 {
                return Self { last, closed: true };
            }
        }
        Self {
            last: rho.len().saturating_sub(1),
            closed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towline::Rng;

    /// x ← φ x + noise, from its stationary distribution: the time is (1 + φ)/(1 − φ).
    fn autoregression(phi: f64, length: usize, stream: u64) -> Vec<f64> {
        let mut rng = Rng::stream(3, stream);
        let mut x = rng.normal();
        let step = |_| {
            x = phi * x + (1.0 - phi * phi).sqrt() * rng.normal();
            x
        };
        (0..length).map(step).collect()
    }

    fn memories(phi: f64, chains: u64, length: usize) -> Vec<Memory> {
        let one = |stream| Memory::of(&autoregression(phi, length, stream));
        (0..chains).map(one).collect()
    }

    #[test]
    fn the_time_of_an_autoregression_is_within_four_standard_errors() {
        for phi in [0.0, 0.5, 0.95] {
            let memories = memories(phi, 40, 20_000);
            let time = time(&memories.iter().collect::<Vec<_>>());
            let exact = (1.0 + phi) / (1.0 - phi);
            assert!((time.value - exact).abs() < 4.0 * time.se, "{time:?}");
            assert!(time.se < 0.03 * exact, "{time:?}");
        }
    }

    #[test]
    fn the_time_agrees_with_the_engines() {
        let draws: Vec<Vec<f64>> = (0..8).map(|k| autoregression(0.9, 50_000, k)).collect();
        let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        let engine = towline::diagnose::pooled_autocorrelation_time(&slices, Some(MEAN));
        let memories: Vec<Memory> = slices.iter().map(|x| Memory::of(x)).collect();
        let ours = time(&memories.iter().collect::<Vec<_>>());
        // The windows may differ by a few lags, no more.
        assert!((ours.value - engine.value).abs() < 0.5 * ours.se);
    }

    #[test]
    fn chains_too_short_to_tell_have_no_standard_error() {
        let memories = memories(0.999, 8, 500);
        assert!(time(&memories.iter().collect::<Vec<_>>()).se.is_nan());
        let one = Memory::of(&[0.3]);
        assert!(time(&[&one]).se.is_nan());
    }

    #[test]
    fn pieces_add_up_to_the_sums_they_stand_for() {
        let x = autoregression(0.9, PIECE + 1000, 0);
        let memory = Memory::of(&x);
        for lag in [0, 1, 500, 5000] {
            let (first, rest) = x.split_at(PIECE);
            let products = |piece: &[f64]| -> f64 {
                let later = piece.iter().skip(lag);
                piece.iter().zip(later).map(|(a, b)| a * b).sum()
            };
            let pairs = (PIECE - lag) + 1000usize.saturating_sub(lag);
            let direct = (products(first) + products(rest)) / pairs as f64;
            assert!((memory.covariances[lag] - direct).abs() < 1e-12);
        }
    }

    #[test]
    fn autocorrelations_begin_at_one_and_decay() {
        let memories = memories(0.9, 20, 20_000);
        let rho = autocorrelations(&memories.iter().collect::<Vec<_>>());
        assert_eq!(rho[0], 1.0);
        // The standard error of each is below sqrt(19 / 400 000) = 0.007.
        assert!((rho[10] - 0.9f64.powi(10)).abs() < 4.0 * 0.007);
    }
}
