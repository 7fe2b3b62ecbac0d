//! How many fast-only moves follow each slow one: until y forgets as fast as x does, as long as that is worth its cost.

use super::enough::Aim;
use super::limits::extra::{
    AS_FAST_AS_X, BATCHES, FEWEST, MOST, MOST_EXTRA, MOST_LEFT, MOST_WATCHED, NEARLY_ALL, PLACES,
    TIMES, WORTH_SLOW,
};
use super::walker::Walker;
use super::{explore, inner};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::Tuning;

/// The number of moves of most worth: `effective` are the draws of x that a step is worth, `cost` is its price without these moves.
///
/// The moves are made at the chains' x and further out; the place and the variable of y or z that remember longest count: a mean over all of them,
/// by which inner moves are chosen, does not see the one that is held by the others.
pub(super) fn choose<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    effective: f64,
    cost: f64,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<usize, Error> {
    let price = inner::price_alone(walker, tuning, rng, exchange)?;
    let affordable = (WORTH_SLOW * tuning.prices.slow / price) as usize;
    if affordable < FEWEST {
        return Ok(1);
    }
    let most = affordable.min(MOST);
    let time = longest_memory(walker, tuning, most, rng, exchange)?;
    let here = most_worth(time, effective, cost, price);
    let Some(surrogate) = &tuning.surrogate else {
        return Ok(here);
    };
    // A conditional may be narrow, or of another shape, where few draws come: if y hardly moved there, the tails of y would be missed and nothing would show it.
    let heat = explore::heat(walker.x().len(), Aim::Draws);
    let mut longest = 1.0f64;
    for out in surrogate.heated_draws(heat, PLACES, &[], rng) {
        let before = walker.restart(&tuning.rule(tuning.main.frame), &out, rng)?;
        longest = longest.max(longest_memory(walker, tuning, most, rng, exchange)?);
        walker.go_back(before);
    }
    let further = most_worth(longest, effective, cost, price).min((cost / price) as usize);
    Ok(here.max(further))
}

/// The longest autocorrelation time of y and z under single fast-only moves at the chains' places, of all chains.
fn longest_memory<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    most: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<f64, Error> {
    let one = Tuning {
        extra: 1,
        ..tuning.clone()
    };
    let (kernel, rule) = (one.extra_moves(), one.rule(one.main.frame));
    let every = walker.y().len().div_ceil(MOST_WATCHED).max(1);
    let mut series: Vec<Vec<f64>> = Vec::new();
    let mut goal = FEWEST;
    loop {
        while series.len() < goal {
            walker.step(&kernel, rng)?;
            let mut now: Vec<f64> = walker.z(&rule).into_iter().step_by(every).collect();
            now.extend(walker.y().iter().step_by(every));
            series.push(now);
        }
        let mine: Vec<f64> = (0..series[0].len())
            .map(|k| time_of(series.iter().map(|row| row[k])))
            .collect();
        let all = exchange.gather(&mine)?;
        let longest = all.iter().flatten().copied().fold(1.0, f64::max);
        if goal as f64 >= TIMES * longest || 2 * goal > most {
            return Ok(longest);
        }
        goal *= 2;
    }
}

/// An autocorrelation time by the means of batches, 1 where nothing moves.
fn time_of(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let size = values.len() / BATCHES;
    let count = (size * BATCHES) as f64;
    let values: Vec<f64> = values.take(size * BATCHES).collect();
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    let of_means = values
        .chunks_exact(size)
        .map(|batch| (batch.iter().sum::<f64>() / size as f64 - mean).powi(2))
        .sum::<f64>()
        / (BATCHES - 1) as f64;
    let left = of_means / variance;
    if left.is_finite() {
        (size as f64 * times_of_batches(left)).max(1.0)
    } else {
        1.0
    }
}

/// The autocorrelation time, in batches, at which their means have this share of the variance, if correlations fall exponentially.
///
/// Of long batches it is that share itself; the means of batches that are short beside it have nearly all of the variance, however long it is.
fn times_of_batches(left: f64) -> f64 {
    // A batch is `u` half times long.
    let share = |u: f64| 2.0 / u * (1.0 + (-u).exp_m1() / u);
    let left = left.min(MOST_LEFT);
    let (mut short, mut long) = (1e-3, (4.0 / left).max(1e-2));
    for _ in 0..60 {
        let middle = 0.5 * (short + long);
        if share(middle) > left {
            short = middle;
        } else {
            long = middle;
        }
    }
    2.0 / long
}

/// Draws of y that k moves are worth, beside those of x, per cost: the k with the most.
fn most_worth(time: f64, effective: f64, cost: f64, price: f64) -> usize {
    // What one move leaves of a correlation that falls exponentially.
    let left = (time - 1.0) / (time + 1.0);
    let enough = (AS_FAST_AS_X * effective).min(NEARLY_ALL);
    let worth = |k: usize| {
        let left = left.powi(k as i32);
        ((1.0 - left) / (1.0 + left)).min(enough) / (cost + price * k as f64)
    };
    let (mut best, mut k) = (1, 1);
    while k < MOST_EXTRA {
        if worth(k) > worth(best) {
            best = k;
        }
        k = (k + 1).max(k + k / 16);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_memory_is_seen_in_the_means_of_batches() {
        let mut rng = Rng::stream(1, 0);
        for time in [1.0, 9.0, 39.0] {
            let keep: f64 = (time - 1.0) / (time + 1.0);
            let mut value = 0.0;
            let values: Vec<f64> = (0..64 * 400)
                .map(|_| {
                    value = keep * value + (1.0 - keep * keep).sqrt() * rng.normal();
                    value
                })
                .collect();
            let found = time_of(values.into_iter());
            // The variance of 32 batches is known to a quarter of itself.
            assert!((found / time).ln().abs() < 1.0, "{found} for {time}");
        }
        assert_eq!(time_of(vec![2.0; 64].into_iter()), 1.0);
    }

    #[test]
    fn batches_shorter_than_the_memory_show_it_too() {
        // Batches of 16 where it is 60 steps: their means have three quarters of the variance, which alone would say 13.
        let keep: f64 = 59.0 / 61.0;
        let mut logs = Vec::new();
        for replicate in 0..40 {
            let mut rng = Rng::stream(2, replicate);
            let mut value = rng.normal();
            let values: Vec<f64> = (0..BATCHES * 16)
                .map(|_| {
                    value = keep * value + (1.0 - keep * keep).sqrt() * rng.normal();
                    value
                })
                .collect();
            logs.push(time_of(values.into_iter()).ln());
        }
        logs.sort_by(f64::total_cmp);
        let median = logs[20].exp();
        assert!((40.0..90.0).contains(&median), "{median}");
        // Exactly, where there is no chance in it.
        let share: f64 = 2.0 / 3.0 * (1.0 + (-3f64).exp_m1() / 3.0);
        assert!((times_of_batches(share) - 2.0 / 3.0).abs() < 1e-9);
        assert!((times_of_batches(0.01) - 0.01).abs() < 1e-4);
    }

    #[test]
    fn moves_are_made_until_y_no_longer_limits_where_they_are_cheap_and_not_where_they_are_dear() {
        let cheap = most_worth(50.0, 0.6, 5000.0, 3.0);
        // After k moves a correlation of (49/51)^k is left: 0.05 of it after 75.
        assert!((60..=90).contains(&cheap), "{cheap}");
        let dear = most_worth(50.0, 0.6, 50.0, 3.0);
        assert!(dear < 45, "{dear}");
        assert_eq!(most_worth(1.0, 0.6, 5000.0, 3.0), 1);
    }
}
