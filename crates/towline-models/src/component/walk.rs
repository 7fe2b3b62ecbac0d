//! Random walks of the first and second order over times that may be unequally spaced: `rw1(t)`, `rw2(t)`.
//!
//! Of the first order, differences are normal with variance σ² times the gap. Of the second, the slope is a random walk:
//! piecewise linear functions whose slope changes at node i with variance σ² (h₋ + h₊)/2 (Lindgren and Rue 2008; for equal
//! gaps, the usual second differences). Both sum to zero, the second has no linear trend either: that is a fixed effect of
//! its own. The standard deviation that is reported is σ times a factor that makes the typical variance one (Sørbye and Rue
//! 2014), so that its prior means the same however many times there are.

use super::scaling::typical_variance;
use super::{Built, Call, Fresh, Function, Input, Inputs, Nodes, Point, Structure, Symmetric};
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use std::sync::Arc;

pub(crate) const RW1: Function = Function {
    name: "rw1",
    arguments: &["t", "by"],
    fixed: &[],
    build: |call| build(call, 1),
};

pub(crate) const RW2: Function = Function {
    name: "rw2",
    arguments: &["t", "by"],
    fixed: &[&["t"]],
    build: |call| build(call, 2),
};

/// More times than anyone has: beyond, they are places.
const MOST: usize = 100_000;

#[derive(Debug)]
struct Walk {
    order: usize,
    times: Vec<f64>,
    nodes: Nodes,
    /// The precision for a typical variance of one.
    values: Vec<f64>,
    /// The typical variance for σ = 1.
    typical: f64,
    sd: Value,
}

fn build(call: &mut Call, order: usize) -> Result<Built, Error> {
    let inputs = call.numbers(&["t"])?;
    let mut times = inputs[0].values(call.context.table)?;
    times.sort_by(f64::total_cmp);
    times.dedup();
    if times.len() < order + 2 {
        return Err(call.error(format!(
            "a random walk of order {order} needs at least {} different times, `{}` has {}",
            order + 2,
            inputs[0].name(),
            times.len()
        )));
    }
    if times.len() > MOST {
        return Err(call.error(format!("more than {MOST} different times: round them")));
    }
    let sd = call.sd()?;
    let walk = Walk::new(order, times, sd)
        .ok_or_else(|| call.error("these times lie too close together beside their range"))?;
    Ok(Built {
        levels: walk.times.iter().map(ToString::to_string).collect(),
        effects: vec![String::new()],
        structure: Arc::new(walk),
        inputs: Inputs::Numbers(inputs),
    })
}

/// The precision of a walk at σ = 1.
pub(super) fn precision_of(order: usize, times: &[f64]) -> Symmetric {
    let mut q = Symmetric::default();
    let gap = |k: usize| times[k + 1] - times[k];
    for k in 0..times.len() - order {
        if order == 1 {
            q.add_square(&[(k, -1.0), (k + 1, 1.0)], 1.0 / gap(k));
        } else {
            let (before, after) = (gap(k), gap(k + 1));
            let change = [
                (k, 1.0 / before),
                (k + 1, -1.0 / before - 1.0 / after),
                (k + 2, 1.0 / after),
            ];
            q.add_square(&change, 2.0 / (before + after));
        }
    }
    q
}

impl Walk {
    fn new(order: usize, times: Vec<f64>, sd: Value) -> Option<Self> {
        let n = times.len();
        let centre = times.iter().sum::<f64>() / n as f64;
        let width = times[n - 1] - times[0];
        let constant = (0..n as u32).map(|k| (k, 1.0)).collect();
        let mut null = vec![constant];
        let mut held = vec![0];
        if order == 2 {
            let line = times.iter().enumerate();
            null.push(
                line.map(|(k, t)| (k as u32, (t - centre) / width))
                    .collect(),
            );
            held.push(n - 1);
        }
        let (nodes, mut values) = precision_of(order, &times).without(n, &held, null);
        let typical = typical_variance(&nodes, &values)?;
        values.iter_mut().for_each(|v| *v *= typical);
        Some(Self {
            order,
            times,
            nodes,
            values,
            typical,
            sd,
        })
    }
}

impl Structure for Walk {
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
        let Input::Numbers(&[t]) = input else {
            return Err(Error::model("a random walk has one time"));
        };
        let after = self.times.partition_point(|time| *time < t);
        match self.times.get(after) {
            Some(time) if *time == t => Ok(Point::Nodes(vec![(after as u32, 1.0)])),
            // Between nodes the second order is a straight line.
            Some(time) if after > 0 && self.order == 2 => {
                let before = self.times[after - 1];
                let share = (t - before) / (time - before);
                let (a, b) = (after as u32 - 1, after as u32);
                Ok(Point::Nodes(vec![(a, 1.0 - share), (b, share)]))
            }
            _ => Ok(Point::Fresh(vec![t])),
        }
    }

    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let variance = theta[0] * theta[0] / self.typical;
        let n = places.len();
        let last = self.times.len() - 1;
        // The stretch of each: 0 before all nodes, last + 1 after them; and how far from its nearer end.
        let stretch = |t: f64| self.times.partition_point(|time| *time < t);
        let weights = places.iter().map(|place| {
            let (t, k) = (place[0], stretch(place[0]));
            if (1..=last).contains(&k) {
                let share = (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1]);
                return vec![(k as u32 - 1, 1.0 - share), (k as u32, share)];
            }
            let (end, next) = if k == 0 { (0, 1) } else { (last, last - 1) };
            let over = match self.order {
                1 => 0.0,
                _ => (t - self.times[end]) / (self.times[end] - self.times[next]),
            };
            vec![(end as u32, 1.0 + over), (next as u32, -over)]
        });
        let weights = weights.collect();
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (places[i][0], places[j][0]);
                let k = stretch(a);
                if stretch(b) != k {
                    continue;
                }
                covariance[i * n + j] = variance
                    * if (1..=last).contains(&k) {
                        let (from, to) = (self.times[k - 1], self.times[k]);
                        (a.min(b) - from) * (to - a.max(b)) / (to - from)
                    } else {
                        let end = self.times[if k == 0 { 0 } else { last }];
                        let (a, b) = ((a - end).abs(), (b - end).abs());
                        let (near, far) = (a.min(b), a.max(b));
                        match self.order {
                            1 => near,
                            _ => near.powi(3) / 3.0 + near * near * (far - near) / 2.0,
                        }
                    };
            }
        }
        Fresh {
            weights,
            covariance,
        }
    }
}
