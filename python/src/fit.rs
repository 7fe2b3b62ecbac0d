//! The models of `towline fit`: built from a model and its data, run like any other.

use crate::model::Target;
use crate::refused;
use crate::table;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use towline::store::Manifest;
use towline_cli::fit::{Description, describe, render};
use towline_models::{ModelFile, Resolved, Table};

/// What the data of a frame are called in their run's folder.
const FILE: &str = "data.csv";

/// A model, from JSON of the form of a model file, of the columns of a frame or of the file that it names; in words. With a
/// folder also its target, and the description for the manifest of its run there, which keeps the data.
#[pyfunction]
#[pyo3(signature = (model, columns, folder))]
pub fn fit(
    py: Python<'_>,
    model: &str,
    columns: Option<&Bound<'_, PyDict>>,
    folder: Option<PathBuf>,
) -> PyResult<(String, Option<(Target, String)>)> {
    let value = |error: towline_models::Error| PyValueError::new_err(error.to_string());
    let mut model: ModelFile =
        serde_json::from_str(model).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let columns = columns.map(table::columns).transpose()?;
    py.detach(|| {
        let (table, bytes) = match &columns {
            Some(columns) => {
                let (table, bytes) = Table::of_columns(FILE, columns).map_err(value)?;
                (table, Some(bytes))
            }
            None => (Table::read(&model.data.file).map_err(value)?, None),
        };
        if columns.is_some() {
            model.data.file = folder.as_deref().unwrap_or(Path::new("")).join(FILE);
        }
        let resolved = Resolved::new(&model, &table).map_err(value)?;
        let target = resolved.parts.build().map_err(value)?;
        let words = render(&resolved, &target);
        let Some(folder) = folder else {
            return Ok((words, None));
        };
        if let Some(bytes) = bytes {
            towline_cli::runs::write_beside(&folder.join(FILE), &bytes).map_err(refused)?;
        }
        let description = describe(&resolved, &folder).map_err(refused)?;
        Ok((words, Some((of(target), description.to_string()))))
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
