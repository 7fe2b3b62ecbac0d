//! A run that is begun or continued: its directory is locked, its manifest written, its chains run in threads or elsewhere.

use crate::model::Target;
use crate::runnable::Held;
use crate::trouble::{Error, ModelError};
use crate::{progress, refused, settings};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use towline::run::{Ended, Progress};

/// A run whose directory this process has locked.
#[pyclass(frozen, module = "towline._towline")]
pub struct Session {
    target: Py<Target>,
    held: Mutex<Option<Box<dyn Held>>>,
}

#[pymethods]
impl Session {
    /// A new run in a folder.
    #[staticmethod]
    fn create(
        target: Bound<'_, Target>,
        folder: PathBuf,
        description: &str,
        settings: &str,
    ) -> PyResult<Self> {
        let description = serde_json::from_str(description).map_err(refused)?;
        let settings = settings::parse(settings)?;
        let runnable = Arc::clone(&target.get().runnable);
        let held = runnable.create(&folder, description, settings);
        Ok(Self {
            target: target.unbind(),
            held: Mutex::new(Some(held.map_err(refused)?)),
        })
    }

    /// A run to continue.
    #[staticmethod]
    #[pyo3(signature = (target, folder, draws, settings))]
    fn open(
        target: Bound<'_, Target>,
        folder: PathBuf,
        draws: Option<u64>,
        settings: &str,
    ) -> PyResult<Self> {
        let settings = settings::parse(settings)?;
        let runnable = Arc::clone(&target.get().runnable);
        let held = runnable.open(&folder, draws, &settings);
        Ok(Self {
            target: target.unbind(),
            held: Mutex::new(Some(held.map_err(refused)?)),
        })
    }

    /// Writes the manifest, for chains that run in other processes.
    fn write_manifest(&self, folder: PathBuf) -> PyResult<()> {
        let held = self.held.lock().map_err(refused)?;
        let held = held.as_ref().ok_or_else(|| refused("the run has ended"))?;
        held.manifest().write(&folder).map_err(refused)
    }

    /// How many chains there are.
    fn chains(&self) -> PyResult<usize> {
        let held = self.held.lock().map_err(refused)?;
        Ok(held.as_ref().map_or(0, |held| held.manifest().chains))
    }

    /// Gives the directory free.
    fn close(&self) -> PyResult<()> {
        drop(self.held.lock().map_err(refused)?.take());
        Ok(())
    }

    /// Runs all chains in threads of this process and returns how the run ended; `see` is shown progress.
    #[pyo3(signature = (see=None))]
    fn run(&self, py: Python<'_>, see: Option<Py<PyAny>>) -> PyResult<&'static str> {
        let held = self.held.lock().map_err(refused)?.take();
        let held = held.ok_or_else(|| refused("the run has ended"))?;
        let target = self.target.get();
        let lenient = held.manifest().options.failures_count_as_outside;
        target.trouble.reset(lenient);
        let stop = Arc::new(AtomicBool::new(false));
        let mut interrupted: Option<PyErr> = None;
        let ended = py.detach(|| {
            let mut show = |progress: &Progress| {
                let shown = Python::attach(|py| look(py, see.as_ref(), progress));
                if let Err(error) = shown {
                    stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            };
            held.go(Arc::clone(&stop), &mut show, target.interpreted)
        });
        if let Err(error) = &ended
            && let Some(error) = self.explain(py, error)
        {
            return Err(error);
        }
        conclude(py, ended.map_err(refused)?, interrupted)
    }
}

impl Session {
    fn explain(&self, py: Python<'_>, error: &towline::Error) -> Option<PyErr> {
        self.target.get().explain(py, error)
    }
}

/// Whether signals have come, and how far the run is.
pub fn look(py: Python<'_>, see: Option<&Py<PyAny>>, now: &Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(see) = see {
        see.bind(py).call1((progress::run(py, now)?,))?;
    }
    Ok(())
}

/// How a run ended: Ctrl-C has stopped it, which is no failure; whatever else was raised while it ran is raised again.
pub fn conclude(
    py: Python<'_>,
    ended: Ended,
    interrupted: Option<PyErr>,
) -> PyResult<&'static str> {
    match interrupted {
        Some(error) if !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) => {
            Err(error)
        }
        _ => Ok(word(ended)),
    }
}

fn word(ended: Ended) -> &'static str {
    match ended {
        Ended::Finished => "finished",
        Ended::TargetReached => "target reached",
        Ended::TimeLimit => "time limit",
        Ended::Stopped => "stopped",
    }
}

impl Target {
    /// What is raised for a failure: the model's own exception where there is one.
    pub fn explain(&self, py: Python<'_>, error: &towline::Error) -> Option<PyErr> {
        use towline::Error as E;
        let (inner, chain, whence) = match error {
            E::Chain {
                chain,
                draws,
                source,
            } => {
                let whence = format!("chain {chain}, after {draws} draws");
                (&**source, Some(*chain), whence)
            }
            E::Points { failed, of, source } => {
                let whence = format!("{failed} of {of} slow points failed, the others are stored");
                (&**source, None, whence)
            }
            other => (other, None, String::new()),
        };
        if matches!(inner, E::Exchange(_) | E::Stopped) {
            return None;
        }
        if let E::Panicked { .. } | E::Model { .. } = inner
            && let Some(raised) = self.trouble.take(chain)
        {
            if !whence.is_empty() {
                let _ = raised.value(py).call_method1("add_note", (whence,));
            }
            return Some(raised);
        }
        let place = |x: &[f64], y: &[f64]| self.runnable.place(x, y);
        let text = match inner {
            E::NotANumber { x, y, value } => format!(
                "{} returned {} at {}: return -inf outside the support, and a finite number inside",
                self.called,
                if value.is_nan() { "nan" } else { "inf" },
                place(x, y)
            ),
            E::OutsideSupport { x, y } => format!(
                "the start has no mass ({} is -inf there): {}; begin elsewhere",
                self.called,
                place(x, y)
            ),
            E::Model { x, source, .. } if x.is_empty() => source.to_string(),
            E::Model { x, y, source } => format!("{source}, at {}", place(x, y)),
            E::Panicked { x, message } => format!(
                "the model panicked: {message}; the slow computation before that was at {}",
                place(x, &[])
            ),
            E::TooLong { x, seconds, .. } => format!(
                "an evaluation took longer than the {seconds} s it may take, at {}; correct the model or allow more, then resume",
                place(x, &[])
            ),
            _ => return Some(Error::new_err(error.to_string())),
        };
        let text = match whence.is_empty() {
            true => text,
            false => format!("{whence}: {text}"),
        };
        Some(ModelError::new_err(text))
    }
}
