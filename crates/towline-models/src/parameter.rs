//! Slow parameters: a name, a prior on the user's scale, and the scale on which the chain moves.

use std::sync::Arc;
use towline::{Prior, Rng};

/// How often a prior is drawn from until a draw is where its parameter can lie.
const TRIES: usize = 100_000;

/// A slow parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name, under which it is reported. Two of the same name in one model are one parameter.
    pub name: String,
    /// Its prior, on the user's scale. (A normal prior of a logarithm is a log-normal one.)
    pub prior: Prior,
}

impl Parameter {
    /// A parameter with this prior.
    pub fn new(name: impl Into<String>, prior: Prior) -> Self {
        Self {
            name: name.into(),
            prior,
        }
    }
}

/// A number in a model: given, or to be inferred.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Given.
    Fixed(f64),
    /// To be inferred.
    Free(Parameter),
}

impl Value {
    /// A parameter to be inferred.
    pub fn free(name: impl Into<String>, prior: Prior) -> Self {
        Self::Free(Parameter::new(name, prior))
    }
}

/// Where a number comes from, once the slow parameters are numbered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Source {
    Fixed(f64),
    Slow(usize),
}

impl Source {
    pub fn get(self, values: &[f64]) -> f64 {
        match self {
            Self::Fixed(value) => value,
            Self::Slow(k) => values[k],
        }
    }
}

/// The scale on which a chain moves: unbounded, whatever the parameter's bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scale {
    /// The value itself.
    Real,
    /// The logarithm of the value above a bound.
    Above(f64),
    /// The logit of where it lies in an interval.
    Between(f64, f64),
}

impl Scale {
    fn of(lower: f64, upper: f64) -> Self {
        match (lower.is_finite(), upper.is_finite()) {
            (true, true) => Self::Between(lower, upper),
            (true, false) => Self::Above(lower),
            _ => Self::Real,
        }
    }

    /// The value at x.
    pub fn value(self, x: f64) -> f64 {
        match self {
            Self::Real => x,
            Self::Above(lower) => lower + x.exp(),
            Self::Between(lower, upper) => lower + (upper - lower) * crate::vector::logistic(x),
        }
    }

    /// ln |d value / dx|.
    fn log_slope(self, x: f64) -> f64 {
        match self {
            Self::Real => 0.0,
            Self::Above(_) => x,
            Self::Between(lower, upper) => {
                (upper - lower).ln() - crate::vector::softplus(x) - crate::vector::softplus(-x)
            }
        }
    }

    /// x at this value.
    pub fn x(self, value: f64) -> f64 {
        match self {
            Self::Real => value,
            Self::Above(lower) => (value - lower).ln(),
            Self::Between(lower, upper) => ((value - lower) / (upper - value)).ln(),
        }
    }
}

/// One of the numbered slow variables.
#[derive(Debug, Clone)]
pub(crate) struct Slow {
    pub name: String,
    pub kind: Kind,
    pub lower: f64,
    pub upper: f64,
}

/// A prior that depends on data, and so has no name in the engine's list.
pub(crate) trait OwnPrior: std::fmt::Debug + Send + Sync {
    /// The log density.
    fn log_density(&self, value: f64) -> f64;

    /// A draw.
    fn draw(&self, rng: &mut Rng) -> f64;
}

/// What a slow variable is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A parameter on its scale, with a prior of its own and what that is called.
    Own(Arc<dyn OwnPrior>, Scale, String),
    /// A parameter on its scale.
    Scaled(Prior, Scale),
    /// A partial correlation z = tanh x, with density in proportion to (1 − z²)^(power − 1): the vine form of the LKJ
    /// prior (Lewandowski, Kurowicka and Joe 2009).
    Partial { power: f64 },
}

impl Slow {
    /// The value at x.
    pub fn value(&self, x: f64) -> f64 {
        match &self.kind {
            Kind::Scaled(_, scale) | Kind::Own(_, scale, _) => scale.value(x),
            Kind::Partial { .. } => x.tanh(),
        }
    }

    /// The log density of x.
    pub fn log_prior(&self, x: f64) -> f64 {
        match &self.kind {
            Kind::Scaled(prior, scale) => prior.log_density(scale.value(x)) + scale.log_slope(x),
            Kind::Own(prior, scale, _) => prior.log_density(scale.value(x)) + scale.log_slope(x),
            // 1 − tanh² = sech², whose logarithm is −2 ln cosh; twice: once the density, once the Jacobian.
            &Kind::Partial { power } => {
                let ln_cosh = x.abs() + (-2.0 * x.abs()).exp().ln_1p() - std::f64::consts::LN_2;
                let ln_beta = 2.0 * libm::lgamma(power) - libm::lgamma(2.0 * power);
                -2.0 * power * ln_cosh - ln_beta - (2.0 * power - 1.0) * std::f64::consts::LN_2
            }
        }
    }

