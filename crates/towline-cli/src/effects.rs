//! `towline effects DIR NAME`: the effects of groups, or what a covariate does to the response, with intervals.

mod caterpillar;

use crate::failure::Failure;
use crate::posterior::Posterior;
use crate::runs::{self, short};
use anyhow::{Context, Result, bail};
use caterpillar::{Caterpillar, Entry};
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use towline::diagnose;
use towline::store::RunDir;
use towline_models::{New, Resolved, Table};

/// Flags of `towline effects`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run of `towline fit`
    pub dir: PathBuf,

    /// A grouping of the model, (1 | school), or a column of its data
    pub name: String,

    /// The difference of the response between two values of the column: a-b, or 2-1
    #[arg(long, value_name = "A-B", allow_hyphen_values = true)]
    pub contrast: Option<String>,

    /// Probability that the intervals hold
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub level: f64,

    /// Draws to use, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,

    /// Folder for the picture of groups, effects-NAME.svg and .png [default: the run's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print CSV instead of a table
    #[arg(long)]
    pub csv: bool,
}

const EXAMPLE: &str = "\
Examples:
  towline effects epil subject                          each subject's effect, with a picture
  towline effects epil treatment                        the mean response under each treatment
  towline effects epil treatment --contrast drug-placebo   and their difference
  towline effects epil age                              what a unit of age does to the mean response";

/// How far to either side of its value a numeric column is moved, in standard deviations.
const STEP: f64 = 1e-3;

/// Shows them.
pub fn run(options: &Options) -> Result<(), Failure> {
    if !(options.level > 0.0 && options.level < 1.0) || options.draws == 0 {
        return Err(Failure::Options(anyhow::anyhow!(
            "--level lies between 0 and 1, and --draws is at least 1"
        )));
    }
    effects(options).map_err(Failure::Run)
}

fn effects(options: &Options) -> Result<()> {
    let run = RunDir::open(&options.dir)?;
    let resolved = crate::fit::Description::parse(&run.manifest().model)
        .and_then(|description| description.resolve(&options.dir))
        .with_context(|| format!("{} cannot be used for this", options.dir.display()))?;
    let named = |name: &str| {
        let parts = &resolved.parts;
        parts.groupings.iter().any(|g| g.name == name)
            || parts.components.iter().any(|c| c.name == name)
    };
    if options.contrast.is_none() && named(&options.name) {
        return groups(options, &run);
    }
    covariate(options, resolved)
}

/// A line of the table: a name and a sample.
fn entry(name: String, values: &[f64], level: f64) -> Entry {
    let tail = 0.5 * (1.0 - level);
    let sample = [values];
    Entry {
        name,
        mean: diagnose::mean(&sample),
        sd: diagnose::sd(&sample),
        lower: diagnose::quantile(&sample, tail),
        upper: diagnose::quantile(&sample, 1.0 - tail),
    }
}

/// The effects of every group, from all the draws that the run has stored.
fn groups(options: &Options, run: &RunDir) -> Result<()> {
    let mut entries = Vec::new();
    let prefix = format!("{}[", options.name);
    let of_classes = format!("{}.", options.name);
    let columns = &run.manifest().latents;
    for column in columns {
        let class = column.name.starts_with(&of_classes) && column.name.contains('[');
        if column.name.starts_with(&prefix) || class {
            let draws = run.latent(&column.name)?.concat();
            let name = match column.name.strip_prefix(&prefix) {
                Some(rest) => rest.trim_end_matches(']').to_string(),
                None => column.name.clone(),
            };
            entries.push(entry(name, &draws, options.level));
        }
    }
    if entries.is_empty() {
        bail!(
            "{} has stored no draws of `{}` yet",
            options.dir.display(),
            options.name
        );
    }
    let title = format!("Effects of `{}` on the linear predictor", options.name);
    show(options, &title, &entries)?;
    let picture = Caterpillar::new(title, options.level, entries);
    let folder = options.out.as_ref().unwrap_or(&options.dir);
    let plain: String = options
        .name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    for file in runs::save_picture(&picture, folder, &format!("effects-{plain}"))? {
        writeln!(io::stderr(), "Written: {}", file.display())?;
    }
    Ok(())
}

