//! Learning the marginal of x well beyond where draws will fall: visits come from the fit itself, heated, until fresh ones
//! are predicted.
//!
//! A surrogate that saw one arm of a bent marginal proposes that arm, and all chains agree on it. So the next visits go where
//! a heated fit has mass and nobody has been; what they find is believed, and the fit is made again.

use super::common::{self, Common};
use super::curvature;
use super::enough::Aim;
use super::limits::explore::{
    AGAIN, BATCH_BASE, BATCH_EACH, BATCH_SHARE, CANDIDATES, DEVIATIONS, DEVIATIONS_OF_WEIGHTS,
    FURTHER, LARGE_ERRORS, MORE, MOST_SEARCHES, NOTHING_THERE, PLACES, SEARCHED, START_HEAT,
    WORST_ERROR,
};
use super::moments::Moments;
use super::probe;
use super::start::MOST_SLOW;
use super::walker::Walker;
use crate::chain::exchange::{Exchange, Solo, first_decides};
use crate::error::Error;
use crate::frame::FrameRule;
use crate::linalg::{Factor, farthest, squared_distance};
use crate::slow::surrogate::{Extent, Surrogate, Visit};
use crate::target::Target;
use crate::warmup::tuning::Tuning;

impl Explored {
    /// Whether the shape was learned, though perhaps not so well that fresh visits are predicted.
    pub fn learned(&self) -> bool {
        let [missed, expected] = LARGE_ERRORS;
        // Along one variable visits leave no gaps, and what is expected of a deep valley between two modes matters to nobody.
        let sure = self.start.len() == 1 || self.expected <= expected;
        self.settled || self.error.missed <= missed && sure
    }
}

/// How hot visits are. A normal's draws lie p/2 log units below its mode, give or take the root of that; heated ones lie heat × p/2 below it,
/// which is where so many standard deviations of the others are: far enough to see where they end, and not where nobody comes.
pub(crate) fn heat(p: usize, aim: Aim) -> f64 {
    let deviations = match aim.spares(p) {
        false => DEVIATIONS,
        true => DEVIATIONS_OF_WEIGHTS,
    };
    1.0 + deviations * (2.0 / p as f64).sqrt()
}

/// The fit made again for weights, from more visits.
pub(crate) fn refit(before: &Surrogate, visits: &[Visit], error: f64) -> Option<Surrogate> {
    let p = before.dim();
    let extent = Extent {
        heat: heat(p, Aim::Error(error)),
        ..learned(p, before.is_mixed())
    };
    Surrogate::fit_to(visits, before.centre(), before.factor(), extent)
}

/// About where the heated bulk ends, in log units below the top.
pub(super) fn depth(p: usize) -> f64 {
    heat(p, Aim::Draws) * (0.5 * p as f64 + 2.0)
}

/// The extent of the fit that proposals are made of.
pub(super) fn learned(p: usize, mixed: bool) -> Extent {
    Extent {
        heat: heat(p, Aim::Draws),
        reach: 1.0,
        mixed,
        curved: true,
        thorough: true,
    }
}

/// What exploring has to say of itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Explored {
    /// Where this chain is to begin.
    pub start: Vec<f64>,
    /// Whether the fit predicts fresh visits.
    pub settled: bool,
    /// Its error at the last batch, and that of places where it claims too little alone.
    pub error: Errors,
    /// The error that the fit made of all visits is expected to have.
    pub expected: f64,
}

/// How well fresh visits were predicted: weighted rms in log units, in which the bulk counts most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Errors {
    /// Of all of them.
    pub all: f64,
    /// Of those where more mass was found than predicted: what chains might miss. A claim of mass where there is none costs only rejections.
    pub missed: f64,
}

