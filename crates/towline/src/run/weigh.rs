//! Slow points weighed by workers, batch by batch, until an error is reached: no chain is involved, and nothing depends on how many
//! workers there are or in which order they finish.

use super::Ended;
use super::batch::Batch;
use super::driver::Job;
use super::progress::{Progress, WeighingProgress};
use crate::erased::Shared;
use crate::error::Error;
use crate::estimate::{Estimator, MOST_REFITS, Need, Scale, Weighted, need};
use crate::kernel::info::Info;
use crate::model::Role;
use crate::store::{Points, Stages, StoredEstimates, Weighing};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
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
pub(super) fn weigh(
    model: &Arc<dyn Shared>,
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
    let (log, stored) = Points::of(folder, run)?;
    let mut points: BTreeMap<usize, Weighted> = stored
        .into_iter()
        .filter(|point| point.index >= weighing.scale.first)
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
        let refits = weighing.refits < MOST_REFITS && job.tuning.is_none();
        let next = need(asked.error, dim, &slow, now.as_ref(), done, refits);
        if next == Need::Refit {
            weighing.learn_from(points.values().take(done), job, asked.error)?;
            weighing.write(folder, run)?;
            points.retain(|index, _| *index >= weighing.scale.first);
            if points.is_empty() {
                (estimator, now, done) = (None, None, 0);
            }
            continue;
        }
        let first = weighing.scale.first;
        let Need::Points(planned) = next else {
            let instead = next == Need::Chain;
            weighing.chains_instead = instead;
            if let Some(estimates) = now {
                let stored = StoredEstimates {
                    estimates,
                    error_asked: asked.error,
                    reached: !instead,
                    chains_instead: instead,
                    refits: weighing.refits,
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
            .map(|(k, x)| (first + k, x))
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
            .range(..first + planned)
            .map(|(_, point)| point.clone())
            .collect();
        let estimator = estimator.get_or_insert_with(|| {
            Estimator::new(
                weighing.scale.clone(),
                names.clone(),
                asked.error,
                asked.workers,
            )
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
            refits: 0,
            chains_instead: false,
        }),
    )
}

impl Weighing {
    /// Fits π̃ again with what these points have told, which then belong to what learning took; once more is not tried where that cannot be.
    fn learn_from<'a>(
        &mut self,
        points: impl Iterator<Item = &'a Weighted>,
        job: &Job,
        error: f64,
    ) -> Result<(), Error> {
        let points: Vec<Weighted> = points.cloned().collect();
        let mut visits = Vec::new();
        for k in 0..job.manifest.chains {
            let stages = Stages::new(&job.folder, k, job.manifest.fingerprint());
            if let Some(newest) = stages.newest() {
                visits.extend_from_slice(stages.load(newest)?.warming.visits());
            }
        }
        self.refits += 1;
        match self.scale.refitted(&visits, &points, error) {
            None => self.refits = MOST_REFITS,
            Some(scale) => {
                self.scale = scale;
                self.learned.slow_evaluations += points.len() as u64;
                let spent = points.iter().map(|point| point.fast_evaluations);
                self.learned.fast_evaluations += spent.sum::<u64>();
            }
        }
        Ok(())
    }
}
