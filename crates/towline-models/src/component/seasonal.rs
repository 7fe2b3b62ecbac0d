//! A seasonal pattern: `seasonal(t, 12)`.
//!
//! Over one period at most, such as months numbered 1 to 12, a fixed pattern: independent effects of the seasons that
//! sum to zero. Over more, a pattern that changes: any `period` neighbours sum to a number with standard deviation
//! `sd_change`, and the first ones have standard deviation `sd` (Harrison and Stevens 1976; R-INLA's model, made proper).

use super::ar1::steps;
use super::{Built, Call, Fresh, Function, Input, Nodes, Point, Structure, Symmetric};
use crate::defaults;
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use crate::resolve::Natural;
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "seasonal",
    arguments: &["t", "period", "by"],
    fixed: &[],
    build,
};

#[derive(Debug)]
struct Seasonal {
    first: f64,
    period: usize,
    nodes: Nodes,
    /// Entries of the part that is there anyway, and of that which is divided by the square of the change.
    parts: [Vec<f64>; 2],
    sd: Value,
    change: Option<Value>,
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let period = call
        .bound
        .whole("period", 2, 1000)?
        .ok_or_else(|| call.error("a seasonal pattern needs its period: seasonal(t, 12)"))?;
    let (inputs, first, count) = steps(call, "t")?;
    let sd = call.sd()?;
    let seasonal = if count <= period {
        Seasonal::fixed(first, period, sd)
    } else {
        let change = call.parameter("sd_change", defaults::change(call.unit), Natural::Positive)?;
        Seasonal::changing(first, count, period, sd, change)
    };
    let label = |k: usize| (seasonal.first + k as f64).to_string();
    Ok(Built {
        levels: (0..seasonal.nodes.count).map(label).collect(),
        effects: vec![String::new()],
        structure: Arc::new(seasonal),
        inputs,
    })
}

impl Seasonal {
    /// One period: independent, with sum zero. In the coordinates that hold the first season at zero, I + 11ᵀ is the
    /// precision's inverse, which is dense, but one period is short.
    fn fixed(first: f64, period: usize, sd: Value) -> Self {
        let mut q = Symmetric::default();
        let p = period as f64;
        // The precision of what is left of independent numbers with variance p/(p − 1) when their mean is taken off.
        for i in 0..period {
            for j in 0..=i {
                let one = f64::from(u8::from(i == j));
                q.add(i, j, (one - 1.0 / p) * (p - 1.0) / p);
            }
        }
        let constant = (0..period as u32).map(|k| (k, 1.0)).collect();
        let (nodes, values) = q.without(period, &[0], vec![constant]);
        Self {
            first,
            period,
            parts: [values, Vec::new()],
            nodes,
            sd,
            change: None,
        }
    }

    fn changing(first: f64, count: usize, period: usize, sd: Value, change: Value) -> Self {
        let (mut own, mut sums) = (Symmetric::default(), Symmetric::default());
        for k in 0..period - 1 {
            own.add(k, k, 1.0);
        }
        for k in 0..=count - period {
            let window: Vec<(usize, f64)> = (k..k + period).map(|i| (i, 1.0)).collect();
            sums.add_square(&window, 1.0);
        }
        let mut both = sums.clone();
        for (i, j, _) in own.entries() {
            both.add(i as usize, j as usize, 0.0);
        }
        let (nodes, _) = both.without(count, &[], Vec::new());
        let of = |part: &Symmetric| {
            let mut values = vec![0.0; nodes.entries.len()];
            for (i, j, value) in part.entries() {
                if let Ok(at) = nodes.entries.binary_search(&[i, j]) {
                    values[at] = value;
                }
            }
            values
        };
        Self {
            first,
            period,
            parts: [of(&own), of(&sums)],
            nodes,
            sd,
            change: Some(change),
        }
    }
}

impl Structure for Seasonal {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        let values = [Some(&self.sd), self.change.as_ref()];
        let add = |value| register.add(value, 0.0, f64::INFINITY);
        values.into_iter().flatten().map(add).collect()
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        out.copy_from_slice(&self.parts[0]);
        if let Some(change) = theta.get(1) {
            let by = (theta[0] / change).powi(2);
            for (value, sum) in out.iter_mut().zip(&self.parts[1]) {
                *value += by * sum;
            }
        }
        None
    }

    fn is_constant(&self) -> bool {
        self.change.is_none()
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[t]) = input else {
            return Err(Error::model("a seasonal pattern has one time"));
        };
        if t.fract() != 0.0 {
            return Err(Error::model(format!("the time {t} is no whole step")));
        }
        let k = t - self.first;
        if self.change.is_none() {
            let season = k.rem_euclid(self.period as f64);
            return Ok(Point::Nodes(vec![(season as u32, 1.0)]));
        }
        match k {
            k if k < 0.0 => Err(Error::model(format!(
                "the time {t} lies before all fitted ones, where a pattern that changes is not known"
            ))),
            k if (k as usize) < self.nodes.count => Ok(Point::Nodes(vec![(k as u32, 1.0)])),
            _ => Ok(Point::Fresh(vec![t])),
        }
    }

    /// Beyond the end: less the sum of the last period − 1, with a change at every step.
    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let (n, count) = (places.len(), self.nodes.count);
        let step = |place: &[f64]| (place[0] - self.first) as usize - count;
        let most = places.iter().map(|place| step(place)).max().unwrap_or(0) + 1;
        let before = self.period - 1;
        // What each of the last nodes, and then each of the changes, does to each step.
        let node = |k: usize| {
            let mut answer = vec![0.0; before + most];
            answer[k] = 1.0;
            answer
        };
        let mut answers: Vec<Vec<f64>> = (0..before).map(node).collect();
        for k in 0..most {
            let mut answer = vec![0.0; before + most];
            answer[before + k] = 1.0;
            for earlier in &answers[k..] {
                answer.iter_mut().zip(earlier).for_each(|(a, e)| *a -= e);
            }
            answers.push(answer);
        }
        let answer = |i: usize| &answers[before + step(places[i])];
        let variance = theta.get(1).map_or(0.0, |change| change * change);
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (&answer(i)[before..], &answer(j)[before..]);
                covariance[i * n + j] = variance * a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            }
        }
        let last = (count - before) as u32..count as u32;
        let weights = (0..n).map(|i| last.clone().zip(answer(i).iter().copied()).collect());
        Fresh {
            weights: weights.collect(),
            covariance,
        }
    }
}
