//! Families: what the data are, given the linear predictor. One file each, registered in [`Likelihood`].

mod bernoulli;
mod binomial;
mod gaussian;
mod negative_binomial;
mod observation;
pub use observation::Observation;
mod poisson;
mod probit;
mod random;
pub(crate) use random::gamma;
mod softmax;
mod tilted;
pub(crate) use tilted::{EVALUATIONS as TILT_EVALUATIONS, Sites};
#[cfg(test)]
mod tests;

use crate::vector::{LANES, total, wide};
use bernoulli::Bernoulli;
use binomial::Binomial;
use gaussian::Gaussian;
use negative_binomial::NegativeBinomial;
use poisson::Poisson;
use probit::Probit;
use serde::{Deserialize, Serialize};
use softmax::Softmax;
use towline::Rng;

/// What kind of data there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// 0 or 1, with P(1) = 1/(1 + e^−η).
    BernoulliLogit,
    /// 0 or 1, with P(1) = Φ(η).
    BernoulliProbit,
    /// Successes among so many trials, with the logistic link.
    BinomialLogit,
    /// Successes among so many trials, with the probit link.
    BinomialProbit,
    /// Counts with mean e^η (an exposure is an offset: its logarithm).
    Poisson,
    /// Counts with mean μ = e^η and variance μ + μ²/size; `size` is a slow parameter.
    NegativeBinomial,
    /// Numbers with mean η; the standard deviation `sd` is a slow parameter.
    Gaussian,
    /// One of several classes 0, 1, …, with probabilities in proportion to e^η_c.
    Softmax,
}

impl Family {
    /// The name of its slow parameter, where it has one.
    pub fn parameter(self) -> Option<&'static str> {
        match self {
            Self::NegativeBinomial => Some("size"),
            Self::Gaussian => Some("sd"),
            _ => None,
        }
    }

    /// Whether a value can have come from this family. (`trials` matters for the binomial alone.)
    pub fn accepts(self, value: f64, trials: f64) -> bool {
        let whole = value >= 0.0 && value.fract() == 0.0 && value.is_finite();
        match self {
            Self::BernoulliLogit | Self::BernoulliProbit => value == 0.0 || value == 1.0,
            Self::BinomialLogit | Self::BinomialProbit => whole && value <= trials,
            Self::Poisson | Self::NegativeBinomial | Self::Softmax => whole,
            Self::Gaussian => value.is_finite(),
        }
    }
}

/// The data and their family: log p(data | η), with derivatives.
#[derive(Debug, Clone)]
pub(crate) enum Likelihood {
    Bernoulli(Bernoulli),
    Probit(Probit),
    Binomial(Binomial),
    Poisson(Poisson),
    NegativeBinomial(NegativeBinomial),
    Gaussian(Gaussian),
    Softmax(Softmax),
}

/// What a family's parameter makes of itself once, so that fast evaluations need not.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Settled {
    /// The parameter.
    pub value: f64,
    /// Its logarithm.
    pub ln: f64,
    /// What of log p does not depend on η.
    pub constant: f64,
}

/// A family whose observations have one η each.
pub(crate) trait Pointwise {
    /// What is observed once.
    type Datum: Copy;

    fn data(&self) -> &[Self::Datum];

    /// What does not depend on η, at this value of the parameter.
    fn constant(&self, parameter: f64) -> f64;

    /// log p without that constant.
    fn log_p(datum: Self::Datum, eta: f64, settled: Settled) -> f64;

    /// d log p / dη.
    fn slope(datum: Self::Datum, eta: f64, settled: Settled) -> f64;

    /// −d² log p / dη², never below 0.
    fn weight(datum: Self::Datum, eta: f64, settled: Settled) -> f64;

    /// A datum drawn at η (of the size, where there is one, of the given datum).
    fn draw(datum: Self::Datum, eta: f64, settled: Settled, rng: &mut Rng) -> f64;
}

/// Σ log p.
fn sum<P: Pointwise>(data: &P, eta: &[f64], settled: Settled) -> f64 {
    wide(
        #[inline(always)]
        || {
            let data = &data.data()[..eta.len()];
            let mut sums = [0.0; LANES];
            let (eta_chunks, eta_rest) = eta.as_chunks::<LANES>();
            let (data_chunks, data_rest) = data.as_chunks::<LANES>();
            for (d, e) in data_chunks.iter().zip(eta_chunks) {
                for k in 0..LANES {
                    sums[k] += P::log_p(d[k], e[k], settled);
                }
            }
            let mut rest = 0.0;
            for (d, e) in data_rest.iter().zip(eta_rest) {
                rest += P::log_p(*d, *e, settled);
            }
            total(sums) + rest
        },
    )
}

