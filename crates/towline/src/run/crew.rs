//! Workers who look at places of x for all chains of a run: whoever is free takes the next place, and what fails or hangs does not keep
//! the others.

use super::control::{Control, Watch};
use super::guard::{Guard, message};
use super::{STACK, TICK, open};
use crate::erased::{AnyModel, AnyTarget, Erased};
use crate::error::Error;
use crate::frame::Laplace;
use crate::model::Model;
use crate::store::Failure;
use crate::warmup::look::{Look, Wanted, look, look_at};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a model that makes several slow computations at once waits for more of them to be asked for: chains ask at about the same
/// time.
const LINGER: Duration = Duration::from_millis(3);

/// Several workers on threads of their own, for a model whose type is forgotten.
pub struct Crew {
    shared: Arc<Shared>,
    batches: AtomicU64,
}

struct Shared {
    line: Mutex<Line>,
    wake: Condvar,
    workers: usize,
    /// Whether the model makes several slow computations at once by itself.
    together: bool,
    /// How long one evaluation may take.
    limit: Option<Duration>,
    work: Box<Work>,
}

/// Looks at some places, and says what was found at each.
type Work = dyn Fn(&[Task], &Watch) -> Vec<Result<Option<Look>, Error>> + Send + Sync;

#[derive(Default)]
struct Line {
    waiting: VecDeque<Task>,
    /// Slow evaluations under way, those that chains make themselves included.
    busy: usize,
    threads: usize,
    over: bool,
}

/// A place to look at.
struct Task {
    chain: usize,
    /// Whose it is: no two batches have the same number.
    batch: u64,
    index: usize,
    rule: Arc<Laplace>,
    x: Vec<f64>,
    wanted: Wanted,
    tell: Sender<Said>,
}

/// What a worker says.
enum Said {
    /// It begins with a place.
    Begun(usize, Arc<Watch>),
    /// It is done.
    Done(usize, Box<Done>),
}

/// What came of a look.
pub(super) struct Done {
    pub found: Result<Option<Look>, Error>,
    /// Failures that count as outside the support: how many, and what is logged of them.
    pub failed: u64,
    pub failures: Vec<Failure>,
    pub seconds: f64,
}

/// An evaluation that a chain makes by itself: a worker less is busy meanwhile.
pub(super) struct Own<'a>(&'a Shared);

impl Drop for Own<'_> {
    fn drop(&mut self) {
        open(&self.0.line).busy -= 1;
        self.0.wake.notify_all();
    }
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Crew of {}", self.shared.workers)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        open(&self.shared.line).over = true;
        self.shared.wake.notify_all();
    }
}

impl Crew {
    /// So many workers for a model; with `lenient`, what fails counts as outside the support.
    pub fn new<M: Model + Send + Sync + 'static>(
        model: Arc<M>,
        workers: usize,
        lenient: bool,
        limit: Option<Duration>,
    ) -> Self {
        let together = model.is_batched();
        // Workers are stopped by giving them nothing to do.
        let control = Control::new(Arc::default(), None);
        let work = move |tasks: &[Task], watch: &Watch| {
            let model: &AnyModel = &Erased(&*model);
            let guard = Guard::<_, true>::beside(model, tasks[0].chain, &control, watch, lenient);
            let target: &AnyTarget = &guard;
            if !together {
                let one = |task: &Task| {
                    guarded(&task.x, || look(&target, &task.rule, &task.x, task.wanted))
                };
                return tasks.iter().map(one).collect();
            }
            let finite = |task: &&Task| task.x.iter().all(|v| v.is_finite());
            let xs: Vec<&[f64]> = tasks
                .iter()
                .filter(finite)
                .map(|task| &task.x[..])
                .collect();
            let begun = Instant::now();
            let caches = catch_unwind(AssertUnwindSafe(|| model.prepare_batch(&xs)));
            let seconds = begun.elapsed().as_secs_f64() / xs.len().max(1) as f64;
            let mut caches = match caches {
                Ok(caches) => caches.into_iter(),
                Err(panic) => {
                    let message = message(&*panic);
                    let failed = |task: &Task| {
                        let message = message.clone();
                        let x = task.x.clone();
                        Err(Error::Panicked { x, message })
                    };
                    return tasks.iter().map(failed).collect();
                }
            };
            let each = tasks.iter().map(|task| {
                if !finite(&task) {
                    return Ok(None);
                }
                let cache = caches.next().unwrap_or_else(|| {
                    Err("prepare_batch gave fewer results than it was asked for".into())
                });
                guarded(&task.x, || match guard.told(&task.x, cache) {
                    Ok(Some(cache)) => {
                        let mut look = look_at(&target, &task.rule, &task.x, &cache, task.wanted);
                        look.seconds[0] = seconds;
                        Ok(Some(look))
                    }
                    Ok(None) => Ok(None),
                    Err(source) => Err(Error::Model {
                        x: task.x.clone(),
                        y: Vec::new(),
                        source,
                    }),
                })
            });
            each.collect()
        };
        Self {
            shared: Arc::new(Shared {
                line: Mutex::default(),
                wake: Condvar::new(),
                workers,
                together,
                limit,
                work: Box::new(work),
            }),
            batches: AtomicU64::new(0),
        }
    }

    /// A chain makes a slow evaluation by itself for as long as this is held.
    pub(super) fn own(&self) -> Own<'_> {
        open(&self.shared.line).busy += 1;
        Own(&self.shared)
    }

    /// Looks at places for a chain, and hands over what was found as it comes; until all is done or `stops` says that the rest is not
    /// wanted any more. Returns whether all was done.
    pub(super) fn look(
        &self,
        chain: usize,
        rule: &Laplace,
        places: &[(usize, &[f64])],
        wanted: Wanted,
        stops: &(dyn Fn() -> bool + Sync),
        take: &mut (dyn FnMut(usize, Done) + Send),
    ) -> Result<bool, Error> {
        let (batch, rule) = (
            self.batches.fetch_add(1, Ordering::Relaxed),
            Arc::new(rule.clone()),
        );
        let (tell, told) = mpsc::channel();
        {
            let mut line = open(&self.shared.line);
            line.waiting.extend(places.iter().map(|(index, x)| Task {
                chain,
                batch,
                index: *index,
                rule: Arc::clone(&rule),
                x: x.to_vec(),
                wanted,
                tell: tell.clone(),
            }));
            let threads = if self.shared.together {
                1
            } else {
                self.shared.workers
            };
            let wanted = line.waiting.len().min(threads);
            while line.threads < wanted.max(1) {
                self.shared.start()?;
                line.threads += 1;
            }
        }
        drop(tell);
        self.shared.wake.notify_all();
        let x_of: BTreeMap<usize, &[f64]> = places.iter().copied().collect();
        let mut busy: BTreeMap<usize, Arc<Watch>> = BTreeMap::new();
        let (mut left, mut whole) = (places.len(), true);
        while left > 0 {
            match told.recv_timeout(TICK) {
                Ok(Said::Begun(index, watch)) => {
                    busy.insert(index, watch);
                }
                Ok(Said::Done(index, done)) => {
                    if busy.remove(&index).is_some() {
                        left -= 1;
                        take(index, *done);
                    }
                }
                Err(_) => {}
            }
            if whole && stops() {
                whole = false;
                let mut line = open(&self.shared.line);
                let before = line.waiting.len();
                line.waiting.retain(|task| task.batch != batch);
                left -= before - line.waiting.len();
            }
            let Some(limit) = self.shared.limit else {
                continue;
            };
            let late: Vec<usize> = busy
                .iter()
                .filter(|(_, watch)| watch.hangs())
                .map(|(index, _)| *index)
                .collect();
            for index in late {
                if let Some(watch) = busy.remove(&index) {
                    // Another takes its place, and this one is waited for no longer.
                    if watch.abandon() {
                        open(&self.shared.line).busy -= 1;
                        self.shared.start()?;
                    }
                    left -= 1;
                    let error = Error::PointTooLong {
                        x: x_of[&index].to_vec(),
                        seconds: limit.as_secs_f64(),
                    };
                    take(index, Done::failed(error, limit.as_secs_f64()));
                }
            }
        }
        Ok(whole)
    }
}

