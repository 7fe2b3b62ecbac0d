//! Slow points weighed by workers, batch by batch, until an error is reached: no chain is involved, and nothing depends on how many
//! workers there are or in which order they finish.

use super::Ended;
use super::driver::{Job, ending};
use super::guard::message;
use super::progress::{Progress, WeighingProgress};
use super::{STACK, TICK, open};
use crate::error::Error;
use crate::estimate::{Estimator, Need, Scale, Weighted, need};
use crate::kernel::info::Info;
use crate::model::{Model, Role};
use crate::store::{Failure, Points, Stages, StoredEstimates, Weighing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How it went.
pub(super) enum Weighed {
    /// The run ends.
    Ended(Ended),
    /// Chains are to do the work.
    ChainsInstead,
}

/// What is asked.
pub(super) struct Asked {
    /// Standard errors of slow parameters, in standard deviations.
    pub error: f64,
    pub workers: usize,
    /// Whether a point that fails counts as outside the support.
    pub lenient: bool,
    pub limit: Option<Duration>,
}

/// Weighs points until the error is reached, from wherever an earlier session left off.
pub(super) fn weigh<M: Model + Send + Sync + 'static>(
    model: &Arc<M>,
    job: &Job,
    asked: &Asked,
    see: &mut dyn FnMut(&Progress),
) -> Result<Weighed, Error> {
    let (folder, run) = (&job.folder, job.manifest.fingerprint());
    let mut weighing = match Weighing::read(folder, run)? {
        Some(weighing) => weighing,
        None => {
            let Some(weighing) = begin(job)? else {
                return Ok(Weighed::ChainsInstead);
            };
            weighing.write(folder, run)?;
            weighing
        }
    };
    let begun = Instant::now();
    let (log, stored) = Points::open(folder, run)?;
    let mut points: BTreeMap<usize, Weighted> = stored
        .into_iter()
        .map(|point| (point.index, point))
        .collect();
    let columns: Vec<&crate::model::Column> = job.manifest.columns.iter().collect();
    let names: Vec<String> = columns.iter().map(|c| c.name.clone()).collect();
    let slow: Vec<usize> = (0..columns.len())
        .filter(|&k| columns[k].role == Role::Slow)
        .collect();
    let dim = weighing.scale.slow_dim();
    let mut estimator = None;
    let before = weighing.seconds;
    let (mut now, mut done) = (None, 0);
    loop {
        let next = need(asked.error, dim, &slow, now.as_ref(), done);
        let Need::Points(planned) = next else {
            let instead = next == Need::Chain;
            weighing.chains_instead = instead;
            if let Some(estimates) = now {
                let stored = StoredEstimates {
                    estimates,
                    error_asked: asked.error,
                    reached: !instead,
                    chains_instead: instead,
                    learning_slow_evals: weighing.learned.slow_evaluations,
                    learning_fast_evals: weighing.learned.fast_evaluations,
                    seconds: before + begun.elapsed().as_secs_f64(),
                };
                let kept: Vec<Weighted> = points.values().take(done).cloned().collect();
                stored.write(folder, &kept, names.len() + 1)?;
            }
            if instead {
                weighing.write(folder, run)?;
                return Ok(Weighed::ChainsInstead);
            }
            return Ok(Weighed::Ended(Ended::TargetReached));
        };
        let xs = weighing.scale.points(planned);
        let wanted: VecDeque<(usize, Vec<f64>)> = xs
            .into_iter()
            .enumerate()
            .filter(|(index, _)| !points.contains_key(index))
            .collect();
        let error = now.as_ref().map(|now| worst(now, &slow));
        let batch = Batch {
            model,
            scale: &Arc::new(weighing.scale.clone()),
            job,
            asked,
            log: &log,
        };
        let mut show = |finished: usize| {
            let mut progress = job.progress();
            progress.weighing = Some(WeighingProgress {
                learned: weighing.learned.slow_evaluations,
                points: finished,
                planned,
                error,
                asked: asked.error,
            });
            see(&progress);
        };
        if let Some(ended) = batch.run(wanted, &mut points, &mut show)? {
            weighing.seconds = before + begun.elapsed().as_secs_f64();
            weighing.write(folder, run)?;
            return Ok(Weighed::Ended(ended));
        }
        done = planned;
        let so_far: Vec<Weighted> = points
            .range(..planned)
            .map(|(_, point)| point.clone())
            .collect();
        let estimator = estimator.get_or_insert_with(|| {
            Estimator::new(weighing.scale.clone(), names.clone(), asked.workers)
        });
        now = estimator.estimates(&so_far);
    }
}

