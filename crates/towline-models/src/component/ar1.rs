//! An autoregression of the first order over whole times: `ar1(t)`, stationary, with standard deviation sd and correlation
//! rho between neighbours. Times that no row has are nodes too.

use super::{Built, Call, Fresh, Function, Input, Inputs, Nodes, Point, Structure};
use crate::defaults;
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use crate::resolve::Natural;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "ar1",
    arguments: &["t", "by"],
    fixed: &[],
    build,
};

/// Nodes for each different time, at most: beyond, times are in other units than steps.
const SPARSEST: usize = 50;

#[derive(Debug)]
struct Autoregression {
    first: f64,
    nodes: Nodes,
    sd: Value,
    rho: Value,
}

/// The first and last of whole times, and how many there are between them.
pub(super) fn steps(call: &Call, argument: &str) -> Result<(Inputs, f64, usize), Error> {
    let inputs = call.numbers(&[argument])?;
    let mut times = inputs[0].values(call.context.table)?;
    let name = inputs[0].name().to_string();
    if let Some(odd) = times.iter().find(|t| t.fract() != 0.0) {
        return Err(call.error(format!(
            "`{name}` is {odd} somewhere, but its times are whole steps: 1, 2, 3, …; use floor(), or rw1() or gp() for times \
             in between"
        )));
    }
    times.sort_by(f64::total_cmp);
    times.dedup();
    let (first, last) = (times[0], times[times.len() - 1]);
    let count = last - first + 1.0;
    if count > (SPARSEST * times.len().max(20)) as f64 {
        return Err(call.error(format!(
            "`{name}` goes from {first} to {last} in steps of 1, but has {} different values: divide it so that its usual step \
             is 1",
            times.len()
        )));
    }
    if times.len() < 2 {
        return Err(call.error(format!("`{name}` has one value only")));
    }
    Ok((Inputs::Numbers(inputs), first, count as usize))
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let (inputs, first, count) = steps(call, "t")?;
    let sd = call.sd()?;
    let rho = call.parameter("rho", defaults::correlation(), Natural::Correlation)?;
    let mut nodes = Nodes::independent(count);
    let k = 1..count as u32;
    nodes.entries.extend(k.map(|k| [k, k - 1]));
    Ok(Built {
        levels: (0..count).map(|k| (first + k as f64).to_string()).collect(),
        effects: vec![String::new()],
        structure: Arc::new(Autoregression {
            first,
            nodes,
            sd,
            rho,
        }),
        inputs,
    })
}

impl Structure for Autoregression {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![
            register.add(&self.sd, 0.0, f64::INFINITY),
            register.add(&self.rho, -1.0, 1.0),
        ]
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let n = self.nodes.count;
        let rho = theta[1];
        let by = 1.0 / ((1.0 - rho) * (1.0 + rho));
        let (diagonal, beside) = out.split_at_mut(n);
        diagonal.fill((1.0 + rho * rho) * by);
        diagonal[0] = by;
        diagonal[n - 1] = by;
        beside.fill(-rho * by);
        Some(0.5 * (n - 1) as f64 * by.ln())
    }

    fn is_constant(&self) -> bool {
        false
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[t]) = input else {
            return Err(Error::model("an autoregression has one time"));
        };
        if t.fract() != 0.0 {
            return Err(Error::model(format!(
                "the time {t} is no whole step, which ar1 needs"
            )));
        }
        let k = t - self.first;
        if (0.0..self.nodes.count as f64).contains(&k) {
            Ok(Point::Nodes(vec![(k as u32, 1.0)]))
        } else {
            Ok(Point::Fresh(vec![t]))
        }
    }

    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let (sd, rho, n) = (theta[0], theta[1], places.len());
        let last = self.nodes.count - 1;
        // Steps beyond the end, before it negative.
        let beyond = |place: &[f64]| {
            let k = place[0] - self.first;
            if k < 0.0 { k } else { k - last as f64 }
        };
        let power = |steps: f64| rho.powi(steps.abs() as i32);
        let at = |place: &&[f64]| {
            let k = beyond(place);
            vec![(if k < 0.0 { 0 } else { last as u32 }, power(k))]
        };
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (beyond(places[i]), beyond(places[j]));
                if (a < 0.0) == (b < 0.0) {
                    covariance[i * n + j] = sd * sd * (power(a - b) - power(a) * power(b));
                }
            }
        }
        Fresh {
            weights: places.iter().map(at).collect(),
            covariance,
        }
    }
}
