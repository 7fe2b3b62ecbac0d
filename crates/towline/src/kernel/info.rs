//! What only a reader needs of a step: acceptances and evaluations spent.

use serde::{Deserialize, Serialize};

/// What happened in one step, or (added up) in many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// Proposals of a new x.
    pub outer_proposed: u64,
    /// Proposals of a new x that were accepted.
    pub outer_accepted: u64,
    /// Proposals of a new y at fixed x, or along a drag.
    pub inner_proposed: u64,
    /// Such proposals that were accepted.
    pub inner_accepted: u64,
    /// Calls of [`Target::prepare`](crate::Target::prepare).
    pub slow_evaluations: u64,
    /// Calls of [`Target::refine`](crate::Target::refine) that gave a cache.
    pub medium_evaluations: u64,
    /// Evaluations of the log density at a prepared x (a drag needs two for every inner move).
    pub fast_evaluations: u64,
    /// Proposals of a new x in a Laplace frame.
    pub framed_proposed: u64,
    /// Searches for a Laplace frame.
    pub frame_searches: u64,
    /// Such searches that found no mode, so that the linear frame stood in.
    pub frame_failures: u64,
    /// The logarithm of the last outer acceptance ratio; −∞ where the proposal had no mass.
    pub log_ratio: f64,
    /// Which kernel of a mix made the step, from 1; 0 where there was none to choose from, and in sums.
    #[serde(skip)]
    pub part: u32,
}

impl Info {
    /// The share of outer proposals that were accepted.
    pub fn outer_acceptance(&self) -> f64 {
        self.outer_accepted as f64 / self.outer_proposed as f64
    }

    /// The share of inner proposals that were accepted.
    pub fn inner_acceptance(&self) -> f64 {
        self.inner_accepted as f64 / self.inner_proposed as f64
    }
}

impl std::ops::AddAssign for Info {
    fn add_assign(&mut self, other: Self) {
        self.outer_proposed += other.outer_proposed;
        self.outer_accepted += other.outer_accepted;
        self.inner_proposed += other.inner_proposed;
        self.inner_accepted += other.inner_accepted;
        self.slow_evaluations += other.slow_evaluations;
        self.medium_evaluations += other.medium_evaluations;
        self.fast_evaluations += other.fast_evaluations;
        self.framed_proposed += other.framed_proposed;
        self.frame_searches += other.frame_searches;
        self.frame_failures += other.frame_failures;
        if other.outer_proposed > 0 {
            self.log_ratio = other.log_ratio;
        }
    }
}
