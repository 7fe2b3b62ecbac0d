//! One chain: a target, a kernel, a state and a generator.

pub(crate) mod ahead;
pub(crate) mod exchange;
pub(crate) mod health;
pub(crate) mod parts;

pub use exchange::{Exchange, Solo};
pub use health::{Ailment, AilmentKind, FrameHealth};
pub use parts::{Coverage, Drift, MixRecord};

use crate::error::Error;
use crate::fast::nested::refine;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace};
use crate::kernel::{Kernel, SeenDrag};
use crate::random::Rng;
use crate::target::Target;
use ahead::StepStreams;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// A Markov chain on a target.
#[derive(Debug)]
pub struct Chain<T: Target> {
    target: T,
    kernel: Kernel,
    state: State<T::Cache>,
    work: Workspace,
    rng: Rng,
    /// Where each step has random numbers of its own.
    streams: Option<StepStreams>,
    steps: u64,
    totals: Info,
    health: Option<FrameHealth>,
    parts: Option<MixRecord>,
    recomputed: Option<[f64; 2]>,
}

/// Everything needed to go on with a chain, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Steps taken so far.
    pub steps: u64,
    /// The slow variables.
    pub x: Vec<f64>,
    /// The fast variables.
    pub y: Vec<f64>,
    /// The log density there, to see on resume that the model is the same.
    pub log_density: f64,
    /// The generator.
    pub rng: Rng,
    /// The kernel.
    pub kernel: Kernel,
    /// Acceptances and evaluations of all steps so far.
    pub totals: Info,
    /// Which frames are known at x: looking for them again is not to be counted again.
    pub frames: Vec<u64>,
    /// The leading values of y for which there are refined caches, those of fewer blocks first.
    #[serde(default)]
    pub refined: Vec<Vec<f64>>,
}

/// Where a chain stands, without its kernel: what changes from step to step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// Steps taken so far.
    pub steps: u64,
    /// The slow variables.
    pub x: Vec<f64>,
    /// The fast variables.
    pub y: Vec<f64>,
    /// The log density there, to see on resume that the model is the same.
    pub log_density: f64,
    /// The generator.
    pub rng: Rng,
    /// Acceptances and evaluations of all steps so far.
    pub totals: Info,
    /// Which frames are known at x: looking for them again is not to be counted again.
    pub frames: Vec<u64>,
    /// The leading values of y for which there are refined caches, those of fewer blocks first: making them again is not to
    /// be counted again.
    #[serde(default)]
    pub refined: Vec<Vec<f64>>,
}

/// A resumed chain's log density may differ from the recorded one by this share of it: another machine, or another version of
/// a library, rounds differently.
const ROUNDING: f64 = 1e-9;

impl Position {
    /// With the kernel that moves it: everything needed to go on.
    pub fn with(self, kernel: Kernel) -> Snapshot {
        Snapshot {
            steps: self.steps,
            x: self.x,
            y: self.y,
            log_density: self.log_density,
            rng: self.rng,
            kernel,
            totals: self.totals,
            frames: self.frames,
            refined: self.refined,
        }
    }
}

/// A step as an observer sees it.
#[derive(Debug, Clone, Copy)]
pub struct Draw<'a> {
    /// The number of this step, from 1.
    pub step: u64,
    /// The slow variables.
    pub x: &'a [f64],
    /// The fast variables.
    pub y: &'a [f64],
    /// The log density.
    pub log_density: f64,
    /// What happened in the step.
    pub info: Info,
}

/// Watches a chain, and may stop it. Every closure of the right form is one.
pub trait Observer {
    /// Sees a draw; returns whether to continue.
    fn observe(&mut self, draw: &Draw<'_>) -> ControlFlow<()>;
}

impl<F: FnMut(&Draw<'_>) -> ControlFlow<()>> Observer for F {
    fn observe(&mut self, draw: &Draw<'_>) -> ControlFlow<()> {
        self(draw)
    }
}

impl<T: Target> Chain<T> {
    /// A chain from a start. Chains of one run share a seed and have different streams.
    ///
    /// # Errors
    /// Where the kernel does not fit, the start has no mass, or the model fails there.
    pub fn new(
        target: T,
        kernel: impl Into<Kernel>,
        x: &[f64],
        y: &[f64],
        rng: Rng,
    ) -> Result<Self, Error> {
        let kernel = kernel.into();
        kernel.validate(x, y)?;
        kernel.check_blocks(target.blocks())?;
        let mut work = Workspace::new(x.len(), y.len());
        let state = State::new(&target, x.to_vec(), y.to_vec(), &mut work.buffers)?;
        if let Some(what) = kernel.needs_gradient().filter(|_| !y.is_empty()) {
            let mut gradient = vec![0.0; y.len()];
            let scratch = &mut work.buffers.scratch;
            if target
                .gradient(&state.slow.cache, y, &mut gradient, scratch)
                .is_none()
            {
                return Err(Error::NoGradient { what });
            }
        }
        Ok(Self {
            target,
            kernel,
            state,
            work,
            rng,
            streams: None,
            steps: 0,
            totals: Info {
                slow_evaluations: 1,
                fast_evaluations: 1,
                ..Info::default()
            },
            health: None,
            parts: None,
            recomputed: None,
        })
    }

