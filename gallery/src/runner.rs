//! Runs a target as a user would, and says what came out.

use crate::judge::Truth;
use crate::known::Known;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use towline::run::{Run, Settings};
use towline::store::RunDir;
use towline::{Cost, RunSummary};

/// What the gallery says of one target.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// The target's name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Slow variables.
    pub slow: usize,
    /// Fast variables.
    pub fast: usize,
    /// Independent runs.
    pub seeds: usize,
    /// Draws of each run, all chains together.
    pub draws: usize,
    /// Whether every z-score is at most four.
    pub right: bool,
    /// Whether a user was told: every run warned, or those that did not are right by their own errors, all together.
    pub announced: bool,
    /// The largest z-score of the runs that did not warn, by their own errors; nothing where all did.
    #[serde(default)]
    pub silent_z: Option<f64>,
    /// How many runs said something.
    pub warned: usize,
    /// The largest z-score, and of what.
    pub worst_z: f64,
    /// What that is the score of.
    pub worst: String,
    /// Slow evaluations per effective draw of the worst slow variable or its square, without warm-up.
    pub slow_per_effective: f64,
    /// The same with warm-up.
    pub slow_per_effective_with_warmup: f64,
    /// Slow evaluations of warm-up, all chains together.
    pub warmup_slow: f64,
    /// Fast evaluations for each slow one, in production.
    pub fast_per_slow: f64,
    /// The frame and n that were chosen, by seed.
    pub chosen: Vec<String>,
    /// What the first run warned of.
    pub warnings: Vec<String>,
}

/// Right is at most this many.
pub const LIMIT: f64 = 4.0;

/// Runs a target with so many seeds, chains and draws.
///
/// # Errors
/// A run's failure.
pub fn judge(
    target: Known,
    seeds: std::ops::Range<u64>,
    draws: u64,
) -> Result<Verdict, towline::Error> {
    let truth = Truth::of(&target);
    let target = Arc::new(target);
    let (mut means, mut worst_slow, mut worst_all) = (Vec::new(), Vec::new(), Vec::new());
    let (mut fast, mut warm, mut chosen, mut warned) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let (mut warnings, mut silent) = (Vec::new(), Vec::new());
    for seed in seeds.clone() {
        let folder = tempfile::tempdir().map_err(|source| towline::Error::File {
            doing: "make",
            path: "a temporary folder".into(),
            source,
        })?;
        let settings = Settings {
            seed,
            draws,
            cost: target.ratio.map_or(Cost::Measured, Cost::Ratio),
            ..Settings::default()
        };
        let run = Run::create(
            folder.path(),
            Arc::clone(&target),
            "gallery".into(),
            settings,
        )?;
        run.go(Arc::default(), &mut |_| ())?;
        let run = RunDir::open(folder.path())?;
        let summary = RunSummary::of(&run, None)?;
        let columns = run.columns()?;
        let own = truth.own(&columns);
        means.push(own.means().to_vec());
        let cost = &summary.run;
        let production = (cost.slow_evals - cost.warmup_slow_evals) as f64;
        let steps = (cost.chains * cost.draws) as f64;
        let time = columns[..target.slow]
            .iter()
            .enumerate()
            .map(|(k, chains)| truth.time(k, 0, chains).max(truth.time(k, 1, chains)))
            .fold(1.0, f64::max);
        worst_slow.push(time * production / steps);
        worst_all.push(time * cost.slow_evals as f64 / steps);
        fast.push((cost.fast_evals - cost.warmup_fast_evals) as f64 / production.max(1.0));
        warm.push(cost.warmup_slow_evals as f64);
        chosen.push(format!(
            "{} {}",
            cost.frame.unwrap_or("none"),
            cost.n.unwrap_or(0)
        ));
        match summary.warnings.is_empty() {
            true => silent.push(own),
            false => warned += 1,
        }
        if warnings.is_empty() {
            warnings.clone_from(&summary.warnings);
        }
    }
    let scores = truth.scores(&means);
    let worst = (0..scores.len())
        .max_by(|&a, &b| scores[a].abs().total_cmp(&scores[b].abs()))
        .unwrap_or(0);
    let count = means.len();
    let largest = |all: Vec<f64>| all.iter().fold(0.0_f64, |most, z| most.max(z.abs()));
    let silent_z = (!silent.is_empty()).then(|| largest(truth.own_scores(&silent)));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    Ok(Verdict {
        name: target.name.clone(),
        about: target.about.clone(),
        slow: target.slow,
        fast: target.fast,
        seeds: count,
        draws: 4 * draws as usize,
        right: scores.iter().all(|z| z.abs() <= LIMIT),
        announced: warned > 0 && silent_z.is_none_or(|z| z <= LIMIT),
        silent_z,
        warned,
        worst_z: scores[worst],
        worst: truth.label(worst, target.slow),
        slow_per_effective: mean(&worst_slow),
        slow_per_effective_with_warmup: mean(&worst_all),
        warmup_slow: mean(&warm),
        fast_per_slow: mean(&fast),
        chosen,
        warnings,
    })
}
