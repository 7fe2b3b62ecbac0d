//! A fitted model as its run's manifest describes it: enough to build it again, and to notice other data.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use towline_models::{Error, ModelFile, Resolved, Sample};

/// What the manifest says of a fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Description {
    kind: String,
    /// The model, with the path of its data relative to the run's folder.
    model: ModelFile,
    checksum: String,
    /// The priors in words, for readers of the manifest.
    priors: Value,
    #[serde(default)]
    notes: Vec<String>,
    /// What the levels of each factor are compared with.
    #[serde(default)]
    references: Vec<(String, String)>,
}

/// What `kind` says.
pub const KIND: &str = "fit";

impl Description {
    /// Describes a model that is to be run in a folder.
    pub fn new(resolved: &Resolved, folder: &Path) -> Self {
        let mut model = resolved.model.clone();
        model.data.file = relative(&model.data.file, folder);
        let priors = resolved
            .chosen
            .iter()
            .map(|chosen| {
                (
                    chosen.name.clone(),
                    Value::from(format!("{} ({})", chosen.prior, chosen.why)),
                )
            })
            .collect::<serde_json::Map<_, _>>();
        Self {
            kind: KIND.into(),
            model,
            checksum: resolved.checksum.clone(),
            priors: Value::Object(priors),
            notes: resolved.notes.clone(),
            references: resolved.references.clone(),
        }
    }

    /// Whether another describes the same model of the same data.
    pub fn is_same(&self, other: &Self) -> bool {
        self.model == other.model && self.checksum == other.checksum
    }

    /// What the levels of each factor are compared with: a level, or words for several.
    pub fn references(&self) -> &[(String, String)] {
        &self.references
    }

    /// Reads it from a manifest.
    pub fn parse(model: &Value) -> Result<Self> {
        if model.get("kind").and_then(Value::as_str) != Some(KIND) {
            bail!("it is not the run of `towline fit`");
        }
        serde_json::from_value(model.clone())
            .context("its manifest does not describe a model that this version knows")
    }

    /// The model and its data again, which must be those of the fit.
    pub fn resolve(&self, folder: &Path) -> Result<Resolved> {
        let mut model = self.model.clone();
        model.data.file = folder.join(&model.data.file);
        let resolved = Resolved::read(&model)
            .with_context(|| format!("the data of the run in {} are needed", folder.display()))?;
        if resolved.checksum != self.checksum {
            return Err(Error::Changed {
                path: model.data.file,
                then: self.checksum.clone(),
                now: resolved.checksum,
            }
            .into());
        }
        Ok(resolved)
    }
}

/// The model of a run, to continue it.
pub fn from_manifest(model: &Value, folder: &Path) -> Result<Box<dyn Sample>> {
    let resolved = Description::parse(model)?.resolve(folder)?;
    Ok(resolved.parts.build()?.sampled())
}

/// A file's path as seen from a folder, so that both can be moved together.
fn relative(file: &Path, folder: &Path) -> PathBuf {
    let (Some(file_parts), Some(folder_parts)) = (parts(file), parts(folder)) else {
        return file.to_path_buf();
    };
    let common = file_parts
        .iter()
        .zip(&folder_parts)
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder_parts[common..].iter().map(|_| PathBuf::from(".."));
    up.chain(file_parts[common..].iter().cloned()).collect()
}

/// The components of an absolute path without `.` and `..`; none where there is no present folder.
fn parts(path: &Path) -> Option<Vec<PathBuf>> {
    let whole = std::path::absolute(path).ok()?;
    let mut parts: Vec<PathBuf> = Vec::new();
    for component in whole.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            other => parts.push(PathBuf::from(other.as_os_str())),
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_found_from_the_runs_folder() {
        let see = |file, folder| relative(Path::new(file), Path::new(folder));
        assert_eq!(see("d.csv", "run"), Path::new("../d.csv"));
        assert_eq!(see("data/d.csv", "runs/one"), Path::new("../../data/d.csv"));
        assert_eq!(see("data/./d.csv", "data/run"), Path::new("../d.csv"));
        assert_eq!(see("run/d.csv", "run"), Path::new("d.csv"));
    }
}
