//! One chain of a run from wherever it stands to its end: the same for threads, processes and MPI ranks.

use super::approach::approach;
use super::control::{Control, Watch};
use super::crew::{Crew, Desk};
use super::guard::{Ahead, Guard, StopSignal, message};
use super::progress::Phase;
use super::settings::Settings;
use super::{Ended, production};
use crate::chain::Chain;
use crate::chain::exchange::Exchange;
use crate::erased::{AnyCache, AnyModel, Erased};
use crate::error::Error;
use crate::kernel::info::Info;
use crate::model::Model;
use crate::random::Rng;
use crate::store::{
    Batches, Checkpoint, Clock, Draws, Failure, Failures, Looked, Manifest, Moments, Seconds,
    Stage, Stages,
};
use crate::warmup::Warmup;
use crate::warmup::tuning::Tuning;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What all chains of a run are told. Whoever makes one holds the run directory's [`Lock`](crate::store::Lock)
/// for as long as chains run, and has written the manifest.
#[derive(Debug)]
pub struct Job {
    /// The run directory.
    pub folder: PathBuf,
    /// What to run.
    pub manifest: Manifest,
    /// The tuning, where it was given.
    pub tuning: Option<Tuning>,
    /// Whether to go on.
    pub control: Control,
    /// The time between two checkpoints; nothing for what suits.
    pub checkpoint_every: Option<Duration>,
    /// What is seen of each chain.
    pub watches: Vec<Watch>,
    /// The log of failures.
    pub failures: Failures,
    /// Whether a chain that is resumed must find its log density to the bit.
    pub strict: bool,
    /// Whether chains end as soon as the marginal is learned, for slow points to be weighed.
    pub weighs: bool,
    /// Whether they ended so.
    pub learned: AtomicBool,
    /// Who makes slow evaluations ready; nothing where each chain makes its own.
    pub crew: Option<Crew>,
}

impl Job {
    /// Who makes slow evaluations of draws ready for a chain, and how many at a time: where each step has its own random numbers, and there
    /// are more workers than chains.
    fn ahead(&self, k: usize) -> Option<(Desk<'_>, usize)> {
        let crew = self.crew.as_ref()?;
        let each = crew.workers() / self.manifest.chains;
        (self.manifest.options.looks_ahead && each > 1).then(|| (crew.of(k), each))
    }
}

/// Where a chain stands when its draws may begin.
enum Standing {
    /// There is nothing to draw.
    Ended(Ended),
    Ready(Box<Ready>),
}

/// What draws begin with.
pub(super) struct Ready {
    pub tuning: Tuning,
    pub checkpoint: Checkpoint,
    /// The most rows that any chain has.
    pub beyond: u64,
}

impl Ready {
    /// Draws with every evaluation watched. For all models at once, by a type that is forgotten: next to the watching that
    /// costs nothing.
    fn run_closely(
        self,
        model: &AnyModel<'_>,
        k: usize,
        job: &Job,
        exchange: &mut dyn Exchange,
    ) -> Result<Ended, Error> {
        let ahead = job.ahead(k);
        let mut guard = Guard::<_, true>::of(model, k, job);
        let (desk, count) = ahead.as_ref().map(|(desk, count)| (desk, *count)).unzip();
        guard.ahead = desk.map(|desk| desk as &dyn Ahead<AnyCache>);
        production::run(&guard, model, (k, count.unwrap_or(1)), job, self, exchange)
    }
}

/// What a chain tells the others when it begins or goes on.
struct Told {
    has_checkpoint: bool,
    /// The newest stage of warm-up that was saved.
    stage: Option<usize>,
    rows: u64,
}

