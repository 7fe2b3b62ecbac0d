//! The system at one x: η from y, and the curvature's root.

use super::{Additive, AdditiveAt, AdditiveRoot};
use crate::newton::{System, Work, take};
use crate::vector::{inner, wide};

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
            if let Some(factor) = prior.root() {
                factor.solve(&mut free[part.from..part.from + part.len]);
            }
        }
    }

    fn prior_inner(&self, a: &[f64], b: &[f64]) -> f64 {
        let border = self.additive.border();
        let mut sum = inner(&a[..border], &b[..border]);
        for (part, prior) in self.additive.parts.iter().zip(&self.at.priors) {
            let range = border + part.from..border + part.from + part.len;
            let (a, b) = (&a[range.clone()], &b[range]);
            sum += match prior.quadratic() {
                Some(quadratic) => quadratic.inner(a, b),
                None => inner(a, b),
            };
        }
        sum
    }

    fn take_prior(&self, y: &[f64], g: &mut [f64]) -> f64 {
        let border = self.additive.border();
        let mut square = take(&y[..border], &mut g[..border]);
        for (part, prior) in self.additive.parts.iter().zip(&self.at.priors) {
            let range = border + part.from..border + part.from + part.len;
            let (y, g) = (&y[range.clone()], &mut g[range]);
            square += match prior.quadratic() {
                Some(quadratic) => quadratic.take_from(y, g),
                None => take(y, g),
            };
        }
        square
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
            match prior.root() {
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
