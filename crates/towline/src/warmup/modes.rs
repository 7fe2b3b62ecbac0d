//! Other modes of y at one and the same x: looked for along its variables, and reached by tempered transitions where these do reach them.

use super::limits::modes::{
    ANYWHERE, APART, EACH_LOG, ENOUGH_CHANGES, FEWEST_HEATS, HEATS, LEAST_SHARE, MOST_CLIMBS,
    MOST_DIRECTIONS, MOST_HEATS, NEGLIGIBLE, OFTEN_ENOUGH, PROBED, SAME_WAY, STEP, TRIED,
};
use super::start;
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::{FastMove, Tempered};
use crate::frame::laplace::{Curvature, Laplace};
use crate::frame::{FrameRule, Linear};
use crate::kernel::{FastOnly, Kernel};
use crate::optimise::surface::clean;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Tuning};

/// What is said where the conditional of y has several modes and nothing goes between them.
const OTHER_MODES: &str = "At one and the same place of the slow parameters the fast ones have several modes, far apart. Moves of the fast parameters \
    hardly go from one to another, so that the modes' shares may be wrong though the chains agree. Do not use these draws as they are: start chains in each \
    mode and compare, or write the model so that the modes are one (order or fix what can be exchanged).";

/// What is said where tempered transitions do.
const TEMPERED: &str = "At one and the same place of the slow parameters the fast ones have several modes, far apart: tempered transitions \
    go between those that warm-up found. See whether the chains agree on the fast parameters.";

/// Looks for other modes of y; where there are any, adds tempered transitions between them to the fast moves, or says that nothing goes there.
pub(super) fn attend<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let d = walker.y().len();
    if d == 0
        || d > start::MOST_FAST
        || matches!(tuning.main.frame, FrameKind::Own | FrameKind::Walls)
    {
        return Ok(());
    }
    // As seen in the frame in which transitions will go.
    let seen = tuning.rule(tuning.main.frame);
    let own: Vec<f64> = walker
        .other_modes(&tuning.rule(FrameKind::Laplace), &seen, rng)?
        .concat();
    let modes: Vec<Vec<f64>> = exchange
        .gather(&own)?
        .iter()
        .flat_map(|theirs| theirs.chunks_exact(d).map(<[f64]>::to_vec))
        .collect();
    if modes.is_empty() {
        return Ok(());
    }
    let hot = transitions(&modes);
    let alone = FastOnly::new(hot.clone(), 1);
    let kernel = Kernel::FastOnly(alone.in_frame(seen.clone()));
    let (mut changes, mut evaluations) = (0.0, 0.0);
    let mut places = modes.clone();
    places.push(vec![0.0; d]);
    let mut at = nearest(&walker.z(&seen), &places);
    for _ in 0..TRIED {
        evaluations += walker.step(&kernel, rng)?.info.fast_evaluations as f64;
        let now = nearest(&walker.z(&seen), &places);
        changes += f64::from(u8::from(distance(&places[now], &places[at]) > APART));
        at = now;
    }
    let all = exchange.gather(&[changes, evaluations])?;
    let sum = |k: usize| all.iter().map(|theirs| theirs[k]).sum::<f64>();
    let tried = (TRIED * all.len()) as f64;
    if sum(0) < ENOUGH_CHANGES.max(OFTEN_ENOUGH * tried) {
        tuning.notes.push(OTHER_MODES.into());
        return Ok(());
    }
    // One in every step, where a step costs as much.
    let price = (sum(1) / tried).max(1.0);
    let share = (tuning.prices.slow / price).clamp(LEAST_SHARE, 1.0);
    let usual = tuning.alone.as_ref().unwrap_or(&tuning.main.inner);
    let parts = match usual {
        FastMove::Mixture(parts) => parts.clone(),
        other => vec![(1.0, other.clone())],
    };
    let total: f64 = parts.iter().map(|part| part.0).sum();
    let times = tuning.extra as f64 + share;
    let mut mixed: Vec<(f64, FastMove)> = parts
        .into_iter()
        .map(|(weight, part)| (tuning.extra as f64 / times * weight / total, part))
        .collect();
    mixed.push((share / times, hot));
    tuning.extra = times.ceil() as usize;
    tuning.alone = Some(FastMove::Mixture(mixed));
    tuning.remarks.push(TEMPERED.into());
    Ok(())
}