/// Runs chain `k` until its draws are made or the run ends. All chains of the run call this, each with its own
/// `exchange`, whether they begin or go on; which it is the run directory tells.
///
/// # Errors
/// The chain's failure. What it had is stored, and it can be continued.
pub fn chain<M: Model>(
    model: &M,
    k: usize,
    job: &Job,
    exchange: &mut impl Exchange,
) -> Result<Ended, Error> {
    // The inner loops of production are compiled for the model itself.
    let mut draw = |ready: Ready, exchange: &mut dyn Exchange| {
        let guard = Guard::<M, false>::of(model, k, job);
        production::run(&guard, model, (k, 1), job, ready, exchange)
    };
    through(&Erased(model), k, job, exchange, Some(&mut draw))
}

/// The same draws with nothing compiled for the model itself, which is a matter of seconds for every type of model. Every evaluation then
/// costs some nanoseconds more: for models whose evaluations take microseconds.
///
/// # Errors
/// As [`chain`].
pub fn chain_forgetting(
    model: &impl Model,
    k: usize,
    job: &Job,
    exchange: &mut impl Exchange,
) -> Result<Ended, Error> {
    through(&Erased(model), k, job, exchange, None)
}

/// Draws of a warm chain, by code that knows the model's type.
type Draw<'a> = dyn FnMut(Ready, &mut dyn Exchange) -> Result<Ended, Error> + 'a;

/// What [`chain`] does, which makes draws by `draw` unless every evaluation is to be watched.
fn through(
    model: &AnyModel<'_>,
    k: usize,
    job: &Job,
    exchange: &mut dyn Exchange,
    draw: Option<&mut Draw<'_>>,
) -> Result<Ended, Error> {
    let options = &job.manifest.options;
    let close = options.failures_count_as_outside || options.evaluation_limit.is_some();
    // Whoever makes slow evaluations ready makes them for a type that is forgotten.
    let close = close || job.ahead(k).is_some();
    let ended = catch_unwind(AssertUnwindSafe(|| {
        match (warmed(model, k, job, exchange)?, draw) {
            (Standing::Ended(ended), _) => Ok(ended),
            (Standing::Ready(ready), Some(draw)) if !close => draw(*ready, exchange),
            (Standing::Ready(ready), _) => ready.run_closely(model, k, job, exchange),
        }
    }));
    let ended = ended.unwrap_or_else(|panic| {
        Err(Error::Panicked {
            x: job.watches[k].x(),
            message: message(&*panic),
        })
    });
    let watch = &job.watches[k];
    watch.show(|progress| progress.phase = Phase::Done);
    if watch.is_abandoned() {
        return Err(watch.too_long(k));
    }
    match ended {
        Ok(ended) => Ok(ended),
        Err(error) if is_stop(&error) => stopped(job),
        // Where the run was told to stop, that another chain has done so first is no failure.
        Err(Error::Exchange(_)) if !job.control.is_halted() && ending(job).is_some() => {
            stopped(job)
        }
        Err(error @ (Error::Exchange(_) | Error::Stopped)) => Err(error),
        Err(error) => {
            // The failure itself is reported; that its copy cannot be logged adds nothing.
            let _ = job.failures.log(&Failure::of(k, watch.draws(), &error));
            Err(Error::Chain {
                chain: k,
                draws: watch.draws(),
                source: Box::new(error),
            })
        }
    }
}

fn stopped(job: &Job) -> Result<Ended, Error> {
    ending(job).ok_or(Error::Stopped)
}

/// Why the run is to end now, if it is.
pub(super) fn ending(job: &Job) -> Option<Ended> {
    if job.control.should_stop() {
        Some(Ended::Stopped)
    } else if job.control.is_late() {
        Some(Ended::TimeLimit)
    } else {
        None
    }
}

fn is_stop(error: &Error) -> bool {
    matches!(error, Error::Model { source, .. } if source.is::<StopSignal>())
}

