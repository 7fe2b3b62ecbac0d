//! Entries of the inverse of a sparse matrix, where its factor has entries (Takahashi's equations).

use super::factor::{Lists, SparseFactor};
use std::sync::Arc;

/// (F Fᵀ)⁻¹ where F is not zero.
#[derive(Debug)]
pub(crate) struct Selected {
    lists: Arc<Lists>,
    values: Vec<f64>,
}

impl Selected {
    /// From the last column to the first: with C the inverse and F = L D, column j of C follows from the columns of the
    /// rows below its diagonal, all of whose pairs the factor has too.
    pub fn new(factor: &SparseFactor) -> Self {
        let lists = factor.lists();
        let dim = lists.starts.len() - 1;
        // F, of which column after column becomes C.
        let mut values = factor.listed();
        // Which column is being made, where its rows are, and what has been summed for each.
        let mut made = vec![u32::MAX; dim];
        let mut below = vec![0.0; dim];
        let mut sums = vec![0.0; dim];
        for j in (0..dim).rev() {
            let (from, to) = (lists.starts[j], lists.starts[j + 1]);
            let diagonal = values[from];
            for k in from + 1..to {
                let row = lists.rows[k] as usize;
                made[row] = j as u32;
                below[row] = values[k] / diagonal;
                sums[row] = 0.0;
            }
            for k in from + 1..to {
                let row = lists.rows[k] as usize;
                let pivot = below[row];
                let (start, end) = (lists.starts[row], lists.starts[row + 1]);
                let mut sum = sums[row] + pivot * values[start];
                for (i, c) in lists.rows[start + 1..end]
                    .iter()
                    .zip(&values[start + 1..end])
                {
                    let i = *i as usize;
                    if made[i] == j as u32 {
                        sum += below[i] * c;
                        sums[i] += pivot * c;
                    }
                }
                sums[row] = sum;
            }
            let mut own = 1.0 / (diagonal * diagonal);
            for k in from + 1..to {
                let row = lists.rows[k] as usize;
                own += below[row] * sums[row];
                values[k] = -sums[row];
            }
            values[from] = own;
        }
        Self { lists, values }
    }

    /// About what it takes to make one, in multiplications.
    pub fn cost(lists: &Lists) -> usize {
        let lengths = lists.starts.windows(2).map(|s| s[1] - s[0]);
        lengths.map(|n| n * n).sum()
    }

    /// One entry; zero where the factor has none.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (i.max(j), i.min(j));
        let (from, to) = (self.lists.starts[column], self.lists.starts[column + 1]);
        match self.lists.rows[from..to].binary_search(&(row as u32)) {
            Ok(k) => self.values[from + k],
            Err(_) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::factor::Pattern;

    #[test]
    fn entries_are_those_of_the_inverse() {
        // Few and many variables: the factor is simplicial, then supernodal.
        for (dim, reach) in [(1_usize, 1_usize), (6, 2), (40, 7), (200, 60)] {
            let mut entries = Vec::new();
            let mut matrix = Vec::new();
            for i in 0..dim {
                for j in i.saturating_sub(reach)..=i {
                    // A band with holes.
                    if i == j || (i * 7 + j * 3) % 4 != 0 {
                        entries.push([i as u32, j as u32]);
                        let value = ((i * 13 + j * 5) % 11) as f64 / 11.0 - 0.4;
                        matrix.push(if i == j { reach as f64 + 1.5 } else { value });
                    }
                }
            }
            let (pattern, slots) = Pattern::new(dim, entries.clone());
            let mut values = vec![0.0; pattern.len()];
            for (slot, value) in slots.iter().zip(&matrix) {
                values[*slot as usize] = *value;
            }
            let factor = SparseFactor::new(Arc::new(pattern), &values).unwrap();
            let selected = Selected::new(&factor);
            for j in 0..dim {
                let mut column = vec![0.0; dim];
                column[j] = 1.0;
                factor.solve(&mut column);
                factor.solve_transposed(&mut column);
                for [a, b] in entries.iter().filter(|[_, b]| *b as usize == j) {
                    let got = selected.get(*a as usize, *b as usize);
                    let wanted = column[*a as usize];
                    assert!(
                        (got - wanted).abs() < 1e-12,
                        "{dim} {a} {b}: {got} {wanted}"
                    );
                }
            }
        }
    }
}
