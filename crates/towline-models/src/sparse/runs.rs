//! A factor as solves go through it: columns that follow each other and have the same rows below, up to four at once.
//!
//! One column at a time, a product waits for the one before (F⁻ᵀ), or every number of v is loaded and stored for a single
//! product (F⁻¹, and the factorisation itself). Together, each row's number is read once for all of them.

use faer::sparse::linalg::cholesky::{SymbolicCholesky, SymbolicCholeskyRaw};

/// Columns at once, at most.
const MOST: usize = 4;

/// Some columns with the same rows below them.
#[derive(Debug, Clone, Copy)]
struct Run {
    first: u32,
    /// 1, 2 or 4.
    count: u32,
    /// Where the rows of its first column begin in the list, the diagonal first.
    rows: u32,
    /// The number of rows below all of its columns.
    below: u32,
    /// Where the values of each column begin, with the diagonal.
    values: [u32; MOST],
}

/// All columns of a factor.
#[derive(Debug)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    rows: Vec<u32>,
    /// For the factorisation row by row, where there is no other: where columns begin, and the columns that have an entry in each row,
    /// as runs of this first column and count.
    starts: Vec<u32>,
    by_row: Vec<(u32, u8)>,
    row_starts: Vec<usize>,
}

/// Cuts a number of columns into runs of 4, 2 and 1.
fn cut(mut count: usize, mut each: impl FnMut(usize, usize)) {
    let mut at = 0;
    while count > 0 {
        let size = match count {
            0 | 1 => 1,
            2 | 3 => 2,
            _ => MOST,
        };
        each(at, size);
        at += size;
        count -= size;
    }
}

