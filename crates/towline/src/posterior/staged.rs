//! A posterior as a target: the likelihood's stages on the unconstrained scale, with priors and Jacobians.

use super::{Likelihood, Posterior, PosteriorCache};
use crate::error::ModelError;
use crate::target::{Scratch, Target};

impl<L: Likelihood> Target for Posterior<L> {
    type Cache = PosteriorCache<L::Cache>;

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let mut slow = vec![0.0; self.slow.len()];
        let log_prior = self.values(&self.slow, x, &mut slow);
        if log_prior == f64::NEG_INFINITY {
            return Ok(None);
        }
        let likelihood = self.likelihood.prepare(&slow)?;
        Ok(likelihood.map(|likelihood| PosteriorCache {
            likelihood,
            slow,
            log_prior,
        }))
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        let values = |x: &&[f64]| {
            let mut slow = vec![0.0; self.slow.len()];
            let log_prior = self.values(&self.slow, x, &mut slow);
            (slow, log_prior)
        };
        let all: Vec<(Vec<f64>, f64)> = xs.iter().map(values).collect();
        let inside = |log_prior: f64| log_prior > f64::NEG_INFINITY;
        let asked = all.iter().filter(|(_, log)| inside(*log));
        let asked: Vec<&[f64]> = asked.map(|(slow, _)| &slow[..]).collect();
        let mut found = self.likelihood.prepare_batch(&asked).into_iter();
        let keep = |(slow, log_prior): (Vec<f64>, f64)| {
            if !inside(log_prior) {
                return Ok(None);
            }
            let missing = || Err("prepare_batch gave fewer results than it was asked for".into());
            let likelihood = found.next().unwrap_or_else(missing)?;
            Ok(likelihood.map(|likelihood| PosteriorCache {
                likelihood,
                slow,
                log_prior,
            }))
        };
        all.into_iter().map(keep).collect()
    }

    fn is_batched(&self) -> bool {
        self.likelihood.is_batched()
    }

    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        self.log_density_in(cache, y, &mut Scratch::default())
    }

    #[inline]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        let [fast] = scratch.slices([self.fast.len()]);
        let log_prior = self.values(&self.fast, y, fast);
        if log_prior == f64::NEG_INFINITY {
            return log_prior; // the likelihood need not know what to say out there
        }
        let log = self.likelihood.log_likelihood(&cache.likelihood, fast);
        log + log_prior + cache.log_prior
    }

    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let (count, width) = (out.len(), self.fast.len());
        let dim = ys.len().checked_div(count).unwrap_or(0);
        let [fasts, logs] = scratch.slices([count * width, count]);
        // Those inside the support come together at the front: the likelihood sees no others.
        let mut inside = 0;
        for (k, out) in out.iter_mut().enumerate() {
            let fast = &mut fasts[inside * width..(inside + 1) * width];
            *out = self.values(&self.fast, &ys[k * dim..(k + 1) * dim], fast);
            inside += usize::from(*out != f64::NEG_INFINITY);
        }
        let logs = &mut logs[..inside];
        self.likelihood
            .log_likelihood_batch(&cache.likelihood, &fasts[..inside * width], logs);
        let among = out.iter_mut().filter(|out| **out != f64::NEG_INFINITY);
        for (out, log) in among.zip(logs) {
            *out = *log + *out + cache.log_prior;
        }
    }

    fn is_vectorised(&self) -> bool {
        self.likelihood.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let [fast, slopes] = scratch.slices([self.fast.len(), self.fast.len()]);
        let log_prior = self.values(&self.fast, y, fast);
        if log_prior == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return Some(log_prior);
        }
        let log = self.likelihood.gradient(&cache.likelihood, fast, slopes)?;
        for (k, c) in self.fast.iter().enumerate() {
            let slope = slopes[k] + self.parameters[c.declared].prior.slope(fast[k]);
            let range = c.first..c.first + c.scale.width();
            c.scale
                .slopes(&y[range.clone()], fast[k], slope, &mut gradient[range]);
        }
        Some(log + log_prior + cache.log_prior)
    }

    fn slow_covariance(&self) -> Option<&[f64]> {
        self.slow_covariance.as_deref()
    }

    fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let count = self.fast.iter().filter(|c| c.first < head.len()).count();
        let mut values = vec![0.0; count];
        if self.values(&self.fast[..count], head, &mut values) == f64::NEG_INFINITY {
            return Ok(None);
        }
        let refined = self.likelihood.refine(&cache.likelihood, &values)?;
        Ok(refined.map(|likelihood| PosteriorCache {
            likelihood,
            slow: cache.slow.clone(),
            log_prior: cache.log_prior,
        }))
    }
}
