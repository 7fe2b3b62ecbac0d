//! A smooth function of one input: `s(x)`, a penalised spline (Eilers and Marx 1996).
//!
//! Cubic B-splines over equally spaced knots, whose coefficients are a random walk of the second order. Level and straight
//! line are among the fixed effects.

use super::scaling::typical_variance;
use super::walk::precision_of;
use super::{Built, Call, Function, Input, Inputs, Nodes, Point, Structure};
use crate::error::Error;
use crate::formula::Expression;
use crate::parameter::{Register, Source, Value};
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "s",
    arguments: &["x", "k", "by"],
    fixed: &[&["x"]],
    build,
};

/// Basis functions, where nothing is said: enough for most curves, since the penalty decides how smooth they are.
const BASIS: usize = 20;

#[derive(Debug)]
struct Smooth {
    axis: Axis,
    nodes: Nodes,
    values: Vec<f64>,
    sd: Value,
}

/// Cubic B-splines along one input.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub count: usize,
    first: f64,
    step: f64,
}

impl Axis {
    /// So many functions over the range of an input's values.
    pub fn new(call: &Call, input: &Expression, count: usize) -> Result<Self, Error> {
        let mut values = input.values(call.context.table)?;
        values.sort_by(f64::total_cmp);
        let (first, last) = (values[0], values[values.len() - 1]);
        values.dedup();
        if values.len() < 4 {
            return Err(call.error(format!(
                "a smooth needs at least 4 different values, `{}` has {}: factor() makes each of them an effect of its own",
                input.name(),
                values.len()
            )));
        }
        Ok(Self {
            count,
            first,
            step: (last - first) / (count - 3) as f64,
        })
    }

    /// The functions that are not zero at x; a straight line beyond the ends.
    pub fn at(&self, x: f64) -> [(usize, f64); 4] {
        let cells = (self.count - 3) as f64;
        let place = (x - self.first) / self.step;
        let inside = place.clamp(0.0, cells);
        let cell = inside.floor().min(cells - 1.0);
        let (t, over) = (inside - cell, place - inside);
        let s = 1.0 - t;
        let values = [
            s * s * s / 6.0,
            (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
            (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
            t * t * t / 6.0,
        ];
        let slopes = [
            -s * s / 2.0,
            (3.0 * t * t - 4.0 * t) / 2.0,
            (-3.0 * s * s + 4.0 * s) / 2.0,
            t * t / 2.0,
        ];
        [0, 1, 2, 3].map(|k| (cell as usize + k, values[k] + over * slopes[k]))
    }
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let count = call.bound.whole("k", 5, 500)?.unwrap_or(BASIS);
    let inputs = call.numbers(&["x"])?;
    let axis = Axis::new(call, &inputs[0], count)?;
    let sd = call.sd()?;
    let index: Vec<f64> = (0..count).map(|k| k as f64).collect();
    let null = vec![(0..count as u32).map(|k| (k, 1.0)).collect(), line(count)];
    let held = [0, count - 1];
    let (nodes, mut values) = precision_of(2, &index).without(count, &held, null);
    let typical = typical_variance(&nodes, &values)
        .ok_or_else(|| call.error("this smooth has no proper precision"))?;
    values.iter_mut().for_each(|v| *v *= typical);
    Ok(Built {
        levels: (0..count).map(|k| k.to_string()).collect(),
        effects: vec![String::new()],
        structure: Arc::new(Smooth {
            axis,
            nodes,
            values,
            sd,
        }),
        inputs: Inputs::Numbers(inputs),
    })
}

/// A straight line over so many nodes, from −½ to ½.
pub(super) fn line(count: usize) -> Vec<(u32, f64)> {
    let width = (count - 1) as f64;
    (0..count)
        .map(|k| (k as u32, k as f64 / width - 0.5))
        .collect()
}

impl Structure for Smooth {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![register.add(&self.sd, 0.0, f64::INFINITY)]
    }

    fn precision(&self, _: &[f64], out: &mut [f64]) -> Option<f64> {
        out.copy_from_slice(&self.values);
        None
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[x]) = input else {
            return Err(Error::model("a smooth has one input"));
        };
        let at = self.axis.at(x).into_iter();
        Ok(Point::Nodes(at.map(|(k, w)| (k as u32, w)).collect()))
    }
}
