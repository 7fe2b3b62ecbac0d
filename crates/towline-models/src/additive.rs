//! The general path: fixed effects, a dense process and any sparse components together, η = Xβ + L v + Σ A_c u_c.
//!
//! y holds the coefficients and the process first, whitened (the border), then component by component y_c = F_cᵀ w_c, where
//! F_c F_cᵀ is the precision of the component's free nodes: a priori y is standard normal, as on the other paths. The
//! curvature is found in w, where it is sparse: H = Q + AᵀWA, with one pattern and one order of elimination for the whole
//! fit. Constraints are exact: what an intrinsic component leaves open is taken away from η (A − D M for A), which
//! changes H by a matrix of low rank (`low_rank`).

mod joint;
mod low_rank;
mod ordered;
mod root;
#[cfg(test)]
mod tests;

pub(crate) use ordered::Ordered;
pub(crate) use root::AdditiveRoot;

use crate::component::Component;
use crate::dense::{Dense, DenseAt, Process};
use crate::error::Error;
use crate::fixed::Scaled;
use crate::newton::{System, Work};
use crate::parameter::{Register, Source};
use crate::sparse::factor::SparseFactor;
use crate::vector::wide;
use joint::Joint;
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

/// A component among others.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub component: Component,
    pub sources: Vec<Source>,
    /// Where its free nodes begin among all.
    pub from: usize,
    /// The number of its free nodes.
    pub len: usize,
    /// The order of its own factor; the free nodes stand in it.
    ordered: Arc<Ordered>,
    /// What takes away what it leaves open: lists of (free node, value).
    takers: Arc<Vec<Vec<(u32, f64)>>>,
    /// Its factor, where that is the same at every x.
    constant: Option<Prior>,
}

/// F of a component's prior precision; `None` for the identity.
type Prior = Option<Arc<SparseFactor>>;

/// One direction that a component leaves open, and what takes it away.
#[derive(Debug, Clone)]
struct Constraint {
    part: usize,
    /// A node where the direction is not zero, whose scale is that of all of them.
    node: usize,
    /// A N, without the scale: (row, value).
    rows: Vec<(u32, f64)>,
    /// M: (free node among all, value).
    taker: Vec<(u32, f64)>,
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

/// Bytes of a factor beyond which a fit is refused: several are held at a time, by each chain.
const MOST_BYTES: usize = 2_000_000_000;

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
                constant: None,
                component,
            });
            free += len;
        }
        for part in &mut parts {
            if part.component.structure.is_constant() {
                let theta = vec![1.0; part.sources.len()];
                let prior = part.prior(&part.precision(&theta)).ok_or_else(|| {
                    Error::model(format!(
                        "the precision of `{}` is not positive definite: its nodes are not held by each other or by a constraint",
                        part.component.name
                    ))
                })?;
                part.constant = Some(prior);
            }
        }
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
            let precision = part.precision(&theta);
            let prior = match &part.constant {
                Some(prior) => prior.clone(),
                None => part.prior(&precision)?,
            };
            at.precision.extend(precision);
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

    /// w of all components from their y, in place.
    fn to_nodes(&self, at: &AdditiveAt, y: &mut [f64]) {
        for (part, prior) in self.parts.iter().zip(&at.priors) {
            if let Some(factor) = prior {
                factor.solve_transposed(&mut y[part.from..part.from + part.len]);
            }
        }
    }

    /// u of one component, all its nodes, on the scale of η.
    pub fn effects_of(&self, at: &AdditiveAt, part: usize, y: &[f64]) -> Vec<f64> {
        let (scale, prior) = (&at.scales[part], &at.priors[part]);
        let part = &self.parts[part];
        let from = self.border() + part.from;
        let mut w = y[from..from + part.len].to_vec();
        if let Some(factor) = prior {
            factor.solve_transposed(&mut w);
        }
        let nodes = part.component.structure.nodes();
        let mut u = vec![0.0; nodes.count];
        for (node, place) in nodes.free.iter().zip(&part.ordered.place) {
            u[*node as usize] = w[*place as usize];
        }
        for (vector, taker) in nodes.null.iter().zip(part.takers.iter()) {
            let by =
                |(node, value): &(u32, f64)| value * w[part.ordered.place[*node as usize] as usize];
            let level: f64 = taker.iter().map(by).sum();
            for (node, value) in vector {
                u[*node as usize] -= level * value;
            }
        }
        u.iter_mut().zip(scale).for_each(|(u, s)| *u *= s);
        u
    }

    /// The y of one component from its u: the inverse of [`effects_of`](Self::effects_of).
    pub fn effects_from(&self, at: &AdditiveAt, part: usize, u: &[f64], y: &mut [f64]) {
        let (scale, prior) = (&at.scales[part], &at.priors[part]);
        let part = &self.parts[part];
        let nodes = part.component.structure.nodes();
        let mut v: Vec<f64> = u.iter().zip(scale).map(|(u, s)| u / s).collect();
        nodes.hold(&mut v);
        let mut w = vec![0.0; part.len];
        for (node, place) in nodes.free.iter().zip(&part.ordered.place) {
            w[*place as usize] = v[*node as usize];
        }
        let from = self.border() + part.from;
        let out = &mut y[from..from + part.len];
        match prior {
            Some(factor) => factor.multiply_transposed(&w, out),
            None => out.copy_from_slice(&w),
        }
    }
}