/// What a column of the data does to the mean response.
fn covariate(options: &Options, resolved: Resolved) -> Result<()> {
    let name = &options.name;
    let table = Table::read(&resolved.model.data.file)?;
    if !table.has(name) {
        let groups: Vec<&str> = resolved
            .parts
            .groupings
            .iter()
            .map(|g| g.name.as_str())
            .chain(resolved.parts.components.iter().map(|c| c.name.as_str()))
            .collect();
        bail!(
            "`{name}` is neither a grouping or component of the model{} nor a column of its data ({})",
            if groups.is_empty() {
                String::new()
            } else {
                format!(" ({})", groups.join(", "))
            },
            table.headers().join(", ")
        );
    }
    if table.rows() != resolved.parts.data.response.len() {
        bail!(
            "some rows of the data have missing values: effects on the response need all of them"
        );
    }
    let posterior = Posterior::open(&options.dir, options.draws)?;
    let average = |values: Vec<String>| -> Result<Vec<f64>> {
        let new = with(&resolved, &table, name, &values)?;
        Ok(posterior.predictor.average_response(&new)?)
    };
    let rows = table.rows();
    // Moved by a place, values are others in some row unless all are the same.
    let mut moved = table.text(name)?.to_vec();
    moved.rotate_left(1);
    if with(&resolved, &table, name, &moved)? == resolved_rows(&resolved, &table)? {
        bail!("the model does not use `{name}`: it has no effect to show");
    }
    let numeric = table.is_numeric(name)? && resolved.parts.fixed.names.iter().any(|n| n == name);
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut entries = Vec::new();
    let title;
    if let Some(contrast) = &options.contrast {
        let (a, b) = split(contrast, &table.levels(name)?, table.is_numeric(name)?)?;
        let (high, low) = (
            average(vec![a.clone(); rows])?,
            average(vec![b.clone(); rows])?,
        );
        let of = |value: &str| format!("{name} = {value}");
        entries.push(entry(of(&a), &high, options.level));
        entries.push(entry(of(&b), &low, options.level));
        entries.push(entry(
            format!("{a} - {b}"),
            &minus(&high, &low),
            options.level,
        ));
        title = format!("Mean response if every row had these values of `{name}`");
    } else if numeric || (table.is_numeric(name)? && table.levels(name)?.len() > 20) {
        let numbers = table.numbers(name)?;
        let sd = diagnose::sd(&[&numbers]);
        let h = STEP * if sd > 0.0 { sd } else { 1.0 };
        let moved = |by: f64| {
            numbers
                .iter()
                .map(|x| format!("{:e}", x + by))
                .collect::<Vec<_>>()
        };
        let (high, low) = (average(moved(h))?, average(moved(-h))?);
        let slope: Vec<f64> = minus(&high, &low).iter().map(|d| d / (2.0 * h)).collect();
        entries.push(entry(format!("per unit of {name}"), &slope, options.level));
        let by_sd: Vec<f64> = slope.iter().map(|d| d * sd).collect();
        entries.push(entry(
            format!("per sd ({})", short(sd)),
            &by_sd,
            options.level,
        ));
        title = format!("Average marginal effect of `{name}` on the mean response");
    } else {
        let levels = table.levels(name)?;
        let mut first: Option<Vec<f64>> = None;
        for level in &levels {
            let here = average(vec![level.clone(); rows])?;
            entries.push(entry(level.clone(), &here, options.level));
            if let Some(first) = &first {
                let name = format!("{level} - {}", levels[0]);
                entries.push(entry(name, &minus(&here, first), options.level));
            } else {
                first = Some(here);
            }
        }
        title = format!("Mean response if every row had this `{name}`, and differences");
    }
    show(options, &title, &entries)
}