/// Spends at most `most` slow evaluations, of all chains together; `None` where nothing can be fitted.
pub(super) fn explore<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    aim: Aim,
    mut most: usize,
    common: &mut Common,
    exchange: &mut impl Exchange,
) -> Result<Option<Explored>, Error> {
    let p = walker.x().len();
    let rule = tuning.rule(tuning.main.frame);
    let heat = heat(p, aim);
    let mut near = 0;
    if p <= MOST_SLOW {
        let most = SEARCHED[0].max(SEARCHED[1] * (p + 1) * (p + 2) / 2);
        let (centre, slow) = (&tuning.centre, &tuning.slow);
        let whiten = |x: &[f64]| whitened(x, centre, slow);
        near = walker.keep_spread(most, depth(p), whiten, exchange)?;
    }
    let mut visits = walker.pooled_visits(exchange)?;
    let mut spent = 0;
    if p > MOST_SLOW {
        spent += curvature::improve(walker, tuning, &rule, &mut visits, common, exchange)?;
    }
    let mut explored = Explored {
        start: Vec::new(),
        settled: false,
        error: Errors {
            all: f64::INFINITY,
            missed: f64::INFINITY,
        },
        expected: f64::INFINITY,
    };
    let (mut good, mut searches) = (0, 0);
    // Several parts cost the most to fit: where they were no better, they are tried again when there is more to see.
    let mut mixed_from = 0;
    // And so are coordinates that led to where nothing is.
    let mut curved_from = 0;
    while spent < most && good < aim.in_a_row(p) {
        let least = BATCH_BASE + BATCH_EACH * p;
        // Where a climb came from far below, there are visits that tell of nothing but that.
        let known = if p > MOST_SLOW {
            visits.len()
        } else {
            near + spent
        };
        let size = least.max((BATCH_SHARE * known as f64) as usize);
        let size = size.min(most - spent).max(1);
        let exploring = Extent {
            heat,
            reach: FURTHER,
            mixed: visits.len() >= mixed_from,
            curved: visits.len() >= curved_from,
            thorough: false,
        };
        let fitted = first_decides(exchange, || {
            Surrogate::fit_to(&visits, &tuning.centre, &tuning.slow, exploring)
        })?;
        let in_vain = |fitted: &Surrogate| !fitted.is_mixed() && fitted.wants_parts();
        if exploring.mixed && fitted.as_ref().is_some_and(in_vain) {
            mixed_from = (AGAIN * visits.len() as f64) as usize;
        }
        let points = match &fitted {
            Some(fitted) => next_points(fitted, &visits, heat, size, common),
            None => first_points(tuning, heat, size, common),
        };
        let found = common.visit(walker, &rule, &points, exchange)?;
        spent += points.len();
        if let Some(fitted) = &fitted {
            explored.error = error(fitted, heat, &points, &found);
            // The first fit knows only what the climb has seen near the top: once good, it may be so by chance.
            let counts = aim.in_a_row(p) > 1 || spent > points.len();
            good = if counts && aim.is_reached(explored.error, points.len(), p) {
                good + 1
            } else {
                0
            };
            tuning.centre = fitted.centre().to_vec();
            tuning.slow = fitted.factor().clone();
        }
        common::note(&mut visits, &points, &found);
        if let Some(fitted) = fitted
            .as_ref()
            .filter(|_| explored.error.all > NOTHING_THERE)
        {
            if fitted.is_curved() {
                curved_from = (AGAIN * visits.len() as f64) as usize;
            }
            if let Some(seen) = extent_of(&visits, p) {
                (tuning.centre, tuning.slow) = seen;
            }
        }
        // Settled on what is near: is there anything far?
        if let Some(fitted) = fitted.filter(|_| good == aim.in_a_row(p) && searches < MOST_SEARCHES)
        {
            let (more, cost) =
                probe::far(walker, &fitted, aim, &rule, &mut visits, common, exchange)?;
            spent += cost;
            if more {
                (good, searches) = (0, searches + 1);
                most += MORE;
            }
        }
    }
    explored.settled = good >= aim.in_a_row(p);
    let last = Extent {
        curved: visits.len() >= curved_from,
        heat,
        ..learned(p, visits.len() >= mixed_from)
    };
    let fitted = first_decides(exchange, || {
        Surrogate::fit_to(&visits, &tuning.centre, &tuning.slow, last)
    })?;
    let Some(fitted) = fitted else {
        return Ok(None);
    };
    explored.expected = fitted.quality().error();
    tuning.centre = fitted.centre().to_vec();
    tuning.slow = fitted.factor().clone();
    tuning.scale = 2.38 / (p as f64).sqrt();
    let places = places(&fitted, &visits);
    let mut starts = fitted.heated_draws(START_HEAT, common.chains, &places, &mut common.rng);
    if !explored.learned() {
        starts = nearest_seen(starts, &fitted, &visits);
    }
    tuning.surrogate = Some(fitted);
    linear_through_modes(walker, tuning, exchange)?;
    explored.start.clone_from(&starts[common.index]);
    Ok(Some(explored))
}

