//! The general path: fixed effects, a dense process and any sparse components together, η = Xβ + L v + Σ A_c u_c.
//!
//! y holds the coefficients and the process first, whitened (the border), then component by component its free nodes themselves,
//! y_c = w_c, with their precision Q_c(x) (`quadratic`); or, where differences of large numbers would be left of wᵀQw, y_c = F_cᵀ w_c with
//! F_c F_cᵀ = Q_c, which is standard normal. The
//! curvature is found in w, where it is sparse: H = Q + AᵀWA, with one pattern and one order of elimination for the whole
//! fit. Constraints are exact: what an intrinsic component leaves open is taken away from η (A − D M for A), which
//! changes H by a matrix of low rank (`low_rank`).

mod constraint;
mod joint;
mod low_rank;
mod ordered;
mod part;
mod quadratic;
mod report;
mod root;
mod size;
mod system;
#[cfg(test)]
mod tests;

pub(crate) use ordered::Ordered;
pub(crate) use part::Part;
pub(crate) use root::AdditiveRoot;
pub(crate) use system::AdditiveSystem;

use crate::component::Component;
use crate::dense::{Dense, DenseAt, Process};
use crate::error::Error;
use crate::fixed::Scaled;
use crate::parameter::{Register, middle_of};
use constraint::{Constraint, constraints};
use joint::Joint;
use part::Prior;
use size::refuse_too_large;
pub(crate) use size::refuse_too_many_entries;
use std::sync::Arc;

/// What does not depend on x.
#[derive(Debug, Clone)]
pub(crate) struct Additive {
    pub fixed: Scaled,
    pub process: Option<Dense>,
    pub parts: Vec<Part>,
    /// The number of free nodes of all components.
    pub free: usize,
    joint: Arc<Joint>,
    constraints: Vec<Constraint>,
}

/// What is computed at each x.
#[derive(Debug, Clone)]
pub(crate) struct AdditiveAt {
    /// Component by component: its parameters.
    pub theta: Vec<Vec<f64>>,
    /// Component by component: what multiplies its nodes.
    scales: Vec<Vec<f64>>,
    priors: Vec<Prior>,
    pub process: Option<DenseAt>,
    /// L row by row.
    rows: Vec<f64>,
    /// A with scales, in the order of the joint rows.
    design: Vec<f64>,
    /// The entries of Q, component by component.
    precision: Vec<f64>,
    /// The scale of each constraint.
    along: Vec<f64>,
}

impl Additive {
    /// Puts components together.
    ///
    /// # Errors
    /// Where the factor of the joint precision would not fit in memory, or a component has no proper precision.
    pub fn new(
        components: Vec<Component>,
        process: Option<&Process>,
        fixed: Scaled,
        register: &mut Register,
    ) -> Result<Self, Error> {
        let process = process.map(|p| Dense::beside_others(p, fixed.rows, register));
        let mut parts = Vec::new();
        let mut free = 0;
        for component in components {
            let nodes = component.structure.nodes();
            let len = nodes.free.len();
            let ordered = Ordered::new(len, &nodes.entries);
            refuse_too_large(ordered.factor_len(), &component.name)?;
            parts.push(Part {
                sources: component.structure.register(register),
                from: free,
                len,
                ordered: Arc::new(ordered),
                takers: Arc::new(nodes.takers()),
                form: None,
                constant: None,
                component,
            });
            free += len;
        }
        let middle = middle_of(&register.slow);
        let middle: Vec<f64> = register
            .slow
            .iter()
            .zip(&middle)
            .map(|(s, x)| s.value(*x))
            .collect();
        for part in &mut parts {
            let constant = part.component.structure.is_constant();
            let theta: Vec<f64> = match constant {
                true => vec![1.0; part.sources.len()],
                false => part.sources.iter().map(|s| s.get(&middle)).collect(),
            };
            // Where it depends on x, another x may do.
            let chosen = part.choose_form(&theta);
            if constant {
                let precision = part.precision(&theta);
                let prior = chosen.and_then(|()| part.prior(&precision)).ok_or_else(|| {
                    Error::model(format!(
                        "the precision of `{}` is not positive definite: its nodes are not held by each other or by a constraint",
                        part.component.name
                    ))
                })?;
                part.constant = Some((precision.values, prior));
            }
        }
        let entries = Joint::entries_of(&parts, fixed.rows);
        refuse_too_many_entries(free, entries, "the joint precision")?;
        let joint = Joint::new(&parts, free, fixed.rows);
        refuse_too_large(joint.factor_len(), "the joint precision")?;
        let constraints = constraints(&parts);
        Ok(Self {
            fixed,
            process,
            parts,
            free,
            joint: Arc::new(joint),
            constraints,
        })
    }

