//! Levenberg and Marquardt's method for maps under which a normal density explains visited points, with errors clipped.

use super::limits::{BEND_CLIP, BEND_FALL};
use crate::linalg::Factor;

/// What is fitted: numbers that a step changes, and the normal equations of the next one.
pub(super) trait Fitted: Clone {
    /// The normal equations of a step from here.
    fn equations(&self) -> Equations;

    /// Takes a step.
    fn advance(&mut self, step: &[f64]);
}

/// The normal equations of a step.
pub(super) struct Equations {
    /// The lower half.
    pub normal: Vec<f64>,
    pub right: Vec<f64>,
    pub loss: f64,
    /// Of all points.
    pub weight: f64,
    /// Added to the diagonal after it has been damped.
    pub ridge: f64,
    /// Points whose products are not yet among the normal equations, by the numbers that they depend on.
    waiting: Vec<Waiting>,
}

/// A run of the numbers that are fitted: the first, and how many.
pub(super) type Run = (usize, usize);

/// Points that depend on the same numbers.
struct Waiting {
    runs: Vec<Run>,
    /// So much of each, and its row: how it changes with those numbers alone.
    counts: Vec<f64>,
    rows: Vec<f64>,
}

/// Points whose products are added together: each number of the equations is then read and written once for all of them.
const TOGETHER: usize = 8;

impl Equations {
    /// Of so many numbers, without a point.
    pub fn new(size: usize) -> Self {
        Self {
            normal: vec![0.0; size * size],
            right: vec![0.0; size],
            loss: 0.0,
            weight: 0.0,
            ridge: 0.0,
            waiting: Vec::new(),
        }
    }

    /// Adds a point that is off by so much, and how that changes with the numbers in these runs, ascending, one after the other; with all
    /// others it does not change. [`settle`](Self::settle) after the last.
    pub fn add(&mut self, row: &[f64], runs: &[Run], off: f64, weight: f64) {
        let clipped = off.abs().min(BEND_CLIP);
        // Huber's: squares of small errors, and large ones only as they are.
        self.loss += weight * clipped * (2.0 * off.abs() - clipped);
        self.weight += weight;
        if row.is_empty() {
            return;
        }
        let counts = weight * (clipped / off.abs().max(1e-12)).min(1.0);
        let mut rest = row;
        for &(first, length) in runs {
            let (own, after) = rest.split_at(length);
            for (right, v) in self.right[first..first + length].iter_mut().zip(own) {
                *right += counts * v * off;
            }
            rest = after;
        }
        let known = self.waiting.iter().position(|waiting| waiting.runs == runs);
        let index = known.unwrap_or_else(|| {
            self.waiting.push(Waiting {
                runs: runs.to_vec(),
                counts: Vec::with_capacity(TOGETHER),
                rows: Vec::with_capacity(TOGETHER * row.len()),
            });
            self.waiting.len() - 1
        });
        let size = self.right.len();
        let waiting = &mut self.waiting[index];
        waiting.counts.push(counts);
        waiting.rows.extend_from_slice(row);
        if waiting.counts.len() == TOGETHER {
            waiting.settle(&mut self.normal, size);
        }
    }

    /// Adds the products of the points that wait.
    pub fn settle(&mut self) {
        let size = self.right.len();
        for waiting in &mut self.waiting {
            waiting.settle(&mut self.normal, size);
        }
    }

    fn step(&self, damping: f64) -> Option<Vec<f64>> {
        let size = self.right.len();
        let mut normal = self.normal.clone();
        for i in 0..size {
            for j in 0..i {
                normal[j * size + i] = normal[i * size + j];
            }
            normal[i * size + i] *= 1.0 + damping;
            normal[i * size + i] += self.ridge;
        }
        let factor = Factor::from_covariance(&normal, "the normal equations of a map").ok()?;
        let mut step = self.right.clone();
        factor.solve(&mut step);
        factor.solve_transposed(&mut step);
        step.iter().all(|v| v.is_finite()).then_some(step)
    }
}

impl Waiting {
    /// Adds the products of its points to normal equations of so many numbers.
    fn settle(&mut self, normal: &mut [f64], size: usize) {
        let width: usize = self.runs.iter().map(|run| run.1).sum();
        let mut at = 0;
        for (r, &(first, length)) in self.runs.iter().enumerate() {
            for i in 0..length {
                let line = &mut normal[(first + i) * size..][..size];
                let mut from = 0;
                for &(other, columns) in &self.runs[..=r] {
                    let columns = if other == first { i + 1 } else { columns };
                    let numbers = &mut line[other..other + columns];
                    add_products(numbers, &self.counts, &self.rows, [width, at + i, from]);
                    from += columns;
                }
            }
            at += length;
        }
        self.counts.clear();
        self.rows.clear();
    }
}

/// Adds, for every row of this width, so much of it times its number at `by` times those that begin at `from`.
#[inline]
fn add_products(numbers: &mut [f64], counts: &[f64], rows: &[f64], [width, by, from]: [usize; 3]) {
    let to = from + numbers.len();
    let mut fours = counts.chunks_exact(4).zip(rows.chunks_exact(4 * width));
    for (counts, rows) in &mut fours {
        let (a, rows) = rows.split_at(width);
        let (b, rows) = rows.split_at(width);
        let (c, d) = rows.split_at(width);
        let times = [
            counts[0] * a[by],
            counts[1] * b[by],
            counts[2] * c[by],
            counts[3] * d[by],
        ];
        let others = a[from..to].iter().zip(&b[from..to]);
        let others = others.zip(c[from..to].iter().zip(&d[from..to]));
        for (n, ((a, b), (c, d))) in numbers.iter_mut().zip(others) {
            *n = (((*n + times[0] * a) + times[1] * b) + times[2] * c) + times[3] * d;
        }
    }
    let rest = counts.len() / 4 * 4;
    for (counts, row) in counts[rest..]
        .iter()
        .zip(rows[rest * width..].chunks_exact(width))
    {
        let times = counts * row[by];
        for (n, v) in numbers.iter_mut().zip(&row[from..to]) {
            *n += times * v;
        }
    }
}

/// Steps that lower the loss, at most so many tries; returns the mean clipped error at the end.
pub(super) fn improve<F: Fitted>(fit: &mut F, rounds: usize) -> Option<f64> {
    let mut damping = 1e-2;
    let mut here = fit.equations();
    for _ in 0..rounds {
        let Some(step) = here.step(damping) else {
            damping *= 100.0;
            continue;
        };
        let mut moved = fit.clone();
        moved.advance(&step);
        let there = moved.equations();
        if there.loss < here.loss {
            *fit = moved;
            damping = (0.3 * damping).max(1e-9);
            let little = there.loss > (1.0 - BEND_FALL) * here.loss;
            here = there;
            if little {
                break;
            }
        } else {
            damping *= 10.0;
            // Steps this short change nothing any more.
            if damping > 1e9 {
                break;
            }
        }
    }
    here.loss.is_finite().then(|| here.loss.sqrt())
}
