//! What every command that samples shares: its options, progress, Ctrl-C, and what is said at the end.

mod options;
mod progress;

pub use options::{SamplingOptions, duration};

use crate::failure::Failure;
use anyhow::{Context, Result};
use progress::Display;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use towline::run::{Ended, Job, Progress, Run, Settings};
use towline::store::RunDir;
use towline::{Column, Exchange, Model};

/// A model of whatever type, as something that can be sampled.
pub trait Sample {
    /// Begins a run.
    fn create(
        &self,
        folder: &Path,
        description: Value,
        settings: Settings,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, towline::Error>;

    /// Goes on with one.
    fn resume(
        &self,
        folder: &Path,
        changes: &Changes,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, towline::Error>;

    /// What is reported of each draw.
    fn columns(&self) -> Vec<Column>;

    /// Runs one chain to its end, for those that run each chain in a process of its own.
    fn chain(
        &self,
        k: usize,
        job: &Job,
        exchange: &mut dyn Exchange,
    ) -> Result<Ended, towline::Error>;
}

/// What may be changed when a run goes on.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Draws of each chain.
    pub draws: Option<u64>,
    /// Threads.
    pub threads: Option<usize>,
    /// How long to go on.
    pub time_limit: Option<Duration>,
    /// The time between two checkpoints.
    pub checkpoint_every: Option<Duration>,
    /// Whether to say nothing about progress.
    pub quiet: bool,
}

struct Sampled<M>(Arc<M>);

/// A model as something that can be sampled.
pub fn boxed<M: Model + Send + Sync + 'static>(model: M) -> Box<dyn Sample> {
    Box::new(Sampled(Arc::new(model)))
}

impl<M: Model + Send + Sync + 'static> Sample for Sampled<M> {
    fn create(
        &self,
        folder: &Path,
        description: Value,
        settings: Settings,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, towline::Error> {
        Run::create(folder, Arc::clone(&self.0), description, settings)?.go(stop, see)
    }

    fn resume(
        &self,
        folder: &Path,
        changes: &Changes,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, towline::Error> {
        let mut run = Run::open(folder, Arc::clone(&self.0))?
            .threads(changes.threads)
            .time_limit(changes.time_limit)
            .checkpoint_every(changes.checkpoint_every);
        if let Some(draws) = changes.draws {
            run = run.draws(draws)?;
        }
        run.go(stop, see)
    }

    fn columns(&self) -> Vec<Column> {
        self.0.columns()
    }

    fn chain(
        &self,
        k: usize,
        job: &Job,
        mut exchange: &mut dyn Exchange,
    ) -> Result<Ended, towline::Error> {
        towline::run::chain(&*self.0, k, job, &mut exchange)
    }
}

/// Samples a model into a new run directory.
pub fn begin(
    model: &dyn Sample,
    folder: &Path,
    description: Value,
    options: &SamplingOptions,
) -> Result<(), Failure> {
    let settings = options.settings().map_err(Failure::Options)?;
    let mut display = Display::new(options.quiet);
    let see = &mut |progress: &Progress| display.show(progress);
    let ended = model.create(folder, description, settings, stop_on_ctrl_c()?, see);
    display.finish();
    conclude(ended, folder, options.quiet)
}

/// Goes on with a run.
pub fn resume(model: &dyn Sample, folder: &Path, changes: &Changes) -> Result<(), Failure> {
    let mut display = Display::new(changes.quiet);
    let see = &mut |progress: &Progress| display.show(progress);
    let ended = model.resume(folder, changes, stop_on_ctrl_c()?, see);
    display.finish();
    conclude(ended, folder, changes.quiet)
}

/// A flag that Ctrl-C (or a queue's request to end) sets; the second one ends the process.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // If stderr is closed there is nobody to tell.
        let _ = writeln!(
            io::stderr(),
            "stopping after the current step (again to end at once)"
        );
    })
    .context("cannot watch for Ctrl-C")
    .map_err(Failure::Run)?;
    Ok(stop)
}

/// Says where the run is and what can be done with it.
fn conclude(
    ended: Result<Ended, towline::Error>,
    folder: &Path,
    quiet: bool,
) -> Result<(), Failure> {
    let ended = ended.map_err(|error| {
        let keeps = matches!(error, towline::Error::Chain { .. } | towline::Error::TooLong { .. });
        let mut error = anyhow::Error::from(error);
        if keeps {
            error = error.context(format!(
                "the run in {0} ended early; its draws are kept, and `towline resume {0}` goes on with it",
                folder.display()
            ));
        }
        Failure::Run(error)
    })?;
    if !quiet {
        tell(ended, folder).map_err(Failure::Run)?;
    }
    match ended {
        Ended::Stopped => Err(Failure::Interrupted),
        _ => Ok(()),
    }
}

fn tell(ended: Ended, folder: &Path) -> Result<()> {
    let run = RunDir::open(folder)?;
    let why = match ended {
        Ended::Finished => "finished",
        Ended::TargetReached => "finished: R-hat and effective sample sizes are as asked for",
        Ended::TimeLimit => "the time is up",
        Ended::Stopped => "stopped",
    };
    let name = folder.display();
    let (chains, draws, asked) = (run.chains(), run.common_rows(), run.manifest().draws);
    let failures: u64 = run
        .checkpoints()?
        .iter()
        .flatten()
        .map(|c| c.failures)
        .sum();
    let mut out = io::stdout().lock();
    writeln!(out, "{why}: {chains} chains of {draws} draws in {name}")?;
    if failures > 0 {
        writeln!(
            out,
            "{failures} evaluations failed and counted as outside the support: see {name}/failures.jsonl"
        )?;
    }
    writeln!(out, "next:")?;
    if matches!(ended, Ended::TimeLimit | Ended::Stopped) {
        writeln!(out, "  towline resume {name}")?;
    } else {
        writeln!(out, "  towline resume {name} --draws {}", 2 * asked)?;
    }
    writeln!(out, "  towline summary {name}")?;
    writeln!(out, "  towline report {name}")?;
    Ok(())
}