/// The largest standard error of these columns, in standard deviations.
fn worst(now: &crate::estimate::Estimates, columns: &[usize]) -> f64 {
    let ratios = columns
        .iter()
        .map(|&k| now.columns[k].se / now.columns[k].sd);
    ratios.fold(0.0, f64::max)
}

/// What the chains learned, as their last stages have it.
fn begin(job: &Job) -> Result<Option<Weighing>, Error> {
    let (mut learned, mut seconds) = (Info::default(), 0.0_f64);
    let tuning = match &job.tuning {
        Some(tuning) => tuning.clone(),
        None => {
            let mut first = None;
            for k in 0..job.manifest.chains {
                let stages = Stages::new(&job.folder, k, job.manifest.fingerprint());
                let Some(newest) = stages.newest() else {
                    return Ok(None);
                };
                let stage = stages.load(newest)?;
                learned += stage.warming.spent();
                seconds = seconds.max(stage.seconds.wall);
                first.get_or_insert(stage.warming.tuning().clone());
            }
            match first {
                Some(tuning) => tuning,
                None => return Ok(None),
            }
        }
    };
    Ok(
        Scale::new(&tuning, job.manifest.seed).map(|scale| Weighing {
            scale,
            learned,
            seconds,
            chains_instead: false,
        }),
    )
}

/// Points that are evaluated together.
struct Batch<'a, M> {
    model: &'a Arc<M>,
    scale: &'a Arc<Scale>,
    job: &'a Job,
    asked: &'a Asked,
    log: &'a Points,
}

/// What a worker says.
enum Said {
    /// It begins with a point.
    Begun {
        worker: usize,
        index: usize,
        x: Vec<f64>,
    },
    /// It is done with it.
    Done {
        worker: usize,
        index: usize,
        found: Result<Weighted, Error>,
    },
    /// There is nothing left for it.
    Idle { worker: usize },
}

type Queue = Arc<Mutex<VecDeque<(usize, Vec<f64>)>>>;

impl<M: Model + Send + Sync + 'static> Batch<'_, M> {
    /// Evaluates what is wanted; how the run ends, where it is to end now.
    fn run(
        &self,
        wanted: VecDeque<(usize, Vec<f64>)>,
        points: &mut BTreeMap<usize, Weighted>,
        show: &mut dyn FnMut(usize),
    ) -> Result<Option<Ended>, Error> {
        let (total, mut failures) = (wanted.len(), Vec::new());
        if self.model.is_batched() {
            self.prepared_together(wanted, points, &mut failures, show)?;
        } else {
            self.spread(wanted, points, &mut failures, show)?;
        }
        let failed = failures.len();
        if let Some(first) = failures.into_iter().next().filter(|_| !self.asked.lenient) {
            return Err(Error::Points {
                failed,
                of: total,
                source: Box::new(first),
            });
        }
        Ok(ending(self.job))
    }