impl Part {
    fn precision(&self, theta: &[f64]) -> Vec<f64> {
        let structure = &self.component.structure;
        let mut values = vec![0.0; structure.nodes().entries.len()];
        structure.precision(theta, &mut values);
        values
    }

    /// `None` where the precision is not positive definite.
    fn prior(&self, precision: &[f64]) -> Option<Prior> {
        let diagonal = self.component.structure.nodes().is_diagonal();
        if diagonal && precision.iter().all(|v| *v == 1.0) {
            return Some(None);
        }
        self.ordered.factor(precision).map(|f| Some(Arc::new(f)))
    }
}

fn refuse_too_large(values: usize, what: &str) -> Result<(), Error> {
    let bytes = values.saturating_mul(8);
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the factor of `{what}` would hold {values} numbers, {:.1} GB, for each chain and several at a time: at most {:.1} GB \
         are accepted. Take fewer nodes: a coarser mesh or fewer neighbours, rounded times or places, fewer levels of `by`",
        bytes as f64 / 1e9,
        MOST_BYTES as f64 / 1e9
    )))
}

fn constraints(parts: &[Part]) -> Vec<Constraint> {
    let mut all = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        let nodes = part.component.structure.nodes();
        if nodes.null.is_empty() {
            continue;
        }
        let mut at: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes.count];
        let first = all.len();
        for ((v, vector), taker) in nodes.null.iter().enumerate().zip(part.takers.iter()) {
            for (node, value) in vector {
                at[*node as usize].push((first + v, *value));
            }
            let place = |node: u32| (part.from as u32) + part.ordered.place[node as usize];
            all.push(Constraint {
                part: p,
                node: vector.first().map_or(0, |(node, _)| *node as usize),
                rows: Vec::new(),
                taker: taker.iter().map(|(node, v)| (place(*node), *v)).collect(),
            });
        }
        for row in 0..part.component.rows.len() {
            let mut sums: Vec<(usize, f64)> = Vec::new();
            for (node, weight) in part.component.rows.row(row) {
                for (constraint, value) in &at[node as usize] {
                    match sums.iter_mut().find(|(c, _)| c == constraint) {
                        Some((_, sum)) => *sum += weight * value,
                        None => sums.push((*constraint, weight * value)),
                    }
                }
            }
            for (constraint, value) in sums {
                all[constraint].rows.push((row as u32, value));
            }
        }
    }
    all
}

/// The system at one x.
pub(crate) struct AdditiveSystem<'a> {
    pub additive: &'a Additive,
    pub at: &'a AdditiveAt,
}

