//! From a start to the bulk of the marginal: widths, then the mode of the estimated marginal of x.

mod coupling;
mod line;
mod look;
mod recent;
mod unknown;
mod walls;

use super::known;
use super::limits::start::{FROM_AFAR, MOST_CLIMBS, STILL_GAINS, WALLED};
pub(super) use super::limits::start::{MOST_FAST, MOST_SLOW};
use super::looks;
use super::prices::Clock;
use crate::error::Error;
use crate::frame::Linear;
use crate::frame::anchors::Mode;
use crate::frame::laplace::{Curvature, Laplace};
use crate::instant::Instant;
use crate::kernel::info::Info;
use crate::kernel::state::{Sighting, prepare};
use crate::linalg::Factor;
use crate::optimise::coordinate::feel;
use crate::optimise::lbfgs::ascend;
use crate::optimise::newton::climb_with;
use crate::optimise::surface::{FORETOLD, Surface};
use crate::optimise::widths::{MOST_TRIALS, first_places, scales};
use crate::target::{Scratch, Target};
pub(super) use line::line_through;
use look::Seen;
use recent::Recent;
pub(super) use unknown::{Known, search_the_unknown};

/// Where a chain may begin, and how wide the target is there.
pub(super) struct Found {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Root of the covariance of x, as the curvature of the marginal gives it.
    pub slow: Factor,
    /// The linear frame through the modes found on the way.
    pub linear: Linear,
    pub curvature: Curvature,
    pub visits: Vec<Sighting>,
    pub spent: Info,
    /// The estimated log marginal at x.
    pub height: f64,
    /// What evaluations took.
    pub clock: Clock,
}

/// Climbs from (x, y) to the top of the estimated marginal of x, with at most `budget` slow evaluations, until a parabola has `foretold` the
/// height to so many log units; in few of them where the root of a covariance that others have found suits.
pub(super) fn search<T: Target>(
    target: &T,
    x: &[f64],
    y: &[f64],
    budget: usize,
    foretold: f64,
    likely: Option<&Factor>,
) -> Result<Found, Error> {
    let told = target
        .slow_covariance()
        .map(|c| Factor::from_covariance(c, "the covariance of the slow parameters"))
        .transpose()?;
    let known = told.as_ref().or(likely);
    // Where a climb begins at once, it first looks for widths, at places that are known now.
    let then = match known {
        None => first_places(x),
        Some(_) => Vec::new(),
    };
    let mut marginal = Marginal::new(target, x, y, budget, &then)?;
    marginal.foretold = foretold;
    if let Some(factor) = known {
        if factor.dim() == x.len() && known::climb(&mut marginal, x, factor) {
            return found(marginal, Some(factor.clone()), x.len());
        }
        // The covariance was another's: the search has all it would have had.
        marginal.budget += marginal.spent.slow_evaluations as usize;
    }
    if x.is_empty() {
        return found(marginal, None, 0);
    }
    let slow = climbs(&mut marginal, x, budget);
    found(marginal, slow, x.len())
}

/// Climbs, each from the best place of the one before, until little is gained; the covariance that the last of them told.
fn climbs<T: Target>(marginal: &mut Marginal<'_, T>, x: &[f64], budget: usize) -> Option<Factor> {
    let (mut from, mut slow) = (x.to_vec(), None);
    for _ in 0..MOST_CLIMBS {
        let before = marginal.height(&from);
        let (arrived, covariance) = climb_from(marginal, &from, before);
        slow = covariance.or(slow);
        // Widths felt far down are those of a cliff: a climb in their units may spend all it has on the way, or take a slope, over steps so
        // small, for a top.
        let gained = marginal.best.height - before;
        let settled = gained < STILL_GAINS || arrived && gained < FROM_AFAR;
        if settled || marginal.has_returned() {
            break;
        }
        from.clone_from(&marginal.best.x);
        marginal.budget = marginal.spent.slow_evaluations as usize + budget;
    }
    slow
}

