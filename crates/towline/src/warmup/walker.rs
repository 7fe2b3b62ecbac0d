//! A chain in warm-up: it may change its kernel at every step, and notes where it has been.

use super::limits::walker::{SEARCH_BUDGET, SUFFICES};
use super::looks;
use super::start::Known;
use super::tilt::Crossing;
use super::{Warming, learned, modes_of, start, tilt};
use crate::chain::exchange::{Exchange, first_decides};
use crate::chain::health::FrameHealth;
use crate::error::Error;
use crate::frame::FrameRule;
use crate::frame::anchors::Mode;
use crate::kernel::info::Info;
use crate::kernel::state::{Sighting, Slow, State, Workspace, evaluate, prepare};
use crate::kernel::{Drag, Kernel, Proposed};
use crate::linalg::farthest;
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::slow::surrogate::{Surrogate, Visit};
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Tuning};
use serde::{Deserialize, Serialize};

pub(super) struct Walker<'a, T: Target> {
    pub(super) target: &'a T,
    pub(super) state: State<T::Cache>,
    pub(super) work: Workspace,
    pub(super) spent: Info,
    visits: Vec<Visit>,
    modes: Vec<Mode>,
    pub crossings: Vec<Crossing>,
    pub health: FrameHealth,
}

/// What a visit told.
#[derive(Serialize, Deserialize)]
struct Visited {
    massless: bool,
    sighting: Option<Sighting>,
    spent: Info,
}

/// What a step tells the one who tunes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub info: Info,
    /// min(1, ratio), less noisy than whether it was accepted.
    pub acceptance: f64,
}

/// Several drags to the same x*.
pub(super) struct Comparison {
    /// ln S(x|x*)/S(x*|x), which all their ratios contain.
    pub log_s: f64,
    /// What each would do there, and spent.
    pub tried: Vec<Info>,
}

impl<'a, T: Target> Walker<'a, T> {
    /// From where a stage ended, with the tuning and the generator.
    pub fn new(target: &'a T, warming: Warming) -> Result<(Self, Tuning, Rng), Error> {
        let Warming {
            x,
            y,
            mut spent,
            visits,
            modes,
            crossings,
            health,
            tuning,
            rng,
            ..
        } = warming;
        let mut work = Workspace::new(x.len(), y.len());
        work.sightings = Some(Vec::new());
        spent.slow_evaluations += 1;
        spent.fast_evaluations += 1;
        let walker = Self {
            state: State::new(target, x, y, &mut work.buffers)?,
            target,
            work,
            spent,
            visits,
            modes,
            crossings,
            health,
        };
        Ok((walker, tuning, rng))
    }

    /// Where the stage ends.
    pub fn leave(self, stage: usize, tuning: Tuning, rng: Rng) -> Warming {
        Warming {
            stage,
            tuning,
            x: self.state.slow.x,
            y: self.state.y,
            rng,
            spent: self.spent,
            visits: self.visits,
            modes: self.modes,
            crossings: self.crossings,
            health: self.health,
            for_weights: false,
        }
    }

    pub fn x(&self) -> &[f64] {
        &self.state.slow.x
    }

    pub fn y(&self) -> &[f64] {
        &self.state.y
    }

    /// The x that the last step proposed.
    pub fn proposed(&self) -> &[f64] {
        &self.work.x
    }

    /// The leading blocks of y, where the target has more than two speeds.
    pub fn blocks(&self) -> &[usize] {
        self.target.blocks()
    }

    /// Whether the model gives gradients.
    pub fn has_gradient(&mut self) -> bool {
        let mut gradient = vec![0.0; self.state.y.len()];
        let (cache, y) = (&self.state.slow.cache, &self.state.y);
        self.target
            .gradient(cache, y, &mut gradient, &mut self.work.buffers.scratch)
            .is_some()
    }

    /// The state as seen in a frame.
    pub fn z(&mut self, rule: &FrameRule) -> Vec<f64> {
        let mut z = vec![0.0; self.state.y.len()];
        let mut spare = z.clone();
        let mut info = Info::default();
        rule.place(self.target, &mut self.state.slow, &mut self.work, &mut info);
        self.spent += info;
        rule.of(&self.state.slow)
            .to_z(&self.state.y, &mut z, &mut spare);
        z
    }

