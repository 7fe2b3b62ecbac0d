//! Zarr (version 2, uncompressed) in ArviZ's InferenceData layout, with consolidated metadata.
//!
//! Written by hand: a few small JSON files beside raw doubles, which every version of Zarr and ArviZ reads.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use towline::store::RunDir;

/// Writes the store into a folder, in place of an earlier one.
pub fn write(run: &RunDir, out: &Path) -> Result<()> {
    if out.exists() {
        // Only what is certainly an earlier export is replaced.
        if !out.join(".zgroup").is_file() {
            bail!(
                "{} exists and is no Zarr store; choose another --out",
                out.display()
            );
        }
        fs::remove_dir_all(out)?;
    }
    let mut store = Store {
        folder: out,
        metadata: Map::new(),
    };
    let manifest = run.manifest();
    store.group("", json!({}))?;
    let about = json!({
        "inference_library": "towline", "inference_library_version": manifest.towline,
        "arviz_version": "0.23", "created_at": "",
    });
    let axis = Axis {
        name: "draw",
        every: 1,
        length: run.common_rows(),
    };
    store.group("posterior", about.clone())?;
    store.axes("posterior", run.chains(), &axis)?;
    for (name, chains) in run.names().zip(run.columns()?) {
        store.array("posterior", name, &chains, &axis)?;
    }
    store.group("sample_stats", about.clone())?;
    store.axes("sample_stats", run.chains(), &axis)?;
    for name in &manifest.statistics {
        let ours = run.statistics(name)?;
        let theirs = if name == "log_density" { "lp" } else { name };
        store.array("sample_stats", theirs, &ours, &axis)?;
    }
    if !manifest.latents.is_empty() {
        // A group of their own: they may have fewer draws than the rest.
        let length = (0..run.chains())
            .map(|k| run.latents(k).rows())
            .min()
            .unwrap_or(0);
        let axis = Axis {
            name: "draw",
            every: manifest.latent_every,
            length,
        };
        store.group("latents", about)?;
        store.axes("latents", run.chains(), &axis)?;
        for column in &manifest.latents {
            store.array("latents", &column.name, &run.latent(&column.name)?, &axis)?;
        }
    }
    store.consolidate()
}

struct Axis {
    name: &'static str,
    every: u64,
    length: usize,
}

struct Store<'a> {
    folder: &'a Path,
    metadata: Map<String, Value>,
}

impl Store<'_> {
    fn json(&mut self, key: &str, value: Value) -> Result<()> {
        let path = self.folder.join(key);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, serde_json::to_vec_pretty(&value)?)?;
        self.metadata.insert(key.to_owned(), value);
        Ok(())
    }

    fn group(&mut self, name: &str, attributes: Value) -> Result<()> {
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
    fn axes(&mut self, group: &str, chains: usize, axis: &Axis) -> Result<()> {
        let chain: Vec<i64> = (0..chains as i64).collect();
        let draw: Vec<i64> = (0..axis.length as i64)
            .map(|k| k * axis.every as i64)
            .collect();
        for (name, values) in [("chain", chain), (axis.name, draw)] {
            let key = format!("{group}/{name}");
            let size = values.len();
            self.describe(
                &key,
                json!([size]),
                json!([size.max(1)]),
                "<i8",
                Value::Null,
                json!([name]),
            )?;
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            fs::write(self.folder.join(&key).join("0"), bytes)?;
        }
        Ok(())
    }

    fn array(&mut self, group: &str, name: &str, chains: &[Vec<f64>], axis: &Axis) -> Result<()> {
        // A slash would be a folder of its own.
        let key = format!("{group}/{}", name.replace(['/', '\\'], "_"));
        let shape = json!([chains.len(), axis.length]);
        let chunk = json!([1, axis.length.max(1)]);
        self.describe(
            &key,
            shape,
            chunk,
            "<f8",
            json!("NaN"),
            json!(["chain", axis.name]),
        )?;
        for (k, draws) in chains.iter().enumerate() {
            let draws = &draws[..axis.length.min(draws.len())];
            let bytes: Vec<u8> = draws.iter().flat_map(|v| v.to_le_bytes()).collect();
            fs::write(self.folder.join(&key).join(format!("{k}.0")), bytes)?;
        }
        Ok(())
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
