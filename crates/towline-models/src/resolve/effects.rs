//! Fixed and random effects: their columns, their names, and the priors of their scales.

use super::design::GroupDesign;
use super::prior::{Chooser, Natural};
use crate::defaults::{self, Unit};
use crate::error::Error;
use crate::fixed::Fixed;
use crate::formula::{Context, Factor, Grouping as Term, INTERCEPT, Matrix, names};
use crate::parameter::Value;
use crate::sparse::Grouping;
use crate::table::Table;

/// The random effects of a formula. Effects of the same groups that are not correlated stand together: `(1 | g) + (0 + x | g)`
/// is `(x || g)`.
pub(super) fn compile(
    terms: &[Term],
    context: Context,
    notes: &mut Vec<String>,
) -> Result<Vec<GroupDesign>, Error> {
    let mut designs: Vec<GroupDesign> = Vec::new();
    for term in terms {
        let factor = Factor::compile(&term.by, context)?;
        let effects = Matrix::compile(&term.effects, context)?;
        let mut columns = Vec::new();
        term.by.iter().for_each(|node| names(node, &mut columns));
        for column in columns.iter().filter(|column| context.table.has(column)) {
            // A slip in a group's number makes a group of its own: no reason to refuse names, but to say so.
            if let Some(odd) = context.table.odd_one_out(column)? {
                let note = format!("{odd}");
                let note = note
                    .split("; correct it")
                    .next()
                    .unwrap_or_default()
                    .to_string();
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        let same = designs
            .iter()
            .filter(|design| design.factor.name == factor.name);
        let taken: Vec<&str> = same.flat_map(GroupDesign::names).collect();
        if let Some(twice) = effects.names().find(|name| taken.contains(name)) {
            let group = &factor.name;
            return Err(Error::setting(
                "formula",
                format!(
                    "the effect `{twice}` of `{group}` is there twice; leave one of them out (an intercept is left out by `0 +`, \
                     as in (1 | {group}) + (0 + x | {group}))"
                ),
            ));
        }
        let joins = designs.iter_mut().find(|design| {
            design.factor.name == factor.name && !design.correlated() && effects.len() == 1
        });
        match joins {
            Some(design) => design.effects.push(effects),
            None => designs.push(GroupDesign {
                factor,
                effects: vec![effects],
            }),
        }
    }
    Ok(designs)
}

pub(super) fn fixed(
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

pub(super) fn groupings(
    designs: &[GroupDesign],
    table: &Table,
    unit: Unit,
    chooser: &mut Chooser,
) -> Result<Vec<Grouping>, Error> {
    let mut groupings: Vec<Grouping> = Vec::new();
    for design in designs {
        let name = design.factor.name.trim_end_matches("()").to_string();
        let columns = design.values(table)?;
        let effects: Vec<String> = design.names().map(String::from).collect();
        let indicators = design.indicators();
        let mut sds: Vec<Value> = Vec::new();
        for ((effect, column), indicator) in effects.iter().zip(&columns).zip(indicators) {
            // A prior of `sd_g` is of the intercepts alone: slopes have other units.
            let own = if effect == INTERCEPT {
                format!("sd_{name}")
            } else {
                format!("sd_{name}_{effect}")
            };
            let default = defaults::deviation_of(column, indicator, unit);
            sds.push(chooser.value(&own, &["sd"], default, Natural::Positive)?);
        }
        let correlation = design
            .correlated()
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
