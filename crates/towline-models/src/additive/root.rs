//! The frame's root: R of the curvature in w, and the way from w to y.
//!
//! R = R₀ (I + U(C − I)Uᵀ), where R₀ = [[S, B], [0, F]] for the border and the free nodes in their order of elimination,
//! F sparse, B = (F⁻¹G)ᵀ dense; the second factor is what constraints change.

use super::AdditiveSystem;
use super::joint::Joint;
use super::low_rank::LowRank;
use crate::dense::weighted_square;
use crate::sparse::factor::SparseFactor;
use crate::triangle::Triangle;
use crate::vector::inner;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};
use std::sync::Arc;
use towline::linalg::RootMap;

/// From so many vectors on they are solved for all at once. (With a product's two dozen that about halves their time; fewer were not measured.)
const WORTH_TOGETHER: usize = 6;

/// The root of the curvature at one x.
#[derive(Debug)]
pub(crate) struct AdditiveRoot {
    border: usize,
    joint: Arc<Joint>,
    factor: SparseFactor,
    /// F⁻¹ G: free node by free node in the order of elimination, a row for the whole border.
    mixed: Vec<f64>,
    own: Triangle,
    held: Option<LowRank>,
    /// F of each component whose y is Fᵀw, and where its nodes are.
    roots: Vec<(usize, usize, Arc<SparseFactor>)>,
    log_det: f64,
}

impl AdditiveRoot {
    pub fn new(system: &AdditiveSystem, weights: &[f64]) -> Option<Self> {
        let (all, at) = (system.additive, system.at);
        let factor = all.joint.factor(&at.precision, &at.design, weights)?;
        let border = all.border();
        let mut mixed = mixed(system, weights);
        factor.solve_many(&mut mixed, border);
        let mut own = border_block(system, weights);
        if border > 0 && all.free > 0 {
            let columns = MatRef::from_column_major_slice(&mixed, border, all.free);
            matmul(
                MatMut::from_column_major_slice_mut(&mut own, border, border),
                BlockStructure::TriangularLower,
                Accum::Add,
                columns,
                BlockStructure::Rectangular,
                columns.transpose(),
                BlockStructure::Rectangular,
                -1.0,
                Par::Seq,
            );
        }
        let parts = all.parts.iter().zip(&at.priors);
        let mut root = Self {
            border,
            joint: all.joint.clone(),
            factor,
            mixed,
            own: Triangle::root_of(own, border)?,
            held: None,
            roots: parts
                .filter_map(|(part, prior)| Some((part.from, part.len, prior.root()?.clone())))
                .collect(),
            log_det: 0.0,
        };
        if !all.constraints.is_empty() {
            root.held = Some(held(system, weights, &root)?);
        }
        let of_priors = root.roots.iter().map(|(_, _, f)| f.log_det());
        root.log_det = of_priors.sum::<f64>()
            - root.own.log_det()
            - root.factor.log_det()
            - root.held.as_ref().map_or(0.0, LowRank::log_det);
        Some(root)
    }

    /// Free nodes into their order of elimination.
    fn put_in_order(&self, free: &mut [f64]) {
        let before = free.to_vec();
        for (value, place) in before.iter().zip(self.joint.place()) {
            free[*place as usize] = *value;
        }
    }

    fn take_out_of_order(&self, free: &mut [f64]) {
        let before = free.to_vec();
        for (value, place) in free.iter_mut().zip(self.joint.place()) {
            *value = before[*place as usize];
        }
    }

    /// v becomes R₀⁻¹ v.
    fn solve_plain(&self, v: &mut [f64]) {
        self.factor.solve(&mut v[self.border..]);
        self.solve_border(v);
    }

    /// The same of several: the factor is gone through once for all of them.
    fn solve_plain_each(&self, columns: &mut [Vec<f64>]) {
        let (width, border) = (columns.len(), self.border);
        if width < WORTH_TOGETHER {
            columns.iter_mut().for_each(|v| self.solve_plain(v));
            return;
        }
        let mut together = vec![0.0; width * self.joint.place().len()];
        for (c, v) in columns.iter().enumerate() {
            let row = together.chunks_exact_mut(width);
            row.zip(&v[border..]).for_each(|(row, v)| row[c] = *v);
        }
        self.factor.solve_many(&mut together, width);
        for (c, v) in columns.iter_mut().enumerate() {
            let row = together.chunks_exact(width);
            v[border..]
                .iter_mut()
                .zip(row)
                .for_each(|(v, row)| *v = row[c]);
            self.solve_border(v);
        }
    }

