//! The likelihood of a posterior, in two stages, on the user's scale.

use crate::error::ModelError;

/// What the data say: a slow computation, and a fast one given its result.
///
/// Parameters come on the user's scale, slow and fast apart, each in the order in which they were declared
/// (fast ones of several levels: slower levels first).
pub trait Likelihood {
    /// What the slow computation leaves behind.
    type Cache: Send + 'static;

    /// The slow computation; `Ok(None)` where the data are impossible whatever the fast parameters are.
    ///
    /// # Errors
    /// Whatever can fail in the model.
    fn prepare(&self, slow: &[f64]) -> Result<Option<Self::Cache>, ModelError>;

    /// The slow computation for several sets of slow parameters at once, in their order: see
    /// [`Target::prepare_batch`](crate::Target::prepare_batch).
    fn prepare_batch(&self, slows: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        slows.iter().map(|slow| self.prepare(slow)).collect()
    }

    /// Whether [`prepare_batch`](Self::prepare_batch) is to be used.
    fn is_batched(&self) -> bool {
        false
    }

    /// The log likelihood; −∞ where the data are impossible.
    fn log_likelihood(&self, cache: &Self::Cache, fast: &[f64]) -> f64;

    /// The log likelihoods of many sets of fast parameters (one after another in `fasts`, each of length
    /// `fasts.len() / out.len()`). Override it where a vectorised form is cheaper than this loop.
    fn log_likelihood_batch(&self, cache: &Self::Cache, fasts: &[f64], out: &mut [f64]) {
        let dim = fasts.len().checked_div(out.len()).unwrap_or(0);
        for (k, value) in out.iter_mut().enumerate() {
            *value = self.log_likelihood(cache, &fasts[k * dim..(k + 1) * dim]);
        }
    }

    /// Whether [`log_likelihood_batch`](Self::log_likelihood_batch) is cheaper than as many single evaluations.
    fn is_vectorised(&self) -> bool {
        false
    }

    /// The log likelihood and its gradient in the fast parameters; `None` (the default) where there is none.
    fn gradient(&self, cache: &Self::Cache, fast: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let _ = (cache, fast, gradient);
        None
    }

    /// The computation between slow and fast, where parameters have levels: see
    /// [`Target::refine`](crate::Target::refine).
    ///
    /// # Errors
    /// Whatever can fail in the model.
    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let _ = (cache, head);
        Ok(None)
    }
}

/// A likelihood of two closures: see [`two_stages`].
#[derive(Debug, Clone, Copy)]
pub struct TwoStages<P, L> {
    prepare: P,
    log_likelihood: L,
}

/// A likelihood of two closures: `prepare(slow)` and `log_likelihood(&cache, fast)`.
pub fn two_stages<C, P, L>(prepare: P, log_likelihood: L) -> TwoStages<P, L>
where
    P: Fn(&[f64]) -> Result<Option<C>, ModelError>,
    L: Fn(&C, &[f64]) -> f64,
{
    TwoStages {
        prepare,
        log_likelihood,
    }
}

impl<C: Send + 'static, P, L> Likelihood for TwoStages<P, L>
where
    P: Fn(&[f64]) -> Result<Option<C>, ModelError>,
    L: Fn(&C, &[f64]) -> f64,
{
    type Cache = C;

    fn prepare(&self, slow: &[f64]) -> Result<Option<C>, ModelError> {
        (self.prepare)(slow)
    }

    fn log_likelihood(&self, cache: &C, fast: &[f64]) -> f64 {
        (self.log_likelihood)(cache, fast)
    }
}
