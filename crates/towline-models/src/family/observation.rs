//! One response given η, as a distribution: density, cumulated probability, mean, variance. For predictions and checks.

use super::binomial::Binomial;
use super::negative_binomial::{NegativeBinomial, rising};
use super::poisson::Poisson;
use super::probit::{Probit, phi};
use super::random::{binomial, gamma, ln_choose, poisson};
use super::{Family, Pointwise, Settled};
use crate::special::{lower_beta, normal_cdf, normal_density, normal_quantile, upper_gamma};
use crate::vector::logistic;
use libm::lgamma;
use towline::Rng;

/// ln √(2π).
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// How a response is distributed, but for η: of every family with one predictor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The family. Not the softmax, which has a predictor for each class.
    pub family: Family,
    /// The family's own parameter: a Gaussian's standard deviation, a negative binomial's size; else it is not used.
    pub parameter: f64,
    /// Trials of a binomial response; else 1.
    pub trials: f64,
}

impl Observation {
    /// Whether responses are whole numbers.
    pub fn is_discrete(&self) -> bool {
        self.family != Family::Gaussian
    }

    /// The largest response that there can be.
    pub fn most(&self) -> f64 {
        match self.family {
            Family::BernoulliLogit | Family::BernoulliProbit => 1.0,
            Family::BinomialLogit | Family::BinomialProbit => self.trials,
            _ => f64::INFINITY,
        }
    }

    fn settled(&self) -> Settled {
        Settled {
            value: self.parameter,
            ln: self.parameter.ln(),
            constant: 0.0,
        }
    }

