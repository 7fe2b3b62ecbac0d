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
    /// Points whose products are not yet among the normal equations: so much of each, and its row.
    waiting: Vec<f64>,
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
            waiting: Vec::with_capacity(TOGETHER),
            rows: Vec::with_capacity(TOGETHER * size),
        }
    }

    /// Adds a point that is off by so much, and how that changes with each of the numbers; [`settle`](Self::settle) after the last.
    pub fn add(&mut self, row: &[f64], off: f64, weight: f64) {
        let size = self.right.len();
        let clipped = off.abs().min(BEND_CLIP);
        // Huber's: squares of small errors, and large ones only as they are.
        self.loss += weight * clipped * (2.0 * off.abs() - clipped);
        self.weight += weight;
        let counts = weight * (clipped / off.abs().max(1e-12)).min(1.0);
        for i in 0..size {
            self.right[i] += counts * row[i] * off;
        }
        self.waiting.push(counts);
        self.rows.extend_from_slice(row);
        if self.waiting.len() == TOGETHER {
            self.settle();
        }
    }

    /// Adds the products of the points that wait, in their order.
    pub fn settle(&mut self) {
        let size = self.right.len();
        for i in 0..size {
            let numbers = &mut self.normal[i * size..=i * size + i];
            let mut points = self
                .waiting
                .chunks_exact(4)
                .zip(self.rows.chunks_exact(4 * size));
            for (counts, rows) in &mut points {
                let (a, rows) = rows.split_at(size);
                let (b, rows) = rows.split_at(size);
                let (c, d) = rows.split_at(size);
                let by = [
                    counts[0] * a[i],
                    counts[1] * b[i],
                    counts[2] * c[i],
                    counts[3] * d[i],
                ];
                for ((((n, a), b), c), d) in numbers.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *n = (((*n + by[0] * a) + by[1] * b) + by[2] * c) + by[3] * d;
                }
            }
            let rest = self.waiting.len() / 4 * 4;
            let rows = self.rows[rest * size..].chunks_exact(size);
            for (counts, row) in self.waiting[rest..].iter().zip(rows) {
                let by = counts * row[i];
                for (n, v) in numbers.iter_mut().zip(row) {
                    *n += by * v;
                }
            }
        }
        self.waiting.clear();
        self.rows.clear();
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
