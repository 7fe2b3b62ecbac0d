//! Families of responses by name, what they accept, and what is said when they do not.

use crate::nearest::nearest;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A family of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum FamilyKind {
    /// 0 or 1.
    Bernoulli,
    /// Successes among trials.
    Binomial,
    /// Counts.
    Poisson,
    /// Counts with more spread than Poisson's.
    NegativeBinomial,
    /// Numbers.
    Gaussian,
    /// One of several classes.
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

/// Other names that are accepted.
pub(crate) const ALIASES: [(&str, FamilyKind); 4] = [
    ("binary", FamilyKind::Bernoulli),
    ("normal", FamilyKind::Gaussian),
    ("categorical", FamilyKind::Softmax),
    ("multinomial", FamilyKind::Softmax),
];

/// What other programs call families, for suggestions.
const ELSEWHERE: [(&str, FamilyKind); 9] = [
    ("negbin", FamilyKind::NegativeBinomial),
    ("nbinom", FamilyKind::NegativeBinomial),
    ("nbinom2", FamilyKind::NegativeBinomial),
    ("nb", FamilyKind::NegativeBinomial),
    ("neg_binomial", FamilyKind::NegativeBinomial),
    ("logistic", FamilyKind::Bernoulli),
    ("logit", FamilyKind::Bernoulli),
    ("probit", FamilyKind::Bernoulli),
    ("multinom", FamilyKind::Softmax),
];

impl std::str::FromStr for FamilyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text.trim().to_lowercase().replace(['-', '.', ' '], "_");
        let named = Self::ALL.into_iter().map(|family| (family.name(), family));
        let mut known = named.clone().chain(ALIASES);
        if let Some((_, family)) = known.find(|(name, _)| *name == plain) {
            return Ok(family);
        }
        let names: Vec<&str> = Self::ALL.iter().map(|family| family.name()).collect();
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == plain);
        let near = elsewhere.map(|(_, family)| family.name()).or_else(|| {
            let words = named.chain(ALIASES).chain(ELSEWHERE);
            let near = nearest(&plain, words.clone().map(|(name, _)| name))?;
            let mut words = words;
            words
                .find(|(name, _)| *name == near)
                .map(|(_, family)| family.name())
        });
        let hint = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
        Err(format!(
            "`{text}` is no family; {hint}there are {}",
            names.join(", ")
        ))
    }
}

impl TryFrom<String> for FamilyKind {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<FamilyKind> for String {
    fn from(family: FamilyKind) -> Self {
        family.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_and_slips_come_with_a_suggestion() {
        let said = |text: &str| text.parse::<FamilyKind>().unwrap_err();
        for (text, meant) in [
            ("negbin", "negative_binomial"),
            ("poison", "poisson"),
            ("logistic", "bernoulli"),
            ("gausian", "gaussian"),
        ] {
            let words = format!("did you mean `{meant}`?");
            assert!(said(text).contains(&words), "{}", said(text));
        }
        assert_eq!("normal".parse(), Ok(FamilyKind::Gaussian));
        assert_eq!(
            "Negative-Binomial".parse(),
            Ok(FamilyKind::NegativeBinomial)
        );
        assert!(!said("weibull").contains("did you mean"));
    }
}
