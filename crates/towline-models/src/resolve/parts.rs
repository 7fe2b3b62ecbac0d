//! The parts of a model as plain data.

use crate::covariance::{Covariance, Places};
use crate::family::Family;
use crate::parameter::Value;

/// Everything a model is built of.
#[derive(Debug, Clone)]
pub struct ModelParts {
    /// The family of the response.
    pub family: Family,
    /// The response of each row; for classes, their numbers.
    pub response: Vec<f64>,
    /// The trials of each row, of a binomial response.
    pub trials: Option<Vec<f64>>,
    /// The names of the classes, or of failure and success where the response is text.
    pub classes: Vec<String>,
    /// What is added to the linear predictor of each row.
    pub offset: Vec<f64>,
    /// The fixed effects.
    pub effects: Vec<Effect>,
    /// The random effects.
    pub groupings: Vec<Groups>,
    /// The Gaussian process.
    pub process: Option<ProcessPart>,
    /// The family's own parameter.
    pub parameter: Option<Value>,
}

/// A fixed effect: a covariate whose coefficient is normal a priori.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Its name.
    pub name: String,
    /// The covariate in each row.
    pub column: Vec<f64>,
    /// The prior mean of the coefficient.
    pub mean: f64,
    /// Its prior standard deviation.
    pub sd: f64,
}

/// Effects that differ from group to group.
#[derive(Debug, Clone, PartialEq)]
pub struct Groups {
    /// What the groups are called together.
    pub name: String,
    /// The names of the groups.
    pub levels: Vec<String>,
    /// The group of each row.
    pub group: Vec<usize>,
    /// The names of the effects.
    pub effects: Vec<String>,
    /// Effect by effect, what it multiplies in each row.
    pub columns: Vec<Vec<f64>>,
    /// The standard deviations between groups.
    pub sds: Vec<Value>,
    /// The shape of the LKJ prior of the effects' correlations, where they are correlated.
    pub correlation: Option<f64>,
}

/// A Gaussian process.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessPart {
    /// Its covariance.
    pub covariance: Covariance,
    /// The different places.
    pub places: Places,
    /// The place of each row, where several rows share one.
    pub place_of: Option<Vec<usize>>,
    /// What is added to every variance for the factorisation's sake.
    pub jitter: f64,
}

/// The prior of a parameter, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The parameter.
    pub name: String,
    /// Its prior.
    pub prior: String,
    /// `given`, or the reason for the default.
    pub why: String,
}
