//! From a start to the bulk of the marginal: widths, then the mode of the estimated marginal of x.

use super::known;
use super::limits::start::{
    BESIDE, FROM_AFAR, MOST_CLIMBS, MOST_COUPLED, MOST_COUPLED_GRADIENTS, MOST_LOCAL, MOST_LOOKS,
    STILL_GAINS, TURNED, UNCOUPLED, WALLED,
};
pub(super) use super::limits::start::{MOST_FAST, MOST_SLOW};
use super::prices::Clock;
use crate::error::Error;
use crate::frame::anchors::Mode;
use crate::frame::laplace::{Coupled, Curvature, Laplace, Searched};
use crate::frame::{Frame, Linear};
use crate::instant::Instant;
use crate::kernel::info::Info;
use crate::kernel::state::{Sighting, prepare};
use crate::linalg::{Factor, Root};
use crate::optimise::coordinate::feel;
use crate::optimise::lbfgs::ascend;
use crate::optimise::newton::climb_with;
use crate::optimise::surface::{Surface, clean};
use crate::optimise::widths::{MOST_TRIALS, scales};
use crate::target::{Scratch, Target};

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

/// Climbs from (x, y) to the top of the estimated marginal of x, with at most `budget` slow evaluations.
pub(super) fn search<T: Target>(
    target: &T,
    x: &[f64],
    y: &[f64],
    budget: usize,
) -> Result<Found, Error> {
    let mut marginal = Marginal::new(target, x, y, budget)?;
    if let Some(covariance) = target.slow_covariance() {
        let factor = Factor::from_covariance(covariance, "the covariance of the slow parameters")?;
        if factor.dim() == x.len() && known::climb(&mut marginal, x, &factor) {
            return found(marginal, Some(factor), x.len());
        }
        // The covariance was another's: the search has all it would have had.
        marginal.budget += marginal.spent.slow_evaluations as usize;
    }
    if x.is_empty() {
        return found(marginal, None, 0);
    }
    let (mut from, mut slow) = (x.to_vec(), None);
    for _ in 0..MOST_CLIMBS {
        let before = marginal.height(&from);
        let (arrived, covariance) = climb_from(&mut marginal, &from, before);
        slow = covariance.or(slow);
        // Widths felt far down are those of a cliff: a climb in their units may spend all it has on the way, or take a slope, over steps so
        // small, for a top.
        let gained = marginal.best.height - before;
        if gained < STILL_GAINS || arrived && gained < FROM_AFAR {
            break;
        }
        from.clone_from(&marginal.best.x);
        marginal.budget = marginal.spent.slow_evaluations as usize + budget;
    }
    found(marginal, slow, x.len())
}

