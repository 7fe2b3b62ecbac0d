//! A named parameter: its prior, and how costly it is to change.

use crate::prior::Prior;
use serde::{Deserialize, Serialize};

/// One parameter of a [`Posterior`](crate::Posterior).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name, unique among parameters and derived quantities.
    pub name: String,
    /// Its prior, which also says where it may lie.
    pub prior: Prior,
    /// What changing it costs.
    pub speed: Speed,
    /// How to typeset it (LaTeX without dollar signs), where that differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Whether it is one of many that are stored only every so many draws.
    #[serde(default)]
    pub latent: bool,
}

/// What changing a parameter costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speed {
    /// The slow computation.
    Slow,
    /// A fast evaluation; of two levels the higher is the faster.
    Fast(u32),
}

impl Parameter {
    /// A slow parameter.
    pub fn slow(name: impl Into<String>, prior: Prior) -> Self {
        Self {
            name: name.into(),
            prior,
            speed: Speed::Slow,
            label: None,
            latent: false,
        }
    }

    /// A fast parameter, of level 0.
    pub fn fast(name: impl Into<String>, prior: Prior) -> Self {
        Self {
            speed: Speed::Fast(0),
            ..Self::slow(name, prior)
        }
    }

    /// The same as a fast parameter of this level, for likelihoods of more than two speeds.
    #[must_use]
    pub fn at_level(self, level: u32) -> Self {
        Self {
            speed: Speed::Fast(level),
            ..self
        }
    }

    /// The same with a label.
    #[must_use]
    pub fn labelled(self, label: impl Into<String>) -> Self {
        Self {
            label: Some(label.into()),
            ..self
        }
    }

    /// The same as one of many latents, which a run may store less often.
    #[must_use]
    pub fn as_latent(self) -> Self {
        Self {
            latent: true,
            ..self
        }
    }
}
