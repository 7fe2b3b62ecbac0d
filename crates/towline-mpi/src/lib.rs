//! MPI's ranks as the processes of a run: for the command `towline-mpi`, and for programs with a model of their own.
//!
//! ```no_run
//! # use towline::{Column, Model, ModelError, Rng, Role, Target};
//! # struct Mine;
//! # impl Target for Mine {
//! #     type Cache = ();
//! #     fn prepare(&self, _: &[f64]) -> Result<Option<()>, ModelError> { Ok(Some(())) }
//! #     fn log_density(&self, _: &(), _: &[f64]) -> f64 { 0.0 }
//! # }
//! # impl Model for Mine {
//! #     fn columns(&self) -> Vec<Column> { Vec::new() }
//! #     fn report(&self, _: &[f64], _: &[f64], _: &(), _: &mut [f64]) {}
//! #     fn start(&self, _: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> { Ok((vec![], vec![])) }
//! # }
//! use std::sync::Arc;
//! use towline::run::{Run, Settings};
//!
//! fn main() -> std::process::ExitCode {
//!     towline_mpi::main(|ranks| {
//!         let model = Arc::new(Mine);
//!         let settings = Settings { chains: ranks.ranks(), ..Settings::default() };
//!         let make = || Run::create("mine".as_ref(), Arc::clone(&model), "mine".into(), settings);
//!         Run::among(ranks, &model, make)?.go_among(ranks, Arc::default(), &mut |_| ())?;
//!         Ok(())
//!     })
//! }
//! ```

mod post;

pub use post::World;

use mpi::Threading;
use mpi::traits::Communicator;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use towline::Error;
use towline::run::Ranks;

/// Does some work in every rank; they part when all have done it. The leading rank says what went wrong, and its exit code tells.
pub fn main(work: impl FnOnce(&mut Ranks) -> Result<(), Error>) -> ExitCode {
    with_ranks(|ranks| {
        let outcome = work(ranks);
        let why = outcome.err().map(|error| error.to_string());
        let failed = ranks.leads() && why.is_some();
        if let Some(why) = why.as_ref().filter(|_| failed) {
            eprintln!("error: {why}");
        }
        match ranks.farewell(why) {
            Ok(()) if !failed => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    })
}

/// Starts MPI, does some work that ends in a [farewell](Ranks::farewell), and ends MPI; a panic ends all ranks.
pub fn with_ranks(work: impl FnOnce(&mut Ranks) -> ExitCode) -> ExitCode {
    // Chains have threads of their own; letters are carried by this one alone.
    let Some((universe, threading)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("error: MPI was started already");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    if threading < Threading::Funneled {
        eprintln!("error: this MPI cannot be used by programs with threads: build it with them");
        world.abort(1);
    }
    let work = || work(&mut Ranks::new(Box::new(World::new(universe.world()))));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        // The panic has said what was wrong. The others must not wait for this rank.
        world.abort(101)
    })
}
