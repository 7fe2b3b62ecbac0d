//! Chooses priors: the most particular one that the model file gives, or the default.

use super::parts::Chosen;
use crate::defaults::{CORRELATION, Reasoned};
use crate::error::Error;
use crate::nearest::did_you_mean;
use crate::parameter::Value;
use crate::spec::PriorTexts;
use std::collections::BTreeSet;
use towline::Prior;

pub(super) struct Chooser<'a> {
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

    /// A positive parameter.
    pub fn value(&mut self, name: &str, keys: &[&str], default: Reasoned) -> Result<Value, Error> {
        let prior = self.prior(name, keys, default)?;
        let (lower, upper) = prior.support();
        if upper <= 0.0 || prior.is_periodic() {
            return Err(Error::setting(
                format!("the prior of {name}"),
                format!("{prior} has no mass above zero, where {name} lies"),
            ));
        }
        if lower < 0.0 {
            return Err(Error::setting(
                format!("the prior of {name}"),
                format!(
                    "{prior} reaches below zero, where {name} cannot lie; a normal prior of its logarithm is \
                     log_normal(mean, sd), and there are half_normal and half_student_t"
                ),
            ));
        }
        Ok(Value::free(name, prior))
    }

    /// The mean and standard deviation of a coefficient.
    pub fn normal(
        &mut self,
        name: &str,
        keys: &[&str],
        default: Reasoned,
    ) -> Result<(f64, f64), Error> {
        match self.prior(name, keys, default)? {
            Prior::Normal { mean, sd } => Ok((mean, sd)),
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
                let shape = shape.filter(|shape| *shape > 0.0 && shape.is_finite());
                let shape = shape.ok_or_else(|| {
                    Error::setting(
                        format!("priors.{key}"),
                        format!("`{text}` is no prior of correlations; write lkj(shape) with a shape above zero, such as lkj(2)"),
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
