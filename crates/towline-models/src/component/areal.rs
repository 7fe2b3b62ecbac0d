//! Areas with neighbours: `areal(area, graph = "edges.csv", model = "bym2")`.
//!
//! `icar`: differences between neighbours; every connected part of the graph sums to zero and is scaled so that the geometric
//! mean of its variances is one (Sørbye and Rue 2014; Freni-Sterrantino et al. 2018), areas without neighbours are
//! independent. `bym2`: sd · (√(1 − mix) θ + √mix φ), θ independent, φ such an ICAR (Riebler et al. 2016). `car`: the proper
//! one, precision D − alpha W.

mod graph;
mod mixing;
#[cfg(test)]
mod tests;

use super::scaling::typical_variance;
use super::{Built, Call, Function, Input, Inputs, Nodes, Point, Structure, Symmetric};
use crate::defaults;
use crate::error::Error;
use crate::parameter::{OwnPrior, Register, Source, Value};
use crate::resolve::Natural;
use graph::Graph;
use mixing::Mixing;
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "areal",
    arguments: &["id", "graph", "model", "by"],
    fixed: &[],
    build,
};

#[derive(Debug)]
struct Areal {
    areas: HashMap<String, u32>,
    model: Model,
    nodes: Nodes,
    values: Vec<f64>,
    sd: Value,
}

#[derive(Debug)]
enum Model {
    Icar,
    /// With the share of the structured part.
    Bym2(Share),
    /// With alpha, and the entries between neighbours marked.
    Car(Value, Vec<bool>),
}

/// The share of structure in a BYM2: with a prior of the list, or with the one that penalises complexity.
#[derive(Debug)]
enum Share {
    Given(Value),
    Penalised(String, Arc<dyn OwnPrior>, String),
}

/// P(mix < U) = ALPHA, as Riebler et al. have it.
const MIXING: [f64; 2] = [0.5, 2.0 / 3.0];

impl Share {
    fn choose(call: &mut Call, graph: &Graph) -> Result<Self, Error> {
        let name = format!("mix_{}", call.name);
        let given = call.chooser.text(&name, &["mix"]);
        let arguments = given.map(|text| {
            let inside = text.trim().strip_prefix("pc_mix(")?.strip_suffix(')')?;
            let (u, alpha) = inside.split_once(',')?;
            let numbers = [u.trim().parse().ok()?, alpha.trim().parse().ok()?];
            Some(numbers).filter(|n: &[f64; 2]| n.iter().all(|v| *v > 0.0 && *v < 1.0))
        });
        let [u, alpha] = match (given, arguments.flatten()) {
            (Some(text), None) if text.trim().starts_with("pc_mix") => {
                return Err(Error::setting(
                    format!("priors.{name}"),
                    format!(
                        "`{text}` is no prior of a share; write pc_mix(u, alpha) for P(mix < u) = alpha, both between 0 and 1"
                    ),
                ));
            }
            (Some(_), None) => {
                let value = call.parameter("mix", defaults::mixing(), Natural::Share)?;
                return Ok(Self::Given(value));
            }
            (_, given) => given.unwrap_or(MIXING),
        };
        let Some(prior) = Mixing::new(graph, u, alpha) else {
            // A large graph: its eigenvalues would take minutes.
            let value = call.parameter("mix", defaults::mixing(), Natural::Share)?;
            return Ok(Self::Given(value));
        };
        let called = format!("pc_mix({u:.3}, {alpha:.3})");
        let why = "penalising complexity: how far from areas that have nothing in common";
        let why = if given.is_some() { "given" } else { why };
        call.chooser.own(&name, &["mix"], &called, why);
        Ok(Self::Penalised(name, Arc::new(prior), called))
    }
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let column = call.column("id")?;
    // The product of a structured and an unstructured part with something else is two products: only where that is said.
    let model = match call.factor {
        true => call.word("model", &["icar", "bym2", "car"])?,
        false => call.word("model", &["bym2", "icar", "car"])?,
    };
    if call.factor && call.bound.get("model").is_none() {
        call.notes.push(
            "`areal` in a product is its structured part, model = \"icar\"; give model = \"bym2\" for areas of their own too"
                .into(),
        );
    }
    let path = call.file("graph")?;
    let names = call.context.table.complete(&column)?;
    let graph = Graph::read(&path, names, call.notes)?;
    let sd = call.sd()?;
    let n = graph.names.len();
    let spatial = |k: &String| format!("{k},spatial");
    let (structure, levels) = match model {
        "car" => {
            let alpha = call.parameter("alpha", defaults::share(), Natural::Share)?;
            (Areal::car(&graph, sd, alpha), graph.names.clone())
        }
        "icar" => {
            let (nodes, values) = icar(&graph, 0).ok_or_else(|| call.error(UNSCALED))?;
            let areal = Areal::new(&graph, Model::Icar, nodes, values, sd);
            (areal, graph.names.clone())
        }
        _ => {
            let mix = Share::choose(call, &graph)?;
            let (mut nodes, values) = icar(&graph, n).ok_or_else(|| call.error(UNSCALED))?;
            // θ first, then φ.
            let mut all = Nodes::independent(n);
            all.count = 2 * n;
            let shifted = nodes
                .entries
                .iter()
                .map(|[i, j]| [i + n as u32, j + n as u32]);
            all.entries.extend(shifted);
            all.free.append(&mut nodes.free);
            all.null = nodes.null;
            let values = [vec![1.0; n], values].concat();
            let names = graph.names.iter();
            let levels = names.clone().cloned().chain(names.map(spatial)).collect();
            let areal = Areal::new(&graph, Model::Bym2(mix), all, values, sd);
            (areal, levels)
        }
    };
    Ok(Built {
        structure: Arc::new(structure),
        inputs: Inputs::Level(column),
        levels,
        effects: vec![String::new()],
    })
}