impl System for AdditiveSystem<'_> {
    type Step = AdditiveRoot;
    type Root = AdditiveRoot;

    fn dim(&self) -> usize {
        self.additive.dim()
    }

    fn spare(&self) -> usize {
        self.additive.spare()
    }

    fn push(&self, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        let all = self.additive;
        let width = all.fixed.width;
        let (border, free) = y.split_at(all.border());
        let (w, spare) = spare.split_at_mut(all.free);
        match (&all.process, &self.at.process) {
            (Some(process), Some(at)) => process.push_many(at, &border[width..], eta, spare),
            _ => eta.fill(0.0),
        }
        wide(
            #[inline(always)]
            || all.fixed.push(&border[..width], eta),
        );
        w.copy_from_slice(free);
        all.to_nodes(self.at, w);
        all.joint.push(&self.at.design, w, eta);
        for (constraint, scale) in all.constraints.iter().zip(&self.at.along) {
            let level: f64 = constraint
                .taker
                .iter()
                .map(|(k, v)| v * w[*k as usize])
                .sum();
            for (row, value) in &constraint.rows {
                eta[*row as usize] -= scale * level * value;
            }
        }
    }

    fn pull(&self, g: &[f64], out: &mut [f64], spare: &mut [f64]) {
        let all = self.additive;
        let width = all.fixed.width;
        let (border, free) = out.split_at_mut(all.border());
        wide(
            #[inline(always)]
            || all.fixed.pull(g, &mut border[..width]),
        );
        if let (Some(process), Some(at)) = (&all.process, &self.at.process) {
            let at_places = &mut spare[..process.places.len];
            process.collect(g, at_places);
            at.root.multiply_transposed(at_places, &mut border[width..]);
        }
        all.joint.pull(&self.at.design, g, free);
        for (constraint, scale) in all.constraints.iter().zip(&self.at.along) {
            let parts = constraint.rows.iter();
            let level: f64 = parts.map(|(row, v)| v * g[*row as usize]).sum();
            for (k, value) in &constraint.taker {
                free[*k as usize] -= scale * level * value;
            }
        }
        for (part, prior) in all.parts.iter().zip(&self.at.priors) {
            if let Some(factor) = prior {
                factor.solve(&mut free[part.from..part.from + part.len]);
            }
        }
    }

    fn natural(&self, y: &[f64]) -> Vec<f64> {
        let all = self.additive;
        let (width, border) = (all.fixed.width, all.border());
        let mut natural = y.to_vec();
        if let Some(at) = &self.at.process {
            at.root
                .multiply(&y[width..border], &mut natural[width..border]);
        }
        let w = &mut natural[border..];
        all.to_nodes(self.at, w);
        for (w, scale) in w.iter_mut().zip(all.free_scales(self.at)) {
            *w *= scale;
        }
        natural
    }

    fn whitened(&self, natural: &[f64]) -> Vec<f64> {
        let all = self.additive;
        let (width, border) = (all.fixed.width, all.border());
        let mut y = natural.to_vec();
        if let Some(at) = &self.at.process {
            at.root.solve(&mut y[width..border]);
        }
        let mut w = natural[border..].to_vec();
        for (w, scale) in w.iter_mut().zip(all.free_scales(self.at)) {
            *w /= scale;
        }
        for (part, prior) in all.parts.iter().zip(&self.at.priors) {
            let range = part.from..part.from + part.len;
            let out = &mut y[border + part.from..border + part.from + part.len];
            match prior {
                Some(factor) => factor.multiply_transposed(&w[range], out),
                None => out.copy_from_slice(&w[range]),
            }
        }
        y
    }

    fn step(&self, weights: &[f64]) -> Option<AdditiveRoot> {
        self.root(weights)
    }

    fn solve_step(&self, step: &AdditiveRoot, v: &mut [f64], _: &mut Work) {
        step.solve_curvature(v);
    }

    fn root(&self, weights: &[f64]) -> Option<AdditiveRoot> {
        AdditiveRoot::new(self, weights)
    }
}

impl Additive {
    /// The scale of each free node, in the order of w.
    fn free_scales(&self, at: &AdditiveAt) -> Vec<f64> {
        let mut scales = vec![1.0; self.free];
        for (part, scale) in self.parts.iter().zip(&at.scales) {
            let free = &part.component.structure.nodes().free;
            for (node, place) in free.iter().zip(&part.ordered.place) {
                scales[part.from + *place as usize] = scale[*node as usize];
            }
        }
        scales
    }
}

/// Reports of a draw, and the way back.
impl Additive {
    /// Parameters as they are reported, in place among all slow ones.
    pub fn reported(&self, at: &AdditiveAt, slow: &mut [f64]) {
        for (part, theta) in self.parts.iter().zip(&at.theta) {
            let mut theta = theta.clone();
            part.component.structure.reported(&mut theta);
            part.put(&theta, slow);
        }
    }

    /// The inverse of [`reported`](Self::reported).
    pub fn inner(&self, slow: &mut [f64]) {
        for part in &self.parts {
            let mut theta: Vec<f64> = part.sources.iter().map(|s| s.get(slow)).collect();
            part.component.structure.inner(&mut theta);
            part.put(&theta, slow);
        }
    }

    /// The process and the effects of all components, one after another.
    pub fn report(&self, at: &AdditiveAt, y: &[f64], out: &mut [f64]) {
        let (f, mut rest) = out.split_at_mut(self.places());
        if let Some(at) = &at.process {
            at.root.multiply(&y[self.fixed.width..self.border()], f);
        }
        for (k, part) in self.parts.iter().enumerate() {
            let (here, next) = rest.split_at_mut(part.component.structure.nodes().count);
            let u = self.effects_of(at, k, y);
            part.component.structure.report(&u, here);
            rest = next;
        }
    }

    /// y from what was reported.
    pub fn recover(&self, at: &AdditiveAt, latent: &[f64], y: &mut [f64]) {
        let (f, mut rest) = latent.split_at(self.places());
        if let Some(at) = &at.process {
            let v = &mut y[self.fixed.width..self.border()];
            v.copy_from_slice(f);
            at.root.solve(v);
        }
        for (k, part) in self.parts.iter().enumerate() {
            let count = part.component.structure.nodes().count;
            let (here, next) = rest.split_at(count);
            let mut u = vec![0.0; count];
            part.component.structure.recover(here, &mut u);
            self.effects_from(at, k, &u, y);
            rest = next;
        }
    }
}

impl Part {
    fn put(&self, theta: &[f64], slow: &mut [f64]) {
        for (source, value) in self.sources.iter().zip(theta) {
            if let Source::Slow(k) = source {
                slow[*k] = *value;
            }
        }
    }
}
