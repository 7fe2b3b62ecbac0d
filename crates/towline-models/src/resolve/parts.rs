//! The parts of a model as plain data, and the model they make.

use crate::component::Component;
use crate::dense::Process;
use crate::error::Error;
use crate::fixed::Fixed;
use crate::latent::{Builder, Data, LatentGaussian};
use crate::parameter::Value;
use crate::sparse::Grouping;
use std::collections::HashSet;
use towline::Model;

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
    /// Other components.
    pub components: Vec<Component>,
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
        if self.data.classes > 1 {
            builder = builder.class_names(self.classes.clone());
        }
        for grouping in &self.groupings {
            builder = builder.grouping(grouping.clone());
        }
        if let Some(process) = &self.process {
            builder = builder.process(process.clone());
        }
        for component in &self.components {
            builder = builder.component(component.clone());
        }
        if let Some(parameter) = &self.parameter {
            builder = builder.parameter(parameter.clone());
        }
        let model = builder.build()?;
        refuse_twins(&model)?;
        Ok(model)
    }
}

/// Refuses two reported numbers of one name: in a table of draws nobody could tell them apart.
fn refuse_twins(model: &LatentGaussian) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for column in model.columns() {
        if let Some(twin) = seen.replace(column.name) {
            return Err(Error::setting(
                "formula",
                format!(
                    "two numbers would be reported as `{twin}`, and nobody could tell them apart: rename a column, or one of \
                     the levels that they are called after"
                ),
            ));
        }
    }
    Ok(())
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