impl Runs {
    pub fn new(symbolic: &SymbolicCholesky<usize>) -> Self {
        let mut all = Self {
            runs: Vec::new(),
            rows: Vec::new(),
            starts: Vec::new(),
            by_row: Vec::new(),
            row_starts: Vec::new(),
        };
        match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                let (starts, rows) = (symbolic.col_ptr(), symbolic.row_idx());
                let dim = symbolic.nrows();
                all.rows = rows.iter().map(|r| *r as u32).collect();
                let same = |j: usize| {
                    let (a, b) = (starts[j], starts[j + 1]);
                    j + 2 <= dim
                        && b - a == starts[j + 2] - b + 1
                        && rows.get(a + 1) == Some(&(j + 1))
                };
                all.starts = starts.iter().map(|s| *s as u32).collect();
                // The last of the columns that begin with `first` and have the same rows below.
                let last_of = |first: usize| {
                    let mut last = first;
                    while last + 1 < dim && same(last) {
                        last += 1;
                    }
                    last
                };
                // Of a row inside such columns, only those before it.
                let each_row = |each: &mut dyn FnMut(usize, usize, usize)| {
                    let mut first = 0;
                    while first < dim {
                        let last = last_of(first);
                        for row in &rows[starts[first] + 1..starts[first + 1]] {
                            cut((*row).min(last + 1) - first, |at, count| {
                                each(*row, first + at, count);
                            });
                        }
                        first = last + 1;
                    }
                };
                let mut first = 0;
                while first < dim {
                    let last = last_of(first);
                    cut(last + 1 - first, |at, count| {
                        let begin = first + at;
                        all.runs.push(Run {
                            first: begin as u32,
                            count: count as u32,
                            rows: starts[begin] as u32,
                            below: (starts[begin + 1] - starts[begin] - count) as u32,
                            values: std::array::from_fn(|c| starts[(begin + c).min(dim)] as u32),
                        });
                    });
                    first = last + 1;
                }
                let mut counts = vec![0usize; dim + 1];
                each_row(&mut |row, _, _| counts[row + 1] += 1);
                for row in 0..dim {
                    counts[row + 1] += counts[row];
                }
                all.row_starts = counts.clone();
                all.by_row = vec![(0, 0); counts[dim]];
                each_row(&mut |row, first, count| {
                    all.by_row[counts[row]] = (first as u32, count as u8);
                    counts[row] += 1;
                });
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let (begins, ends) = (symbolic.supernode_begin(), symbolic.supernode_end());
                let values = symbolic.col_ptr_for_val();
                for (s, (begin, end)) in begins.iter().zip(ends).enumerate() {
                    let pattern = symbolic.supernode(s).pattern();
                    let (size, from) = (end - begin, all.rows.len());
                    let height = size + pattern.len();
                    all.rows.extend((*begin..*end).map(|r| r as u32));
                    all.rows.extend(pattern.iter().map(|r| *r as u32));
                    let diagonal = |c: usize| values[s] + c * height + c;
                    cut(size, |at, count| {
                        all.runs.push(Run {
                            first: (begin + at) as u32,
                            count: count as u32,
                            rows: (from + at) as u32,
                            below: (height - at - count) as u32,
                            values: std::array::from_fn(|c| diagonal(at + c) as u32),
                        });
                    });
                }
            }
        }
        all
    }

    /// The diagonal, column by column.
    pub fn diagonals<'a>(&'a self, values: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.runs.iter().flat_map(|run| {
            let places = run.values[..run.count as usize].iter();
            places.map(|place| values[*place as usize])
        })
    }

    /// The rows below a run.
    #[inline(always)]
    fn below(&self, run: &Run) -> &[u32] {
        let from = (run.rows + run.count) as usize;
        &self.rows[from..from + run.below as usize]
    }

    /// v becomes F⁻¹ v.
    pub fn solve(&self, values: &[f64], inverse: &[f64], v: &mut [f64]) {
        for run in &self.runs {
            let rows = self.below(run);
            match run.count {
                1 => forward::<1>(run, rows, values, inverse, v),
                2 => forward::<2>(run, rows, values, inverse, v),
                _ => forward::<4>(run, rows, values, inverse, v),
            }
        }
    }

    /// v becomes F⁻ᵀ v.
    pub fn solve_transposed(&self, values: &[f64], inverse: &[f64], v: &mut [f64]) {
        for run in self.runs.iter().rev() {
            let rows = self.below(run);
            match run.count {
                1 => backward::<1>(run, rows, values, inverse, v),
                2 => backward::<2>(run, rows, values, inverse, v),
                _ => backward::<4>(run, rows, values, inverse, v),
            }
        }
    }

    /// The factor of a matrix given by its upper triangle (where columns begin, and rows), row by row: each row is solved for with those
    /// above it. `None` where the matrix is not positive definite.
    pub fn factorise(
        &self,
        upper: (&[usize], &[usize]),
        matrix: &[f64],
        values: &mut [f64],
        inverse: &mut [f64],
    ) -> Option<()> {
        let dim = inverse.len();
        let mut x = vec![0.0; dim];
        // Where the next entry of each column goes: right behind its diagonal at first.
        let mut next: Vec<u32> = self.starts[..dim].iter().map(|start| start + 1).collect();
        for row in 0..dim {
            let entries = upper.0[row]..upper.0[row + 1];
            for (column, value) in upper.1[entries.clone()].iter().zip(&matrix[entries]) {
                x[*column] = *value;
            }
            let mut pivot = x[row];
            x[row] = 0.0;
            for (first, count) in &self.by_row[self.row_starts[row]..self.row_starts[row + 1]] {
                let first = *first as usize;
                pivot -= match count {
                    1 => self.eliminate::<1>(first, values, inverse, &mut next, &mut x),
                    2 => self.eliminate::<2>(first, values, inverse, &mut next, &mut x),
                    _ => self.eliminate::<4>(first, values, inverse, &mut next, &mut x),
                };
            }
            // False where it is no number, too.
            let positive = pivot > 0.0;
            if !positive {
                return None;
            }
            let root = pivot.sqrt();
            values[self.starts[row] as usize] = root;
            inverse[row] = 1.0 / root;
        }
        Some(())
    }

    /// The entries of a row in the columns of a run, and what they take from the columns that follow; returns the sum of
    /// their squares.
    #[inline(always)]
    fn eliminate<const N: usize>(
        &self,
        first: usize,
        values: &mut [f64],
        inverse: &[f64],
        next: &mut [u32],
        x: &mut [f64],
    ) -> f64 {
        let starts: [usize; N] = std::array::from_fn(|c| self.starts[first + c] as usize);
        let mut entries = [0.0; N];
        let mut square = 0.0;
        for c in 0..N {
            let entry = x[first + c] * inverse[first + c];
            x[first + c] = 0.0;
            for e in c + 1..N {
                x[first + e] -= values[starts[c] + e - c] * entry;
            }
            square += entry * entry;
            entries[c] = entry;
        }
        // The rows of this run that are already known.
        let known = next[first] as usize - starts[0] - N;
        let rows = &self.rows[starts[0] + N..starts[0] + N + known];
        {
            let columns = tails::<N>(&starts, values, known);
            for (t, row) in rows.iter().enumerate() {
                let mut sum = 0.0;
                for c in 0..N {
                    sum += columns[c][t] * entries[c];
                }
                x[*row as usize] -= sum;
            }
        }
        for c in 0..N {
            values[next[first + c] as usize] = entries[c];
            next[first + c] += 1;
        }
        square
    }
}

/// The first values below a run, column by column.
#[inline(always)]
fn tails<'a, const N: usize>(starts: &[usize; N], values: &'a [f64], len: usize) -> [&'a [f64]; N] {
    std::array::from_fn(|c| {
        let from = starts[c] + N - c;
        &values[from..from + len]
    })
}

