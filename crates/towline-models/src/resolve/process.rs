//! The Gaussian processes of a model as one: their covariances add up over all their inputs.

mod names;

use super::prior::Chooser;
use crate::covariance::{Covariance, Places};
use crate::defaults::Unit;
use crate::dense::Process;
use crate::distance::Distance;
use crate::error::Error;
use crate::formula::{Context, Expression, parse};
use crate::nearest::plural;
use crate::spec::{GpSpec, KernelKind, ModelFile, parse_covariance};
use crate::table::Table;
use names::Names;
use std::collections::HashMap;

/// The most places of the dense path: a matrix of 200 MB, several of them for each chain, and a second for each slow step.
pub(crate) const MOST_PLACES: usize = 5000;

/// The inputs of all processes, one after another.
pub(super) fn compile_inputs(
    model: &ModelFile,
    context: Context,
) -> Result<Vec<Expression>, Error> {
    let mut inputs = Vec::new();
    for gp in &model.gp {
        if gp.inputs.is_empty() {
            return Err(Error::setting(
                "gp.inputs",
                "a process needs at least one input",
            ));
        }
        for text in &gp.inputs {
            let context = Context { text, ..context };
            // A column whose name is no formula's, such as `mean temp`, is meant as it is.
            let node = if context.table.has(text) {
                parse(&format!("`{text}`"))?
            } else {
                parse(text)?
            };
            let expression = Expression::compile(&node, context)?;
            inputs.push(if gp.standardise {
                expression.standardised(context.table)?
            } else {
                expression
            });
        }
    }
    Ok(inputs)
}

pub(super) fn resolve(
    model: &ModelFile,
    inputs: &[Expression],
    table: &Table,
    unit: Unit,
    chooser: &mut Chooser,
    notes: &mut Vec<String>,
) -> Result<Option<Process>, Error> {
    if model.gp.is_empty() {
        return Ok(None);
    }
    let coordinates = inputs
        .iter()
        .map(|input| input.values(table))
        .collect::<Result<Vec<_>, _>>()?;
    let (places, place_of) = distinct(coordinates);
    refuse_too_many(places.len)?;

    let mut first = 0;
    let mut parts = Vec::new();
    let mut has_nugget = false;
    for (k, gp) in model.gp.iter().enumerate() {
        check(gp, first, &places)?;
        let tree = parse_covariance(&gp.covariance, &gp.inputs)?;
        has_nugget |= tree
            .kernels()
            .iter()
            .any(|kernel| kernel.kind == KernelKind::Nugget);
        let prefix = match (&gp.name, k) {
            (Some(name), _) => name.clone(),
            (None, 0) => "gp".into(),
            (None, _) => format!("gp{}", k + 1),
        };
        let mut builder = Names::new(prefix, gp, first, &places, unit, &tree);
        parts.push(builder.covariance(&tree, chooser)?);
        if let Some(kind) = builder.chords.first() {
            notes.push(format!(
                "{kind} of distances along the Earth's surface is no covariance: its distances are chords, straight through the \
                 Earth, in km, which differ by less than 0.1 % below 900 km; exponential has great circles"
            ));
        }
        first += gp.inputs.len();
    }
    if place_of.is_some() {
        let shared = table.rows() - places.len;
        let advice = if has_nugget {
            "rows at the same place share its nugget too"
        } else {
            "if they should differ by more than the family's own noise, add `+ nugget` or an effect of the row"
        };
        notes.push(format!(
            "{} at places of other rows ({} for {}) and share{} the process's value there; {advice}",
            if shared == 1 { "1 row is".into() } else { format!("{shared} rows are") },
            plural(places.len, "place"),
            plural(table.rows(), "row"),
            if shared == 1 { "s" } else { "" },
        ));
    }
    let jitter = model.gp.iter().map(|gp| gp.jitter).sum();
    Ok(Some(Process {
        covariance: match parts.len() {
            1 => parts.remove(0),
            _ => Covariance::Sum(parts),
        },
        places,
        place_of,
        jitter,
    }))
}

fn check(gp: &GpSpec, first: usize, places: &Places) -> Result<(), Error> {
    if !(gp.jitter >= 0.0 && gp.jitter.is_finite()) {
        return Err(Error::setting("gp.jitter", "it is a variance: 0 or more"));
    }
    if gp.distance != Distance::Euclidean {
        let name = gp.distance.name();
        if gp.inputs.len() != 2 || gp.standardise {
            return Err(Error::setting(
                "gp.distance",
                format!(
                    "{name} is between two inputs, longitude and latitude in degrees, not standardised"
                ),
            ));
        }
        for (k, limit) in [(first, 360.0), (first + 1, 90.0)] {
            if let Some(value) = places.coordinates[k]
                .iter()
                .find(|value| value.abs() > limit)
            {
                return Err(Error::setting(
                    "gp.distance",
                    format!(
                        "{name} needs longitude and latitude in degrees, in this order, but `{}` is {value} somewhere",
                        gp.inputs[k - first]
                    ),
                ));
            }
        }
    }
    Ok(())
}

pub(super) fn refuse_too_many(places: usize) -> Result<(), Error> {
    if places <= MOST_PLACES {
        return Ok(());
    }
    let gigabytes = (places as f64).powi(2) * 8.0 / 1e9;
    Err(Error::TooLarge(format!(
        "a Gaussian process over {places} places needs a full matrix of {gigabytes:.1} GB, and some {:.0e} operations for \
         each slow step: at most {MOST_PLACES} places are accepted. Instead: merge near places by rounding the inputs \
         (inputs = [\"floor(x/10)*10\", …]), give regions random effects, (1 | region), which go through sparse \
         matrices, or fit a part of the rows",
        (places as f64).powi(3) / 3.0
    )))
}

/// The different places, and the place of each row where some are shared.
fn distinct(coordinates: Vec<Vec<f64>>) -> (Places, Option<Vec<usize>>) {
    let rows = coordinates[0].len();
    let mut seen: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut firsts = Vec::new();
    let place_of: Vec<usize> = (0..rows)
        .map(|row| {
            // Adding zero makes −0 and 0 the same.
            let key = coordinates
                .iter()
                .map(|c| (c[row] + 0.0).to_bits())
                .collect();
            *seen.entry(key).or_insert_with(|| {
                firsts.push(row);
                firsts.len() - 1
            })
        })
        .collect();
    if firsts.len() == rows {
        return (Places::new(coordinates), None);
    }
    let pick = |column: Vec<f64>| firsts.iter().map(|row| column[*row]).collect();
    let coordinates = coordinates.into_iter().map(pick).collect();
    (Places::new(coordinates), Some(place_of))
}