    /// Leaves the mode for a typical place of the conditional, as its frame has it: with many fast variables moves that are
    /// tuned to typical places would not be accepted at the mode, where none of them ever is.
    ///
    /// Answers whether it did: where no frame was found, or the place has no mass, the mode will have to do.
    pub fn scatter(&mut self, rule: &crate::frame::FrameRule, rng: &mut Rng) -> bool {
        let mut info = Info::default();
        rule.place(self.target, &mut self.state.slow, &mut self.work, &mut info);
        let found = info.frame_failures == 0;
        let z: Vec<f64> = self.state.y.iter().map(|_| rng.normal()).collect();
        let mut y = z.clone();
        rule.of(&self.state.slow).to_y(&z, &mut y);
        info.fast_evaluations += 1;
        self.spent += info;
        let buffers = &mut self.work.buffers;
        match evaluate(self.target, &self.state.slow, &y, buffers) {
            Ok(value) if found && value > f64::NEG_INFINITY => {
                self.state.y = y;
                self.state.log_density = value;
                true
            }
            _ => false,
        }
    }

    /// A slow evaluation for what it tells of the marginal there: −∞ where there is no mass, nothing where there is no mode.
    pub fn visit(
        &mut self,
        rule: &crate::frame::FrameRule,
        x: &[f64],
    ) -> Result<Option<f64>, Error> {
        let found = looks::look(self.target, rule.key(), x, || self.visit_now(rule, x))?;
        self.spent += found.spent;
        self.modes.extend(modes_of(found.sighting.as_slice()));
        let visit = match found.massless {
            true => Some(Visit {
                x: x.to_vec(),
                log_marginal: f64::NEG_INFINITY,
            }),
            false => found.sighting.and_then(learned),
        };
        let log_marginal = visit.as_ref().map(|visit| visit.log_marginal);
        self.visits.extend(visit);
        Ok(log_marginal)
    }

    /// A visit to a place of the same batch once more: noted as often as it was drawn, and made once.
    pub fn visit_again(&mut self, x: &[f64]) {
        let mode = self.modes.iter().rev().find(|mode| mode.x == x).cloned();
        self.modes.extend(mode);
        let visit = self.visits.iter().rev().find(|visit| visit.x == x).cloned();
        self.visits.extend(visit);
    }

    /// The slow evaluation, and what it tells.
    fn visit_now(&mut self, rule: &crate::frame::FrameRule, x: &[f64]) -> Result<Visited, Error> {
        let before = std::mem::take(&mut self.spent);
        self.spent.slow_evaluations += 1;
        let (mut massless, mut sighting) = (true, None);
        if let Some(mut slow) = prepare(self.target, x)? {
            self.place(rule, &mut slow);
            sighting = self.work.sightings.as_mut().and_then(Vec::pop);
            let told = sighting.as_ref().is_some_and(|s| s.log_marginal.is_some());
            massless = !told && self.is_massless(rule, &slow);
        }
        Ok(Visited {
            massless,
            sighting,
            spent: std::mem::replace(&mut self.spent, before),
        })
    }

    /// Whether there is no mass at the middle of the frame: where no mode was found, the best guess of where it would be.
    fn is_massless(&mut self, rule: &crate::frame::FrameRule, slow: &Slow<T::Cache>) -> bool {
        let mut y = vec![0.0; self.state.y.len()];
        rule.of(slow).to_y(&vec![0.0; y.len()], &mut y);
        self.spent.fast_evaluations += 1;
        let value = evaluate(self.target, slow, &y, &mut self.work.buffers);
        matches!(value, Ok(f64::NEG_INFINITY))
    }

    /// Climbs from a place in x (and the mode of y there) to a top of the estimated marginal, or to what is known, and returns what it met on the way.
    pub fn search_from(
        &mut self,
        rule: &FrameRule,
        x: &[f64],
        is_known: &Known<'_>,
    ) -> Result<Vec<Visit>, Error> {
        self.spent.slow_evaluations += 1;
        let Some(mut slow) = prepare(self.target, x)? else {
            return Ok(Vec::new());
        };
        self.place(rule, &mut slow);
        self.note_visits();
        let mut y = vec![0.0; self.state.y.len()];
        rule.of(&slow).to_y(&vec![0.0; y.len()], &mut y);
        let (seen, spent) = start::search_the_unknown(self.target, x, &y, SEARCH_BUDGET, is_known)?;
        self.spent += spent;
        self.modes.extend(modes_of(&seen));
        let met: Vec<Visit> = seen.into_iter().filter_map(learned).collect();
        self.visits.extend(met.iter().cloned());
        Ok(met)
    }