/// A climb in units of the widths at its start: whether it came to a top, and the covariance there, where it tells one.
fn climb_from<T: Target>(
    marginal: &mut Marginal<'_, T>,
    from: &[f64],
    height: f64,
) -> (bool, Option<Factor>) {
    let steps = scales(&mut |at| marginal.height(at), from, height);
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
            let widths = scales(&mut |at| marginal.height(at), &best.x, best.height);
            Factor::diagonal(&widths, "the slow covariance")?
        }
    };
    if let Some(failure) = marginal.failure.take() {
        return Err(failure);
    }
    if matches!(marginal.curvature, Curvature::Axes | Curvature::Local)
        && let Some(there) = prepare(marginal.target, &best.x)?
    {
        marginal.spent.slow_evaluations += 1;
        marginal.couple(&best.x, &there.cache);
        if marginal.failing() > WALLED || marginal.is_walled(&there.cache) {
            marginal.try_walls(&best.x, &there.cache);
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
    modes: Vec<(Vec<f64>, Vec<f64>, f64)>,
    /// Places with mass at which no mode was found.
    failed: usize,
    visits: Vec<Sighting>,
    spent: Info,
    budget: usize,
    scratch: Scratch,
    failure: Option<Error>,
    clock: Clock,
}

impl<'a, T: Target> Marginal<'a, T> {
    fn new(target: &'a T, x: &[f64], y: &[f64], budget: usize) -> Result<Self, Error> {
        let mut scratch = Scratch::default();
        let outside = || Error::OutsideSupport {
            x: x.to_vec(),
            y: y.to_vec(),
        };
        let mut clock = Clock::default();
        let begun = Instant::now();
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
            let widths = scales(&mut height.0, &y, start);
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
            modes: Vec::new(),
            failed: 0,
            visits: Vec::new(),
            spent,
            budget,
            scratch,
            failure: None,
            clock,
        };
        marginal.look(x, &slow.cache);
        if marginal.modes.is_empty() || marginal.is_walled(&slow.cache) {
            marginal.try_walls(x, &slow.cache);
        }
        marginal.couple(x, &slow.cache);
        let Marginal { clock, scratch, .. } = &mut marginal;
        clock.refined(target, &slow.cache, &y, scratch);
        Ok(marginal)
    }

    pub fn height(&mut self, x: &[f64]) -> f64 {
        if self.spent.slow_evaluations as usize >= self.budget || self.failure.is_some() {
            return f64::NEG_INFINITY;
        }
        self.spent.slow_evaluations += 1;
        let begun = Instant::now();
        match prepare(self.target, x) {
            Ok(Some(slow)) => {
                self.clock.slow(begun);
                self.look(x, &slow.cache)
            }
            Ok(None) => f64::NEG_INFINITY,
            Err(failure) => {
                self.failure = Some(failure);
                f64::NEG_INFINITY
            }
        }
    }

    /// Finds the conditional's mode at x, starting from the last one.
    fn look(&mut self, x: &[f64], cache: &T::Cache) -> f64 {
        let begun = Instant::now();
        let found = self.rule.find(self.target, x, cache, &mut self.scratch);
        match self.curvature {
            Curvature::Own => self.clock.search(begun),
            _ => self.clock.fast(begun, found.evaluations),
        }
        self.spent.fast_evaluations += found.evaluations;
        let mut y = vec![0.0; self.centre.len()];
        found.frame.to_y(&vec![0.0; y.len()], &mut y);
        // Without a mode, the density at the last known one is a height to climb by; and a mode beyond a wall
        // (the search takes its last step on trust) is none to begin at.
        self.spent.fast_evaluations += 1;
        let begun = Instant::now();
        let density = self.target.log_density_in(cache, &y, &mut self.scratch);
        if self.curvature == Curvature::Own {
            self.clock.fast(begun, 1);
        }
        let height = if clean(density) == f64::NEG_INFINITY {
            f64::NEG_INFINITY
        } else {
            // The same measure for both: without a mode, the linear frame's volume stands in.
            clean(
                found
                    .log_marginal
                    .unwrap_or(density + found.frame.log_det()),
            )
        };
        self.visits.push(Sighting::new(x, &found));
        if found.log_marginal.is_some() {
            let begin = found.begin().map_or_else(|| y.clone(), <[f64]>::to_vec);
            self.modes.push((x.to_vec(), begin, height));
        } else if height > f64::NEG_INFINITY {
            self.failed += 1;
        }
        if height > self.best.height {
            self.best = Best {
                x: x.to_vec(),
                y,
                height,
            };
            self.move_to(&found);
        }
        height
    }

    /// Learns how many fast variables are coupled where the search stands: a frame along their own axes moves with x as the
    /// conditional does, where one along the variables may only stretch it.
    fn couple(&mut self, x: &[f64], cache: &T::Cache) {
        let d = self.centre.len();
        if self.curvature != Curvature::Axes {
            return;
        }
        let (target, scratch) = (self.target, &mut self.scratch);
        let mut gradient = vec![0.0; d];
        let known = target.gradient(cache, &self.centre, &mut gradient, scratch);
        let most = match known {
            Some(_) => MOST_COUPLED_GRADIENTS,
            None => MOST_COUPLED,
        };
        if d > most {
            return;
        }
        let coupled = self.coupled(x, cache);
        if let Some(coupled) = coupled.filter(|c| c.coupling > UNCOUPLED) {
            self.set_frame(self.centre.clone(), coupled.root);
        }
    }

    fn coupled(&mut self, x: &[f64], cache: &T::Cache) -> Option<Coupled> {
        let begun = Instant::now();
        let (target, scratch) = (self.target, &mut self.scratch);
        let (coupled, evaluations) = self.rule.coupled_root(target, x, cache, scratch);
        self.clock.fast(begun, evaluations);
        self.spent.fast_evaluations += evaluations;
        coupled
    }

    /// Whether the directions in which fast variables are coupled change within a standard deviation of x: then no axes will do, and the full curvature is
    /// worth its price at each x, where there are not too many of them.
    fn turns(&mut self, slow: &Factor) -> Result<bool, Error> {
        if self.curvature != Curvature::Axes || self.centre.len() > MOST_LOCAL {
            return Ok(false);
        }
        let p = slow.dim();
        for k in 0..p.min(MOST_LOOKS) {
            let mut unit = vec![0.0; p];
            unit[k] = 1.0;
            let mut x = vec![0.0; p];
            slow.apply(&unit, &mut x);
            x.iter_mut().zip(&self.best.x).for_each(|(x, b)| *x += b);
            self.spent.slow_evaluations += 1;
            let Some(there) = prepare(self.target, &x)? else {
                continue;
            };
            let coupled = self.coupled(&x, &there.cache);
            if coupled.is_some_and(|c| c.coupling > TURNED) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Searches from here on begin at this frame: near the best point, they are short.
    fn move_to(&mut self, found: &Searched) {
        let (Frame::Affine { root, .. }, Some(centre)) = (&found.frame, found.begin()) else {
            return;
        };
        // A target's own root is no matrix; searches there need the centre alone.
        let root = match root {
            Root::Own(_) => Some((**self.rule.linear().root()).clone()),
            _ => root.factor(),
        };
        if let Some(root) = root {
            self.set_frame(centre.to_vec(), root);
        }
    }

    /// Whether there is no mass close to the mode on one side of it: a search may take the place where a wall stopped it for a top.
    fn is_walled(&mut self, cache: &T::Cache) -> bool {
        if self.curvature != Curvature::Local {
            return false;
        }
        let (mode, widths) = (&self.best.y, self.rule.linear().root().sds());
        let mut y = mode.clone();
        for (k, width) in widths.iter().enumerate() {
            for side in [BESIDE, -BESIDE] {
                y[k] = mode[k] + side * width;
                self.spent.fast_evaluations += 1;
                let density = self.target.log_density_in(cache, &y, &mut self.scratch);
                if clean(density) == f64::NEG_INFINITY {
                    return true;
                }
            }
            y[k] = mode[k];
        }
        false
    }

    /// The share of places with mass at which no mode was found.
    fn failing(&self) -> f64 {
        self.failed as f64 / (self.failed + self.modes.len()).max(1) as f64
    }

    /// Where no mode is found that derivatives lead to, it may lie at a wall: if so, frames are looked for at walls from here on.
    fn try_walls(&mut self, x: &[f64], cache: &T::Cache) {
        if self.curvature != Curvature::Local {
            return;
        }
        let sds = self.rule.linear().root().sds();
        let centre = self.centre.clone();
        let Ok(widths) = Factor::diagonal(&sds, "the fast widths") else {
            return;
        };
        self.curvature = Curvature::Walls;
        self.set_frame(centre, widths);
        self.best.height = f64::NEG_INFINITY;
        let before = self.modes.len();
        self.look(x, cache);
        if self.modes.len() == before {
            self.curvature = Curvature::Local;
            self.rule = Laplace::new(self.rule.linear().clone(), self.curvature);
        }
    }

    /// Searches from here on begin at this centre, in units of this root.
    fn set_frame(&mut self, centre: Vec<f64>, root: Factor) {
        let p = self.best.x.len();
        let flat = vec![0.0; p * centre.len()];
        if let Ok(linear) = Linear::new(vec![0.0; p], centre.clone(), flat, root) {
            self.centre = centre;
            self.rule = Laplace::new(linear, self.curvature);
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

/// The line through modes by weighted least squares, from the highest of them; each counts as much as its estimated density.
pub(super) fn line_through(
    modes: &[Mode],
    heights: &[f64],
    slow: &Factor,
    root: Factor,
) -> Option<Linear> {
    let top = (0..modes.len()).max_by(|&a, &b| heights[a].total_cmp(&heights[b]))?;
    let best = &modes[top];
    let (p, d) = (best.x.len(), best.y.len());
    let mut slope = vec![0.0; p * d];
    // In whitened x, with a small ridge: directions never looked along have slope 0.
    let mut normal = vec![0.0; p * p];
    let mut right = vec![0.0; p * d];
    for k in 0..p {
        normal[k * p + k] = 1e-3;
    }
    for (mode, height) in modes.iter().zip(heights) {
        let weight = (height - heights[top]).max(-30.0).exp();
        if weight.is_nan() {
            continue;
        }
        let mut w: Vec<f64> = mode.x.iter().zip(&best.x).map(|(a, b)| a - b).collect();
        slow.solve(&mut w);
        for i in 0..p {
            for j in 0..p {
                normal[i * p + j] += weight * w[i] * w[j];
            }
            for k in 0..d {
                right[k * p + i] += weight * w[i] * (mode.y[k] - best.y[k]);
            }
        }
    }
    if p > 0 {
        let factor = Factor::from_covariance(&normal, "the slope's normal equations").ok()?;
        for (row, out) in right.chunks_mut(p).zip(slope.chunks_mut(p)) {
            factor.solve(row);
            factor.solve_transposed(row);
            // From whitened x back to x: B = B_w L⁻¹, so bᵀ = L⁻ᵀ b_wᵀ.
            slow.solve_transposed(row);
            out.copy_from_slice(row);
        }
    }
    Linear::new(best.x.clone(), best.y.clone(), slope, root).ok()
}

/// The marginal in units of the widths found at the start.
struct Scaled<'m, 'a, T: Target> {
    marginal: &'m mut Marginal<'a, T>,
    origin: Vec<f64>,
    steps: Vec<f64>,
}

impl<T: Target> Scaled<'_, '_, T> {
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
        let x: Vec<f64> = (0..u.len())
            .map(|k| self.origin[k] + self.steps[k] * u[k])
            .collect();
        self.marginal.height(&x)
    }
}