/// A climb in units of the widths at its start: whether it came to a top, and the covariance there, where it tells one.
fn climb_from<T: Target>(
    marginal: &mut Marginal<'_, T>,
    from: &[f64],
    height: f64,
) -> (bool, Option<Factor>) {
    let steps = scales(marginal, from, height);
    let mut scaled = Scaled {
        marginal,
        origin: from.to_vec(),
        steps,
    };
    let (origin, ones) = (vec![0.0; from.len()], vec![1.0; from.len()]);
    if from.len() > MOST_SLOW {
        return (ascend(&mut scaled, &origin, 1.0).is_some(), None);
    }
    match climb_with(&mut scaled, &origin, &ones, 1.0) {
        Some(peak) => {
            let covariance = scaled.covariance(&peak.curvature);
            scaled.height(&peak.at);
            (true, covariance)
        }
        None => (false, None),
    }
}

/// What a climb has found; widths are looked for where it gave no covariance.
fn found<T: Target>(
    mut marginal: Marginal<'_, T>,
    slow: Option<Factor>,
    p: usize,
) -> Result<Found, Error> {
    if let Some(failure) = marginal.failure.take() {
        return Err(failure);
    }
    let best = marginal.best.clone();
    let slow = match slow {
        Some(factor) => factor,
        None => {
            // What the climb has left of the budget may be nothing, and without widths nothing moves.
            marginal.budget += MOST_TRIALS * p;
            let widths = scales(&mut marginal, &best.x, best.height);
            Factor::diagonal(&widths, "the slow covariance")?
        }
    };
    if let Some(failure) = marginal.failure.take() {
        return Err(failure);
    }
    if matches!(marginal.curvature, Curvature::Axes | Curvature::Local)
        && let Some(there) = marginal.best_cache()?
    {
        marginal.couple(&best.x, &there);
        if marginal.failing() > WALLED || marginal.is_walled(&there) {
            marginal.try_walls(&best.x, &there);
        }
    }
    if marginal.turns(&slow)? {
        marginal.curvature = Curvature::Local;
    }
    let best = marginal.best.clone();
    let linear = marginal.linear(&slow, &best)?;
    Ok(Found {
        x: best.x,
        y: best.y,
        slow,
        linear,
        curvature: marginal.curvature,
        visits: marginal.visits,
        spent: marginal.spent,
        height: best.height,
        clock: marginal.clock,
    })
}

/// A function as a surface.
struct Heights<F>(F);

impl<F: FnMut(&[f64]) -> f64> Surface for Heights<F> {
    fn height(&mut self, u: &[f64]) -> f64 {
        (self.0)(u)
    }
}

#[derive(Clone)]
struct Best {
    x: Vec<f64>,
    y: Vec<f64>,
    height: f64,
}

/// Laplace's estimate of the log marginal of x, with what was met on the way.
pub(super) struct Marginal<'a, T: Target> {
    target: &'a T,
    /// Where the next search for a mode in y begins, and the metric it uses.
    rule: Laplace,
    centre: Vec<f64>,
    curvature: Curvature,
    best: Best,
    /// What the slow evaluation at the best place left behind: searches begin there again and again.
    cache: Option<T::Cache>,
    /// And those at the last few others, since differences are taken where widths were found.
    recent: Recent<T::Cache>,
    modes: Vec<(Vec<f64>, Vec<f64>, f64)>,
    /// Places with mass at which no mode was found.
    failed: usize,
    visits: Vec<Sighting>,
    spent: Info,
    budget: usize,
    foretold: f64,
    scratch: Scratch,
    failure: Option<Error>,
    clock: Clock,
    /// What is known beforehand, and how many of the best places, one after another, were of it.
    is_known: Option<&'a Known<'a>>,
    returned: usize,
}