    /// Finds a frame, at the chain's expense.
    fn place(&mut self, rule: &crate::frame::FrameRule, slow: &mut Slow<T::Cache>) {
        let mut info = Info::default();
        rule.place(self.target, slow, &mut self.work, &mut info);
        self.spent += info;
    }

    /// Goes to another x, and to a typical y of its frame there (or its mode), and returns where it was; stays where neither has mass.
    pub fn restart(
        &mut self,
        rule: &crate::frame::FrameRule,
        x: &[f64],
        rng: &mut Rng,
    ) -> Result<Option<State<T::Cache>>, Error> {
        self.spent.slow_evaluations += 1;
        let Some(mut slow) = prepare(self.target, x)? else {
            return Ok(None);
        };
        self.place(rule, &mut slow);
        self.note_visits();
        let z: Vec<f64> = self.state.y.iter().map(|_| rng.normal()).collect();
        // At walls only one side of the frame's centre has mass.
        let inwards: Vec<f64> = z.iter().map(|z| z.abs()).collect();
        for z in [z.clone(), inwards, vec![0.0; z.len()]] {
            let mut y = z.clone();
            rule.of(&slow).to_y(&z, &mut y);
            self.spent.fast_evaluations += 1;
            if let Ok(value) = evaluate(self.target, &slow, &y, &mut self.work.buffers)
                && value > f64::NEG_INFINITY
            {
                let there = State {
                    slow,
                    y,
                    log_density: value,
                };
                return Ok(Some(std::mem::replace(&mut self.state, there)));
            }
        }
        Ok(None)
    }

    /// Goes back to where it was before a restart.
    pub fn go_back(&mut self, before: Option<State<T::Cache>>) {
        if let Some(before) = before {
            self.state = before;
        }
    }

    pub fn step(&mut self, kernel: &Kernel, rng: &mut Rng) -> Result<Taken, Error> {
        let info = kernel.step(self.target, &mut self.state, &mut self.work, rng)?;
        self.spent += info;
        self.health.note(&self.work.x, &self.state.slow.x, &info);
        self.note_visits();
        // Every frame rule of warm-up leaves its frames behind: only the newest few are of use.
        let frames = &mut self.state.slow.frames;
        if frames.len() > 6 {
            frames.drain(..frames.len() - 6);
        }
        Ok(Taken {
            info,
            acceptance: info.log_ratio.min(0.0).exp(),
        })
    }

    /// One step with a learned proposal, noted as a crossing where many variables are fast: few leave Laplace's estimate
    /// nothing to miss.
    pub fn cross(
        &mut self,
        surrogate: &Surrogate,
        drag: &Kernel,
        rng: &mut Rng,
    ) -> Result<Taken, Error> {
        let from = self.state.slow.x.clone();
        let taken = self.step(drag, rng)?;
        if self.state.y.len() > start::MOST_FAST {
            let to = self.work.x.clone();
            let log_s = surrogate.log_density(&from) - surrogate.log_density(&to);
            self.crossings.push(Crossing {
                from,
                to,
                log_ratio: taken.info.log_ratio - log_s,
                acceptance: taken.acceptance,
            });
        }
        Ok(taken)
    }

    /// Whether what Laplace's estimate misses is looked at: with many fast variables and frames of the target's own.
    pub fn may_suffice(&self, tuning: &Tuning) -> bool {
        self.state.y.len() > start::MOST_FAST
            && tuning.main.frame == FrameKind::Own
            && tuning.surrogate.is_some()
    }

    /// Whether all chains' crossings so far show that Laplace's estimate misses little: most of them were accepted.
    pub fn estimate_suffices(&self, exchange: &mut impl Exchange) -> Result<bool, Error> {
        let accepted: f64 = self.crossings.iter().map(|c| c.acceptance).sum();
        let all = exchange.gather(&[accepted, self.crossings.len() as f64])?;
        let sum = |k: usize| all.iter().map(|theirs| theirs[k]).sum::<f64>();
        Ok(sum(1) > 0.0 && sum(0) >= SUFFICES * sum(1))
    }

    /// The surrogate that all chains' visits and crossings give.
    pub fn surrogate(
        &self,
        tuning: &Tuning,
        exchange: &mut impl Exchange,
    ) -> Result<Option<Surrogate>, Error> {
        let visits = self.pooled_visits(exchange)?;
        let crossings = tilt::pooled(&self.crossings, self.state.slow.x.len(), exchange)?;
        first_decides(exchange, || {
            // What exploring has seen to be in one part is not taken apart again.
            let mixed = tuning.surrogate.as_ref().is_none_or(Surrogate::is_mixed);
            tilt::fit(&visits, &crossings, &tuning.centre, &tuning.slow, mixed)
        })
    }