    /// The expected response at η.
    pub fn mean(&self, eta: f64) -> f64 {
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => self.trials * logistic(eta),
            Family::BernoulliProbit | Family::BinomialProbit => self.trials * phi(eta),
            Family::Poisson | Family::NegativeBinomial => eta.exp(),
            Family::Gaussian | Family::Softmax => eta,
        }
    }

    /// The η at which this is the expected response; infinite beyond what the family can expect.
    pub fn link(&self, mean: f64) -> f64 {
        let p = (mean / self.trials).clamp(0.0, 1.0);
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => (p / (1.0 - p)).ln(),
            Family::BernoulliProbit | Family::BinomialProbit => match p {
                0.0 => f64::NEG_INFINITY,
                1.0 => f64::INFINITY,
                p => normal_quantile(p),
            },
            Family::Poisson | Family::NegativeBinomial => mean.max(0.0).ln(),
            Family::Gaussian | Family::Softmax => mean,
        }
    }

    /// ln p(y | η), constants and all.
    pub fn ln_p(&self, y: f64, eta: f64) -> f64 {
        let m = self.trials;
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => {
                ln_choose(m, y) + Binomial::log_p([y, m], eta, self.settled())
            }
            Family::BernoulliProbit | Family::BinomialProbit => {
                ln_choose(m, y) + Probit::log_p([y, m], eta, self.settled())
            }
            Family::Poisson => Poisson::log_p(y, eta, self.settled()) - lgamma(y + 1.0),
            Family::NegativeBinomial => {
                rising(y, self.parameter) - lgamma(y + 1.0)
                    + NegativeBinomial::log_p(y, eta, self.settled())
            }
            Family::Gaussian | Family::Softmax => {
                let u = (y - eta) / self.parameter;
                -0.5 * u * u - self.parameter.ln() - HALF_LN_TAU
            }
        }
    }

    /// d ln p / dη, and −d² ln p / dη².
    pub(crate) fn derivatives(&self, y: f64, eta: f64) -> (f64, f64) {
        let (m, settled) = (self.trials, self.settled());
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => (
                Binomial::slope([y, m], eta, settled),
                Binomial::weight([y, m], eta, settled),
            ),
            Family::BernoulliProbit | Family::BinomialProbit => (
                Probit::slope([y, m], eta, settled),
                Probit::weight([y, m], eta, settled),
            ),
            Family::Poisson => (
                Poisson::slope(y, eta, settled),
                Poisson::weight(y, eta, settled),
            ),
            Family::NegativeBinomial => (
                NegativeBinomial::slope(y, eta, settled),
                NegativeBinomial::weight(y, eta, settled),
            ),
            Family::Gaussian | Family::Softmax => {
                let precision = self.parameter.powi(-2);
                ((y - eta) * precision, precision)
            }
        }
    }

    /// P(Y ≤ y | η). Falls as η rises, in every family.
    pub fn cdf(&self, y: f64, eta: f64) -> f64 {
        if self.is_discrete() {
            if y < 0.0 {
                return 0.0;
            }
            if y >= self.most() {
                return 1.0;
            }
        }
        let k = y.floor();
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => {
                lower_beta(logistic(-eta), logistic(eta), self.trials - k, k + 1.0)
            }
            Family::BernoulliProbit | Family::BinomialProbit => {
                lower_beta(phi(-eta), phi(eta), self.trials - k, k + 1.0)
            }
            Family::Poisson => upper_gamma(k + 1.0, eta.exp()),
            Family::NegativeBinomial => {
                let t = eta - self.parameter.ln();
                lower_beta(logistic(-t), logistic(t), self.parameter, k + 1.0)
            }
            Family::Gaussian | Family::Softmax => normal_cdf((y - eta) / self.parameter),
        }
    }

    /// A response drawn at η.
    pub fn draw(&self, eta: f64, rng: &mut Rng) -> f64 {
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => {
                binomial(self.trials, logistic(eta), rng)
            }
            Family::BernoulliProbit | Family::BinomialProbit => {
                binomial(self.trials, phi(eta), rng)
            }
            Family::Poisson => poisson(eta.exp(), rng),
            Family::NegativeBinomial => {
                let rate = eta.exp() * gamma(self.parameter, rng) / self.parameter;
                poisson(rate, rng)
            }
            Family::Gaussian | Family::Softmax => eta + self.parameter * rng.normal(),
        }
    }

    /// −∂P(Y ≤ k | η)/∂η, as a logarithm up to a constant: the density of the η at which a tolerance of k is passed. Factors that do not
    /// depend on η are left out, which for large counts would be all that a double can hold.
    pub(crate) fn ln_tolerance(&self, k: f64, eta: f64) -> f64 {
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => {
                let (a, b) = (k + 1.0, self.trials - k);
                ln_sigmoid(eta) * a + ln_sigmoid(-eta) * b
            }
            Family::BernoulliProbit | Family::BinomialProbit => {
                let ln = |times: f64, p: f64| if times == 0.0 { 0.0 } else { times * p.ln() };
                ln(k, phi(eta)) + ln(self.trials - k - 1.0, phi(-eta)) - 0.5 * eta * eta
            }
            Family::Poisson => {
                let above = eta - (k + 1.0).ln();
                (k + 1.0) * (above - above.exp_m1())
            }
            Family::NegativeBinomial => {
                let t = eta - self.parameter.ln();
                ln_sigmoid(t) * (k + 1.0) + ln_sigmoid(-t) * self.parameter
            }
            Family::Gaussian | Family::Softmax => -0.5 * ((k - eta) / self.parameter).powi(2),
        }
    }

    /// Where that density is about highest, and about how wide it is.
    pub(crate) fn tolerance_at(&self, k: f64) -> (f64, f64) {
        let share = |a: f64, b: f64| (a / (a + b), a + b);
        match self.family {
            Family::BernoulliLogit | Family::BinomialLogit => {
                let (p, count) = share(k + 1.0, self.trials - k);
                ((p / (1.0 - p)).ln(), 1.0 / (count * p * (1.0 - p)).sqrt())
            }
            Family::BernoulliProbit | Family::BinomialProbit => {
                let (p, count) = share(k + 1.0, self.trials - k);
                let at = normal_quantile(p);
                (at, (p * (1.0 - p) / count).sqrt() / normal_density(at))
            }
            Family::Poisson => ((k + 1.0).ln(), 1.0 / (k + 1.0).sqrt()),
            Family::NegativeBinomial => {
                let (a, b) = (k + 1.0, self.parameter);
                (a.ln(), (1.0 / a + 1.0 / b).sqrt())
            }
            Family::Gaussian | Family::Softmax => (k, self.parameter),
        }
    }
}

/// ln(1/(1 + e^−t)).
fn ln_sigmoid(t: f64) -> f64 {
    if t > 0.0 {
        -(-t).exp().ln_1p()
    } else {
        t - t.exp().ln_1p()
    }
}
