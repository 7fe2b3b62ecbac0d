//! One of several classes, with probabilities in proportion to e^η_c; η is stored class by class.

use crate::vector::{exp, wide};
use towline::Rng;

/// The class of each observation.
#[derive(Debug, Clone)]
pub(crate) struct Softmax {
    labels: Vec<usize>,
    classes: usize,
}

impl Softmax {
    pub fn new(values: &[f64], classes: usize) -> Self {
        Self {
            labels: values.iter().map(|y| *y as usize).collect(),
            classes,
        }
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The largest η of an observation, and Σ e^(η − largest).
    #[inline(always)]
    fn scale(&self, eta: &[f64], i: usize) -> (f64, f64) {
        let n = self.labels.len();
        let at = |c: usize| eta[c * n + i];
        let top = (0..self.classes).fold(f64::NEG_INFINITY, |top, c| top.max(at(c)));
        (top, (0..self.classes).map(|c| exp(at(c) - top)).sum())
    }

    pub fn sum(&self, eta: &[f64]) -> f64 {
        let n = self.labels.len();
        wide(
            #[inline(always)]
            || {
                let mut sum = 0.0;
                for (i, label) in self.labels.iter().enumerate() {
                    let (top, scale) = self.scale(eta, i);
                    sum += (eta[label * n + i] - top) - scale.ln();
                }
                sum
            },
        )
    }

    /// The probabilities, class by class.
    fn probabilities(&self, eta: &[f64], out: &mut [f64]) {
        let n = self.labels.len();
        wide(
            #[inline(always)]
            || {
                for i in 0..n {
                    let (top, scale) = self.scale(eta, i);
                    for c in 0..self.classes {
                        out[c * n + i] = exp(eta[c * n + i] - top) / scale;
                    }
                }
            },
        );
    }

    pub fn slopes(&self, eta: &[f64], out: &mut [f64]) {
        self.probabilities(eta, out);
        let n = self.labels.len();
        for p in out.iter_mut() {
            *p = -*p;
        }
        for (i, label) in self.labels.iter().enumerate() {
            out[label * n + i] += 1.0;
        }
    }

    pub fn weights(&self, eta: &[f64], out: &mut [f64]) {
        let n = self.labels.len();
        let mut p = vec![0.0; n * self.classes];
        self.probabilities(eta, &mut p);
        let mut pair = 0;
        for c in 0..self.classes {
            for other in 0..=c {
                for i in 0..n {
                    let (a, b) = (p[c * n + i], p[other * n + i]);
                    out[pair * n + i] = if c == other { a * (1.0 - a) } else { -a * b };
                }
                pair += 1;
            }
        }
    }

    pub fn draw(&self, eta: &[f64], rng: &mut Rng) -> Vec<f64> {
        let n = self.labels.len();
        let mut p = vec![0.0; n * self.classes];
        self.probabilities(eta, &mut p);
        let classes = 0..self.classes;
        let one = |i: usize| rng.pick(classes.clone().map(|c| p[c * n + i])) as f64;
        (0..n).map(one).collect()
    }
}
