//! What may be asked of a run.

use crate::error::Error;
use crate::model::{Column, Role};
use crate::store::{FORMAT, Manifest, Options, VERSION};
use crate::warmup::tuning::Tuning;
use crate::warmup::{Cost, Warmup};
use std::time::Duration;

/// The settings of a run: the defaults make four chains of 2,000 draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many chains.
    pub chains: usize,
    /// Draws of each chain, at most.
    pub draws: u64,
    /// The seed: chain k uses its stream k.
    pub seed: u64,
    /// Threads, at most; nothing for one for each core. Draws do not depend on it.
    pub threads: Option<usize>,
    /// Slow evaluations of each chain's warm-up; nothing for a number that suits the model.
    pub warmup: Option<usize>,
    /// What a slow evaluation costs beside a fast one. With a ratio a run is the same on every machine.
    pub cost: Cost,
    /// A tuning from an earlier run: there is no warm-up then.
    pub tuning: Option<Tuning>,
    /// How long to run, at most.
    pub time_limit: Option<Duration>,
    /// The time between two checkpoints; nothing for a second, or more where a checkpoint takes long.
    pub checkpoint_every: Option<Duration>,
    /// What to stop at before all draws are made.
    pub stop: Option<StopTarget>,
    /// Stop once the standard error of every slow parameter is so many of its standard deviations, by weights of slow points or by
    /// chains, whichever is predicted to be cheaper.
    pub error: Option<f64>,
    /// Slow evaluations that are made at a time, in warm-up and where points are weighed; nothing for one for each core, and in warm-up
    /// for one of each chain that has a thread. Nothing that is found depends on it.
    pub workers: Option<usize>,
    /// Latents are stored once in so many draws.
    pub latent_every: u64,
    /// What to do when an evaluation fails.
    pub on_failure: OnFailure,
    /// How long one evaluation may take.
    pub evaluation_limit: Option<Duration>,
}

/// When there is enough: every column's R-hat is below a bound and its effective sample size above one. Latents do not count.
///
/// Looked at after 400 draws of each chain and after every fifth more, so that a run stops at the same
/// draw however often it is interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopTarget {
    /// R-hat must be below this.
    pub rhat: f64,
    /// The effective sample size must be above this.
    pub ess: f64,
}

impl StopTarget {
    /// What makes a chain's standard error so many standard deviations.
    pub(crate) fn for_error(error: f64) -> Self {
        Self {
            rhat: 1.01,
            ess: 1.0 / (error * error),
        }
    }
}

/// What to do when an evaluation panics, errs, or gives no number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// End the run, and name the point.
    #[default]
    End,
    /// Take the point to be outside the support, and count how many there were.
    CountAsOutside,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chains: 4,
            draws: 2000,
            seed: 1,
            threads: None,
            warmup: None,
            cost: Cost::Measured,
            tuning: None,
            time_limit: None,
            checkpoint_every: None,
            stop: None,
            error: None,
            workers: None,
            latent_every: 1,
            on_failure: OnFailure::End,
            evaluation_limit: None,
        }
    }
}

impl Settings {
    /// Refuses what makes no sense, before anything runs.
    ///
    /// # Errors
    /// Names the setting and what is accepted.
    pub fn validate(&self) -> Result<(), Error> {
        let at_least_one = |what, value: f64| match value >= 1.0 {
            true => Ok(()),
            false => Err(Error::Setting {
                what,
                value,
                expected: "at least 1",
            }),
        };
        at_least_one("the number of chains", self.chains as f64)?;
        at_least_one("the number of draws", self.draws as f64)?;
        at_least_one(
            "draws from one row of latents to the next",
            self.latent_every as f64,
        )?;
        at_least_one(
            "the number of threads",
            self.threads.map_or(1.0, |t| t as f64),
        )?;
        at_least_one(
            "the number of workers",
            self.workers.map_or(1.0, |w| w as f64),
        )?;
        if let Some(error) = self.error.filter(|e| !(*e >= 0.005 && *e <= 0.5)) {
            return Err(Error::Setting {
                what: "the standard error to stop at",
                value: error,
                expected: "a share of the standard deviation between 0.005 and 0.5, such as 0.03",
            });
        }
        if let Some(stop) = self.stop {
            if stop.rhat.is_nan() || stop.rhat <= 1.0 {
                return Err(Error::Setting {
                    what: "the R-hat to stop at",
                    value: stop.rhat,
                    expected: "above 1, such as 1.01",
                });
            }
            if !(stop.ess > 0.0 && stop.ess.is_finite()) {
                return Err(Error::Setting {
                    what: "the effective sample size to stop at",
                    value: stop.ess,
                    expected: "positive and finite, such as 400",
                });
            }
        }
        if let Some(limit) = self.evaluation_limit.filter(Duration::is_zero) {
            return Err(Error::Setting {
                what: "the seconds that an evaluation may take",
                value: limit.as_secs_f64(),
                expected: "above 0",
            });
        }
        self.warmup().check()
    }

