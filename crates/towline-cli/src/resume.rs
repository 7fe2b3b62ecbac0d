//! `towline resume DIR`: continues a run, to the bits that it would have had without the interruption.

use crate::failure::Failure;
use crate::registry::model_from_manifest;
use crate::sampling::{self, duration};
use anyhow::{Context, anyhow};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use towline::run::Ranks;
use towline::store::Manifest;
use towline_models::Changes;

/// Flags of `towline resume`. Those of a new run are known here only to be refused by name.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run's folder
    pub dir: PathBuf,

    /// Draws of each chain, those there are included [default: as many as were asked for before]
    #[arg(long, value_name = "N")]
    pub draws: Option<u64>,

    /// Of a run with --error: another standard error to stop at, in posterior standard deviations
    #[arg(long, value_name = "E")]
    pub error: Option<f64>,

    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// Of a run with --error: slow points that are weighed at a time [default: one for each core]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// Stop after so long: 90, 30s, 10m, 1h30m
    #[arg(long, value_name = "T", value_parser = duration)]
    pub time_limit: Option<Duration>,

    /// Time between two checkpoints: what a killed run repeats at most [default: 1s]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub checkpoint_every: Option<Duration>,

    /// Refuse to continue where the model's log density differs from the recorded one in its last digits
    #[arg(long)]
    pub strict: bool,

    /// Say nothing about progress
    #[arg(long, short)]
    pub quiet: bool,

    #[arg(long, hide = true)]
    out: Option<String>,
    #[arg(long, hide = true)]
    chains: Option<String>,
    #[arg(long, hide = true)]
    warmup: Option<String>,
    #[arg(long, hide = true)]
    seed: Option<String>,
    #[arg(long, hide = true)]
    cost_ratio: Option<String>,
    #[arg(long, hide = true)]
    tuning: Option<String>,
    #[arg(long, hide = true)]
    rhat: Option<String>,
    #[arg(long, hide = true)]
    ess: Option<String>,
    #[arg(long, hide = true)]
    thin_latents: Option<String>,
    #[arg(long, hide = true)]
    failures: Option<String>,
    #[arg(long, hide = true)]
    evaluation_limit: Option<String>,
}

const EXAMPLE: &str = "\
Examples:
  towline resume neal1                  continues where it was interrupted
  towline resume neal1 --draws 10000    as if 10000 draws had been asked for from the beginning";

impl Options {
    /// The flags that a run in progress cannot change.
    fn refused(&self) -> Vec<&'static str> {
        let given = [
            ("--out", &self.out),
            ("--chains", &self.chains),
            ("--warmup", &self.warmup),
            ("--seed", &self.seed),
            ("--cost-ratio", &self.cost_ratio),
            ("--tuning", &self.tuning),
            ("--rhat", &self.rhat),
            ("--ess", &self.ess),
            ("--thin-latents", &self.thin_latents),
            ("--failures", &self.failures),
            ("--evaluation-limit", &self.evaluation_limit),
        ];
        let named = given.into_iter().filter(|(_, value)| value.is_some());
        named.map(|(name, _)| name).collect()
    }
}

/// Continues it.
pub fn run(options: &Options, ranks: &mut Ranks) -> Result<(), Failure> {
    let refused = options.refused();
    if !refused.is_empty() {
        return Err(Failure::Options(anyhow!(
            "a run keeps the settings it was begun with, so {} cannot be given here; --draws, --error, --threads, --workers, --time-limit, --checkpoint-every and --quiet can",
            refused.join(" and ")
        )));
    }
    let manifest = Manifest::read(&options.dir).map_err(|error| Failure::Run(error.into()))?;
    let model = model_from_manifest(&manifest.model, &options.dir)
        .with_context(|| format!("{} cannot be resumed", options.dir.display()))
        .map_err(Failure::Run)?;
    let changes = Changes {
        draws: options.draws,
        threads: options.threads,
        workers: options.workers,
        error: options.error,
        time_limit: options.time_limit,
        checkpoint_every: options.checkpoint_every,
        strict: options.strict,
    };
    sampling::resume(&*model, &options.dir, &changes, options.quiet, ranks)
}
