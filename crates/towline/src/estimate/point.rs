//! One slow point and what was found there: plain data, which is stored as soon as it is known.

use super::defensive;
use super::free::Purpose;
use super::weight::{Budget, weigh};
use crate::erased::{AnyCache, AnyModel, Erased};
use crate::error::Error;
use crate::frame::{Frame, FrameRule};
use crate::kernel::state::prepare;
use crate::model::{Model, Role};
use crate::slow::surrogate::Surrogate;
use crate::target::Scratch;
use crate::warmup::tuning::Tuning;
use serde::{Deserialize, Serialize};

/// The noise of a weight that is small enough, as a share of the surrogate's own error, and its bounds in log units.
const NOISE_SHARE: f64 = 0.3;
const NOISE: [f64; 2] = [0.01, 0.1];
/// A weight may cost as much in fast evaluations as its slow one, and so many at least and at most.
const MOST_FAST: [f64; 2] = [2000.0, 60_000.0];

/// Errors were measured with up to so many slow variables; with more, chains do the work.
const MOST_SLOW: usize = 12;

/// A slow point with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Its place among the points.
    pub index: usize,
    /// The slow variables, on the chain's scale.
    pub x: Vec<f64>,
    /// The logarithm of the estimate of π(x)/π̃(x); −∞ where there is no mass, or the evaluation failed.
    pub log_weight: f64,
    /// The noise of that, in log units.
    pub noise: f64,
    /// Draws of y given x: the model's columns, then the log density, one row after another.
    pub rows: Vec<f64>,
    /// Fast evaluations spent.
    pub fast_evaluations: u64,
    /// What failed, where it did.
    pub failure: Option<String>,
}

/// What turns slow points into weights: frozen when the first is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// π̃.
    pub(crate) surrogate: Surrogate,
    /// How y is seen.
    pub(crate) rule: FrameRule,
    /// Fast variables.
    pub(crate) fast_dim: usize,
    /// What a slow evaluation costs, in fast ones.
    pub(crate) price: f64,
    /// The run's seed.
    pub(crate) seed: u64,
    /// How hot every third point is; nothing where all are draws of π̃.
    #[serde(default)]
    pub(crate) heat: Option<f64>,
}

impl Scale {
    /// From what warm-up learned; nothing where it learned no surrogate, or there are too many slow variables.
    pub fn new(tuning: &Tuning, seed: u64) -> Option<Self> {
        let surrogate = tuning.surrogate.clone()?;
        if surrogate.dim() > MOST_SLOW {
            return None;
        }
        Some(Self {
            heat: Some(defensive::heat(surrogate.dim())),
            surrogate,
            rule: tuning.rule(tuning.main.frame),
            fast_dim: tuning.linear.fast_dim(),
            price: tuning.prices.slow,
            seed,
        })
    }

    fn budget(&self) -> Budget {
        let error = self.surrogate.quality().cv_error;
        Budget {
            noise: (NOISE_SHARE * error).clamp(NOISE[0], NOISE[1]),
            most: self.price.clamp(MOST_FAST[0], MOST_FAST[1]) as usize,
        }
    }

    /// The number of slow variables.
    pub fn slow_dim(&self) -> usize {
        self.surrogate.dim()
    }

    /// The first slow points.
    pub fn points(&self, count: usize) -> Vec<Vec<f64>> {
        let whitened = defensive::slow_points(&self.surrogate, self.heat, self.seed, count);
        whitened
            .iter()
            .map(|w| self.surrogate.unwhiten(w))
            .collect()
    }

    /// Weighs a point: one slow evaluation, and fast ones.
    ///
    /// # Errors
    /// Where the model fails.
    pub fn weigh<M: Model>(&self, model: &M, index: usize, x: &[f64]) -> Result<Weighted, Error> {
        self.weigh_any(&Erased(model), index, x)
    }

    pub(crate) fn weigh_any(
        &self,
        model: &AnyModel<'_>,
        index: usize,
        x: &[f64],
    ) -> Result<Weighted, Error> {
        match prepare(&model, x)? {
            None => Ok(Weighted::without_mass(index, x)),
            Some(slow) => self.weigh_prepared(model, index, x, &slow.cache),
        }
    }

    /// The same with a slow computation that was made elsewhere.
    ///
    /// # Errors
    /// As [`weigh`](Self::weigh).
    pub(crate) fn weigh_prepared(
        &self,
        model: &AnyModel<'_>,
        index: usize,
        x: &[f64],
        cache: &AnyCache,
    ) -> Result<Weighted, Error> {
        let mut rng = Purpose::Fast.stream(self.seed, index as u64);
        let (frame, search) = self.frame(model, x, cache);
        let budget = self.budget();
        let found = weigh(&model, (x, cache), &frame, self.fast_dim, budget, &mut rng)?;
        let columns = model.columns();
        let kept: Vec<usize> = (0..columns.len())
            .filter(|&k| columns[k].role != Role::Latent)
            .collect();
        let mut row = vec![0.0; columns.len()];
        let mut rows = Vec::with_capacity(found.kept.len() * (kept.len() + 1));
        for (y, log_density) in &found.kept {
            model.report(x, y, cache, &mut row);
            rows.extend(kept.iter().map(|&k| row[k]));
            rows.push(*log_density);
        }
        Ok(Weighted {
            index,
            x: x.to_vec(),
            log_weight: found.log_marginal - self.surrogate.log_density(x),
            noise: found.noise,
            rows,
            fast_evaluations: found.evaluations + search,
            failure: None,
        })
    }

    /// The frame at x, and what its search cost.
    fn frame(&self, model: &AnyModel<'_>, x: &[f64], cache: &AnyCache) -> (Frame, u64) {
        match &self.rule {
            FrameRule::Identity => (Frame::Identity, 0),
            FrameRule::Linear(linear) => (linear.frame_in(x, None), 0),
            FrameRule::Laplace(laplace) => {
                let found = laplace.find(&model, x, cache, &mut Scratch::default());
                (found.frame, found.evaluations)
            }
        }
    }
}

impl Weighted {
    /// A point where there is no mass.
    pub fn without_mass(index: usize, x: &[f64]) -> Self {
        Self {
            index,
            x: x.to_vec(),
            log_weight: f64::NEG_INFINITY,
            noise: 0.0,
            rows: Vec::new(),
            fast_evaluations: 0,
            failure: None,
        }
    }

    /// A point whose evaluation failed.
    pub fn failed(index: usize, x: &[f64], why: String) -> Self {
        Self {
            failure: Some(why),
            ..Self::without_mass(index, x)
        }
    }
}
