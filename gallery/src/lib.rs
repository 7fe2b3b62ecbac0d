//! The gallery: targets with known marginals, sampled with nothing set, and judged.
//!
//! `known` is what a target is, `targets` lists them, `judge` has the true values and z-scores, `runner` samples.

#![deny(missing_docs)]

pub mod estimates;
pub mod judge;
pub mod known;
pub mod runner;
pub mod targets;

pub use known::Known;
pub use runner::{Verdict, judge as run};
