//! Runs: several chains of one model, their draws in a run directory, stopped and continued at any time.
//!
//! ```
//! use std::sync::Arc;
//! use towline::run::{Run, Settings};
//! use towline::{Column, Cost, Model, ModelError, Rng, Role, Target};
//!
//! struct Neal1;
//! impl Target for Neal1 {
//!     type Cache = (f64, f64);
//!     fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
//!         Ok(Some((x[0], x[0].sin())))
//!     }
//!     fn log_density(&self, &(x, sin_x): &(f64, f64), y: &[f64]) -> f64 {
//!         -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - sin_x).powi(2)
//!     }
//! }
//! impl Model for Neal1 {
//!     fn columns(&self) -> Vec<Column> {
//!         vec![Column::new("x", Role::Slow), Column::new("y", Role::Fast)]
//!     }
//!     fn report(&self, x: &[f64], y: &[f64], _: &(f64, f64), row: &mut [f64]) {
//!         row.copy_from_slice(&[x[0], y[0]]);
//!     }
//!     fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
//!         Ok((vec![rng.normal()], vec![rng.normal()]))
//!     }
//! }
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("run");
//! let settings = Settings { chains: 2, draws: 200, cost: Cost::Ratio(100.0), ..Settings::default() };
//! let run = Run::create(&folder, Arc::new(Neal1), "the report's first example".into(), settings)?;
//! run.go(Default::default(), &mut |_| ())?;
//! // Later, perhaps after the process was killed: more draws.
//! Run::open(&folder, Arc::new(Neal1))?.draws(500)?.go(Default::default(), &mut |_| ())?;
//! let x = towline::store::RunDir::open(&folder)?.column("x")?;
//! assert_eq!((x.len(), x[0].len()), (2, 500));
//! # Ok::<(), towline::Error>(())
//! ```
//!
//! # What memory a run needs
//! It is bounded by the chains and the dimension, never by the draws: rows go to disk as they come,
//! means and variances are kept as they run ([`Moments`](crate::store::Moments)), and R-hat and effective sizes, for progress and for stopping,
//! are estimated from at most 128 batches of each column ([`Batches`](crate::store::Batches)).

mod approach;
mod batch;
mod control;
mod crew;
mod driver;
mod guard;
mod production;
mod progress;
mod ranks;
mod relay;
mod rounds;
mod settings;
mod together;
mod weigh;

pub use control::{Control, Watch};
pub use crew::{Aside, Crew};
pub use driver::{Job, chain, chain_forgetting};
pub use progress::{ChainProgress, Phase, Progress, WeighingProgress};
pub use ranks::{Post, Ranks};
pub use settings::{OnFailure, Settings, StopTarget};
pub use together::{Member, Together};

use crate::error::Error;
use crate::model::Model;
use crate::store::{Checkpoint, Failure, Lock, Manifest};
use relay::Relay;
use rounds::Rounds;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often progress is shown and hanging evaluations are looked for.
const TICK: Duration = Duration::from_millis(100);
/// The stack of a chain's thread; what is not used of it costs nothing.
const STACK: usize = 64 << 20;
/// How long chains may take to store what they have once the run has ended, before they are given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a run ended; whatever it was, its directory can be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// Every chain has its draws.
    Finished,
    /// R-hat and effective sample sizes, or standard errors, are as asked for.
    TargetReached,
    /// The time was up.
    TimeLimit,
    /// Somebody said stop.
    Stopped,
}

/// A run that is ready to begin, or to go on.
#[derive(Debug)]
pub struct Run<M> {
    folder: PathBuf,
    model: Arc<M>,
    manifest: Manifest,
    settings: Settings,
    lock: Lock,
    strict: bool,
    aside: Aside,
}

