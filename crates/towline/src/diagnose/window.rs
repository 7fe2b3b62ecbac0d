//! How many autocorrelations to add up: enough to miss nothing, few enough not to add noise.

/// The window is at least this many autocorrelation times long.
///
/// What a single exponential loses beyond the window is exp(−2 × this): 0.25 %. In Sokal's
/// convention (his time is half of ours) this is the usual c = 6. It is only a floor:
/// the sum goes on for as long as pairs of autocorrelations stay positive (Geyer's rule).
pub const WINDOW_FACTOR: f64 = 3.0;

/// Where the sum of autocorrelations stops.
///
/// Two rules are combined, and the longer one wins.
///
/// - Sokal's: the smallest M with M ≥ [`WINDOW_FACTOR`] · τ(M). Our τ(M) here is the larger of
///   1 + 2Σρ_k and the same for every second draw (in steps), because an antithetic
///   chain has a small time and yet a long memory, which only even lags show.
/// - Geyer's initial positive sequence: while ρ_2m + ρ_2m+1 > 0, as it must be in a reversible
///   chain, there is something left to add.
///
/// Measured on processes with known times, as bias of the time in per cent ± standard deviation,
/// with N = 1000 τ draws (5000 for φ = −0.5) and a mean estimated from them:
///
/// | process | Sokal, factor 3 | Sokal, factor 5 | Geyer, monotone | both (this) |
/// |---|---|---|---|---|
/// | independent draws      |   0 ± 17 |   0 ± 21 | +5 ± 11 |  +2 ± 18 |
/// | AR(1), φ = 0.5         |   0 ± 10 |  +1 ± 14 | +2 ± 9  |  +2 ± 13 |
/// | AR(1), φ = 0.9         |   0 ± 9  |  +2 ± 13 | +1 ± 9  |  +3 ± 13 |
/// | AR(1), φ = −0.5        |  −1 ± 11 |  −1 ± 14 | +1 ± 10 |   0 ± 12 |
/// | two speeds, 0.5 and 0.99 | **−48** ± 9 | **−15** ± 14 | −8 ± 16 | +2 ± 22 |
///
/// The last row decides. It is what a chain looks like that moves quickly within a region and
/// slowly between regions; Sokal's rule alone stops at the quick part, its bias does not go away
/// with more draws (−48 and −15 at 4000 τ too), and its error bar does not cover it. At
/// N = 200 τ the four columns of that row are −47, −14, −21 and 0. We would rather be noisy,
/// and say how noisy, than wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    /// The last lag that counts.
    pub(super) last: usize,
    /// 1 + 2Σρ_k up to there.
    pub(super) sum: f64,
    /// The length of the chain's memory, in steps: the larger of the two times above.
    pub(super) memory: f64,
    /// Whether both rules said stop before the lags ran out.
    pub(super) closed: bool,
}

impl Window {
    /// Chooses the window from the autocorrelations at lags 0, 1, 2, …
    pub(super) fn choose(rho: &[f64]) -> Window {
        let mut sum = 1.0;
        let mut every_second = 2.0;
        let mut self_consistent = false;
        let mut positive = true;
        let mut last = 0;
        for lag in 1..rho.len() {
            // Lags 2m and 2m + 1 are a pair: at each even lag ask whether its pair still counts.
            // (At lag 1 the pair is ρ_0 + ρ_1, which is positive in all but a pathological chain.)
            if lag % 2 == 0 && positive {
                let partner = rho.get(lag + 1).copied().unwrap_or(0.0);
                positive = rho[lag] + partner > 0.0;
            }
            if self_consistent && !positive {
                break;
            }
            sum += 2.0 * rho[lag];
            if lag % 2 == 0 {
                every_second += 4.0 * rho[lag];
            }
            last = lag;
            self_consistent |= lag as f64 >= WINDOW_FACTOR * sum.max(every_second);
        }
        Window {
            last,
            sum,
            memory: sum.max(every_second),
            closed: self_consistent && !positive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn powers(phi: f64, count: i32) -> Vec<f64> {
        (0..count).map(|k| phi.powi(k)).collect()
    }

    #[test]
    fn exact_autocorrelations_give_the_exact_time() {
        for phi in [0.0, 0.5, 0.9, 0.99, -0.5, -0.9] {
            let mut rho = powers(phi, 20_000);
            // Exact powers stay positive until they underflow: end them where noise would.
            rho.iter_mut()
                .filter(|r| r.abs() < 1e-9)
                .for_each(|r| *r = 0.0);
            let window = Window::choose(&rho);
            let exact = (1.0 + phi) / (1.0 - phi);
            assert!(window.closed);
            assert!((window.sum - exact).abs() < 1e-6, "{phi}: {window:?}");
        }
    }

    #[test]
    fn the_window_is_at_least_as_long_as_its_factor_says() {
        let window = Window::choose(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        // Independent draws: the time is 1, that of every second draw 2 steps.
        assert_eq!((window.last, window.sum, window.memory), (6, 1.0, 2.0));
    }

    #[test]
    fn lags_that_run_out_are_noticed() {
        assert!(!Window::choose(&powers(0.99, 50)).closed);
        assert!(!Window::choose(&[1.0]).closed);
        assert!(!Window::choose(&[]).closed);
    }
}
