//! A model with somebody beside it: who notes where it is, for how long, and what fails.
//!
//! The kernels see an ordinary target. Fast evaluations are handed on at no cost, not even that of a branch, unless
//! there is a limit on their time or failures are to be counted; whoever takes the step catches a panic.

use super::control::{Control, Watch};
use super::driver::Job;
use super::settings::{OnFailure, Settings};
use crate::error::ModelError;
use crate::instant::Instant;
use crate::store::Looked;
use crate::target::{Helper, OwnFrame, Scratch, Target};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The model of one chain, guarded; evaluation by evaluation only where that is `CLOSE`.
pub(super) struct Guard<'a, M: Target + ?Sized, const CLOSE: bool> {
    model: &'a M,
    chain: usize,
    control: &'a Control,
    watch: &'a Watch,
    timed: bool,
    lenient: bool,
    /// Who makes slow evaluations, where this thread does not: it watches over their time too.
    pub ahead: Option<&'a dyn Ahead<M::Cache>>,
    /// What warm-up has found so far.
    pub looked: Option<Looked>,
    /// Microseconds of the longest slow evaluation.
    slowest: AtomicU64,
    /// Whether a slow evaluation may be refused because the run stops: in warm-up, whose stages are begun anew.
    pub interruptible: AtomicBool,
}

/// Somebody who makes slow evaluations for a chain, several at a time where they are known beforehand.
pub(super) trait Ahead<C> {
    /// As [`Helper::prefetch`].
    fn prefetch(&self, xs: &[&[f64]], likely: &[&[f64]]);

    /// As [`Target::prepare`].
    fn prepare(&self, x: &[f64]) -> Result<Option<C>, ModelError>;

    /// Whether x is ready, or somebody is at it.
    fn is_under_way(&self, x: &[f64]) -> bool;

    /// Nothing more is to be begun of what was foreseen.
    fn cancel(&self);
}

/// What takes less, in microseconds, is sooner made again than written and read.
const WORTH_KEEPING: u64 = 5000;

/// Why a slow evaluation was refused: the run stops.
#[derive(Debug, thiserror::Error)]
#[error("the run was stopped")]
pub(super) struct StopSignal;

impl<'a, M: Target + ?Sized, const CLOSE: bool> Guard<'a, M, CLOSE> {
    /// The model of this chain of a run.
    pub fn of(model: &'a M, chain: usize, job: &'a Job) -> Self {
        let watch = &job.watches[chain];
        let on_failure = Settings::recorded(&job.manifest).on_failure;
        Self {
            model,
            chain,
            control: &job.control,
            watch,
            timed: watch.is_timed(),
            lenient: on_failure == OnFailure::CountAsOutside,
            ahead: None,
            looked: None,
            slowest: AtomicU64::new(0),
            interruptible: AtomicBool::new(false),
        }
    }

    /// Whether no further slow evaluation is to be made.
    fn refuses(&self) -> bool {
        let control = self.control;
        let stopping = || control.should_stop() || control.is_halted() || control.is_late();
        self.watch.is_abandoned() || (self.interruptible.load(Ordering::Relaxed) && stopping())
    }

