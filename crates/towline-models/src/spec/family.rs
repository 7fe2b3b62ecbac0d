//! Families of responses by name, what they accept, and what is said when they do not.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A family of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FamilyKind {
    /// 0 or 1.
    #[serde(alias = "binary")]
    Bernoulli,
    /// Successes among trials.
    Binomial,
    /// Counts.
    Poisson,
    /// Counts with more spread than Poisson's.
    NegativeBinomial,
    /// Numbers.
    #[serde(alias = "normal")]
    Gaussian,
    /// One of several classes.
    #[serde(alias = "categorical", alias = "multinomial")]
    Softmax,
}

/// How the mean depends on the linear predictor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// ln(p/(1−p)).
    Logit,
    /// The quantile of a standard normal variable.
    Probit,
}

impl FamilyKind {
    /// Every family.
    pub const ALL: [Self; 6] = [
        Self::Bernoulli,
        Self::Binomial,
        Self::Poisson,
        Self::NegativeBinomial,
        Self::Gaussian,
        Self::Softmax,
    ];

    /// Its name, as a model file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bernoulli => "bernoulli",
            Self::Binomial => "binomial",
            Self::Poisson => "poisson",
            Self::NegativeBinomial => "negative_binomial",
            Self::Gaussian => "gaussian",
            Self::Softmax => "softmax",
        }
    }

    /// What its responses are.
    pub(crate) fn accepts(self) -> &'static str {
        match self {
            Self::Bernoulli => "0 or 1",
            Self::Binomial => "a whole number from 0 to the number of trials",
            Self::Poisson | Self::NegativeBinomial => "a whole number, 0 or more",
            Self::Gaussian => "a number",
            Self::Softmax => "one of several classes",
        }
    }

    /// Whether a value is one of its responses, given the number of trials.
    pub(crate) fn accepts_value(self, value: f64, trials: f64) -> bool {
        let whole = value >= 0.0 && value.fract() == 0.0;
        match self {
            Self::Bernoulli => value == 0.0 || value == 1.0,
            Self::Binomial => whole && value <= trials,
            Self::Poisson | Self::NegativeBinomial => whole,
            Self::Gaussian | Self::Softmax => value.is_finite(),
        }
    }

    /// Whether an exposure has a meaning: the link is a logarithm.
    pub(crate) fn is_count(self) -> bool {
        matches!(self, Self::Poisson | Self::NegativeBinomial)
    }
}

impl fmt::Display for FamilyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for FamilyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.to_lowercase().replace('-', "_");
        let known = Self::ALL.into_iter().find(|family| family.name() == plain);
        known.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|family| family.name()).collect();
            format!("`{text}` is none of {}", names.join(", "))
        })
    }
}
