//! `towline predict DIR --at new.csv`: the fitted model at new rows.

mod output;
mod posterior;
mod score;

pub use posterior::Posterior;

use crate::failure::Failure;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use towline_models::Table;

/// Flags of `towline predict`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run of `towline fit`
    pub dir: PathBuf,

    /// New rows: a CSV file with the columns that the model uses; with the response too, predictions are scored
    #[arg(long, value_name = "FILE")]
    pub at: PathBuf,

    /// Where to write the predictions as CSV [default: to the terminal]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Probability that the intervals hold
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub level: f64,

    /// Draws to predict from, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 400)]
    pub draws: usize,
}

const EXAMPLE: &str = "\
Examples:
  towline predict pima --at pima_test.csv --out predicted.csv
  towline predict rongelap --at places.csv --level 0.9";

/// Predicts.
pub fn run(options: &Options) -> Result<(), Failure> {
    if !(options.level > 0.0 && options.level < 1.0) || options.draws == 0 {
        return Err(Failure::Options(anyhow::anyhow!(
            "--level lies between 0 and 1, and --draws is at least 1"
        )));
    }
    predict(options).map_err(Failure::Run)
}

fn predict(options: &Options) -> Result<()> {
    let posterior = Posterior::open(&options.dir, options.draws)?;
    let table = Table::read(&options.at)?;
    let (new, notes) = posterior.resolved.rows(&table)?;
    if new.rows == 0 {
        bail!("{} has no rows", options.at.display());
    }
    let surface = posterior.predict(&new, options.level)?;
    let response = posterior.resolved.response_of(&table)?;
    let scores = response.map(|(values, trials)| {
        score::render(&posterior.resolved, &surface, &values, trials.as_deref())
    });
    let mut stderr = io::stderr();
    for note in notes {
        let _ = writeln!(stderr, "note: {note}");
    }
    match &options.out {
        Some(path) => {
            let file =
                File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            output::write(file, &table, &surface, &posterior.resolved)
                .with_context(|| format!("cannot write {}", path.display()))?;
            let mut out = io::stdout().lock();
            if let Some(scores) = scores {
                writeln!(out, "{scores}\n")?;
            }
            writeln!(
                out,
                "Written: {} ({} rows, from {} draws)",
                path.display(),
                new.rows,
                posterior.len()
            )?;
        }
        None => {
            output::write(io::stdout().lock(), &table, &surface, &posterior.resolved)?;
            if let Some(scores) = scores {
                let _ = writeln!(stderr, "\n{scores}");
            }
        }
    }
    Ok(())
}