    /// Takes one step.
    ///
    /// # Errors
    /// The model's failure, or a log density that is no number. The chain is then still at a point of
    /// its target, but its generator has moved on: for the same bits, resume an earlier snapshot.
    pub fn advance(&mut self) -> Result<Info, Error> {
        self.begin_step();
        let info =
            self.kernel
                .step(&self.target, &mut self.state, &mut self.work, &mut self.rng)?;
        self.steps += 1;
        self.totals += info;
        self.watch(&info);
        Ok(info)
    }

    #[inline]
    fn begin_step(&mut self) {
        if let Some(streams) = self.streams {
            self.rng = streams.of(self.steps);
        }
    }

    /// From now on each step has random numbers of its own.
    pub(crate) fn with_steps(mut self, streams: StepStreams) -> Self {
        self.streams = Some(streams);
        self
    }

    /// Tells whoever helps which so many slow evaluations come next, most likely.
    pub(crate) fn look_ahead(&self, count: usize) {
        let (Some(streams), Some(helper)) = (self.streams, self.target.helper()) else {
            return;
        };
        // About as often as so far, and before there is a so far, as often as learned proposals are.
        let Info {
            outer_accepted,
            outer_proposed,
            ..
        } = self.totals;
        let acceptance = (8 + outer_accepted) as f64 / (10 + outer_proposed) as f64;
        let x = &self.state.slow.x;
        let places = streams.likely(&self.kernel, x, self.steps, acceptance, count);
        let places: Vec<&[f64]> = places.iter().map(Vec::as_slice).collect();
        helper.prefetch(&places, &[]);
    }

    /// What is kept of a step for the reports on frames and kernels.
    #[inline]
    fn watch(&mut self, info: &Info) {
        if let Some(health) = &mut self.health {
            health.note(&self.work.x, &self.state.slow.x, info);
        }
        if let Some(parts) = &mut self.parts {
            parts.note(&self.state.slow.x, info);
        }
    }

    /// Takes one step, and returns the path of its drag too (the first one's, where a step has several): for pictures of the method.
    /// The draws are those of [`advance`](Self::advance), to the bit.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub fn advance_seen(&mut self) -> Result<(Info, Option<SeenDrag>), Error> {
        self.begin_step();
        let (state, work) = (&mut self.state, &mut self.work);
        let (info, seen) = self
            .kernel
            .step_seen(&self.target, state, work, &mut self.rng)?;
        self.steps += 1;
        self.totals += info;
        self.watch(&info);
        Ok((info, seen))
    }

    /// Takes so many steps, or fewer if the observer says stop; returns how many.
    ///
    /// # Errors
    /// [`Error::ZeroIterations`], and what [`advance`](Self::advance) may return.
    pub fn run(&mut self, steps: u64, mut observer: impl Observer) -> Result<u64, Error> {
        if steps == 0 {
            return Err(Error::ZeroIterations);
        }
        for taken in 1..=steps {
            let info = self.advance()?;
            let draw = Draw {
                step: self.steps,
                x: &self.state.slow.x,
                y: &self.state.y,
                log_density: self.state.log_density,
                info,
            };
            if observer.observe(&draw).is_break() {
                return Ok(taken);
            }
        }
        Ok(steps)
    }

    /// Watches from now on whether frames work everywhere; see [`FrameHealth::ailments`].
    #[must_use]
    pub fn watching(mut self, health: FrameHealth) -> Self {
        self.health = Some(health);
        self
    }

    /// What was seen of the frames' health, if it was watched.
    pub fn health(&self) -> Option<&FrameHealth> {
        self.health.as_ref()
    }

