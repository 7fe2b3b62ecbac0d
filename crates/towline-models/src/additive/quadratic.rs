//! wᵀQw of a component's nodes, from the precision itself.
//!
//! The nodes w serve as y just as well as Fᵀw, which is standard normal: frames move with x, and what a drag does in them is the same
//! for both. With nodes, no evaluation solves with F: the frame's map ends at w, and w is what the predictor is made of. Of F only the
//! determinant is needed, which many components know without it.

use super::ordered::Ordered;
use crate::sparse::factor::SparseFactor;
use crate::vector::square;
use std::sync::Arc;
use towline::Rng;

/// The relative error of wᵀQw that is too much: of thousands of nodes, which make a log density of thousands, less than a
/// ten-thousandth is lost.
const MOST_ERROR: f64 = 1e-8;

/// Where the entries of Q stand in the order of w: its diagonal, and every entry below it, one after the other. A loop over the rows,
/// which are short, would lose more time to guessing where each ends than to its arithmetic.
#[derive(Debug)]
pub(crate) struct Form {
    /// The entry of each node's diagonal.
    diagonal: Vec<u32>,
    pairs: Vec<[u32; 2]>,
    /// The entry of each pair.
    entries: Vec<u32>,
}

impl Form {
    /// From where Q has entries, among free nodes.
    pub fn new(ordered: &Ordered, entries: &[[u32; 2]]) -> Self {
        let mut diagonal = vec![0; ordered.place.len()];
        let mut below: Vec<([u32; 2], u32)> = Vec::new();
        for (entry, [i, j]) in entries.iter().enumerate() {
            let (i, j) = (ordered.place[*i as usize], ordered.place[*j as usize]);
            if i == j {
                diagonal[i as usize] = entry as u32;
            } else {
                below.push(([i.max(j), i.min(j)], entry as u32));
            }
        }
        below.sort_unstable_by_key(|(pair, _)| *pair);
        let (pairs, entries) = below.into_iter().unzip();
        Self {
            diagonal,
            pairs,
            entries,
        }
    }

    /// With these values of the entries, and ln |F|.
    pub fn at(self: &Arc<Self>, values: &[f64], log_det: f64) -> Quadratic {
        let of = |entries: &[u32]| entries.iter().map(|k| values[*k as usize]).collect();
        Quadratic {
            diagonal: of(&self.diagonal),
            values: of(&self.entries),
            form: self.clone(),
            log_det,
        }
    }
}

/// Q in the order of w.
#[derive(Debug)]
pub(crate) struct Quadratic {
    form: Arc<Form>,
    diagonal: Vec<f64>,
    values: Vec<f64>,
    /// ln |F|: what the density of w has beside −½ wᵀQw.
    pub log_det: f64,
}

impl Quadratic {
    /// Whether wᵀQw is more than what differences of large numbers leave of it (as of a second-order walk of thousands of times): tried with
    /// a draw by Q's factor, whose wᵀQw is known.
    pub fn is_exact(&self, factor: &SparseFactor) -> bool {
        let mut rng = Rng::stream(0, 0);
        let mut w: Vec<f64> = self.diagonal.iter().map(|_| rng.normal()).collect();
        let known = square(&w);
        factor.solve_transposed(&mut w);
        let error = (self.inner(&w, &w) - known).abs();
        error <= MOST_ERROR * known
    }

    /// aᵀQb.
    pub fn inner(&self, a: &[f64], b: &[f64]) -> f64 {
        let own = self.diagonal.iter().zip(a).zip(b);
        let own: f64 = own.map(|((d, a), b)| d * a * b).sum();
        let across = self
            .form
            .pairs
            .iter()
            .zip(&self.values)
            .map(|([i, j], value)| {
                let (i, j) = (*i as usize, *j as usize);
                value * (a[i] * b[j] + a[j] * b[i])
            });
        own + across.sum::<f64>()
    }

    /// Takes Qw from g, and returns wᵀQw.
    pub fn take_from(&self, w: &[f64], g: &mut [f64]) -> f64 {
        let mut square = 0.0;
        for ((g, w), d) in g.iter_mut().zip(w).zip(&self.diagonal) {
            *g -= d * w;
            square += d * w * w;
        }
        let mut across = 0.0;
        for ([i, j], value) in self.form.pairs.iter().zip(&self.values) {
            let (i, j) = (*i as usize, *j as usize);
            let (first, second) = (value * w[j], value * w[i]);
            g[i] -= first;
            g[j] -= second;
            across += first * w[i];
        }
        square + 2.0 * across
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A walk of `order` differences whose first nodes are held by a unit precision.
    fn walk(dim: usize, order: usize) -> (Ordered, Vec<[u32; 2]>, Vec<f64>) {
        let step: &[f64] = if order == 1 {
            &[-1.0, 1.0]
        } else {
            &[1.0, -2.0, 1.0]
        };
        let mut entries = std::collections::BTreeMap::new();
        for first in 0..dim - order {
            for (a, v) in step.iter().enumerate() {
                for (b, u) in step[..=a].iter().enumerate() {
                    let place = [(first + a) as u32, (first + b) as u32];
                    *entries.entry(place).or_insert(0.0) += v * u;
                }
            }
        }
        for k in 0..order as u32 {
            *entries.entry([k, k]).or_insert(0.0) += 1.0;
        }
        let (entries, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        (Ordered::new(dim, &entries), entries, values)
    }

    #[test]
    fn the_square_and_its_gradient_are_those_of_the_factor() {
        let (ordered, entries, values) = walk(40, 2);
        let factor = ordered.factor(&values).unwrap();
        let form = Arc::new(Form::new(&ordered, &entries));
        let q = form.at(&values, factor.log_det());
        assert!(q.is_exact(&factor));
        let a: Vec<f64> = (0..40).map(|k| (f64::from(k) * 0.7).sin()).collect();
        let b: Vec<f64> = (0..40).map(|k| (f64::from(k) * 1.3).cos()).collect();
        let white = |v: &[f64]| {
            let mut out = vec![0.0; 40];
            factor.multiply_transposed(v, &mut out);
            out
        };
        let (wa, wb) = (white(&a), white(&b));
        let known: f64 = wa.iter().zip(&wb).map(|(x, y)| x * y).sum();
        assert!((q.inner(&a, &b) - known).abs() < 1e-10);
        let mut g = vec![0.0; 40];
        assert!((q.take_from(&a, &mut g) - square(&wa)).abs() < 1e-10);
        let mut known = vec![0.0; 40];
        factor.multiply(&wa, &mut known);
        assert!(g.iter().zip(&known).all(|(g, k)| (g + k).abs() < 1e-10));
    }

    #[test]
    fn a_precision_whose_squares_would_be_differences_of_large_numbers_is_left_to_its_factor() {
        for (dim, order, fine) in [(2000, 1, true), (200, 2, true), (4000, 2, false)] {
            let (ordered, entries, values) = walk(dim, order);
            let factor = ordered.factor(&values).unwrap();
            let form = Arc::new(Form::new(&ordered, &entries));
            let q = form.at(&values, factor.log_det());
            assert_eq!(q.is_exact(&factor), fine, "{dim} times, order {order}");
        }
    }
}
