//! Components of the linear predictor beside fixed effects: η = Xβ + Σ A_c u_c, where u_c has a sparse precision.
//!
//! A component is one file here and one line in [`FUNCTIONS`]. It says what its nodes are, the precision of the nodes as a
//! function of its slow parameters, their scale, which combinations of nodes are held at zero, and where a row of data lies.
//! All components share one joint precision (`additive`), from which frames, gradients and predictions follow.

mod ar1;
mod areal;
mod call;
mod groups;
mod known;
mod mesh;
mod nngp;
mod nodes;
mod product;
mod replicated;
mod scaling;
mod seasonal;
mod smooth;
mod spde;
mod tensor;
mod walk;

pub(crate) use call::{Built, Call, Entered, Function, Inputs, Side, bind_call, name_of};
pub(crate) use groups::Grouped;
pub(crate) use nodes::{Nodes, Symmetric};
pub(crate) use replicated::Replicated;

use crate::error::Error;
use crate::parameter::{Register, Source};
use std::fmt;
use std::sync::Arc;

/// Every function of formulas that makes a component.
pub(crate) const FUNCTIONS: &[Function] = &[
    walk::RW1,
    walk::RW2,
    ar1::FUNCTION,
    seasonal::FUNCTION,
    smooth::FUNCTION,
    tensor::FUNCTION,
    areal::FUNCTION,
    spde::FUNCTION,
    nngp::FUNCTION,
    known::FUNCTION,
];

/// The function of formulas that makes a dense Gaussian process.
pub(crate) const PROCESS: &str = "gp";

/// The names of all functions that make components.
pub(crate) fn component_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|f| f.name).chain([PROCESS])
}

/// Whether a function makes a component.
pub(crate) fn is_component(name: &str) -> bool {
    component_names().any(|known| known == name)
}

/// What a component is, whatever the rows of data.
///
/// The free nodes w have precision Q(θ); u = scale(θ) · (I − N M) w, where N spans what Q leaves open (the null space of
/// an intrinsic precision) and M takes it away. Nodes that are not free are zero in w: they fix the level of an intrinsic
/// component until N M w moves it to where the constraint wants it.
pub(crate) trait Structure: fmt::Debug + Send + Sync {
    /// Its nodes, and where Q has entries.
    fn nodes(&self) -> &Nodes;

    /// Numbers its slow parameters; their values are handed to the functions below in this order.
    fn register(&self, register: &mut Register) -> Vec<Source>;

    /// The entries of Q, in the order of [`Nodes::entries`]; and ½ ln det Q, where that is known without factorising Q.
    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64>;

    /// Whether Q is the same at every θ: it is factorised once.
    fn is_constant(&self) -> bool {
        true
    }

    /// What multiplies each node.
    fn scale(&self, theta: &[f64], out: &mut [f64]);

    /// Where an input lies among the nodes.
    fn locate(&self, input: Input) -> Result<Point, Error>;

    /// u at places that are no nodes, given u at the nodes.
    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let _ = theta;
        Fresh::nothing(places.len())
    }

    /// How many numbers are reported of u.
    fn reports(&self) -> usize {
        self.nodes().count
    }

    /// What is reported of u: as many numbers as there are labels.
    fn report(&self, u: &[f64], out: &mut [f64]) {
        out.copy_from_slice(u);
    }

    /// u from what was reported.
    fn recover(&self, reported: &[f64], u: &mut [f64]) {
        u.copy_from_slice(reported);
    }

    /// Parameters as they are reported, in place.
    fn reported(&self, theta: &mut [f64]) {
        let _ = theta;
    }

    /// The inverse of [`reported`](Self::reported).
    fn inner(&self, theta: &mut [f64]) {
        let _ = theta;
    }
}

/// What a row of data says to a component.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Input<'a> {
    Numbers(&'a [f64]),
    Level(&'a str),
    /// Of the factors of a product.
    Pair(&'a Input<'a>, &'a Input<'a>),
}

/// Where a row of data lies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Point {
    /// A weighted sum of nodes.
    Nodes(Vec<(u32, f64)>),
    /// A place beside the nodes, for [`Structure::fresh`].
    Fresh(Vec<f64>),
}

/// u at places beside the nodes, given u at the nodes: a weighted sum of nodes for each place, and the covariance of what is
/// added to it, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fresh {
    pub weights: Vec<Vec<(u32, f64)>>,
    pub covariance: Vec<f64>,
}

impl Fresh {
    /// Zero at so many places.
    pub fn nothing(places: usize) -> Self {
        Self {
            weights: vec![Vec::new(); places],
            covariance: vec![0.0; places * places],
        }
    }

    /// The mean at one of the places.
    pub fn mean(&self, place: usize, u: &[f64]) -> f64 {
        let parts = self.weights[place].iter();
        parts.map(|(k, w)| w * u[*k as usize]).sum()
    }
}

/// A component of a model, with its rows.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its name.
    pub name: String,
    pub(crate) structure: Arc<dyn Structure>,
    pub(crate) rows: Rows,
    pub(crate) labels: Labelled,
}

impl Component {
    /// In words: how many nodes it has, and how many combinations of them are held at zero.
    pub fn about(&self) -> String {
        let nodes = self.structure.nodes();
        let held = match nodes.null.len() {
            0 => String::new(),
            1 => ", 1 combination of them held at zero".into(),
            many => format!(", {many} combinations of them held at zero"),
        };
        let effects = match self.structure.reports() {
            same if same == nodes.count => String::new(),
            // A constraint that is worked into the rows takes nodes away.
            effects => format!("{effects} effects by "),
        };
        format!("{effects}{} nodes{held}", nodes.count)
    }
}

/// The names of what is reported: several lists, since a component may have more than one effect of each node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labelled {
    pub levels: Vec<String>,
    pub effects: Vec<String>,
}

/// Where new rows lie for one component.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ComponentRows {
    pub(crate) points: Vec<Point>,
}

impl ComponentRows {
    /// Rows to which a component adds nothing.
    pub(crate) fn nowhere(rows: usize) -> Self {
        Self {
            points: vec![Point::Nodes(Vec::new()); rows],
        }
    }

    /// Whether some row lies somewhere.
    pub(crate) fn is_anywhere(&self) -> bool {
        let empty = |point: &Point| matches!(point, Point::Nodes(nodes) if nodes.is_empty());
        !self.points.iter().all(empty)
    }
}

/// A sparse matrix, row by row.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    pub starts: Vec<u32>,
    pub nodes: Vec<u32>,
    pub weights: Vec<f64>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn push(&mut self, entries: impl IntoIterator<Item = (u32, f64)>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        for (node, weight) in entries {
            self.nodes.push(node);
            self.weights.push(weight);
        }
        self.starts.push(self.nodes.len() as u32);
    }

    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[i] as usize..self.starts[i + 1] as usize;
        let nodes = self.nodes[range.clone()].iter().copied();
        nodes.zip(self.weights[range].iter().copied())
    }
}
