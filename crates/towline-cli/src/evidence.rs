//! `towline evidence DIR`: the logarithm of the posterior's constant, from the weights of slow points.

use crate::runs;
use anyhow::{Result, bail};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;

/// What `towline evidence` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline evidence runs/neal1           ln Z, its standard error, and what it is the integral of
  towline evidence runs/neal1 --json    for programs")]
pub struct Options {
    /// The run directory
    pub dir: PathBuf,
    /// Print JSON: ln_z and se
    #[arg(long)]
    pub json: bool,
}

/// Prints the evidence of a run.
pub fn run(options: &Options) -> Result<()> {
    let run = runs::open(&options.dir)?;
    let name = options.dir.display();
    let Some(found) = run.estimates()? else {
        bail!(
            "{name} has no weights of slow points: run the model with --error 0.05, say, into another folder (draws alone do not give the evidence)"
        );
    };
    let estimates = &found.estimates;
    let Some(evidence) = estimates.evidence else {
        bail!(
            "what was learned of the posterior in {name} could not be normalised, so there is no evidence"
        );
    };
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&evidence)?)?;
        return Ok(());
    }
    writeln!(out, "ln Z = {:.4} ± {:.4}", evidence.ln_z, evidence.se)?;
    writeln!(
        out,
        "the logarithm of the integral of the density as the model has it (likelihood times normalised priors, over all parameters;\n\
         of a plain log density, its own constant included), from {} slow points",
        estimates.points
    )?;
    if estimates.is_poor() {
        writeln!(
            out,
            "Warning: the weights have a heavy tail (index {:.2}, above 0.7): do not use this figure.",
            estimates.pareto_k.unwrap_or(f64::NAN)
        )?;
    }
    Ok(())
}
