//! What every command that samples shares: its options, progress, Ctrl-C, and what is said at the end.

mod lines;
mod options;
mod progress;

pub use options::{SamplingOptions, duration};

use crate::failure::Failure;
use anyhow::{Context, Result};
use progress::Display;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use towline::run::{Ended, Progress, Ranks};
use towline::store::RunDir;
use towline_models::{Changes, Sample};

/// Of more draws than this no summary is shown unasked: it takes seconds, and memory that grows with them.
const MOST_SUMMARISED: usize = 1 << 20;

/// Samples a model into a new run directory.
pub fn begin(
    model: &dyn Sample,
    folder: &Path,
    description: Value,
    options: &SamplingOptions,
    ranks: &mut Ranks,
) -> Result<(), Failure> {
    let settings = options.settings(ranks.ranks()).map_err(Failure::Options)?;
    let quiet = options.quiet || !ranks.leads();
    let stop = stop_on_ctrl_c()?;
    let told = Arc::clone(&stop);
    let mut display = Display::new(quiet, ranks.leads().then_some(told));
    let see = &mut |progress: &Progress| display.show(progress);
    let ended = model.create(folder, description, settings, ranks, stop, see);
    display.finish();
    conclude(ended, folder, quiet, ranks.leads())
}

/// Continues a run.
pub fn resume(
    model: &dyn Sample,
    folder: &Path,
    changes: &Changes,
    quiet: bool,
    ranks: &mut Ranks,
) -> Result<(), Failure> {
    let quiet = quiet || !ranks.leads();
    let stop = stop_on_ctrl_c()?;
    let told = Arc::clone(&stop);
    let mut display = Display::new(quiet, ranks.leads().then_some(told));
    let see = &mut |progress: &Progress| display.show(progress);
    let ended = model.resume(folder, changes, ranks, stop, see);
    display.finish();
    conclude(ended, folder, quiet, ranks.leads())
}

/// A flag that Ctrl-C (or a queue's request to end) sets; the second one ends the process.
pub(crate) fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .context("cannot watch for Ctrl-C")
    .map_err(Failure::Run)?;
    Ok(stop)
}

/// Writes the summary, and says where the run is and what can be done with it.
fn conclude(
    ended: Result<Ended, towline::Error>,
    folder: &Path,
    quiet: bool,
    leads: bool,
) -> Result<(), Failure> {
    let ended = ended.map_err(|error| {
        let keeps = matches!(
            error,
            towline::Error::Chain { .. }
                | towline::Error::Points { .. }
                | towline::Error::TooLong { .. }
                | towline::Error::Elsewhere { .. }
        ) && folder.join("manifest.json").exists();
        let mut error = anyhow::Error::from(error);
        if keeps {
            error = error.context(format!(
                "the run in {0} ended early; its draws are kept, and `towline resume {0}` continues it",
                folder.display()
            ));
        }
        Failure::Run(error)
    })?;
    // Whoever is told to stop has little time.
    if leads && ended != Ended::Stopped {
        crate::summary::store(folder).map_err(Failure::Run)?;
    }
    if !quiet {
        tell(ended, folder).map_err(Failure::Run)?;
    }
    match ended {
        Ended::Stopped => Err(Failure::Interrupted),
        _ => Ok(()),
    }
}

/// Of fewer slow evaluations than one in so many, no advice is given on matrices that could not be factorised: what the posterior
/// loses there is far below what any number of draws can show.
const FEW: u64 = 1000;

/// Says how many covariance matrices of a fit could not be factorised, if any: the posterior ends there.
pub fn tell_of(unfactorised: &AtomicU64, folder: &Path) {
    let count = unfactorised.load(Ordering::Relaxed);
    if count > 0 {
        let mut said = of_unfactorised(count, slow_evaluations(folder));
        if io::stderr().is_terminal() {
            said = crate::summary::wrap(&said);
        }
        // Nobody is left to tell where stderr is closed.
        let _ = writeln!(io::stderr(), "{said}");
    }
}

/// All slow evaluations of a run, where it has left any word of them.
fn slow_evaluations(folder: &Path) -> Option<u64> {
    let checkpoints = RunDir::open(folder).ok()?.checkpoints().ok()?;
    let each = checkpoints.iter().flatten();
    Some(
        each.map(|c| c.snapshot.totals.slow_evaluations + c.warmup.slow_evaluations)
            .sum(),
    )
}

fn of_unfactorised(count: u64, slow: Option<u64>) -> String {
    if let Some(slow) = slow.filter(|slow| count * FEW <= *slow) {
        return format!(
            "Note: {count} of {slow} covariance or precision matrices could not be factorised, and {} as outside the support.",
            if count == 1 { "counts" } else { "count" }
        );
    }
    format!(
        "Warning: {count} covariance or precision matrices could not be factorised, and count as outside the support. \
         If there are many, the posterior is cut off there. For a process, raise `jitter` under [gp], merge places that \
         nearly coincide, or choose another covariance; for a component of the formula, give its range a prior that \
         keeps to lengths of which the data can tell."
    )
}

fn tell(ended: Ended, folder: &Path) -> Result<()> {
    let run = RunDir::open(folder)?;
    let why = match ended {
        Ended::Finished => "finished",
        Ended::TargetReached => "finished: it is as good as was asked for",
        Ended::TimeLimit => "the time is up",
        Ended::Stopped => "stopped",
    };
    let name = folder.display();
    let (chains, draws, asked) = (run.chains(), run.common_rows(), run.manifest().draws);
    let weighed = run.estimates()?.filter(|found| !found.chains_instead);
    let failures: u64 = run
        .checkpoints()?
        .iter()
        .flatten()
        .map(|c| c.failures)
        .sum();
    let mut out = io::stdout().lock();
    let plural =
        |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    match &weighed {
        Some(found) => writeln!(
            out,
            "{why}: {} weighed in {name}",
            plural(found.estimates.points as u64, "slow point")
        )?,
        None => writeln!(
            out,
            "{why}: {} of {} in {name}",
            plural(chains as u64, "chain"),
            plural(draws as u64, "draw")
        )?,
    }
    if failures > 0 {
        writeln!(
            out,
            "{} failed and counted as outside the support: see {name}/failures.jsonl",
            plural(failures, "evaluation")
        )?;
    }
    let shown = (draws > 0 || weighed.is_some()) && chains * draws <= MOST_SUMMARISED;
    if ended != Ended::Stopped && shown {
        let (_, summary) = crate::summary::of(folder, &[])?;
        writeln!(out, "\n{summary}\n")?;
    }
    writeln!(out, "next:")?;
    if matches!(ended, Ended::TimeLimit | Ended::Stopped) {
        writeln!(out, "  towline resume {name}")?;
    } else if let Some(found) = &weighed {
        writeln!(
            out,
            "  towline resume {name} --error {}",
            0.5 * found.error_asked
        )?;
        writeln!(out, "  towline evidence {name}")?;
    } else {
        writeln!(out, "  towline resume {name} --draws {}", 2 * asked)?;
    }
    writeln!(out, "  towline summary {name}")?;
    writeln!(out, "  towline report {name}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_matrix_of_ten_thousand_is_a_note_and_one_of_a_hundred_a_warning() {
        let note = of_unfactorised(1, Some(10_000));
        assert!(note.starts_with("Note: 1 of 10000 ") && !note.contains("jitter"));
        assert!(of_unfactorised(1, Some(100)).contains("jitter"));
        assert!(of_unfactorised(1, None).starts_with("Warning: 1 "));
    }
}
