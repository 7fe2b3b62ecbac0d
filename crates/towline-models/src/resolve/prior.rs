//! Chooses priors: the most particular one that the model file gives, or the default.

use super::parts::Chosen;
use crate::defaults::{CORRELATION, Reasoned};
use crate::error::Error;
use crate::nearest::did_you_mean;
use crate::parameter::Value;
use crate::spec::PriorTexts;
use std::collections::BTreeSet;
use towline::{Prior, Rng};

/// Where a parameter can lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Natural {
    /// Above zero.
    Positive,
    /// Above zero and at most two: the power of a powered exponential covariance.
    Power,
    /// Above zero, a length scale.
    Length,
    /// Between zero and one.
    Share,
    /// Between minus one and one.
    Correlation,
}

/// The range of Lindgren, Rue and Lindström (2011) and of Fuglstad et al. (2019), √(8ν)/κ, in length scales ℓ: our Matérn
/// functions have κ = √(2ν)/ℓ, so that it is 2ℓ for every ν, where correlations have fallen to about 0.13.
const RANGE: f64 = 2.0;
/// The least share of a prior's draws that must be where its parameter can lie: with less, nobody meant it.
const LEAST_INSIDE: f64 = 0.01;
/// Shapes of an LKJ prior whose draws are neither ±1 nor 0 to rounding.
const SHAPES: std::ops::RangeInclusive<f64> = 0.1..=1e4;
/// How many draws that is judged by.
const DRAWS: usize = 1000;

/// The share of a prior between two ends, at numbers whose logarithms are finite.
fn share_inside(prior: Prior, least: f64, most: f64) -> f64 {
    let mut rng = Rng::stream(0, 0);
    let inside = |value: f64| value > least && value < most && value.abs().ln().is_finite();
    let count = (0..DRAWS).filter(|_| inside(prior.draw(&mut rng))).count();
    count as f64 / DRAWS as f64
}

pub(crate) struct Chooser<'a> {
    texts: &'a PriorTexts,
    used: BTreeSet<&'a str>,
    /// All keys that would have been looked at.
    known: BTreeSet<String>,
    chosen: Vec<Chosen>,
}

impl<'a> Chooser<'a> {
    pub fn new(texts: &'a PriorTexts) -> Self {
        Self {
            texts,
            used: BTreeSet::new(),
            known: BTreeSet::new(),
            chosen: Vec::new(),
        }
    }

    /// The first of the keys under which the file has a prior.
    fn find(&mut self, name: &str, keys: &[&str]) -> Option<(&'a str, &'a str)> {
        let keys: Vec<&str> = [name].into_iter().chain(keys.iter().copied()).collect();
        self.known.extend(keys.iter().map(|key| (*key).to_string()));
        let texts = self.texts;
        let key = keys
            .iter()
            .find_map(|key| texts.names().find(|name| name == key))?;
        self.used.insert(key);
        texts.get(key).map(|text| (key, text))
    }

    fn prior(&mut self, name: &str, keys: &[&str], default: Reasoned) -> Result<Prior, Error> {
        if self.chosen.iter().any(|chosen| chosen.name == name) {
            return Err(Error::setting(
                "formula",
                format!(
                    "two parameters would be called `{name}`, and nobody could tell them apart: rename one of the columns \
                     that they are called after"
                ),
            ));
        }
        let (prior, why) = match self.find(name, keys) {
            None => default,
            Some((key, text)) => {
                let prior = text
                    .parse::<Prior>()
                    .map_err(|error| Error::setting(format!("priors.{key}"), error.to_string()))?;
                (prior, "given".into())
            }
        };
        self.chosen.push(Chosen {
            name: name.into(),
            prior: prior.to_string(),
            why,
        });
        Ok(prior)
    }

