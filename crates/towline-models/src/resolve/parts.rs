//! The parts of a model as plain data, and the model they make.

use crate::dense::Process;
use crate::error::Error;
use crate::fixed::Fixed;
use crate::latent::{Builder, Data, LatentGaussian};
use crate::parameter::Value;
use crate::sparse::Grouping;

/// Everything a model is built of.
#[derive(Debug, Clone)]
pub struct ModelParts {
    /// The response, its family, trials and offset.
    pub data: Data,
    /// The names of the classes, or of failure and success where the response is text; else empty.
    pub classes: Vec<String>,
    /// The fixed effects.
    pub fixed: Fixed,
    /// The random effects.
    pub groupings: Vec<Grouping>,
    /// The Gaussian process.
    pub process: Option<Process>,
    /// The family's own parameter.
    pub parameter: Option<Value>,
}

impl ModelParts {
    /// The model that they make.
    ///
    /// # Errors
    /// Parts that do not go together.
    pub fn build(&self) -> Result<LatentGaussian, Error> {
        let mut builder = Builder::new(self.data.clone()).fixed(self.fixed.clone());
        for grouping in &self.groupings {
            builder = builder.grouping(grouping.clone());
        }
        if let Some(process) = &self.process {
            builder = builder.process(process.clone());
        }
        if let Some(parameter) = &self.parameter {
            builder = builder.parameter(parameter.clone());
        }
        builder.build()
    }
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
