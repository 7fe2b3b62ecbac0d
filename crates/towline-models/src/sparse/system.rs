//! The sparse system at one x: η from y, and the curvature's root.

use super::factor::SparseFactor;
use super::root::SparseRoot;
use super::variances::{cumulants, variances};
use super::{Sparse, SparseAt};
use crate::newton::{System, Work};
use crate::triangle::Triangle;
use crate::vector::wide;

/// The sparse system at one x.
pub(crate) struct SparseSystem<'a> {
    pub sparse: &'a Sparse,
    pub at: &'a SparseAt,
}

impl System for SparseSystem<'_> {
    type Step = SparseRoot;
    type Root = SparseRoot;

    fn dim(&self) -> usize {
        self.sparse.border() + self.sparse.effects
    }

    fn spare(&self) -> usize {
        let sizes = self.sparse.terms.iter().map(|t| t.groups * t.width);
        sizes.max().unwrap_or(0)
    }

    fn push(&self, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        let sparse = self.sparse;
        let (width, rows) = (sparse.fixed.width, sparse.fixed.rows);
        let (beta, u) = y.split_at(sparse.border());
        eta.fill(0.0);
        for class in 0..sparse.classes {
            let eta = &mut eta[class * rows..(class + 1) * rows];
            wide(
                #[inline(always)]
                || {
                    sparse
                        .fixed
                        .push(&beta[class * width..(class + 1) * width], eta)
                },
            );
            for (t, term) in sparse.terms.iter().enumerate() {
                let k = term.width;
                let b = &mut spare[..term.groups * k];
                sparse.effects_of(self.at, t, class, u, b);
                if term.z.is_empty() {
                    for (e, g) in eta.iter_mut().zip(&term.group) {
                        *e += b[*g as usize];
                    }
                } else {
                    let rows = term.group.iter().zip(term.z.chunks_exact(k));
                    for (e, (g, z)) in eta.iter_mut().zip(rows) {
                        let b = &b[*g as usize * k..(*g as usize + 1) * k];
                        for (z, b) in z.iter().zip(b) {
                            *e += z * b;
                        }
                    }
                }
            }
        }
    }

    fn pull(&self, g: &[f64], out: &mut [f64], spare: &mut [f64]) {
        let sparse = self.sparse;
        let (width, rows) = (sparse.fixed.width, sparse.fixed.rows);
        let (beta, u) = out.split_at_mut(sparse.border());
        for class in 0..sparse.classes {
            let g = &g[class * rows..(class + 1) * rows];
            wide(
                #[inline(always)]
                || {
                    sparse
                        .fixed
                        .pull(g, &mut beta[class * width..(class + 1) * width])
                },
            );
            for (term, lambda) in sparse.terms.iter().zip(&self.at.lambda) {
                let k = term.width;
                let b = &mut spare[..term.groups * k];
                b.fill(0.0);
                if term.z.is_empty() {
                    for (g, group) in g.iter().zip(&term.group) {
                        b[*group as usize] += g;
                    }
                } else {
                    for ((g, group), z) in g.iter().zip(&term.group).zip(term.z.chunks_exact(k)) {
                        let b = &mut b[*group as usize * k..(*group as usize + 1) * k];
                        for (b, z) in b.iter_mut().zip(z) {
                            *b += g * z;
                        }
                    }
                }
                let places = term.places(class);
                for (b, places) in b.chunks_exact(k).zip(places.chunks_exact(k)) {
                    for j in 0..k {
                        u[places[j] as usize] = (j..k).map(|i| lambda[i * k + j] * b[i]).sum();
                    }
                }
            }
        }
    }

    fn natural(&self, y: &[f64]) -> Vec<f64> {
        let border = self.sparse.border();
        let mut natural = y.to_vec();
        for (term, lambda) in self.sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            for places in term.places.chunks_exact(k) {
                for i in 0..k {
                    let value = (0..=i).map(|j| lambda[i * k + j] * y[border + places[j] as usize]);
                    natural[border + places[i] as usize] = value.sum();
                }
            }
        }
        natural
    }

    fn whitened(&self, natural: &[f64]) -> Vec<f64> {
        let border = self.sparse.border();
        let mut y = natural.to_vec();
        for (term, lambda) in self.sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            for places in term.places.chunks_exact(k) {
                for i in 0..k {
                    let before = (0..i).map(|j| lambda[i * k + j] * y[border + places[j] as usize]);
                    let rest = natural[border + places[i] as usize] - before.sum::<f64>();
                    y[border + places[i] as usize] = rest / lambda[i * k + i];
                }
            }
        }
        y
    }

    fn step(&self, weights: &[f64]) -> Option<SparseRoot> {
        self.root(weights)
    }

    fn solve_step(&self, step: &SparseRoot, v: &mut [f64], _: &mut Work) {
        // R⁻ᵀ R⁻¹ v, both in place.
        step.solve_root(v);
        step.solve_root_transposed(v);
    }

    fn root(&self, weights: &[f64]) -> Option<SparseRoot> {
        let values = self.curvature(weights);
        let factor = SparseFactor::new(self.sparse.pattern.clone(), &values)?;
        let mut mixed = self.mixed(weights);
        let border = self.sparse.border();
        factor.solve_many(&mut mixed, border);
        // What is left of the coefficients' own block.
        let (width, rows) = (self.sparse.fixed.width, self.sparse.fixed.rows);
        let mut own = vec![0.0; border * border];
        let mut spare = vec![0.0; rows];
        let mut pair = 0;
        for c in 0..self.sparse.classes {
            for other in 0..=c {
                let w = &weights[pair * rows..(pair + 1) * rows];
                pair += 1;
                self.sparse.fixed.gram(w, &mut spare, |a, b, value| {
                    own[(other * width + b) * border + c * width + a] = value;
                });
            }
        }
        for k in 0..border {
            own[k * border + k] += 1.0;
        }
        wide(
            #[inline(always)]
            || {
                for row in mixed.chunks_exact(border.max(1)) {
                    for (b, v) in row.iter().enumerate() {
                        for (out, a) in own[b * border..(b + 1) * border].iter_mut().zip(row) {
                            *out -= a * v;
                        }
                    }
                }
            },
        );
        let own = Triangle::root_of(own, border)?;
        Some(SparseRoot { factor, mixed, own })
    }

    fn variances(&self, root: &SparseRoot, out: &mut [f64]) -> bool {
        variances(self, root, out)
    }

    fn cumulants(&self, root: &SparseRoot, eta: &[f64], skew: &[f64]) -> (Vec<f64>, Vec<f64>) {
        cumulants(self, root, eta, skew)
    }
}