    /// By threads, each of which evaluates one point at a time.
    fn spread(
        &self,
        wanted: VecDeque<(usize, Vec<f64>)>,
        points: &mut BTreeMap<usize, Weighted>,
        failures: &mut Vec<Error>,
        show: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        let workers = self.asked.workers.clamp(1, wanted.len().max(1));
        let queue: Queue = Arc::new(Mutex::new(wanted));
        let (tell, told) = mpsc::channel();
        for worker in 0..workers {
            self.start(worker, &queue, &tell)?;
        }
        let mut started = workers;
        let mut busy: BTreeMap<usize, (usize, Vec<f64>, Instant)> = BTreeMap::new();
        let mut gone = BTreeSet::new();
        let mut looked = Instant::now();
        while gone.len() < started {
            match next(&told) {
                Some(Said::Begun { worker, index, x }) => {
                    gone.remove(&worker);
                    busy.insert(worker, (index, x, Instant::now()));
                }
                // A worker that was given up says something after all: nobody listens.
                Some(Said::Done {
                    worker,
                    index,
                    found,
                }) => {
                    if let Some((_, x, _)) = busy.remove(&worker) {
                        self.take(index, &x, found, points, failures)?;
                    }
                }
                Some(Said::Idle { worker }) => {
                    gone.insert(worker);
                }
                None => {}
            }
            if self.job.control.should_stop() || self.job.control.is_late() {
                open(&queue).clear();
            }
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                show(points.len());
                for worker in self.hanging(&busy) {
                    let Some((index, x, _)) = busy.remove(&worker) else {
                        continue;
                    };
                    let seconds = self.asked.limit.map_or(0.0, |limit| limit.as_secs_f64());
                    let error = Error::PointTooLong {
                        x: x.clone(),
                        seconds,
                    };
                    self.take(index, &x, Err(error), points, failures)?;
                    // Another takes its place, and this one is waited for no longer.
                    self.start(started, &queue, &tell)?;
                    started += 1;
                    gone.insert(worker);
                }
            }
        }
        Ok(())
    }

    /// The workers whose point takes longer than it may.
    fn hanging(&self, busy: &BTreeMap<usize, (usize, Vec<f64>, Instant)>) -> Vec<usize> {
        let Some(limit) = self.asked.limit else {
            return Vec::new();
        };
        let late = busy
            .iter()
            .filter(|(_, (_, _, since))| since.elapsed() > limit);
        late.map(|(worker, _)| *worker).collect()
    }

    /// A worker, on its own thread.
    fn start(&self, worker: usize, queue: &Queue, tell: &Sender<Said>) -> Result<(), Error> {
        let (model, scale) = (Arc::clone(self.model), Arc::clone(self.scale));
        let (queue, tell) = (Arc::clone(queue), tell.clone());
        let work = move || {
            loop {
                let Some((index, x)) = open(&queue).pop_front() else {
                    let _ = tell.send(Said::Idle { worker });
                    return;
                };
                // Where nobody listens any more, the run has ended.
                if tell
                    .send(Said::Begun {
                        worker,
                        index,
                        x: x.clone(),
                    })
                    .is_err()
                {
                    return;
                }
                let found = guarded(&x, || scale.weigh(&*model, index, &x));
                if tell
                    .send(Said::Done {
                        worker,
                        index,
                        found,
                    })
                    .is_err()
                {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name(format!("worker {worker}"))
            .stack_size(STACK)
            .spawn(work)
            .map(|_| ())
            .map_err(|source| Error::File {
                doing: "start a thread for",
                path: self.job.folder.clone(),
                source,
            })
    }

    /// By the model itself, as many at a time as there are workers: it knows how to make several slow computations at once.
    fn prepared_together(
        &self,
        mut wanted: VecDeque<(usize, Vec<f64>)>,
        points: &mut BTreeMap<usize, Weighted>,
        failures: &mut Vec<Error>,
        show: &mut dyn FnMut(usize),
    ) -> Result<(), Error> {
        while !wanted.is_empty() && ending(self.job).is_none() {
            let count = self.asked.workers.max(1).min(wanted.len());
            let part: Vec<(usize, Vec<f64>)> = wanted.drain(..count).collect();
            let xs: Vec<&[f64]> = part.iter().map(|(_, x)| &x[..]).collect();
            let caches = catch_unwind(AssertUnwindSafe(|| self.model.prepare_batch(&xs)));
            let mut caches = match caches {
                Ok(caches) => caches.into_iter(),
                Err(panic) => {
                    return Err(Error::Panicked {
                        x: part[0].1.clone(),
                        message: message(&*panic),
                    });
                }
            };
            for (index, x) in &part {
                let cache = caches.next().unwrap_or_else(|| {
                    Err("prepare_batch gave fewer results than it was asked for".into())
                });
                let found = guarded(x, || match cache {
                    Ok(Some(cache)) => self.scale.weigh_prepared(&**self.model, *index, x, &cache),
                    Ok(None) => Ok(Weighted::without_mass(*index, x)),
                    Err(source) => Err(Error::Model {
                        x: x.clone(),
                        y: Vec::new(),
                        source,
                    }),
                });
                self.take(*index, x, found, points, failures)?;
            }
            show(points.len());
        }
        Ok(())
    }

    /// Stores what was found at a point, or that it failed.
    fn take(
        &self,
        index: usize,
        x: &[f64],
        found: Result<Weighted, Error>,
        points: &mut BTreeMap<usize, Weighted>,
        failures: &mut Vec<Error>,
    ) -> Result<(), Error> {
        let point = match found {
            Ok(point) => point,
            Err(error) => {
                self.job
                    .failures
                    .log(&Failure::of(0, index as u64, &error))?;
                let point = Weighted::failed(index, x, error.to_string());
                failures.push(error);
                if !self.asked.lenient {
                    // Tried again when the run is resumed.
                    return Ok(());
                }
                point
            }
        };
        self.log.add(&point)?;
        points.insert(index, point);
        Ok(())
    }
}

/// The next thing that is said, if it is soon.
fn next(told: &Receiver<Said>) -> Option<Said> {
    match told.recv_timeout(TICK) {
        Ok(said) => Some(said),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
    }
}

/// An evaluation whose panic is an error.
fn guarded(x: &[f64], work: impl FnOnce() -> Result<Weighted, Error>) -> Result<Weighted, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Panicked {
            x: x.to_vec(),
            message: message(&*panic),
        })
    })
}
