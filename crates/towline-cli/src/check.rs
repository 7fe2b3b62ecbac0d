//! `towline check DIR`: how well a fitted model predicts its own data, one observation left out at a time, and whether
//! data that it makes look like those that were observed.

mod picture;
mod replicated;

use crate::failure::Failure;
use crate::posterior::Posterior;
use crate::runs::{self, Drawn};
use crate::summary::wrap;
use anyhow::{Result, bail};
use clap::Args;
use picture::Picture;
use replicated::Statistic;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use towline::Rng;
use towline::store::RunDir;
use towline_models::{Loo, Waic, good_k, loo, waic};

/// Flags of `towline check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run of `towline fit`
    pub dir: PathBuf,

    /// Draws to check with, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,

    /// Folder for the picture, check.svg and check.png [default: the run's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Data made from the priors alone, beside the observed: are the priors on the scale of the data?
    #[arg(long)]
    pub prior_only: bool,

    /// Print JSON instead of text, with every observation's elpd and Pareto k
    #[arg(long)]
    pub json: bool,
}

const EXAMPLE: &str = "\
Examples:
  towline check epil                 PSIS-LOO, WAIC and replicated data, with check.svg in ./epil
  towline check epil --prior-only    data made from the priors alone
  towline compare epil epil-nb       which of two models predicts better";

/// The seed of replicated data: the same every time.
const SEED: u64 = 20;

/// Checks it.
pub fn run(options: &Options) -> Result<(), Failure> {
    if options.draws < 10 {
        return Err(Failure::Options(anyhow::anyhow!("--draws is at least 10")));
    }
    check(options).map_err(Failure::Run)
}

/// What is known of a fit's predictions.
pub struct Checked {
    /// The fit.
    pub posterior: Posterior,
    /// Leave-one-out.
    pub loo: Loo,
    /// The other criterion.
    pub waic: Waic,
    /// Effective draws by draws.
    pub efficiency: f64,
}

impl Checked {
    /// Of the fit in a folder, from at most so many draws.
    pub fn of(dir: &Path, draws: usize) -> Result<Self> {
        let posterior = Posterior::open(dir, draws)?;
        let matrix = posterior.predictor.log_likelihood()?;
        if matrix.len() < 10 {
            bail!(
                "{} has {} draws, too few to check anything: resume the run",
                dir.display(),
                matrix.len()
            );
        }
        let efficiency = efficiency(&RunDir::open(dir)?, matrix.len())?;
        Ok(Self {
            loo: loo(&matrix, efficiency),
            waic: waic(&matrix),
            posterior,
            efficiency,
        })
    }

    /// The observations whose estimate is not reliable, by their numbers from 0.
    pub fn bad(&self) -> Vec<usize> {
        let limit = good_k(self.posterior.len());
        let all = self.loo.k.iter().enumerate();
        all.filter(|(_, k)| **k > limit && k.is_finite())
            .map(|(row, _)| row)
            .collect()
    }
}

/// Numbers of latents up to which their effective sizes are looked at too: beyond, it would take minutes.
const MOST_NUMBERS: usize = 20_000_000;

/// Effective draws by draws that are used, on average over all that was stored, as ArviZ has it; where only some draws
/// are used, those are farther apart and worth more each.
fn efficiency(run: &RunDir, used: usize) -> Result<f64> {
    // Of one chain ArviZ does not tell.
    if run.chains() < 2 {
        return Ok(1.0);
    }
    let size = |chains: &[Vec<f64>]| {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        towline::diagnose::ess_mean(&chains)
    };
    let rows = run.common_rows();
    let mut sizes: Vec<f64> = run.columns()?.iter().map(|c| size(c)).collect();
    let latents = run.manifest().latents.len();
    if run.manifest().latent_every == 1 && latents * rows * run.chains() <= MOST_NUMBERS {
        let mut columns = vec![vec![Vec::with_capacity(rows); run.chains()]; latents];
        for chain in 0..run.chains() {
            run.latents(chain).each(|row| {
                for (column, value) in columns.iter_mut().zip(row) {
                    if column[chain].len() < rows {
                        column[chain].push(*value);
                    }
                }
            })?;
        }
        sizes.extend(columns.iter().map(|c| size(c)));
    }
    sizes.retain(|size| size.is_finite());
    let mean = sizes.iter().sum::<f64>() / sizes.len().max(1) as f64;
    let efficiency = mean / used as f64;
    Ok(if efficiency.is_nan() || efficiency <= 0.0 {
        1.0
    } else if used < rows * run.chains() {
        efficiency.min(1.0)
    } else {
        efficiency
    })
}

/// A check: in numbers, in words, and as a picture.
pub struct Report {
    /// In numbers.
    pub numbers: Value,
    /// In words.
    pub text: String,
    picture: Picture,
}

