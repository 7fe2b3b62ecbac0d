//! `towline predict DIR --at new.csv`: the fitted model at new rows.

mod output;
mod score;

use crate::failure::Failure;
use crate::posterior::Posterior;
use crate::runs;
use anyhow::{Result, bail};
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use towline_models::{New, Table, What};

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
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,

    /// Also write joint draws of the predictor and of a new response at all rows, as CSV
    #[arg(long, value_name = "FILE")]
    pub draws_to: Option<PathBuf>,
}

const EXAMPLE: &str = "\
Columns: latent_* is the linear predictor, mean_* the expected response, predictive_* a new response with its
noise; each with its mean, sd, median and interval.

Examples:
  towline predict pima --at pima_test.csv --out predicted.csv
  towline predict rongelap --at places.csv --level 0.9
  towline predict rongelap --at places.csv --out p.csv --draws-to joint.csv";

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
    let (posterior, table, new, notes) = ready(dir, at, draws)?;
    let resolved = &posterior.resolved;
    let surface = posterior.predictor.surface(&new, What::Row, &|_| {})?;
    let scores = match resolved.response_of(&table)? {
        Some((values, _)) => {
            let scores = surface.score(&values)?;
            Some(score::render(
                resolved.parts.data.family,
                &surface,
                &scores,
                &values,
            ))
        }
        None => None,
    };
    let mut csv = Vec::new();
    output::write(&mut csv, &table, &surface, resolved, level)?;
    Ok(Predictions {
        csv: String::from_utf8(csv)?,
        notes,
        scores,
        rows: new.rows,
        draws: posterior.len(),
    })
}

/// The draws, and the new rows coded as the fitted ones.
fn ready(dir: &Path, at: &Path, draws: usize) -> Result<(Posterior, Table, New, Vec<String>)> {
    let posterior = Posterior::open(dir, draws)?;
    let table = Table::read(at)?;
    let (new, notes) = posterior.resolved.rows(&table)?;
    if new.rows == 0 {
        bail!("{} has no rows", at.display());
    }
    Ok((posterior, table, new, notes))
}

/// Joint draws at the rows of a CSV file, as CSV: a line for each draw and row.
///
/// # Errors
/// As [`predictions`], and where there are too many different places.
pub fn joint(dir: &Path, at: &Path, draws: usize) -> Result<String> {
    let (posterior, _, new, _) = ready(dir, at, draws)?;
    let joint = posterior.predictor.joint(&new, 1)?;
    let mut csv = Vec::new();
    let classes = posterior.resolved.classes();
    output::write_joint(&mut csv, &joint, &posterior.places, new.rows, classes)?;
    Ok(String::from_utf8(csv)?)
}

fn predict(options: &Options) -> Result<()> {
    let all = predictions(&options.dir, &options.at, options.level, options.draws)?;
    let mut stderr = io::stderr();
    for note in all.notes {
        let _ = writeln!(stderr, "note: {note}");
    }
    if let Some(path) = &options.draws_to {
        let csv = joint(&options.dir, &options.at, options.draws)?;
        runs::write_beside(path, csv.as_bytes())?;
        let _ = writeln!(stderr, "Written: {} (joint draws)", path.display());
    }
    match &options.out {
        Some(path) => {
            runs::write_beside(path, all.csv.as_bytes())?;
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
