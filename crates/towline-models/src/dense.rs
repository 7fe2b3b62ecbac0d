//! The dense path: a Gaussian process at the places of the data, η = X β + L u with L Lᵀ its covariance.
//!
//! With several classes there is such a process for each, independent a priori and with the same parameters; y is
//! class by class, the coefficients first.

use crate::covariance::{Covariance, Node, Places};
use crate::fixed::Scaled;
use crate::newton::{System, Work};
use crate::parameter::Register;
use crate::pool::Pooled;
use crate::triangle::Triangle;
use crate::vector::wide;
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};
use towline::linalg::RootMap;

/// A Gaussian process as part of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its covariance.
    pub covariance: Covariance,
    /// The places where it is.
    pub places: Places,
    /// The place of each observation; `None` where they are the places themselves, in order.
    pub place_of: Option<Vec<usize>>,
    /// Added to every variance, so that places that coincide (nearly) do no harm to the arithmetic: see
    /// [`DEFAULT_JITTER`].
    pub jitter: f64,
}

/// Large enough for a thousand places with variances up to about 100 whatever the covariance, and small beside any
/// variance that matters. It is part of the model: results are exact for the process with it.
pub const DEFAULT_JITTER: f64 = 1e-6;

impl Process {
    /// A process with one place for each observation.
    pub fn new(covariance: Covariance, places: Places) -> Self {
        Self {
            covariance,
            places,
            place_of: None,
            jitter: DEFAULT_JITTER,
        }
    }
}

/// What does not depend on x.
#[derive(Debug, Clone)]
pub(crate) struct Dense {
    pub node: Node,
    pub places: Places,
    pub place_of: Option<Vec<usize>>,
    pub jitter: f64,
    pub fixed: Scaled,
    pub classes: usize,
    /// X S² Xᵀ, where steps are solved for in the space of the data.
    prior: Option<Vec<f64>>,
}

/// What is computed at each x.
#[derive(Debug, Clone)]
pub(crate) struct DenseAt {
    /// L.
    pub root: Triangle,
    /// The covariance of η, lower triangle: for steps in the space of the data.
    gram: Option<Pooled>,
}

impl Dense {
    pub fn new(process: &Process, fixed: Scaled, classes: usize, register: &mut Register) -> Self {
        let node = process.covariance.number(register, &process.places);
        let n = process.places.len;
        let plain = process.place_of.is_none() && classes == 1;
        let prior = plain.then(|| {
            let mut prior = vec![0.0; n * n];
            for j in 0..n {
                for i in j..n {
                    prior[j * n + i] = fixed
                        .row(i)
                        .iter()
                        .zip(fixed.row(j))
                        .map(|(a, b)| a * b)
                        .sum();
                }
            }
            prior
        });
        Self {
            node,
            places: process.places.clone(),
            place_of: process.place_of.clone(),
            jitter: process.jitter,
            fixed,
            classes,
            prior,
        }
    }

    /// A process beside other components, which have the fixed effects and the steps.
    pub fn beside_others(process: &Process, rows: usize, register: &mut Register) -> Self {
        let fixed = Scaled::new(&crate::fixed::Fixed::default(), rows);
        Self {
            node: process.covariance.number(register, &process.places),
            places: process.places.clone(),
            place_of: process.place_of.clone(),
            jitter: process.jitter,
            fixed,
            classes: 1,
            prior: None,
        }
    }

    /// The place of an observation.
    pub fn place(&self, row: usize) -> usize {
        self.place_of.as_ref().map_or(row, |place_of| place_of[row])
    }

    /// The number of y of one class.
    pub fn block(&self) -> usize {
        self.fixed.width + self.places.len
    }

    pub fn prepare(&self, values: &[f64]) -> Option<DenseAt> {
        let covariance = self.node.matrix(&self.places, values, self.jitter);
        let n = self.places.len;
        let gram = self.prior.as_ref().map(|prior| {
            let mut gram = Pooled::take(n * n);
            for j in 0..n {
                let column = j * n + j..(j + 1) * n;
                let parts = covariance[column.clone()]
                    .iter()
                    .zip(&prior[column.clone()]);
                for (out, (a, b)) in gram[column].iter_mut().zip(parts) {
                    *out = a + b;
                }
            }
            gram
        });
        let root = Triangle::root_of(covariance, self.places.len)?;
        Some(DenseAt { root, gram })
    }

    /// f of one class at the data's places.
    pub fn latent(&self, at: &DenseAt, y: &[f64], class: usize, out: &mut [f64]) {
        let u = &y[class * self.block() + self.fixed.width..(class + 1) * self.block()];
        at.root.multiply(u, out);
    }

