//! Where a fit's run goes: a folder of its own for every model of the same data, and replacing one on request.

use super::Options;
use super::description::Description;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use towline::store::{Lock, Manifest};
use towline_models::{ModelFile, Resolved};

/// How long the part of a folder's name may be that says which model it is of.
const LONGEST: usize = 40;
/// Folders of one name that are looked at for a free one.
const MOST: usize = 1000;

/// The folder that was asked for; or one called after the model or its data, and after the formula too where that holds
/// the run of another model.
pub fn choose(options: &Options, resolved: &Resolved) -> PathBuf {
    if let Some(out) = &options.out {
        return out.clone();
    }
    let plain = default(options, &resolved.model);
    let longer = || PathBuf::from(format!("{}-{}", plain.display(), slug(&resolved.model)));
    let numbered = (2..MOST).map(|k| PathBuf::from(format!("{}-{k}", longer().display())));
    [plain.clone(), longer()]
        .into_iter()
        .chain(numbered)
        .find(|folder| !is_run(folder) || is_of(folder, resolved))
        .unwrap_or(plain)
}

/// Refuses a folder that holds a run, or makes room there.
///
/// # Errors
/// Where there is a run that is not to be replaced, or cannot be.
pub fn make_room(folder: &Path, force: bool) -> Result<()> {
    if !is_run(folder) {
        return Ok(());
    }
    if !force {
        let name = folder.display();
        bail!(
            "{name} holds a run already: `towline resume {name}` continues it, --force replaces it, and --out DIR puts this \
             one elsewhere"
        );
    }
    remove(folder).with_context(|| format!("the run in {} cannot be replaced", folder.display()))
}

fn is_run(folder: &Path) -> bool {
    folder.join("manifest.json").exists()
}

/// Whether the run in a folder is of this model and these data.
fn is_of(folder: &Path, resolved: &Resolved) -> bool {
    let Ok(manifest) = Manifest::read(folder) else {
        return false;
    };
    Description::parse(&manifest.model)
        .is_ok_and(|known| known.is_same(&Description::new(resolved, folder)))
}

/// Removes the files of a run, and nothing else that may lie beside them.
fn remove(folder: &Path) -> Result<()> {
    Manifest::read(folder)
        .context("it is no run that this version knows, so nothing is removed")?;
    if fs::symlink_metadata(folder)?.is_symlink() {
        bail!("it is a link to another folder: name that one");
    }
    // Nobody may be writing there; the lock is a file of the run too, and goes last.
    let _lock = Lock::take(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && name.to_str().is_some_and(is_runs) {
            fs::remove_file(entry.path())
                .with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Whether a file of this name is made by runs, reports and maps.
fn is_runs(name: &str) -> bool {
    const WHOLE: [&str; 6] = [
        "manifest.json",
        "failures.jsonl",
        "summary.json",
        "report.html",
        "map.svg",
        "map.png",
    ];
    const NUMBERED: [(&str, &str); 5] = [
        ("chain-", ".f64"),
        ("latents-", ".f64"),
        ("checkpoint-", ".bin"),
        ("tuning-", ".bin"),
        ("warmup-", ".bin"),
    ];
    let numbered = |(start, end): &(&str, &str)| {
        name.strip_prefix(start)
            .and_then(|rest| rest.strip_suffix(end))
            .is_some_and(|middle| middle.chars().all(|c| c.is_ascii_digit() || c == '-'))
    };
    WHOLE.contains(&name) || NUMBERED.iter().any(numbered)
}

/// What a model's formula (or its response and inputs) is called in the name of a folder.
fn slug(model: &ModelFile) -> String {
    let formula = model.formula.clone().or(model.data.response.clone());
    let inputs = model.gp.iter().flat_map(|gp| gp.inputs.clone());
    let words: Vec<String> = formula.into_iter().chain(inputs).collect();
    let mut slug = format!("{}-", model.family);
    for letter in words.join("-").chars() {
        if letter.is_alphanumeric() || letter == '_' {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let short: String = slug.chars().take(LONGEST).collect();
    short.trim_end_matches('-').to_string()
}

/// A folder called after the model file, or after the data.
fn default(options: &Options, model: &ModelFile) -> PathBuf {
    let named = |path: &Path| path.file_stem().map(PathBuf::from);
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
    if name.is_dir() && !is_run(&name) {
        let mut longer = name.into_os_string();
        longer.push("-fit");
        name = PathBuf::from(longer);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_runs_are_a_runs() {
        for name in [
            "chain-0.f64",
            "latents-12.f64",
            "warmup-0-3.bin",
            "summary.json",
        ] {
            assert!(is_runs(name), "{name}");
        }
        for name in [
            "chain-x.f64",
            "d.csv",
            "chains.f64",
            "manifest.json.bak",
            "lock",
        ] {
            assert!(!is_runs(name), "{name}");
        }
    }
}