/// The data as they are.
fn resolved_rows(resolved: &Resolved, table: &Table) -> Result<New> {
    let first = &table.headers()[0];
    with(resolved, table, first, table.text(first)?)
}

/// The data with other values in one column. Rows keep their own effects, (1 | row()).
fn with(resolved: &Resolved, table: &Table, column: &str, values: &[String]) -> Result<New> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.headers())?;
    let columns = table
        .headers()
        .iter()
        .map(|name| {
            if name == column {
                Ok(values)
            } else {
                table.text(name)
            }
        })
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..table.rows() {
        writer.write_record(columns.iter().map(|column| column[row].as_str()))?;
    }
    let text = String::from_utf8(writer.into_inner()?)?;
    let (mut new, _) = resolved.rows(&Table::parse(table.name(), &text)?)?;
    for (grouping, groups) in resolved.parts.groupings.iter().zip(&mut new.groups) {
        if grouping.name == "row" && !table.has("row") {
            *groups = (0..table.rows()).map(Some).collect();
        }
    }
    Ok(new)
}

/// `a-b` as two values: levels may have hyphens of their own.
fn split(contrast: &str, levels: &[String], numeric: bool) -> Result<(String, String)> {
    let known = |value: &str| {
        levels.iter().any(|level| level == value) || (numeric && value.parse::<f64>().is_ok())
    };
    for (at, _) in contrast.match_indices('-') {
        let (a, b) = (contrast[..at].trim(), contrast[at + 1..].trim());
        if known(a) && known(b) {
            return Ok((a.into(), b.into()));
        }
    }
    let shown = levels
        .iter()
        .take(12)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    bail!(
        "--contrast {contrast}: write two values of the column with a hyphen between them; it has {shown}"
    )
}

fn show(options: &Options, title: &str, entries: &[Entry]) -> Result<()> {
    let mut out = io::stdout().lock();
    let tail = 50.0 * (1.0 - options.level);
    let percent = |value: f64| format!("{} %", (value * 100.0).round() / 100.0);
    if options.csv {
        let mut writer = csv::Writer::from_writer(out);
        let quantile = |value: f64| format!("q{}", (value * 1e6).round() / 1e6);
        writer.write_record([
            "name",
            "mean",
            "sd",
            &quantile(tail),
            &quantile(100.0 - tail),
        ])?;
        for e in entries {
            let numbers = [e.mean, e.sd, e.lower, e.upper].map(|v| v.to_string());
            writer.write_record(std::iter::once(&e.name).chain(&numbers))?;
        }
        writer.flush()?;
        return Ok(());
    }
    let widest = entries
        .iter()
        .map(|e| e.name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(8, 34);
    writeln!(out, "{title}\n")?;
    writeln!(
        out,
        "{:<widest$} {:>10} {:>10} {:>10} {:>10}",
        "",
        "mean",
        "sd",
        percent(tail),
        percent(100.0 - tail)
    )?;
    for e in entries {
        let name: String = if e.name.chars().count() > widest {
            e.name.chars().take(widest - 1).chain(['…']).collect()
        } else {
            e.name.clone()
        };
        let [mean, sd, lower, upper] = [e.mean, e.sd, e.lower, e.upper].map(short);
        writeln!(
            out,
            "{name:<widest$} {mean:>10} {sd:>10} {lower:>10} {upper:>10}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_split_between_two_known_values() {
        let levels = ["x-ray".to_string(), "none".into()];
        let see = |text: &str| split(text, &levels, false).unwrap();
        assert_eq!(see("x-ray-none"), ("x-ray".into(), "none".into()));
        assert_eq!(split("2--1", &[], true).unwrap(), ("2".into(), "-1".into()));
        let said = split("a-b", &levels, false).unwrap_err().to_string();
        assert!(said.contains("it has x-ray, none"), "{said}");
    }
}
