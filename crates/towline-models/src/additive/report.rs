//! Reports of a draw, and the way back.

use super::{Additive, AdditiveAt};

impl Additive {
    /// u of one component, all its nodes, on the scale of η.
    pub fn effects_of(&self, at: &AdditiveAt, part: usize, y: &[f64]) -> Vec<f64> {
        let (scale, root) = (&at.scales[part], at.priors[part].root());
        let part = &self.parts[part];
        let from = self.border() + part.from;
        let mut w = y[from..from + part.len].to_vec();
        if let Some(factor) = root {
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
        let (scale, root) = (&at.scales[part], at.priors[part].root());
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
        match root {
            Some(factor) => factor.multiply_transposed(&w, out),
            None => out.copy_from_slice(&w),
        }
    }

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
            let (here, next) = rest.split_at_mut(part.component.structure.reports());
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
            let structure = &part.component.structure;
            let (here, next) = rest.split_at(structure.reports());
            let mut u = vec![0.0; structure.nodes().count];
            structure.recover(here, &mut u);
            self.effects_from(at, k, &u, y);
            rest = next;
        }
    }
}
