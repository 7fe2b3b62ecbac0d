//! Warm-up: from a start to a frozen [`Tuning`], with nothing set by hand.
//!
//! A search climbs to the mode of the estimated marginal of x; windows of fixed length then learn
//! covariances, the linear frame and the scale of the steps; trials choose the inner move, the frame, n and
//! the slow proposal by effective draws per cost; and a last window, with what was chosen, checks it.
//! Every chain does the same, and what they learn is pooled at fixed points.

mod common;
mod compare;
mod curvature;
pub(crate) mod enough;
pub(crate) mod explore;
mod extra;
mod inner;
mod known;
mod limits;
mod looks;
mod modes;
mod moments;
mod persistence;
mod prices;
mod probe;
mod settle;
mod start;
#[cfg(test)]
mod tests;
mod tilt;
mod trials;
pub(crate) mod tuning;
mod walker;
mod windows;

use crate::chain::exchange::{Exchange, Rounds, Solo, first_decides};
use crate::chain::health::FrameHealth;
use crate::erased::{AnyTarget, Erased};
use crate::error::Error;
use crate::frame::Linear;
use crate::frame::anchors::{Anchors, Mode};
use crate::frame::laplace::Curvature;
use crate::kernel::info::Info;
use crate::linalg::Factor;
use crate::random::Rng;
use crate::slow::surrogate::Visit;
use crate::target::Target;
use enough::Aim;
use limits::stages::{
    EXPLORE, EXPLORE_ONE, FEWEST, LAST, LOST, MANY_TIMES, SEARCH, SLOW_BASE, SLOW_EACH, TRIALS,
    WINDOW,
};
pub use prices::Prices;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
pub use tuning::{FrameKind, Setting, Trial, Tuning};
use walker::Walker;

/// What a slow evaluation costs beside a fast one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Measured once, early, and rounded coarsely: see [`Prices`].
    Measured,
    /// So many fast evaluations: nothing is measured.
    Ratio(f64),
}

/// The settings of a warm-up: the defaults need no change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warmup {
    /// Slow evaluations each chain may spend, about; `None` for a number that suits the slow variables.
    pub slow_evaluations: Option<usize>,
    /// What evaluations cost.
    pub cost: Cost,
    /// The standard error, in standard deviations of the slow parameters, to which slow points are to be weighed by what is learned:
    /// learning ends when weighing more of them is cheaper. `None` where chains are to make draws.
    pub error: Option<f64>,
}

impl Default for Warmup {
    fn default() -> Self {
        Self {
            slow_evaluations: None,
            cost: Cost::Measured,
            error: None,
        }
    }
}

/// A chain that is warm.
#[derive(Debug, Clone)]
pub struct Warm {
    /// What was learned.
    pub tuning: Tuning,
    /// The slow variables where it stands.
    pub x: Vec<f64>,
    /// The fast variables.
    pub y: Vec<f64>,
    /// What warm-up spent, in this chain.
    pub spent: Info,
}

/// A chain between two stages of its warm-up, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warming {
    stage: usize,
    tuning: Tuning,
    x: Vec<f64>,
    y: Vec<f64>,
    rng: Rng,
    spent: Info,
    visits: Vec<Visit>,
    modes: Vec<Mode>,
    crossings: Vec<tilt::Crossing>,
    health: FrameHealth,
    /// Whether what is learned is good enough for weights, and not for chains.
    #[serde(default)]
    for_weights: bool,
}

impl Warming {
    /// How many stages are done, not counting the search.
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// Whether there is nothing more to do.
    pub fn is_done(&self) -> bool {
        self.stage >= LAST_STAGE
    }

    /// Whether the marginal of x is learned, so that slow points can be weighed.
    pub fn has_learned(&self) -> bool {
        self.stage > 0 && !self.x.is_empty() && self.tuning.surrogate.is_some()
    }

    /// The slow evaluations that what was learned was fitted to.
    pub(crate) fn visits(&self) -> &[Visit] {
        &self.visits
    }

    /// What was learned so far.
    pub fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    /// What was spent so far, in this chain.
    pub fn spent(&self) -> Info {
        self.spent
    }

    /// The chain, warm, and its generator.
    pub fn finish(self) -> (Warm, Rng) {
        let warm = Warm {
            tuning: self.tuning,
            x: self.x,
            y: self.y,
            spent: self.spent,
        };
        (warm, self.rng)
    }
}

/// The stages after the search and the two windows.
const TRIALS_STAGE: usize = 3;
const LAST_STAGE: usize = 4;

