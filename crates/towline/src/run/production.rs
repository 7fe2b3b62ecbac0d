//! Draws: made, reported, stored, counted; and stored again whenever it is time.

use super::Ended;
use super::control::Watch;
use super::driver::{Job, Ready, ending};
use super::guard::{Guard, message};
use super::progress::Phase;
use super::settings::{Settings, StopTarget};
use crate::chain::ahead::StepStreams;
use crate::chain::exchange::Exchange;
use crate::chain::{Chain, Position};
use crate::error::Error;
use crate::model::{Model, Role};
use crate::store::{Batches, Checkpoint, Clock, Rows, Seconds, Warning};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// The least time between two checkpoints; a run that is killed repeats no more than about this.
const BETWEEN: Duration = Duration::from_secs(1);
/// A checkpoint that takes long is written less often: it may take no more than one part in so many of the time.
const SHARE: u32 = 50;
/// Rows are handed to the system when there are so many bytes of them.
const BLOCK: usize = 1 << 18;
/// How often the clock is looked at, about.
const LOOK: Duration = Duration::from_millis(20);
/// The most steps between two looks at the clock.
const MOST_STEPS: u64 = 1 << 14;

/// When a run looks whether its target is reached: after so many draws, then after every fifth more.
const FIRST_CHECK: u64 = 400;
/// The same where the model says when: it may know more, and its draws may be dear.
const FIRST_ASKED: u64 = 100;

/// The first step after this one at which the target is looked at, where that is done at `first` for the first time.
fn next_check(after: u64, first: u64) -> u64 {
    let mut at = first;
    while at <= after {
        at += at / 5;
    }
    at
}

/// The files and counts of one chain in production.
struct Recorder<'a> {
    job: &'a Job,
    watch: &'a Watch,
    rows: Rows,
    latents: Option<Rows>,
    /// The last checkpoint, brought up to date whenever one is written.
    checkpoint: Checkpoint,
    /// Where the chain stood after its last whole step.
    position: Position,
    seconds_before: f64,
    begun: Instant,
    rested: Duration,
    /// Both clocks of this session, and what they showed before it.
    clock: Clock,
    both_before: Seconds,
    committed: Instant,
    /// How long until the next one.
    pause: Duration,
}

/// The draws of a warm chain `k`, until there are enough or the run ends; `ahead` slow evaluations are under way at a time.
pub(super) fn run<M: Model + ?Sized, const CLOSE: bool>(
    guard: &Guard<'_, M, CLOSE>,
    model: &M,
    (k, ahead): (usize, usize),
    job: &Job,
    ready: Ready,
    exchange: &mut dyn Exchange,
) -> Result<Ended, Error> {
    let Ready {
        tuning,
        checkpoint,
        beyond,
    } = ready;
    let watch = &job.watches[k];
    watch.set_failed(checkpoint.failures);
    let stop = Settings::recorded(&job.manifest).stop;
    let position = checkpoint.snapshot.clone();
    let clock = Clock::new();
    let mut chain = Chain::resume(guard, position.clone().with(tuning.kernel()?))?;
    if job.manifest.options.looks_ahead {
        chain = chain.with_steps(StepStreams::new(job.manifest.seed, k));
    }
    if let Some([recorded, computed]) = chain.recomputed() {
        if job.strict {
            return Err(Error::ModelChanged { recorded, computed });
        }
        let message = format!(
            "resumed after {} draws although the model's log density is now {computed:?} where it was {recorded:?}: rounding. Its draws are as good, but not the bits of an uninterrupted run (--strict refuses)",
            checkpoint.rows
        );
        let step = checkpoint.rows;
        Warning {
            chain: k,
            step,
            message,
        }
        .log(&job.folder)?;
    }
    if let Some(health) = &checkpoint.health {
        chain = chain.watching(health.clone());
    }
    if let Some(parts) = &checkpoint.parts {
        chain = chain.comparing(parts.clone());
    }
    let mut recorder = Recorder::open(job, watch, k, checkpoint, position, clock)?;
    let mut reporter = Reporter::new(model, job);
    recorder.show(Phase::Sampling, true);

    let draws = job.manifest.draws;
    let asks = model.says_when();
    let first = if asks { FIRST_ASKED } else { FIRST_CHECK };
    let next = |after: u64| (asks || stop.is_some()).then(|| next_check(after, first));
    let mut check = next(beyond.saturating_sub(1));
    let mut stride = 1;
    let mut left = stride;
    let mut looked = Instant::now();
    loop {
        let steps = recorder.position.steps;
        // What the model says may be different today.
        if recorder.checkpoint.reached && !asks {
            return Ok(Ended::TargetReached);
        }
        if let Some(at) = check
            && steps >= at
        {
            if steps == at {
                // Stored first: then no chain can be beyond this point while another is before it.
                recorder.commit(&chain)?;
                let enough = match stop {
                    _ if asks => said(model, steps, exchange)?,
                    Some(target) => reached(target, &recorder.checkpoint.batches, exchange)?,
                    None => false,
                };
                recorder.checkpoint.reached = enough;
                if enough {
                    recorder.commit(&chain)?;
                    return Ok(Ended::TargetReached);
                }
            }
            check = next(at);
        }
        if steps >= draws {
            recorder.commit(&chain)?;
            return Ok(Ended::Finished);
        }
        if job.control.should_stop() || job.control.is_halted() {
            recorder.commit(&chain)?;
            return ending(job).ok_or(Error::Stopped);
        }
        left -= 1;
        if left == 0 {
            let now = Instant::now();
            let since = now - looked;
            if since < LOOK / 2 {
                stride = (stride * 2).min(MOST_STEPS);
            } else if since > LOOK * 2 {
                stride = (stride / 2).max(1);
            }
            (left, looked) = (stride, now);
            if job.control.is_late() {
                recorder.commit(&chain)?;
                return Ok(Ended::TimeLimit);
            }
            recorder.show(Phase::Sampling, false);
            if now - recorder.committed > recorder.pause {
                recorder.commit(&chain)?;
                let begun = Instant::now();
                exchange.rest();
                recorder.rested += begun.elapsed();
            }
        }
        let step = || -> Result<(), Error> {
            if ahead > 1 {
                chain.look_ahead(ahead);
            }
            let info = chain.advance()?;
            let (x, y, cache) = (chain.x(), chain.y(), chain.cache());
            reporter.report(model, x, y, cache);
            let statistics = [
                chain.log_density(),
                info.outer_accepted as f64,
                info.slow_evaluations as f64,
                info.fast_evaluations as f64,
            ];
            reporter.finish(&statistics);
            Ok(())
        };
        let taken = catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|panic| {
            Err(Error::Panicked {
                x: watch.x(),
                message: message(&*panic),
            })
        });
        if watch.is_abandoned() {
            return Err(Error::Stopped);
        }
        if let Err(error) = taken {
            recorder.show(Phase::Sampling, true);
            // Everything up to the step that failed is kept; if that cannot be written, it is the lesser news.
            let _ = recorder.commit(&chain);
            return Err(error);
        }
        recorder.add(&chain, &reporter)?;
    }
}

