//! Towline samples posteriors with slow and fast variables: changing a *slow* one costs a long
//! computation, changing a *fast* one hardly anything once that is done.
//!
//! The method is Radford Neal's "Taking Bigger Metropolis Steps by Dragging Fast Variables"
//! (2004). The state is (x, y), x slow and y fast; a new x is proposed, y is dragged along through
//! intermediate distributions at the price of fast evaluations only, and the whole is accepted or
//! rejected. We write ℓ(x, y) for the log density, `log_density` everywhere; the paper's
//! energy E is its negative.
//!
//! The paper's first example, with nothing set by hand:
//!
//! ```
//! use towline::{Chain, ModelError, Rng, Target, Warmup};
//! struct Neal1; // the report's first example: sin(x) stands for a long computation
//! impl Target for Neal1 {
//!     type Cache = (f64, f64);
//!     fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
//!         Ok(Some((x[0], x[0].sin()))) // slow
//!     }
//!     fn log_density(&self, &(x, sin_x): &(f64, f64), y: &[f64]) -> f64 {
//!         -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - sin_x).powi(2) // fast
//!     }
//! }
//!
//! fn main() -> Result<(), towline::Error> {
//!     let mut rng = Rng::stream(1, 0);
//!     let warm = Warmup::default().run(&Neal1, &[2.0], &[0.0], &mut rng)?;
//!     let mut chain = Chain::new(Neal1, warm.tuning.kernel()?, &warm.x, &warm.y, rng)?;
//!     let mut squares = 0.0;
//!     for _ in 0..20_000 {
//!         chain.advance()?;
//!         squares += chain.x()[0].powi(2);
//!     }
//!     println!("variance of x: {:.2} (exactly 0.32)", squares / 20_000.0);
//!     Ok(())
//! }
//! ```
//!
//! The same with everything set by hand, as in the paper:
//!
//! ```
//! use std::ops::ControlFlow;
//! use towline::{Chain, Drag, Draw, Factor, FastMove, ModelError, RandomWalk, Rng, SlowProposal, Target};
//!
//! struct Neal1;
//! impl Target for Neal1 {
//!     type Cache = (f64, f64);
//!     fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
//!         Ok(Some((x[0], x[0].sin()))) // the slow part
//!     }
//!     fn log_density(&self, &(x, sin_x): &(f64, f64), y: &[f64]) -> f64 {
//!         -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - sin_x).powi(2)
//!     }
//! }
//!
//! let inner = RandomWalk::new(Factor::diagonal(&[0.2], "inner steps")?);
//! let drag = Drag::new(20, SlowProposal::random_walk(&[1.0])?, FastMove::RandomWalk(inner))?;
//! let mut chain = Chain::new(Neal1, drag, &[0.0], &[0.0], Rng::stream(1, 0))?;
//! let mut xs = Vec::new();
//! chain.run(20_000, |draw: &Draw| { xs.push(draw.x[0]); ControlFlow::Continue(()) })?;
//! let variance = xs.iter().map(|x| x * x).sum::<f64>() / xs.len() as f64;
//! println!("variance of x: {variance:.2}, accepted {:.2}", chain.totals().outer_acceptance());
//! # assert!((variance - 0.319).abs() < 0.12);
//! # Ok::<(), towline::Error>(())
//! ```
//!
//! To follow the path of one number, read the files in this order: `target` (what a user writes),
//! `frame`, `fast::density` (what a move sees of it), `fast::moves`, `fast::path`, `kernel::passage`, `kernel::drag`,
//! `chain`.

#![deny(missing_docs)]

pub mod chain;
pub mod diagnose;
pub mod erased;
mod error;
pub mod estimate;
#[cfg(test)]
mod exactness;
pub mod fast;
pub mod frame;
mod instant;
pub mod kernel;
pub mod linalg;
mod model;
mod optimise;
pub mod posterior;
mod prior;
mod random;
pub mod report;
pub mod run;
pub mod slow;
pub mod store;
mod target;
#[cfg(test)]
mod testing;
pub mod warmup;

// Thirty names at most, those that most programs need; the rest is one module down.
pub use chain::{Chain, Draw, Exchange, Snapshot};
pub use error::{Error, ModelError};
pub use fast::{FastMove, RandomWalk};
pub use frame::FrameRule;
pub use kernel::{Drag, FastOnly, Info, Kernel};
pub use linalg::Factor;
pub use model::{Column, Model, Role};
pub use posterior::{Likelihood, Parameter, Posterior};
pub use prior::Prior;
pub use random::Rng;
pub use report::RunSummary;
pub use slow::SlowProposal;
pub use target::{OwnFrame, Scratch, Target};
pub use warmup::{Cost, Tuning, Warmup};

/// README's examples, compiled and run with the others.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