/// A chain that is warm, whether it becomes so now or has been for long.
fn warmed(
    model: &AnyModel<'_>,
    k: usize,
    job: &Job,
    exchange: &mut dyn Exchange,
) -> Result<Standing, Error> {
    let stages = Stages::new(&job.folder, k, job.manifest.fingerprint());
    let stored = Checkpoint::of(&job.folder, k, &job.manifest)?;
    let mine = Told {
        has_checkpoint: stored.is_some(),
        stage: stages.newest(),
        rows: stored.as_ref().map_or(0, |c| c.rows),
    };
    if stored.is_none() {
        nothing_was_drawn(job, k)?;
    }
    let all: Vec<Told> = exchange
        .gather(&mine.numbers())?
        .iter()
        .map(|numbers| Told::from_numbers(numbers))
        .collect();

    let (tuning, checkpoint) = match stored {
        Some(stored) if all.iter().all(|s| s.has_checkpoint) || job.tuning.is_some() => {
            (stages.load_tuning()?, stored)
        }
        _ => {
            if let (Some(lost), None) = (all.iter().position(|s| !s.has_checkpoint), &job.tuning)
                && all.iter().any(|s| s.rows > 0)
            {
                return Err(missing(job, lost));
            }
            let Some(first) = first_checkpoint(model, k, job, &stages, &all, exchange)? else {
                job.learned.store(true, Ordering::Relaxed);
                return Ok(Standing::Ended(Ended::TargetReached));
            };
            if job.tuning.is_none() {
                // From here on no chain needs what any chain left behind in warm-up.
                exchange.gather(&[])?;
            }
            first
        }
    };
    if job.tuning.is_none() {
        stages.clear();
        if k == 0 && job.manifest.tuning.is_none() {
            let mut manifest = job.manifest.clone();
            manifest.tuning = Some(readable(&tuning));
            manifest.write(&job.folder)?;
        }
    }
    Ok(Standing::Ready(Box::new(Ready {
        tuning,
        checkpoint,
        beyond: all.iter().map(|s| s.rows).max().unwrap_or(0),
    })))
}

