//! `towline map DIR`: the fitted surface and its uncertainty as a picture.

mod colours;
mod picture;

use crate::failure::Failure;
use crate::posterior::Posterior;
use crate::runs;
use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::ProgressBar;
use picture::{Grid, Panel, Picture};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use towline::diagnose;
use towline::store::RunDir;
use towline_models::{Distance, Mixture, New, Observation, Places, Resolved, Table, What};

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

fn map(options: &Options) -> Result<()> {
    let posterior = Posterior::open(&options.dir, options.draws)?;
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
            options.dir.display()
        ),
    };
    if resolved.parts.data.classes > 1 {
        bail!(
            "a surface for each class cannot be mapped yet: `towline predict` gives the probabilities at any places"
        );
    }
    let grid = grid(options, resolved, xs, ys)?;
    let whole = options.with_intercept || options.response;
    let what = if whole { What::Surface } else { What::Centred };
    let mut new = rows(resolved, &grid, whole);
    if let Some(field) = &field {
        new.places = Places::default();
        new.components = resolved.field_rows(field, grid.cells())?;
    }
    let bar = progress(posterior.len());
    let surface = posterior
        .predictor
        .surface(&new, what, &|done| bar.set_position(done as u64))?;
    bar.finish_and_clear();
    let one = surface.row(0).observation(0);
    let panels = panels(options, &surface.cells, one);
    let title = match (options.response, options.with_intercept) {
        (true, _) => "mean response (exposure 1, covariates at their means)",
        (_, true) => "linear predictor (covariates at their means)",
        _ if field.is_some() => "field, centred on the data's places",
        _ => "Gaussian process, centred on the data's places",
    };
    let error = monte_carlo_error(options, &surface.cells)?;
    let globe = on_the_globe(resolved);
    let label = |k: usize, unit: &str| shorten(&inputs[k]) + if globe { unit } else { "" };
    let picture = Picture {
        title: format!("{}: {title}", name_of(&options.dir)),
        about: format!(
            "{} draws: Monte Carlo error of the mean at most {:.1} % of its scale; dots are the data's {} places",
            posterior.len(),
            100.0 * error,
            xs.len()
        ),
        grid,
        labels: [label(0, " (° east)"), label(1, " (° north)")],
        places: xs.iter().copied().zip(ys.iter().copied()).collect(),
        panels,
    };
    let folder = options.out.as_ref().unwrap_or(&options.dir);
    let written = runs::save_picture(&picture, folder, "map")?;
    let mut out = io::stdout().lock();
    for file in written {
        writeln!(out, "Written: {}", file.display())?;
    }
    Ok(())
}

/// Where the surface is wanted.
fn grid(options: &Options, resolved: &Resolved, xs: &[f64], ys: &[f64]) -> Result<Grid> {
    let corners = |path: &Path| -> Result<Vec<(f64, f64)>> {
        let table = Table::read(path)?;
        let inputs = resolved.places_of(&table).with_context(|| {
            format!(
                "{} must have the columns of the process's inputs",
                path.display()
            )
        })?;
        let [x, y] = inputs.as_slice() else {
            bail!("the process has two inputs")
        };
        Ok(x.iter().copied().zip(y.iter().copied()).collect())
    };
    let mut grid = match &options.at {
        Some(path) => {
            let places = corners(path)?;
            if places.is_empty() {
                bail!("{} has no rows", path.display());
            }
            Grid::of(places)
        }
        None => Grid::around(xs, ys, MARGIN, options.cells),
    };
    if let Some(path) = &options.inside {
        let polygon = corners(path)?;
        if polygon.len() < 3 {
            bail!(
                "{} has {} corners; a polygon has at least three",
                path.display(),
                polygon.len()
            );
        }
        grid = grid.inside(&polygon);
        if grid.cells().is_empty() {
            bail!(
                "no cell lies inside the polygon of {}: are its columns in the right order?",
                path.display()
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

fn panels(options: &Options, cells: &[Mixture], one: Observation) -> Vec<Panel> {
    let response = |eta: &Mixture| towline_models::RowPrediction {
        eta: eta.clone(),
        parameters: vec![one.parameter],
        family: one.family,
        trials: 1.0,
    };
    let summaries: Vec<(f64, f64)> = cells
        .iter()
        .map(|eta| {
            if options.response {
                let (mean, sd) = response(eta).expected_moments();
                (mean, sd)
            } else {
                (eta.mean(), eta.sd())
            }
        })
        .collect();
    let means: Vec<f64> = summaries.iter().map(|s| s.0).collect();
    let both_signs = means.iter().any(|m| *m < 0.0) && means.iter().any(|m| *m > 0.0);
    let first = if !options.response && both_signs {
        Panel::signed("mean", means)
    } else {
        Panel::new("mean", means)
    };
    let second = match options.above {
        None => Panel::new(
            "standard deviation",
            summaries.iter().map(|s| s.1).collect(),
        ),
        Some(value) => {
            // The link is monotone: above a response is above its predictor.
            let at = if options.response {
                one.link(value)
            } else {
                value
            };
            let values = cells.iter().map(|eta| 1.0 - eta.cdf(at)).collect();
            Panel::probability(&format!("probability above {value}"), values)
        }
    };
    vec![first, second]
}

/// The largest Monte Carlo error of a cell's mean, as a part of the range of means over the cells.
fn monte_carlo_error(options: &Options, cells: &[Mixture]) -> Result<f64> {
    let run = RunDir::open(&options.dir)?;
    let mut size = cells[0].len() as f64;
    for chains in run.columns()? {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let ess = diagnose::ess_mean(&chains);
        if ess.is_finite() {
            size = size.min(ess);
        }
    }
    let range = |values: &dyn Fn(&Mixture) -> f64| {
        let low = cells.iter().map(values).fold(f64::INFINITY, f64::min);
        let high = cells.iter().map(values).fold(f64::NEG_INFINITY, f64::max);
        high - low
    };
    // What is known in closed form given a draw has no such error: only the means' own spread has.
    let spread = |eta: &Mixture| {
        let mean = eta.mean();
        eta.average(|m, _| (m - mean).powi(2)).sqrt()
    };
    let worst = cells.iter().map(spread).fold(0.0, f64::max) / size.max(1.0).sqrt();
    let wide = range(&Mixture::mean);
    Ok(if wide > 0.0 { worst / wide } else { 0.0 })
}

/// A bar, where somebody looks.
fn progress(draws: usize) -> ProgressBar {
    if io::stderr().is_terminal() {
        ProgressBar::new(draws as u64).with_message("draws")
    } else {
        ProgressBar::hidden()
    }
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
