//! The Gaussian processes of a model as one: their covariances add up over all their inputs.

use super::prior::Chooser;
use crate::covariance::{Covariance, Places, Shape};
use crate::defaults::{self, Unit};
use crate::dense::Process;
use crate::distance::{Distance, great_circle};
use crate::error::Error;
use crate::formula::{Context, Expression, parse};
use crate::parameter::Value;
use crate::spec::{
    CovarianceTree, Given, GpSpec, KernelKind, KernelSpec, ModelFile, parse_covariance,
};
use crate::table::Table;
use std::collections::HashMap;

/// The most places of the dense path: a matrix of 200 MB, several of them for each chain, and a second for each slow step.
pub(crate) const MOST_PLACES: usize = 5000;
/// Places among which distances are looked at for default priors.
const SAMPLED: usize = 1000;

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
        let mut builder = Names {
            prefix,
            gp,
            first,
            places: &places,
            unit,
            taken: HashMap::new(),
            repeated: repeated(&tree),
        };
        parts.push(builder.covariance(&tree, chooser)?);
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
            "{shared} rows are at places of other rows ({} places for {} rows) and share the process's value there; {advice}",
            places.len,
            table.rows()
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
    if gp.distance == Distance::GreatCircle {
        if gp.inputs.len() != 2 || gp.standardise {
            return Err(Error::setting(
                "gp.distance",
                "great_circle is between two inputs, longitude and latitude in degrees, not standardised",
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
                        "great_circle needs longitude and latitude in degrees, in this order, but `{}` is {value} somewhere",
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

/// The names of parameters that more than one function of a tree has.
fn repeated(tree: &CovarianceTree) -> Vec<&'static str> {
    let mut counts: HashMap<&'static str, usize> = HashMap::new();
    for kernel in tree.kernels() {
        for (parameter, given) in &kernel.parameters {
            if *given == Given::Free {
                *counts
                    .entry(plain_name(kernel.kind, parameter))
                    .or_default() += 1;
            }
        }
    }
    let many = counts.into_iter().filter(|(_, count)| *count > 1);
    many.map(|(name, _)| name).collect()
}

/// A standard deviation is called after the function where that says more.
fn plain_name(kind: KernelKind, parameter: &'static str) -> &'static str {
    match (kind, parameter) {
        (KernelKind::Constant | KernelKind::Nugget | KernelKind::Linear, "sd") => kind.name(),
        _ => parameter,
    }
}

struct Names<'a> {
    prefix: String,
    gp: &'a GpSpec,
    /// The place of the process's first input among all inputs.
    first: usize,
    places: &'a Places,
    unit: Unit,
    /// How often each name was given.
    taken: HashMap<String, usize>,
    repeated: Vec<&'static str>,
}

impl Names<'_> {
    fn covariance(
        &mut self,
        tree: &CovarianceTree,
        chooser: &mut Chooser,
    ) -> Result<Covariance, Error> {
        match tree {
            CovarianceTree::Kernel(kernel) => self.kernel(kernel, chooser),
            CovarianceTree::Sum(parts) => Ok(Covariance::Sum(self.all(parts, chooser)?)),
            CovarianceTree::Product(parts) => Ok(Covariance::Product(self.all(parts, chooser)?)),
        }
    }

    fn all(
        &mut self,
        parts: &[CovarianceTree],
        chooser: &mut Chooser,
    ) -> Result<Vec<Covariance>, Error> {
        parts
            .iter()
            .map(|part| self.covariance(part, chooser))
            .collect()
    }

    fn kernel(&mut self, kernel: &KernelSpec, chooser: &mut Chooser) -> Result<Covariance, Error> {
        let inputs: Vec<usize> = kernel.inputs.iter().map(|k| k + self.first).collect();
        let constant = vec![1.0; 2];
        let sd_default = match kernel.kind {
            KernelKind::Nugget => defaults::nugget(self.unit),
            KernelKind::Linear => {
                defaults::deviation_of(&self.places.coordinates[inputs[0]], self.unit)
            }
            _ => defaults::deviation_of(&constant, self.unit),
        };
        let sd = self.parameter(kernel, "sd", "", sd_default, chooser)?;
        let shape = match kernel.kind {
            KernelKind::Constant => return Ok(Covariance::Constant { sd }),
            KernelKind::Nugget => return Ok(Covariance::Nugget { sd, inputs }),
            KernelKind::Linear => return Ok(Covariance::Linear { inputs, sd }),
            KernelKind::SquaredExponential => Shape::SquaredExponential,
            KernelKind::Matern12 => Shape::Exponential,
            KernelKind::Matern32 => Shape::Matern32,
            KernelKind::Matern52 => Shape::Matern52,
            KernelKind::PoweredExponential => Shape::PoweredExponential {
                power: self.parameter(kernel, "power", "", defaults::power(), chooser)?,
            },
            KernelKind::RationalQuadratic => Shape::RationalQuadratic {
                mix: self.parameter(kernel, "mix", "", defaults::mix(), chooser)?,
            },
        };
        if kernel.ard && self.gp.distance == Distance::GreatCircle {
            return Err(Error::setting(
                "gp.covariance",
                "on a great circle there is one length scale, not one for each input",
            ));
        }
        let mut ranges = Vec::new();
        if kernel.ard {
            for (k, at) in kernel.inputs.iter().zip(&inputs) {
                let default = self.own_length(*at);
                ranges.push(self.parameter(
                    kernel,
                    "length",
                    &self.gp.inputs[*k],
                    default,
                    chooser,
                )?);
            }
        } else {
            let default = self.common_length(&inputs);
            ranges.push(self.parameter(kernel, "length", "", default, chooser)?);
        }
        Ok(Covariance::Stationary {
            shape,
            inputs,
            distance: self.gp.distance,
            sd,
            ranges,
        })
    }

    fn parameter(
        &mut self,
        kernel: &KernelSpec,
        parameter: &'static str,
        input: &str,
        default: defaults::Reasoned,
        chooser: &mut Chooser,
    ) -> Result<Value, Error> {
        if let Some((_, Given::Fixed(value))) = kernel
            .parameters
            .iter()
            .find(|(name, _)| *name == parameter)
        {
            return Ok(Value::Fixed(*value));
        }
        let plain = plain_name(kernel.kind, parameter);
        let input = if input.is_empty() {
            String::new()
        } else {
            format!("_{}", input.replace(' ', ""))
        };
        let mut middle = String::new();
        if self.repeated.contains(&plain) {
            let count = self
                .taken
                .entry(format!("{}{plain}{input}", kernel.kind.name()))
                .or_default();
            *count += 1;
            let number = if *count > 1 {
                count.to_string()
            } else {
                String::new()
            };
            middle = if plain == kernel.kind.name() {
                number
            } else {
                format!("{}{number}_", kernel.kind.name())
            };
        }
        let prefix = &self.prefix;
        let short = if plain == kernel.kind.name() {
            format!("{plain}{middle}{input}")
        } else {
            format!("{middle}{plain}{input}")
        };
        let name = format!("{prefix}_{short}");
        let of_process = format!("{prefix}_{plain}");
        chooser.value(&name, &[&short, &of_process, plain], default)
    }

    /// The default prior of the length scale of one input: long ones are allowed, since they make it irrelevant.
    fn own_length(&self, input: usize) -> defaults::Reasoned {
        let column = &self.places.coordinates[input];
        let (low, high) = extent(column);
        let width = if high > low { high - low } else { 1.0 };
        defaults::length(
            width / 20.0,
            5.0 * width,
            "a twentieth and five times the input's width",
        )
    }

    /// The default prior of a common length scale.
    fn common_length(&self, inputs: &[usize]) -> defaults::Reasoned {
        let step = self.places.len.div_ceil(SAMPLED).max(1);
        let points: Vec<usize> = (0..self.places.len).step_by(step).collect();
        let (mut longest, mut nearest) = (0.0f64, Vec::new());
        for &i in &points {
            let mut least = f64::INFINITY;
            for &j in &points {
                let distance = self.distance(inputs, i, j);
                longest = longest.max(distance);
                if distance > 0.0 {
                    least = least.min(distance);
                }
            }
            if least.is_finite() {
                nearest.push(least);
            }
        }
        if nearest.is_empty() {
            return defaults::length(0.1, 1.0, "for want of different places");
        }
        nearest.sort_by(f64::total_cmp);
        // A tenth at most, so that the prior stays wide among few places.
        let shortest = nearest[nearest.len() / 2].min(longest / 10.0);
        defaults::length(shortest, longest, "from neighbours to the farthest places")
    }

    fn distance(&self, inputs: &[usize], i: usize, j: usize) -> f64 {
        let at = |k: usize, i: usize| self.places.coordinates[k][i];
        match self.gp.distance {
            Distance::GreatCircle => great_circle(
                [at(inputs[0], i), at(inputs[1], i)],
                [at(inputs[0], j), at(inputs[1], j)],
            ),
            Distance::Euclidean => {
                let squares = inputs.iter().map(|k| (at(*k, i) - at(*k, j)).powi(2));
                squares.sum::<f64>().sqrt()
            }
        }
    }
}

fn extent(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
}
