//! What a look at a run directory tells, in time that does not grow with the draws: checkpoints, and the last rows.

use crate::runs;
use anyhow::Result;
use std::path::{Path, PathBuf};
use towline::Role;
use towline::store::{Batches, Checkpoint, RunDir};

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Before any draw; so many stages of warm-up are done.
    WarmingUp(usize),
    /// Draws are made.
    Sampling,
    /// All draws are made, or the run's target is reached.
    Finished,
    /// Nobody is at work on it, and there is more to do.
    Stopped,
}

/// One parameter.
#[derive(Debug, Clone)]
pub struct Seen {
    pub name: String,
    pub rhat: f64,
    pub ess: f64,
    pub mean: f64,
    pub sd: f64,
    /// The last draws of each chain.
    pub last: Vec<Vec<f64>>,
}

/// A look at a run.
#[derive(Debug, Clone)]
pub struct Glance {
    pub path: PathBuf,
    pub standing: Standing,
    /// Draws of each chain.
    pub draws: Vec<u64>,
    pub asked: u64,
    pub seconds: f64,
    pub slow_evaluations: u64,
    pub outer: f64,
    pub inner: f64,
    pub failures: u64,
    pub parameters: Vec<Seen>,
    /// Whether the parameters were chosen by the user, so that their order is his.
    pub chosen: bool,
}

/// More stages than any warm-up has.
const MOST_STAGES: usize = 32;

impl Glance {
    /// Looks, at so many of the last draws.
    pub fn of(folder: &Path, params: &[String], last: usize) -> Result<Self> {
        let run = runs::open(folder)?;
        let chosen = runs::choose(&run, params)?;
        let of_each = run.checkpoints()?;
        let reached: Vec<bool> = of_each
            .iter()
            .map(|c| c.as_ref().is_some_and(|c| c.reached))
            .collect();
        let checkpoints: Vec<Checkpoint> = of_each.into_iter().flatten().collect();
        let parameters = parameters(&run, &checkpoints, chosen.as_deref(), last)?;
        let draws: Vec<u64> = (0..run.chains())
            .map(|k| run.draws(k).rows() as u64)
            .collect();
        let asked = run.manifest().draws;
        let (mut totals, mut warmup) = (towline::Info::default(), 0);
        for checkpoint in &checkpoints {
            totals += checkpoint.snapshot.totals;
            warmup += checkpoint.warmup.slow_evaluations;
        }
        let whole = |k: usize| draws[k] >= asked || reached[k];
        let all_there = checkpoints.len() == run.chains();
        let standing = if (0..run.chains()).all(whole) {
            Standing::Finished
        } else if !is_held(folder) {
            Standing::Stopped
        } else if all_there {
            Standing::Sampling
        } else {
            Standing::WarmingUp(stage(folder))
        };
        let seconds = checkpoints
            .iter()
            .map(|c| c.wall_seconds.unwrap_or(c.warmup_seconds + c.seconds));
        Ok(Self {
            path: folder.to_path_buf(),
            standing,
            draws,
            asked,
            seconds: seconds.fold(0.0, f64::max),
            slow_evaluations: warmup + totals.slow_evaluations,
            outer: totals.outer_acceptance(),
            inner: totals.inner_acceptance(),
            failures: checkpoints.iter().map(|c| c.failures).sum(),
            parameters,
            chosen: chosen.is_some(),
        })
    }

    /// The parameter with the largest R-hat.
    pub fn worst(&self) -> Option<&Seen> {
        let finite = self.parameters.iter().filter(|p| p.rhat.is_finite());
        finite.max_by(|a, b| a.rhat.total_cmp(&b.rhat))
    }

    /// The parameter with the least effective sample size.
    pub fn least(&self) -> Option<&Seen> {
        let finite = self.parameters.iter().filter(|p| p.ess.is_finite());
        finite.min_by(|a, b| a.ess.total_cmp(&b.ess))
    }
}

fn parameters(
    run: &RunDir,
    checkpoints: &[Checkpoint],
    chosen: Option<&[String]>,
    last: usize,
) -> Result<Vec<Seen>> {
    let columns = &run.manifest().columns;
    let batches: Vec<&Batches> = checkpoints.iter().map(|c| &c.batches).collect();
    let estimates = Batches::estimates(&batches);
    let tails = (0..run.chains())
        .map(|k| run.draws(k).last(last))
        .collect::<Result<Vec<_>, _>>()?;
    let wanted = |name: &str| chosen.is_none_or(|names| names.iter().any(|n| n == name));
    let width = run.manifest().width();
    let one = |(place, column): (usize, &towline::Column)| {
        let (mean, sd) = pooled(checkpoints, place);
        Seen {
            name: column.name.clone(),
            rhat: estimates.get(place).map_or(f64::NAN, |e| e.rhat),
            ess: estimates.get(place).map_or(f64::NAN, |e| e.ess),
            mean,
            sd,
            last: tails
                .iter()
                .map(|rows| rows.chunks_exact(width).map(|row| row[place]).collect())
                .collect(),
        }
    };
    Ok(columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.role != Role::Latent && wanted(&column.name))
        .map(one)
        .collect())
}

/// The mean and standard deviation over all chains.
fn pooled(checkpoints: &[Checkpoint], column: usize) -> (f64, f64) {
    let mut all = checkpoints.iter().map(|checkpoint| &checkpoint.moments);
    let Some(mut moments) = all.next().cloned() else {
        return (f64::NAN, f64::NAN);
    };
    all.for_each(|theirs| moments.merge(theirs));
    (moments.mean(column), moments.variance(column).sqrt())
}

/// Whether a process says that it is at work there. The lock itself is not touched: it is the writer's.
fn is_held(folder: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(folder.join("lock")) else {
        return false;
    };
    let Some(process) = text.trim().strip_prefix("process ") else {
        return false;
    };
    // A process that was killed leaves its name behind. Where there is no such list, it is believed.
    let list = Path::new("/proc");
    !list.join("self").exists() || list.join(process).exists()
}

/// The stages of warm-up that every chain has done.
fn stage(folder: &Path) -> usize {
    let done = |stage: &usize| folder.join(format!("warmup-0-{stage}.bin")).exists();
    (0..MOST_STAGES).rev().find(done).unwrap_or(0)
}
