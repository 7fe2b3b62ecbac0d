//! How far a run is, for whoever looks on.

use super::driver::Job;
use crate::kernel::info::Info;
use crate::store::Batches;
use serde::{Deserialize, Serialize};

/// How far a run is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Each chain.
    pub chains: Vec<ChainProgress>,
    /// How many draws of each are asked for.
    pub draws: u64,
    /// How far slow points are, where these are weighed.
    pub weighing: Option<WeighingProgress>,
}

/// How far slow points are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeighingProgress {
    /// Slow evaluations that learning took.
    pub learned: u64,
    /// Points that are weighed.
    pub points: usize,
    /// Points that are expected to be needed, as far as is known.
    pub planned: usize,
    /// The largest standard error of a slow parameter at the last look, in its standard deviations.
    pub error: Option<f64>,
    /// What is asked for.
    pub asked: f64,
}

/// How far a chain is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ChainProgress {
    /// What it is doing.
    pub phase: Phase,
    /// Its draws, those of earlier sessions included.
    pub draws: u64,
    /// Draws that were there when this session began.
    pub draws_before: u64,
    /// Acceptances and evaluations of its draws.
    pub totals: Info,
    /// Slow evaluations in this session, of warm-up too.
    pub slow_evaluations: u64,
    /// Seconds that this session has spent on its draws.
    pub seconds: f64,
    /// Evaluations that failed and were counted as outside the support.
    pub failures: u64,
    /// A digest of its draws.
    pub batches: Batches,
}

/// What a chain is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It has not begun.
    #[default]
    Waiting,
    /// Warm-up; so many stages are done.
    WarmingUp(usize),
    /// Draws are made.
    Sampling,
    /// It has ended.
    Done,
}

impl Progress {
    /// The worst R-hat and the least effective sample size of any column, as far as they can be told.
    pub fn worst(&self) -> (f64, f64) {
        let batches: Vec<&Batches> = self.chains.iter().map(|chain| &chain.batches).collect();
        let estimates = Batches::estimates(&batches);
        let rhat = estimates.iter().map(|e| e.rhat).fold(f64::NAN, f64::max);
        let ess = estimates.iter().map(|e| e.ess).fold(f64::NAN, f64::min);
        (rhat, ess)
    }
}

impl Job {
    /// How far the run is.
    pub fn progress(&self) -> Progress {
        Progress {
            chains: self.watches.iter().map(|watch| watch.progress()).collect(),
            draws: self.manifest.draws,
            weighing: None,
        }
    }
}