/// Warm-up from wherever it was left, or a start with a tuning that was given; then the checkpoint of no draws. Nothing where slow points
/// are to be weighed instead, and all is learned that they need.
fn first_checkpoint(
    model: &AnyModel<'_>,
    k: usize,
    job: &Job,
    stages: &Stages,
    all: &[Told],
    exchange: &mut dyn Exchange,
) -> Result<Option<(Tuning, Checkpoint)>, Error> {
    let watch = &job.watches[k];
    let desk = job.crew.as_ref().map(|crew| crew.of(k));
    let mut guard = Guard::<_, true>::of(model, k, job);
    guard.ahead = desk.as_ref().map(|desk| desk as &dyn Ahead<AnyCache>);
    let mut seconds = Seconds::NONE;
    let mut clock = Clock::new();
    let mut rng = Rng::stream(job.manifest.seed, k as u64);
    let start = |rng: &mut Rng| {
        model.start(rng).map_err(|source| Error::Model {
            x: Vec::new(),
            y: Vec::new(),
            source,
        })
    };
    guard.interruptible.store(true, Ordering::Relaxed);
    if job.weighs && job.tuning.as_ref().is_some_and(|t| t.surrogate.is_some()) {
        return Ok(None);
    }
    let (tuning, x, y, rng, spent) = if let Some(tuning) = &job.tuning {
        let (x, y) = start(&mut rng)?;
        (tuning.clone(), x, y, rng, Info::default())
    } else {
        watch.show(|progress| progress.phase = Phase::WarmingUp(0));
        guard.looked = Some(Looked::open(&job.folder, k, job.manifest.fingerprint())?);
        let warmup = Warmup {
            error: job.manifest.options.error.filter(|_| job.weighs),
            ..Settings::recorded(&job.manifest).warmup()
        };
        let common = all.iter().map(|s| s.stage).min().flatten();
        let mut warming = if let Some(stage) = common {
            let stage = stages.load(stage)?;
            seconds = stage.seconds;
            watch.set_failed(stage.failures);
            stage.warming
        } else {
            let (x, y) = start(&mut rng)?;
            warmup.begin_any(&guard, &x, &y, rng, exchange)?
        };
        // The one place where stages of warm-up are saved.
        loop {
            seconds = clock.since(seconds);
            clock = Clock::new();
            let stage = Stage {
                warming,
                seconds,
                failures: watch.failed(),
            };
            if watch.is_abandoned() {
                return Err(Error::Stopped);
            }
            for failure in watch.take_failures() {
                job.failures.log(&failure)?;
            }
            stages.save(&stage)?;
            warming = stage.warming;
            watch.show(|progress| progress.phase = Phase::WarmingUp(warming.stage()));
            if job.weighs && warming.has_learned() {
                Looked::remove(&job.folder, k);
                return Ok(None);
            }
            if warming.is_done() {
                break;
            }
            warming = warmup.advance_any(&guard, warming, exchange)?;
        }
        let (warm, rng) = warming.finish();
        (warm.tuning, warm.x, warm.y, rng, warm.spent)
    };
    let mut begin = Chain::new(&guard, tuning.kernel()?, &x, &y, rng)?;
    let mut spent = spent;
    if job.tuning.is_some() {
        watch.show(|progress| progress.phase = Phase::WarmingUp(0));
        approach(&mut begin)?;
        spent += begin.totals();
        seconds = clock.since(seconds);
    }
    // The way there is no part of the draws.
    let mut snapshot = begin.position();
    (snapshot.steps, snapshot.totals) = (0, Info::default());
    guard.interruptible.store(false, Ordering::Relaxed);
    let columns = job.manifest.columns.len();
    let checkpoint = Checkpoint {
        chain: k,
        run: job.manifest.fingerprint(),
        snapshot,
        rows: 0,
        latent_rows: 0,
        checksum: 0,
        latent_checksum: 0,
        moments: Moments::new(columns + job.manifest.latents.len()),
        batches: Batches::new(columns),
        warmup: spent,
        warmup_seconds: seconds.wall,
        seconds: 0.0,
        failures: watch.failed(),
        health: Some(tuning.frame_health()),
        reached: false,
        wall_seconds: Some(seconds.wall),
        cpu_seconds: seconds.cpu,
        parts: Some(tuning.mix_record()),
    };
    stages.save_tuning(&tuning)?;
    checkpoint.write(&job.folder)?;
    Ok(Some((tuning, checkpoint)))
}

/// A tuning that JSON can hold: it has no word for what is no number, which a trial may have found.
fn readable(tuning: &Tuning) -> Tuning {
    let mut tuning = tuning.clone();
    tuning
        .trials
        .retain(|t| t.effective.is_finite() && t.cost.is_finite() && t.acceptance.is_finite());
    tuning
}

/// Refuses to begin a chain anew over draws that it has made.
fn nothing_was_drawn(job: &Job, k: usize) -> Result<(), Error> {
    let path = job.folder.join(format!("chain-{k}.f64"));
    match Draws::open(&path, job.manifest.width())?.rows() {
        0 => Ok(()),
        _ => Err(missing(job, k)),
    }
}

fn missing(job: &Job, k: usize) -> Error {
    Error::Damaged {
        path: Checkpoint::path(&job.folder, k),
        problem: "it is not there, though draws were made; they can be read, but not continued"
            .to_owned(),
    }
}

impl Told {
    fn numbers(&self) -> [f64; 3] {
        let stage = self.stage.map_or(-1.0, |stage| stage as f64);
        [
            f64::from(u8::from(self.has_checkpoint)),
            stage,
            self.rows as f64,
        ]
    }

    fn from_numbers(numbers: &[f64]) -> Self {
        let number = |k: usize| numbers.get(k).copied().unwrap_or(-1.0);
        Self {
            has_checkpoint: number(0) > 0.5,
            stage: (number(1) >= 0.0).then(|| number(1) as usize),
            rows: number(2).max(0.0) as u64,
        }
    }
}
