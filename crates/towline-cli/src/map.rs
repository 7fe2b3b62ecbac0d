//! `towline map DIR`: the fitted surface and its uncertainty as a picture.

mod colours;
mod picture;

use crate::failure::Failure;
use crate::paper::figures::canvas;
use crate::predict::Posterior;
use anyhow::{Context, Result, bail};
use clap::Args;
use picture::{Grid, Panel, Picture};
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use towline_models::{New, Places};

/// Flags of `towline map`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The run of `towline fit`
    pub dir: PathBuf,

    /// Folder for the pictures [default: the run's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// The mean of the response (a rate, a probability) instead of the linear predictor
    #[arg(long)]
    pub response: bool,

    /// Cells along the longer side
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub cells: usize,

    /// Draws to predict from, evenly spaced over all chains
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub draws: usize,
}

const EXAMPLE: &str = "\
Examples:
  towline map rongelap               map.svg and map.png in ./rongelap
  towline map rongelap --response    of the rate instead of its logarithm";

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
    let Some(process) = &resolved.parts.process else {
        bail!(
            "the model in {} has no Gaussian process: there is no surface to map",
            options.dir.display()
        );
    };
    let [xs, ys] = process.places.coordinates.as_slice() else {
        bail!(
            "a map needs a process over two inputs; this one is over {} ({})",
            process.places.coordinates.len(),
            resolved.input_names().join(", ")
        );
    };
    if resolved.parts.data.classes > 1 {
        bail!(
            "a surface for each class cannot be mapped yet: `towline predict` gives the probabilities at any places"
        );
    }
    let grid = Grid::around(xs, ys, MARGIN, options.cells);
    // Covariates are not known everywhere: with any, the map is of the process alone.
    let names = &resolved.parts.fixed.names;
    let plain = names.iter().all(|name| name == "Intercept");
    let cells = grid.cells();
    let intercept = if plain { 1.0 } else { 0.0 };
    let new = New {
        rows: cells.len(),
        fixed: names.iter().map(|_| vec![intercept; cells.len()]).collect(),
        offset: vec![0.0; cells.len()],
        places: Places::new(vec![
            cells.iter().map(|cell| cell.0).collect(),
            cells.iter().map(|cell| cell.1).collect(),
        ]),
        ..New::default()
    };
    let surface = posterior.predict(&new, 0.95)?;
    let (what, values) = match (options.response, plain) {
        (false, true) => ("linear predictor", &surface.latent),
        (false, false) => ("Gaussian process, without covariates", &surface.latent),
        (true, true) => ("mean response (exposure 1)", &surface.response),
        (true, false) => bail!(
            "--response needs the covariates everywhere: use `towline predict` with a file of places"
        ),
    };
    let inputs = resolved.input_names();
    let picture = Picture {
        title: format!("{}: {what}", name_of(&options.dir)),
        about: format!(
            "posterior from {} draws; dots are the data's {} places",
            posterior.len(),
            xs.len()
        ),
        grid,
        labels: [shorten(&inputs[0]), shorten(&inputs[1])],
        places: xs.iter().copied().zip(ys.iter().copied()).collect(),
        panels: [
            Panel::new("mean", values.iter().map(|value| value.mean).collect()),
            Panel::new(
                "standard deviation",
                values.iter().map(|value| value.sd).collect(),
            ),
        ],
    };
    let folder = options.out.as_ref().unwrap_or(&options.dir);
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let written = canvas::save(&picture, folder, "map")?;
    let mut out = io::stdout().lock();
    for file in written {
        writeln!(out, "Written: {}", file.display())?;
    }
    Ok(())
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
