//! One factor of a product: how its nodes enter the product's, and its covariance by itself.

use crate::additive::Ordered;
use crate::component::{Nodes, Point, Structure};
use crate::parameter::Register;
use crate::sparse::factor::SparseFactor;
use std::sync::{Arc, OnceLock};

/// A weighted sum of nodes.
pub(super) type Weights = Vec<(u32, f64)>;

/// A factor of a product.
#[derive(Debug)]
pub(super) struct Factor {
    pub structure: Arc<dyn Structure>,
    /// The number of its parameters.
    pub parameters: usize,
    /// Where its constraint is worked into the rows: each of its nodes as a weighted sum of its free ones.
    basis: Option<Vec<Weights>>,
    /// What takes away what its precision leaves open.
    takers: Vec<Weights>,
    /// For its covariance by itself, which only predictions at new places ask for.
    ordered: OnceLock<Ordered>,
    constant: OnceLock<Option<SparseFactor>>,
}

impl Factor {
    pub fn new(structure: Arc<dyn Structure>, absorbed: bool) -> Self {
        let nodes = structure.nodes();
        let mut factor = Self {
            parameters: structure.register(&mut Register::default()).len(),
            takers: nodes.takers(),
            basis: None,
            structure,
            ordered: OnceLock::new(),
            constant: OnceLock::new(),
        };
        if absorbed {
            let row = |node: u32| {
                let row = factor.onto_free(&[(node, 1.0)]).into_iter().enumerate();
                row.filter(|(_, w)| *w != 0.0)
                    .map(|(k, w)| (k as u32, w))
                    .collect()
            };
            factor.basis = Some((0..factor.nodes().count as u32).map(row).collect());
        }
        factor
    }

    /// Its own nodes.
    pub fn nodes(&self) -> &Nodes {
        self.structure.nodes()
    }

    /// How many nodes it brings to the product: all, or the free ones where a constraint is worked into the rows.
    pub fn size(&self) -> usize {
        match self.basis {
            Some(_) => self.nodes().free.len(),
            None => self.nodes().count,
        }
    }

    /// Those of them that are free in the product.
    pub fn free(&self) -> Vec<u32> {
        match self.basis {
            Some(_) => (0..self.nodes().free.len() as u32).collect(),
            None => self.nodes().free.clone(),
        }
    }

    /// What it leaves open in the product.
    pub fn open(&self) -> &[Weights] {
        match self.basis {
            Some(_) => &[],
            None => &self.nodes().null,
        }
    }

    /// A sum of its own nodes as one of those that it brings.
    pub fn brought(&self, sum: &[(u32, f64)]) -> Weights {
        let Some(basis) = &self.basis else {
            return sum.to_vec();
        };
        if let [(node, weight)] = sum
            && *weight == 1.0
        {
            return basis[*node as usize].clone();
        }
        let row = self.onto_free(sum).into_iter().enumerate();
        row.filter(|(_, w)| *w != 0.0)
            .map(|(k, w)| (k as u32, w))
            .collect()
    }

    /// The values of its own nodes from those that it brings.
    pub fn whole(&self, brought: &[f64], out: &mut [f64]) {
        match &self.basis {
            None => out.copy_from_slice(brought),
            Some(basis) => {
                for (value, row) in out.iter_mut().zip(basis) {
                    *value = row.iter().map(|(k, w)| w * brought[*k as usize]).sum();
                }
            }
        }
    }

    /// The inverse of [`whole`](Self::whole), which changes its input.
    pub fn parts(&self, whole: &mut [f64], out: &mut [f64]) {
        if self.basis.is_none() {
            out.copy_from_slice(whole);
            return;
        }
        self.nodes().hold(whole);
        for (value, node) in out.iter_mut().zip(&self.nodes().free) {
            *value = whole[*node as usize];
        }
    }

