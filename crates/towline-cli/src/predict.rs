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
use towline_models::{Cells, JointDraw, Table, What};

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
    /// The predictor, the expected response and a new response, column by column.
    pub columns: Vec<(String, Cells)>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// How good they are, where the response is known.
    pub scores: Option<String>,
    /// From how many draws.
    pub draws: usize,
}

/// Predicts at the rows of a table from at most so many draws of a fit; intervals hold with probability `level`.
///
/// # Errors
/// Where the folder is no fit, or the rows do not have what its model needs.
pub fn predictions(dir: &Path, at: &Table, level: f64, draws: usize) -> Result<Predictions> {
    if !(level > 0.0 && level < 1.0) || draws == 0 {
        bail!("the level lies between 0 and 1, and the number of draws is at least 1");
    }
    let posterior = Posterior::open(dir, draws)?;
    let resolved = &posterior.resolved;
    let (new, notes) = resolved.rows(at)?;
    let surface = posterior.predictor.surface(&new, What::Row, &|_| {})?;
    let scores = match resolved.response_of(at)? {
        Some((values, _)) => {
            let scores = surface.score(&values)?;
            let family = resolved.parts.data.family;
            Some(score::render(family, &surface, &scores, &values))
        }
        None => None,
    };
    Ok(Predictions {
        columns: output::columns(&surface, resolved, level),
        notes,
        scores,
        draws: posterior.len(),
    })
}

/// Joint draws at new rows.
#[derive(Debug)]
pub struct Joint {
    /// The draws.
    pub draws: Vec<JointDraw>,
    /// The chain of each, and its number there.
    pub places: Vec<(usize, usize)>,
    /// The names of a response's classes; empty where it has none.
    pub classes: Vec<String>,
}

/// Joint draws at the rows of a table, from at most so many draws of a fit.
///
/// # Errors
/// As [`predictions`], and where there are too many different places.
pub fn joint(dir: &Path, at: &Table, draws: usize) -> Result<Joint> {
    let posterior = Posterior::open(dir, draws)?;
    let (new, _) = posterior.resolved.rows(at)?;
    Ok(Joint {
        draws: posterior.predictor.joint(&new, 1)?,
        places: posterior.places,
        classes: posterior.resolved.classes().to_vec(),
    })
}

fn predict(options: &Options) -> Result<()> {
    let table = Table::read(&options.at)?;
    let all = predictions(&options.dir, &table, options.level, options.draws)?;
    let mut csv = Vec::new();
    output::write(&mut csv, &table, &all.columns)?;
    let mut stderr = io::stderr();
    for note in all.notes {
        let _ = writeln!(stderr, "note: {note}");
    }
    if let Some(path) = &options.draws_to {
        let joint = joint(&options.dir, &table, options.draws)?;
        let mut csv = Vec::new();
        output::write_joint(&mut csv, &joint, table.rows())?;
        runs::write_beside(path, &csv)?;
        let _ = writeln!(stderr, "Written: {} (joint draws)", path.display());
    }
    match &options.out {
        Some(path) => {
            runs::write_beside(path, &csv)?;
            let mut out = io::stdout().lock();
            if let Some(scores) = all.scores {
                writeln!(out, "{scores}\n")?;
            }
            writeln!(
                out,
                "Written: {} ({} rows, from {} draws)",
                path.display(),
                table.rows(),
                all.draws
            )?;
        }
        None => {
            io::stdout().lock().write_all(&csv)?;
            if let Some(scores) = all.scores {
                let _ = writeln!(stderr, "\n{scores}");
            }
        }
    }
    Ok(())
}
