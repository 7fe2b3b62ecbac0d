//! A smooth function of two inputs: `te(x, z)`, products of B-splines with a penalty along each input.
//!
//! The precision is mix · P⊗I + (1 − mix) · I⊗P, P that of a random walk of the second order: `mix` says how much of the
//! smoothness is along x. Bilinear functions are among the fixed effects.

use super::scaling::typical_variance;
use super::smooth::{Axis, line};
use super::walk::precision_of;
use super::{Built, Call, Function, Input, Inputs, Nodes, Point, Structure, Symmetric};
use crate::defaults;
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use crate::resolve::Natural;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "te",
    arguments: &["x", "y", "k", "by"],
    fixed: &[&["x"], &["y"], &["x", "y"]],
    build,
};

/// Basis functions along each input, where nothing is said.
const BASIS: usize = 8;

#[derive(Debug)]
struct Tensor {
    axes: [Axis; 2],
    nodes: Nodes,
    /// The entries of both penalties, for a typical variance of one where both count the same.
    parts: [Vec<f64>; 2],
    sd: Value,
    mix: Value,
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let k = call.bound.whole("k", 5, 60)?.unwrap_or(BASIS);
    let inputs = call.numbers(&["x", "y"])?;
    let axes = [
        Axis::new(call, &inputs[0], k)?,
        Axis::new(call, &inputs[1], k)?,
    ];
    let sd = call.sd()?;
    let mix = call.parameter("mix", defaults::share(), Natural::Share)?;
    let index: Vec<f64> = (0..k).map(|i| i as f64).collect();
    let (mut along, mut across) = (Symmetric::default(), Symmetric::default());
    for (i, j, value) in precision_of(2, &index).entries() {
        for other in 0..k {
            along.add(i as usize * k + other, j as usize * k + other, value);
            across.add(other * k + i as usize, other * k + j as usize, value);
        }
    }
    let mut both = along.clone();
    for (i, j, value) in across.entries() {
        both.add(i as usize, j as usize, value);
    }
    let ones: Vec<(u32, f64)> = (0..k as u32).map(|i| (i, 1.0)).collect();
    let product = |a: &[(u32, f64)], b: &[(u32, f64)]| -> Vec<(u32, f64)> {
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
        pairs
            .map(|((i, x), (j, y))| (i * k as u32 + j, x * y))
            .collect()
    };
    let line = line(k);
    let null = vec![
        product(&ones, &ones),
        product(&line, &ones),
        product(&ones, &line),
        product(&line, &line),
    ];
    let held = [0, k - 1, k * (k - 1), k * k - 1];
    let (nodes, values) = both.without(k * k, &held, null.clone());
    let half: Vec<f64> = values.iter().map(|v| 0.5 * v).collect();
    let typical = typical_variance(&nodes, &half)
        .ok_or_else(|| call.error("this smooth has no proper precision"))?;
    let places = nodes.among_free();
    let of = |part: &Symmetric| {
        let mut values = vec![0.0; nodes.entries.len()];
        for (i, j, value) in part.entries() {
            if let (Some(i), Some(j)) = (places[i as usize], places[j as usize])
                && let Ok(at) = nodes.entries.binary_search(&[i, j])
            {
                values[at] = value * typical;
            }
        }
        values
    };
    let level = |c: usize| format!("{},{}", c / k, c % k);
    Ok(Built {
        levels: (0..k * k).map(level).collect(),
        effects: vec![String::new()],
        structure: Arc::new(Tensor {
            axes,
            parts: [of(&along), of(&across)],
            nodes,
            sd,
            mix,
        }),
        inputs: Inputs::Numbers(inputs),
    })
}

impl Structure for Tensor {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![
            register.add(&self.sd, 0.0, f64::INFINITY),
            register.add(&self.mix, 0.0, 1.0),
        ]
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let pairs = self.parts[0].iter().zip(&self.parts[1]);
        for (value, (a, b)) in out.iter_mut().zip(pairs) {
            *value = theta[1] * a + (1.0 - theta[1]) * b;
        }
        None
    }

    fn is_constant(&self) -> bool {
        false
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[x, z]) = input else {
            return Err(Error::model("a tensor smooth has two inputs"));
        };
        let (a, b) = (self.axes[0].at(x), self.axes[1].at(z));
        let k = self.axes[1].count;
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
        let nodes = pairs.map(|((i, v), (j, w))| ((i * k + j) as u32, v * w));
        Ok(Point::Nodes(nodes.collect()))
    }
}
