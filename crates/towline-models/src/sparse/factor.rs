//! A sparse Cholesky factor: its pattern found once, its values at every x, half solves in place.

use super::runs::Runs;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::prelude::default;
use faer::sparse::linalg::cholesky::supernodal::SupernodalLltRef;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymbolicCholeskyRaw, SymmetricOrdering,
    factorize_symbolic_cholesky,
};
use faer::sparse::linalg::{SupernodalThreshold, amd};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat, SymbolicSparseColMatRef};
use faer::{Par, Side};
use std::sync::{Arc, OnceLock};

/// Where a factor takes so many of faer's default number of operations (40) for each of its values, it is made by blocks of columns: on a
/// product of districts and years and on fields that takes a tenth less of the whole fit than the default, while New York's tracts, which
/// have fewer, would lose a quarter by blocks.
const BLOCKS_PAY: f64 = 0.25;

/// The pattern of a symmetric matrix and of its factor.
#[derive(Debug)]
pub(crate) struct Pattern {
    matrix: SymbolicSparseColMat<usize>,
    symbolic: SymbolicCholesky<usize>,
    /// The factor as solves go through it.
    runs: Runs,
    lists: OnceLock<Arc<Lists>>,
}

/// The rows of each column of a factor, the diagonal first.
#[derive(Debug)]
pub(crate) struct Lists {
    pub starts: Vec<usize>,
    pub rows: Vec<u32>,
}

/// A triangle's columns and rows from its entries (row, column), and the position of each entry.
fn compressed(dim: usize, entries: &[[u32; 2]]) -> (Vec<usize>, Vec<usize>, Vec<u32>) {
    let mut order: Vec<u32> = (0..entries.len() as u32).collect();
    order.sort_unstable_by_key(|k| {
        let [row, column] = entries[*k as usize];
        (column, row)
    });
    let mut starts = vec![0; dim + 1];
    let mut rows = Vec::with_capacity(entries.len());
    let mut slots = vec![0; entries.len()];
    for (position, k) in order.iter().enumerate() {
        let [row, column] = entries[*k as usize];
        rows.push(row as usize);
        starts[column as usize + 1] = position + 1;
        slots[*k as usize] = position as u32;
    }
    for j in 0..dim {
        starts[j + 1] = starts[j + 1].max(starts[j]);
    }
    (starts, rows, slots)
}

impl Pattern {
    /// An order of elimination that fills in little (approximate minimum degree): the new place of each variable.
    pub fn least_fill(dim: usize, entries: &[[u32; 2]]) -> Vec<u32> {
        let (starts, rows, _) = compressed(dim, entries);
        let matrix = SymbolicSparseColMatRef::new_checked(dim, dim, &starts, None, &rows);
        let (mut forward, mut inverse) = (vec![0usize; dim], vec![0usize; dim]);
        let mut memory =
            MemBuffer::new(amd::order_maybe_unsorted_scratch::<usize>(dim, rows.len()));
        let done = amd::order_maybe_unsorted(
            &mut forward,
            &mut inverse,
            matrix,
            default(),
            MemStack::new(&mut memory),
        );
        match done {
            Ok(_) => inverse.into_iter().map(|k| k as u32).collect(),
            Err(_) => (0..dim as u32).collect(),
        }
    }

    /// From entries of the lower triangle, the diagonal among them; also the position of each entry.
    pub fn new(dim: usize, entries: Vec<[u32; 2]>) -> (Self, Vec<u32>) {
        // Without a reordering, faer reads the upper triangle.
        let upper: Vec<[u32; 2]> = entries.into_iter().map(|[i, j]| [j, i]).collect();
        let (starts, rows, slots) = compressed(dim, &upper);
        let matrix = SymbolicSparseColMat::new_checked(dim, dim, starts, None, rows);
        let symbolic = factorize_symbolic_cholesky(
            matrix.as_ref(),
            Side::Upper,
            SymmetricOrdering::Identity,
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: SupernodalThreshold(BLOCKS_PAY),
                ..CholeskySymbolicParams::default()
            },
        )
        .expect("a pattern that fits in memory has a factor");
        let pattern = Self {
            runs: Runs::new(&symbolic),
            matrix,
            symbolic,
            lists: OnceLock::new(),
        };
        (pattern, slots)
    }

    /// The number of values of the factor.
    pub fn factor_len(&self) -> usize {
        self.symbolic.len_val()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.matrix.row_idx().len()
    }
}

