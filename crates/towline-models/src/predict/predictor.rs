//! A fitted model with draws of its posterior: the predictor at new rows over all of them.

use super::mixture::Mixture;
use super::parallel;
use super::response::{Interval, RowPrediction, of_sample};
use super::{New, Predicted, What};
use crate::error::Error;
use crate::family::Family;
use crate::latent::{Cache, LatentGaussian};
use crate::special::normal_quantile;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use towline::Rng;

/// A model and draws of its parameters, coefficients and latent values.
#[derive(Debug, Clone)]
pub struct Predictor {
    pub(crate) model: LatentGaussian,
    draws: Vec<Vec<f64>>,
}

/// What several draws say of the linear predictor at new rows.
#[derive(Debug, Clone)]
pub struct Surface {
    /// Row by row, class by class: the predictor over all draws.
    pub cells: Vec<Mixture>,
    /// The family's parameter in each draw.
    pub parameters: Vec<f64>,
    /// How many classes a row has.
    pub classes: usize,
    /// How many rows.
    pub rows: usize,
    trials: Vec<f64>,
    family: Family,
}

/// Points of η for each draw where a row has several classes: no closed form is known there.
const POINTS: usize = 64;

impl Predictor {
    /// From a model and rows as its runs store them: parameters, coefficients, latent values.
    pub fn new(model: LatentGaussian, draws: Vec<Vec<f64>>) -> Self {
        Self { model, draws }
    }

    /// How many draws there are.
    pub fn len(&self) -> usize {
        self.draws.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.draws.is_empty()
    }

    /// The model.
    pub fn model(&self) -> &LatentGaussian {
        &self.model
    }

    /// The linear predictor at new rows over all draws. `tell` hears how many draws are done.
    ///
    /// # Errors
    /// Where the rows do not fit the model, or no draw lies in its support.
    pub fn surface(
        &self,
        new: &New,
        what: What,
        tell: &(dyn Fn(usize) + Sync),
    ) -> Result<Surface, Error> {
        let classes = self.model.likelihood.classes();
        let taken = self.each(tell, |_, cache, y| {
            let predicted = self.model.predict(cache, y, new, what)?;
            Ok((predicted, cache.parameter()))
        })?;
        let mut surface = Surface {
            cells: vec![Mixture::default(); classes * new.rows],
            parameters: Vec::new(),
            classes,
            rows: new.rows,
            trials: new.trials.clone(),
            family: self.model.family(),
        };
        for (Predicted { mean, variance }, parameter) in taken {
            surface.parameters.push(parameter);
            for (cell, (m, v)) in surface.cells.iter_mut().zip(mean.iter().zip(&variance)) {
                cell.push(*m, *v);
            }
        }
        if self.model.family().parameter().is_none() {
            surface.parameters.truncate(1);
        }
        Ok(surface)
    }

    /// Something of each draw, computed on all cores, in the order of the draws.
    ///
    /// # Errors
    /// Those of `of`, and where no draw lies in the model's support.
    pub(crate) fn each<T: Send>(
        &self,
        tell: &(dyn Fn(usize) + Sync),
        of: impl Fn(usize, &Cache, &[f64]) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.min(self.len()).max(1);
        let done = AtomicUsize::new(0);
        let one = |k: usize| -> Result<Option<T>, Error> {
            let recovered = self.model.recover(&self.draws[k]);
            let recovered = recovered.map_err(|error| Error::model(error.to_string()))?;
            let out = recovered.map(|(cache, y)| of(k, &cache, &y)).transpose();
            tell(done.fetch_add(1, Ordering::Relaxed) + 1);
            out
        };
        let parts: Vec<Vec<Result<Option<T>, Error>>> = thread::scope(|scope| {
            let worker = |first: usize| (first..self.len()).step_by(threads).map(one).collect();
            let workers: Vec<_> = (0..threads)
                .map(|first| scope.spawn(move || worker(first)))
                .collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined
                .map(|part| {
                    part.unwrap_or_else(|_| vec![Err(Error::model("a prediction panicked"))])
                })
                .collect()
        });
        let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let mut out = Vec::with_capacity(self.len());
        for k in 0..self.len() {
            if let Some(value) = parts[k % threads].next() {
                out.extend(value?);
            }
        }
        if out.is_empty() {
            return Err(Error::model(
                "no draw of the run lies inside the support of the model: was it changed?",
            ));
        }
        Ok(out)
    }
}