impl<'a, T: Target> Marginal<'a, T> {
    /// Begins at (x, y); slow evaluations at `then`, one after another, come next.
    fn new(
        target: &'a T,
        x: &[f64],
        y: &[f64],
        budget: usize,
        then: &[f64],
    ) -> Result<Self, Error> {
        let mut scratch = Scratch::default();
        let outside = || Error::OutsideSupport {
            x: x.to_vec(),
            y: y.to_vec(),
        };
        let mut clock = Clock::default();
        let begun = Instant::now();
        if !then.is_empty() {
            let then = then.chunks_exact(x.len());
            let places: Vec<&[f64]> = std::iter::once(x).chain(then).collect();
            looks::prefetch_first(target, &places);
        }
        let slow = prepare(target, x)?.ok_or_else(outside)?;
        clock.slow(begun);
        let mut spent = Info {
            slow_evaluations: 1,
            ..Info::default()
        };
        let mut height = Heights(|y: &[f64]| {
            spent.fast_evaluations += 1;
            target.log_density_in(&slow.cache, y, &mut scratch)
        });
        let start = height.height(y);
        if start.is_nan() || start == f64::INFINITY {
            return Err(Error::NotANumber {
                x: x.to_vec(),
                y: y.to_vec(),
                value: start,
            });
        }
        if start == f64::NEG_INFINITY {
            return Err(outside());
        }
        let (y, widths, curvature) = if target.has_own_frame() {
            // It finds its modes by itself: nothing needs to be felt out.
            (y.to_vec(), vec![1.0; y.len()], Curvature::Own)
        } else {
            // Widths found on a distant wall would be the wall's: go up first, by what needs no scale.
            let reach: Vec<f64> = y.iter().map(|v| 0.1 * v.abs().max(1.0)).collect();
            let y = feel(&mut height, y, &reach).unwrap_or_else(|| y.to_vec());
            let start = height.height(&y);
            let widths = scales(&mut height, &y, start);
            let mut curvature = vec![0.0; y.len() * y.len()];
            let known = target.curvature(&slow.cache, &y, &mut curvature, &mut scratch);
            let local = known || y.len() <= MOST_FAST;
            let curvature = if local {
                Curvature::Local
            } else {
                Curvature::Axes
            };
            (y, widths, curvature)
        };
        let root = Factor::diagonal(&widths, "the fast widths")?;
        let linear = Linear::new(
            vec![0.0; x.len()],
            y.to_vec(),
            vec![0.0; x.len() * y.len()],
            root,
        )?;
        let mut marginal = Self {
            target,
            rule: Laplace::new(linear, curvature),
            centre: y.to_vec(),
            curvature,
            best: Best {
                x: x.to_vec(),
                y: y.to_vec(),
                height: f64::NEG_INFINITY,
            },
            cache: None,
            recent: Recent::new(x.len()),
            modes: Vec::new(),
            failed: 0,
            visits: Vec::new(),
            spent,
            budget,
            foretold: FORETOLD,
            scratch,
            failure: None,
            clock,
            is_known: None,
            returned: 0,
        };
        marginal.look(x, &slow.cache);
        if marginal.modes.is_empty() || marginal.is_walled(&slow.cache) {
            marginal.try_walls(x, &slow.cache);
        }
        marginal.couple(x, &slow.cache);
        let Marginal { clock, scratch, .. } = &mut marginal;
        clock.refined(target, &slow.cache, &y, scratch);
        marginal.cache = Some(slow.cache);
        Ok(marginal)
    }

    pub fn height(&mut self, x: &[f64]) -> f64 {
        let spent = self.spent.slow_evaluations as usize;
        if spent >= self.budget || self.failure.is_some() || self.has_returned() {
            return f64::NEG_INFINITY;
        }
        let again = x == self.best.x;
        let (was_seen, kept) = match again {
            true => (true, self.cache.take()),
            false => self.recent.take(x),
        };
        if !was_seen {
            self.spent.slow_evaluations += 1;
        }
        let (target, rule, mut cache) = (self.target, self.rule.key(), kept);
        let seen = looks::look(target, rule, x, || match &cache {
            // The mode may be sought from another place than before, with what is there already.
            Some(kept) => Ok(Some(self.see(x, kept))),
            None => self.prepare_and_see(x, &mut cache),
        });
        match seen {
            Ok(Some(seen)) => {
                if again {
                    self.cache = cache;
                } else if seen.height > self.best.height {
                    let before = std::mem::replace(&mut self.cache, cache);
                    self.recent.put(self.best.x.clone(), before);
                } else {
                    self.recent.put(x.to_vec(), cache);
                }
                self.take(x, seen)
            }
            Ok(None) => f64::NEG_INFINITY,
            Err(failure) => {
                self.failure = Some(failure);
                f64::NEG_INFINITY
            }
        }
    }

    /// The slow evaluation at x, and what is seen there; nothing where there is no mass.
    fn prepare_and_see(
        &mut self,
        x: &[f64],
        cache: &mut Option<T::Cache>,
    ) -> Result<Option<Seen>, Error> {
        let begun = Instant::now();
        let Some(slow) = prepare(self.target, x)? else {
            return Ok(None);
        };
        self.clock.slow(begun);
        let seen = self.see(x, &slow.cache);
        *cache = Some(slow.cache);
        Ok(Some(seen))
    }