const UNSCALED: &str = "the variances of this graph's areas cannot be computed";

/// The scaled ICAR of a graph whose areas are numbered from `from` on.
fn icar(graph: &Graph, from: usize) -> Option<(Nodes, Vec<f64>)> {
    let n = graph.names.len();
    let mut q = Symmetric::default();
    let (mut held, mut null) = (Vec::new(), Vec::new());
    let mut edges: Vec<Vec<[usize; 2]>> = vec![Vec::new(); graph.parts.len()];
    let mut part_of = vec![0; n];
    for (k, part) in graph.parts.iter().enumerate() {
        part.iter().for_each(|area| part_of[*area] = k);
    }
    for edge in &graph.edges {
        edges[part_of[edge[0]]].push(*edge);
    }
    for (part, edges) in graph.parts.iter().zip(&edges) {
        if let [alone] = part.as_slice() {
            q.add(*alone, *alone, 1.0);
            continue;
        }
        let scale = scaling_factor(part, edges)?;
        for [i, j] in edges {
            let (high, low) = (*i.max(j), *i.min(j));
            q.add_square(&[(low, -1.0), (high, 1.0)], scale);
        }
        held.push(part[0]);
        null.push(part.iter().map(|k| ((k + from) as u32, 1.0)).collect());
    }
    let (mut nodes, values) = q.without(n, &held, null);
    nodes.free.iter_mut().for_each(|k| *k += from as u32);
    Some((nodes, values))
}

/// The geometric mean of the marginal variances of an ICAR with sum zero on one connected part.
fn scaling_factor(part: &[usize], edges: &[[usize; 2]]) -> Option<f64> {
    let place: HashMap<usize, usize> = part
        .iter()
        .enumerate()
        .map(|(k, area)| (*area, k))
        .collect();
    let mut q = Symmetric::default();
    for edge in edges {
        let [i, j] = edge.map(|area| place[&area]);
        q.add_square(&[(i.min(j), -1.0), (i.max(j), 1.0)], 1.0);
    }
    let constant = (0..part.len() as u32).map(|k| (k, 1.0)).collect();
    let (nodes, values) = q.without(part.len(), &[0], vec![constant]);
    typical_variance(&nodes, &values)
}

impl Areal {
    fn new(graph: &Graph, model: Model, nodes: Nodes, values: Vec<f64>, sd: Value) -> Self {
        let names = graph.names.iter().enumerate();
        Self {
            areas: names.map(|(k, name)| (name.clone(), k as u32)).collect(),
            model,
            nodes,
            values,
            sd,
        }
    }

    fn car(graph: &Graph, sd: Value, alpha: Value) -> Self {
        let n = graph.names.len();
        let mut q = Symmetric::default();
        let mut neighbours = vec![0.0f64; n];
        for [i, j] in &graph.edges {
            q.add(*i, *j, -1.0);
            neighbours[*i] += 1.0;
            neighbours[*j] += 1.0;
        }
        for (k, count) in neighbours.iter().enumerate() {
            q.add(k, k, count.max(1.0));
        }
        let (nodes, values) = q.without(n, &[], Vec::new());
        let beside = nodes.entries.iter().map(|[i, j]| i != j).collect();
        Self::new(graph, Model::Car(alpha, beside), nodes, values, sd)
    }
}

impl Structure for Areal {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        let mut sources = vec![register.add(&self.sd, 0.0, f64::INFINITY)];
        match &self.model {
            Model::Icar => {}
            Model::Car(value, _) | Model::Bym2(Share::Given(value)) => {
                sources.push(register.add(value, 0.0, 1.0));
            }
            Model::Bym2(Share::Penalised(name, prior, called)) => {
                sources.push(register.add_own(name, prior.clone(), called));
            }
        }
        sources
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        out.copy_from_slice(&self.values);
        if let Model::Car(_, beside) = &self.model {
            for (value, beside) in out.iter_mut().zip(beside) {
                if *beside {
                    *value *= theta[1];
                }
            }
        }
        None
    }

    fn is_constant(&self) -> bool {
        !matches!(self.model, Model::Car(..))
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        if let Model::Bym2(_) = &self.model {
            let (own, spatial) = out.split_at_mut(self.areas.len());
            own.fill(theta[0] * (1.0 - theta[1]).sqrt());
            spatial.fill(theta[0] * theta[1].sqrt());
        } else {
            out.fill(theta[0]);
        }
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Level(name) = input else {
            return Err(Error::model("an area has a name"));
        };
        let Some(area) = self.areas.get(name) else {
            return Err(Error::model(format!(
                "the area `{name}` is not among those of the graph"
            )));
        };
        Ok(Point::Nodes(match &self.model {
            Model::Bym2(_) => vec![(*area, 1.0), (area + self.areas.len() as u32, 1.0)],
            _ => vec![(*area, 1.0)],
        }))
    }

    /// Of a BYM2: the sum of both parts, and the spatial part.
    fn report(&self, u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(u);
        if let Model::Bym2(_) = &self.model {
            let (whole, spatial) = out.split_at_mut(self.areas.len());
            whole.iter_mut().zip(spatial).for_each(|(a, b)| *a += *b);
        }
    }

    fn recover(&self, reported: &[f64], u: &mut [f64]) {
        u.copy_from_slice(reported);
        if let Model::Bym2(_) = &self.model {
            let (own, spatial) = u.split_at_mut(self.areas.len());
            own.iter_mut().zip(spatial).for_each(|(a, b)| *a -= *b);
        }
    }
}
