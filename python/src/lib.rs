//! The Python module `_towline`: the engine, the models of `towline fit` and the command, for the package `towline`.
//!
//! What a user sees is written in Python (`towline/*.py`); here is what must be fast or is the engine's.

mod answers;
mod command;
mod density;
mod directory;
mod exchange;
mod fit;
mod likelihood;
mod model;
mod pointer;
mod progress;
mod runnable;
mod session;
mod settings;
mod table;
mod trouble;
mod worker;

use pyo3::prelude::*;

/// Towline's engine.
#[pymodule(gil_used = false)]
mod _towline {
    #[pymodule_export]
    use crate::answers::{check, compare, effects, inference, map, predict, predict_draws};
    #[pymodule_export]
    use crate::command::{command, report, summary};
    #[pymodule_export]
    use crate::directory::{Directory, worst};
    #[pymodule_export]
    use crate::fit::{fit, fit_from_manifest};
    #[pymodule_export]
    use crate::model::{Target, density, posterior, prior_log_density, prior_support};
    #[pymodule_export]
    use crate::session::Session;
    #[pymodule_export]
    use crate::trouble::{Error, ModelError};
    #[pymodule_export]
    use crate::worker::{Stop, run_chain};
}

/// What the engine refuses, as Python's exception.
fn refused(error: impl std::fmt::Display) -> PyErr {
    trouble::Error::new_err(error.to_string())
}
