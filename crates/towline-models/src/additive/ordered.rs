//! A sparse symmetric matrix in an order of little fill: the pattern and order found once, factors at any values.

use crate::sparse::factor::{Pattern, SparseFactor};
use std::sync::Arc;

/// A pattern with its order of elimination.
#[derive(Debug)]
pub(crate) struct Ordered {
    /// The place of each variable in that order.
    pub place: Vec<u32>,
    pattern: Arc<Pattern>,
    /// Where each given entry goes.
    slots: Vec<u32>,
}

impl Ordered {
    /// From entries (row, column) with row ≥ column, each once, the diagonal among them.
    pub fn new(dim: usize, entries: &[[u32; 2]]) -> Self {
        let diagonal = entries.iter().all(|[i, j]| i == j);
        let place: Vec<u32> = if diagonal {
            (0..dim as u32).collect()
        } else {
            Pattern::least_fill(dim, entries)
        };
        let moved = entries.iter().map(|[i, j]| {
            let (i, j) = (place[*i as usize], place[*j as usize]);
            [i.max(j), i.min(j)]
        });
        let (pattern, slots) = Pattern::new(dim, moved.collect());
        Self {
            place,
            pattern: Arc::new(pattern),
            slots,
        }
    }

    /// The number of values of a factor.
    pub fn factor_len(&self) -> usize {
        self.pattern.factor_len()
    }

    /// The slot of an entry, in the matrix that [`factor_of`](Self::factor_of) takes.
    pub fn slot(&self, entry: usize) -> u32 {
        self.slots[entry]
    }

    /// The factor of a matrix with these entries; `None` where it is not positive definite.
    pub fn factor(&self, values: &[f64]) -> Option<SparseFactor> {
        let mut matrix = vec![0.0; values.len()];
        for (slot, value) in self.slots.iter().zip(values) {
            matrix[*slot as usize] = *value;
        }
        self.factor_of(&matrix)
    }

    /// The factor of a matrix whose values are in their slots.
    pub fn factor_of(&self, matrix: &[f64]) -> Option<SparseFactor> {
        SparseFactor::new(self.pattern.clone(), matrix)
    }
}