impl Done {
    fn failed(error: Error, seconds: f64) -> Self {
        Self {
            found: Err(error),
            failed: 0,
            failures: Vec::new(),
            seconds,
        }
    }
}

impl Shared {
    /// The next places for a worker, when there are any and it may work; nothing when all is over.
    fn next(&self) -> Option<Vec<Task>> {
        let mut line = open(&self.line);
        let mut lingered = false;
        loop {
            if line.over {
                return None;
            }
            if self.together && !line.waiting.is_empty() {
                if line.waiting.len() >= self.workers || lingered {
                    let count = self.workers.min(line.waiting.len());
                    line.busy += 1;
                    return Some(line.waiting.drain(..count).collect());
                }
                let waited = self.wake.wait_timeout(line, LINGER);
                let (back, time) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
                (line, lingered) = (back, time.timed_out());
                continue;
            }
            if !line.waiting.is_empty() && line.busy < self.workers {
                line.busy += 1;
                let first = line.smallest();
                return line.waiting.remove(first).map(|task| vec![task]);
            }
            line = self
                .wake
                .wait(line)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// A worker, on its own thread.
    fn start(self: &Arc<Self>) -> Result<(), Error> {
        let shared = Arc::clone(self);
        let work = move || {
            while let Some(tasks) = shared.next() {
                let watch = Arc::new(Watch::new(shared.limit));
                for task in &tasks {
                    // Where nobody listens any more, the run has ended.
                    let _ = task.tell.send(Said::Begun(task.index, Arc::clone(&watch)));
                }
                let begun = Instant::now();
                let found = (shared.work)(&tasks, &watch);
                if watch.is_abandoned() {
                    // It was given up, and another is in its place.
                    return;
                }
                {
                    open(&shared.line).busy -= 1;
                    shared.wake.notify_all();
                }
                let seconds = begun.elapsed().as_secs_f64() / tasks.len() as f64;
                let (mut failed, mut failures) = (watch.failed(), watch.take_failures());
                for (task, found) in tasks.iter().zip(found) {
                    let done = Done {
                        found,
                        failed: std::mem::take(&mut failed),
                        failures: std::mem::take(&mut failures),
                        seconds,
                    };
                    let _ = task.tell.send(Said::Done(task.index, Box::new(done)));
                }
            }
        };
        std::thread::Builder::new()
            .name("worker".to_owned())
            .stack_size(STACK)
            .spawn(work)
            .map(|_| ())
            .map_err(|source| Error::File {
                doing: "start a thread for",
                path: std::path::PathBuf::from("warm-up"),
                source,
            })
    }
}

impl Line {
    /// The first place of the batch that has fewest left: a chain that needs one place to go on does not wait behind another's hundred.
    fn smallest(&self) -> usize {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for task in &self.waiting {
            *counts.entry(task.batch).or_default() += 1;
        }
        (0..self.waiting.len())
            .min_by_key(|&k| counts[&self.waiting[k].batch])
            .unwrap_or(0)
    }
}

/// A look whose panic is an error.
fn guarded(
    x: &[f64],
    work: impl FnOnce() -> Result<Option<Look>, Error>,
) -> Result<Option<Look>, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::Panicked {
            x: x.to_vec(),
            message: message(&*panic),
        })
    })
}