    /// What is left of R₀⁻¹ v once the free nodes are solved for.
    fn solve_border(&self, v: &mut [f64]) {
        let (beta, w) = v.split_at_mut(self.border);
        if let [beta] = beta {
            // An intercept alone: one sum.
            *beta -= inner(&self.mixed, w);
        } else {
            for (row, w) in self.mixed.chunks_exact(self.border.max(1)).zip(&*w) {
                for (b, m) in beta.iter_mut().zip(row) {
                    *b -= m * w;
                }
            }
        }
        self.own.solve(beta);
    }

    /// v becomes R⁻¹ v.
    fn solve_root(&self, v: &mut [f64]) {
        self.solve_plain(v);
        if let Some(held) = &self.held {
            held.solve(v);
        }
    }

    /// v becomes R⁻ᵀ v.
    fn solve_root_transposed(&self, v: &mut [f64]) {
        if let Some(held) = &self.held {
            held.solve_transposed(v);
        }
        let (beta, w) = v.split_at_mut(self.border);
        self.own.solve_transposed(beta);
        if let [beta] = beta {
            w.iter_mut()
                .zip(&self.mixed)
                .for_each(|(w, m)| *w -= m * *beta);
        } else {
            let rows = self.mixed.chunks_exact(self.border.max(1));
            for (row, w) in rows.zip(w.iter_mut()) {
                for (b, m) in beta.iter().zip(row) {
                    *w -= m * b;
                }
            }
        }
        self.factor.solve_transposed(w);
    }

    /// Applies something to the nodes of each component that has a prior factor: (factor, input, output).
    fn with_roots(&self, free: &mut [f64], f: impl Fn(&SparseFactor, &[f64], &mut [f64])) {
        for (from, len, factor) in &self.roots {
            let part = &mut free[*from..from + len];
            let before = part.to_vec();
            f(factor, &before, part);
        }
    }

    /// v becomes H⁻¹ v, both in y.
    pub fn solve_curvature(&self, v: &mut [f64]) {
        let border = self.border;
        self.with_roots(&mut v[border..], |f, before, out| f.multiply(before, out));
        self.put_in_order(&mut v[border..]);
        self.solve_root(v);
        self.solve_root_transposed(v);
        self.take_out_of_order(&mut v[border..]);
        self.with_roots(&mut v[border..], |f, before, out| {
            f.multiply_transposed(before, out);
        });
    }
}

impl RootMap for AdditiveRoot {
    fn apply(&self, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(z);
        self.solve_root_transposed(out);
        let free = &mut out[self.border..];
        self.take_out_of_order(free);
        self.with_roots(free, |f, before, out| f.multiply_transposed(before, out));
    }

    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        let free = &mut v[self.border..];
        self.with_roots(free, |f, before, out| {
            out.copy_from_slice(before);
            f.solve_transposed(out);
        });
        self.put_in_order(free);
        let (beta, w) = v.split_at(self.border);
        let (out_beta, out_w) = out.split_at_mut(self.border);
        self.own.multiply_transposed(beta, out_beta);
        self.factor.multiply_transposed(w, out_w);
        for (row, out) in self.mixed.chunks_exact(self.border.max(1)).zip(out_w) {
            for (b, m) in beta.iter().zip(row) {
                *out += m * b;
            }
        }
        if let Some(held) = &self.held {
            held.multiply_transposed(out);
        }
    }

    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        let free = &mut out[self.border..];
        self.with_roots(free, |f, before, out| f.multiply(before, out));
        self.put_in_order(free);
        self.solve_root(out);
    }

    fn log_det(&self) -> f64 {
        self.log_det
    }
}

