//! The model itself: data, effects and priors put together, as a target that finds its own frames.

mod build;
mod recover;
mod report;

pub use build::{Builder, Data};

use crate::additive::{Additive, AdditiveAt, AdditiveSystem};
use crate::dense::{Dense, DenseAt, DenseSystem};
use crate::expectation::Frozen;
use crate::family::{Family, Likelihood, Settled};
use crate::fixed::Fixed;
use crate::newton::System;
use crate::parameter::{Slow, Source, middle_of};
use crate::sparse::{Sparse, SparseAt, SparseSystem};
use crate::warp::Warp;
use forecast::Forecast;
use std::borrow::Cow;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use towline::{ModelError, OwnFrame, Target};

/// A latent Gaussian model: y normal (standard, but for components whose precision never changes), η = A(x) y + offset, data
/// given η from a family.
///
/// The slow variables x are the parameters of covariances and of the family, on unbounded scales; the fast ones y
/// are coefficients and latent values, standardised. See [`Builder`] for how to make one.
#[derive(Debug, Clone)]
pub struct LatentGaussian {
    pub(crate) family: Family,
    pub(crate) likelihood: Likelihood,
    pub(crate) response: Vec<f64>,
    pub(crate) fixed: Fixed,
    /// Class by class: the offset of each observation, and what the prior means of coefficients add.
    pub(crate) offset: Vec<f64>,
    pub(crate) latent: Latent,
    pub(crate) slow: Vec<Slow>,
    pub(crate) family_parameter: Source,
    /// The names of groups or places, for reports.
    pub(crate) labels: Vec<Labels>,
    /// The names of the classes, or none where numbers have to do.
    pub(crate) class_names: Vec<String>,
    pub(crate) settings: Vec<(String, String)>,
    /// The latent values at the mode for the middle of the priors: where searches may begin.
    pub(crate) reference: Option<Vec<f64>>,
    /// Whether frames are brought from the mode to the mean, once that is decided, and what they are found from.
    pub(crate) frozen: Arc<OnceLock<Option<Frozen>>>,
    /// Where modes are thought to be, once that was looked at.
    pub(crate) forecast: Arc<OnceLock<Option<Forecast>>>,
    /// What frames at the mode must miss for that.
    pub(crate) worth: f64,
    /// How many covariance matrices could not be factorised, in this model and its clones.
    pub(crate) unfactorised: Arc<AtomicU64>,
}

/// What names the latent values of one term.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Labels {
    pub name: String,
    pub levels: Vec<String>,
    pub effects: Vec<String>,
}

/// How η depends on y.
#[derive(Debug, Clone)]
pub(crate) enum Latent {
    Dense(Dense),
    Sparse(Sparse),
    Additive(Box<Additive>),
}

/// What the slow computation leaves behind.
#[derive(Debug, Clone)]
pub struct Cache {
    /// The slow variables.
    x: Vec<f64>,
    /// The slow parameters on the user's scale.
    pub(crate) values: Vec<f64>,
    /// The log prior of x, and the constant of y's.
    base: f64,
    settled: Settled,
    pub(crate) at: At,
    /// The frame and what straightens y, where they are found together with everything else.
    own: Option<OwnFrame>,
    warp: Option<Warp>,
}

impl Cache {
    /// The family's own parameter: a Gaussian's standard deviation, a negative binomial's size; else 1.
    pub fn parameter(&self) -> f64 {
        self.settled.value
    }

    /// The fast variables as they are a priori normal.
    pub(crate) fn straight<'a>(&self, y: &'a [f64]) -> Cow<'a, [f64]> {
        match &self.warp {
            None => Cow::Borrowed(y),
            Some(warp) => {
                let mut straight = vec![0.0; y.len()];
                warp.straighten(y, &mut straight);
                Cow::Owned(straight)
            }
        }
    }
}

/// The part of it that η needs.
#[derive(Debug, Clone)]
pub(crate) enum At {
    Dense(DenseAt),
    Sparse(SparseAt),
    Additive(Box<AdditiveAt>),
}

/// Runs `$body` with the system at this x, whichever it is.
macro_rules! with_system {
    ($model:expr, $cache:expr, $system:ident => $body:expr) => {
        match (&$model.latent, &$cache.at) {
            (Latent::Dense(dense), At::Dense(at)) => {
                let $system = DenseSystem { dense, at };
                $body
            }
            (Latent::Sparse(sparse), At::Sparse(at)) => {
                let $system = SparseSystem { sparse, at };
                $body
            }
            (Latent::Additive(additive), At::Additive(at)) => {
                let $system = AdditiveSystem { additive, at };
                $body
            }
            _ => unreachable!("a cache belongs to the model that made it"),
        }
    };
}

impl LatentGaussian {
    /// The number of slow variables.
    pub fn slow_dim(&self) -> usize {
        self.slow.len()
    }

