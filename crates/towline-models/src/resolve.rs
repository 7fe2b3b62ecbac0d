//! From a model file and its data to the parts of a model: numbers, names and priors, everything checked.

mod components;
mod design;
mod effects;
mod parts;
mod prior;
mod process;
mod products;
mod response;
mod separable;
#[cfg(test)]
mod tests;

pub use parts::{Chosen, ModelParts};

use crate::component::ComponentRows;
use crate::defaults::{self, Unit};
use crate::error::Error;
use crate::formula::{Context, Expression, Formula, Matrix, names, parse};
use crate::latent::Data;
use crate::nearest::plural;
use crate::predict::New;
use crate::rank::aliased;
use crate::spec::{FamilyKind, GpSpec, MissingRule, ModelFile};
use crate::table::{Table, list};
use design::Design;
pub(crate) use prior::{Chooser, Natural};

/// A model ready to be built, and what was settled on the way.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The model file it was made of.
    pub model: ModelFile,
    /// The Gaussian processes, those of the formula included.
    pub gp: Vec<GpSpec>,
    /// The parts.
    pub parts: ModelParts,
    /// The prior of every parameter, and why.
    pub chosen: Vec<Chosen>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What the levels of each factor are compared with: a level, or words for several.
    pub references: Vec<(String, String)>,
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
        let mut formula = formula(model, table)?;
        let given = model;
        let model = &components::with_processes(model, &formula)?;
        let mut notes = Vec::new();
        if let Some(columns) = &formula.dot {
            notes.push(format!("`.` stands for {}", columns.join(" + ")));
        }
        let table = &complete(model, &formula, table, &mut notes)?;
        let text = formula.text.clone();
        let context = Context {
            text: &text,
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

        components::left_open(&mut formula, context)?;
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
        drop_aliased(&mut fixed, table, &mut notes)?;
        let groups = effects::compile(&formula.groups, context, &mut notes)?;
        let inputs = process::compile_inputs(model, context)?;
        let mut design = Design {
            response,
            exposure,
            offsets,
            fixed,
            groups,
            inputs,
            components: Vec::new(),
        };

        let columns = design.fixed.values(table)?;
        let offset = design.offset(table)?;
        let unit = unit(model.family, &observed, &offset);
        if model.family == FamilyKind::Bernoulli {
            separable::note(&observed.values, &columns, design.fixed.names(), &mut notes);
        }
        let mut chooser = Chooser::new(&model.priors);
        let fixed = effects::fixed(&design.fixed, columns, unit, &mut chooser)?;
        let groupings = effects::groupings(&design.groups, table, unit, &mut chooser)?;
        let process =
            process::resolve(model, &design.inputs, table, unit, &mut chooser, &mut notes)?;
        design.components =
            components::compile(given, &formula, context, unit, &mut chooser, &mut notes)?;
        components::note_twins(&design, &formula, &mut notes);
        products::note_levels(&design, &formula, &mut notes);
        let others = design
            .components
            .iter()
            .map(|component| component.component(table))
            .collect::<Result<Vec<_>, _>>()?;
        let parameter = match model.family {
            FamilyKind::NegativeBinomial => {
                Some(chooser.value("size", &[], defaults::size(), Natural::Positive)?)
            }
            FamilyKind::Gaussian => {
                Some(chooser.value("sigma", &[], defaults::noise(unit), Natural::Positive)?)
            }
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
                components: others,
                parameter,
            },
            chosen,
            notes,
            references: design.references(),
            checksum: table.checksum().into(),
            model: given.clone(),
            gp: model.gp.clone(),
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

    /// The first component over two inputs, which has a surface: its inputs' names, and the places of the fitted rows.
    ///
    /// # Errors
    /// Whatever is wrong with the table.
    pub fn field(&self, table: &Table) -> Result<Option<Field>, Error> {
        let components = self.design.components.iter().enumerate();
        for (component, entered) in components {
            if let Some((names, places)) = entered.plane(table)? {
                return Ok(Some(Field {
                    component,
                    names,
                    places,
                }));
            }
        }
        Ok(None)
    }

    /// Where cells of a field's surface lie; other components add nothing.
    ///
    /// # Errors
    /// Cells where the field is not known.
    pub fn field_rows(
        &self,
        field: &Field,
        cells: &[(f64, f64)],
    ) -> Result<Vec<ComponentRows>, Error> {
        let components = self.design.components.iter().enumerate();
        components
            .map(|(k, entered)| match k == field.component {
                true => entered.at_places(cells),
                false => Ok(ComponentRows::nowhere(cells.len())),
            })
            .collect()
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

/// A component with a surface over two inputs.
#[derive(Debug, Clone)]
pub struct Field {
    component: usize,
    /// The inputs' names.
    pub names: [String; 2],
    /// The places of the fitted rows: input by input.
    pub places: [Vec<f64>; 2],
}

/// Responses, and their trials where they are binomial.
type Known = (Vec<f64>, Option<Vec<f64>>);

/// The formula, or the intercept alone where there is none.
fn formula(model: &ModelFile, table: &Table) -> Result<Formula, Error> {
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
    // `.` stands for what is not used otherwise, here or in the formula.
    let mut used = Vec::new();
    used_beside(model, &mut used);
    let free: Vec<String> = table
        .headers()
        .iter()
        .filter(|column| !used.contains(column))
        .cloned()
        .collect();
    Ok(Formula::among(&text, &free)?)
}

/// The names that a model uses beside its formula.
fn used_beside(model: &ModelFile, used: &mut Vec<String>) {
    let data = &model.data;
    let texts = [&data.response, &data.trials, &data.exposure];
    let inputs = model.gp.iter().flat_map(|gp| &gp.inputs);
    for text in texts.into_iter().flatten().chain(inputs) {
        // A column whose name is no formula's, such as `mean temp`, is meant as it is.
        used.push(text.clone());
        if let Ok(node) = parse(text) {
            names(&node, used);
        }
    }
}

/// Leaves columns out that are combinations of others because of how factors are coded or crossed, as R does; refuses
/// covariates that are.
fn drop_aliased(fixed: &mut Matrix, table: &Table, notes: &mut Vec<String>) -> Result<(), Error> {
    let columns = fixed.values(table)?;
    let names: Vec<String> = fixed.names().map(String::from).collect();
    let plain: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = aliased(&columns, &plain);
    if let Some(covariate) = found.iter().find(|one| !fixed.has_factor(one.column)) {
        return Err(covariate.error(&names[covariate.column]));
    }
    for one in found.iter().rev() {
        fixed.remove(one.column);
    }
    match found.as_slice() {
        [] => {}
        [one] => notes.push(format!(
            "the column `{}` is {} and left out, as R does: its effect cannot be told from theirs",
            names[one.column], one.relation
        )),
        many => {
            let left_out: Vec<String> = many.iter().map(|one| names[one.column].clone()).collect();
            notes.push(format!(
                "the columns {} are zero or combinations of others and left out, as R does: their effects cannot be told apart",
                list(&left_out)
            ));
        }
    }
    Ok(())
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
    let mut used = formula.names.clone();
    used_beside(model, &mut used);
    // Unknown names are complained about later, where they can be pointed at.
    let used = used
        .iter()
        .map(String::as_str)
        .filter(|name| table.has(name));
    let (kept, dropped) = table.drop_missing(used)?;
    if dropped > 0 {
        notes.push(format!(
            "{dropped} of {} ha{} a missing value and {} left out",
            plural(table.rows(), "row"),
            if dropped == 1 { "s" } else { "ve" },
            if dropped == 1 { "is" } else { "are" },
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
