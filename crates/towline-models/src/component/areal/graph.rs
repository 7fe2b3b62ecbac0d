//! Which areas are neighbours: read from a file of pairs, checked, and taken apart into connected parts.

use crate::error::Error;
use crate::table::Table;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Areas and their neighbours.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    pub names: Vec<String>,
    /// Each pair once.
    pub edges: Vec<[usize; 2]>,
    /// Connected areas, together.
    pub parts: Vec<Vec<usize>>,
}

impl Graph {
    /// Reads pairs of neighbours: a CSV file whose first two columns name areas. `used` are those of the data.
    pub fn read(path: &Path, used: &[String], notes: &mut Vec<String>) -> Result<Self, Error> {
        let table = Table::read(path)?;
        let [first, second, ..] = table.headers() else {
            return Err(Error::setting(
                path.display().to_string(),
                "a graph has two columns, an area and a neighbour in each row",
            ));
        };
        let (first, second) = (table.complete(first)?, table.complete(second)?);
        let pairs: Vec<(String, String)> =
            first.iter().cloned().zip(second.iter().cloned()).collect();
        Self::new(
            &pairs,
            used,
            &|row| format!("{}, line {}", table.name(), table.line(row)),
            notes,
        )
    }

    pub fn new(
        pairs: &[(String, String)],
        used: &[String],
        line: &dyn Fn(usize) -> String,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let mut names: Vec<String> = Vec::new();
        let mut number: HashMap<String, usize> = HashMap::new();
        let mut of = |name: &String, names: &mut Vec<String>| {
            *number.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() - 1
            })
        };
        let mut directed: BTreeSet<[usize; 2]> = BTreeSet::new();
        for (row, (a, b)) in pairs.iter().enumerate() {
            if a == b {
                return Err(Error::setting(
                    line(row),
                    format!("the area `{a}` is its own neighbour: leave that pair out"),
                ));
            }
            directed.insert([of(a, &mut names), of(b, &mut names)]);
        }
        let in_graph = names.len();
        let mut alone = Vec::new();
        let mut matched = 0;
        let mut seen = BTreeSet::new();
        for name in used {
            if !seen.insert(name) {
                continue;
            }
            if of(name, &mut names) < in_graph {
                matched += 1;
            } else {
                alone.push(name.clone());
            }
        }
        if matched == 0 {
            return Err(Error::setting(
                line(0),
                format!(
                    "no area of the data is in the graph: the data have `{}`, the graph `{}`",
                    used.first().map_or("", String::as_str),
                    names.first().map_or("", String::as_str)
                ),
            ));
        }
        let both = directed
            .iter()
            .filter(|[a, b]| directed.contains(&[*b, *a]))
            .count();
        let single: Vec<&[usize; 2]> = directed
            .iter()
            .filter(|[a, b]| !directed.contains(&[*b, *a]))
            .collect();
        if both > 0
            && let Some([a, b]) = single.first()
        {
            notes.push(format!(
                "{} of the graph in one direction only (`{}` to `{}` first) while others stand in both: neighbours all the same",
                if single.len() == 1 { "1 pair stands".into() } else { format!("{} pairs stand", single.len()) },
                names[*a],
                names[*b]
            ));
        }
        let edges: BTreeSet<[usize; 2]> = directed
            .iter()
            .map(|[a, b]| [*a.min(b), *a.max(b)])
            .collect();
        let edges: Vec<[usize; 2]> = edges.into_iter().collect();
        let parts = connected(names.len(), &edges);
        if !alone.is_empty() {
            let few: Vec<String> = alone.iter().take(3).map(|a| format!("`{a}`")).collect();
            notes.push(format!(
                "{} no neighbours in the graph ({}{}): effects of their own, independent of the others",
                if alone.len() == 1 { "1 area of the data has".into() } else { format!("{} areas of the data have", alone.len()) },
                few.join(", "),
                if alone.len() > 3 { ", …" } else { "" }
            ));
        }
        let islands = parts.iter().filter(|part| part.len() > 1).count();
        if islands > 1 {
            notes.push(format!(
                "the graph has {islands} parts that are not connected: each sums to zero, so that a difference of their levels needs \
                 a covariate"
            ));
        }
        let empty = in_graph - matched;
        if empty > 0 {
            notes.push(format!(
                "{} no rows: effects come from the neighbours",
                if empty == 1 {
                    "1 area of the graph has".into()
                } else {
                    format!("{empty} areas of the graph have")
                }
            ));
        }
        Ok(Self {
            names,
            edges,
            parts,
        })
    }
}

/// The connected parts of a graph.
fn connected(count: usize, edges: &[[usize; 2]]) -> Vec<Vec<usize>> {
    let mut parent: Vec<usize> = (0..count).collect();
    fn top(parent: &mut [usize], mut k: usize) -> usize {
        while parent[k] != k {
            parent[k] = parent[parent[k]];
            k = parent[k];
        }
        k
    }
    for [a, b] in edges {
        let (a, b) = (top(&mut parent, *a), top(&mut parent, *b));
        parent[a.max(b)] = a.min(b);
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    for k in 0..count {
        let of = top(&mut parent, k);
        let at = *place.entry(of).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[at].push(k);
    }
    parts
}
