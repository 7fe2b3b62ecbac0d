//! Progress as a dictionary, for the package to show.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use towline::run::{ChainProgress, Phase, Progress};

/// How far a chain is.
pub fn chain<'py>(py: Python<'py>, progress: &ChainProgress) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    let (phase, stage) = match progress.phase {
        Phase::Waiting => ("waiting", 0),
        Phase::WarmingUp(stage) => ("warm-up", stage + 1),
        Phase::Sampling => ("sampling", 0),
        Phase::Done => ("done", 0),
    };
    all.set_item("phase", phase)?;
    all.set_item("stage", stage)?;
    all.set_item("draws", progress.draws)?;
    all.set_item("draws_before", progress.draws_before)?;
    all.set_item("slow_evaluations", progress.slow_evaluations)?;
    all.set_item("outer_acceptance", progress.totals.outer_acceptance())?;
    all.set_item("inner_acceptance", progress.totals.inner_acceptance())?;
    all.set_item("seconds", progress.seconds)?;
    all.set_item("failures", progress.failures)?;
    Ok(all)
}

/// How far a run is.
pub fn run<'py>(py: Python<'py>, progress: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("draws", progress.draws)?;
    if let Some(weighing) = &progress.weighing {
        let points = PyDict::new(py);
        points.set_item("learned", weighing.learned)?;
        points.set_item("points", weighing.points)?;
        points.set_item("planned", weighing.planned)?;
        points.set_item("error", weighing.error)?;
        points.set_item("asked", weighing.asked)?;
        all.set_item("weighing", points)?;
    }
    let chains = progress.chains.iter().map(|one| chain(py, one));
    all.set_item(
        "chains",
        PyList::new(py, chains.collect::<PyResult<Vec<_>>>()?)?,
    )?;
    Ok(all)
}
