//! Slow evaluations made by several threads ahead of the chains that need them: warm-up says which places come next, and finds them ready.
//!
//! Nothing depends on who computes what and when. A slow evaluation is a function of x alone, and chains ask for them in the order in
//! which they would have made them; so a run has the same bits with any number of workers.

use super::guard::{Ahead, message};
use super::{STACK, TICK, open};
use crate::erased::{AnyCache, Shared};
use crate::error::{Error, ModelError};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// What a thread does around a wait: Python's let go of the interpreter.
pub type Aside = fn(&mut (dyn FnMut() + Send));

/// Threads that make slow evaluations for all chains of a run.
pub struct Crew {
    inner: Arc<Inner>,
    aside: Aside,
    workers: usize,
}

struct Inner {
    model: Arc<dyn Shared>,
    work: Mutex<Work>,
    /// There is something to do, or nothing any more.
    wanted: Condvar,
    /// A place is ready.
    ready: Condvar,
    /// How long an evaluation may take.
    limit: Option<Duration>,
    /// How many places a thread takes at a time: several where the model prepares them together.
    at_a_time: usize,
}

/// A guess is begun only when so much of an evaluation's time has gone by since somebody last said what is needed: chains that share a batch say so one after
/// another, and a worker that had begun with a guess would be missed.
const PATIENCE: f64 = 0.05;

#[derive(Default)]
struct Work {
    queue: VecDeque<Key>,
    /// What will be needed if all goes as it seems to: for workers who are idle while others make what is needed.
    guesses: VecDeque<Key>,
    places: HashMap<Key, Place>,
    /// When somebody last said what is needed.
    said: Option<Instant>,
    /// What an evaluation took, the last time.
    took: Duration,
    over: bool,
}

/// The chain that asks, and the bits of x.
type Key = (usize, Vec<u64>);

/// What a slow evaluation came to, or the words of its panic.
type Prepared = Result<Result<Option<AnyCache>, ModelError>, String>;

enum Place {
    Waiting,
    Begun { since: Instant, needed: bool },
    Ready(Prepared),
}

impl Work {
    /// How long until a guess may be begun; nothing where there is none, or where nobody is at anything that is needed: that would come next.
    fn patience(&self) -> Option<Duration> {
        let needed = |place: &Place| matches!(place, Place::Begun { needed: true, .. });
        let timely = !self.guesses.is_empty() && self.places.values().any(needed);
        let since = self.said.filter(|_| timely)?.elapsed();
        Some(self.took.mul_f64(PATIENCE).saturating_sub(since))
    }

    /// So many of what is needed, or else of the guesses, are begun now.
    fn begin(&mut self, count: usize, needed: bool) -> Vec<Key> {
        let list = match needed {
            true => &mut self.queue,
            false => &mut self.guesses,
        };
        let count = count.min(list.len());
        let keys: Vec<Key> = list.drain(..count).collect();
        let since = Instant::now();
        for key in &keys {
            let begun = Place::Begun { since, needed };
            self.places.insert(key.clone(), begun);
        }
        keys
    }
}

fn key(chain: usize, x: &[f64]) -> Key {
    (chain, x.iter().map(|v| v.to_bits()).collect())
}

impl std::fmt::Debug for Crew {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let work = open(&self.inner.work);
        f.debug_struct("Crew")
            .field("waiting", &work.queue.len())
            .finish_non_exhaustive()
    }
}

impl Crew {
    /// So many slow evaluations at a time.
    pub(super) fn new(
        model: Arc<dyn Shared>,
        workers: usize,
        limit: Option<Duration>,
        aside: Aside,
    ) -> Result<Self, Error> {
        let together = model.any().is_batched();
        let (threads, at_a_time) = if together { (1, workers) } else { (workers, 1) };
        let crew = Self {
            inner: Arc::new(Inner {
                model,
                work: Mutex::default(),
                wanted: Condvar::new(),
                ready: Condvar::new(),
                limit,
                at_a_time,
            }),
            aside,
            workers,
        };
        for _ in 0..threads {
            crew.start().map_err(|source| Error::File {
                doing: "start a thread for",
                path: "slow evaluations".into(),
                source,
            })?;
        }
        Ok(crew)
    }

