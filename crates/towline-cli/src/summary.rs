//! `towline summary`: a run's table, its cost, and what to worry about.

mod table;

use crate::runs::{self, count, duration, short};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use table::whole;
pub(crate) use table::{hanging, wrap};
use towline::report::TrustFigures;
use towline::store::RunDir;
use towline::{RunSummary, diagnose};

/// What a run's summary is called in its directory.
const FILE: &str = "summary.json";
/// Of more draws no summary is written unasked: it takes seconds, and memory that grows with them.
const MOST_DRAWS: usize = 1 << 20;

/// What `towline summary` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline summary runs/neal1                       the table, also while the run is under way
  towline summary runs/neal1 --level 0.95          with 95 % intervals
  towline summary runs/neal1 --params x,y --json   some parameters, for programs")]
pub struct Options {
    /// The run directory
    pub dir: PathBuf,
    /// Print JSON instead of a table; what has no value is null
    #[arg(long)]
    pub json: bool,
    /// Only these parameters, by name or by beginning (f*); latents are shown only if named
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub params: Vec<String>,
    /// Probability between the table's lower and upper quantile
    #[arg(long, value_name = "P", default_value_t = LEVEL)]
    pub level: f64,
}

/// The level of the table unless another is asked for.
const LEVEL: f64 = 0.9;

