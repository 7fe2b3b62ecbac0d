//! The flags of `towline paper`, as given.

use clap::Args;
use std::path::PathBuf;

/// Flags, not yet checked against each other or the machine. (Negative numbers are let in so that the
/// refusal speaks of the flag's value, not of an unknown flag `-1`.)
#[derive(Debug, Args)]
#[command(long_about = LONG, after_help = EXAMPLE)]
pub struct Options {
    /// Folder for the figures, created if need be
    #[arg(long, value_name = "DIR", default_value = "paper")]
    pub out: PathBuf,

    /// Also write every number to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Seed of the random numbers: the same seed gives the same figures, whatever --threads is
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub seed: u64,

    /// Iterations for each row of the tables, rounded up to whole chains [default: chosen row by
    /// row for errors of about 1 per cent]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub iterations: Option<u64>,

    /// Also run drags in the Laplace frame and warm-up's own choice, which are not in the paper
    #[arg(long)]
    pub frames: bool,

    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub threads: Option<usize>,

    /// Say nothing about progress
    #[arg(long, short)]
    pub quiet: bool,
}

const LONG: &str = "\
Reproduce the figures and numbers of Neal's paper on dragging.

Runs the paper's two test distributions with its six methods each, and writes
  figure1  a sample of the first test distribution
  figure2  autocorrelations of x for the six methods, first test distribution
  figure3  the same for the second
and, with --frames,
  frames   autocorrelation time against fast evaluations per slow one, plain and framed
as SVG and PNG; prints rejection rates and autocorrelation times with their standard
errors, beside the paper's values and precise ones from an independent program.";

const EXAMPLE: &str = "\
Examples:
  towline paper                            half a minute on two cores; figures in ./paper
  towline paper --frames                   moving frames beside the paper's methods
  towline paper --iterations 20000         a rough look in a second
  towline paper --json paper.json --quiet  every number for another program";