    /// η of many y at once: `etas` likewise one after another. `spare` is of [`batch_spare`](Self::batch_spare).
    pub fn push_many(&self, at: &DenseAt, ys: &[f64], etas: &mut [f64], spare: &mut [f64]) {
        let (n, width, block) = (self.places.len, self.fixed.width, self.block());
        let rows = self.fixed.rows;
        let vectors = ys.len() / block;
        let (us, fs) = spare.split_at_mut(vectors * n);
        for (u, y) in us.chunks_exact_mut(n).zip(ys.chunks_exact(block)) {
            u.copy_from_slice(&y[width..]);
        }
        at.root.multiply(us, &mut fs[..vectors * n]);
        wide(
            #[inline(always)]
            || {
                let parts = fs.chunks_exact(n).zip(ys.chunks_exact(block));
                for (eta, (f, y)) in etas.chunks_exact_mut(rows).zip(parts) {
                    self.spread(f, eta);
                    self.fixed.push(&y[..width], eta);
                }
            },
        );
    }

    pub fn batch_spare(&self, vectors: usize) -> usize {
        2 * vectors * self.classes * self.places.len
    }

    /// From places to observations.
    #[inline(always)]
    fn spread(&self, f: &[f64], eta: &mut [f64]) {
        match &self.place_of {
            None => eta.copy_from_slice(f),
            Some(place_of) => {
                for (e, place) in eta.iter_mut().zip(place_of) {
                    *e = f[*place];
                }
            }
        }
    }

    /// From observations to places: sums.
    pub fn collect(&self, g: &[f64], out: &mut [f64]) {
        match &self.place_of {
            None => out.copy_from_slice(g),
            Some(place_of) => {
                out.fill(0.0);
                for (v, place) in g.iter().zip(place_of) {
                    out[*place] += v;
                }
            }
        }
    }
}

/// The dense system at one x.
pub(crate) struct DenseSystem<'a> {
    pub dense: &'a Dense,
    pub at: &'a DenseAt,
}

/// How a step is solved for.
pub(crate) enum DenseStep {
    /// By B = I + W½KW½, in the space of the data: H⁻¹ = I − AᵀW½B⁻¹W½A. One factorisation, no product.
    Data { root: Triangle, half: Vec<f64> },
    /// By R.
    Whole(Triangle),
}

