//! `towline fit MODEL.toml`: a latent Gaussian model of data in a table, as a run.

mod description;
mod options;
mod show;

pub use description::{Description, from_manifest};
pub use options::Options;
pub use show::render;

use crate::failure::Failure;
use crate::sampling::{self, boxed};
use anyhow::{Context, Result};
use std::io::{self, Write};
use std::path::PathBuf;
use towline::run::Ranks;
use towline_models::{ModelFile, Resolved};

/// Fits it, or shows what would be fitted.
pub fn run(options: Options, ranks: &mut Ranks) -> Result<(), Failure> {
    let model = options.model().map_err(Failure::Options)?;
    let resolved = Resolved::read(&model)
        .map_err(anyhow::Error::from)
        .map_err(Failure::Options)?;
    let target = resolved
        .parts
        .build()
        .map_err(anyhow::Error::from)
        .map_err(Failure::Options)?;
    if options.show || (ranks.leads() && !options.sampling.quiet) {
        let text = show::render(&resolved, &target);
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").map_err(|error| Failure::Run(error.into()))?;
    }
    if options.show {
        return Ok(());
    }
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| default_folder(&options, &model));
    let description = describe(&resolved, &folder).map_err(Failure::Run)?;
    let unfactorised = target.unfactorised();
    let ended = sampling::begin(
        &*boxed(target),
        &folder,
        description,
        &options.sampling,
        ranks,
    );
    sampling::tell_of(&unfactorised);
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

/// A folder called after the model file, or after the data.
fn default_folder(options: &Options, model: &ModelFile) -> PathBuf {
    let named = |path: &std::path::Path| path.file_stem().map(PathBuf::from);
    let from_file = options.file.as_deref().and_then(|file| {
        // Every example's file is called model.toml: then its folder says more.
        match named(file) {
            Some(stem) if stem.as_os_str() == "model" => {
                let folder = file.parent().and_then(|parent| parent.file_name());
                folder.map(PathBuf::from).or(Some(stem))
            }
            other => other,
        }
    });
    let mut name = from_file
        .or_else(|| named(&model.data.file))
        .unwrap_or_else(|| PathBuf::from("model"));
    // Not into the example's own folder when the command is given beside it.
    if name.is_dir() && !name.join("manifest.json").exists() {
        let mut longer = name.into_os_string();
        longer.push("-fit");
        name = PathBuf::from(longer);
    }
    name
}
