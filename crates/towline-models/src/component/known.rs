//! Effects whose precision is known but for their scale: `known(id, precision = "inverse.csv")`, for pedigrees and the like.
//!
//! The file has three columns: two names and the entry between them; entries that are zero may be left out, and an entry
//! may stand on one side of the diagonal or on both.

use super::{Built, Call, Function, Input, Inputs, Nodes, Point, Structure, Symmetric};
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use crate::table::Table;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "known",
    arguments: &["id", "precision", "by"],
    fixed: &[],
    build,
};

/// How far the two sides of the diagonal may differ, relatively.
const SAME: f64 = 1e-8;

#[derive(Debug)]
struct Known {
    number: HashMap<String, u32>,
    nodes: Nodes,
    values: Vec<f64>,
    sd: Value,
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let column = call.column("id")?;
    let path = call.file("precision")?;
    let sd = call.sd()?;
    let (names, nodes, values) = read(&path)?;
    let number: HashMap<String, u32> = names
        .iter()
        .enumerate()
        .map(|(k, name)| (name.clone(), k as u32))
        .collect();
    Ok(Built {
        structure: Arc::new(Known {
            number,
            nodes,
            values,
            sd,
        }),
        inputs: Inputs::Level(column),
        levels: names,
        effects: vec![String::new()],
    })
}

fn read(path: &Path) -> Result<(Vec<String>, Nodes, Vec<f64>), Error> {
    let table = Table::read(path)?;
    let [first, second, third, ..] = table.headers() else {
        return Err(Error::setting(
            path.display().to_string(),
            "a precision has three columns: two names and the entry between them",
        ));
    };
    let values = table.numbers(third)?;
    let (first, second) = (table.complete(first)?, table.complete(second)?);
    let mut names: Vec<String> = Vec::new();
    let mut number: HashMap<String, usize> = HashMap::new();
    let mut of = |name: &String| {
        *number.entry(name.clone()).or_insert_with(|| {
            names.push(name.clone());
            names.len() - 1
        })
    };
    let mut seen: HashMap<(usize, usize), (f64, bool)> = HashMap::new();
    for (row, value) in values.iter().enumerate() {
        let (a, b) = (of(&first[row]), of(&second[row]));
        let here = format!("{}, line {}", table.name(), table.line(row));
        let place = (a.max(b), a.min(b));
        match seen.get(&place) {
            None => {
                seen.insert(place, (*value, a > b));
            }
            Some((_, side)) if *side == (a > b) => {
                return Err(Error::setting(
                    here,
                    format!(
                        "the entry of `{}` and `{}` is there twice",
                        first[row], second[row]
                    ),
                ));
            }
            Some((other, _)) if (other - value).abs() > SAME * other.abs().max(value.abs()) => {
                return Err(Error::setting(
                    here,
                    format!(
                        "a precision is symmetric, but the entry of `{}` and `{}` is {value} here and {other} on the other side",
                        first[row], second[row]
                    ),
                ));
            }
            Some(_) => {}
        }
    }
    let mut matrix = Symmetric::default();
    for ((i, j), (value, _)) in &seen {
        matrix.add(*i, *j, *value);
    }
    for (k, name) in names.iter().enumerate() {
        if seen.get(&(k, k)).is_none_or(|(value, _)| *value <= 0.0) {
            return Err(Error::setting(
                path.display().to_string(),
                format!("`{name}` has no positive entry on the diagonal, which a precision has"),
            ));
        }
    }
    let (nodes, values) = matrix.without(names.len(), &[], Vec::new());
    Ok((names, nodes, values))
}

impl Structure for Known {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![register.add(&self.sd, 0.0, f64::INFINITY)]
    }

    fn precision(&self, _: &[f64], out: &mut [f64]) -> Option<f64> {
        out.copy_from_slice(&self.values);
        None
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Level(name) = input else {
            return Err(Error::model("a known effect has a name"));
        };
        let found = self.number.get(name);
        found.map(|k| Point::Nodes(vec![(*k, 1.0)])).ok_or_else(|| {
            Error::model(format!("`{name}` is not among the names of the precision"))
        })
    }
}
