//! `towline export`: a run's draws for other people's tools.

pub mod arviz;
mod csv;
mod getdist;
mod names;
#[cfg(feature = "parquet")]
mod parquet;
mod zarr;

use crate::runs;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;

/// What `towline export` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline export runs/neal1 --to zarr                 for ArviZ: xarray.open_datatree(\"runs/neal1/draws.zarr\")
  towline export runs/neal1 --to getdist --out c/run  for GetDist: loadMCSamples(\"c/run\")
  towline export runs/neal1 --to csv --out draws.csv")]
pub struct Options {
    /// The run directory
    pub dir: PathBuf,
    /// The format
    #[arg(long)]
    pub to: Format,
    /// Where to: a file, a folder for zarr, or the beginning of the files' names for getdist
    /// [default: draws.csv, draws.parquet, draws.zarr or getdist/run in the run directory]
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text files as GetDist and CosmoMC have them; weights are runs of equal rows
    Getdist,
    /// One table with a line for each draw
    Csv,
    /// The same table in Parquet
    #[cfg(feature = "parquet")]
    Parquet,
    /// Zarr in ArviZ's layout: posterior and sample_stats; of a fit also log_likelihood, posterior_predictive,
    /// observed_data and prior
    Zarr,
}

/// Whether a run has weighted draws and no others.
fn is_weighted(run: &towline::store::RunDir) -> Result<bool> {
    Ok(run.common_rows() == 0 && run.weighted()?.rows() > 0)
}

/// Exports a run.
pub fn run(options: &Options) -> Result<()> {
    let run = runs::open(&options.dir)?;
    let place = |name: &str| {
        options
            .out
            .clone()
            .unwrap_or_else(|| options.dir.join(name))
    };
    if is_weighted(&run)? && !matches!(options.to, Format::Getdist | Format::Csv) {
        anyhow::bail!(
            "{} has weighted draws, which --to getdist and --to csv can hold; in Python, run.to_arviz() resamples them",
            options.dir.display()
        );
    }
    let (out, write): (PathBuf, fn(&_, &_) -> Result<()>) = match options.to {
        Format::Getdist => (place("getdist/run"), getdist::write),
        Format::Csv => (place("draws.csv"), csv::write),
        #[cfg(feature = "parquet")]
        Format::Parquet => (place("draws.parquet"), parquet::write),
        Format::Zarr => (place("draws.zarr"), zarr::write),
    };
    if let Some(parent) = out.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot create the folder {}", parent.display()))?;
    }
    write(&run, &out).with_context(|| format!("cannot write {}", out.display()))?;
    if is_weighted(&run)? {
        writeln!(
            io::stdout().lock(),
            "{} weighted draws written to {}",
            runs::count(run.weighted()?.rows() as u64),
            out.display()
        )?;
        return Ok(());
    }
    writeln!(
        io::stdout().lock(),
        "{} chains of {} draws written to {}",
        run.chains(),
        runs::count(run.common_rows() as u64),
        out.display()
    )?;
    Ok(())
}
