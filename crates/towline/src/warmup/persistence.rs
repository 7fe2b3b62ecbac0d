//! Whether a setting does over many steps what its single steps promise: what held a chain back may be y.

use super::limits::persistence::{FORGOTTEN, LAGS, LONGEST, MOST_WATCHED, TIMES};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Trial, Tuning};
use std::collections::VecDeque;

/// The effective draws per step of `trial`, seen in a walk of at most `steps` steps and at most what was promised.
///
/// A single step tells how far x goes while y stands still (in the frame). Where x and y hold each other, as in a frame that
/// does not fit, x goes to and fro in a region that moves only as y does: in the long run far less than it seems.
pub(super) fn kept<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    trial: &Trial,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<f64, Error> {
    let wanted = (TIMES / trial.effective.max(1e-6)).ceil() as usize;
    let lag = wanted.clamp(1, (steps.min(LONGEST) / LAGS).max(1));
    let mut tuning = tuning.clone();
    (tuning.main.frame, tuning.main.n) = (trial.frame, trial.n);
    if trial.frame == FrameKind::Linear {
        tuning.main.inner = tuning.safe.inner.clone();
    }
    tuning.extra = 1;
    let kernel = tuning.kernel()?;
    let seen = tuning.rule(FrameKind::Linear);
    let every = walker.y().len().div_ceil(MOST_WATCHED).max(1);
    let mut places: VecDeque<[Vec<f64>; 2]> = VecDeque::with_capacity(lag + 1);
    // What it has gone between t and t + lag, in x and in y, beside twice the variance.
    let mut gone = [0.0; 3];
    for _ in 0..LAGS * lag {
        walker.step(&kernel, rng)?;
        let mut x: Vec<f64> = walker
            .x()
            .iter()
            .zip(&tuning.centre)
            .map(|(x, m)| x - m)
            .collect();
        tuning.slow.solve(&mut x);
        let now = [x, walker.z(&seen).into_iter().step_by(every).collect()];
        if places.len() == lag
            && let Some(then) = places.pop_front()
        {
            gone[0] += apart(&now[0], &then[0]);
            gone[1] += apart(&now[1], &then[1]);
            gone[2] += 1.0;
        }
        places.push_back(now);
    }
    let all = exchange.gather(&gone)?;
    let sum = |k: usize| all.iter().map(|theirs| theirs[k]).sum::<f64>();
    let least = (sum(0) / sum(2)).min(sum(1) / sum(2));
    if least >= FORGOTTEN {
        return Ok(trial.effective);
    }
    // As if correlations fell exponentially, to what is left at this lag.
    let rate = -(1.0 - least.max(1e-9)).ln() / lag as f64;
    Ok(trial.effective.min(0.5 * rate))
}

/// Half the squared distance per variable: one, on average, for independent draws of unit variance.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let sum: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    0.5 * sum / a.len().max(1) as f64
}