impl Warmup {
    /// Warms up one chain on its own.
    ///
    /// # Errors
    /// A start without mass, a model that fails, settings that make no sense.
    pub fn run<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        y: &[f64],
        rng: &mut Rng,
    ) -> Result<Warm, Error> {
        self.run_pooled(target, x, y, rng, &mut Solo)
    }

    /// Warms up one of several chains, all of which must call this with the same settings.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_pooled<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        y: &[f64],
        rng: &mut Rng,
        exchange: &mut impl Exchange,
    ) -> Result<Warm, Error> {
        let target: &AnyTarget = &Erased(target);
        let mut warming = self.begin_any(target, x, y, rng.clone(), exchange)?;
        while !warming.is_done() {
            warming = self.advance_any(target, warming, exchange)?;
        }
        let (warm, after) = warming.finish();
        *rng = after;
        Ok(warm)
    }

    /// The first stage of a warm-up, the search. All chains of a run call this, then
    /// [`advance`](Self::advance) until [`Warming::is_done`]; what stands between two stages can be saved,
    /// read and continued, to the same bits.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn begin<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        y: &[f64],
        rng: Rng,
        exchange: &mut impl Exchange,
    ) -> Result<Warming, Error> {
        self.begin_any(&Erased(target), x, y, rng, exchange)
    }

    /// The same for a target whose type is forgotten. Warm-up is most of the engine, and no inner loop: it is compiled once, here.
    pub(crate) fn begin_any(
        &self,
        target: &AnyTarget<'_>,
        x: &[f64],
        y: &[f64],
        rng: Rng,
        exchange: &mut dyn Exchange,
    ) -> Result<Warming, Error> {
        let target = &target;
        self.validate(x, y)?;
        let exchange = &mut Rounds::new(exchange, 0);
        let steps = self
            .scaled(SEARCH[0] + SEARCH[1] * x.len(), x.len())
            .max(20);
        let mut rng = rng;
        let common = common::Common::new(&mut rng, exchange)?;
        // Chains that begin at one place would all find the same: the first of them searches.
        let start = [x, y].concat();
        let starts = exchange.gather(&start)?;
        let first = starts.iter().position(|theirs| *theirs == start);
        let repeats = first.is_some_and(|first| first < common.index);
        // Where slow evaluations are counted, the others wait for the covariance that the first finds, which makes their climbs short.
        let waits = self.error.is_some() && common.index > 0;
        let foretold = self.aim().foretold(x.len());
        let search = |likely: Option<&Factor>| start::search(target, x, y, steps, foretold, likely);
        let mut found = match repeats || waits {
            true => None,
            false => Some(search(None)?),
        };
        if self.error.is_some() {
            let mine = found.as_ref().map(|found| found.slow.clone());
            let likely = first_decides(exchange, || mine)?;
            if waits && !repeats {
                found = Some(search(likely.as_ref())?);
            }
        }
        let clock = found.as_mut().map(|found| std::mem::take(&mut found.clock));
        let prices =
            clock
                .unwrap_or_default()
                .agree(self.cost, target.has_own_frame(), exchange)?;
        let (tuning, (x, y)) = first_tuning(found.as_ref(), prices, [x.len(), y.len()], exchange)?;
        let mut tuning = first_decides(exchange, || tuning)?;
        if starts.len() > 1 && starts.iter().all(|theirs| *theirs == starts[0]) {
            tuning.remarks.push(ONE_START.into());
        }
        let visits = found
            .as_mut()
            .map(|found| std::mem::take(&mut found.visits));
        let visits = visits.unwrap_or_default();
        Ok(Warming {
            stage: 0,
            health: tuning.frame_health(),
            tuning,
            x,
            y,
            rng,
            spent: found.map(|found| found.spent).unwrap_or_default(),
            modes: modes_of(&visits),
            crossings: Vec::new(),
            visits: visits.into_iter().filter_map(learned).collect(),
            for_weights: false,
        })
    }

    /// The next stage.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn advance<T: Target>(
        &self,
        target: &T,
        warming: Warming,
        exchange: &mut impl Exchange,
    ) -> Result<Warming, Error> {
        self.advance_any(&Erased(target), warming, exchange)
    }

    /// The same for a target whose type is forgotten.
    pub(crate) fn advance_any(
        &self,
        target: &AnyTarget<'_>,
        warming: Warming,
        exchange: &mut dyn Exchange,
    ) -> Result<Warming, Error> {
        let target = &target;
        let (stage, p, d) = (warming.stage + 1, warming.x.len(), warming.y.len());
        let exchange = &mut Rounds::new(exchange, stage);
        let chains = exchange.chains();
        let mut for_weights = warming.for_weights;
        let (mut walker, mut tuning, mut rng) = Walker::new(target, warming)?;
        let (tuned, rng_mut) = (&mut tuning, &mut rng);
        let suffices = walker.may_suffice(tuned) && walker.estimate_suffices(exchange)?;
        let many = match d > start::MOST_FAST && !suffices {
            true => MANY_TIMES,
            false => 1,
        };
        let steps = |[base, each]: [usize; 2]| {
            let all = self.scaled(many * (base + each * p), p);
            all.div_ceil(chains).max(FEWEST)
        };
        let rule = tuned.rule(tuned.main.frame);
        if stage == 2 && for_weights {
            // The weights were no good: chains want more than was enough for them.
            for_weights = self.learn(&mut walker, tuned, rng_mut, exchange)?;
        }
        if stage == 2 && tuned.main.frame == FrameKind::Own {
            settle::settle(&mut walker, tuned, rng_mut, exchange)?;
        }
        match stage {
            1 if p == 0 => {
                windows::learn_fast_alone(
                    &mut walker,
                    tuned,
                    2 * steps(WINDOW),
                    rng_mut,
                    exchange,
                )?;
            }
            1 if explore::can_explore(&rule, p) => {
                for_weights = self.learn(&mut walker, tuned, rng_mut, exchange)?;
            }
            1 | 2 if p > 0 => {
                windows::learn(&mut walker, tuned, steps(WINDOW), rng_mut, exchange)?;
                let modes = walker.pooled_modes(exchange)?;
                let anchors =
                    tuned
                        .anchors
                        .spread(&modes, &tuned.base(), &tuned.centre, &tuned.slow);
                tuned.anchors = Arc::new(anchors);
                walker.health = tuned.frame_health();
            }
            TRIALS_STAGE => {
                trials::choose(&mut walker, tuned, steps(TRIALS), rng_mut, exchange)?;
            }
            LAST_STAGE if p > 0 => {
                windows::last_window(&mut walker, tuned, steps(LAST), rng_mut, exchange)?;
            }
            _ => {}
        }
        // Everybody pooled the same numbers and so decided the same; where machines round differently, what the first
        // chain decided holds for all.
        let tuning = first_decides(exchange, || tuning)?;
        Ok(Warming {
            for_weights,
            ..walker.leave(stage, tuning, rng)
        })
    }

    /// Learns the marginal by looking around, and restarts where that says; whether it is good enough for weights alone.
    fn learn<T: Target>(
        &self,
        walker: &mut Walker<'_, T>,
        tuned: &mut Tuning,
        rng: &mut Rng,
        exchange: &mut impl Exchange,
    ) -> Result<bool, Error> {
        let most = self.explore_most(walker.x().len());
        let mut common = common::Common::new(rng, exchange)?;
        let aim = self.aim();
        let explored = explore::explore(walker, tuned, aim, most, &mut common, exchange)?;
        let mut for_weights = false;
        if let Some(explored) = explored {
            if !explored.settled {
                let remark = match explored.learned() {
                    true => UNSETTLED,
                    false => UNLEARNED,
                };
                tuned.remarks.push(remark.into());
            }
            for_weights = explored.settled && aim != Aim::Draws;
            // Weights need no chain; where they are no good, chains learn more first, and begin where that says.
            if !for_weights {
                walker.restart(&tuned.rule(tuned.main.frame), &explored.start, rng)?;
            }
        }
        walker.health = tuned.frame_health();
        Ok(for_weights)
    }

    /// So many evaluations, or as many more or fewer as was asked for.
    fn scaled(&self, evaluations: usize, p: usize) -> usize {
        let usual = (SLOW_BASE + SLOW_EACH * p) as f64;
        let share = self.slow_evaluations.map_or(1.0, |n| n as f64 / usual);
        (share * evaluations as f64).ceil() as usize
    }

    /// What is learned for.
    fn aim(&self) -> Aim {
        self.error.map_or(Aim::Draws, Aim::Error)
    }

    /// What exploring may spend.
    fn explore_most(&self, p: usize) -> usize {
        if p == 1 {
            return self.scaled(EXPLORE_ONE, p);
        }
        let few = p.min(start::MOST_SLOW);
        let differences = if p > few { p * p } else { 0 };
        self.scaled(EXPLORE[0] + EXPLORE[1] * few + differences, p)
    }

    /// Whether the settings make sense, whatever the target.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.validate(&[0.0], &[])
    }

    fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        if x.is_empty() && y.is_empty() {
            return Err(Error::Dimension {
                what: "the start, slow and fast variables together,",
                expected: 1,
                found: 0,
            });
        }
        if let Some(few) = self.slow_evaluations.filter(|&n| n < 50) {
            return Err(Error::Setting {
                what: "the slow evaluations of warm-up",
                value: few as f64,
                expected: "at least 50",
            });
        }
        match self.cost {
            Cost::Ratio(ratio) if !(ratio > 0.0 && ratio.is_finite()) => Err(Error::Setting {
                what: "the cost ratio",
                value: ratio,
                expected: "positive and finite: how many fast evaluations a slow one costs",
            }),
            _ => Ok(()),
        }
    }
}

