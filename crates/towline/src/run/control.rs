//! What chains, the one who waits for them and the one who stops them know of each other.

use super::open;
use super::progress::ChainProgress;
use crate::error::Error;
use crate::store::Failure;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Whether a run is to go on.
#[derive(Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    halt: AtomicBool,
    deadline: Option<Instant>,
}

impl Control {
    /// A run that stops when `stop` is set, or after so long.
    pub fn new(stop: Arc<AtomicBool>, time_limit: Option<Duration>) -> Self {
        Self {
            stop,
            halt: AtomicBool::new(false),
            // A limit beyond what a clock can tell is none.
            deadline: time_limit.and_then(|limit| Instant::now().checked_add(limit)),
        }
    }

    /// Says stop, for somebody who said so elsewhere.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends all chains after their current step, because one has failed.
    pub fn halt(&self) {
        self.halt.store(true, Ordering::Relaxed);
    }

    /// Whether a chain has failed.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
    }

    /// Whether somebody said stop.
    #[inline]
    pub fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the run is to end for whatever reason, so that no slow evaluation need be begun any more.
    pub(super) fn is_stopping(&self) -> bool {
        self.should_stop() || self.is_halted() || self.is_late()
    }

    /// Whether the time is up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|at| Instant::now() >= at)
    }
}

/// What is seen of a chain from outside.
#[derive(Debug)]
pub struct Watch {
    limit: Option<Duration>,
    /// Odd while an evaluation is under way, and another number at each.
    pub(super) ticks: AtomicU64,
    seen: Mutex<(u64, Instant)>,
    abandoned: AtomicBool,
    x: Mutex<Vec<f64>>,
    failed: AtomicU64,
    waiting: Mutex<Vec<Failure>>,
    pub(super) slow_evaluations: AtomicU64,
    progress: Mutex<ChainProgress>,
}

impl Watch {
    /// Of a chain whose evaluations may take so long.
    pub fn new(limit: Option<Duration>) -> Self {
        Self {
            limit,
            ticks: AtomicU64::new(0),
            seen: Mutex::new((0, Instant::now())),
            abandoned: AtomicBool::new(false),
            x: Mutex::default(),
            failed: AtomicU64::new(0),
            waiting: Mutex::default(),
            slow_evaluations: AtomicU64::new(0),
            progress: Mutex::default(),
        }
    }

    /// Whether evaluations have a limit.
    pub(super) fn is_timed(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether the same evaluation has been under way for longer than the limit. To be asked again and again.
    pub fn hangs(&self) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let now = self.ticks.load(Ordering::Relaxed);
        let mut seen = open(&self.seen);
        if seen.0 != now || now.is_multiple_of(2) {
            *seen = (now, Instant::now());
        }
        seen.1.elapsed() > limit
    }

    /// Gives the chain up: if its evaluation ever ends, it must not write any more. Returns whether nobody did so before.
    pub(super) fn abandon(&self) -> bool {
        !self.abandoned.swap(true, Ordering::Relaxed)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    /// The failure of a chain whose evaluation [`hangs`](Self::hangs).
    pub fn too_long(&self, chain: usize) -> Error {
        Error::TooLong {
            chain,
            x: self.x(),
            seconds: self
                .limit
                .map_or(f64::INFINITY, |limit| limit.as_secs_f64()),
        }
    }

    /// The x that was shown to the model last.
    pub(super) fn x(&self) -> Vec<f64> {
        open(&self.x).clone()
    }

    pub(super) fn note_x(&self, x: &[f64]) {
        let mut last = open(&self.x);
        last.clear();
        last.extend_from_slice(x);
    }

    /// Counts a failure that does not end the chain.
    #[cold]
    pub(super) fn note_failure(&self, chain: usize, y: &[f64], message: String) {
        /// The most that are logged of one chain between two checkpoints: a log must not fill the disk.
        const MOST: usize = 100;
        self.failed.fetch_add(1, Ordering::Relaxed);
        let mut waiting = open(&self.waiting);
        if waiting.len() < MOST {
            let failure = Failure::new(chain, self.draws(), &self.x(), y, message);
            waiting.push(failure);
        }
    }

    /// Takes over failures that somebody else has noted for the chain.
    pub(super) fn take_over(&self, failed: u64, failures: Vec<Failure>) {
        self.failed.fetch_add(failed, Ordering::Relaxed);
        open(&self.waiting).extend(failures);
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn set_failed(&self, count: u64) {
        self.failed.store(count, Ordering::Relaxed);
    }

    pub(super) fn take_failures(&self) -> Vec<Failure> {
        std::mem::take(&mut open(&self.waiting))
    }

    pub(super) fn show(&self, change: impl FnOnce(&mut ChainProgress)) {
        change(&mut open(&self.progress));
    }

    pub(super) fn draws(&self) -> u64 {
        open(&self.progress).draws
    }

    /// Shows what another process has seen of a chain of its own.
    pub(super) fn mirror(&self, seen: ChainProgress) {
        self.slow_evaluations
            .store(seen.slow_evaluations, Ordering::Relaxed);
        self.set_failed(seen.failures);
        self.show(|progress| *progress = seen);
    }

    pub(super) fn progress(&self) -> ChainProgress {
        let mut progress = open(&self.progress).clone();
        progress.slow_evaluations = self.slow_evaluations.load(Ordering::Relaxed);
        progress.failures = self.failed();
        progress
    }
}
