//! The command `towline` as a library, for the programs that are it and something more (MPI, Python):
//! flags become a plan, a plan is carried out, and what went wrong becomes an exit code.

mod builtin;
mod cli;
mod export;
pub mod failure;
pub mod fit;
mod map;
mod paper;
pub mod predict;
pub mod registry;
pub mod report;
mod resume;
mod run;
mod runs;
pub mod sampling;
pub mod summary;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

/// Carries out a command line, the program's name first, and answers its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = Cli::try_parse_from(arguments).unwrap_or_else(|refused| refused.exit());
    let outcome = match cli.command {
        Command::Paper(options) => paper::Plan::new(options)
            .map_err(Failure::Options)
            .and_then(|plan| paper::run(&plan).map_err(Failure::Run)),
        Command::Summary(options) => summary::run(&options).map_err(Failure::Run),
        Command::Report(options) => report::run(&options).map_err(Failure::Run),
        Command::Export(options) => export::run(&options).map_err(Failure::Run),
        Command::Fit(options) => fit::run(*options),
        Command::Map(options) => map::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Run(options) => run::run(options),
        Command::Resume(options) => resume::run(&options),
    };
    outcome.map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}