    /// The number of fast variables.
    pub fn fast_dim(&self) -> usize {
        match &self.latent {
            Latent::Dense(dense) => dense.block() * dense.classes,
            Latent::Sparse(sparse) => sparse.border() + sparse.effects,
            Latent::Additive(additive) => additive.dim(),
        }
    }

    /// The slow parameters' names, in the order of x.
    pub fn slow_names(&self) -> impl Iterator<Item = &str> {
        self.slow.iter().map(|s| s.name.as_str())
    }

    /// The family of the data.
    pub fn family(&self) -> Family {
        self.family
    }

    /// How many covariance matrices could not be factorised so far, in this model and its clones: such points count as
    /// outside the support, which truncates the posterior if there are many of them.
    pub fn unfactorised(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.unfactorised)
    }

    /// Decides whether frames are brought from the mode of a skewed conditional to the mean, where otherwise the data do: for
    /// measuring what that is worth. The posterior is the same.
    #[doc(hidden)]
    #[must_use]
    pub fn corrected(mut self, corrects: bool) -> Self {
        self.worth = if corrects { 0.0 } else { f64::INFINITY };
        self.frozen = Arc::default();
        self
    }

    /// The observed response.
    pub fn response(&self) -> &[f64] {
        &self.response
    }

    /// eta = A y + offset.
    pub(crate) fn eta(&self, cache: &Cache, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        self.eta_of(cache, &cache.straight(y), eta, spare);
    }

    /// The same for straight y.
    fn eta_of(&self, cache: &Cache, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        with_system!(self, cache, system => system.push(y, eta, spare));
        for (e, o) in eta.iter_mut().zip(&self.offset) {
            *e += o;
        }
    }

    pub(crate) fn spare(&self) -> usize {
        match &self.latent {
            Latent::Dense(dense) => dense.batch_spare(1),
            Latent::Sparse(sparse) => {
                let sizes = sparse.terms.iter().map(|t| t.groups * t.width);
                sizes.max().unwrap_or(0)
            }
            Latent::Additive(additive) => additive.spare(),
        }
    }

    /// The log density from η and straight y.
    fn finish(&self, cache: &Cache, y: &[f64], eta: &[f64]) -> f64 {
        let prior = with_system!(self, cache, system => system.prior_inner(y, y));
        self.finish_from(cache, prior, eta)
    }

    /// The same from yᵀPy, P being the prior precision of y.
    fn finish_from(&self, cache: &Cache, prior: f64, eta: &[f64]) -> f64 {
        let value = cache.base - 0.5 * prior + self.likelihood.log_p(eta, cache.settled);
        // Overflow far out: no mass there.
        if value.is_nan() {
            f64::NEG_INFINITY
        } else {
            value
        }
    }

    /// The log prior of x and y, without the constant of normal variables.
    #[cfg(test)]
    pub(crate) fn log_prior(&self, cache: &Cache, y: &[f64]) -> f64 {
        let mut straight = y.to_vec();
        let log = cache.warp.as_ref().map(|w| w.straighten(y, &mut straight));
        let square = with_system!(self, cache, system => system.prior_inner(&straight, &straight));
        cache.base + log.unwrap_or(0.0) - 0.5 * square
    }

    /// The middle of the prior of x, coordinate by coordinate.
    fn middle(&self) -> Vec<f64> {
        middle_of(&self.slow)
    }

    /// Finds the reference for searches.
    fn refer(&mut self) {
        self.reference = None;
        let Ok(Some(cache)) = self.plain(&self.middle()) else {
            return;
        };
        let own = self.mode_frame(&cache, &vec![0.0; self.fast_dim()]);
        if let Some(OwnFrame { centre, .. }) = own {
            self.reference = Some(with_system!(self, cache, system => system.natural(&centre)));
        }
    }

    /// A parameter vector, fast variables and data drawn from the prior: for calibration.
    pub fn simulate(
        &self,
        rng: &mut towline::Rng,
    ) -> Result<(Vec<f64>, Vec<f64>, Self), ModelError> {
        loop {
            let x: Vec<f64> = self.slow.iter().map(|s| s.draw(rng)).collect();
            let mut y: Vec<f64> = (0..self.fast_dim()).map(|_| rng.normal()).collect();
            let Some(cache) = self.plain(&x)? else {
                continue;
            };
            if let (Latent::Additive(additive), At::Additive(at)) = (&self.latent, &cache.at) {
                additive.drawn(at, &mut y);
            }
            let mut eta = vec![0.0; self.offset.len()];
            self.eta(&cache, &y, &mut eta, &mut vec![0.0; self.spare()]);
            let response = self.likelihood.draw(&eta, cache.settled, rng);
            let model = self.with_response(response);
            // The same effects as the model of these data has them.
            let y = match model.prepare(&x)?.and_then(|cache| cache.warp) {
                Some(warp) => warp.bend(&y),
                None => y,
            };
            return Ok((x, y, model));
        }
    }
}

mod forecast;
mod judge;
mod target;
mod trial;

#[cfg(test)]
mod skewed;
#[cfg(test)]
mod tests;
