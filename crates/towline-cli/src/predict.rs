//! `towline predict DIR --at new.csv`: the fitted model at new rows.

mod output;
mod posterior;
mod score;

pub(crate) use posterior::Posterior;

use crate::failure::Failure;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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

/// Predictions at new rows.
#[derive(Debug)]
pub struct Predictions {
    /// The new rows' own columns, then the predictor and the response, as CSV.
    pub csv: String,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// How good they are, where the response is known.
    pub scores: Option<String>,
    /// How many rows there are.
    pub rows: usize,
    /// From how many draws.
    pub draws: usize,
}

/// Predicts at the rows of a CSV file from at most so many draws of a fit; intervals hold with probability `level`.
///
/// # Errors
/// Where the folder is no fit, or the rows do not have what its model needs.
pub fn predictions(dir: &Path, at: &Path, level: f64, draws: usize) -> Result<Predictions> {
    if !(level > 0.0 && level < 1.0) || draws == 0 {
        bail!("the level lies between 0 and 1, and the number of draws is at least 1");
    }
    let posterior = Posterior::open(dir, draws)?;
    let table = Table::read(at)?;
    let (new, notes) = posterior.resolved.rows(&table)?;
    if new.rows == 0 {
        bail!("{} has no rows", at.display());
    }
    let surface = posterior.predict(&new, level)?;
    let response = posterior.resolved.response_of(&table)?;
    let scores = response.map(|(values, trials)| {
        score::render(&posterior.resolved, &surface, &values, trials.as_deref())
    });
    let mut csv = Vec::new();
    output::write(&mut csv, &table, &surface, &posterior.resolved)?;
    Ok(Predictions {
        csv: String::from_utf8(csv)?,
        notes,
        scores,
        rows: new.rows,
        draws: posterior.len(),
    })
}

fn predict(options: &Options) -> Result<()> {
    let all = predictions(&options.dir, &options.at, options.level, options.draws)?;
    let mut stderr = io::stderr();
    for note in all.notes {
        let _ = writeln!(stderr, "note: {note}");
    }
    match &options.out {
        Some(path) => {
            fs::write(path, all.csv).with_context(|| format!("cannot write {}", path.display()))?;
            let mut out = io::stdout().lock();
            if let Some(scores) = all.scores {
                writeln!(out, "{scores}\n")?;
            }
            writeln!(
                out,
                "Written: {} ({} rows, from {} draws)",
                path.display(),
                all.rows,
                all.draws
            )?;
        }
        None => {
            io::stdout().lock().write_all(all.csv.as_bytes())?;
            if let Some(scores) = all.scores {
                let _ = writeln!(stderr, "\n{scores}");
            }
        }
    }
    Ok(())
}
