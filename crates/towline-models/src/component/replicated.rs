//! A component that is there once for each group, with the same parameters: `by = g`.

use super::{Fresh, Input, Nodes, Point, Structure};
use crate::error::Error;
use crate::parameter::{Register, Source};
use std::sync::Arc;

/// Independent copies of a component.
#[derive(Debug)]
pub(crate) struct Replicated {
    one: Arc<dyn Structure>,
    copies: usize,
    nodes: Nodes,
}

impl Replicated {
    pub fn new(one: Arc<dyn Structure>, copies: usize) -> Self {
        let of = one.nodes();
        let (count, free) = (of.count as u32, of.free.len() as u32);
        let mut nodes = Nodes {
            count: of.count * copies,
            ..Nodes::default()
        };
        for copy in 0..copies as u32 {
            nodes.free.extend(of.free.iter().map(|k| k + copy * count));
            let entries = of.entries.iter();
            nodes
                .entries
                .extend(entries.map(|[i, j]| [i + copy * free, j + copy * free]));
            for vector in &of.null {
                let moved = vector.iter().map(|(node, v)| (node + copy * count, *v));
                nodes.null.push(moved.collect());
            }
        }
        Self { one, copies, nodes }
    }

    /// A point of one copy, which has so many nodes.
    pub fn moved(point: Point, copy: usize, size: usize) -> Point {
        match point {
            Point::Nodes(nodes) => {
                let shift = (copy * size) as u32;
                Point::Nodes(nodes.into_iter().map(|(n, w)| (n + shift, w)).collect())
            }
            Point::Fresh(mut place) => {
                place.push(copy as f64);
                Point::Fresh(place)
            }
        }
    }
}

impl Structure for Replicated {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        self.one.register(register)
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let (first, rest) = out.split_at_mut(out.len() / self.copies.max(1));
        let log_root = self.one.precision(theta, first);
        for part in rest.chunks_exact_mut(first.len().max(1)) {
            part.copy_from_slice(first);
        }
        log_root.map(|one| self.copies as f64 * one)
    }

    fn is_constant(&self) -> bool {
        self.one.is_constant()
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        let (first, rest) = out.split_at_mut(out.len() / self.copies.max(1));
        self.one.scale(theta, first);
        for part in rest.chunks_exact_mut(first.len().max(1)) {
            part.copy_from_slice(first);
        }
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        self.one.locate(input)
    }

    /// Places of one copy have nothing to do with those of another.
    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let (n, size) = (places.len(), self.one.nodes().count);
        let mut fresh = Fresh::nothing(n);
        let copy_of = |place: &[f64]| place.last().map_or(0, |c| *c as usize);
        for copy in 0..self.copies {
            let members: Vec<usize> = (0..n).filter(|k| copy_of(places[*k]) == copy).collect();
            if members.is_empty() {
                continue;
            }
            let own: Vec<&[f64]> = members
                .iter()
                .map(|k| &places[*k][..places[*k].len() - 1])
                .collect();
            let one = self.one.fresh(theta, &own);
            let shift = (copy * size) as u32;
            for (a, i) in members.iter().enumerate() {
                let weights = one.weights[a].iter();
                fresh.weights[*i] = weights.map(|(k, w)| (k + shift, *w)).collect();
                for (b, j) in members.iter().enumerate() {
                    fresh.covariance[i * n + j] = one.covariance[a * members.len() + b];
                }
            }
        }
        fresh
    }

    fn reports(&self) -> usize {
        self.copies * self.one.reports()
    }

    fn report(&self, u: &[f64], out: &mut [f64]) {
        let parts = out.chunks_exact_mut(out.len() / self.copies.max(1));
        for (u, out) in u.chunks_exact(self.one.nodes().count).zip(parts) {
            self.one.report(u, out);
        }
    }

    fn recover(&self, reported: &[f64], u: &mut [f64]) {
        let parts = reported.chunks_exact(reported.len() / self.copies.max(1));
        for (u, part) in u.chunks_exact_mut(self.one.nodes().count).zip(parts) {
            self.one.recover(part, u);
        }
    }
}
