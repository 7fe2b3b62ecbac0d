//! The parameters of covariance functions: their names, priors and distances.

use super::super::prior::{Chooser, Natural};
use crate::covariance::{Covariance, Places, Shape};
use crate::defaults::{self, Unit};
use crate::distance::Distance;
use crate::error::Error;
use crate::parameter::Value;
use crate::spec::{CovarianceTree, Given, GpSpec, KernelKind, KernelSpec};
use std::collections::HashMap;

/// Places among which distances are looked at for default priors.
const SAMPLED: usize = 1000;

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

pub(super) struct Names<'a> {
    prefix: String,
    gp: &'a GpSpec,
    /// The place of the process's first input among all inputs.
    first: usize,
    places: &'a Places,
    unit: Unit,
    /// How often each name was given.
    taken: HashMap<String, usize>,
    repeated: Vec<&'static str>,
    /// Functions that had to be given chords instead of great circles.
    pub chords: Vec<&'static str>,
}

impl<'a> Names<'a> {
    pub fn new(
        prefix: String,
        gp: &'a GpSpec,
        first: usize,
        places: &'a Places,
        unit: Unit,
        tree: &CovarianceTree,
    ) -> Self {
        Self {
            prefix,
            gp,
            first,
            places,
            unit,
            taken: HashMap::new(),
            repeated: repeated(tree),
            chords: Vec::new(),
        }
    }

    pub fn covariance(
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
                defaults::deviation_of(&self.places.coordinates[inputs[0]], false, self.unit)
            }
            _ => defaults::deviation_of(&constant, false, self.unit),
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
        let distance = self.distance_for(kernel, &shape)?;
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
            let default = self.common_length(&inputs, distance);
            ranges.push(self.parameter(kernel, "length", "", default, chooser)?);
        }
        Ok(Covariance::Stationary {
            shape,
            inputs,
            distance,
            sd,
            ranges,
        })
    }

    /// How far apart places are for a function: great circles only where that makes a covariance.
    fn distance_for(&mut self, kernel: &KernelSpec, shape: &Shape) -> Result<Distance, Error> {
        let given = self.gp.distance;
        if given == Distance::Euclidean {
            return Ok(given);
        }
        if kernel.ard {
            return Err(Error::setting(
                "gp.covariance",
                "on the Earth there is one length scale, not one for each input",
            ));
        }
        if kernel.inputs != [0, 1] {
            let inputs: Vec<&str> = kernel
                .inputs
                .iter()
                .map(|k| self.gp.inputs[*k].as_str())
                .collect();
            return Err(Error::setting(
                "gp.covariance",
                format!(
                    "{0}({1}) has no distances on the Earth, which need longitude and latitude, in this order: write {0}, or \
                     distance = \"euclidean\"",
                    kernel.kind.name(),
                    inputs.join(", ")
                ),
            ));
        }
        if given == Distance::GreatCircle && !shape.is_valid_on_great_circles() {
            self.chords.push(kernel.kind.name());
            return Ok(Distance::Chord);
        }
        Ok(given)
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
        let natural = match parameter {
            "length" => Natural::Length,
            "power" => Natural::Power,
            _ => Natural::Positive,
        };
        chooser.value(&name, &[&short, &of_process, plain], default, natural)
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
    fn common_length(&self, inputs: &[usize], distance: Distance) -> defaults::Reasoned {
        let step = self.places.len.div_ceil(SAMPLED).max(1);
        let points: Vec<usize> = (0..self.places.len).step_by(step).collect();
        let (mut longest, mut nearest) = (0.0f64, Vec::new());
        for &i in &points {
            let mut least = f64::INFINITY;
            for &j in &points {
                let distance = self.between(inputs, distance, i, j);
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

    fn between(&self, inputs: &[usize], distance: Distance, i: usize, j: usize) -> f64 {
        let at = |k: usize, i: usize| self.places.coordinates[k][i];
        if distance == Distance::Euclidean {
            let squares = inputs.iter().map(|k| (at(*k, i) - at(*k, j)).powi(2));
            return squares.sum::<f64>().sqrt();
        }
        distance.on_earth(
            [at(inputs[0], i), at(inputs[1], i)],
            [at(inputs[0], j), at(inputs[1], j)],
        )
    }
}

fn extent(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        })
}
