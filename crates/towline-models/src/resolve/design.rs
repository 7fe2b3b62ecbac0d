//! How rows of a table become rows of the model: the same for new data as for the fitted.

use super::response;
use crate::error::Error;
use crate::formula::{Expression, Factor, Matrix};
use crate::table::Table;

#[derive(Debug, Clone)]
pub(super) struct Design {
    pub response: response::Design,
    pub exposure: Option<Expression>,
    pub offsets: Vec<Expression>,
    pub fixed: Matrix,
    pub groups: Vec<GroupDesign>,
    pub inputs: Vec<Expression>,
}

#[derive(Debug, Clone)]
pub(super) struct GroupDesign {
    pub factor: Factor,
    pub effects: Matrix,
    pub correlated: bool,
}

/// New rows, coded as the fitted ones.
#[derive(Debug, Clone)]
pub struct NewRows {
    /// The fixed effects' covariates, column by column.
    pub fixed: Vec<Vec<f64>>,
    /// What is added to the linear predictor.
    pub offset: Vec<f64>,
    /// The random effects.
    pub groups: Vec<NewGroups>,
    /// The Gaussian process's inputs, input by input.
    pub coordinates: Vec<Vec<f64>>,
    /// Whether there is an exposure in the model that these rows do not have: then it is 1.
    pub without_exposure: bool,
}

/// The groups of new rows.
#[derive(Debug, Clone)]
pub struct NewGroups {
    /// The group of each row; `None` for a group that was not fitted.
    pub group: Vec<Option<usize>>,
    /// Effect by effect, what it multiplies.
    pub columns: Vec<Vec<f64>>,
}

impl Design {
    /// The sum of offsets and the logarithm of the exposure.
    pub fn offset(&self, table: &Table) -> Result<Vec<f64>, Error> {
        let mut offset = vec![0.0; table.rows()];
        for part in &self.offsets {
            for (sum, value) in offset.iter_mut().zip(part.values(table)?) {
                *sum += value;
            }
        }
        if let Some(exposure) = &self.exposure {
            for (sum, value) in offset
                .iter_mut()
                .zip(positive(exposure, table, "an exposure")?)
            {
                *sum += value.ln();
            }
        }
        Ok(offset)
    }

    pub fn rows(&self, table: &Table) -> Result<NewRows, Error> {
        let without_exposure = self.exposure.as_ref().is_some_and(|e| !e.is_in(table));
        let offset = if without_exposure {
            let bare = Self {
                exposure: None,
                ..self.clone()
            };
            bare.offset(table)?
        } else {
            self.offset(table)?
        };
        let groups = self
            .groups
            .iter()
            .map(|design| {
                Ok(NewGroups {
                    group: design.factor.codes(table)?,
                    columns: design.effects.values(table)?,
                })
            })
            .collect::<Result<_, Error>>()?;
        let coordinates = self.inputs.iter().map(|input| input.values(table));
        Ok(NewRows {
            fixed: self.fixed.values(table)?,
            offset,
            groups,
            coordinates: coordinates.collect::<Result<_, _>>()?,
            without_exposure,
        })
    }
}

/// Values that must all be above zero.
pub(super) fn positive(
    expression: &Expression,
    table: &Table,
    what: &str,
) -> Result<Vec<f64>, Error> {
    let values = expression.values(table)?;
    match values.iter().position(|value| *value <= 0.0) {
        None => Ok(values),
        Some(row) => Err(Error::setting(
            format!("{}, line {}", table.name(), table.line(row)),
            format!(
                "`{}` is {}, but {what} is above zero",
                expression.name(),
                values[row]
            ),
        )),
    }
}
