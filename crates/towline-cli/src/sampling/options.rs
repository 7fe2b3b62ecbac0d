//! The options of every command that samples.

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use towline::run::{OnFailure, Settings, StopTarget};
use towline::{Cost, Tuning};

/// How to sample. (`--out` belongs to the command, which knows a good default.)
#[derive(Debug, Clone, Args)]
pub struct SamplingOptions {
    /// Chains, each from a start of its own [default: 4, or one for each process of several]
    #[arg(long, value_name = "N")]
    pub chains: Option<usize>,

    /// Slow evaluations of each chain's warm-up [default: a number that suits the model]
    #[arg(long, value_name = "N")]
    pub warmup: Option<usize>,

    /// Draws of each chain
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub draws: u64,

    /// Seed of the random numbers: the same seed gives the same draws, whatever --threads is
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// How many fast evaluations a slow one costs [default: measured once, and rounded to two decades]
    #[arg(long, value_name = "R")]
    pub cost_ratio: Option<f64>,

    /// Use the tuning in this file (a run's manifest.json, or its tuning alone) instead of a warm-up
    #[arg(long, value_name = "FILE")]
    pub tuning: Option<PathBuf>,

    /// Stop after so long: 90, 30s, 10m, 1h30m
    #[arg(long, value_name = "T", value_parser = duration)]
    pub time_limit: Option<Duration>,

    /// Stop early once every parameter's R-hat is below this [default with --ess: 1.01]
    #[arg(long, value_name = "R")]
    pub rhat: Option<f64>,

    /// Stop early once every parameter's effective sample size is above this [default with --rhat: 400]
    #[arg(long, value_name = "N")]
    pub ess: Option<f64>,

    /// Stop once the standard error of every slow parameter is so many posterior standard deviations (0.03, say): by weighing slow
    /// points or by draws, whichever is predicted to take fewer slow evaluations
    #[arg(long, value_name = "E")]
    pub error: Option<f64>,

    /// Slow evaluations made at a time, in warm-up, with --error of the points that are weighed, and where there are more than chains of the proposals that
    /// come next [default: one for each core, of different chains]; what is found is the same with any number
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// Store latent variables once in so many draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub thin_latents: u64,

    /// What to do when an evaluation of the model fails
    #[arg(long, value_enum, default_value_t = Failures::End)]
    pub failures: Failures,

    /// End the run when one evaluation takes longer than this
    #[arg(long, value_name = "T", value_parser = duration)]
    pub evaluation_limit: Option<Duration>,

    /// Time between two checkpoints: what a killed run repeats at most [default: 1s]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub checkpoint_every: Option<Duration>,

    /// Say nothing about progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// What to do when an evaluation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Failures {
    /// End the run, and name the point
    End,
    /// Take the point to be outside the support, and count how many there were
    Outside,
}

/// Chains of one process: R-hat is worth something with four, and most machines have as many cores.
const CHAINS: usize = 4;

/// The effective sample size to stop at where only R-hat is given, and the other way round.
const ENOUGH: StopTarget = StopTarget {
    rhat: 1.01,
    ess: 400.0,
};

impl SamplingOptions {
    /// The settings that these flags ask for, in so many processes.
    pub fn settings(&self, ranks: usize) -> Result<Settings> {
        let stop = (self.rhat.is_some() || self.ess.is_some()).then(|| StopTarget {
            rhat: self.rhat.unwrap_or(ENOUGH.rhat),
            ess: self.ess.unwrap_or(ENOUGH.ess),
        });
        let tuning = self.tuning.as_deref().map(read_tuning).transpose()?;
        let settings = Settings {
            chains: self.chains.unwrap_or(match ranks {
                1 => CHAINS,
                ranks => ranks,
            }),
            draws: self.draws,
            seed: self.seed,
            threads: self.threads,
            warmup: self.warmup,
            cost: self.cost_ratio.map_or(Cost::Measured, Cost::Ratio),
            tuning,
            time_limit: self.time_limit,
            checkpoint_every: self.checkpoint_every,
            stop,
            error: self.error,
            workers: self.workers,
            latent_every: self.thin_latents,
            on_failure: match self.failures {
                Failures::End => OnFailure::End,
                Failures::Outside => OnFailure::CountAsOutside,
            },
            evaluation_limit: self.evaluation_limit,
        };
        settings.validate()?;
        Ok(settings)
    }
}

/// A tuning alone, or that of a manifest.
fn read_tuning(path: &Path) -> Result<Tuning> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse_tuning(&text).with_context(|| format!("--tuning {}", path.display()))
}

/// The tuning in a file's bytes.
fn parse_tuning(text: &[u8]) -> Result<Tuning> {
    let value: serde_json::Value =
        serde_json::from_slice(text).context("it is not a tuning in JSON")?;
    let value = match value.get("tuning") {
        Some(serde_json::Value::Null) => {
            bail!("the run of this manifest has no tuning yet: it was not through its warm-up")
        }
        Some(tuning) => tuning.clone(),
        None => value,
    };
    let tuning: Tuning =
        serde_json::from_value(value).context("it holds neither a tuning nor a run's manifest")?;
    tuning.kernel().context("its settings make no sense")?;
    Ok(tuning)
}

/// Reads 90, 30s, 10m, 2h, 1h30m, 1.5h.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut seconds = 0.0;
    let mut number = String::new();
    for letter in text.trim().chars() {
        let unit = match letter {
            '0'..='9' | '.' => {
                number.push(letter);
                continue;
            }
            's' => 1.0,
            'm' => 60.0,
            'h' => 3600.0,
            'd' => 86400.0,
            _ => f64::NAN,
        };
        seconds += unit * number.parse().unwrap_or(f64::NAN);
        number.clear();
    }
    if !number.is_empty() {
        seconds += number.parse().unwrap_or(f64::NAN);
    }
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "a time such as 90, 30s, 10m, 1h30m is needed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text| duration(text).map(|d| d.as_secs_f64());
        assert_eq!(seconds("90"), Ok(90.0));
        assert_eq!(seconds("1h30m"), Ok(5400.0));
        assert_eq!(seconds("0.5s"), Ok(0.5));
        for wrong in ["", "0", "-1", "1x", "h", "1e400", "m5", "nan", "1h-5"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_tuning_file_makes_the_reader_panic(bytes: Vec<u8>) {
            let _ = parse_tuning(&bytes);
        }

        #[test]
        fn no_time_makes_the_reader_panic(text: String) {
            let _ = duration(&text);
        }
    }
}
