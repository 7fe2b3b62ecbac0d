//! `towline compare A B …`: which of several fitted models would predict new data better.

use crate::check::Checked;
use crate::failure::Failure;
use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;
use towline_models::difference;

/// Flags of `towline compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  towline compare epil epil-nb    the difference in elpd (by PSIS-LOO), with its standard error")]
pub struct Options {
    /// Runs of `towline fit`, of the same observations
    #[arg(required = true, num_args = 2..)]
    pub dirs: Vec<PathBuf>,

    /// Draws to compare with, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Compares them.
pub fn run(options: &Options) -> Result<(), Failure> {
    compare(options).map_err(Failure::Run)
}

/// One model beside the best.
struct Line {
    name: String,
    elpd: f64,
    se: f64,
    difference: f64,
    difference_se: f64,
    p: f64,
    bad: usize,
}

fn compare(options: &Options) -> Result<()> {
    let (numbers, text) = of(&options.dirs, options.draws)?;
    let text = if options.json {
        serde_json::to_string_pretty(&numbers)?
    } else {
        text
    };
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Compares fits of the same observations: in numbers, the best first, and in words.
///
/// # Errors
/// Where one of them is no fit, or they are of different observations.
pub fn of(dirs: &[PathBuf], draws: usize) -> Result<(Value, String)> {
    if dirs.len() < 2 {
        bail!("two runs or more can be compared");
    }
    let all = dirs
        .iter()
        .map(|dir| Checked::of(dir, draws))
        .collect::<Result<Vec<_>>>()?;
    let data = |k: usize| all[k].posterior.predictor.model().response();
    for k in 1..all.len() {
        if data(k) != data(0) {
            bail!(
                "{} and {} are of different observations: models can be compared on the same data only (with the \
                 same rows, in the same order)",
                dirs[0].display(),
                dirs[k].display()
            );
        }
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| all[*b].loo.elpd.total_cmp(&all[*a].loo.elpd));
    let best = &all[order[0]].loo.pointwise;
    let names = names(dirs);
    let lines: Vec<Line> = order
        .iter()
        .map(|k| {
            let loo = &all[*k].loo;
            let (difference, difference_se) = difference(&loo.pointwise, best);
            Line {
                name: names[*k].clone(),
                elpd: loo.elpd,
                se: loo.se,
                difference,
                difference_se,
                p: loo.p,
                bad: all[*k].bad().len(),
            }
        })
        .collect();
    let numbers = lines.iter().map(|l| {
        json!({
            "run": l.name, "elpd_loo": l.elpd, "se": l.se, "elpd_diff": l.difference,
            "diff_se": l.difference_se, "p_loo": l.p, "bad_k": l.bad,
        })
    });
    Ok((numbers.collect(), render(&lines)))
}

/// What runs are called: their folders' names, or the whole paths where those are the same.
fn names(dirs: &[PathBuf]) -> Vec<String> {
    let last = |dir: &PathBuf| {
        let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        let name = whole.file_name().map(|name| name.to_string_lossy().into());
        name.unwrap_or_else(|| dir.display().to_string())
    };
    let names: Vec<String> = dirs.iter().map(last).collect();
    let different: std::collections::HashSet<&String> = names.iter().collect();
    if different.len() == names.len() {
        names
    } else {
        dirs.iter().map(|dir| dir.display().to_string()).collect()
    }
}

fn render(lines: &[Line]) -> String {
    let widest = lines
        .iter()
        .map(|l| l.name.chars().count())
        .max()
        .unwrap_or(0);
    let widest = widest.clamp(5, 24);
    let mut text = format!(
        "{:<widest$} {:>11} {:>8} {:>11} {:>8} {:>8} {:>6}",
        "", "elpd (LOO)", "se", "difference", "se", "eff. p", "bad k"
    );
    for line in lines {
        let name: String = line.name.chars().take(widest).collect();
        text += &format!(
            "\n{name:<widest$} {:>11.2} {:>8.2} {:>11.2} {:>8.2} {:>8.2} {:>6}",
            line.elpd, line.se, line.difference, line.difference_se, line.p, line.bad
        );
    }
    text += "\n\n";
    let second = &lines[1];
    let sigma = second.difference.abs() / second.difference_se;
    text += &if second.difference == 0.0 {
        "They predict equally well.".to_string()
    } else if second.difference.abs() < 4.0 {
        format!(
            "The difference of {:.1} is small (below 4): the models predict about equally well.",
            second.difference.abs()
        )
    } else if sigma > 2.0 {
        format!(
            "{} predicts better than {}: the difference is {sigma:.1} standard errors.",
            lines[0].name, second.name
        )
    } else {
        format!(
            "The difference is {sigma:.1} standard errors: the data do not tell the models apart."
        )
    };
    if lines.iter().any(|l| l.bad > 0) {
        text += "\nWarning: some estimates are not reliable (bad k): see `towline check`.";
    }
    text
}
