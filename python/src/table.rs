//! Columns on their way between frames and models: arrays of numbers, lists of words.

use crate::refused;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::PathBuf;
use towline_models::{Cells, Table};

/// The columns of a dictionary, in its order: arrays of doubles, or lists of text.
pub fn columns(given: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Cells)>> {
    let one = |(name, values): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let name: String = name.extract()?;
        let cells = match values.extract::<PyReadonlyArray1<'_, f64>>() {
            Ok(numbers) => Cells::Numbers(numbers.as_array().to_vec()),
            Err(_) => Cells::Words(values.extract()?),
        };
        Ok((name, cells))
    };
    given.iter().map(one).collect()
}

/// A table from a dictionary of columns, or from the path of a CSV file.
pub fn table(given: &Bound<'_, PyAny>) -> PyResult<Table> {
    let words = |error: towline_models::Error| refused(error);
    match given.cast::<PyDict>() {
        Ok(given) => Ok(Table::of_columns("data", &columns(given)?)
            .map_err(words)?
            .0),
        Err(_) => Table::read(&given.extract::<PathBuf>()?).map_err(words),
    }
}

/// Columns as a dictionary of arrays and lists.
pub fn dictionary<'py>(
    py: Python<'py>,
    columns: Vec<(String, Cells)>,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, cells) in columns {
        match cells {
            Cells::Numbers(values) => out.set_item(name, PyArray1::from_vec(py, values))?,
            Cells::Words(values) => out.set_item(name, PyList::new(py, values)?)?,
        }
    }
    Ok(out)
}
