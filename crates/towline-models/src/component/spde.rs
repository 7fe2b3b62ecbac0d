//! A Matérn field in the plane on a triangulated mesh: `spde(x, y)` (Lindgren, Rue and Lindström 2011, α = 2, so ν = 1).
//!
//! Q = (κ⁴C + 2κ²G + G C⁻¹ G) / (4πκ²) has variance about one inside the mesh, with κ = √8 / range: the range is the distance
//! at which the correlation has fallen to about 0.14. C is the lumped mass matrix, G the stiffness matrix.

use super::mesh::Mesh;
use super::{Built, Call, Function, Input, Inputs, Nodes, Point, Structure, Symmetric};
use crate::additive::Ordered;
use crate::defaults;
use crate::error::Error;
use crate::formula::constant;
use crate::parameter::{Register, Source, Value};
use crate::resolve::Natural;
use std::f64::consts::PI;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "spde",
    arguments: &["x", "y", "edge", "by"],
    fixed: &[],
    build,
};

/// Nodes across the data's diagonal, where no edge length is given.
const ACROSS: f64 = 25.0;
/// More nodes than these are refused.
const MOST: f64 = 200_000.0;

#[derive(Debug)]
struct Spde {
    mesh: Mesh,
    nodes: Nodes,
    /// The entries of C, G and G C⁻¹ G.
    parts: [Vec<f64>; 3],
    operator: Operator,
    sd: Value,
    range: Value,
}

/// K = κ²C + G, of which Q = K C⁻¹ K / (4πκ²) is made: it has fewer entries than Q, and tells the determinant.
#[derive(Debug)]
struct Operator {
    ordered: Ordered,
    entries: Vec<[u32; 2]>,
    g: Vec<f64>,
    mass: Vec<f64>,
}

impl Operator {
    fn new(g: &Symmetric, mass: Vec<f64>) -> Self {
        let (nodes, values) = g.without(mass.len(), &[], Vec::new());
        Self {
            ordered: Ordered::new(mass.len(), &nodes.entries),
            entries: nodes.entries,
            g: values,
            mass,
        }
    }

    /// ½ ln det Q: K has to be positive definite for it.
    fn log_root(&self, kappa2: f64) -> Option<f64> {
        let mut values = self.g.clone();
        for (value, [i, j]) in values.iter_mut().zip(&self.entries) {
            if i == j {
                *value += kappa2 * self.mass[*i as usize];
            }
        }
        let root = self.ordered.factor(&values)?;
        let mass: f64 = self.mass.iter().map(|m| (4.0 * PI * kappa2 * m).ln()).sum();
        Some(2.0 * root.log_det() - 0.5 * mass)
    }
}

/// The two coordinates of every row.
pub(super) fn places(call: &Call) -> Result<(Inputs, Vec<[f64; 2]>), Error> {
    let inputs = call.numbers(&["x", "y"])?;
    let (x, y) = (
        inputs[0].values(call.context.table)?,
        inputs[1].values(call.context.table)?,
    );
    let places = x.into_iter().zip(y).map(|(x, y)| [x, y]).collect();
    Ok((Inputs::Numbers(inputs), places))
}

/// The extent of places along both coordinates, together.
pub(super) fn diagonal(places: &[[f64; 2]]) -> f64 {
    let extent = |k: usize| {
        let of = places.iter().map(|p| p[k]);
        of.clone().fold(f64::NEG_INFINITY, f64::max) - of.fold(f64::INFINITY, f64::min)
    };
    (extent(0).powi(2) + extent(1).powi(2)).sqrt()
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let (inputs, places) = places(call)?;
    let diagonal = diagonal(&places);
    let edge = match call.bound.get("edge") {
        None => diagonal / ACROSS,
        Some(node) => match constant(node) {
            Some(edge) if edge > 0.0 => edge,
            _ => return Err(call.context.error("`edge` is a length, above zero", node)),
        },
    };
    if (diagonal / edge).powi(2) > MOST {
        return Err(call.error(format!(
            "an edge of {edge} makes some {:.0} nodes over an extent of {diagonal:.3}, more than {MOST}: give a longer one",
            (diagonal / edge).powi(2)
        )));
    }
    let mesh = Mesh::around(&places, edge).ok_or_else(|| {
        call.error(
            "the places lie on one line, where there is no mesh of triangles: a field along a line is gp(x) or rw2(x)",
        )
    })?;
    let sd = call.sd()?;
    let range = call.parameter("range", defaults::range(diagonal / 20.0), Natural::Positive)?;
    call.notes.push(format!(
        "the mesh of `{}` has {} nodes, {:.3} apart around the data",
        call.name,
        mesh.points.len(),
        edge
    ));
    let spde = Spde::new(mesh, sd, range);
    let level = |k: usize| k.to_string();
    Ok(Built {
        levels: (0..spde.nodes.count).map(level).collect(),
        effects: vec![String::new()],
        structure: Arc::new(spde),
        inputs,
    })
}

impl Spde {
    fn new(mesh: Mesh, sd: Value, range: Value) -> Self {
        let (mass, g) = mesh.elements();
        let n = mass.len();
        let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for (i, j, value) in g.entries() {
            neighbours[i as usize].push((j as usize, value));
            if i != j {
                neighbours[j as usize].push((i as usize, value));
            }
        }
        for list in &mut neighbours {
            list.sort_by_key(|(k, _)| *k);
        }
        let mut second = Symmetric::default();
        for (list, mass) in neighbours.iter().zip(&mass) {
            second.add_square(list, 1.0 / mass);
        }
        let mut c = Symmetric::default();
        mass.iter().enumerate().for_each(|(k, m)| c.add(k, k, *m));
        // G C⁻¹ G has every entry of the others.
        let (nodes, _) = second.without(n, &[], Vec::new());
        let of = |part: &Symmetric| {
            let mut values = vec![0.0; nodes.entries.len()];
            for (i, j, value) in part.entries() {
                if let Ok(at) = nodes.entries.binary_search(&[i, j]) {
                    values[at] = value;
                }
            }
            values
        };
        Self {
            parts: [of(&c), of(&g), of(&second)],
            operator: Operator::new(&g, mass),
            mesh,
            nodes,
            sd,
            range,
        }
    }
}

impl Structure for Spde {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![
            register.add(&self.sd, 0.0, f64::INFINITY),
            register.add(&self.range, 0.0, f64::INFINITY),
        ]
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let kappa2 = 8.0 / (theta[1] * theta[1]);
        let [c, g, second] = &self.parts;
        for (k, value) in out.iter_mut().enumerate() {
            *value = (kappa2 * c[k] + 2.0 * g[k] + second[k] / kappa2) / (4.0 * PI);
        }
        self.operator.log_root(kappa2)
    }

    fn is_constant(&self) -> bool {
        false
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[x, y]) = input else {
            return Err(Error::model("a field has two coordinates"));
        };
        let found = self.mesh.at([x, y]).map(Point::Nodes);
        found.ok_or_else(|| {
            Error::model(format!(
                "({x}, {y}) lies outside the mesh, far from all data: the field is not known there"
            ))
        })
    }
}