impl<M: Model + Send + Sync + 'static> Run<M> {
    /// A new run. The directory is made if need be, and must not hold a run already; `description` is what whoever
    /// resumes the run needs to build the model again.
    ///
    /// # Errors
    /// Where settings make no sense or the directory cannot be written.
    pub fn create(
        folder: &Path,
        model: Arc<M>,
        description: serde_json::Value,
        settings: Settings,
    ) -> Result<Self, Error> {
        settings.validate()?;
        let manifest = settings.manifest(&model.columns(), description)?;
        std::fs::create_dir_all(folder).map_err(|source| Error::File {
            doing: "make",
            path: folder.to_path_buf(),
            source,
        })?;
        let lock = Lock::take(folder)?;
        if folder.join("manifest.json").exists() {
            return Err(Error::HoldsARun {
                path: folder.to_path_buf(),
            });
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            model,
            manifest,
            settings,
            lock,
            strict: false,
            aside: |wait| wait(),
        })
    }

    /// The run of a directory, to go on with. The model must be the one that it was begun with.
    ///
    /// # Errors
    /// Where it is no run directory, it is damaged or in use, or the model is another one.
    pub fn open(folder: &Path, model: Arc<M>) -> Result<Self, Error> {
        // First of all, so that a directory that is none is not written to.
        Manifest::read(folder)?;
        let lock = Lock::take(folder)?;
        let manifest = Manifest::read(folder)?;
        Self::of(folder, model, manifest, lock)
    }

    /// The run that a manifest speaks of.
    fn of(folder: &Path, model: Arc<M>, manifest: Manifest, lock: Lock) -> Result<Self, Error> {
        let settings = Settings::recorded(&manifest);
        let now = settings.manifest(&model.columns(), manifest.model.clone())?;
        if now.columns != manifest.columns || now.latents != manifest.latents {
            return Err(Error::CannotResume {
                path: folder.to_path_buf(),
                problem: "the model reports other columns than those stored".to_owned(),
            });
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            model,
            manifest,
            settings,
            lock,
            strict: false,
            aside: |wait| wait(),
        })
    }

    /// With so many draws of each chain.
    ///
    /// # Errors
    /// Where there are more already.
    pub fn draws(mut self, draws: u64) -> Result<Self, Error> {
        for chain in 0..self.manifest.chains {
            let rows = Checkpoint::read(&self.folder, chain)?.map_or(0, |c| c.rows);
            if rows > draws {
                return Err(Error::CannotResume {
                    path: self.folder.clone(),
                    problem: format!(
                        "{draws} draws are asked for, and chain {chain} has {rows} already; ask for at least as many"
                    ),
                });
            }
        }
        if draws == 0 {
            return Err(Error::ZeroIterations);
        }
        self.manifest.draws = draws;
        Ok(self)
    }

    /// On so many threads at most; nothing for one for each core.
    #[must_use]
    pub fn threads(mut self, threads: Option<usize>) -> Self {
        self.settings.threads = threads;
        self
    }

    /// With so many slow evaluations at a time, of warm-up and of points that are weighed; nothing for one for each core, and in
    /// warm-up for one of each chain.
    #[must_use]
    pub fn workers(mut self, workers: Option<usize>) -> Self {
        self.settings.workers = workers;
        self
    }

    /// Until the standard error of every slow parameter is so many of its standard deviations; nothing for what was asked before.
    ///
    /// # Errors
    /// Where that makes no sense.
    pub fn error(mut self, error: Option<f64>) -> Result<Self, Error> {
        if error.is_some() {
            self.settings.error = error;
            self.settings.validate()?;
            self.manifest.options.error = error;
        }
        Ok(self)
    }

    /// For so long at most.
    #[must_use]
    pub fn time_limit(mut self, limit: Option<Duration>) -> Self {
        self.settings.time_limit = limit;
        self
    }

    /// Whether a chain that is resumed must find its log density to the bit: a difference in the last digits is an error then,
    /// and else a warning.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// With chains that wait for workers by calling this with the wait: for threads that hold what others need, as Python's do.
    #[must_use]
    pub fn aside(mut self, aside: Aside) -> Self {
        self.aside = aside;
        self
    }

    /// With so much time between two checkpoints; nothing for a second, or more where a checkpoint takes long.
    #[must_use]
    pub fn checkpoint_every(mut self, time: Option<Duration>) -> Self {
        self.settings.checkpoint_every = time;
        self
    }

    /// What is run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Runs until the draws are made, the target is reached, the time is up, or `stop` is set; `see` is shown progress
    /// several times a second.
    ///
    /// # Errors
    /// The first chain's failure. All chains have stored what they had, and the run can be continued.
    pub fn go(self, stop: Arc<AtomicBool>, see: &mut dyn FnMut(&Progress)) -> Result<Ended, Error> {
        self.go_among(&mut Ranks::alone(), stop, see)
    }

    /// The same in each of several processes, after [`among`](Self::among). The leader answers for all of them, and is shown
    /// the progress of all; the others answer for the chains of their own.
    ///
    /// # Errors
    /// As [`go`](Self::go).
    pub fn go_among(
        self,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        self.go_as(ranks, stop, see, |model, k, job, exchange| {
            exchange.begin(|exchange| driver::chain(model, k, job, exchange))
        })
    }

    /// As [`go_among`](Self::go_among), by [`chain_forgetting`].
    ///
    /// # Errors
    /// As [`go`](Self::go).
    pub fn go_forgetting(
        self,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        self.go_as(ranks, stop, see, |model, k, job, exchange| {
            exchange.begin(|exchange| driver::chain_forgetting(model, k, job, exchange))
        })
    }

    /// As [`go`](Self::go), with chains run by `work`, each on its own thread: it is to begin the exchange and call [`chain`] in
    /// it, with whatever a thread needs around that (Python's threads hold the interpreter).
    ///
    /// # Errors
    /// As [`go`](Self::go).
    pub fn go_within<W>(
        self,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
        work: W,
    ) -> Result<Ended, Error>
    where
        W: Fn(&M, usize, &Job, &mut Member) -> Result<Ended, Error> + Send + Sync + 'static,
    {
        self.go_as(&mut Ranks::alone(), stop, see, work)
    }

    /// All that a run does is compiled once: only `work` knows the model's type.
    fn go_as<W>(
        self,
        ranks: &mut Ranks,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
        work: W,
    ) -> Result<Ended, Error>
    where
        W: Fn(&M, usize, &Job, &mut Member) -> Result<Ended, Error> + Send + Sync + 'static,
    {
        let Self {
            folder,
            model,
            manifest,
            settings,
            lock,
            strict,
            aside,
        } = self;
        let own = Arc::clone(&model);
        let rounds = Rounds {
            folder,
            manifest,
            settings,
            strict,
            aside,
            model,
            work: Arc::new(move |k, job, exchange| work(&own, k, job, exchange)),
        };
        let ended = rounds.go(ranks, &stop, see);
        // Held until here: no other process may write before all chains have ended.
        drop(lock);
        ended
    }
}