    /// A sum of nodes u = (I − N M) w as one of the free ones w.
    fn onto_free(&self, sum: &[(u32, f64)]) -> Vec<f64> {
        let nodes = self.nodes();
        let mut out = vec![0.0; nodes.free.len()];
        for (node, weight) in sum {
            if let Ok(place) = nodes.free.binary_search(node) {
                out[place] += weight;
            }
        }
        for (vector, taker) in nodes.null.iter().zip(&self.takers) {
            let at = |node: &u32| match vector.binary_search_by_key(node, |(k, _)| *k) {
                Ok(place) => vector[place].1,
                Err(_) => 0.0,
            };
            let level: f64 = sum.iter().map(|(node, weight)| weight * at(node)).sum();
            if level != 0.0 {
                for (place, value) in taker {
                    out[*place as usize] -= level * value;
                }
            }
        }
        out
    }

    fn ordered(&self) -> &Ordered {
        let nodes = self.nodes();
        self.ordered
            .get_or_init(|| Ordered::new(nodes.free.len(), &nodes.entries))
    }

    fn values(&self, theta: &[f64]) -> (Vec<f64>, Option<f64>) {
        let mut values = vec![0.0; self.nodes().entries.len()];
        let log_root = self.structure.precision(theta, &mut values);
        (values, log_root)
    }

    /// The entries of its precision, and half the logarithm of the determinant: a factor is far smaller than the product.
    pub fn precision(&self, theta: &[f64]) -> (Vec<f64>, Option<f64>) {
        let (values, known) = self.values(theta);
        let found = || self.ordered().factor(&values).map(|root| root.log_det());
        let log_root = known.or_else(found);
        (values, log_root)
    }

    /// The covariance of sums of its nodes at its parameters, row by row.
    pub fn covariance(&self, theta: &[f64], sums: &[Weights]) -> Vec<f64> {
        let n = sums.len();
        let nodes = self.nodes();
        let make = || self.ordered().factor(&self.values(theta).0);
        let own;
        let factor = if self.structure.is_constant() {
            self.constant.get_or_init(make)
        } else {
            own = make();
            &own
        };
        let Some(factor) = factor else {
            return vec![f64::NAN; n * n];
        };
        let mut scale = vec![0.0; nodes.count];
        self.structure.scale(theta, &mut scale);
        let image = |sum: &Weights| {
            let scaled = sum.iter().map(|(k, w)| (*k, w * scale[*k as usize]));
            let row = self.onto_free(&scaled.collect::<Weights>());
            let mut v = vec![0.0; row.len()];
            for (place, value) in self.ordered().place.iter().zip(row) {
                v[*place as usize] = value;
            }
            factor.solve(&mut v);
            v
        };
        let images: Vec<Vec<f64>> = sums.iter().map(image).collect();
        let between = |c: usize| crate::vector::inner(&images[c / n], &images[c % n]);
        (0..n * n).map(between).collect()
    }

    /// What places are to it: sums of its nodes, and the covariance of what is added to them; `None` where that is nothing.
    pub fn at(&self, theta: &[f64], points: &[Point]) -> (Vec<Weights>, Option<Vec<f64>>) {
        let n = points.len();
        let place = |point: &Point| match point {
            Point::Fresh(place) => Some(place.clone()),
            Point::Nodes(_) => None,
        };
        let mut sums = Vec::new();
        let mut fresh: Vec<(usize, Vec<f64>)> = Vec::new();
        for (k, point) in points.iter().enumerate() {
            sums.push(match point {
                Point::Nodes(nodes) => nodes.clone(),
                Point::Fresh(_) => Vec::new(),
            });
            fresh.extend(place(point).map(|place| (k, place)));
        }
        if fresh.is_empty() {
            return (sums, None);
        }
        let places: Vec<&[f64]> = fresh.iter().map(|(_, place)| place.as_slice()).collect();
        let there = self.structure.fresh(theta, &places);
        let mut covariance = vec![0.0; n * n];
        for (a, (i, _)) in fresh.iter().enumerate() {
            sums[*i] = there.weights[a].clone();
            for (b, (j, _)) in fresh.iter().enumerate() {
                covariance[i * n + j] = there.covariance[a * fresh.len() + b];
            }
        }
        (sums, Some(covariance))
    }
}