    /// One more thread. Nobody waits for its end: what hangs hangs alone.
    fn start(&self) -> std::io::Result<()> {
        let inner = Arc::clone(&self.inner);
        std::thread::Builder::new()
            .name("worker".to_owned())
            .stack_size(STACK)
            .spawn(move || inner.serve())
            .map(|_| ())
    }

    /// The crew as one chain sees it.
    pub(super) fn of(&self, chain: usize) -> Desk<'_> {
        Desk { crew: self, chain }
    }

    /// How many slow evaluations it makes at a time.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// Waits for a place; nothing where it takes longer than it may.
    fn take(&self, key: &Key) -> Option<Prepared> {
        let mut found = None;
        (self.aside)(&mut || found = Some(self.inner.wait_for(key)));
        let found = found.flatten();
        if found.is_none() {
            // Another takes the place of the one that hangs. Where there is none to be had, the others do the work.
            let _ = self.start();
        }
        found
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let mut work = open(&self.inner.work);
        work.over = true;
        work.queue.clear();
        work.guesses.clear();
        self.inner.wanted.notify_all();
    }
}

impl Inner {
    /// What a worker does until the crew is dismissed.
    fn serve(&self) {
        while let Some(keys) = self.next() {
            let xs: Vec<Vec<f64>> = keys
                .iter()
                .map(|(_, bits)| bits.iter().map(|b| f64::from_bits(*b)).collect())
                .collect();
            let prepared = self.prepare(&xs);
            let mut work = open(&self.work);
            // Whoever has given a place up wants it no more.
            let Work { places, took, .. } = &mut *work;
            for (key, prepared) in keys.iter().zip(prepared) {
                if let Some(place) = places.get_mut(key)
                    && let Place::Begun { since, .. } = place
                {
                    *took = since.elapsed();
                    *place = Place::Ready(prepared);
                }
            }
            drop(work);
            self.ready.notify_all();
        }
    }

    /// The next places, as soon as there are any.
    fn next(&self) -> Option<Vec<Key>> {
        let mut work = open(&self.work);
        loop {
            if work.over {
                return None;
            }
            if !work.queue.is_empty() {
                let mut keys = work.begin(self.at_a_time, true);
                // Together they take as long as the longest: what room is left is for guesses.
                keys.extend(work.begin(self.at_a_time - keys.len(), false));
                return Some(keys);
            }
            work = match work.patience() {
                Some(Duration::ZERO) if self.at_a_time == 1 => return Some(work.begin(1, false)),
                Some(patience) if self.at_a_time == 1 => wait_for(&self.wanted, work, patience),
                _ => wait(&self.wanted, work),
            };
        }
    }

    fn prepare(&self, xs: &[Vec<f64>]) -> Vec<Prepared> {
        let model = self.model.any();
        if self.at_a_time == 1 {
            return xs.iter().map(|x| caught(|| model.prepare(x))).collect();
        }
        let refs: Vec<&[f64]> = xs.iter().map(|x| &x[..]).collect();
        match caught(|| model.prepare_batch(&refs)) {
            Ok(all) => {
                let few = || Err("prepare_batch gave fewer results than it was asked for".into());
                let mut all = all.into_iter();
                xs.iter()
                    .map(|_| Ok(all.next().unwrap_or_else(few)))
                    .collect()
            }
            Err(words) => xs.iter().map(|_| Err(words.clone())).collect(),
        }
    }

    /// Waits until a place is ready, and takes it; nothing where it has been under way for too long.
    fn wait_for(&self, key: &Key) -> Option<Prepared> {
        let mut work = open(&self.work);
        loop {
            match work.places.get_mut(key) {
                Some(Place::Ready(_)) => match work.places.remove(key) {
                    Some(Place::Ready(prepared)) => return Some(prepared),
                    _ => return None,
                },
                Some(Place::Begun { since, needed }) => {
                    *needed = true;
                    if self.limit.is_some_and(|limit| since.elapsed() > limit) {
                        work.places.remove(key);
                        return None;
                    }
                }
                Some(Place::Waiting) => {}
                None => {
                    // Nobody foresaw it; whoever waits for it waits for nothing else.
                    work.guesses.retain(|guess| guess != key);
                    work.places.insert(key.clone(), Place::Waiting);
                    work.queue.push_front(key.clone());
                    self.wanted.notify_one();
                }
            }
            work = wait_for(&self.ready, work, TICK);
        }
    }
}

