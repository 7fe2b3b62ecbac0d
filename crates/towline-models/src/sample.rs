//! Models as something that can be sampled, whatever their type: here the engine is compiled for them, once and with all optimisation, so
//! that a program which only hands them on need not be. Not for a browser, which has no run directories.

use crate::latent::LatentGaussian;
use crate::neal::Neal;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use towline::run::{Ended, Progress, Ranks, Run, Settings};
use towline::{Error, Model};

/// A model of whatever type, as something that can be sampled, by this process or by several.
pub trait Sample {
    /// Begins a run.
    ///
    /// # Errors
    /// Where the run cannot be made, and the first chain's failure.
    fn create(
        &self,
        folder: &Path,
        description: Value,
        settings: Settings,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error>;

    /// Continues one.
    ///
    /// # Errors
    /// Where there is none of this model, and the first chain's failure.
    fn resume(
        &self,
        folder: &Path,
        changes: &Changes,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error>;
}

/// What may be changed when a run is continued.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Draws of each chain.
    pub draws: Option<u64>,
    /// Threads.
    pub threads: Option<usize>,
    /// Slow points that are weighed at a time.
    pub workers: Option<usize>,
    /// The standard error to stop at.
    pub error: Option<f64>,
    /// How long to run.
    pub time_limit: Option<Duration>,
    /// The time between two checkpoints.
    pub checkpoint_every: Option<Duration>,
    /// Whether the model must give the recorded log density to the bit.
    pub strict: bool,
}

impl LatentGaussian {
    /// It, to be sampled.
    pub fn sampled(self) -> Box<dyn Sample> {
        Box::new(Sampled(Arc::new(self)))
    }
}

impl Neal {
    /// It, to be sampled.
    pub fn sampled(self) -> Box<dyn Sample> {
        Box::new(Sampled(Arc::new(self)))
    }
}

/// How a run of a model goes.
trait Goes: Model + Send + Sync + Sized + 'static {
    fn go(
        run: Run<Self>,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error>;
}

impl Goes for Neal {
    fn go(
        run: Run<Self>,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        run.go_among(ranks, stop, see)
    }
}

impl Goes for LatentGaussian {
    /// Beside its evaluations, calls through a pointer are nothing.
    fn go(
        run: Run<Self>,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        run.go_forgetting(ranks, stop, see)
    }
}

struct Sampled<M>(Arc<M>);

impl<M: Goes> Sample for Sampled<M> {
    fn create(
        &self,
        folder: &Path,
        description: Value,
        settings: Settings,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        // What is not part of a run, so that whoever joins one has to be told.
        let (threads, workers) = (settings.threads, settings.workers);
        let (limit, every) = (settings.time_limit, settings.checkpoint_every);
        let model = &self.0;
        let make = || Run::create(folder, Arc::clone(model), description, settings);
        let run = Run::among(ranks, model, make)?
            .threads(threads)
            .workers(workers)
            .time_limit(limit)
            .checkpoint_every(every);
        M::go(run, ranks, stop, see)
    }

    fn resume(
        &self,
        folder: &Path,
        changes: &Changes,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        let model = &self.0;
        let make = || {
            let run = Run::open(folder, Arc::clone(model))?.error(changes.error)?;
            match changes.draws {
                Some(draws) => run.draws(draws),
                None => Ok(run),
            }
        };
        let run = Run::among(ranks, model, make)?
            .threads(changes.threads)
            .workers(changes.workers)
            .time_limit(changes.time_limit)
            .checkpoint_every(changes.checkpoint_every)
            .strict(changes.strict);
        M::go(run, ranks, stop, see)
    }
}
