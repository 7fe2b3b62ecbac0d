//! The joint precision of all free nodes given the data, Q + AᵀWA: its pattern once, its values at every x.

use super::Part;
use super::ordered::Ordered;
use crate::sparse::factor::SparseFactor;

/// The rows of all components together, and where their products go.
#[derive(Debug)]
pub(crate) struct Joint {
    starts: Vec<u32>,
    /// Free nodes of all components.
    columns: Vec<u32>,
    /// What multiplies them, without scales.
    weights: Vec<f64>,
    /// Where the scale of each is: component and node.
    scale_of: Vec<[u32; 2]>,
    ordered: Ordered,
    /// Where each entry of Q goes, component by component.
    prior_slots: Vec<u32>,
    /// Row by row, where each product of two entries a ≥ b of the row goes.
    row_slots: Vec<u32>,
    entries: usize,
}

impl Joint {
    /// How many products and entries [`new`](Self::new) would lay out.
    pub fn entries_of(parts: &[Part], rows: usize) -> usize {
        let prior = parts
            .iter()
            .map(|p| p.component.structure.nodes().entries.len());
        let row = |row: usize| {
            let of = |part: &Part| part.component.rows.row(row).count();
            let nodes: usize = parts.iter().map(of).sum();
            nodes * (nodes + 1) / 2
        };
        prior.sum::<usize>() + (0..rows).map(row).sum::<usize>()
    }

    pub fn new(parts: &[Part], free: usize, rows: usize) -> Self {
        let (mut starts, mut columns) = (vec![0u32], Vec::new());
        let (mut weights, mut scale_of) = (Vec::new(), Vec::new());
        let places: Vec<Vec<Option<u32>>> = parts
            .iter()
            .map(|part| {
                let mut places = part.component.structure.nodes().among_free();
                for place in places.iter_mut().flatten() {
                    *place = part.from as u32 + part.ordered.place[*place as usize];
                }
                places
            })
            .collect();
        for row in 0..rows {
            for (p, part) in parts.iter().enumerate() {
                for (node, weight) in part.component.rows.row(row) {
                    if let Some(place) = places[p][node as usize] {
                        columns.push(place);
                        weights.push(weight);
                        scale_of.push([p as u32, node]);
                    }
                }
            }
            starts.push(columns.len() as u32);
        }
        // All entries with repetitions, then each once.
        let mut all: Vec<[u32; 2]> = Vec::new();
        for part in parts {
            for [i, j] in &part.component.structure.nodes().entries {
                let place = |k: u32| part.from as u32 + part.ordered.place[k as usize];
                let (i, j) = (place(*i), place(*j));
                all.push([i.max(j), i.min(j)]);
            }
        }
        let prior = all.len();
        for row in starts.windows(2) {
            let columns = &columns[row[0] as usize..row[1] as usize];
            for (a, i) in columns.iter().enumerate() {
                for j in &columns[..=a] {
                    all.push([*i.max(j), *i.min(j)]);
                }
            }
        }
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        let ordered = Ordered::new(free, &unique);
        let slot = |entry: &[u32; 2]| {
            let at = unique.binary_search(entry).unwrap_or(0);
            ordered.slot(at)
        };
        let slots: Vec<u32> = all.iter().map(slot).collect();
        let row_slots = slots[prior..].to_vec();
        let prior_slots = slots[..prior].to_vec();
        Self {
            starts,
            columns,
            weights,
            scale_of,
            prior_slots,
            row_slots,
            entries: unique.len(),
            ordered,
        }
    }

    /// The number of values of the joint factor.
    pub fn factor_len(&self) -> usize {
        self.ordered.factor_len()
    }

    /// The place of each free node in the order of elimination.
    pub fn place(&self) -> &[u32] {
        &self.ordered.place
    }

    /// A with these scales.
    pub fn design(&self, scales: &[Vec<f64>]) -> Vec<f64> {
        let scale = |[part, node]: &[u32; 2]| scales[*part as usize][*node as usize];
        let pairs = self.weights.iter().zip(&self.scale_of);
        pairs.map(|(weight, of)| weight * scale(of)).collect()
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// eta += A w.
    pub fn push(&self, design: &[f64], w: &[f64], eta: &mut [f64]) {
        for (row, e) in eta.iter_mut().enumerate() {
            let range = self.range(row);
            let pairs = design[range.clone()].iter().zip(&self.columns[range]);
            for (a, column) in pairs {
                *e += a * w[*column as usize];
            }
        }
    }

    /// out = Aᵀ g.
    pub fn pull(&self, design: &[f64], g: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (row, g) in g.iter().enumerate() {
            self.each(design, row, |column, a| out[column] += a * g);
        }
    }

    /// Calls `f` with the columns of a row and their values.
    pub fn each(&self, design: &[f64], row: usize, mut f: impl FnMut(usize, f64)) {
        let range = self.range(row);
        for (a, column) in design[range.clone()].iter().zip(&self.columns[range]) {
            f(*column as usize, *a);
        }
    }

    /// The factor of Q + AᵀWA; `None` where that is not positive definite.
    pub fn factor(
        &self,
        precision: &[f64],
        design: &[f64],
        weights: &[f64],
    ) -> Option<SparseFactor> {
        let mut values = vec![0.0; self.entries];
        for (slot, value) in self.prior_slots.iter().zip(precision) {
            values[*slot as usize] += value;
        }
        let mut slots = self.row_slots.iter();
        for (row, w) in weights.iter().enumerate() {
            let a = &design[self.range(row)];
            for i in 0..a.len() {
                let wa = w * a[i];
                for (value, slot) in a[..=i].iter().zip(&mut slots) {
                    values[*slot as usize] += wa * value;
                }
            }
        }
        self.ordered.factor_of(&values)
    }
}
