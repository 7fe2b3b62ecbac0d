//! `towline map DIR`: the fitted surface and its uncertainty as a picture.

mod colours;
mod picture;

use crate::failure::Failure;
use crate::posterior::Posterior;
use crate::runs::{self, Drawn};
use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use picture::{Grid, Panel, Picture};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use towline::diagnose;
use towline::store::RunDir;
use towline_models::{
    Cells, Distance, Mixture, New, Observation, Places, Resolved, RowPrediction, Table, What,
};

/// Flags of `towline map`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run of `towline fit`
    pub dir: PathBuf,

    /// Folder for the pictures [default: the run's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The linear predictor, intercept and process, with covariates at their means, instead of the centred process
    #[arg(long, conflicts_with = "response")]
    pub with_intercept: bool,

    /// The mean of the response (a rate, a probability) with covariates at their means
    #[arg(long)]
    pub response: bool,

    /// The probability that it is above this value, instead of its standard deviation
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub above: Option<f64>,

    /// Cells along the longer side
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub cells: usize,

    /// Map these places instead of a grid: a CSV file with the process's two inputs
    #[arg(long, value_name = "FILE", conflicts_with = "cells")]
    pub at: Option<PathBuf>,

    /// Map only inside a polygon: a CSV file with the process's two inputs, a corner in each row
    #[arg(long, value_name = "FILE")]
    pub inside: Option<PathBuf>,

    /// Draws to average over, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,
}

const EXAMPLE: &str = "\
Examples:
  towline map rongelap                             map.svg and map.png in ./rongelap
  towline map rongelap --response                  of the rate instead of the process
  towline map rongelap --response --above 8        and the probability that it exceeds 8
  towline map rongelap --inside coast.csv          inside a polygon";

/// How much of the data's extent is shown around it.
const MARGIN: f64 = 0.04;

/// Draws it.
pub fn run(options: &Options) -> Result<(), Failure> {
    if !(2..=500).contains(&options.cells) || options.draws == 0 {
        return Err(Failure::Options(anyhow::anyhow!(
            "--cells is from 2 to 500, and --draws is at least 1"
        )));
    }
    map(options).map_err(Failure::Run)
}

/// What is to be mapped, and where.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The linear predictor instead of the centred process.
    pub with_intercept: bool,
    /// The mean response.
    pub response: bool,
    /// The probability that it is above this value is wanted.
    pub above: Option<f64>,
    /// Cells along the longer side.
    pub cells: usize,
    /// These places instead of a grid.
    pub at: Option<Table>,
    /// The corners of a polygon.
    pub inside: Option<Table>,
    /// Draws to average over.
    pub draws: usize,
}

/// A map in numbers, and as a picture.
pub struct Mapped {
    /// The places, and what is known there: mean, sd, and the probability that was asked for.
    pub columns: Vec<(String, Cells)>,
    picture: Picture,
}

impl Mapped {
    /// What is mapped, in words.
    pub fn title(&self) -> &str {
        &self.picture.title
    }

    /// What a reader of it should know.
    pub fn about(&self) -> &str {
        &self.picture.about
    }

    /// The picture as files hold it.
    ///
    /// # Errors
    /// Where nothing can be written for a while.
    pub fn drawn(&self) -> Result<Drawn> {
        runs::drawn(&self.picture)
    }
}

fn map(options: &Options) -> Result<()> {
    let read = |path: &Option<PathBuf>| path.as_deref().map(Table::read).transpose();
    let wanted = Wanted {
        with_intercept: options.with_intercept,
        response: options.response,
        above: options.above,
        cells: options.cells,
        at: read(&options.at)?,
        inside: read(&options.inside)?,
        draws: options.draws,
    };
    let bar = progress();
    let mapped = mapped(&options.dir, &wanted, &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    })?;
    bar.finish_and_clear();
    let folder = options.out.as_ref().unwrap_or(&options.dir);
    let written = runs::save_picture(&mapped.picture, folder, "map")?;
    let mut out = io::stdout().lock();
    for file in written {
        writeln!(out, "Written: {}", file.display())?;
    }
    Ok(())
}

