//! The command `towline` as a library, for the programs that are it and something more (MPI, Python):
//! flags become a plan, a plan is carried out, and what went wrong becomes an exit code.

pub mod check;
mod cli;
pub mod compare;
mod completions;
mod demo;
mod doctor;
pub mod effects;
mod evidence;
pub mod export;
pub mod failure;
pub mod fit;
mod manual;
pub mod map;
mod paper;
mod posterior;
pub mod predict;
pub mod registry;
pub mod report;
mod resume;
mod run;
pub mod runs;
pub mod sampling;
pub mod summary;
mod watch;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::ffi::OsString;
use std::process::ExitCode;
use towline::run::Ranks;
use towline_models::neal as builtin;

/// Carries out a command line, the program's name first, and returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    main_among(arguments, &mut Ranks::alone())
}

/// The same in each of several processes: they sample together, and the one that leads does all the rest and
/// does the talking. Only its exit code says how it went.
pub fn main_among(arguments: impl IntoIterator<Item = OsString>, ranks: &mut Ranks) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match completions::answered(&arguments) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(refused) => return Failure::Usage(refused).report(),
    }
    let outcome = match Cli::try_parse_from(arguments) {
        Ok(cli) if ranks.leads() || cli.command.samples() => carry_out(cli.command, ranks),
        Ok(_) => Ok(()),
        Err(refused) => Err(Failure::Usage(refused)),
    };
    let why = outcome.as_ref().err().map(Failure::words);
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if ranks.leads() => failure.report(),
        Err(_) => ExitCode::SUCCESS,
    };
    match ranks.farewell(why) {
        Ok(()) => code,
        Err(error) => Failure::Run(error.into()).report(),
    }
}

fn carry_out(command: Command, ranks: &mut Ranks) -> Result<(), Failure> {
    match command {
        Command::Paper(options) => paper::Plan::new(options)
            .map_err(Failure::Options)
            .and_then(|plan| paper::run(&plan).map_err(Failure::Run)),
        Command::Summary(options) => summary::run(&options).map_err(Failure::Run),
        Command::Report(options) => report::run(&options).map_err(Failure::Run),
        Command::Evidence(options) => evidence::run(&options).map_err(Failure::Run),
        Command::Export(options) => export::run(&options).map_err(Failure::Run),
        Command::Check(options) => check::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Completions(options) => completions::run(&options).map_err(Failure::Options),
        Command::Demo(options) => demo::run(&options),
        Command::Doctor(options) => doctor::run(&options).map_err(Failure::Run),
        Command::Effects(options) => effects::run(&options),
        Command::Fit(options) => fit::run(*options, ranks),
        Command::Man(options) => manual::run(&options).map_err(Failure::Run),
        Command::Map(options) => map::run(&options),
        Command::Predict(options) => predict::run(&options),
        Command::Run(options) => run::run(options, ranks),
        Command::Resume(options) => resume::run(&options, ranks),
        Command::Watch(options) => watch::run(&options),
    }
}
