//! What a run needs to know of a target beyond its density: names, what to report, where to begin.

use crate::error::ModelError;
use crate::random::Rng;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A target that can be run, stored and reported on.
///
/// A chain moves (x, y), on whatever scale suits the target; what is stored and shown is what
/// [`report`](Self::report) makes of it: one number for each of [`columns`](Self::columns), on the user's scale.
pub trait Model: Target {
    /// What is reported of each draw, in the order in which it is stored.
    fn columns(&self) -> Vec<Column>;

    /// Fills `row`, a number for each column, from a draw (x, y) and the cache of x.
    fn report(&self, x: &[f64], y: &[f64], cache: &Self::Cache, row: &mut [f64]);

    /// A place where a chain may begin: dispersed, and the same whenever `rng` is the same.
    ///
    /// # Errors
    /// Where no point of positive density can be found.
    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError>;

    /// Whether the model says itself when there are enough draws, instead of the run's settings.
    fn says_when(&self) -> bool {
        false
    }

    /// Whether so many draws of each chain are enough; all of them are in the run directory. Asked of the first chain
    /// after 100 draws and after every fifth more, in a resumed run again where it stopped.
    ///
    /// # Errors
    /// Whatever can fail in the model.
    fn is_enough(&self, draws: u64) -> Result<bool, ModelError> {
        let _ = draws;
        Ok(false)
    }

    /// What was settled about the model (data, priors, options), for the manifest and for people.
    fn settings(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// One number that is reported of every draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, unique among the columns.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// How to typeset it (LaTeX without dollar signs), where that differs from the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A lower bound of its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// An upper bound of its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Whether its bounds are the same point, as for an angle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub periodic: bool,
}

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A slow variable.
    Slow,
    /// A fast variable.
    Fast,
    /// One of many fast variables that are stored only every so many draws (see the run's thinning).
    Latent,
    /// Something computed from the others.
    Derived,
}

impl Column {
    /// A column without bounds.
    pub fn new(name: impl Into<String>, role: Role) -> Self {
        Self {
            name: name.into(),
            role,
            label: None,
            lower: None,
            upper: None,
            periodic: false,
        }
    }
}