    /// What the slow evaluation at the best place left behind: made again where an interrupted run had made it.
    fn best_cache(&mut self) -> Result<Option<T::Cache>, Error> {
        match self.cache.take() {
            Some(cache) => Ok(Some(cache)),
            None => Ok(prepare(self.target, &self.best.x)?.map(|slow| slow.cache)),
        }
    }

    /// The linear frame through the modes met on the way.
    fn linear(&self, slow: &Factor, best: &Best) -> Result<Linear, Error> {
        let root = (**self.rule.linear().root()).clone();
        let mut modes: Vec<Mode> = vec![Mode {
            x: best.x.clone(),
            y: best.y.clone(),
        }];
        let mut heights = vec![best.height];
        for (x, y, height) in &self.modes {
            modes.push(Mode {
                x: x.clone(),
                y: y.clone(),
            });
            heights.push(*height);
        }
        match line_through(&modes, &heights, slow, root.clone()) {
            Some(linear) => Ok(linear),
            None => {
                let flat = vec![0.0; best.x.len() * best.y.len()];
                Linear::new(best.x.clone(), best.y.clone(), flat, root)
            }
        }
    }
}

impl<T: Target> Surface for Marginal<'_, T> {
    fn height(&mut self, x: &[f64]) -> f64 {
        Marginal::height(self, x)
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    /// As many of them as may still be looked at.
    fn expect(&mut self, xs: &[f64], likely: &[f64]) {
        let spent = self.spent.slow_evaluations as usize;
        let left = match self.failure.is_some() || self.has_returned() {
            false => self.budget.saturating_sub(spent),
            true => 0,
        };
        let p = self.best.x.len();
        self.recent.hold(xs, p);
        let unknown = |x: &&[f64]| *x != self.best.x && !self.recent.has(x);
        let xs: Vec<&[f64]> = xs.chunks_exact(p).filter(unknown).take(left).collect();
        let left = left - xs.len();
        // (With many variables a climb takes no differences along pairs.)
        let likely = likely.chunks_exact(p).filter(unknown);
        let likely: Vec<&[f64]> = likely.take(if p > MOST_SLOW { 0 } else { left }).collect();
        looks::prefetch(self.target, self.rule.key(), &xs, &likely);
    }
}

/// The marginal in units of the widths found at the start.
struct Scaled<'m, 'a, T: Target> {
    marginal: &'m mut Marginal<'a, T>,
    origin: Vec<f64>,
    steps: Vec<f64>,
}

impl<T: Target> Scaled<'_, '_, T> {
    /// The x of scaled units.
    fn place(&self, u: &[f64]) -> Vec<f64> {
        (0..u.len())
            .map(|k| self.origin[k] + self.steps[k] * u[k])
            .collect()
    }

    /// The covariance that a curvature in scaled units stands for.
    fn covariance(&self, curvature: &[f64]) -> Option<Factor> {
        let p = self.steps.len();
        let precision = Factor::from_covariance(curvature, "curvature").ok()?;
        let mut covariance = vec![0.0; p * p];
        for (k, row) in covariance.chunks_mut(p).enumerate() {
            row[k] = 1.0;
            precision.solve(row);
            precision.solve_transposed(row);
            for (j, entry) in row.iter_mut().enumerate() {
                *entry *= self.steps[k] * self.steps[j];
            }
        }
        let symmetric: Vec<f64> = (0..p * p)
            .map(|k| 0.5 * (covariance[k] + covariance[(k % p) * p + k / p]))
            .collect();
        Factor::from_covariance(&symmetric, "the slow covariance").ok()
    }
}

impl<T: Target> Surface for Scaled<'_, '_, T> {
    fn height(&mut self, u: &[f64]) -> f64 {
        let x = self.place(u);
        self.marginal.height(&x)
    }

    fn foretold(&self) -> f64 {
        self.marginal.foretold
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn expect(&mut self, us: &[f64], likely: &[f64]) {
        let places = |us: &[f64]| -> Vec<f64> {
            let places = us.chunks_exact(self.steps.len()).map(|u| self.place(u));
            places.flatten().collect()
        };
        let (us, likely) = (places(us), places(likely));
        self.marginal.expect(&us, &likely);
    }
}