    /// One proposed x*, and what each of several drags would make of it: the log ratios with what they
    /// spent. `None` where x* has no mass.
    pub fn compare(
        &mut self,
        drags: &[&Drag],
        proposal: &SlowProposal,
        rng: &mut Rng,
    ) -> Result<Option<Comparison>, Error> {
        let log_s = proposal.propose(&self.state.slow.x, &mut self.work.x, rng);
        self.spent.slow_evaluations += 1;
        let Some(slow) = prepare(self.target, &self.work.x)? else {
            return Ok(None);
        };
        let mut proposed = Proposed { slow, log_s };
        let mut tried = Vec::with_capacity(drags.len());
        for drag in drags {
            // Each pays for its own frame, as it would if it were the one chosen.
            proposed.slow.frames.clear();
            let (state, work) = (&mut self.state, &mut self.work);
            let info = drag.foretell(self.target, state, &mut proposed, work, rng)?;
            self.spent += info;
            tried.push(info);
        }
        self.note_visits();
        Ok(Some(Comparison {
            log_s: proposed.log_s,
            tried,
        }))
    }

    /// Whether a step of a window counts towards its covariances: the first third still remembers the start.
    pub fn first_half_forgotten(&self, step: usize, steps: usize) -> bool {
        3 * step >= steps
    }

    /// The visits of all chains.
    pub fn pooled_visits(&self, exchange: &mut impl Exchange) -> Result<Vec<Visit>, Error> {
        let p = self.state.slow.x.len();
        let mine: Vec<f64> = self
            .visits
            .iter()
            .flat_map(|visit| visit.x.iter().copied().chain([visit.log_marginal]))
            .collect();
        Ok(exchange
            .gather(&mine)?
            .iter()
            .flat_map(|theirs| theirs.chunks_exact(p + 1))
            .map(|row| Visit {
                x: row[..p].to_vec(),
                log_marginal: row[p],
            })
            .collect())
    }

    /// Keeps of all chains' visits near the top (no further below it than `depth`) so many, each the furthest from those before it: a search
    /// leaves hundreds where it took differences, and a fit to all of them would be good there and nowhere else. Returns how many are kept.
    pub fn keep_spread(
        &mut self,
        most: usize,
        depth: f64,
        whiten: impl Fn(&[f64]) -> Vec<f64>,
        exchange: &mut impl Exchange,
    ) -> Result<usize, Error> {
        let all = self.pooled_visits(exchange)?;
        let heights = all.iter().map(|visit| visit.log_marginal);
        let top = heights.fold(f64::NEG_INFINITY, f64::max);
        let near: Vec<Vec<f64>> = all
            .iter()
            .filter(|visit| visit.log_marginal > top - depth)
            .map(|visit| visit.x.clone())
            .collect();
        let white: Vec<Vec<f64>> = near.iter().map(|x| whiten(x)).collect();
        let kept: Vec<&Vec<f64>> = farthest(&white, most).iter().map(|&k| &near[k]).collect();
        // A place that another chain has been at too is kept by both: a fit takes it once.
        self.visits
            .retain(|visit| visit.log_marginal <= top - depth || kept.contains(&&visit.x));
        Ok(kept.len())
    }

    /// The modes that all chains found.
    pub fn pooled_modes(&self, exchange: &mut impl Exchange) -> Result<Vec<Mode>, Error> {
        let (p, d) = (self.state.slow.x.len(), self.state.y.len());
        let numbers = |mode: &Mode| [&mode.x[..], &mode.y[..]].concat();
        let mine: Vec<f64> = self.modes.iter().flat_map(numbers).collect();
        let mode = |row: &[f64]| Mode {
            x: row[..p].to_vec(),
            y: row[p..].to_vec(),
        };
        Ok(exchange
            .gather(&mine)?
            .iter()
            .flat_map(|theirs| theirs.chunks_exact(p + d).map(mode))
            .collect())
    }

    fn note_visits(&mut self) {
        if let Some(visits) = &mut self.work.sightings {
            self.modes.extend(modes_of(visits));
            self.visits.extend(visits.drain(..).filter_map(learned));
        }
    }
}