/// What comes of it, or the words of its panic.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic))
}

/// Waits on a condition, whatever happened to others who held the lock.
fn wait<'a>(condition: &Condvar, work: MutexGuard<'a, Work>) -> MutexGuard<'a, Work> {
    let woken = condition.wait(work);
    woken.unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn wait_for<'a>(
    condition: &Condvar,
    work: MutexGuard<'a, Work>,
    time: Duration,
) -> MutexGuard<'a, Work> {
    let woken = condition.wait_timeout(work, time);
    woken.unwrap_or_else(std::sync::PoisonError::into_inner).0
}

/// The crew as one chain sees it.
pub(super) struct Desk<'a> {
    crew: &'a Crew,
    chain: usize,
}

impl Ahead<AnyCache> for Desk<'_> {
    fn prefetch(&self, xs: &[&[f64]], likely: &[&[f64]]) {
        let inner = &self.crew.inner;
        let mut work = open(&inner.work);
        // What this chain had foreseen and not asked for, it will not ask for any more; what is under way comes to its end.
        let Work {
            queue,
            guesses,
            places,
            said,
            ..
        } = &mut *work;
        let keys: Vec<Key> = xs.iter().map(|x| key(self.chain, x)).collect();
        let likely: Vec<Key> = likely.iter().map(|x| key(self.chain, x)).collect();
        let is_wanted = |key: &Key, place: &mut Place| match place {
            Place::Waiting => false,
            Place::Begun { needed, .. } => {
                *needed = keys.contains(key);
                true
            }
            Place::Ready(_) => keys.contains(key) || likely.contains(key),
        };
        queue.retain(|key| key.0 != self.chain);
        guesses.retain(|key| key.0 != self.chain);
        places.retain(|key, place| key.0 != self.chain || is_wanted(key, place));
        for key in keys {
            if !places.contains_key(&key) {
                places.insert(key.clone(), Place::Waiting);
                queue.push_back(key);
            }
        }
        for key in likely {
            if !places.contains_key(&key) && !guesses.contains(&key) {
                guesses.push_back(key);
            }
        }
        *said = Some(Instant::now());
        drop(work);
        inner.wanted.notify_all();
    }

    fn is_under_way(&self, x: &[f64]) -> bool {
        let work = open(&self.crew.inner.work);
        let place = work.places.get(&key(self.chain, x));
        place.is_some_and(|place| !matches!(place, Place::Waiting))
    }

    fn cancel(&self) {
        let mut work = open(&self.crew.inner.work);
        let Work {
            queue,
            guesses,
            places,
            ..
        } = &mut *work;
        queue.retain(|key| key.0 != self.chain);
        guesses.retain(|key| key.0 != self.chain);
        places.retain(|key, place| key.0 != self.chain || !matches!(place, Place::Waiting));
    }

    fn prepare(&self, x: &[f64]) -> Result<Option<AnyCache>, ModelError> {
        match self.crew.take(&key(self.chain, x)) {
            Some(Ok(prepared)) => prepared,
            Some(Err(message)) => Err(format!("the model panicked: {message}").into()),
            None => Err(Box::new(Error::PointTooLong {
                x: x.to_vec(),
                seconds: self
                    .crew
                    .inner
                    .limit
                    .map_or(0.0, |limit| limit.as_secs_f64()),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_begun_only_beside_what_is_needed_and_not_at_once() {
        let (wanted, guess) = (key(0, &[1.0]), key(0, &[2.0]));
        let mut work = Work {
            said: Some(Instant::now()),
            ..Work::default()
        };
        work.guesses.push_back(guess.clone());
        // What is needed next is not known yet: it would have to wait for the guess.
        assert_eq!(work.patience(), None);
        work.queue.push_back(wanted.clone());
        assert_eq!(work.begin(4, true), [wanted]);
        assert_eq!(work.patience(), Some(Duration::ZERO));
        // Other chains have a twentieth of an evaluation's time to say what they need.
        work.took = Duration::from_secs(2000);
        assert!(work.patience() > Some(Duration::from_secs(60)));
        assert_eq!(work.begin(1, false), [guess]);
        assert_eq!(work.patience(), None);
    }
}
