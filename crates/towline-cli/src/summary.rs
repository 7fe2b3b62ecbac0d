//! `towline summary`: a run's table, its cost, and what to worry about.

use crate::runs::{self, count, duration, short};
use anyhow::{Context, Result};
use clap::Args;
use comfy_table::{CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use towline::RunSummary;

/// What a run's summary is called in its directory.
const FILE: &str = "summary.json";
/// Of more draws no summary is written unasked: it takes seconds, and memory that grows with them.
const MOST_DRAWS: usize = 1 << 20;

/// What `towline summary` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline summary runs/neal1                       the table, also while the run is under way
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
}

/// Prints the summary of a run.
pub fn run(options: &Options) -> Result<()> {
    let (summary, mut text) = of(&options.dir, &options.params)?;
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
    let run = runs::open(dir)?;
    let names = runs::choose(&run, params)?;
    let summary = RunSummary::of(&run, names.as_deref())?;
    let mut text = format!("{}\n\n{}", table(&summary), cost(&summary));
    let hidden = run.manifest().latents.len();
    if names.is_none() && hidden > 0 {
        text += &format!(
            "\n{} latents are not shown; name them with --params to see them.",
            count(hidden as u64)
        );
    }
    for warning in &summary.warnings {
        text += &format!("\n\nWarning: {warning}");
    }
    Ok((summary, text))
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

/// A rule below the header only: numbers need no boxes.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none())
    .header_lines(ContentLineStyle::none());

fn table(summary: &RunSummary) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header([
        "", "mean", "sd", "5 %", "50 %", "95 %", "MCSE", "ESS bulk", "ESS tail", "R-hat",
    ]);
    for parameter in &summary.parameters {
        let s = &parameter.summary;
        let mut row = vec![parameter.name.clone()];
        row.extend([s.mean, s.sd, s.q5, s.median, s.q95, s.mcse_mean].map(short));
        row.extend([s.ess_bulk, s.ess_tail].map(whole));
        row.push(if s.rhat.is_nan() {
            "–".to_owned()
        } else {
            format!("{:.3}", s.rhat)
        });
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn whole(value: f64) -> String {
    if value.is_finite() {
        count(value.round() as u64)
    } else {
        "–".to_owned()
    }
}

fn cost(summary: &RunSummary) -> String {
    let run = &summary.run;
    let ess = summary.least_ess();
    let mut lines = vec![format!(
        "{} chains of {} draws; {} slow and {} fast evaluations (of which warm-up {} and {})",
        run.chains,
        count(run.draws as u64),
        count(run.slow_evals),
        count(run.fast_evals),
        count(run.warmup_slow_evals),
        count(run.warmup_fast_evals),
    )];
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
    lines.join("\n")
}