/// What the model says of so many draws: the first chain asks for all.
fn said<M: Model + ?Sized>(
    model: &M,
    draws: u64,
    exchange: &mut dyn Exchange,
) -> Result<bool, Error> {
    // Once all have met, the rows of all are on disk.
    exchange.gather(&[])?;
    let mut enough = false;
    if exchange.chain() == 0 {
        enough = model.is_enough(draws).map_err(|source| Error::Model {
            x: Vec::new(),
            y: Vec::new(),
            source,
        })?;
    }
    let all = exchange.gather(&[f64::from(u8::from(enough))])?;
    Ok(all.first().is_some_and(|first| first[0] > 0.5))
}

/// Whether every column that varies is as asked for. Constant columns have nothing to say.
fn reached(target: StopTarget, mine: &Batches, exchange: &mut dyn Exchange) -> Result<bool, Error> {
    let all: Vec<Batches> = exchange
        .gather(&mine.numbers())?
        .iter()
        .filter_map(|numbers| Batches::from_numbers(numbers))
        .collect();
    let estimates = Batches::estimates(&all.iter().collect::<Vec<_>>());
    let mut varying = estimates.iter().filter(|e| !e.rhat.is_nan()).peekable();
    Ok(varying.peek().is_some() && varying.all(|e| e.rhat < target.rhat && e.ess > target.ess))
}

/// From a draw to its rows.
struct Reporter {
    /// Everything in the model's order.
    all: Vec<f64>,
    /// Where columns and then latents are in it; nothing where they are in that order anyway.
    order: Option<Vec<usize>>,
    columns: usize,
    /// Columns, then latents.
    sorted: Vec<f64>,
    /// Columns, then statistics: a row.
    row: Vec<f64>,
}

impl Reporter {
    fn new<M: Model + ?Sized>(model: &M, job: &Job) -> Self {
        let roles: Vec<Role> = model.columns().iter().map(|c| c.role).collect();
        let is_latent = |&k: &usize| roles[k] == Role::Latent;
        let mut order: Vec<usize> = (0..roles.len()).filter(|k| !is_latent(k)).collect();
        order.extend((0..roles.len()).filter(is_latent));
        let as_it_is = order.is_sorted();
        Self {
            all: vec![0.0; roles.len()],
            sorted: vec![0.0; roles.len()],
            row: vec![0.0; job.manifest.width()],
            columns: job.manifest.columns.len(),
            order: Some(order).filter(|_| !as_it_is),
        }
    }

    #[inline]
    fn report<M: Model + ?Sized>(&mut self, model: &M, x: &[f64], y: &[f64], cache: &M::Cache) {
        if let Some(order) = &self.order {
            model.report(x, y, cache, &mut self.all);
            for (to, &from) in self.sorted.iter_mut().zip(order) {
                *to = self.all[from];
            }
        } else {
            model.report(x, y, cache, &mut self.sorted);
        }
    }

    #[inline]
    fn finish(&mut self, statistics: &[f64]) {
        self.row[..self.columns].copy_from_slice(&self.sorted[..self.columns]);
        self.row[self.columns..].copy_from_slice(statistics);
    }
}