    /// A parameter, where its nature lets it lie.
    pub fn value(
        &mut self,
        name: &str,
        keys: &[&str],
        default: Reasoned,
        natural: Natural,
    ) -> Result<Value, Error> {
        let mut prior = self.prior(name, keys, default)?;
        let refuse = |reason: String| Err(Error::setting(format!("the prior of {name}"), reason));
        let (lower, upper) = prior.support();
        let (least, most, range) = match natural {
            Natural::Power => (0.0, 2.0, "between 0 and 2"),
            Natural::Share => (0.0, 1.0, "between 0 and 1"),
            Natural::Correlation => (-1.0, 1.0, "between -1 and 1"),
            _ => (0.0, f64::INFINITY, "above zero"),
        };
        if upper <= least || lower >= most || prior.is_periodic() {
            return refuse(format!("{prior} has no mass {range}, where {name} lies"));
        }
        if lower < least && natural != Natural::Correlation {
            return refuse(format!(
                "{prior} reaches below zero, where {name} cannot lie; a normal prior of its logarithm is \
                 log_normal(mean, sd), and there are half_normal and half_student_t"
            ));
        }
        if share_inside(prior, least, most) < LEAST_INSIDE {
            return refuse(format!(
                "{prior} has next to no mass at numbers {range} that a computer can hold, where {name} lies"
            ));
        }
        if let (Natural::Length, Prior::PcRange { u, alpha }) = (natural, prior) {
            prior = Prior::PcRange {
                u: u / RANGE,
                alpha,
            };
            if let Some(chosen) = self.chosen.last_mut() {
                chosen.why = format!("given: of the range, which is {RANGE} times the length");
            }
        }
        Ok(Value::free(name, prior))
    }

    /// Notes a prior that is none of the engine's list.
    pub fn own(&mut self, name: &str, keys: &[&str], prior: &str, why: &str) {
        self.known
            .extend([name].iter().chain(keys).map(|key| (*key).to_string()));
        self.chosen.push(Chosen {
            name: name.into(),
            prior: prior.into(),
            why: why.into(),
        });
    }

    /// The prior that the file gives under one of these keys, as text.
    pub fn text(&mut self, name: &str, keys: &[&str]) -> Option<&'a str> {
        self.find(name, keys).map(|(_, text)| text)
    }

    /// The mean and standard deviation of a coefficient.
    pub fn normal(
        &mut self,
        name: &str,
        keys: &[&str],
        default: Reasoned,
    ) -> Result<(f64, f64), Error> {
        match self.prior(name, keys, default)? {
            // Adding zero makes −0 and 0 the same.
            Prior::Normal { mean, sd } => Ok((mean + 0.0, sd)),
            other => Err(Error::setting(
                format!("the prior of {name}"),
                format!(
                    "coefficients are latent Gaussian, so their priors are normal(mean, sd), not {other}"
                ),
            )),
        }
    }

    /// The shape of an LKJ prior.
    pub fn correlation(&mut self, name: &str) -> Result<f64, Error> {
        let (shape, why) = match self.find(name, &["cor"]) {
            None => (CORRELATION, "slightly in favour of weak correlations"),
            Some((key, text)) => {
                let inside = text
                    .trim()
                    .strip_prefix("lkj(")
                    .and_then(|rest| rest.strip_suffix(')'));
                let shape = inside.and_then(|inside| inside.trim().parse::<f64>().ok());
                let shape = shape.filter(|shape| SHAPES.contains(shape));
                let shape = shape.ok_or_else(|| {
                    Error::setting(
                        format!("priors.{key}"),
                        format!(
                            "`{text}` is no prior of correlations; write lkj(shape) with a shape from {} to {}, such as lkj(2)",
                            SHAPES.start(),
                            SHAPES.end()
                        ),
                    )
                })?;
                (shape, "given")
            }
        };
        self.chosen.push(Chosen {
            name: name.into(),
            prior: format!("lkj({shape})"),
            why: why.into(),
        });
        Ok(shape)
    }

    /// What was chosen; refuses priors of parameters that the model does not have.
    pub fn finish(self) -> Result<Vec<Chosen>, Error> {
        if let Some(name) = self.texts.names().find(|name| !self.used.contains(name)) {
            let known = self.known.iter().map(String::as_str);
            let reason = if self.known.contains(name) {
                "every parameter it could be for has a more particular prior: leave it out".into()
            } else {
                let hint = did_you_mean(name, known).unwrap_or_else(|| {
                    let names: Vec<&str> = self.chosen.iter().map(|c| c.name.as_str()).collect();
                    format!("its parameters are {}", names.join(", "))
                });
                format!("the model has no such parameter; {hint}")
            };
            return Err(Error::setting(format!("priors.{name}"), reason));
        }
        Ok(self.chosen)
    }
}