/// G = AᵀW[X, L]: free node by free node in the order of elimination, a row for the whole border.
fn mixed(system: &AdditiveSystem, weights: &[f64]) -> Vec<f64> {
    let (all, at) = (system.additive, system.at);
    let (border, width, places) = (all.border(), all.fixed.width, all.places());
    let mut mixed = vec![0.0; all.free * border];
    let order = all.joint.place();
    for (row, w) in weights.iter().enumerate() {
        let x = all.fixed.row(row);
        let place = all.process.as_ref().map(|p| p.place(row));
        all.joint.each(&at.design, row, |column, a| {
            let wa = w * a;
            let from = order[column] as usize * border;
            let out = &mut mixed[from..from + border];
            for (out, x) in out.iter_mut().zip(x) {
                *out += wa * x;
            }
            if let Some(place) = place {
                let root = &at.rows[place * places..place * places + place + 1];
                for (out, l) in out[width..].iter_mut().zip(root) {
                    *out += wa * l;
                }
            }
        });
    }
    mixed
}

/// I + [X, L]ᵀW[X, L], lower triangle, column by column.
fn border_block(system: &AdditiveSystem, weights: &[f64]) -> Vec<f64> {
    let (all, at) = (system.additive, system.at);
    let (border, width) = (all.border(), all.fixed.width);
    let mut own = vec![0.0; border * border];
    let mut spare = vec![0.0; weights.len()];
    if let (Some(process), Some(at)) = (&all.process, &at.process) {
        let n = process.places.len;
        let mut at_places = vec![0.0; n];
        let mut scaled = vec![0.0; n * n];
        process.collect(weights, &mut at_places);
        weighted_square(
            &at.root,
            &at_places,
            &mut scaled,
            &mut own,
            border,
            width,
            width,
        );
        for k in 0..width {
            for ((s, x), w) in spare.iter_mut().zip(all.fixed.column(k)).zip(weights) {
                *s = x * w;
            }
            process.collect(&spare, &mut at_places);
            let column = &mut own[k * border + width..(k + 1) * border];
            at.root.multiply_transposed(&at_places, column);
        }
    }
    all.fixed.gram(weights, &mut spare, |a, b, value| {
        own[b * border + a] = value;
    });
    for k in 0..border {
        own[k * border + k] += 1.0;
    }
    own
}

/// What constraints change: with B = [X, L, A] and A − D M for A, H₀ becomes H₀ + [E, M] [[0, −I], [−I, DᵀWD]] [E, M]ᵀ,
/// E = BᵀWD.
fn held(system: &AdditiveSystem, weights: &[f64], root: &AdditiveRoot) -> Option<LowRank> {
    let (all, at) = (system.additive, system.at);
    let (border, width, dim) = (all.border(), all.fixed.width, all.dim());
    let k = all.constraints.len();
    let order = all.joint.place();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut along = vec![0.0; weights.len()];
    for (constraint, scale) in all.constraints.iter().zip(&at.along) {
        along.fill(0.0);
        for (row, value) in &constraint.rows {
            along[*row as usize] = weights[*row as usize] * scale * value;
        }
        let mut e = vec![0.0; dim];
        all.fixed.pull(&along, &mut e[..width]);
        if let (Some(process), Some(at)) = (&all.process, &at.process) {
            let mut at_places = vec![0.0; process.places.len];
            process.collect(&along, &mut at_places);
            at.root
                .multiply_transposed(&at_places, &mut e[width..border]);
        }
        for (row, _) in &constraint.rows {
            let g = along[*row as usize];
            all.joint.each(&at.design, *row as usize, |column, a| {
                e[border + order[column] as usize] += a * g;
            });
        }
        columns.push(e);
    }
    for constraint in &all.constraints {
        let mut m = vec![0.0; dim];
        for (node, value) in &constraint.taker {
            m[border + order[*node as usize] as usize] = *value;
        }
        columns.push(m);
    }
    root.solve_plain_each(&mut columns);
    let mut s = vec![0.0; 4 * k * k];
    let size = 2 * k;
    for a in 0..k {
        s[a * size + k + a] = -1.0;
        s[(k + a) * size + a] = -1.0;
        let (first, scale) = (&all.constraints[a], at.along[a]);
        along.fill(0.0);
        for (row, value) in &first.rows {
            along[*row as usize] = weights[*row as usize] * scale * value;
        }
        for (b, other) in all.constraints.iter().enumerate() {
            let parts = other.rows.iter();
            let sum: f64 = parts.map(|(row, v)| v * along[*row as usize]).sum();
            s[(k + a) * size + k + b] = at.along[b] * sum;
        }
    }
    LowRank::new(columns, &s, dim)
}
