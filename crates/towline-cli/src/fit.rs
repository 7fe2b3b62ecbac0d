//! `towline fit MODEL.toml`: a latent Gaussian model of data in a table, as a run.

mod description;
mod folder;
mod options;
mod show;

pub use description::{Description, from_manifest};
pub use options::Options;
pub use show::render;

use crate::failure::Failure;
use crate::sampling;
use anyhow::{Context, Result, anyhow};
use std::io::{self, Write};
use towline::run::Ranks;
use towline_models::{Error, Resolved};

/// Fits it, or shows what would be fitted.
pub fn run(options: Options, ranks: &mut Ranks) -> Result<(), Failure> {
    let model = options.model().map_err(Failure::Options)?;
    // Who gave flags is not told about the parts of a file.
    let refused = |error: Error| match options.file {
        Some(_) => Failure::Options(error.into()),
        None => Failure::Options(anyhow!(error.in_flags())),
    };
    let resolved = Resolved::read(&model).map_err(refused)?;
    let target = resolved.parts.build().map_err(refused)?;
    if options.show || (ranks.leads() && !options.sampling.quiet) {
        let text = show::render(&resolved, &target);
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").map_err(|error| Failure::Run(error.into()))?;
    }
    if options.show {
        return Ok(());
    }
    let folder = folder::choose(&options, &resolved);
    let description = describe(&resolved, &folder).map_err(Failure::Run)?;
    // Settings that make no sense must not cost an earlier run its files.
    options
        .sampling
        .settings(ranks.ranks())
        .map_err(Failure::Options)?;
    if ranks.leads() {
        folder::make_room(&folder, options.force).map_err(Failure::Run)?;
    }
    let unfactorised = target.unfactorised();
    let ended = sampling::begin(
        &*target.sampled(),
        &folder,
        description,
        &options.sampling,
        ranks,
    );
    sampling::tell_of(&unfactorised, &folder);
    ended
}

/// What the manifest of a run in a folder says of its model.
///
/// # Errors
/// Where something in it cannot be written.
pub fn describe(resolved: &Resolved, folder: &std::path::Path) -> Result<serde_json::Value> {
    let description = Description::new(resolved, folder);
    serde_json::to_value(description).context("the model cannot be written into the manifest")
}