impl Surface {
    #[cfg(test)]
    pub(crate) fn of_classes(cells: Vec<Mixture>) -> Self {
        Self {
            classes: cells.len(),
            cells,
            parameters: vec![1.0],
            rows: 1,
            trials: Vec::new(),
            family: Family::Softmax,
        }
    }

    /// How many draws it is of.
    pub fn draws(&self) -> usize {
        self.cells.first().map_or(0, Mixture::len)
    }

    /// The linear predictor of one class at a row.
    pub fn latent(&self, class: usize, row: usize, level: f64) -> Interval {
        let tail = 0.5 * (1.0 - level);
        let eta = &self.cells[class * self.rows + row];
        Interval {
            mean: eta.mean(),
            sd: eta.sd(),
            lower: eta.quantile(tail),
            median: eta.quantile(0.5),
            upper: eta.quantile(1.0 - tail),
        }
    }

    /// What is predicted at a row of a family with one predictor.
    pub fn row(&self, row: usize) -> RowPrediction {
        RowPrediction {
            eta: self.cells[row].clone(),
            parameters: self.parameters.clone(),
            family: self.family,
            trials: self.trials.get(row).copied().unwrap_or(1.0),
        }
    }

    /// The linear predictor, the expected response and a new response of every row, of a family with one predictor.
    pub fn intervals(&self, level: f64) -> Vec<[Interval; 3]> {
        parallel::map(self.rows, |row| {
            let one = self.row(row);
            [
                one.latent(level),
                one.expected(level),
                one.predictive(level),
            ]
        })
    }

    /// The probabilities of a row's classes: each with its interval.
    pub fn classes_of(&self, row: usize, level: f64) -> Vec<Interval> {
        let sample = self.probabilities(row);
        sample.iter().map(|p| of_sample(p, level)).collect()
    }

    /// The probability of each class at so many points of η: class by class. Points are even over the joint
    /// distribution of the predictors (a Kronecker sequence, shifted from draw to draw).
    pub fn probabilities(&self, row: usize) -> Vec<Vec<f64>> {
        let cells: Vec<&Mixture> = (0..self.classes)
            .map(|class| &self.cells[class * self.rows + row])
            .collect();
        let mut rng = Rng::stream(row as u64, 2);
        // The generalised golden ratio: the root of x^(d+1) = x + 1.
        let power = self.classes as f64 + 1.0;
        let mut golden: f64 = 1.5;
        for _ in 0..60 {
            golden = (1.0 + golden).powf(1.0 / power);
        }
        let mut out = vec![Vec::new(); self.classes];
        let mut eta = vec![0.0; self.classes];
        for k in 0..self.draws() {
            let known = cells.iter().all(|cell| cell.sds[k] == 0.0);
            let points = if known { 1 } else { POINTS };
            let shift: Vec<f64> = cells.iter().map(|_| rng.uniform()).collect();
            for point in 0..points {
                for (class, cell) in cells.iter().enumerate() {
                    let step = golden.powi(-(class as i32 + 1));
                    let u = (shift[class] + (point as f64 + 0.5) * step).fract();
                    let z = normal_quantile(u.clamp(1e-15, 1.0 - 1e-15));
                    eta[class] = cell.means[k] + cell.sds[k] * z;
                }
                let top = eta.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let scale: f64 = eta.iter().map(|e| (e - top).exp()).sum();
                // As often as others: every draw counts the same.
                for _ in 0..(if known { POINTS } else { 1 }) {
                    for (p, e) in out.iter_mut().zip(&eta) {
                        p.push((e - top).exp() / scale);
                    }
                }
            }
        }
        out
    }
}