/// Where nothing is fitted yet: normal draws about the centre, as hot.
fn first_points(tuning: &Tuning, heat: f64, size: usize, common: &mut Common) -> Vec<Vec<f64>> {
    let p = tuning.centre.len();
    (0..size)
        .map(|_| {
            let noise: Vec<f64> = (0..p).map(|_| heat.sqrt() * common.rng.normal()).collect();
            let mut x = vec![0.0; p];
            tuning.slow.apply(&noise, &mut x);
            x.iter_mut().zip(&tuning.centre).for_each(|(x, c)| *x += c);
            x
        })
        .collect()
}

/// Heated draws of the fit: in turns the one that is furthest from all visits, and any one.
fn next_points(
    fitted: &Surrogate,
    visits: &[Visit],
    heat: f64,
    size: usize,
    common: &mut Common,
) -> Vec<Vec<f64>> {
    let places = places(fitted, visits);
    let draws = fitted.heated_draws(heat, CANDIDATES * size, &places, &mut common.rng);
    let whiten = |x: &[f64]| whitened(x, fitted.centre(), fitted.factor());
    let seen: Vec<Vec<f64>> = visits.iter().map(|visit| whiten(&visit.x)).collect();
    let white: Vec<Vec<f64>> = draws.iter().map(|x| whiten(x)).collect();
    let mut gaps: Vec<f64> = white
        .iter()
        .map(|w| {
            let nearest = seen.iter().map(|v| squared_distance(w, v));
            nearest.fold(f64::INFINITY, f64::min)
        })
        .collect();
    let mut chosen = Vec::with_capacity(size);
    for turn in 0..size {
        let k = if turn % 2 == 0 {
            (0..gaps.len())
                .max_by(|&a, &b| gaps[a].total_cmp(&gaps[b]))
                .unwrap_or(0)
        } else {
            common.rng.index(draws.len())
        };
        chosen.push(draws[k].clone());
        for (gap, w) in gaps.iter_mut().zip(&white) {
            *gap = gap.min(squared_distance(w, &white[k]));
        }
    }
    chosen
}

/// A few visits that are high enough, each the furthest from those before it.
fn places(fitted: &Surrogate, visits: &[Visit]) -> Vec<Vec<f64>> {
    let list: Vec<(Vec<f64>, &Visit)> = high(visits, fitted.dim())
        .map(|visit| (whitened(&visit.x, fitted.centre(), fitted.factor()), visit))
        .collect();
    let white: Vec<Vec<f64>> = list.iter().map(|(w, _)| w.clone()).collect();
    let chosen = farthest(&white, PLACES);
    chosen.into_iter().map(|k| list[k].1.x.clone()).collect()
}

/// The mean of the visits that are high enough and the root of their covariance, `None` where they are too few.
fn extent_of(visits: &[Visit], p: usize) -> Option<(Vec<f64>, Factor)> {
    let seen: Vec<&Visit> = high(visits, p).collect();
    let first = seen.first()?;
    let mut moments = Moments::new(&first.x, &[]);
    seen.iter().for_each(|visit| moments.add(&visit.x, &[]));
    let learned = moments.pool(&mut Solo).ok()?;
    let factor = Factor::from_covariance(&learned.slow, "the covariance of visits").ok()?;
    Some((learned.mean_x, factor))
}

/// The visits that are no further below the best than the heated bulk reaches.
fn high(visits: &[Visit], p: usize) -> impl Iterator<Item = &Visit> {
    let values = visits.iter().map(|visit| visit.log_marginal);
    let top = values.fold(f64::NEG_INFINITY, f64::max);
    let enough = top - depth(p);
    visits
        .iter()
        .filter(move |visit| visit.log_marginal > enough)
}

/// To each place the nearest visit that is high enough, each taken once as long as there are others: a fit that has learned nothing may claim mass
/// where there is none, and a chain that began there would not come back.
fn nearest_seen(starts: Vec<Vec<f64>>, fitted: &Surrogate, visits: &[Visit]) -> Vec<Vec<f64>> {
    let whiten = |x: &[f64]| whitened(x, fitted.centre(), fitted.factor());
    let mut seen: Vec<(Vec<f64>, &Visit)> = high(visits, fitted.dim())
        .map(|visit| (whiten(&visit.x), visit))
        .collect();
    let nearest = |start: Vec<f64>| {
        let w = whiten(&start);
        let gap = |k: &usize| squared_distance(&seen[*k].0, &w);
        let Some(k) = (0..seen.len()).min_by(|a, b| gap(a).total_cmp(&gap(b))) else {
            return start;
        };
        match seen.len() {
            1 => seen[0].1.x.clone(),
            _ => seen.swap_remove(k).1.x.clone(),
        }
    };
    starts.into_iter().map(nearest).collect()
}