    /// An evaluation begins or ends.
    #[inline(always)]
    fn tick(&self) {
        if self.timed {
            // This thread alone writes, so no exchange with others is needed.
            let ticks = &self.watch.ticks;
            ticks.store(ticks.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// An evaluation, watched; `None` where it panicked and that is to be counted.
    #[inline(always)]
    fn watched<T>(&self, y: &[f64], work: impl FnOnce() -> T) -> Option<T> {
        if !CLOSE {
            return Some(work());
        }
        self.tick();
        let answer = if self.lenient {
            self.caught(y, work)
        } else {
            Some(work())
        };
        self.tick();
        answer
    }

    #[inline(never)]
    fn caught<T>(&self, y: &[f64], work: impl FnOnce() -> T) -> Option<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(answer) => Some(answer),
            Err(panic) => {
                let message = format!("the model panicked: {}", message(&*panic));
                self.watch.note_failure(self.chain, y, message);
                None
            }
        }
    }

    /// What no number counts as.
    #[inline(always)]
    fn sound(&self, y: &[f64], value: f64) -> f64 {
        if CLOSE && self.lenient && (value.is_nan() || value == f64::INFINITY) {
            let message = format!("the log density is {value}");
            self.watch.note_failure(self.chain, y, message);
            return f64::NEG_INFINITY;
        }
        value
    }

    fn judged<T>(
        &self,
        y: &[f64],
        answer: Option<Result<Option<T>, ModelError>>,
    ) -> Result<Option<T>, ModelError> {
        match answer {
            None => Ok(None),
            Some(Err(error)) if self.lenient => {
                self.watch.note_failure(self.chain, y, error.to_string());
                Ok(None)
            }
            Some(answer) => answer,
        }
    }
}

/// The words of a panic.
pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

impl<M: Target + ?Sized, const CLOSE: bool> Target for Guard<'_, M, CLOSE> {
    type Cache = M::Cache;

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        // What is paid for is taken, and noted by whoever asked.
        if self.refuses() && !self.is_under_way(x) {
            return Err(Box::new(StopSignal));
        }
        self.watch.note_x(x);
        self.watch.slow_evaluations.fetch_add(1, Ordering::Relaxed);
        let begun = self.looked.as_ref().map(|_| Instant::now());
        let answer = match self.ahead {
            Some(ahead) if self.lenient => self.caught(&[], || ahead.prepare(x)),
            Some(ahead) => Some(ahead.prepare(x)),
            None => self.watched(&[], || self.model.prepare(x)),
        };
        // Of those that were ready nothing was left to wait for; their batch had one that was not.
        if let Some(begun) = begun {
            let took = begun.elapsed().as_micros() as u64;
            self.slowest.fetch_max(took, Ordering::Relaxed);
        }
        self.judged(&[], answer)
    }

    fn helper(&self) -> Option<&dyn Helper> {
        Some(self)
    }

    #[inline(always)]
    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        let value = self.watched(y, || self.model.log_density(cache, y));
        self.sound(y, value.unwrap_or(f64::NEG_INFINITY))
    }

    #[inline(always)]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        let value = self.watched(y, || self.model.log_density_in(cache, y, scratch));
        self.sound(y, value.unwrap_or(f64::NEG_INFINITY))
    }

    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let done = self.watched(&[], || {
            self.model.log_density_batch(cache, ys, out, scratch);
        });
        if !CLOSE {
            return;
        }
        let dim = ys.len().checked_div(out.len()).unwrap_or(0);
        for (k, value) in out.iter_mut().enumerate() {
            *value = match done {
                Some(()) => self.sound(&ys[k * dim..(k + 1) * dim], *value),
                None => f64::NEG_INFINITY,
            };
        }
    }

    fn is_vectorised(&self) -> bool {
        self.model.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        match self.watched(y, || self.model.gradient(cache, y, gradient, scratch)) {
            Some(value) => value.map(|value| self.sound(y, value)),
            None => {
                gradient.fill(0.0);
                Some(f64::NEG_INFINITY)
            }
        }
    }

    fn curvature(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        curvature: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        self.watched(y, || self.model.curvature(cache, y, curvature, scratch))
            .unwrap_or(false)
    }

    fn slow_covariance(&self) -> Option<&[f64]> {
        self.model.slow_covariance()
    }

    fn has_own_frame(&self) -> bool {
        self.model.has_own_frame()
    }

    fn own_frame(
        &self,
        cache: &Self::Cache,
        hint: &[f64],
        scratch: &mut Scratch,
    ) -> Option<OwnFrame> {
        self.watched(&[], || self.model.own_frame(cache, hint, scratch))
            .flatten()
    }

    fn blocks(&self) -> &[usize] {
        self.model.blocks()
    }

    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let answer = self.watched(head, || self.model.refine(cache, head));
        self.judged(head, answer)
    }
}

impl<M: Target + ?Sized, const CLOSE: bool> Helper for Guard<'_, M, CLOSE> {
    fn prefetch(&self, xs: &[&[f64]], likely: &[&[f64]]) {
        let Some(ahead) = self.ahead.filter(|_| !self.refuses()) else {
            return;
        };
        ahead.prefetch(xs, likely);
    }

    fn is_under_way(&self, x: &[f64]) -> bool {
        let Some(ahead) = self.ahead else {
            return false;
        };
        ahead.cancel();
        ahead.is_under_way(x)
    }

    fn recall(&self, rule: u64, x: &[f64]) -> Option<Vec<u8>> {
        self.looked.as_ref()?.get(rule, x)
    }

    fn has_seen(&self, x: &[f64]) -> bool {
        self.looked.as_ref().is_some_and(|looked| looked.has(x))
    }

    fn remembers(&self) -> bool {
        self.looked.is_some() && self.slowest.load(Ordering::Relaxed) > WORTH_KEEPING
    }

    fn note(&self, rule: u64, x: &[f64], found: Vec<u8>) {
        if let Some(looked) = &self.looked {
            // A disk that is full will say so where a stage is stored; here it costs only time if the run is killed.
            let _ = looked.keep(rule, x, found);
        }
    }
}
