//! The models of `towline fit`: built from a model and its data, run like any other, predicted from.

use crate::model::Target;
use crate::refused;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use towline::store::Manifest;
use towline_cli::fit::{Description, describe, render};
use towline_models::{ModelFile, Resolved};

/// A model, from JSON of the form of a model file; with the description for the manifest of its run in a folder, and with
/// the model in words.
#[pyfunction]
pub fn fit(py: Python<'_>, model: &str, folder: PathBuf) -> PyResult<(Target, String, String)> {
    let model: ModelFile = serde_json::from_str(model)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    py.detach(|| {
        let value = |error: towline_models::Error| {
            pyo3::exceptions::PyValueError::new_err(error.to_string())
        };
        let resolved = Resolved::read(&model).map_err(value)?;
        let target = resolved.parts.build().map_err(value)?;
        let words = render(&resolved, &target);
        let description = describe(&resolved, &folder).map_err(refused)?;
        Ok((of(target), description.to_string(), words))
    })
}

/// The model of a run of `towline fit`.
#[pyfunction]
pub fn fit_from_manifest(py: Python<'_>, folder: PathBuf) -> PyResult<Target> {
    py.detach(|| {
        let words = |error: anyhow::Error| refused(format!("{error:#}"));
        let manifest = Manifest::read(&folder).map_err(refused)?;
        let description = Description::parse(&manifest.model).map_err(words)?;
        let resolved = description.resolve(&folder).map_err(words)?;
        let target = resolved.parts.build().map_err(refused)?;
        Ok(of(target))
    })
}

fn of(target: towline_models::LatentGaussian) -> Target {
    Target {
        runnable: Arc::new(target),
        trouble: Arc::default(),
        interpreted: false,
        called: "the log density",
    }
}

/// Predictions of a fit at the rows of a CSV file, as CSV; with notes, and with scores where the response is known.
#[pyfunction]
pub fn predict(
    py: Python<'_>,
    folder: PathBuf,
    at: PathBuf,
    level: f64,
    draws: usize,
) -> PyResult<(String, Vec<String>, Option<String>)> {
    let predicted = py
        .detach(|| towline_cli::predict::predictions(&folder, &at, level, draws))
        .map_err(|error| refused(format!("{error:#}")))?;
    Ok((predicted.csv, predicted.notes, predicted.scores))
}
