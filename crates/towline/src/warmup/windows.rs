//! The windows between the search and the draws: scales and covariances learned by walking, and the last one, in which what was chosen is checked.

use super::limits::stages::{BELIEF, DISTRUSTED, MANY_TIMES, SAFE_EVERY, STEPS_PER_DRAW};
use super::moments::{Learned, Moments, shrunk};
use super::tuning::{FrameKind, Tuning};
use super::walker::Walker;
use super::{modes, start};
use crate::chain::exchange::Exchange;
use crate::chain::health::AilmentKind;
use crate::error::Error;
use crate::frame::Linear;
use crate::random::Rng;
use crate::target::Target;

/// The best share of accepted random-walk proposals: 0.44 in one dimension, 0.234 in many (Roberts,
/// Gelman and Gilks 1997).
fn best_acceptance(slow_dim: usize) -> f64 {
    0.234 + 0.206 / slow_dim.max(1) as f64
}

/// One window: draws with a scale that adapts, then new covariances and a new linear frame.
///
/// It has `steps` steps, or a [`MANY_TIMES`]th of them where these show that Laplace's estimate misses little.
pub(super) fn learn<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    // The walk alone adapts its scale; where the marginal was explored, every other step goes by what was learned.
    let mut walk = tuning.clone();
    walk.surrogate = None;
    let mut kernel = walk.kernel()?;
    let surrogate = tuning.surrogate.clone();
    let learned = match &surrogate {
        Some(surrogate) => Some((
            surrogate,
            tuning.learned_drag(surrogate)?,
            tuning.extra_moves(),
        )),
        None => None,
    };
    let best = best_acceptance(walker.x().len());
    // About what is the same in all chains.
    let fresh = || Moments::new(&tuning.centre, tuning.linear.centre());
    let mut moments = fresh();
    let mut log_scale = tuning.scale.ln();
    // Where it may end early.
    let looks = walker.may_suffice(tuning);
    let few = match looks {
        true => steps.div_ceil(MANY_TIMES),
        false => steps,
    };
    for step in 0..steps {
        if step == few && walker.estimate_suffices(exchange)? {
            break;
        }
        if step == steps.div_ceil(3) && few < steps {
            moments = fresh();
        }
        let by_fit = learned.as_ref().filter(|_| step % 2 == 1);
        let taken = match by_fit {
            Some((surrogate, drag, extra)) => {
                let taken = match looks {
                    true => walker.cross(surrogate, drag, rng)?,
                    false => walker.step(drag, rng)?,
                };
                walker.step(extra, rng)?;
                taken
            }
            None => walker.step(&kernel, rng)?,
        };
        if walker.first_half_forgotten(step, few) {
            moments.add(walker.x(), walker.y());
        }
        if by_fit.is_some() {
            continue;
        }
        // Robbins and Monro, with a gain that falls slowly: a window is short.
        log_scale += (taken.acceptance - best) / (3.0 + step as f64).powf(0.6);
        if step % 5 == 4 {
            walk.scale = log_scale.exp();
            kernel = walk.kernel()?;
        }
    }
    let scales = exchange.gather(&[log_scale])?;
    tuning.scale = (scales.iter().map(|s| s[0]).sum::<f64>() / scales.len() as f64).exp();
    absorb(tuning, &moments.pool(exchange)?);
    Ok(())
}

/// New covariances, and the linear frame through the draws.
fn absorb(tuning: &mut Tuning, learned: &Learned) {
    let (p, d) = (learned.mean_x.len() as f64, learned.mean_y.len() as f64);
    let worth = learned.count / STEPS_PER_DRAW;
    let drawn = shrunk(
        &learned.slow,
        worth,
        &tuning.slow,
        BELIEF * (p + 2.0),
        "the slow covariance",
    );
    if d > 0.0 {
        let slope = learned.slope(&drawn);
        let residual = learned.residual(&slope);
        let root = shrunk(
            &residual,
            worth,
            tuning.linear.root(),
            BELIEF * (d + 2.0),
            "the fast covariance",
        );
        let (x, y) = (learned.mean_x.clone(), learned.mean_y.clone());
        if let Ok(linear) = Linear::new(x, y, slope, root)
            && linear.is_finite()
        {
            tuning.linear = linear;
        }
    }
    // Where the marginal was explored, its covariance is known better than from a short chain.
    if p > 0.0 && tuning.surrogate.is_none() {
        tuning.slow = drawn;
        tuning.centre.clone_from(&learned.mean_x);
    }
}

/// Without slow variables: the covariance of y, by fast moves.
pub(super) fn learn_fast_alone<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    tuning.extra = 5;
    let kernel = tuning.kernel()?;
    let mut moments = Moments::new(&[], walker.y());
    moments.set_reference(&[], tuning.linear.centre());
    for _ in 0..steps {
        walker.step(&kernel, rng)?;
        moments.add(&[], walker.y());
    }
    absorb(tuning, &moments.pool(exchange)?);
    Ok(())
}

/// What was chosen, at work: the scale settles, the surrogate is fitted to all visits, frames are checked.
pub(super) fn last_window<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let kernel = tuning.kernel()?;
    match &tuning.surrogate {
        Some(surrogate) if walker.y().len() > start::MOST_FAST => {
            let (learned, extra) = (tuning.learned_drag(surrogate)?, tuning.extra_moves());
            for step in 0..steps {
                if step % SAFE_EVERY == 0 {
                    walker.step(&kernel, rng)?;
                } else {
                    walker.cross(surrogate, &learned, rng)?;
                    walker.step(&extra, rng)?;
                }
            }
        }
        _ => {
            for _ in 0..steps {
                walker.step(&kernel, rng)?;
            }
        }
    }
    if tuning.shares[0] > 0.0
        && let Some(surrogate) = walker.surrogate(tuning, exchange)?
    {
        tuning.surrogate = Some(surrogate);
    }
    let mut health = tuning.frame_health();
    for theirs in exchange.gather(&walker.health.numbers())? {
        health.absorb(&theirs);
    }
    let ailments = health.ailments();
    if ailments.iter().any(|a| a.kind == AilmentKind::Shut) {
        // A frame that shuts a region out cannot be trusted with the work.
        let [learned, framed, linear] = DISTRUSTED;
        tuning.shares = match tuning.main.frame {
            FrameKind::Linear => [learned, linear, framed],
            _ => [learned, framed, linear],
        };
    }
    modes::attend(walker, tuning, rng, exchange)?;
    // Searches that fail are production's to report: draws are right all the same.
    let shut = ailments.iter().filter(|a| a.kind == AilmentKind::Shut);
    tuning.notes.extend(shut.map(ToString::to_string));
    Ok(())
}