impl System for DenseSystem<'_> {
    type Step = DenseStep;
    type Root = DenseRoot;

    fn dim(&self) -> usize {
        self.dense.block() * self.dense.classes
    }

    fn spare(&self) -> usize {
        2 * self.dense.classes * self.dense.places.len
    }

    fn push(&self, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        self.dense.push_many(self.at, y, eta, spare);
    }

    fn pull(&self, g: &[f64], out: &mut [f64], spare: &mut [f64]) {
        let dense = self.dense;
        let (n, width) = (dense.places.len, dense.fixed.width);
        let parts = g.chunks_exact(dense.fixed.rows);
        for (g, out) in parts.zip(out.chunks_exact_mut(dense.block())) {
            let (beta, u) = out.split_at_mut(width);
            wide(
                #[inline(always)]
                || dense.fixed.pull(g, beta),
            );
            if dense.place_of.is_none() {
                self.at.root.multiply_transposed(g, u);
            } else {
                dense.collect(g, &mut spare[..n]);
                self.at.root.multiply_transposed(&spare[..n], u);
            }
        }
    }

    fn natural(&self, y: &[f64]) -> Vec<f64> {
        let mut natural = y.to_vec();
        let blocks = natural.chunks_exact_mut(self.dense.block());
        for (out, y) in blocks.zip(y.chunks_exact(self.dense.block())) {
            let width = self.dense.fixed.width;
            self.at.root.multiply(&y[width..], &mut out[width..]);
        }
        natural
    }

    fn whitened(&self, natural: &[f64]) -> Vec<f64> {
        let mut y = natural.to_vec();
        for block in y.chunks_exact_mut(self.dense.block()) {
            self.at.root.solve(&mut block[self.dense.fixed.width..]);
        }
        y
    }

    fn step(&self, weights: &[f64]) -> Option<DenseStep> {
        let Some(gram) = &self.at.gram else {
            return Some(DenseStep::Whole(self.root(weights)?.0));
        };
        let n = self.dense.places.len;
        let half: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
        let mut b = Pooled::take(n * n);
        wide(
            #[inline(always)]
            || {
                for j in 0..n {
                    let column = j * n + j..(j + 1) * n;
                    let parts = gram[column.clone()].iter().zip(&half[j..]);
                    for (out, (k, h)) in b[column].iter_mut().zip(parts) {
                        *out = k * h * half[j];
                    }
                    b[j * n + j] += 1.0;
                }
            },
        );
        let root = Triangle::root_of(b, n)?;
        Some(DenseStep::Data { root, half })
    }

    fn solve_step(&self, step: &DenseStep, v: &mut [f64], work: &mut Work) {
        match step {
            DenseStep::Whole(root) => {
                root.solve(v);
                root.solve_transposed(v);
            }
            DenseStep::Data { root, half } => {
                let Work { trial, spare, .. } = work;
                self.push(v, trial, spare);
                for (t, h) in trial.iter_mut().zip(half) {
                    *t *= h;
                }
                root.solve(trial);
                root.solve_transposed(trial);
                for (t, h) in trial.iter_mut().zip(half) {
                    *t *= h;
                }
                let mut back = vec![0.0; v.len()];
                self.pull(trial, &mut back, spare);
                for (v, b) in v.iter_mut().zip(&back) {
                    *v -= b;
                }
            }
        }
    }

    fn root(&self, weights: &[f64]) -> Option<DenseRoot> {
        let dense = self.dense;
        let (n, width, block) = (dense.places.len, dense.fixed.width, dense.block());
        let (rows, dim) = (dense.fixed.rows, self.dim());
        let mut h = Pooled::take(dim * dim);
        let (mut at_places, mut spare) = (vec![0.0; n], vec![0.0; rows]);
        let mut scaled = Pooled::take(n * n);
        let mut pair = 0;
        for c in 0..dense.classes {
            for other in 0..=c {
                let w = &weights[pair * rows..(pair + 1) * rows];
                pair += 1;
                let (top, left) = (c * block, other * block);
                dense.fixed.gram(w, &mut spare, |a, b, value| {
                    h[(left + b) * dim + top + a] = value;
                });
                // Between coefficients and places: Lᵀ (W X summed over the observations of a place).
                let mut mixed = vec![0.0; n];
                for k in 0..width {
                    for ((s, x), w) in spare.iter_mut().zip(dense.fixed.column(k)).zip(w) {
                        *s = x * w;
                    }
                    dense.collect(&spare, &mut at_places);
                    self.at.root.multiply_transposed(&at_places, &mut mixed);
                    for (i, value) in mixed.iter().enumerate() {
                        h[(left + k) * dim + top + width + i] = *value;
                        if c != other {
                            h[(left + width + i) * dim + top + k] = *value;
                        }
                    }
                }
                dense.collect(w, &mut at_places);
                self.square(&at_places, &mut scaled, &mut h, top + width, left + width);
            }
        }
        for k in 0..dim {
            h[k * dim + k] += 1.0;
        }
        Triangle::root_of(h, dim).map(DenseRoot)
    }
}

impl DenseSystem<'_> {
    /// Lᵀ W L into the block of `h` that begins at this row and column; whole where that is off the diagonal.
    fn square(&self, w: &[f64], scaled: &mut [f64], h: &mut [f64], row: usize, column: usize) {
        weighted_square(&self.at.root, w, scaled, h, self.dim(), row, column);
    }
}

/// Lᵀ W L into the block of `h`, of `dim` rows, that begins at this row and column; whole where that is off the diagonal.
/// `scaled` is working space of the size of L.
pub(crate) fn weighted_square(
    root: &Triangle,
    w: &[f64],
    scaled: &mut [f64],
    h: &mut [f64],
    dim: usize,
    row: usize,
    column: usize,
) {
    let n = root.dim();
    if n == 0 {
        return;
    }
    let root = root.as_mat();
    for j in 0..n {
        let source = root
            .col(j)
            .try_as_col_major()
            .expect("stored by columns")
            .as_slice();
        for i in j..n {
            scaled[j * n + i] = source[i] * w[i];
        }
    }
    let scaled = MatRef::from_column_major_slice(scaled, n, n);
    let whole = MatMut::from_column_major_slice_mut(h, dim, dim);
    let mut block = whole.submatrix_mut(row, column, n, n);
    matmul(
        block.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        root.transpose(),
        BlockStructure::TriangularUpper,
        scaled,
        BlockStructure::TriangularLower,
        1.0,
        Par::Seq,
    );
    if row != column {
        for j in 0..n {
            for i in 0..j {
                block[(i, j)] = block[(j, i)];
            }
        }
    }
}

/// y = m + R⁻ᵀ z, with R a dense factor of the curvature.
#[derive(Debug)]
pub(crate) struct DenseRoot(pub Triangle);

impl RootMap for DenseRoot {
    fn apply(&self, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(z);
        self.0.solve_transposed(out);
    }

    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        self.0.multiply_transposed(v, out);
    }

    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        self.0.solve(out);
    }

    fn log_det(&self) -> f64 {
        -self.0.log_det()
    }
}
