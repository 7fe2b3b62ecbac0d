//! What evaluations cost beside each other: measured once, early, and rounded so coarsely that noise cannot decide.

use super::Cost;
use super::limits::prices::{
    COARSE, DEFAULT_OWN_RATIO, DEFAULT_RATIO, FINE_CALLS, LEAST_RATIO, MEDIUM_CALLS,
};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::instant::Instant;
use crate::kernel::info::Info;
use crate::target::{Scratch, Target};
use serde::{Deserialize, Serialize};

/// Prices in fast evaluations: from here on warm-up counts evaluations, and the same prices give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Prices {
    /// A slow evaluation, with its frame where the target finds that by itself.
    pub slow: f64,
    /// The medium computation, and a fast evaluation that uses its cache, where there are more than two speeds and these were
    /// measured.
    pub nested: Option<[f64; 2]>,
    /// The ratio that the clock gave, before it was rounded; nothing where the user gave one.
    pub measured: Option<f64>,
}

impl Prices {
    /// Given by the user.
    pub(crate) fn given(ratio: f64) -> Self {
        Self {
            slow: ratio,
            nested: None,
            measured: None,
        }
    }

    /// What steps cost whose inner moves are no nested drags.
    pub(crate) fn of(&self, info: &Info) -> f64 {
        self.slow * info.slow_evaluations as f64 + info.fast_evaluations as f64
    }

    /// What steps cost whose inner moves are nested drags: fast evaluations use refined caches.
    pub(crate) fn of_nested(&self, info: &Info) -> f64 {
        let [medium, fine] = self.nested.unwrap_or([0.0, 1.0]);
        self.slow * info.slow_evaluations as f64
            + medium * info.medium_evaluations as f64
            + fine * info.fast_evaluations as f64
    }
}

/// Seconds that evaluations took, as they were made anyway.
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    slow: Vec<f64>,
    fast: Vec<f64>,
    nested: Option<[f64; 2]>,
}

impl Clock {
    /// Notes a slow evaluation.
    pub fn slow(&mut self, seconds: f64) {
        self.slow.push(seconds);
    }

    /// Notes so many fast evaluations.
    pub fn fast(&mut self, seconds: f64, evaluations: u64) {
        if evaluations > 0 {
            self.fast.push(seconds / evaluations as f64);
        }
    }

    /// Adds to the last slow evaluation what belongs to it: the search for a target's own frame.
    pub fn search(&mut self, seconds: f64) {
        if let Some(last) = self.slow.last_mut() {
            *last += seconds;
        }
    }

    /// Times the medium computation and what it saves.
    pub fn refined<T: Target>(
        &mut self,
        target: &T,
        cache: &T::Cache,
        y: &[f64],
        scratch: &mut Scratch,
    ) {
        let Some(&head) = target.blocks().first().filter(|&&head| head < y.len()) else {
            return;
        };
        let (mut medium, mut fine) = (Vec::new(), Vec::new());
        for _ in 0..MEDIUM_CALLS {
            let begun = Instant::now();
            let Ok(Some(refined)) = target.refine(cache, &y[..head]) else {
                return;
            };
            medium.push(begun.elapsed().as_secs_f64());
            let begun = Instant::now();
            for _ in 0..FINE_CALLS {
                std::hint::black_box(target.log_density_in(&refined, y, scratch));
            }
            fine.push(begun.elapsed().as_secs_f64() / FINE_CALLS as f64);
        }
        self.nested = Some([median(medium), median(fine)]);
    }

    /// What all chains agree on: the median of their medians, rounded.
    pub fn agree(
        self,
        cost: Cost,
        own_frame: bool,
        exchange: &mut impl Exchange,
    ) -> Result<Prices, Error> {
        let [medium, fine] = self.nested.unwrap_or([f64::NAN; 2]);
        let mine = [median(self.slow), median(self.fast), medium, fine];
        let all = exchange.gather(&mine)?;
        if let Cost::Ratio(ratio) = cost {
            return Ok(Prices::given(ratio));
        }
        let common = |k: usize| median(all.iter().map(|theirs| theirs[k]).collect());
        let (slow, fast) = (common(0), common(1));
        let default = if own_frame {
            DEFAULT_OWN_RATIO
        } else {
            DEFAULT_RATIO
        };
        let nested = [common(2), common(3)].map(|seconds| decade(seconds / fast));
        Ok(Prices {
            slow: rounded(slow / fast, default),
            nested: nested.iter().all(|v| v.is_finite()).then_some(nested),
            measured: Some(slow / fast).filter(|ratio| ratio.is_finite()),
        })
    }
}

/// The default times the power of [`COARSE`] that is nearest.
fn rounded(ratio: f64, default: f64) -> f64 {
    if !(ratio.is_finite() && ratio > 0.0) {
        return default;
    }
    let power = ((ratio / default).ln() / COARSE.ln()).round();
    (default * COARSE.powi(power as i32)).max(LEAST_RATIO)
}

/// The nearest power of ten.
fn decade(ratio: f64) -> f64 {
    10f64.powf(ratio.log10().round())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.retain(|v| v.is_finite());
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        len => 0.5 * (values[(len - 1) / 2] + values[len / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::exchange::Solo;

    fn clock(slow: &[f64], fast: &[f64]) -> Clock {
        Clock {
            slow: slow.to_vec(),
            fast: fast.to_vec(),
            nested: None,
        }
    }

    #[test]
    fn a_default_is_kept_unless_the_clock_contradicts_it_by_an_order_of_magnitude() {
        for (ratio, kept) in [
            (150.0, 1e3),
            (1e3, 1e3),
            (9e3, 1e3),
            (90.0, 10.0),
            (1.5, 10.0),
            (2e4, 1e5),
            (0.02, LEAST_RATIO),
        ] {
            let prices = clock(&[ratio], &[1.0])
                .agree(Cost::Measured, false, &mut Solo)
                .unwrap();
            assert!(
                (prices.slow / kept - 1.0).abs() < 1e-9,
                "{ratio}: {}",
                prices.slow
            );
            assert_eq!(prices.measured, Some(ratio));
        }
    }

    #[test]
    fn interruptions_do_not_decide() {
        // A third of the evaluations is interrupted for a thousand times as long.
        let slow = [2e-3, 2e-3, 2.0, 2e-3, 2e-3, 2.0];
        let fast = [2e-6, 2e-6, 2e-6, 2e-3, 2e-6];
        let prices = clock(&slow, &fast).agree(Cost::Measured, false, &mut Solo);
        assert_eq!(prices.unwrap().slow, 1e3);
    }

    #[test]
    fn without_a_measurement_the_default_stands_and_a_given_ratio_is_kept() {
        let none = clock(&[], &[])
            .agree(Cost::Measured, true, &mut Solo)
            .unwrap();
        assert_eq!((none.slow, none.measured), (DEFAULT_OWN_RATIO, None));
        let given = clock(&[1.0], &[1.0]).agree(Cost::Ratio(7.0), false, &mut Solo);
        assert_eq!(given.unwrap(), Prices::given(7.0));
    }
}