impl<'a> Recorder<'a> {
    fn open(
        job: &'a Job,
        watch: &'a Watch,
        k: usize,
        checkpoint: Checkpoint,
        position: Position,
        clock: Clock,
    ) -> Result<Self, Error> {
        let manifest = &job.manifest;
        let path = |name: &str| job.folder.join(format!("{name}-{k}.f64"));
        let rows = Rows::open(&path("chain"), manifest.width(), checkpoint.rows)?
            .continuing(checkpoint.checksum);
        let latents = match manifest.latents.len() {
            0 => None,
            width => Some(
                Rows::open(&path("latents"), width, checkpoint.latent_rows)?
                    .continuing(checkpoint.latent_checksum),
            ),
        };
        let now = Instant::now();
        watch.show(|progress| {
            progress.draws = checkpoint.rows;
            progress.draws_before = checkpoint.rows;
        });
        Ok(Self {
            job,
            watch,
            rows,
            latents,
            position,
            seconds_before: checkpoint.seconds,
            both_before: Seconds {
                wall: checkpoint
                    .wall_seconds
                    .unwrap_or(checkpoint.warmup_seconds + checkpoint.seconds),
                cpu: checkpoint.cpu_seconds,
            },
            clock,
            checkpoint,
            begun: now,
            rested: Duration::ZERO,
            committed: now,
            pause: job.checkpoint_every.unwrap_or(BETWEEN),
        })
    }

    /// Takes in a whole step.
    #[inline]
    fn add<T: crate::target::Target>(
        &mut self,
        chain: &Chain<T>,
        reporter: &Reporter,
    ) -> Result<(), Error> {
        chain.note_position(&mut self.position);
        self.rows.append(&reporter.row);
        self.checkpoint.moments.add(&reporter.sorted);
        self.checkpoint.batches.add(&reporter.sorted);
        let every = self.job.manifest.latent_every;
        if let Some(latents) = &mut self.latents
            && self.position.steps.is_multiple_of(every)
        {
            latents.append(&reporter.sorted[reporter.columns..]);
            if latents.waiting() > BLOCK {
                latents.flush()?;
            }
        }
        if self.rows.waiting() > BLOCK {
            self.rows.flush()?;
        }
        Ok(())
    }

    /// Seconds of this session's draws.
    fn seconds(&self) -> f64 {
        self.begun
            .elapsed()
            .saturating_sub(self.rested)
            .as_secs_f64()
    }

    /// Makes everything up to the last whole step last: rows first, then the checkpoint that counts them.
    fn commit<T: crate::target::Target>(&mut self, chain: &Chain<T>) -> Result<(), Error> {
        if self.watch.is_abandoned() {
            return Err(Error::Stopped);
        }
        let begun = Instant::now();
        self.rows.sync()?;
        if let Some(latents) = &mut self.latents {
            latents.sync()?;
        }
        for failure in self.watch.take_failures() {
            self.job.failures.log(&failure)?;
        }
        let checkpoint = &mut self.checkpoint;
        checkpoint.rows = self.rows.rows();
        checkpoint.latent_rows = self.latents.as_ref().map_or(0, Rows::rows);
        checkpoint.checksum = self.rows.checksum();
        checkpoint.latent_checksum = self.latents.as_ref().map_or(0, Rows::checksum);
        checkpoint.snapshot.clone_from(&self.position);
        checkpoint.health = chain.health().cloned();
        checkpoint.parts = chain.parts().cloned();
        checkpoint.failures = self.watch.failed();
        checkpoint.seconds =
            self.seconds_before + (self.begun.elapsed().saturating_sub(self.rested)).as_secs_f64();
        let both = self.clock.since(self.both_before);
        checkpoint.wall_seconds = Some(both.wall);
        checkpoint.cpu_seconds = both.cpu;
        self.checkpoint.write(&self.job.folder)?;
        self.show(Phase::Sampling, true);
        self.committed = Instant::now();
        let suitable = BETWEEN.max((self.committed - begun) * SHARE);
        self.pause = self.job.checkpoint_every.unwrap_or(suitable);
        Ok(())
    }

    /// Tells whoever looks on; the digest of the draws only now and then, since it is copied.
    fn show(&self, phase: Phase, all: bool) {
        let seconds = self.seconds();
        self.watch.show(|progress| {
            progress.phase = phase;
            progress.draws = self.position.steps;
            progress.totals = self.position.totals;
            progress.seconds = seconds;
            if all {
                progress.batches.clone_from(&self.checkpoint.batches);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_come_at_the_same_steps_wherever_one_begins() {
        for first in [FIRST_CHECK, FIRST_ASKED] {
            let mut at = next_check(0, first);
            let mut all = vec![at];
            while at < 100_000 {
                at = next_check(at, first);
                all.push(at);
            }
            assert_eq!(all[..3], [first, first / 5 * 6, first / 25 * 36]);
            for step in 0..10_000 {
                assert!(all.contains(&next_check(step, first)));
            }
        }
    }
}
