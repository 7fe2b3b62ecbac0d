//! Zarr (version 2, uncompressed) in ArviZ's InferenceData layout, with consolidated metadata.
//!
//! Written by hand: a few small JSON files beside raw doubles, which every version of Zarr and ArviZ reads.

use super::arviz::{self, Axis, Dimension, Sink};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use towline::store::RunDir;

/// Writes the store into a folder, in place of an earlier one once all of it is written.
pub fn write(run: &RunDir, out: &Path) -> Result<()> {
    let earlier = fs::symlink_metadata(out).ok();
    if let Some(earlier) = &earlier {
        // Only what is certainly an earlier export is replaced; a link may lead anywhere.
        if earlier.file_type().is_symlink() || !out.join(".zgroup").is_file() {
            bail!(
                "{} exists and is no Zarr store; choose another --out",
                out.display()
            );
        }
    }
    let parent = match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beside = tempfile::tempdir_in(parent)
        .with_context(|| format!("cannot write in {}", parent.display()))?;
    let folder = beside.path().join("new");
    fill(run, &folder)?;
    if earlier.is_some() {
        fs::rename(out, beside.path().join("old"))?;
    }
    fs::rename(&folder, out)?;
    Ok(())
}

fn fill(run: &RunDir, folder: &Path) -> Result<()> {
    let mut store = Store {
        folder: folder.to_path_buf(),
        metadata: Map::new(),
        about: json!({
            "inference_library": "towline", "inference_library_version": run.manifest().towline,
            "arviz_version": "0.23", "created_at": "",
        }),
    };
    store.describe_group("", json!({}))?;
    arviz::groups(run, &arviz::GROUPS, &mut store)?;
    store.consolidate()
}

impl Sink for Store {
    fn group(&mut self, name: &str, axis: Option<&Axis>) -> Result<()> {
        self.describe_group(name, self.about.clone())?;
        match axis {
            Some(axis) => self.axes(name, axis),
            None => Ok(()),
        }
    }

    /// A chunk for each chain: draw after draw, dimension after dimension.
    fn array(
        &mut self,
        group: &str,
        name: &str,
        chains: &[Vec<f64>],
        axis: &Axis,
        dimensions: &[Dimension],
    ) -> Result<()> {
        let key = format!("{group}/{name}");
        let sizes: Vec<usize> = dimensions.iter().map(|d| d.labels.len()).collect();
        let mut shape = vec![chains.len(), axis.steps.len()];
        shape.extend(&sizes);
        let chunk: Vec<usize> = std::iter::once(1)
            .chain(shape[1..].iter().map(|n| *n.max(&1)))
            .collect();
        let mut names = vec!["chain", "draw"];
        names.extend(dimensions.iter().map(|d| d.name.as_str()));
        self.describe(
            &key,
            json!(shape),
            json!(chunk),
            "<f8",
            json!("NaN"),
            json!(names),
        )?;
        for dimension in dimensions {
            self.labels(group, dimension)?;
        }
        let size: usize = shape[1..].iter().product();
        for (k, draws) in chains.iter().enumerate() {
            let draws = &draws[..size.min(draws.len())];
            let bytes: Vec<u8> = draws.iter().flat_map(|v| v.to_le_bytes()).collect();
            let mut file = format!("{k}.0");
            sizes.iter().for_each(|_| file += ".0");
            fs::write(self.folder.join(&key).join(file), bytes)?;
        }
        Ok(())
    }

    fn plain(
        &mut self,
        group: &str,
        name: &str,
        values: &[f64],
        dimension: &Dimension,
    ) -> Result<()> {
        let key = format!("{group}/{name}");
        let (size, names) = (values.len(), json!([dimension.name]));
        self.describe(
            &key,
            json!([size]),
            json!([size.max(1)]),
            "<f8",
            json!("NaN"),
            names,
        )?;
        self.labels(group, dimension)?;
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        fs::write(self.folder.join(&key).join("0"), bytes)?;
        Ok(())
    }
}

struct Store {
    folder: PathBuf,
    metadata: Map<String, Value>,
    about: Value,
}

impl Store {
    fn json(&mut self, key: &str, value: Value) -> Result<()> {
        let path = self.folder.join(key);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, serde_json::to_vec_pretty(&value)?)?;
        self.metadata.insert(key.to_owned(), value);
        Ok(())
    }

    fn describe_group(&mut self, name: &str, attributes: Value) -> Result<()> {
        let at = |file: &str| {
            if name.is_empty() {
                file.to_owned()
            } else {
                format!("{name}/{file}")
            }
        };
        self.json(&at(".zgroup"), json!({"zarr_format": 2}))?;
        self.json(&at(".zattrs"), attributes)
    }

    /// The coordinates of a group: the numbers of chains and of draws.
    fn axes(&mut self, group: &str, axis: &Axis) -> Result<()> {
        let chain: Vec<i64> = (0..axis.chains as i64).collect();
        for (name, values) in [("chain", &chain), ("draw", &axis.steps)] {
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            self.coordinate(group, name, values.len(), "<i8", &bytes)?;
        }
        Ok(())
    }

    fn coordinate(
        &mut self,
        group: &str,
        name: &str,
        size: usize,
        dtype: &str,
        bytes: &[u8],
    ) -> Result<()> {
        let key = format!("{group}/{name}");
        let (shape, chunks) = (json!([size]), json!([size.max(1)]));
        self.describe(&key, shape, chunks, dtype, Value::Null, json!([name]))?;
        fs::write(self.folder.join(&key).join("0"), bytes)?;
        Ok(())
    }

    /// The labels of a dimension, if the group does not have them yet: text of a fixed length, as NumPy stores it.
    fn labels(&mut self, group: &str, dimension: &Dimension) -> Result<()> {
        let key = format!("{group}/{}", dimension.name);
        if self.metadata.contains_key(&format!("{key}/.zarray")) {
            return Ok(());
        }
        let longest = dimension
            .labels
            .iter()
            .map(|label| label.chars().count())
            .max();
        let longest = longest.unwrap_or(0).max(1);
        let mut bytes = Vec::new();
        for label in &dimension.labels {
            let mut codes: Vec<u32> = label.chars().map(u32::from).collect();
            codes.resize(longest, 0);
            bytes.extend(codes.iter().flat_map(|code| code.to_le_bytes()));
        }
        let dtype = format!("<U{longest}");
        self.coordinate(
            group,
            &dimension.name,
            dimension.labels.len(),
            &dtype,
            &bytes,
        )
    }

    fn describe(
        &mut self,
        key: &str,
        shape: Value,
        chunks: Value,
        dtype: &str,
        fill: Value,
        dimensions: Value,
    ) -> Result<()> {
        let array = json!({
            "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "order": "C",
            "compressor": null, "filters": null, "fill_value": fill,
        });
        self.json(&format!("{key}/.zarray"), array)?;
        self.json(
            &format!("{key}/.zattrs"),
            json!({"_ARRAY_DIMENSIONS": dimensions}),
        )
    }

    fn consolidate(self) -> Result<()> {
        let all = json!({"zarr_consolidated_format": 1, "metadata": self.metadata});
        fs::write(self.folder.join(".zmetadata"), serde_json::to_vec(&all)?)?;
        Ok(())
    }
}