    /// The number of coefficients and of the process's values.
    pub fn border(&self) -> usize {
        self.fixed.width + self.places()
    }

    /// The number of the process's places.
    pub fn places(&self) -> usize {
        self.process.as_ref().map_or(0, |p| p.places.len)
    }

    pub fn dim(&self) -> usize {
        self.border() + self.free
    }

    /// The working space of push and pull.
    pub fn spare(&self) -> usize {
        self.free + 2 * self.places()
    }

    pub fn prepare(&self, values: &[f64]) -> Option<AdditiveAt> {
        let process = match &self.process {
            Some(process) => Some(process.prepare(values)?),
            None => None,
        };
        let rows = process.as_ref().map_or(Vec::new(), |at| {
            let n = at.root.dim();
            let root = at.root.as_mat();
            let entry = |k: usize| {
                if k % n <= k / n {
                    root[(k / n, k % n)]
                } else {
                    0.0
                }
            };
            (0..n * n).map(entry).collect()
        });
        let mut at = AdditiveAt {
            theta: Vec::new(),
            scales: Vec::new(),
            priors: Vec::new(),
            process,
            rows,
            design: Vec::new(),
            precision: Vec::new(),
            along: Vec::new(),
        };
        for part in &self.parts {
            let theta: Vec<f64> = part.sources.iter().map(|s| s.get(values)).collect();
            let mut scale = vec![0.0; part.component.structure.nodes().count];
            part.component.structure.scale(&theta, &mut scale);
            let prior = match &part.constant {
                Some((values, prior)) => {
                    at.precision.extend_from_slice(values);
                    prior.clone()
                }
                None => {
                    let precision = part.precision(&theta);
                    let prior = part.prior(&precision)?;
                    at.precision.extend(precision.values);
                    prior
                }
            };
            at.priors.push(prior);
            at.scales.push(scale);
            at.theta.push(theta);
        }
        at.design = self.joint.design(&at.scales);
        let along = self.constraints.iter();
        at.along = along.map(|c| at.scales[c.part][c.node]).collect();
        let finite = at.design.iter().chain(&at.precision).all(|v| v.is_finite());
        finite.then_some(at)
    }

    /// Standard normal numbers become a draw of y a priori.
    pub fn drawn(&self, at: &AdditiveAt, y: &mut [f64]) {
        let border = self.border();
        for (part, theta) in self.parts.iter().zip(&at.theta) {
            part.drawn(
                theta,
                &mut y[border + part.from..border + part.from + part.len],
            );
        }
    }

    /// w of all components from their y, in place.
    pub(super) fn to_nodes(&self, at: &AdditiveAt, y: &mut [f64]) {
        for (part, prior) in self.parts.iter().zip(&at.priors) {
            if let Some(factor) = prior.root() {
                factor.solve_transposed(&mut y[part.from..part.from + part.len]);
            }
        }
    }
}

impl AdditiveAt {
    /// The constant of the density of y, beside that of standard normal variables.
    pub fn log_constant(&self) -> f64 {
        let natural = self.priors.iter().filter_map(Prior::quadratic);
        natural.map(|q| q.log_det).sum()
    }
}
