//! The models that the command can run by name, and how a run's model is built again from its manifest.

use crate::builtin::Neal;
use crate::fit;
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use towline_models::Sample;

/// A built-in example: what it is called, what it is, and the model.
pub struct BuiltIn {
    /// Its name on the command line.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    make: fn() -> Result<Box<dyn Sample>>,
}

/// Every built-in example: one line for each.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "neal1",
        about: "the report's first test: one slow and one fast variable",
        make: || Ok(Neal::ONE.sampled()),
    },
    BuiltIn {
        name: "neal2",
        about: "its second test: one slow and two fast variables",
        make: || Ok(Neal::TWO.sampled()),
    },
];

/// A built-in example, with the description that goes into the manifest.
pub fn built_in(name: &str) -> Result<(Box<dyn Sample>, Value)> {
    let Some(found) = BUILT_IN.iter().find(|one| one.name == name) else {
        let names: Vec<&str> = BUILT_IN.iter().map(|one| one.name).collect();
        bail!(
            "there is no built-in example called {name:?}; there are {}",
            names.join(", ")
        );
    };
    Ok(((found.make)()?, json!({"kind": "builtin", "name": name})))
}

/// The model of a run, from what its manifest says. A new kind of model adds a line here.
pub fn model_from_manifest(model: &Value, folder: &Path) -> Result<Box<dyn Sample>> {
    let text = |key: &str| model.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("kind") {
        "builtin" => Ok(built_in(text("name"))?.0),
        "fit" => fit::from_manifest(model, folder),
        "python" => bail!(
            "its model is a Python program: continue it there, by towline.resume({folder:?}, model)"
        ),
        "" => bail!(
            "the manifest does not say what model was run: resume it with the program that began it"
        ),
        kind => bail!(
            "its model is of kind {kind:?}, which this command cannot build: resume it with the program that began it"
        ),
    }
}
