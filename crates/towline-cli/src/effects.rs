//! `towline effects DIR NAME`: the effects of groups, or what a covariate does to the response, with intervals.

mod caterpillar;
mod covariate;

use crate::failure::Failure;
use crate::runs::{self, Drawn, short};
use anyhow::{Context, Result, bail};
use caterpillar::Caterpillar;
pub use caterpillar::Entry;
use clap::Args;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use towline::diagnose;
use towline::store::RunDir;

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

/// Shows them.
pub fn run(options: &Options) -> Result<(), Failure> {
    if !(options.level > 0.0 && options.level < 1.0) || options.draws == 0 {
        return Err(Failure::Options(anyhow::anyhow!(
            "--level lies between 0 and 1, and --draws is at least 1"
        )));
    }
    effects(options).map_err(Failure::Run)
}

/// What is asked about a fit.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// A grouping, or a column of the data.
    pub name: &'a str,
    /// Two values of the column, with a hyphen between them.
    pub contrast: Option<&'a str>,
    /// The probability that intervals hold.
    pub level: f64,
    /// Draws to use.
    pub draws: usize,
}

/// Effects with their intervals.
#[derive(Debug, Clone)]
pub struct Effects {
    /// What they are.
    pub title: String,
    /// One after another.
    pub entries: Vec<Entry>,
    /// Whether they are those of groups, which have a picture.
    pub of_groups: bool,
    level: f64,
}

impl Effects {
    fn picture(&self) -> Caterpillar {
        Caterpillar::new(self.title.clone(), self.level, self.entries.clone())
    }

    /// The picture of groups' effects as files hold it.
    ///
    /// # Errors
    /// Where nothing can be written for a while.
    pub fn drawn(&self) -> Result<Option<Drawn>> {
        let picture = self.of_groups.then(|| self.picture());
        picture.map(|scene| runs::drawn(&scene)).transpose()
    }

    /// The names of the interval's ends, as columns have them.
    pub fn quantiles(&self) -> [String; 2] {
        let tail = 50.0 * (1.0 - self.level);
        [tail, 100.0 - tail].map(|value| format!("q{}", (value * 1e6).round() / 1e6))
    }
}

fn effects(options: &Options) -> Result<()> {
    let asked = Asked {
        name: &options.name,
        contrast: options.contrast.as_deref(),
        level: options.level,
        draws: options.draws,
    };
    let effects = of(&options.dir, &asked)?;
    if effects.of_groups {
        let folder = options.out.as_ref().unwrap_or(&options.dir);
        let letter = |c: char| {
            if c.is_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        };
        let plain: String = options.name.chars().map(letter).collect();
        let name = format!("effects-{plain}");
        for file in runs::save_picture(&effects.picture(), folder, &name)? {
            writeln!(io::stderr(), "Written: {}", file.display())?;
        }
    }
    let mut out = io::stdout().lock();
    if options.csv {
        write_csv(&effects, &mut out)?;
    } else {
        writeln!(out, "{}", effects.text())?;
    }
    Ok(())
}

/// The effects that are asked for.
///
/// # Errors
/// Where the folder is no fit, or its model has nothing of that name.
pub fn of(dir: &Path, asked: &Asked) -> Result<Effects> {
    let run = RunDir::open(dir)?;
    let resolved = crate::fit::Description::parse(&run.manifest().model)
        .and_then(|description| description.resolve(dir))
        .with_context(|| format!("{} cannot be used for this", dir.display()))?;
    let parts = &resolved.parts;
    let named = parts.groupings.iter().any(|g| g.name == asked.name)
        || parts.components.iter().any(|c| c.name == asked.name);
    if asked.contrast.is_none() && named {
        return groups(dir, asked, &run);
    }
    covariate::covariate(dir, asked, &resolved)
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
fn groups(dir: &Path, asked: &Asked, run: &RunDir) -> Result<Effects> {
    let mut entries = Vec::new();
    let prefix = format!("{}[", asked.name);
    let of_classes = format!("{}.", asked.name);
    for column in &run.manifest().latents {
        let class = column.name.starts_with(&of_classes) && column.name.contains('[');
        if column.name.starts_with(&prefix) || class {
            let draws = run.latent(&column.name)?.concat();
            let name = match column.name.strip_prefix(&prefix) {
                Some(rest) => rest.trim_end_matches(']').to_string(),
                None => column.name.clone(),
            };
            entries.push(entry(name, &draws, asked.level));
        }
    }
    if entries.is_empty() {
        bail!(
            "{} has stored no draws of `{}` yet",
            dir.display(),
            asked.name
        );
    }
    Ok(Effects {
        title: format!("Effects of `{}` on the linear predictor", asked.name),
        entries,
        of_groups: true,
        level: asked.level,
    })
}

fn write_csv(effects: &Effects, out: impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let [lower, upper] = effects.quantiles();
    writer.write_record(["name", "mean", "sd", &lower, &upper])?;
    for e in &effects.entries {
        let numbers = [e.mean, e.sd, e.lower, e.upper].map(|v| v.to_string());
        writer.write_record(std::iter::once(&e.name).chain(&numbers))?;
    }
    writer.flush()?;
    Ok(())
}

impl Effects {
    /// A table for a terminal.
    pub fn text(&self) -> String {
        let tail = 50.0 * (1.0 - self.level);
        let percent = |value: f64| format!("{} %", (value * 100.0).round() / 100.0);
        let lengths = self.entries.iter().map(|e| e.name.chars().count());
        let widest = lengths.max().unwrap_or(0).clamp(8, 34);
        let mut text = format!(
            "{}\n\n{:<widest$} {:>10} {:>10} {:>10} {:>10}",
            self.title,
            "",
            "mean",
            "sd",
            percent(tail),
            percent(100.0 - tail)
        );
        for e in &self.entries {
            let name: String = if e.name.chars().count() > widest {
                e.name.chars().take(widest - 1).chain(['…']).collect()
            } else {
                e.name.clone()
            };
            let [mean, sd, lower, upper] = [e.mean, e.sd, e.lower, e.upper].map(short);
            text += &format!("\n{name:<widest$} {mean:>10} {sd:>10} {lower:>10} {upper:>10}");
        }
        text
    }
}
