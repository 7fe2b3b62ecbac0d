//! `towline paper`: every figure and number of Neal's report, with error bars, beside the known values.

mod estimate;
pub mod figures;
#[cfg(test)]
mod fixture;
mod format;
mod frames;
mod memory;
mod notes;
mod options;
mod parallel;
mod plan;
mod progress;
mod published;
mod replicate;
mod result;
mod runner;
mod spec;
mod table;

pub use options::Options;
pub use plan::Plan;

use anyhow::{Context, Result};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Carries out a plan: runs every row, writes the figures and the JSON, prints the tables.
pub fn run(plan: &Plan) -> Result<()> {
    let rows = runner::rows(plan)?;
    let points = runner::sample(plan);

    fs::create_dir_all(&plan.out)
        .with_context(|| format!("cannot create the folder {}", plan.out.display()))?;
    let mut written = figures::sample(&points, &plan.out)?;
    for test in [1, 2] {
        written.extend(figures::autocorrelations(test, &rows, &plan.out)?);
    }
    if plan.frames {
        written.extend(figures::frames(&rows, &plan.out)?);
    }
    if let Some(file) = &plan.json {
        let json = serde_json::to_string_pretty(&result::to_json(&rows))?;
        fs::write(file, json + "\n").with_context(|| format!("cannot write {}", file.display()))?;
        written.push(file.clone());
    }

    let mut out = io::stdout().lock();
    writeln!(out, "{}\n\n{}", table::render(&rows), list(&written))?;
    Ok(())
}

fn list(files: &[PathBuf]) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|file| format!("  {}", file.display()))
        .collect();
    format!("Written:\n{}", names.join("\n"))
}
