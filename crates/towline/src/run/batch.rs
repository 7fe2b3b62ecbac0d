//! A batch of slow points, spread over threads or handed to the model whole: what fails or hangs does not keep the others.

use super::Ended;
use super::driver::{Job, ending};
use super::guard::message;
use super::weigh::Asked;
use super::{STACK, TICK, open};
use crate::erased::{AnyModel, Shared};
use crate::error::Error;
use crate::estimate::{Scale, Weighted};
use crate::store::{Failure, Points};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Points that are evaluated together.
pub(super) struct Batch<'a> {
    pub model: &'a Arc<dyn Shared>,
    pub scale: &'a Arc<Scale>,
    pub job: &'a Job,
    pub asked: &'a Asked,
    pub log: &'a Points,
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

impl Batch<'_> {
    /// Evaluates what is wanted; how the run ends, where it is to end now.
    pub fn run(
        &self,
        wanted: VecDeque<(usize, Vec<f64>)>,
        points: &mut BTreeMap<usize, Weighted>,
        show: &mut dyn FnMut(usize),
    ) -> Result<Option<Ended>, Error> {
        let (total, mut failures) = (wanted.len(), Vec::new());
        if self.model.any().is_batched() {
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
            match told.recv_timeout(TICK).ok() {
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
            let model = model.any();
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
                let found = guarded(&x, || scale.weigh_any(&*model, index, &x));
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
        let model: &AnyModel = &*self.model.any();
        while !wanted.is_empty() && ending(self.job).is_none() {
            let count = self.asked.workers.max(1).min(wanted.len());
            let part: Vec<(usize, Vec<f64>)> = wanted.drain(..count).collect();
            let xs: Vec<&[f64]> = part.iter().map(|(_, x)| &x[..]).collect();
            let caches = catch_unwind(AssertUnwindSafe(|| model.prepare_batch(&xs)));
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
                    Ok(Some(cache)) => self.scale.weigh_prepared(model, *index, x, &cache),
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

/// An evaluation whose panic is an error.
fn guarded(x: &[f64], work: impl FnOnce() -> Result<Weighted, Error>) -> Result<Weighted, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Panicked {
            x: x.to_vec(),
            message: message(&*panic),
        })
    })
}