#[inline(always)]
fn forward<const N: usize>(
    run: &Run,
    rows: &[u32],
    values: &[f64],
    inverse: &[f64],
    v: &mut [f64],
) {
    let first = run.first as usize;
    let mut pivots = [0.0; N];
    for c in 0..N {
        let pivot = v[first + c] * inverse[first + c];
        v[first + c] = pivot;
        let from = run.values[c] as usize;
        for e in c + 1..N {
            v[first + e] -= values[from + e - c] * pivot;
        }
        pivots[c] = pivot;
    }
    let starts = std::array::from_fn(|c| run.values[c] as usize);
    let columns = tails::<N>(&starts, values, rows.len());
    for (t, row) in rows.iter().enumerate() {
        let mut sum = 0.0;
        for c in 0..N {
            sum += columns[c][t] * pivots[c];
        }
        v[*row as usize] -= sum;
    }
}

#[inline(always)]
fn backward<const N: usize>(
    run: &Run,
    rows: &[u32],
    values: &[f64],
    inverse: &[f64],
    v: &mut [f64],
) {
    let first = run.first as usize;
    let starts = std::array::from_fn(|c| run.values[c] as usize);
    let columns = tails::<N>(&starts, values, rows.len());
    let mut sums = [0.0; N];
    for (t, row) in rows.iter().enumerate() {
        let value = v[*row as usize];
        for c in 0..N {
            sums[c] += columns[c][t] * value;
        }
    }
    for c in (0..N).rev() {
        let from = run.values[c] as usize;
        let mut rest = v[first + c] - sums[c];
        for e in c + 1..N {
            rest -= values[from + e - c] * v[first + e];
        }
        v[first + c] = rest * inverse[first + c];
    }
}

#[cfg(test)]
mod tests {
    use crate::sparse::factor::{Pattern, SparseFactor};
    use std::sync::Arc;

    /// A band with holes, its matrix, and its factor.
    fn band(dim: usize, reach: usize) -> (Vec<f64>, Option<SparseFactor>) {
        let (mut entries, mut dense) = (Vec::new(), vec![0.0; dim * dim]);
        let mut matrix = Vec::new();
        for i in 0..dim {
            for j in i.saturating_sub(reach)..=i {
                if i == j || (i * 7 + j * 3) % 4 != 0 {
                    entries.push([i as u32, j as u32]);
                    let value = match i == j {
                        true => reach as f64 + 1.5,
                        false => ((i * 13 + j * 5) % 11) as f64 / 11.0 - 0.4,
                    };
                    matrix.push(value);
                    (dense[i * dim + j], dense[j * dim + i]) = (value, value);
                }
            }
        }
        let (pattern, slots) = Pattern::new(dim, entries);
        let mut values = vec![0.0; pattern.len()];
        for (slot, value) in slots.iter().zip(&matrix) {
            values[*slot as usize] = *value;
        }
        (dense, SparseFactor::new(Arc::new(pattern), &values))
    }

    #[test]
    fn solves_products_and_determinants_belong_to_the_matrix() {
        // Factors of runs of one, two and four columns, row by row and by faer.
        for (dim, reach) in [(1, 1), (2, 1), (7, 6), (6, 2), (40, 7), (90, 30), (200, 60)] {
            let (dense, factor) = band(dim, reach);
            let factor = factor.unwrap();
            let v: Vec<f64> = (0..dim).map(|k| (k as f64 * 0.7).sin()).collect();
            let mut solved = v.clone();
            factor.solve(&mut solved);
            let mut back = vec![0.0; dim];
            factor.multiply(&solved, &mut back);
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11);
            assert!(near(&back, &v), "{dim}");
            factor.solve_transposed(&mut solved);
            let whole: Vec<f64> = dense
                .chunks_exact(dim)
                .map(|row| row.iter().zip(&solved).map(|(a, b)| a * b).sum())
                .collect();
            assert!(near(&whole, &v), "{dim}");
            factor.multiply_transposed(&solved, &mut back);
            factor.solve_transposed(&mut back);
            assert!(near(&back, &solved), "{dim}");
            let matrix = faer::Mat::from_fn(dim, dim, |i, j| dense[i * dim + j]);
            let root = matrix.llt(faer::Side::Lower).unwrap();
            let known: f64 = (0..dim).map(|k| root.L()[(k, k)].ln()).sum();
            assert!((factor.log_det() - known).abs() < 1e-11, "{dim}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        let (pattern, _) = Pattern::new(2, vec![[0, 0], [1, 0], [1, 1]]);
        let pattern = Arc::new(pattern);
        for (matrix, has) in [
            ([1.0, 0.5, 1.0], true),
            ([1.0, 2.0, 1.0], false),
            ([1.0, f64::NAN, 1.0], false),
            ([-1.0, 0.0, 1.0], false),
        ] {
            assert_eq!(SparseFactor::new(pattern.clone(), &matrix).is_some(), has);
        }
    }
}
