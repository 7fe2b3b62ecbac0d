//! From a model file and its data to the parts of a model: numbers, names and priors, everything checked.

mod design;
mod parts;
mod prior;
mod process;
mod response;
mod separable;
#[cfg(test)]
mod tests;

pub use parts::{Chosen, ModelParts};

use crate::defaults::{self, Unit};
use crate::error::Error;
use crate::fixed::Fixed;
use crate::formula::{Context, Expression, Factor, Formula, INTERCEPT, Matrix, names, parse};
use crate::latent::Data;
use crate::parameter::Value;
use crate::predict::New;
use crate::rank::refuse_collinear;
use crate::sparse::Grouping;
use crate::spec::{FamilyKind, MissingRule, ModelFile};
use crate::table::Table;
use design::{Design, GroupDesign};
use prior::Chooser;

/// A model ready to be built, and what was settled on the way.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The model file it was made of.
    pub model: ModelFile,
    /// The parts.
    pub parts: ModelParts,
    /// The prior of every parameter, and why.
    pub chosen: Vec<Chosen>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The checksum of the data.
    pub checksum: String,
    design: Design,
}

impl Resolved {
    /// Reads the data of a model and puts its parts together.
    ///
    /// # Errors
    /// Whatever is wrong with the data or the model.
    pub fn read(model: &ModelFile) -> Result<Self, Error> {
        Self::new(model, &Table::read(&model.data.file)?)
    }