/// Waits for all chains, shows progress, carries letters, and gives up chains whose evaluations hang.
fn await_chains(
    job: &Job,
    told: &mpsc::Receiver<(usize, Result<Ended, Error>)>,
    together: &Arc<Together>,
    relay: &mut Relay<'_>,
    see: &mut dyn FnMut(&Progress),
) -> Result<Ended, Error> {
    let mut endings: Vec<Option<Result<Ended, Error>>> = (0..job.watches.len())
        .map(|chain| (!relay.waits_for(chain)).then_some(Ok(Ended::Finished)))
        .collect();
    let mut halted: Option<Instant> = None;
    let mut looked = Instant::now();
    while endings.iter().any(Option::is_none) {
        match told.recv_timeout(relay.patience()) {
            Ok((chain, ended)) => {
                relay.note(chain, &ended);
                endings[chain] = Some(ended);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                for (chain, ending) in endings.iter_mut().enumerate() {
                    if relay.is_here(chain) {
                        ending.get_or_insert_with(|| {
                            Err(Error::Exchange(format!("chain {chain} vanished")))
                        });
                    }
                }
                std::thread::sleep(relay.patience());
            }
        }
        relay
            .carry(job, together, &mut endings)
            .inspect_err(|error| {
                job.control.halt();
                together.end(error.to_string());
            })?;
        if looked.elapsed() < TICK {
            continue;
        }
        looked = Instant::now();
        see(&job.progress());
        if job.control.is_halted() || job.control.should_stop() {
            halted.get_or_insert_with(Instant::now);
        }
        let out_of_patience = halted.is_some_and(|since| since.elapsed() > PATIENCE);
        for (chain, watch) in job.watches.iter().enumerate() {
            if endings[chain].is_some() || !relay.is_here(chain) {
                continue;
            }
            let hangs = watch.hangs();
            // Without a limit of its own, a slow evaluation is waited for; Ctrl-C twice ends the process.
            if hangs || (out_of_patience && job.control.is_halted() && watch.is_timed()) {
                watch.abandon();
                job.control.halt();
                let error = watch.too_long(chain);
                log(job, chain, &error);
                together.give_up(chain, &error.to_string());
                let ended = Err(error);
                relay.note(chain, &ended);
                endings[chain] = Some(ended);
            }
        }
    }
    // What others have not been told yet.
    relay.carry(job, together, &mut endings)?;
    first_of(endings.into_iter().flatten().collect())
}

fn log(job: &Job, chain: usize, error: &Error) {
    let failure = Failure::of(chain, job.watches[chain].draws(), error);
    // The error itself is reported; that its copy cannot be logged adds nothing.
    let _ = job.failures.log(&failure);
}

/// What ended the run: a failure of a chain before the echoes of it in others, else how they ended.
fn first_of(endings: Vec<Result<Ended, Error>>) -> Result<Ended, Error> {
    let mut echo = None;
    let mut how = Ended::Finished;
    for ending in endings {
        match ending {
            Err(error @ (Error::Exchange(_) | Error::Stopped)) => echo = Some(error),
            Err(error) => return Err(error),
            Ok(Ended::Finished) => {}
            Ok(other) => how = other,
        }
    }
    match (echo, how) {
        (Some(error), Ended::Finished) => Err(error),
        (_, how) => Ok(how),
    }
}

/// A lock that a panic elsewhere does not spoil: what it guards is plain data.
fn open<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