impl Report {
    /// The picture as files hold it.
    ///
    /// # Errors
    /// Where nothing can be written for a while.
    pub fn drawn(&self) -> Result<Drawn> {
        runs::drawn(&self.picture)
    }
}

/// Checks a fit with at most so many of its draws.
///
/// # Errors
/// Where it is no fit, its data are not there any more, or it has too few draws.
pub fn posterior(dir: &Path, draws: usize) -> Result<Report> {
    let checked = Checked::of(dir, draws)?;
    let posterior = &checked.posterior;
    let copies = posterior.predictor.replicated(SEED)?;
    let observed = posterior.predictor.model().response();
    let statistics = replicated::compare(observed, &copies);
    let by = "the fitted model";
    Ok(Report {
        numbers: json!({
            "draws": posterior.len(), "efficiency": checked.efficiency,
            "elpd_loo": checked.loo.elpd, "se_loo": checked.loo.se, "p_loo": checked.loo.p,
            "elpd_waic": checked.waic.elpd, "se_waic": checked.waic.se, "p_waic": checked.waic.p,
            "loo_i": checked.loo.pointwise, "pareto_k": checked.loo.k, "good_k": good_k(posterior.len()),
            "replicated": statistics.iter().map(Statistic::json).collect::<Vec<_>>(),
        }),
        text: format!(
            "{}\n\n{}",
            criteria(&checked),
            replicated::render(&statistics, by)
        ),
        picture: Picture::new(posterior, &copies, &format!("data made by {by}")),
    })
}

/// Puts data made from the priors alone beside the observed ones.
///
/// # Errors
/// Where it is no fit, or its data are not there any more.
pub fn prior(dir: &Path, draws: usize) -> Result<Report> {
    let posterior = Posterior::open(dir, 1)?;
    let model = posterior.predictor.model();
    let mut rng = Rng::stream(SEED, 0);
    let copies = (0..draws)
        .map(|_| model.prior_draw(&mut rng).map(|(_, data)| data))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let statistics = replicated::compare(model.response(), &copies);
    let by = "the priors alone";
    Ok(Report {
        numbers: json!({
            "draws": draws, "replicated": statistics.iter().map(Statistic::json).collect::<Vec<_>>(),
        }),
        text: replicated::render(&statistics, by),
        picture: Picture::new(&posterior, &copies, &format!("data made from {by}")),
    })
}

fn check(options: &Options) -> Result<()> {
    let (report, name) = if options.prior_only {
        (prior(&options.dir, options.draws)?, "prior-check")
    } else {
        (posterior(&options.dir, options.draws)?, "check")
    };
    let folder = options.out.as_ref().unwrap_or(&options.dir);
    let written = runs::save_picture(&report.picture, folder, name)?;
    let mut out = io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report.numbers)?)?;
        return Ok(());
    }
    writeln!(out, "{}", report.text)?;
    for file in written {
        writeln!(out, "Written: {}", file.display())?;
    }
    Ok(())
}

/// The picture of a fit's replicated data, as SVG: for its report.
///
/// # Errors
/// Where it is no fit, or its data are not there any more.
pub fn picture_of(dir: &Path) -> Result<String> {
    // Enough for a picture.
    let posterior = Posterior::open(dir, 300)?;
    let copies = posterior.predictor.replicated(SEED)?;
    let picture = Picture::new(&posterior, &copies, "data made by the fitted model");
    Ok(runs::drawn(&picture)?.svg)
}

/// LOO and WAIC in words.
fn criteria(checked: &Checked) -> String {
    let (loo, waic) = (&checked.loo, &checked.waic);
    let rows = loo.pointwise.len();
    let limit = good_k(checked.posterior.len());
    let mut text = format!(
        "                   elpd       se   effective parameters\n\
         PSIS-LOO   {:>12.2} {:>8.2} {:>22.2}\n\
         WAIC       {:>12.2} {:>8.2} {:>22.2}\n",
        loo.elpd, loo.se, loo.p, waic.elpd, waic.se, waic.p
    );
    let bad = checked.bad();
    if bad.is_empty() {
        text += &format!("Pareto k is good (at most {limit:.2}) for all {rows} observations.");
    } else {
        let shown: Vec<String> = bad
            .iter()
            .take(8)
            .map(|row| (row + 1).to_string())
            .collect();
        let more = if bad.len() > 8 { ", …" } else { "" };
        text += &wrap(&format!(
            "Warning: Pareto k is above {limit:.2} for {} of {rows} observations ({}{more}): without them the posterior \
             would be another, and PSIS-LOO is too hopeful there. Refit without them to be sure, or give such \
             observations a family with heavier tails. (Where each has an effect of its own, row(), it is always so.)",
            bad.len(),
            shown.join(", ")
        ));
    }
    text
}