/// Transitions hot enough for the furthest of these modes, along the ways to them.
fn transitions(modes: &[Vec<f64>]) -> FastMove {
    let length = |z: &[f64]| z.iter().map(|v| v * v).sum::<f64>().sqrt();
    let furthest = modes.iter().map(|z| length(z)).fold(0.0, f64::max);
    let hottest = (furthest * furthest / 8.0).clamp(HEATS[0], HEATS[1]);
    let count = EACH_LOG * hottest.ln().powi(2);
    let count = count.clamp(FEWEST_HEATS, MOST_HEATS).ceil();
    let heats = (1..=count as usize).map(|k| hottest.powf(k as f64 / count));
    let mut ways: Vec<Vec<f64>> = Vec::new();
    for z in modes {
        let way: Vec<f64> = z.iter().map(|v| v / length(z)).collect();
        let cosine = |other: &Vec<f64>| other.iter().zip(&way).map(|(a, b)| a * b).sum::<f64>();
        if ways.len() < MOST_DIRECTIONS && ways.iter().all(|other| cosine(other).abs() < SAME_WAY) {
            ways.push(way);
        }
    }
    let each = STEP / (modes[0].len() as f64).sqrt();
    FastMove::Tempered(Tempered::new(heats.collect(), [STEP, each], ways))
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    square.sqrt()
}

fn nearest(z: &[f64], places: &[Vec<f64>]) -> usize {
    (0..places.len())
        .min_by(|&a, &b| distance(z, &places[a]).total_cmp(&distance(z, &places[b])))
        .unwrap_or(0)
}

impl<T: Target> Walker<'_, T> {
    /// Other modes of y at the chain's x that are far from the frame's own and not negligible beside it: found in a searched frame,
    /// returned as seen in another. For few fast variables.
    fn other_modes(
        &mut self,
        rule: &FrameRule,
        seen: &FrameRule,
        rng: &mut Rng,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let d = self.state.y.len();
        let FrameRule::Laplace(laplace) = rule else {
            return Ok(Vec::new());
        };
        if laplace.curvature() == Curvature::Own {
            return Ok(Vec::new());
        }
        let mut info = crate::kernel::info::Info::default();
        for rule in [rule, seen] {
            rule.place(self.target, &mut self.state.slow, &mut self.work, &mut info);
        }
        self.spent += info;
        let (frame, shown) = (
            rule.of(&self.state.slow).clone(),
            seen.of(&self.state.slow).clone(),
        );
        let (target, slow) = (self.target, &self.state.slow);
        let (mut z, mut y) = (vec![0.0; d], vec![0.0; d]);
        let scratch = &mut self.work.buffers.scratch;
        let mut evaluations = 0;
        let mut height = |z: &[f64], y: &mut [f64]| {
            frame.to_y(z, y);
            evaluations += 1;
            clean(target.log_density_in(&slow.cache, y, scratch))
        };
        let top = height(&z, &mut y);
        let mut places: Vec<(f64, Vec<f64>)> = Vec::new();
        for k in 0..d {
            for r in PROBED {
                for sign in [-1.0, 1.0] {
                    z[k] = sign * r;
                    let there = height(&z, &mut y);
                    // Far higher than a normal that far out.
                    if there > top - 0.125 * r * r {
                        places.push((there, y.clone()));
                    }
                    z[k] = 0.0;
                }
            }
        }
        places.sort_by(|a, b| b.0.total_cmp(&a.0));
        places.truncate(MOST_CLIMBS);
        for r in &PROBED[1..] {
            for _ in 0..ANYWHERE {
                z.iter_mut().for_each(|v| *v = rng.normal());
                let length = z.iter().map(|v| v * v).sum::<f64>().sqrt();
                z.iter_mut().for_each(|v| *v *= r / length);
                let there = height(&z, &mut y);
                if there > f64::NEG_INFINITY {
                    places.push((there, y.clone()));
                }
            }
        }
        let scratch = &mut self.work.buffers.scratch;
        let main = laplace.find(target, &slow.x, &slow.cache, scratch);
        evaluations += main.evaluations;
        let mut found: Vec<Vec<f64>> = Vec::new();
        let mut known = vec![vec![0.0; d]];
        for (_, place) in &places {
            let p = slow.x.len();
            let root = laplace.linear().root().as_ref().clone();
            let Ok(linear) = Linear::new(slow.x.clone(), place.clone(), vec![0.0; p * d], root)
            else {
                continue;
            };
            let from = Laplace::new(linear, laplace.curvature());
            let other = from.find(target, &slow.x, &slow.cache, scratch);
            evaluations += other.evaluations;
            other.frame.to_y(&vec![0.0; d], &mut y);
            let (mut z, mut spare) = (vec![0.0; d], vec![0.0; d]);
            frame.to_z(&y, &mut z, &mut spare);
            if let (Some(main), Some(other)) = (main.log_marginal, other.log_marginal)
                && known.iter().all(|near| distance(near, &z) > APART)
                && other > main - NEGLIGIBLE
            {
                known.push(z.clone());
                shown.to_z(&y, &mut z, &mut spare);
                found.push(z);
            }
        }
        self.spent.fast_evaluations += evaluations;
        Ok(found)
    }
}
