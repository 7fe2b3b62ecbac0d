//! How rows of a table become rows of the model: the same for new data as for the fitted.

use super::response;
use crate::component::{ComponentRows, Entered};
use crate::covariance::Places;
use crate::error::Error;
use crate::formula::{Expression, Factor, Matrix};
use crate::predict::New;
use crate::table::Table;

#[derive(Debug, Clone)]
pub(super) struct Design {
    pub response: response::Design,
    pub exposure: Option<Expression>,
    pub offsets: Vec<Expression>,
    pub fixed: Matrix,
    pub groups: Vec<GroupDesign>,
    pub inputs: Vec<Expression>,
    pub components: Vec<Entered>,
}

#[derive(Debug, Clone)]
pub(super) struct GroupDesign {
    pub factor: Factor,
    /// One, whose effects are correlated; or several of one effect each, which are not.
    pub effects: Vec<Matrix>,
}

impl GroupDesign {
    /// Whether its effects are correlated.
    pub fn correlated(&self) -> bool {
        matches!(self.effects.as_slice(), [one] if one.len() > 1)
    }

    /// The names of its effects.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.effects.iter().flat_map(Matrix::names)
    }

    /// Which of its effects are of a factor's level.
    pub fn indicators(&self) -> Vec<bool> {
        let of = |part: &Matrix| {
            (0..part.len())
                .map(|k| part.is_indicator(k))
                .collect::<Vec<_>>()
        };
        self.effects.iter().flat_map(of).collect()
    }

    /// What its effects multiply in the rows of a table.
    pub fn values(&self, table: &Table) -> Result<Vec<Vec<f64>>, Error> {
        let mut columns = Vec::new();
        for part in &self.effects {
            columns.extend(part.values(table)?);
        }
        Ok(columns)
    }
}

impl Design {
    /// What the levels of factors are compared with, each once.
    pub fn references(&self) -> Vec<(String, String)> {
        let mut references = self.fixed.references();
        let effects = self.groups.iter().flat_map(|group| &group.effects);
        for one in effects.flat_map(Matrix::references) {
            if !references.contains(&one) {
                references.push(one);
            }
        }
        references
    }

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

    pub fn rows(&self, table: &Table) -> Result<(New, Vec<String>), Error> {
        let mut notes = Vec::new();
        let lacks = self
            .exposure
            .as_ref()
            .filter(|exposure| !exposure.is_in(table));
        let offset = match lacks {
            None => self.offset(table)?,
            Some(exposure) => {
                notes.push(format!(
                    "{} has no `{}`: it is taken to be 1",
                    table.name(),
                    exposure.name()
                ));
                let bare = Self {
                    exposure: None,
                    ..self.clone()
                };
                bare.offset(table)?
            }
        };
        let mut new = New {
            rows: table.rows(),
            fixed: self.fixed.values(table)?,
            offset,
            trials: self.response.trials_of(table, &mut notes)?,
            places: Places {
                len: if self.inputs.is_empty() {
                    0
                } else {
                    table.rows()
                },
                coordinates: self
                    .inputs
                    .iter()
                    .map(|input| input.values(table))
                    .collect::<Result<_, _>>()?,
            },
            ..New::default()
        };
        for design in &self.groups {
            let group = design.factor.codes(table)?;
            let unknown = group.iter().filter(|group| group.is_none()).count();
            if unknown > 0 {
                notes.push(match unknown {
                    1 => format!(
                        "1 row is of a group of `{}` that was not fitted: its effects are drawn anew",
                        design.factor.name
                    ),
                    many => format!(
                        "{many} rows are of groups of `{}` that were not fitted: their effects are drawn anew",
                        design.factor.name
                    ),
                });
            }
            new.newcomers.push(if design.factor.name == "row()" {
                Vec::new()
            } else {
                newcomers(&design.factor.values(table)?)
            });
            new.groups.push(group);
            new.columns.push(design.values(table)?);
        }
        for component in &self.components {
            let points = component.points(table)?;
            new.components.push(ComponentRows { points });
        }
        Ok((new, notes))
    }
}

/// The same number for rows of the same name, which new groups have in common.
fn newcomers(names: &[String]) -> Vec<usize> {
    let mut seen = std::collections::HashMap::new();
    let mut number = |name| {
        let next = seen.len();
        *seen.entry(name).or_insert(next)
    };
    names.iter().map(&mut number).collect()
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
