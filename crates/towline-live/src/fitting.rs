//! A model of a table that a visitor brought: read and put together by the code of `towline fit`.

use crate::warming::{self, Chaining, Plan};
use crate::{Outcome, words};
use serde::Serialize;
use towline_models::{LatentGaussian, ModelFile, Resolved, Table};

/// What a table holds.
#[derive(Debug, Serialize)]
pub struct Contents {
    rows: usize,
    columns: Vec<Described>,
}

#[derive(Debug, Serialize)]
struct Described {
    name: String,
    numeric: bool,
    /// How many different values there are.
    values: usize,
    /// Whether all are 0 or 1, or two words.
    binary: bool,
    /// Whether all are whole and none is negative.
    counts: bool,
}

/// Reads a table.
pub fn table(name: &str, csv: &str) -> Outcome<Contents> {
    let table = Table::parse(name, csv).map_err(words)?;
    let one = |name: &String| -> Outcome<Described> {
        let text = table.text(name).map_err(words)?;
        let values: std::collections::BTreeSet<&String> = text.iter().collect();
        let numbers = match table.is_numeric(name) {
            Ok(true) => table.numbers(name).ok(),
            _ => None,
        };
        let all = |test: &dyn Fn(f64) -> bool| {
            numbers.as_ref().is_some_and(|n| n.iter().all(|&v| test(v)))
        };
        Ok(Described {
            name: name.clone(),
            numeric: numbers.is_some(),
            values: values.len(),
            binary: if numbers.is_some() {
                all(&|v| v == 0.0 || v == 1.0)
            } else {
                values.len() == 2
            },
            counts: all(&|v| v >= 0.0 && v.fract() == 0.0),
        })
    };
    Ok(Contents {
        rows: table.rows(),
        columns: table.headers().iter().map(one).collect::<Outcome<_>>()?,
    })
}

/// A model of a table.
pub struct Model {
    resolved: Resolved,
    target: LatentGaussian,
}

/// A model in words.
#[derive(Debug, Serialize)]
pub struct InWords {
    rows: usize,
    slow: usize,
    fast: usize,
    /// Names, priors, and why.
    priors: Vec<[String; 3]>,
    notes: Vec<String>,
}

impl Model {
    /// Reads a model file and a table, both as text.
    pub fn read(model: &str, csv: &str) -> Outcome<Self> {
        let model = ModelFile::parse("the model", model).map_err(words)?;
        let name = model.data.file.display().to_string();
        let table = Table::parse(&name, csv).map_err(words)?;
        // What a visitor fills in are the flags of `towline fit`, more or less.
        let refused = |error: towline_models::Error| error.in_flags();
        let resolved = Resolved::new(&model, &table).map_err(refused)?;
        let target = resolved.parts.build().map_err(refused)?;
        Ok(Self { resolved, target })
    }

    pub fn described(&self) -> Outcome<InWords> {
        let chosen = self.resolved.chosen.iter();
        let priors = chosen.map(|c| [c.name.clone(), c.prior.to_string(), c.why.to_string()]);
        let references = self.resolved.references.iter();
        let compared = references.map(|(factor, with)| format!("{factor} is compared with {with}"));
        Ok(InWords {
            rows: self.resolved.parts.data.response.len(),
            slow: self.target.slow_dim(),
            fast: self.target.fast_dim(),
            priors: priors.collect(),
            notes: self
                .resolved
                .notes
                .iter()
                .cloned()
                .chain(compared)
                .collect(),
        })
    }

    /// One chain of it. The model is never freed: a worker has one, and ends with it.
    pub fn chain(self, plan: Plan) -> Outcome<Box<dyn Chaining>> {
        warming::of(Box::leak(Box::new(self.target)), plan)
    }
}
