//! The command line as clap reads it: one line for each subcommand.

use crate::{
    check, compare, completions, demo, doctor, effects, evidence, export, fit, manual, map, paper,
    predict, report, resume, run, summary, watch,
};
use clap::{Parser, Subcommand};

/// Samples posteriors with slow and fast parameters by dragging the fast ones along.
#[derive(Debug, Parser)]
#[command(name = "towline", version, after_help = EXAMPLE)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLE: &str = "\
Example:
  towline demo                   data, a fit, a map and a report, in ./demo
  towline fit model.toml         a model of data in a table, with priors and progress
  towline run neal1              four chains of the report's first example, in ./neal1
  towline watch neal1            its traces and R-hat, while it goes on
  towline resume neal1           continues a run that was interrupted
  towline summary neal1          its table, also while it runs; report and export read it too
  towline paper --out figures    every figure and number of Neal's paper, in half a minute";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reproduce the figures and numbers of Neal's paper on dragging
    Paper(paper::Options),
    /// Show a run's table: means, quantiles, effective draws, R-hat, cost and warnings
    Summary(summary::Options),
    /// Write a run's report: one HTML file with interactive plots, to look at offline
    Report(report::Options),
    /// Write a run's draws for ArviZ, GetDist and other tools
    Export(export::Options),
    /// Fit a latent Gaussian model to data: classification, geostatistics, mixed models
    Fit(Box<fit::Options>),
    /// Draw the surface of a fitted Gaussian process, and its uncertainty
    Map(map::Options),
    /// Predict at new rows from a fitted model
    Predict(predict::Options),
    /// Check a fitted model: leave-one-out cross-validation, and data that it makes beside the observed
    Check(check::Options),
    /// Compare fitted models by how well they would predict new data
    Compare(compare::Options),
    /// Show the effects of groups, or what a covariate does to the response
    Effects(effects::Options),
    /// Show the evidence ln Z of a run that was made with --error, with its standard error
    Evidence(evidence::Options),
    /// Sample one of the built-in examples
    Run(run::Options),
    /// Continue a run that was interrupted, or make more draws
    Resume(resume::Options),
    /// Watch a run: traces and R-hat in the terminal while it goes on
    Watch(watch::Options),
    /// Fit the built-in example, a map of risk, and draw it
    Demo(demo::Options),
    /// Show what is installed here, and whether sampling works
    Doctor(doctor::Options),
    /// Print a script that completes commands, runs and parameters in a shell
    Completions(completions::Options),
    /// Print the manual page
    Man(manual::Options),
}

impl Command {
    /// Whether it makes draws, which several processes can do together.
    pub fn samples(&self) -> bool {
        match self {
            Self::Fit(options) => !options.show,
            Self::Run(options) => !options.lists(),
            Self::Resume(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        let mut command = Cli::command();
        for sub in command.get_subcommands_mut() {
            let help = sub.render_long_help().to_string();
            assert!(help.contains("Example"), "{help}");
        }
    }
}