/// What a visit tells the surrogate.
fn learned(visit: crate::kernel::state::Sighting) -> Option<Visit> {
    let crate::kernel::state::Sighting {
        x, log_marginal, ..
    } = visit;
    log_marginal.map(|log_marginal| Visit { x, log_marginal })
}

/// The modes among these visits.
fn modes_of(visits: &[crate::kernel::state::Sighting]) -> Vec<Mode> {
    let mode = |visit: &crate::kernel::state::Sighting| {
        let y = visit.mode.clone()?;
        Some(Mode {
            x: visit.x.clone(),
            y,
        })
    };
    visits.iter().filter_map(mode).collect()
}

/// What is said where every chain was given the same start.
const ONE_START: &str = "All chains were given the same start. Warm-up looked around from there and set them apart, but a mode \
    behind a wide gap may not have been seen: where that is possible, give starts that are spread (the prior's draws, say).";

/// What is said where exploring ended before fresh visits were predicted: a reason to worry where anything else is one.
pub(crate) const UNSETTLED: &str = "Warm-up had not settled when its evaluations were spent: what it had learned of the slow \
    parameters did not yet predict new places well. Draws are right in the long run, but may need more of them; warm up longer for \
    fewer.";

/// What is said where it was far off even then: a reason to worry in itself.
pub(crate) const UNLEARNED: &str = "Warm-up did not learn the shape of the slow parameters' posterior: what it predicted of new places was \
    often far off. Chains move by the random walk where that is so, and may miss parts of the posterior without R-hat showing \
    it. Warm up longer, give starts that are spread, or parametrise the model so that its slow parameters are less strangely related.";

