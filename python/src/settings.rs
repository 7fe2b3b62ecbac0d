//! The settings of a run from the dictionary that the package made of its arguments.

use crate::refused;
use pyo3::prelude::*;
use serde::Deserialize;
use std::time::Duration;
use towline::run::{OnFailure, Settings, StopTarget};
use towline::{Cost, Tuning};

/// What `sample` was asked, as JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Asked {
    chains: Option<usize>,
    draws: Option<u64>,
    seed: Option<u64>,
    threads: Option<usize>,
    warmup: Option<usize>,
    cost_ratio: Option<f64>,
    tuning: Option<serde_json::Value>,
    time_limit: Option<f64>,
    checkpoint_every: Option<f64>,
    rhat: Option<f64>,
    ess: Option<f64>,
    error: Option<f64>,
    workers: Option<usize>,
    thin_latents: Option<u64>,
    failures_outside: bool,
    evaluation_limit: Option<f64>,
}

/// Reads them.
pub fn parse(text: &str) -> PyResult<Settings> {
    let asked: Asked = serde_json::from_str(text).map_err(refused)?;
    let default = Settings::default();
    let seconds = |name: &str, value: Option<f64>| -> PyResult<Option<Duration>> {
        let read = |value: f64| {
            let duration = Duration::try_from_secs_f64(value).ok();
            duration.filter(|d| !d.is_zero()).ok_or_else(|| {
                pyo3::exceptions::PyValueError::new_err(format!(
                    "{name} = {value}: a number of seconds above 0 is needed"
                ))
            })
        };
        value.map(read).transpose()
    };
    let tuning = asked.tuning.map(|value| -> PyResult<Tuning> {
        let tuning: Tuning = serde_json::from_value(value)
            .map_err(|error| refused(format!("tuning: it is none ({error})")))?;
        tuning
            .kernel()
            .map_err(|error| refused(format!("tuning: {error}")))?;
        Ok(tuning)
    });
    let stop = (asked.rhat.is_some() || asked.ess.is_some()).then(|| StopTarget {
        rhat: asked.rhat.unwrap_or(1.01),
        ess: asked.ess.unwrap_or(400.0),
    });
    let settings = Settings {
        chains: asked.chains.unwrap_or(default.chains),
        draws: asked.draws.unwrap_or(default.draws),
        seed: asked.seed.unwrap_or(default.seed),
        threads: asked.threads,
        warmup: asked.warmup,
        cost: asked.cost_ratio.map_or(Cost::Measured, Cost::Ratio),
        tuning: tuning.transpose()?,
        time_limit: seconds("time_limit", asked.time_limit)?,
        checkpoint_every: seconds("checkpoint_every", asked.checkpoint_every)?,
        stop,
        error: asked.error,
        workers: asked.workers,
        latent_every: asked.thin_latents.unwrap_or(1),
        on_failure: if asked.failures_outside {
            OnFailure::CountAsOutside
        } else {
            OnFailure::End
        },
        evaluation_limit: seconds("evaluation_limit", asked.evaluation_limit)?,
    };
    settings
        .validate()
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))?;
    Ok(settings)
}