/// Maps the process of a fit. `tell` hears how many draws are done, and of how many.
///
/// # Errors
/// Where the folder is no fit, or its model has no process over two inputs.
pub fn mapped(dir: &Path, wanted: &Wanted, tell: &(dyn Fn(usize, usize) + Sync)) -> Result<Mapped> {
    if wanted.with_intercept && wanted.response {
        bail!("either the linear predictor or the mean response can be mapped");
    }
    let posterior = Posterior::open(dir, wanted.draws)?;
    let resolved = &posterior.resolved;
    let field = match &resolved.parts.process {
        Some(_) => None,
        None => resolved.field(&Table::read(&resolved.model.data.file)?)?,
    };
    let (xs, ys, inputs) = match (&resolved.parts.process, &field) {
        (Some(process), _) => {
            let [xs, ys] = process.places.coordinates.as_slice() else {
                bail!(
                    "a map needs a process over two inputs; this one is over {} ({}): `towline predict` takes any places",
                    process.places.coordinates.len(),
                    resolved.input_names().join(", ")
                );
            };
            (xs, ys, resolved.input_names())
        }
        (None, Some(field)) => (&field.places[0], &field.places[1], field.names.to_vec()),
        (None, None) => bail!(
            "the model in {} has no Gaussian process, and no other component over two inputs: there is no surface to map",
            dir.display()
        ),
    };
    if resolved.parts.data.classes > 1 {
        bail!(
            "a surface for each class cannot be mapped yet: `towline predict` gives the probabilities at any places"
        );
    }
    let grid = grid(wanted, resolved, xs, ys)?;
    let whole = wanted.with_intercept || wanted.response;
    let what = if whole { What::Surface } else { What::Centred };
    let mut new = rows(resolved, &grid, whole);
    if let Some(field) = &field {
        new.places = Places::default();
        new.components = resolved.field_rows(field, grid.cells())?;
    }
    let count = posterior.len();
    let surface = posterior
        .predictor
        .surface(&new, what, &|done| tell(done, count))?;
    let one = surface.row(0).observation(0);
    let (across, along) = grid.cells().iter().copied().unzip();
    let mut columns = vec![
        (inputs[0].clone(), Cells::Numbers(across)),
        (inputs[1].clone(), Cells::Numbers(along)),
    ];
    let panels = panels(wanted, &surface.cells, one, &mut columns);
    let title = match (wanted.response, wanted.with_intercept) {
        (true, _) => "mean response (exposure 1, covariates at their means)",
        (_, true) => "linear predictor (covariates at their means)",
        _ if field.is_some() => "field, centred on the data's places",
        _ => "Gaussian process, centred on the data's places",
    };
    let size = effective(dir, count)?;
    let error = monte_carlo_error(&surface.cells, size, wanted.response.then_some(one));
    let globe = on_the_globe(resolved);
    let label = |k: usize, unit: &str| shorten(&inputs[k]) + if globe { unit } else { "" };
    let picture = Picture {
        title: format!("{}: {title}", name_of(dir)),
        about: format!(
            "{count} draws: Monte Carlo error of the mean at most {:.1} % of its scale; dots are the data's {} places",
            100.0 * error,
            xs.len()
        ),
        grid,
        labels: [label(0, " (° east)"), label(1, " (° north)")],
        places: xs.iter().copied().zip(ys.iter().copied()).collect(),
        panels,
    };
    Ok(Mapped { columns, picture })
}

/// Where the surface is wanted.
fn grid(wanted: &Wanted, resolved: &Resolved, xs: &[f64], ys: &[f64]) -> Result<Grid> {
    let corners = |table: &Table| -> Result<Vec<(f64, f64)>> {
        let inputs = resolved.places_of(table).with_context(|| {
            format!(
                "{} must have the columns of the process's inputs",
                table.name()
            )
        })?;
        let [x, y] = inputs.as_slice() else {
            bail!("the process has two inputs")
        };
        Ok(x.iter().copied().zip(y.iter().copied()).collect())
    };
    let mut grid = match &wanted.at {
        Some(table) => Grid::of(corners(table)?),
        None => Grid::around(xs, ys, MARGIN, wanted.cells),
    };
    if let Some(table) = &wanted.inside {
        let polygon = corners(table)?;
        if polygon.len() < 3 {
            bail!(
                "{} has {} corners; a polygon has at least three",
                table.name(),
                polygon.len()
            );
        }
        grid = grid.inside(&polygon);
        if grid.cells().is_empty() {
            bail!(
                "no cell lies inside the polygon of {}: are its columns in the right order?",
                table.name()
            );
        }
    }
    Ok(if on_the_globe(resolved) {
        grid.on_the_globe()
    } else {
        grid
    })
}

