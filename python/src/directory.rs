//! Reading a run directory: draws as arrays, the rest as JSON.

use crate::refused;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use towline::store::{Batches, RunDir};

/// A run directory as it was when it was opened.
#[pyclass(frozen, module = "towline._towline")]
pub struct Directory {
    run: RunDir,
}

#[pymethods]
impl Directory {
    #[new]
    fn new(folder: PathBuf) -> PyResult<Self> {
        Ok(Self {
            run: RunDir::open(&folder).map_err(refused)?,
        })
    }

    /// What was run, as JSON.
    fn manifest(&self) -> PyResult<String> {
        serde_json::to_string(self.run.manifest()).map_err(refused)
    }

    /// How many draws each chain has.
    fn rows(&self) -> Vec<usize> {
        self.run.rows()
    }

    /// The latents of each chain, row after row.
    fn latent_draws<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let of = |chain: usize| {
            let mut values = Vec::new();
            let read = self.run.latents(chain).each(|row| values.extend(row));
            read.map_err(refused)?;
            Ok(PyArray1::from_vec(py, values))
        };
        (0..self.run.chains()).map(of).collect()
    }

    /// The draws of a column (or latent, or statistic), an array for each chain, all of the same length.
    fn column<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        kind: &str,
    ) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
        let chains = match kind {
            "latent" => self.run.latent(name),
            "statistic" => self.run.statistics(name),
            _ => self.run.column(name),
        };
        let chains = chains.map_err(refused)?;
        Ok(chains
            .into_iter()
            .map(|chain| PyArray1::from_vec(py, chain))
            .collect())
    }

    /// All columns in their order, each as `column` returns it.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Bound<'py, PyArray1<f64>>>>> {
        let columns = self.run.columns().map_err(refused)?;
        let arrays = |chains: Vec<Vec<f64>>| {
            let chains = chains.into_iter();
            chains.map(|chain| PyArray1::from_vec(py, chain)).collect()
        };
        Ok(columns.into_iter().map(arrays).collect())
    }

    /// The evaluations that failed, as JSON.
    fn failures(&self) -> PyResult<String> {
        serde_json::to_string(&self.run.failures().map_err(refused)?).map_err(refused)
    }

    /// Whether every chain has all the draws that were asked for, or has reached its target.
    fn finished(&self) -> PyResult<bool> {
        let asked = self.run.manifest().draws;
        let checkpoints = self.run.checkpoints().map_err(refused)?;
        let done = |c: &Option<towline::store::Checkpoint>| {
            c.as_ref().is_some_and(|c| c.rows >= asked || c.reached)
        };
        Ok(checkpoints.iter().all(done))
    }
}

/// The worst R-hat and the least effective sample size of any column, from the checkpoints of a run under way; NaN
/// as long as they cannot be told.
#[pyfunction]
pub fn worst(folder: PathBuf) -> PyResult<(f64, f64)> {
    let run = RunDir::open(&folder).map_err(refused)?;
    let checkpoints = run.checkpoints().map_err(refused)?;
    let batches: Vec<&Batches> = checkpoints.iter().flatten().map(|c| &c.batches).collect();
    if batches.len() < run.chains() {
        return Ok((f64::NAN, f64::NAN));
    }
    let estimates = Batches::estimates(&batches);
    let rhat = estimates.iter().map(|e| e.rhat).fold(f64::NAN, f64::max);
    let ess = estimates.iter().map(|e| e.ess).fold(f64::NAN, f64::min);
    Ok((rhat, ess))
}