    /// Puts the parts of a model of this table together.
    ///
    /// # Errors
    /// Whatever is wrong with the data or the model.
    pub fn new(model: &ModelFile, table: &Table) -> Result<Self, Error> {
        let formula = formula(model)?;
        let mut notes = Vec::new();
        let table = &complete(model, &formula, table, &mut notes)?;
        let context = Context {
            text: &formula.text,
            table,
            standardise: &model.data.standardise,
            levels: &model.data.levels,
        };
        for column in model
            .data
            .standardise
            .iter()
            .chain(model.data.levels.keys())
        {
            table.text(column)?;
        }

        let response = response::Design::compile(model, &formula, context)?;
        let observed = response.observe(table, &mut notes)?;
        let exposure = exposure(model, context)?;
        let offsets = formula
            .offsets
            .iter()
            .map(|node| Expression::compile(node, context))
            .collect::<Result<Vec<_>, _>>()?;
        let mut fixed = Matrix::compile(&formula.fixed, context)?;
        if model.centre {
            fixed.centre(table)?;
        }
        let groups = formula
            .groups
            .iter()
            .map(|group| {
                Ok(GroupDesign {
                    factor: Factor::compile(&group.by, context)?,
                    effects: Matrix::compile(&group.effects, context)?,
                    correlated: group.correlated,
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let inputs = process::compile_inputs(model, context)?;
        let design = Design {
            response,
            exposure,
            offsets,
            fixed,
            groups,
            inputs,
        };

        let columns = design.fixed.values(table)?;
        refuse_collinear(&columns, design.fixed.names())?;
        let offset = design.offset(table)?;
        let unit = unit(model.family, &observed, &offset);
        if model.family == FamilyKind::Bernoulli {
            separable::note(&observed.values, &columns, design.fixed.names(), &mut notes);
        }
        let mut chooser = Chooser::new(&model.priors);
        let fixed = effects(&design.fixed, columns, unit, &mut chooser)?;
        let groupings = groupings(&design.groups, table, unit, &mut chooser)?;
        let process =
            process::resolve(model, &design.inputs, table, unit, &mut chooser, &mut notes)?;
        if process.is_some() && !groupings.is_empty() {
            return Err(Error::setting(
                "formula",
                "a Gaussian process and random effects cannot be had together yet: give the groups as factors, `+ group`, \
                 or leave one of the two out",
            ));
        }
        let parameter = match model.family {
            FamilyKind::NegativeBinomial => Some(chooser.value("size", &[], defaults::size())?),
            FamilyKind::Gaussian => Some(chooser.value("sigma", &[], defaults::noise(unit))?),
            _ => None,
        };
        let chosen = chooser.finish()?;
        Ok(Self {
            parts: ModelParts {
                data: Data {
                    family: response::family(model)?,
                    response: observed.values,
                    trials: observed.trials,
                    offset: Some(offset),
                    classes: match model.family {
                        FamilyKind::Softmax => observed.classes.len(),
                        _ => 1,
                    },
                },
                classes: observed.classes,
                fixed,
                groupings,
                process,
                parameter,
            },
            chosen,
            notes,
            checksum: table.checksum().into(),
            model: model.clone(),
            design,
        })
    }

    /// New rows, coded as the fitted ones, and what should be known of them.
    ///
    /// # Errors
    /// Columns or levels that are missing there.
    pub fn rows(&self, table: &Table) -> Result<(New, Vec<String>), Error> {
        self.design.rows(table)
    }

    /// The response of new rows (and its trials), where the table has it.
    ///
    /// # Errors
    /// Values outside the family's range.
    pub fn response_of(&self, table: &Table) -> Result<Option<Known>, Error> {
        if !self.design.response.is_in(table) {
            return Ok(None);
        }
        let observed = self.design.response.observe(table, &mut Vec::new())?;
        Ok(Some((observed.values, observed.trials)))
    }

    /// The names of the response's classes, or of its failure and success where it is text.
    pub fn classes(&self) -> &[String] {
        &self.parts.classes
    }

    /// The response as the formula has it.
    pub fn response_name(&self) -> String {
        self.design.response.name().to_owned()
    }

    /// The places of other rows: input by input.
    ///
    /// # Errors
    /// Columns that are missing there.
    pub fn places_of(&self, table: &Table) -> Result<Vec<Vec<f64>>, Error> {
        let inputs = self.design.inputs.iter();
        inputs.map(|input| input.values(table)).collect()
    }

    /// The inputs of the Gaussian process as they are called.
    pub fn input_names(&self) -> Vec<String> {
        self.design
            .inputs
            .iter()
            .map(|input| input.name().to_string())
            .collect()
    }
}

/// Responses, and their trials where they are binomial.
type Known = (Vec<f64>, Option<Vec<f64>>);

/// The formula, or the intercept alone where there is none.
fn formula(model: &ModelFile) -> Result<Formula, Error> {
    let text = match (&model.formula, &model.data.response) {
        (Some(formula), _) => formula.clone(),
        (None, Some(response)) => format!("`{response}` ~ 1"),
        (None, None) => {
            return Err(Error::setting(
                "formula",
                "the model has no response: give a formula such as \"y ~ x\", or `response` under [data]",
            ));
        }
    };
    Ok(Formula::parse(&text)?)
}

/// The table, without rows that lack a value where the model says so.
fn complete(
    model: &ModelFile,
    formula: &Formula,
    table: &Table,
    notes: &mut Vec<String>,
) -> Result<Table, Error> {
    if model.data.missing == MissingRule::Refuse {
        return Ok(table.clone());
    }
    let mut used = formula.names();
    let data = &model.data;
    let texts = [&data.response, &data.trials, &data.exposure];
    let inputs = model.gp.iter().flat_map(|gp| &gp.inputs);
    for text in texts.into_iter().flatten().chain(inputs) {
        names(&parse(text)?, &mut used);
    }
    // Unknown names are complained about later, where they can be pointed at.
    let used = used
        .iter()
        .map(String::as_str)
        .filter(|name| table.has(name));
    let (kept, dropped) = table.drop_missing(used)?;
    if dropped > 0 {
        notes.push(format!(
            "{dropped} of {} rows have a missing value and are left out",
            table.rows()
        ));
    }
    Ok(kept)
}

fn exposure(model: &ModelFile, context: Context) -> Result<Option<Expression>, Error> {
    let Some(text) = &model.data.exposure else {
        return Ok(None);
    };
    if !model.family.is_count() {
        return Err(Error::setting(
            "exposure",
            format!(
                "only counts have an exposure (poisson, negative_binomial), not {}",
                model.family
            ),
        ));
    }
    let context = Context {
        text,
        standardise: &[],
        ..context
    };
    let expression = Expression::compile(&parse(text)?, context)?;
    design::positive(&expression, context.table, "an exposure")?;
    Ok(Some(expression))
}

/// The unit of the linear predictor, and where it lies on average.
fn unit(family: FamilyKind, observed: &response::Observed, offset: &[f64]) -> Unit {
    let values = &observed.values;
    let mean = crate::formula::mean(values);
    match family {
        FamilyKind::Gaussian => {
            let sd = crate::formula::deviation(values, 0.0);
            Unit {
                unit: if sd > 0.0 { sd } else { 1.0 },
                centre: mean,
            }
        }
        FamilyKind::Poisson | FamilyKind::NegativeBinomial => {
            let exposure: f64 = offset.iter().map(|o| o.exp()).sum();
            let total = (mean * values.len() as f64).max(0.5);
            // Only its whole part: a prior should not be read off the data to three digits.
            Unit {
                unit: 1.0,
                centre: (total / exposure).ln().round(),
            }
        }
        _ => Unit {
            unit: 1.0,
            centre: 0.0,
        },
    }
}

fn effects(
    matrix: &Matrix,
    columns: Vec<Vec<f64>>,
    unit: Unit,
    chooser: &mut Chooser,
) -> Result<Fixed, Error> {
    let names: Vec<&str> = matrix.names().collect();
    let mut fixed = Fixed::default();
    for (k, name) in names.iter().enumerate() {
        let specific = format!("beta_{name}");
        let (keys, default) = if *name == INTERCEPT {
            let others = names
                .iter()
                .zip(&columns)
                .filter(|(name, _)| **name != INTERCEPT);
            let default = defaults::intercept(others.map(|(_, column)| column.as_slice()), unit);
            (vec!["intercept", "beta"], default)
        } else {
            let default = defaults::coefficient(&columns[k], matrix.is_indicator(k), unit);
            (vec![specific.as_str(), "beta"], default)
        };
        let (mean, sd) = chooser.normal(name, &keys, default)?;
        fixed = fixed.with(*name, columns[k].clone(), mean, sd);
    }
    Ok(fixed)
}

fn groupings(
    designs: &[GroupDesign],
    table: &Table,
    unit: Unit,
    chooser: &mut Chooser,
) -> Result<Vec<Grouping>, Error> {
    let mut groupings: Vec<Grouping> = Vec::new();
    for design in designs {
        let name = design.factor.name.trim_end_matches("()").to_string();
        if groupings.iter().any(|other| other.name == name) {
            return Err(Error::setting(
                "formula",
                format!("`{name}` groups rows twice: write one term, ({name}'s effects | {name})"),
            ));
        }
        let columns = design.effects.values(table)?;
        let effects: Vec<String> = design.effects.names().map(String::from).collect();
        let all = format!("sd_{name}");
        let mut sds: Vec<Value> = Vec::new();
        for (effect, column) in effects.iter().zip(&columns) {
            let own = if effect == INTERCEPT {
                all.clone()
            } else {
                format!("{all}_{effect}")
            };
            let default = defaults::deviation_of(column, unit);
            sds.push(chooser.value(&own, &[&all, "sd"], default)?);
        }
        let correlated = design.correlated && effects.len() > 1;
        let correlation = correlated
            .then(|| chooser.correlation(&format!("cor_{name}")))
            .transpose()?;
        groupings.push(Grouping {
            group: design.factor.known_codes(table)?,
            levels: design.factor.levels.clone(),
            name,
            effects,
            columns,
            sds,
            correlation,
        });
    }
    Ok(groupings)
}
