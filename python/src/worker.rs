//! One chain of a run in this process: a worker of the package, or an MPI rank.

use crate::exchange::Through;
use crate::model::Target;
use crate::session::conclude;
use crate::{progress, refused};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use towline::run::{Control, Job, Watch};
use towline::store::{Failures, Manifest};

/// How often progress is shown and signals are looked for.
const TICK: Duration = Duration::from_millis(100);

/// What ends a chain from outside.
#[pyclass(frozen, module = "towline._towline")]
#[derive(Default)]
pub struct Stop {
    stop: Arc<AtomicBool>,
    halt: AtomicBool,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Somebody said stop.
    fn set(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Another chain has failed.
    fn halt(&self) {
        self.halt.store(true, Ordering::Relaxed);
    }

    /// Whether somebody said stop.
    fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Runs chain `chain` of the run in a folder, whose manifest has been written and whose lock is held elsewhere; returns
/// how it ended.
#[pyfunction]
#[pyo3(signature = (target, folder, chain, exchange, stop, time_limit=None, checkpoint_every=None, see=None))]
#[expect(clippy::too_many_arguments, reason = "what a chain is told")]
pub fn run_chain(
    py: Python<'_>,
    target: &Target,
    folder: PathBuf,
    chain: usize,
    exchange: Py<PyAny>,
    stop: &Stop,
    time_limit: Option<f64>,
    checkpoint_every: Option<f64>,
    see: Option<Py<PyAny>>,
) -> PyResult<&'static str> {
    let manifest = Manifest::read(&folder).map_err(refused)?;
    let chains = manifest.chains;
    if chain >= chains {
        return Err(refused(format!("there is no chain {chain} of {chains}")));
    }
    target
        .trouble
        .reset(manifest.options.failures_count_as_outside);
    let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    let limit = manifest.options.evaluation_limit.and_then(duration);
    let job = Arc::new(Job {
        tuning: manifest
            .tuning
            .clone()
            .filter(|_| manifest.options.tuning_given),
        control: Control::new(Arc::clone(&stop.stop), time_limit.and_then(duration)),
        checkpoint_every: checkpoint_every.and_then(duration),
        watches: (0..chains).map(|_| Watch::new(limit)).collect(),
        failures: Failures::new(&folder),
        strict: false,
        folder,
        manifest,
        weighs: false,
        learned: AtomicBool::new(false),
        crew: None,
    });
    let mut exchange = Through {
        object: exchange,
        chains,
        chain,
    };
    let (tell, mut told) = mpsc::channel();
    let (working, runnable) = (Arc::clone(&job), Arc::clone(&target.runnable));
    let interpreted = target.interpreted;
    let work = move || {
        let ended = Python::attach(|py| {
            if interpreted {
                runnable.chain(chain, &working, &mut exchange)
            } else {
                py.detach(|| runnable.chain(chain, &working, &mut exchange))
            }
        });
        // Nobody listens any more where the chain was given up.
        let _ = tell.send(ended);
    };
    std::thread::Builder::new()
        .name(format!("chain {chain}"))
        .stack_size(64 << 20)
        .spawn(work)
        .map_err(refused)?;
    let mut interrupted: Option<PyErr> = None;
    let ended = py.detach(|| {
        let told = &mut told;
        loop {
            match told.recv_timeout(TICK) {
                Ok(ended) => break ended,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break Err(towline::Error::Stopped),
            }
            if job.watches[chain].hangs() {
                break Err(job.watches[chain].too_long(chain));
            }
            let shown = Python::attach(|py| -> PyResult<()> {
                py.check_signals()?;
                if let Some(see) = &see {
                    let now = &job.progress().chains[chain];
                    see.bind(py).call1((progress::chain(py, now)?,))?;
                }
                Ok(())
            });
            if let Err(error) = shown {
                stop.set();
                interrupted.get_or_insert(error);
            }
            if stop.halt.load(Ordering::Relaxed) {
                job.control.halt();
            }
        }
    });
    if let Some(see) = &see {
        let now = &job.progress().chains[chain];
        see.bind(py).call1((progress::chain(py, now)?,))?;
    }
    match ended {
        Ok(ended) => conclude(py, ended, interrupted),
        // Told to end because another chain has failed, or will never reply: the news is the other's.
        Err(towline::Error::Stopped) => Ok("halted"),
        Err(towline::Error::Exchange(why)) => {
            Err(pyo3::exceptions::PyConnectionError::new_err(why))
        }
        Err(error) => Err(target.explain(py, &error).unwrap_or_else(|| refused(error))),
    }
}