    /// A draw of x from the prior.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match &self.kind {
            Kind::Own(prior, scale, _) => scale.x(prior.draw(rng)),
            Kind::Scaled(prior, scale) => {
                let mut inside = (0..TRIES).filter_map(|_| {
                    let value = prior.draw(rng);
                    (value > self.lower && value < self.upper).then(|| scale.x(value))
                });
                // A prior without mass there has no draw; whoever uses it is told that nothing has positive density.
                inside.next().unwrap_or(f64::NAN)
            }
            &Kind::Partial { power } => {
                let (a, b) = (
                    crate::family::gamma(power, rng),
                    crate::family::gamma(power, rng),
                );
                // tanh x = (a − b)/(a + b), so x = ½ ln(a/b).
                0.5 * (a / b).ln()
            }
        }
    }
}

/// How many prior draws tell where the middle of the prior is.
const MIDDLE: usize = 101;

/// The middle of the prior of x, coordinate by coordinate.
pub(crate) fn middle_of(slow: &[Slow]) -> Vec<f64> {
    let mut rng = Rng::stream(0, 0);
    let mut one = |slow: &Slow| {
        let mut draws: Vec<f64> = (0..MIDDLE).map(|_| slow.draw(&mut rng)).collect();
        draws.sort_by(f64::total_cmp);
        draws[MIDDLE / 2]
    };
    slow.iter().map(&mut one).collect()
}

/// The slow parameters of a model as they are collected and numbered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Register {
    pub slow: Vec<Slow>,
}

impl Register {
    /// Numbers a value whose natural bounds are given.
    pub fn add(&mut self, value: &Value, lower: f64, upper: f64) -> Source {
        let parameter = match value {
            Value::Fixed(value) => return Source::Fixed(*value),
            Value::Free(parameter) => parameter,
        };
        if let Some(k) = self.slow.iter().position(|s| s.name == parameter.name) {
            return Source::Slow(k);
        }
        let (low, high) = parameter.prior.support();
        let (lower, upper) = (lower.max(low), upper.min(high));
        self.slow.push(Slow {
            name: parameter.name.clone(),
            kind: Kind::Scaled(parameter.prior, Scale::of(lower, upper)),
            lower,
            upper,
        });
        Source::Slow(self.slow.len() - 1)
    }

    /// Numbers a parameter between zero and one with a prior of its own, called so.
    pub fn add_own(&mut self, name: &str, prior: Arc<dyn OwnPrior>, called: &str) -> Source {
        self.slow.push(Slow {
            name: name.into(),
            kind: Kind::Own(prior, Scale::Between(0.0, 1.0), called.into()),
            lower: 0.0,
            upper: 1.0,
        });
        Source::Slow(self.slow.len() - 1)
    }

    /// Numbers a partial correlation.
    pub fn add_partial(&mut self, name: String, power: f64) -> usize {
        self.slow.push(Slow {
            name,
            kind: Kind::Partial { power },
            lower: -1.0,
            upper: 1.0,
        });
        self.slow.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Slow> {
        let mut register = Register::default();
        let infinite = f64::INFINITY;
        for (k, prior) in [
            Prior::Normal { mean: 0.3, sd: 1.2 },
            Prior::LogNormal {
                log_mean: -0.5,
                log_sd: 1.0,
            },
            Prior::HalfNormal { scale: 2.0 },
            Prior::Uniform {
                lower: -1.0,
                upper: 3.0,
            },
        ]
        .into_iter()
        .enumerate()
        {
            register.add(&Value::free(format!("p{k}"), prior), -infinite, infinite);
        }
        for power in [1.0, 1.5, 3.0] {
            register.add_partial(format!("r{power}"), power);
        }
        register.slow
    }

    #[test]
    fn priors_are_normalised_on_the_scale_of_the_chain() {
        for slow in all() {
            let h = 1e-3;
            let sum: f64 = (-40_000..40_000)
                .map(|k| slow.log_prior(f64::from(k) * h).exp() * h)
                .sum();
            assert!((sum - 1.0).abs() < 1e-6, "{}: {sum}", slow.name);
        }
    }

    #[test]
    fn draws_follow_the_prior_on_the_scale_of_the_chain() {
        let mut rng = Rng::stream(8, 0);
        for slow in all() {
            let h = 1e-3;
            let grid = (-40_000..40_000).map(|k| f64::from(k) * h);
            let mean: f64 = grid.clone().map(|x| x * slow.log_prior(x).exp() * h).sum();
            let variance: f64 = grid
                .map(|x| (x - mean).powi(2) * slow.log_prior(x).exp() * h)
                .sum();
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| slow.draw(&mut rng)).collect();
            let seen = draws.iter().sum::<f64>() / f64::from(n);
            let spread = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / f64::from(n);
            assert!(
                (seen - mean).abs() < 4.0 * (variance / f64::from(n)).sqrt(),
                "{}",
                slow.name
            );
            assert!(
                (spread / variance - 1.0).abs() < 0.08,
                "{}: {spread} {variance}",
                slow.name
            );
        }
    }
}