fn slopes<P: Pointwise>(data: &P, eta: &[f64], settled: Settled, out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for ((g, d), e) in out.iter_mut().zip(data.data()).zip(eta) {
                *g = P::slope(*d, *e, settled);
            }
        },
    );
}

fn weights<P: Pointwise>(data: &P, eta: &[f64], settled: Settled, out: &mut [f64]) {
    wide(
        #[inline(always)]
        || {
            for ((w, d), e) in out.iter_mut().zip(data.data()).zip(eta) {
                *w = P::weight(*d, *e, settled);
            }
        },
    );
}

/// Hands a call to whichever family this is.
macro_rules! dispatch {
    ($self:expr, $it:ident => $call:expr, $softmax:ident => $other:expr) => {
        match $self {
            Likelihood::Bernoulli($it) => $call,
            Likelihood::Probit($it) => $call,
            Likelihood::Binomial($it) => $call,
            Likelihood::Poisson($it) => $call,
            Likelihood::NegativeBinomial($it) => $call,
            Likelihood::Gaussian($it) => $call,
            Likelihood::Softmax($softmax) => $other,
        }
    };
}

impl Likelihood {
    /// From values that the family accepts.
    pub fn new(family: Family, values: &[f64], trials: Option<&[f64]>, classes: usize) -> Self {
        let trials = |i: usize| trials.map_or(1.0, |t| t[i]);
        let pairs = || values.iter().enumerate().map(|(i, y)| [*y, trials(i)]);
        match family {
            Family::BernoulliLogit => Self::Bernoulli(Bernoulli::new(values)),
            Family::BernoulliProbit | Family::BinomialProbit => {
                Self::Probit(Probit::new(pairs().collect()))
            }
            Family::BinomialLogit => Self::Binomial(Binomial::new(pairs().collect())),
            Family::Poisson => Self::Poisson(Poisson::new(values.to_vec())),
            Family::NegativeBinomial => {
                Self::NegativeBinomial(NegativeBinomial::new(values.to_vec()))
            }
            Family::Gaussian => Self::Gaussian(Gaussian::new(values.to_vec())),
            Family::Softmax => Self::Softmax(Softmax::new(values, classes)),
        }
    }

    /// How many linear predictors an observation has.
    pub fn classes(&self) -> usize {
        match self {
            Self::Softmax(softmax) => softmax.classes(),
            _ => 1,
        }
    }

    /// The trials of each observation, where it has any.
    pub fn trials(&self) -> Option<Vec<f64>> {
        match self {
            Self::Binomial(binomial) => Some(binomial.data().iter().map(|d| d[1]).collect()),
            Self::Probit(probit) => Some(probit.data().iter().map(|d| d[1]).collect()),
            _ => None,
        }
    }

    /// What a value of the parameter makes of itself.
    pub fn settle(&self, parameter: f64) -> Settled {
        Settled {
            value: parameter,
            ln: parameter.ln(),
            constant: dispatch!(self, it => it.constant(parameter), _s => 0.0),
        }
    }

    /// log p(data | η). (η class by class.)
    pub fn log_p(&self, eta: &[f64], settled: Settled) -> f64 {
        settled.constant + dispatch!(self, it => sum(it, eta, settled), s => s.sum(eta))
    }

    /// d log p / dη.
    pub fn slope(&self, eta: &[f64], settled: Settled, out: &mut [f64]) {
        dispatch!(self, it => slopes(it, eta, settled, out), s => s.slopes(eta, out));
    }

    /// −d² log p / dη dηᵀ: for each pair of classes c ≥ c′ (in the order 00, 10, 11, 20, …), a number for
    /// each observation.
    pub fn weight(&self, eta: &[f64], settled: Settled, out: &mut [f64]) {
        dispatch!(self, it => weights(it, eta, settled, out), s => s.weights(eta, out));
    }

    /// New data at these η, of the same sizes.
    pub fn draw(&self, eta: &[f64], settled: Settled, rng: &mut Rng) -> Vec<f64> {
        fn all<P: Pointwise>(data: &P, eta: &[f64], settled: Settled, rng: &mut Rng) -> Vec<f64> {
            let pairs = data.data().iter().zip(eta);
            pairs.map(|(d, e)| P::draw(*d, *e, settled, rng)).collect()
        }
        dispatch!(self, it => all(it, eta, settled, rng), s => s.draw(eta, rng))
    }
}