fn whitened(x: &[f64], centre: &[f64], factor: &Factor) -> Vec<f64> {
    let mut w: Vec<f64> = x.iter().zip(centre).map(|(x, c)| x - c).collect();
    factor.solve(&mut w);
    w
}

/// How well fresh visits were predicted.
fn error(fitted: &Surrogate, heat: f64, points: &[Vec<f64>], found: &[Option<f64>]) -> Errors {
    let predicted: Vec<f64> = points.iter().map(|x| fitted.log_density(x)).collect();
    let higher = |a: f64, b: &f64| a.max(*b);
    let top = predicted.iter().fold(f64::NEG_INFINITY, higher);
    let (mut sum, mut missed, mut weight) = (0.0, 0.0, 0.0);
    for (predicted, found) in predicted.iter().zip(found) {
        // What is higher, the prediction or the truth, says how much the point matters.
        let found = found.filter(|value| value.is_finite());
        let level = found.map_or(*predicted, |f| f.max(*predicted));
        let counts = ((level - top) / heat).min(0.0).exp();
        let off = found.map_or(-WORST_ERROR, |f| f - predicted);
        let off = off.clamp(-WORST_ERROR, WORST_ERROR);
        sum += counts * off * off;
        missed += counts * off.max(0.0).powi(2);
        weight += counts;
    }
    let rms = |sum: f64| (sum / weight.max(1e-300)).sqrt();
    Errors {
        all: rms(sum),
        missed: rms(missed),
    }
}

/// The linear frame through the modes that were met, those near the top counting most; its width stays.
fn linear_through_modes<T: Target>(
    walker: &Walker<'_, T>,
    tuning: &mut Tuning,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let modes = walker.pooled_modes(exchange)?;
    let Some(surrogate) = &tuning.surrogate else {
        return Ok(());
    };
    let heights: Vec<f64> = modes
        .iter()
        .map(|mode| surrogate.log_density(&mode.x))
        .collect();
    if let Some(linear) = super::start::line_through(
        &modes,
        &heights,
        &tuning.slow,
        tuning.linear.root().as_ref().clone(),
    ) {
        tuning.linear = linear;
    }
    let anchors = tuning
        .anchors
        .spread(&modes, &tuning.base(), &tuning.centre, &tuning.slow);
    tuning.anchors = std::sync::Arc::new(anchors);
    Ok(())
}

/// Whether visits tell the marginal: where only the mode moves, its estimate misses the width of the conditional.
pub(super) fn can_explore(rule: &FrameRule, p: usize) -> bool {
    p > 0 && rule.tells_the_marginal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_where_nobody_was_becomes_the_nearest_visit_with_mass() {
        let visits: Vec<Visit> = (0..40)
            .map(|k| -4.0 + 0.2 * f64::from(k))
            .map(|x| Visit {
                x: vec![x],
                log_marginal: -0.5 * x * x,
            })
            .collect();
        let unit = Factor::diagonal(&[1.0], "x").unwrap();
        let fitted = Surrogate::fit(&visits, &[0.0], &unit).unwrap();
        let far = vec![vec![1e4], vec![1e4], vec![-0.11]];
        let starts: Vec<f64> = nearest_seen(far, &fitted, &visits)
            .iter()
            .map(|x| x[0])
            .collect();
        // Within the heated bulk, 9.6 log units deep, and no visit twice.
        for (start, wanted) in starts.iter().zip([3.8, 3.6, -0.2]) {
            assert!((start - wanted).abs() < 1e-9, "{starts:?}");
        }
    }

    #[test]
    fn the_extent_of_what_was_seen_leaves_out_what_has_no_mass() {
        let near = (-3..=3).map(|k| (f64::from(k), -0.1 * f64::from(k * k)));
        let visits: Vec<Visit> = near
            .chain([(500.0, -1e4), (900.0, f64::NEG_INFINITY)])
            .map(|(x, log_marginal)| Visit {
                x: vec![x],
                log_marginal,
            })
            .collect();
        let (centre, root) = extent_of(&visits, 1).unwrap();
        assert!(centre[0].abs() < 1e-12);
        assert!((root.covariance()[0] - 4.0).abs() < 1e-12);
        assert!(extent_of(&[], 1).is_none());
    }
}