/// Prints the summary of a run.
pub fn run(options: &Options) -> Result<()> {
    if !(options.level > 0.0 && options.level < 1.0) {
        bail!("--level lies between 0 and 1: 0.95 for the quantiles of 2.5 and 97.5 %");
    }
    // Colours are for eyes: not for files, nor for those who ask for none.
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let (summary, mut text) = at_level(&options.dir, &options.params, options.level, colour)?;
    if options.json {
        text = serde_json::to_string_pretty(&summary)?;
    }
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// The summary of the run in a folder, of the parameters asked for or all, in numbers and in words.
///
/// # Errors
/// Where it is no run, or has no parameter of such a name.
pub fn of(dir: &Path, params: &[String]) -> Result<(RunSummary, String)> {
    at_level(dir, params, LEVEL, false)
}

fn at_level(
    dir: &Path,
    params: &[String],
    level: f64,
    colour: bool,
) -> Result<(RunSummary, String)> {
    let run = runs::open(dir)?;
    let names = runs::choose(&run, params)?;
    let summary = RunSummary::of(&run, names.as_deref())?;
    let alone = summary.run.draws == 0 && summary.parameters.iter().any(|p| p.estimate.is_some());
    let table = if alone {
        if level != LEVEL {
            bail!(
                "of estimates by weights the table has the quantiles of 5 and 95 %; for others, export the weighted draws"
            );
        }
        table::estimates(&summary)
    } else {
        let quantiles = quantiles(&run, &summary, level)?;
        table::render(&summary, &quantiles, level, colour)
    };
    let mut text = format!("{table}\n\n{}", wrap(&cost(&summary)));
    let hidden = run.manifest().latents.len();
    if names.is_none() && hidden > 0 {
        text += &format!(
            "\n{} latents are not shown; name them with --params to see them.",
            count(hidden as u64)
        );
    }
    for warning in &summary.warnings {
        let said = wrap(&format!("Warning: {warning}"));
        let said = match said.strip_prefix("Warning:") {
            Some(rest) if colour => format!("\x1b[1;33mWarning:\x1b[0m{rest}"),
            _ => said,
        };
        text += &format!("\n\n{said}");
    }
    for remark in &summary.remarks {
        text += &format!("\n\n{}", wrap(&format!("Note: {remark}")));
    }
    text += &format!("\n\n{}", wrap(&summary.verdict));
    Ok((summary, text))
}

/// The quantiles of each parameter that the table shows.
fn quantiles(run: &RunDir, summary: &RunSummary, level: f64) -> Result<Vec<table::Quantiles>> {
    let tail = 0.5 * (1.0 - level);
    let one = |p: &towline::report::ParameterSummary| -> Result<table::Quantiles> {
        let s = &p.summary;
        if level == LEVEL {
            return Ok([s.q5, s.median, s.q95]);
        }
        let latent = run.manifest().latents.iter().any(|c| c.name == p.name);
        let chains = if latent {
            run.latent(&p.name)?
        } else {
            run.column(&p.name)?
        };
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let at = |p: f64| diagnose::quantile(&chains, p);
        Ok([at(tail), s.median, at(1.0 - tail)])
    };
    summary.parameters.iter().map(one).collect()
}

/// Writes what `--json` prints into the run directory, whole or not at all.
pub fn store(folder: &Path) -> Result<()> {
    let run = runs::open(folder)?;
    if run.chains() * run.common_rows() > MOST_DRAWS {
        return Ok(());
    }
    // Named, columns are read one at a time.
    let names: Vec<String> = run.names().map(str::to_owned).collect();
    let summary = RunSummary::of(&run, Some(&names))?;
    let (path, beside) = (folder.join(FILE), folder.join("summary.tmp"));
    let write = || {
        fs::write(&beside, serde_json::to_string_pretty(&summary)? + "\n")?;
        fs::rename(&beside, &path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// What was checked of the kernels, in a line.
pub(crate) fn checked(trust: &TrustFigures) -> Option<String> {
    let mut parts = Vec::new();
    if let Some(worst) = &trust.disagreement {
        parts.push(format!(
            "draws before and after each kernel's moves differ by at most {:.1} standard errors ({}, {})",
            worst.z.abs(),
            worst.parameter,
            worst.kernel
        ));
    }
    if let Some(uncovered) = trust.uncovered {
        // Without the Pareto index: where all draws are covered it is fitted to a few short runs of refusals and means nothing, and
        // where they are not, a warning has it.
        parts.push(format!(
            "the learned proposal covers {:.1} % of the draws",
            100.0 * (1.0 - uncovered)
        ));
    }
    (!parts.is_empty()).then(|| format!("checked: {}", parts.join("; ")))
}

fn cost(summary: &RunSummary) -> String {
    let run = &summary.run;
    let worth =
        |p: &towline::report::ParameterSummary| p.estimate.as_ref().map(|e| e.equivalent_draws);
    let least = summary
        .parameters
        .iter()
        .filter_map(worth)
        .fold(f64::NAN, f64::min);
    if run.draws == 0 && least.is_finite() {
        let mut text = format!(
            "{} slow and {} fast evaluations (of which learning {} and {}); the least estimate is worth {} independent draws, {} per slow evaluation",
            count(run.slow_evals),
            count(run.fast_evals),
            count(run.warmup_slow_evals),
            count(run.warmup_fast_evals),
            whole(least),
            short(least / run.slow_evals as f64)
        );
        if let Some(seconds) = run.seconds {
            text += &format!(", in {}", duration(seconds));
        }
        return text;
    }
    let ess = summary.least_ess();
    let mut spent = format!(
        "{} chains of {} draws; {} slow and {} fast evaluations",
        run.chains,
        count(run.draws as u64),
        count(run.slow_evals),
        count(run.fast_evals),
    );
    // A run with a given tuning has no warm-up, and of one by an earlier version nothing is known of it.
    if run.warmup_slow_evals > 0 {
        spent += &format!(
            " (of which warm-up {} and {})",
            count(run.warmup_slow_evals),
            count(run.warmup_fast_evals)
        );
    }
    let mut lines = vec![spent];
    let mut speed = format!(
        "least ESS {}, {} per slow evaluation",
        whole(ess),
        short(ess / run.slow_evals as f64)
    );
    if let Some(seconds) = run.seconds {
        speed += &format!(
            ", {} per second in {}",
            short(ess / seconds),
            duration(seconds)
        );
        if let Some(cpu) = run.cpu_seconds {
            speed += &format!(" ({} of processor time)", duration(cpu));
        }
    }
    lines.push(speed);
    let percent = |share: f64| {
        if share.is_nan() {
            "–".to_owned()
        } else {
            format!("{:.1} %", 100.0 * share)
        }
    };
    let mut moves = format!(
        "accepted: outer {}, inner {}",
        percent(run.outer_acceptance),
        percent(run.inner_acceptance)
    );
    if let (Some(n), Some(frame)) = (run.n, run.frame) {
        moves += &format!("; n = {n} in the {frame} frame");
    }
    lines.push(moves);
    lines.extend(checked(&summary.trust));
    lines.join("\n")
}