    /// Records from now on what each kernel of a mix does; see [`MixRecord::drifts`].
    #[must_use]
    pub fn comparing(mut self, mut parts: MixRecord) -> Self {
        parts.begin(&self.state.slow.x);
        self.parts = Some(parts);
        self
    }

    /// What each kernel of a mix did, if it was recorded.
    pub fn parts(&self) -> Option<&MixRecord> {
        self.parts.as_ref()
    }

    /// The slow variables.
    pub fn x(&self) -> &[f64] {
        &self.state.slow.x
    }

    /// The fast variables.
    pub fn y(&self) -> &[f64] {
        &self.state.y
    }

    /// What the slow computation at x left behind.
    pub fn cache(&self) -> &T::Cache {
        &self.state.slow.cache
    }

    /// The log density at (x, y).
    pub fn log_density(&self) -> f64 {
        self.state.log_density
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Acceptances and evaluations of all steps so far, the start's included.
    pub fn totals(&self) -> Info {
        self.totals
    }

    /// The kernel.
    #[cfg(test)]
    pub(crate) fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The target.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// Everything needed to go on later.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            steps: self.steps,
            x: self.state.slow.x.clone(),
            y: self.state.y.clone(),
            log_density: self.state.log_density,
            rng: self.rng.clone(),
            kernel: self.kernel.clone(),
            totals: self.totals,
            frames: self.frames().collect(),
            refined: self.refined(),
        }
    }

    /// Where the chain stands.
    pub fn position(&self) -> Position {
        Position {
            steps: self.steps,
            x: self.state.slow.x.clone(),
            y: self.state.y.clone(),
            log_density: self.state.log_density,
            rng: self.rng.clone(),
            totals: self.totals,
            frames: self.frames().collect(),
            refined: self.refined(),
        }
    }

    /// Which frames are known at x.
    fn frames(&self) -> impl Iterator<Item = u64> {
        self.state.slow.frames.iter().map(|placed| placed.key)
    }

    /// The leading values of y for which there are refined caches.
    fn refined(&self) -> Vec<Vec<f64>> {
        refine::heads(&self.state.slow.kept)
    }

    /// The same into an earlier position of this chain, without allocating: cheap enough for every step.
    pub fn note_position(&self, position: &mut Position) {
        position.steps = self.steps;
        position.x.copy_from_slice(&self.state.slow.x);
        position.y.copy_from_slice(&self.state.y);
        position.log_density = self.state.log_density;
        position.rng.clone_from(&self.rng);
        position.totals = self.totals;
        position.frames.clear();
        position.frames.extend(self.frames());
        position.refined.clear();
        if self.state.slow.kept.is_some() {
            position.refined = self.refined();
        }
    }

    /// Continues from a snapshot, to the same bits as if there had been no interruption.
    ///
    /// Where the model's log density differs from the recorded one in its last digits, the chain continues with what it is now,
    /// and [`recomputed`](Self::recomputed) says so: its draws are as good, and no longer the same bits.
    ///
    /// # Errors
    /// [`Error::ModelChanged`] where the model no longer gives the recorded log density; else as
    /// [`new`](Self::new).
    pub fn resume(target: T, snapshot: Snapshot) -> Result<Self, Error> {
        let Snapshot {
            steps,
            x,
            y,
            log_density,
            rng,
            kernel,
            totals,
            frames,
            refined,
        } = snapshot;
        let mut chain = Self::new(target, kernel, &x, &y, rng)?;
        let computed = chain.state.log_density;
        if computed.to_bits() != log_density.to_bits() {
            let apart = (computed - log_density).abs();
            // Not ≤ alone: NaN is apart.
            // NaN is not near anything.
            if apart.is_nan() || apart > ROUNDING * log_density.abs().max(1.0) {
                return Err(Error::ModelChanged {
                    recorded: log_density,
                    computed,
                });
            }
            chain.recomputed = Some([log_density, computed]);
        }
        for rule in chain.kernel.frame_rules() {
            if frames.contains(&rule.key()) {
                let (slow, work) = (&mut chain.state.slow, &mut chain.work);
                rule.place(&chain.target, slow, work, &mut Info::default());
            }
        }
        let slow = &mut chain.state.slow;
        slow.kept = refine::again(&chain.target, &slow.x, &slow.cache, &refined)?;
        chain.steps = steps;
        chain.totals = totals;
        Ok(chain)
    }

    /// The recorded log density and what the model gave instead, where a resumed chain found them to differ in the last digits.
    pub fn recomputed(&self) -> Option<[f64; 2]> {
        self.recomputed
    }
}
