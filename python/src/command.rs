//! The command `towline`, and what the package takes from it.

use crate::refused;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Carries out a command line, the program's name first, and returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| towline_cli::main(arguments));
    // An exit code does not tell its number: it can only be compared.
    (0..=u8::MAX)
        .find(|&number| code == ExitCode::from(number))
        .unwrap_or(1)
}

/// The summary of a run: as JSON, as a table with what else there is to say, and its warnings.
#[pyfunction]
pub fn summary(
    py: Python<'_>,
    folder: PathBuf,
    parameters: Vec<String>,
) -> PyResult<(String, String, Vec<String>)> {
    let (summary, text) = py
        .detach(|| towline_cli::summary::of(&folder, &parameters))
        .map_err(|error| refused(format!("{error:#}")))?;
    let numbers = serde_json::to_string(&summary).map_err(refused)?;
    Ok((numbers, text, summary.warnings))
}

/// Writes the report of a run.
#[pyfunction]
pub fn report(
    py: Python<'_>,
    folder: PathBuf,
    out: PathBuf,
    parameters: Vec<String>,
) -> PyResult<()> {
    py.detach(|| towline_cli::report::write(&folder, &out, &parameters))
        .map_err(|error| refused(format!("{error:#}")))
}