/// F with F Fᵀ the matrix.
#[derive(Debug)]
pub(crate) struct SparseFactor {
    pattern: Arc<Pattern>,
    values: Vec<f64>,
    /// One over each diagonal: solves wait for a product instead of a division, one after the other.
    inverse: Vec<f64>,
    log_det: f64,
}

impl SparseFactor {
    /// `None` where the matrix is not positive definite.
    pub fn new(pattern: Arc<Pattern>, matrix: &[f64]) -> Option<Self> {
        let symbolic = &pattern.symbolic;
        let (mut values, dim) = (vec![0.0; symbolic.len_val()], symbolic.nrows());
        let mut inverse = vec![0.0; dim];
        match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(_) => {
                let upper = (pattern.matrix.col_ptr(), pattern.matrix.row_idx());
                pattern
                    .runs
                    .factorise(upper, matrix, &mut values, &mut inverse)?;
            }
            SymbolicCholeskyRaw::Supernodal(_) if dim == 0 => {}
            SymbolicCholeskyRaw::Supernodal(_) => {
                let request = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, default());
                let mut memory = MemBuffer::new(request);
                symbolic
                    .factorize_numeric_llt(
                        &mut values,
                        SparseColMatRef::new(pattern.matrix.as_ref(), matrix),
                        Side::Upper,
                        default(),
                        Par::Seq,
                        MemStack::new(&mut memory),
                        default(),
                    )
                    .ok()?;
                let diagonals = pattern.runs.diagonals(&values);
                inverse
                    .iter_mut()
                    .zip(diagonals)
                    .for_each(|(i, d)| *i = 1.0 / d);
            }
        }
        let log_det = log_product(pattern.runs.diagonals(&values));
        let factor = Self {
            pattern,
            values,
            inverse,
            log_det,
        };
        log_det.is_finite().then_some(factor)
    }

    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// Calls `each` with every column in turn (or in reverse): its number, its diagonal, the rows below and their values.
    #[inline(always)]
    fn columns(&self, reverse: bool, mut each: impl FnMut(usize, f64, Rows, &[f64])) {
        match self.pattern.symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(symbolic) => {
                let (starts, rows) = (symbolic.col_ptr(), symbolic.row_idx());
                let dim = symbolic.nrows();
                let mut one = |j: usize| {
                    let (from, to) = (starts[j], starts[j + 1]);
                    each(
                        j,
                        self.values[from],
                        Rows::Listed(&rows[from + 1..to]),
                        &self.values[from + 1..to],
                    );
                };
                if reverse {
                    (0..dim).rev().for_each(&mut one);
                } else {
                    (0..dim).for_each(&mut one);
                }
            }
            SymbolicCholeskyRaw::Supernodal(symbolic) => {
                let factor = SupernodalLltRef::new(symbolic, &self.values);
                let mut one = |s: usize| {
                    let node = factor.supernode(s);
                    let (start, val, pattern) = (node.start(), node.val(), node.pattern());
                    let size = val.ncols();
                    let mut column = |j: usize| {
                        let slice = val
                            .col(j)
                            .try_as_col_major()
                            .expect("stored by columns")
                            .as_slice();
                        let inside = Rows::Node {
                            first: start + j + 1,
                            inside: size - j - 1,
                            below: pattern,
                        };
                        each(start + j, slice[j], inside, &slice[j + 1..]);
                    };
                    if reverse {
                        (0..size).rev().for_each(&mut column);
                    } else {
                        (0..size).for_each(&mut column);
                    }
                };
                let nodes = symbolic.n_supernodes();
                if reverse {
                    (0..nodes).rev().for_each(&mut one);
                } else {
                    (0..nodes).for_each(&mut one);
                }
            }
        }
    }

    /// The rows of each column: made once for a pattern.
    pub fn lists(&self) -> Arc<Lists> {
        let make = || {
            let mut lists = Lists {
                starts: vec![0],
                rows: Vec::with_capacity(self.values.len()),
            };
            self.columns(false, |j, _, rows, values| {
                lists.rows.push(j as u32);
                rows.each(values, |i, _| lists.rows.push(i as u32));
                lists.starts.push(lists.rows.len());
            });
            Arc::new(lists)
        };
        self.pattern.lists.get_or_init(make).clone()
    }

    /// The values in the order of [`lists`](Self::lists).
    pub fn listed(&self) -> Vec<f64> {
        let mut all = Vec::with_capacity(self.values.len());
        self.columns(false, |_, diagonal, _, values| {
            all.push(diagonal);
            all.extend_from_slice(values);
        });
        all
    }

    /// v becomes F⁻¹ v.
    pub fn solve(&self, v: &mut [f64]) {
        self.pattern.runs.solve(&self.values, &self.inverse, v);
    }

    /// v becomes F⁻ᵀ v.
    pub fn solve_transposed(&self, v: &mut [f64]) {
        let Self {
            pattern,
            values,
            inverse,
            ..
        } = self;
        pattern.runs.solve_transposed(values, inverse, v);
    }

    /// out = F v.
    pub fn multiply(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.columns(false, |j, diagonal, rows, values| {
            let pivot = v[j];
            out[j] += diagonal * pivot;
            rows.each(values, |i, value| out[i] += value * pivot);
        });
    }

    /// out = Fᵀ v.
    pub fn multiply_transposed(&self, v: &[f64], out: &mut [f64]) {
        self.columns(false, |j, diagonal, rows, values| {
            let mut sum = diagonal * v[j];
            rows.each(values, |i, value| sum += value * v[i]);
            out[j] = sum;
        });
    }

    /// F⁻ᵀ of several vectors at once: variable by variable, a row of `width` of them.
    pub fn solve_transposed_many(&self, v: &mut [f64], width: usize) {
        if width == 0 {
            return;
        }
        let mut sums = vec![0.0; width];
        self.columns(true, |j, _, rows, values| {
            sums.copy_from_slice(&v[j * width..(j + 1) * width]);
            rows.each(values, |i, value| {
                for (s, v) in sums.iter_mut().zip(&v[i * width..(i + 1) * width]) {
                    *s -= value * v;
                }
            });
            for (v, s) in v[j * width..(j + 1) * width].iter_mut().zip(&sums) {
                *v = s * self.inverse[j];
            }
        });
    }

    /// F⁻¹ of several vectors at once: variable by variable, a row of `width` of them.
    pub fn solve_many(&self, v: &mut [f64], width: usize) {
        if width == 0 {
            return;
        }
        if width == 1 {
            return self.solve(v);
        }
        let mut pivot = vec![0.0; width];
        self.columns(false, |j, _, rows, values| {
            for (p, v) in pivot.iter_mut().zip(&mut v[j * width..(j + 1) * width]) {
                *v *= self.inverse[j];
                *p = *v;
            }
            rows.each(values, |i, value| {
                for (v, p) in v[i * width..(i + 1) * width].iter_mut().zip(&pivot) {
                    *v -= value * p;
                }
            });
        });
    }
}

/// ln of a product of positive numbers: a logarithm for many of them at once.
fn log_product(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut product) = (0.0, 1.0f64);
    for number in numbers {
        // Of two numbers in this range the product is still one that is exact to rounding.
        if !(1e-100..1e100).contains(&product) || !(1e-100..1e100).contains(&number) {
            sum += product.ln();
            product = 1.0;
        }
        product *= number;
    }
    sum + product.ln()
}

/// The rows below a column's diagonal.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Listed(&'a [usize]),
    /// Some that follow one another, then a list.
    Node {
        first: usize,
        inside: usize,
        below: &'a [usize],
    },
}

impl Rows<'_> {
    #[inline(always)]
    fn each(self, values: &[f64], mut f: impl FnMut(usize, f64)) {
        match self {
            Self::Listed(rows) => {
                for (row, value) in rows.iter().zip(values) {
                    f(*row, *value);
                }
            }
            Self::Node {
                first,
                inside,
                below,
            } => {
                let (near, far) = values.split_at(inside);
                for (k, value) in near.iter().enumerate() {
                    f(first + k, *value);
                }
                for (row, value) in below.iter().zip(far) {
                    f(*row, *value);
                }
            }
        }
    }
}