    pub(crate) fn warmup(&self) -> Warmup {
        Warmup {
            slow_evaluations: self.warmup,
            cost: self.cost,
            error: None,
        }
    }

    /// What a manifest recorded; threads and time limit are not part of a run.
    pub(crate) fn recorded(manifest: &Manifest) -> Self {
        let Options {
            warmup,
            cost_ratio,
            tuning_given,
            failures_count_as_outside,
            evaluation_limit,
            stop_rhat,
            stop_ess,
            error,
            // Part of the run, but of nobody's choice once it has begun.
            looks_ahead: _,
        } = manifest.options;
        Self {
            chains: manifest.chains,
            draws: manifest.draws,
            seed: manifest.seed,
            threads: None,
            warmup,
            cost: cost_ratio.map_or(Cost::Measured, Cost::Ratio),
            tuning: manifest.tuning.clone().filter(|_| tuning_given),
            time_limit: None,
            checkpoint_every: None,
            stop: stop_rhat
                .zip(stop_ess)
                .map(|(rhat, ess)| StopTarget { rhat, ess })
                .or(error.map(StopTarget::for_error)),
            error,
            workers: None,
            latent_every: manifest.latent_every,
            on_failure: if failures_count_as_outside {
                OnFailure::CountAsOutside
            } else {
                OnFailure::End
            },
            evaluation_limit: evaluation_limit
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        }
    }

    /// The manifest of a run with these settings.
    pub(crate) fn manifest(
        &self,
        columns: &[Column],
        model: serde_json::Value,
    ) -> Result<Manifest, Error> {
        let (latents, columns): (Vec<Column>, Vec<Column>) = columns
            .iter()
            .cloned()
            .partition(|column| column.role == Role::Latent);
        let cost_ratio = match self.cost {
            Cost::Measured => None,
            Cost::Ratio(ratio) => Some(ratio),
        };
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            towline: env!("CARGO_PKG_VERSION").to_owned(),
            model,
            seed: self.seed,
            chains: self.chains,
            draws: self.draws,
            columns,
            statistics: Manifest::STATISTICS.map(String::from).to_vec(),
            latents,
            latent_every: self.latent_every,
            options: Options {
                warmup: self.warmup,
                cost_ratio,
                tuning_given: self.tuning.is_some(),
                failures_count_as_outside: self.on_failure == OnFailure::CountAsOutside,
                evaluation_limit: self.evaluation_limit.map(|limit| limit.as_secs_f64()),
                stop_rhat: self.stop.map(|stop| stop.rhat),
                stop_ess: self.stop.map(|stop| stop.ess),
                error: self.error,
                // With one worker too: draws are the same with any number of them.
                looks_ahead: self.workers.is_some(),
            },
            tuning: self.tuning.clone(),
        };
        manifest.check().map_err(|problem| Error::Damaged {
            path: "the model's list of columns".into(),
            problem,
        })?;
        Ok(manifest)
    }

    /// Slow points at a time.
    pub(crate) fn workers(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.workers.or(self.threads).unwrap_or_else(cores).max(1)
    }

    /// Threads that are of use.
    pub(crate) fn threads_for(&self, chains: usize) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        // A chain that waits for workers takes nobody's core.
        let waiting = || cores().max(self.workers.unwrap_or(1));
        self.threads.unwrap_or_else(waiting).clamp(1, chains.max(1))
    }
}
