//! Moments of the linear predictor and of the effects under the Gaussian approximation of a root.

use super::root::SparseRoot;
use super::selected::Selected;
use super::system::SparseSystem;
use crate::vector::{dot, square};

/// Multiplications for each observation beyond which variances cost more than they bring: groups that cross without end.
const MOST_PER_ROW: usize = 1000;

/// What the moments are made from.
struct Inverse<'a> {
    system: &'a SparseSystem<'a>,
    root: &'a SparseRoot,
    /// (F Fᵀ)⁻¹.
    effects: Selected,
    /// (F Fᵀ)⁻¹ G: what effects and coefficients have in common.
    across: Vec<f64>,
}

impl<'a> Inverse<'a> {
    fn new(system: &'a SparseSystem<'a>, root: &'a SparseRoot) -> Self {
        let mut across = root.mixed.clone();
        let border = system.sparse.border();
        root.factor.solve_transposed_many(&mut across, border);
        Self {
            system,
            root,
            effects: Selected::new(&root.factor),
            across,
        }
    }

    /// The row of A for one observation: where the effects are that it has, and what multiplies them; and S⁻¹ of what is
    /// left of the coefficients' part when the effects' is taken out.
    fn row(&self, row: usize, entries: &mut Vec<(usize, f64)>, beta: &mut [f64]) {
        let sparse = self.system.sparse;
        entries.clear();
        beta.copy_from_slice(sparse.fixed.row(row));
        for (term, lambda) in sparse.terms.iter().zip(&self.system.at.lambda) {
            let (k, z) = (term.width, term.z(row));
            let from = term.group[row] as usize * k;
            for (j, place) in term.places(0)[from..from + k].iter().enumerate() {
                let value = (j..k).map(|i| lambda[i * k + j] * z[i]).sum();
                entries.push((*place as usize, value));
                let own = self.across(*place as usize).iter();
                beta.iter_mut().zip(own).for_each(|(b, a)| *b -= value * a);
            }
        }
        self.root.own.solve(beta);
    }

    fn across(&self, place: usize) -> &[f64] {
        let border = self.system.sparse.border();
        &self.across[place * border..(place + 1) * border]
    }
}

/// The variance of each η; whether it was found, at a price that is worth it.
pub(super) fn variances(system: &SparseSystem, root: &SparseRoot, out: &mut [f64]) -> bool {
    let sparse = system.sparse;
    let cost = Selected::cost(&root.factor.lists());
    if sparse.classes > 1 || cost > MOST_PER_ROW * sparse.fixed.rows {
        return false;
    }
    let inverse = Inverse::new(system, root);
    let (mut entries, mut beta) = (Vec::new(), vec![0.0; sparse.border()]);
    for (row, variance) in out.iter_mut().enumerate() {
        inverse.row(row, &mut entries, &mut beta);
        *variance = square(&beta);
        for (n, (place, value)) in entries.iter().enumerate() {
            *variance += value * value * inverse.effects.get(*place, *place);
            for (other, with) in &entries[..n] {
                *variance += 2.0 * value * with * inverse.effects.get(*place, *other);
            }
        }
    }
    true
}

/// Variances and third cumulants of the effects, from the variances of η and the skewness that each observation alone
/// gives its own: what it does to an effect is in proportion to their covariance.
pub(super) fn cumulants(
    system: &SparseSystem,
    root: &SparseRoot,
    eta: &[f64],
    skew: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (sparse, border) = (system.sparse, system.sparse.border());
    let inverse = Inverse::new(system, root);
    let (mut entries, mut beta) = (Vec::new(), vec![0.0; border]);
    let variance = (0..sparse.effects).map(|place| {
        beta.copy_from_slice(inverse.across(place));
        root.own.solve(&mut beta);
        inverse.effects.get(place, place) + square(&beta)
    });
    let variance: Vec<f64> = variance.collect();
    let mut third = vec![0.0; sparse.effects];
    for (row, (eta, skew)) in eta.iter().zip(skew).enumerate() {
        inverse.row(row, &mut entries, &mut beta);
        root.own.solve_transposed(&mut beta);
        for (place, _) in &entries {
            let of = |(other, value): &(usize, f64)| value * inverse.effects.get(*place, *other);
            let own: f64 = entries.iter().map(of).sum();
            let covariance = own - dot(inverse.across(*place), &beta);
            third[*place] += skew * (covariance / eta.sqrt()).powi(3);
        }
    }
    (variance, third)
}