/// A place (x, y).
type Place = (Vec<f64>, Vec<f64>);

/// The search's findings, and where this chain begins: those of the chain that found the highest place, so that all begin with
/// the same (a mean of widths found at different places describes neither).
///
/// A chain that did not search, or whose place is hopelessly lower, begins where the best one does: what has so
/// little mass would not be visited by a run of any length.
fn first_tuning(
    found: Option<&start::Found>,
    prices: Prices,
    [p, d]: [usize; 2],
    exchange: &mut impl Exchange,
) -> Result<(Tuning, Place), Error> {
    let mut mine = vec![f64::NEG_INFINITY];
    if let Some(found) = found {
        mine = vec![found.height, found.curvature.number()];
        mine.extend(found.x.iter().chain(&found.y));
        mine.extend(found.slow.covariance());
        mine.extend(found.linear.numbers());
    }
    let all = exchange.gather(&mine)?;
    let mut best = 0;
    for (k, theirs) in all.iter().enumerate() {
        if theirs[0] > all[best][0] {
            best = k;
        }
    }
    let damaged = || Error::Exchange("what the searches found did not arrive whole".to_owned());
    let (head, rest) = all[best].split_at_checked(2).ok_or_else(damaged)?;
    let (x, rest) = rest.split_at_checked(p).ok_or_else(damaged)?;
    let (y, rest) = rest.split_at_checked(d).ok_or_else(damaged)?;
    let (covariance, linear) = rest.split_at_checked(p * p).ok_or_else(damaged)?;
    let slow = Factor::from_covariance(covariance, "the slow covariance")?;
    let linear = Linear::from_numbers(linear, p, d).ok_or_else(damaged)?;
    let curvature = Curvature::from_number(head[1]);
    let place = match found {
        Some(found) if found.height >= head[0] - LOST => (found.x.clone(), found.y.clone()),
        _ => (x.to_vec(), y.to_vec()),
    };
    let frame = match curvature {
        Curvature::Local => FrameKind::Laplace,
        Curvature::Axes => FrameKind::Axes,
        Curvature::Walls => FrameKind::Walls,
        Curvature::Learned => FrameKind::Mode,
        Curvature::Own => FrameKind::Own,
    };
    let setting = |frame, n| Setting {
        frame,
        n,
        inner: Tuning::first_inner(),
    };
    let tuning = Tuning {
        centre: x.to_vec(),
        scale: 2.38 / (p.max(1) as f64).sqrt(),
        slow,
        anchors: Arc::new(match curvature {
            Curvature::Local | Curvature::Axes | Curvature::Walls => {
                Anchors::scaled(linear.root().clone())
            }
            Curvature::Learned | Curvature::Own => Anchors::default(),
        }),
        linear,
        main: setting(frame, 2),
        safe: setting(FrameKind::Linear, 5),
        shares: [0.0, 0.75, 0.25],
        surrogate: None,
        extra: 2,
        alone: None,
        prices,
        trials: Vec::new(),
        notes: Vec::new(),
        remarks: Vec::new(),
        along: 0,
    };
    Ok((tuning, place))
}