fn on_the_globe(resolved: &Resolved) -> bool {
    resolved
        .gp
        .iter()
        .any(|gp| gp.distance != Distance::Euclidean)
}

/// The cells as rows of the model: covariates at their means, or none at all.
fn rows(resolved: &Resolved, grid: &Grid, whole: bool) -> New {
    let cells = grid.cells();
    let fixed = &resolved.parts.fixed;
    let value = |column: &Vec<f64>| {
        if whole {
            column.iter().sum::<f64>() / column.len() as f64
        } else {
            0.0
        }
    };
    New {
        rows: cells.len(),
        fixed: fixed
            .columns
            .iter()
            .map(|c| vec![value(c); cells.len()])
            .collect(),
        offset: vec![0.0; cells.len()],
        places: Places::new(vec![
            cells.iter().map(|cell| cell.0).collect(),
            cells.iter().map(|cell| cell.1).collect(),
        ]),
        ..New::default()
    }
}

/// The maps, whose values also become columns.
fn panels(
    wanted: &Wanted,
    cells: &[Mixture],
    one: Observation,
    columns: &mut Vec<(String, Cells)>,
) -> Vec<Panel> {
    let response = |eta: &Mixture| RowPrediction {
        eta: eta.clone(),
        parameters: vec![one.parameter],
        family: one.family,
        trials: 1.0,
    };
    let summaries = cells.iter().map(|eta| {
        if wanted.response {
            response(eta).expected_moments()
        } else {
            (eta.mean(), eta.sd())
        }
    });
    let (means, sds): (Vec<f64>, Vec<f64>) = summaries.unzip();
    columns.push(("mean".into(), Cells::Numbers(means.clone())));
    columns.push(("sd".into(), Cells::Numbers(sds.clone())));
    let both_signs = means.iter().any(|m| *m < 0.0) && means.iter().any(|m| *m > 0.0);
    let first = if !wanted.response && both_signs {
        Panel::signed("mean", means)
    } else {
        Panel::new("mean", means)
    };
    let second = match wanted.above {
        None => Panel::new("standard deviation", sds),
        Some(value) => {
            // The link is monotone: above a response is above its predictor.
            let at = if wanted.response {
                one.link(value)
            } else {
                value
            };
            let values: Vec<f64> = cells.iter().map(|eta| 1.0 - eta.cdf(at)).collect();
            columns.push(("probability_above".into(), Cells::Numbers(values.clone())));
            Panel::probability(&format!("probability above {value}"), values)
        }
    };
    vec![first, second]
}

/// The least effective sample size of any parameter, and at most so many draws.
fn effective(dir: &Path, draws: usize) -> Result<f64> {
    let mut size = draws as f64;
    for chains in RunDir::open(dir)?.columns()? {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let ess = diagnose::ess_mean(&chains);
        if ess.is_finite() {
            size = size.min(ess);
        }
    }
    Ok(size)
}

/// The largest Monte Carlo error of a cell's mean, as a part of the range of means over the cells: of the predictor, or
/// of a response.
fn monte_carlo_error(cells: &[Mixture], size: f64, response: Option<Observation>) -> f64 {
    let seen = |eta: f64| response.map_or(eta, |one| one.mean(eta));
    let (mut low, mut high, mut worst) = (f64::INFINITY, f64::NEG_INFINITY, 0.0f64);
    for eta in cells {
        let mean = eta.average(|m, _| seen(m));
        // What is known in closed form given a draw has no such error: only the means' own spread has.
        let spread = eta.average(|m, _| (seen(m) - mean).powi(2)).sqrt();
        (low, high, worst) = (low.min(mean), high.max(mean), worst.max(spread));
    }
    if high > low {
        worst / size.max(1.0).sqrt() / (high - low)
    } else {
        0.0
    }
}

/// A bar, where somebody looks.
fn progress() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{pos}/{len} draws {wide_bar} {eta:>4} left") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

fn name_of(dir: &std::path::Path) -> String {
    let whole = std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf());
    whole
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into())
}

/// A long expression is no axis label.
fn shorten(name: &str) -> String {
    if name.chars().count() <= 24 {
        return name.into();
    }
    name.chars().take(23).chain(['…']).collect()
}
