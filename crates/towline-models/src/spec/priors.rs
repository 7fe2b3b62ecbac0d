//! Priors as a model file gives them: text by the name of a parameter.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Priors by the names of parameters. Nested tables are joined: `sd.district` and `sd_district` are the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "toml::Table", into = "BTreeMap<String, String>")]
pub struct PriorTexts(BTreeMap<String, String>);

impl PriorTexts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text under a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds a prior, or replaces it.
    pub fn insert(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.insert(name.into(), text.into());
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl TryFrom<toml::Table> for PriorTexts {
    type Error = String;

    fn try_from(table: toml::Table) -> Result<Self, String> {
        let mut priors = BTreeMap::new();
        flatten("", table, &mut priors)?;
        Ok(Self(priors))
    }
}

impl From<PriorTexts> for BTreeMap<String, String> {
    fn from(priors: PriorTexts) -> Self {
        priors.0
    }
}

fn flatten(
    prefix: &str,
    table: toml::Table,
    priors: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    for (key, value) in table {
        let name = if prefix.is_empty() {
            key
        } else {
            format!("{prefix}_{key}")
        };
        match value {
            toml::Value::String(text) => {
                priors.insert(name, text);
            }
            toml::Value::Table(table) => flatten(&name, table, priors)?,
            other => {
                return Err(format!(
                    "the prior of `{name}` is {other}; a prior is text such as \"normal(0, 5)\""
                ));
            }
        }
    }
    Ok(())
}
