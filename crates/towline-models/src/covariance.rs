//! Covariance functions of a Gaussian process: shapes of distance, sums and products of them.

mod shape;

pub use shape::Shape;

use crate::distance::Distance;
use crate::parameter::{Register, Source, Value};
use crate::pool::Pooled;
use crate::vector::wide;

/// A covariance function.
///
/// Numbers such as standard deviations and ranges are given or inferred: see [`Value`].
#[derive(Debug, Clone, PartialEq)]
pub enum Covariance {
    /// sd² ρ(distance): depends on how far apart places are.
    Stationary {
        /// ρ.
        shape: Shape,
        /// Which of the coordinates it is about.
        inputs: Vec<usize>,
        /// How distance is measured.
        distance: Distance,
        /// The standard deviation.
        sd: Value,
        /// The range: one for all inputs, or one for each.
        ranges: Vec<Value>,
    },
    /// sd² Σ_k a_k b_k over the inputs: a plane through the origin.
    Linear {
        /// Which of the coordinates.
        inputs: Vec<usize>,
        /// The standard deviation of each slope.
        sd: Value,
    },
    /// sd²: a common unknown level.
    Constant {
        /// The standard deviation.
        sd: Value,
    },
    /// sd² for a place with itself, 0 for others: what is particular to a place.
    Nugget {
        /// The standard deviation.
        sd: Value,
        /// The coordinates that tell places apart: those of the process it belongs to. Empty for all.
        inputs: Vec<usize>,
    },
    /// The sum of independent processes.
    Sum(Vec<Covariance>),
    /// The product of covariances.
    Product(Vec<Covariance>),
}

/// Places: for each input, the coordinate of every place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places {
    /// The number of places.
    pub len: usize,
    /// Input by input.
    pub coordinates: Vec<Vec<f64>>,
}

impl Places {
    /// From coordinates, input by input.
    pub fn new(coordinates: Vec<Vec<f64>>) -> Self {
        Self {
            len: coordinates.first().map_or(0, Vec::len),
            coordinates,
        }
    }

    /// One place, as a list of its coordinates.
    pub fn place(&self, i: usize) -> Vec<f64> {
        self.coordinates.iter().map(|c| c[i]).collect()
    }
}

/// A covariance whose parameters are numbered.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    Stationary {
        shape: shape::Settled,
        inputs: Vec<usize>,
        sd: Source,
        ranges: Vec<Source>,
        /// Where distances are on the Earth: which, and those among the data's places, column by column.
        earth: Option<(Distance, Vec<f64>)>,
    },
    Linear {
        inputs: Vec<usize>,
        sd: Source,
    },
    Constant(Source),
    Nugget {
        sd: Source,
        inputs: Vec<usize>,
    },
    Sum(Vec<Node>),
    Product(Vec<Node>),
}

/// Where a column of covariances is wanted.
#[derive(Clone, Copy)]
pub(crate) enum Column<'a> {
    /// Of the data's place j, with places j, j + 1, …
    Own(usize),
    /// Of the surface at another place, with all the data's: without what is particular to a place.
    Other(&'a [f64]),
    /// Of a row at another place, with all the data's: what is particular to a place is shared by rows that are there.
    Row(&'a [f64]),
}

impl Covariance {
    pub(crate) fn number(&self, register: &mut Register, places: &Places) -> Node {
        let mut positive = |value: &Value| register.add(value, 0.0, f64::INFINITY);
        match self {
            Self::Stationary {
                shape,
                inputs,
                distance,
                sd,
                ranges,
            } => Node::Stationary {
                sd: positive(sd),
                ranges: ranges.iter().map(&mut positive).collect(),
                shape: shape.number(register),
                inputs: inputs.clone(),
                earth: (*distance != Distance::Euclidean)
                    .then(|| (*distance, on_earth(places, inputs, *distance))),
            },
            Self::Linear { inputs, sd } => Node::Linear {
                inputs: inputs.clone(),
                sd: positive(sd),
            },
            Self::Constant { sd } => Node::Constant(positive(sd)),
            Self::Nugget { sd, inputs } => Node::Nugget {
                sd: positive(sd),
                inputs: inputs.clone(),
            },
            Self::Sum(parts) => {
                Node::Sum(parts.iter().map(|p| p.number(register, places)).collect())
            }
            Self::Product(parts) => {
                Node::Product(parts.iter().map(|p| p.number(register, places)).collect())
            }
        }
    }
}

/// All distances on the Earth.
fn on_earth(places: &Places, inputs: &[usize], distance: Distance) -> Vec<f64> {
    let n = places.len;
    let at = |i: usize| {
        [
            places.coordinates[inputs[0]][i],
            places.coordinates[inputs[1]][i],
        ]
    };
    (0..n * n)
        .map(|k| distance.on_earth(at(k / n), at(k % n)))
        .collect()
}

impl Node {
    /// The lower triangle of the covariance matrix of the data's places, column by column; above it is anything.
    pub fn matrix(&self, places: &Places, values: &[f64], jitter: f64) -> Pooled {
        let n = places.len;
        let mut matrix = Pooled::take(n * n);
        let mut spare = Vec::new();
        for j in 0..n {
            let column = &mut matrix[j * n + j..(j + 1) * n];
            self.column(places, values, Column::Own(j), column, &mut spare);
            column[0] += jitter;
        }
        matrix
    }

    /// The covariances of one place with the data's.
    pub fn column(
        &self,
        places: &Places,
        values: &[f64],
        which: Column,
        out: &mut [f64],
        spare: &mut Vec<f64>,
    ) {
        let from = match which {
            Column::Own(j) => j,
            Column::Other(_) | Column::Row(_) => 0,
        };
        let here = |k: usize| match which {
            Column::Own(j) => places.coordinates[k][j],
            Column::Other(place) | Column::Row(place) => place[k],
        };
        match self {
            Self::Stationary {
                shape,
                inputs,
                sd,
                ranges,
                earth,
            } => {
                let variance = sd.get(values).powi(2);
                if let Some((distance, among)) = earth {
                    let scale = ranges[0].get(values).powi(-2);
                    match which {
                        Column::Own(j) => {
                            let known = &among[j * places.len + j..(j + 1) * places.len];
                            for (r2, d) in out.iter_mut().zip(known) {
                                *r2 = d * d * scale;
                            }
                        }
                        Column::Other(_) | Column::Row(_) => {
                            for (i, r2) in out.iter_mut().enumerate() {
                                let there = [0, 1].map(|k| places.coordinates[inputs[k]][i]);
                                let here = [here(inputs[0]), here(inputs[1])];
                                let d = distance.on_earth(here, there);
                                *r2 = d * d * scale;
                            }
                        }
                    }
                } else {
                    out.fill(0.0);
                    for (position, &k) in inputs.iter().enumerate() {
                        let range = ranges.get(position).unwrap_or(&ranges[0]).get(values);
                        let (weight, origin) = (range.powi(-2), here(k));
                        let there = &places.coordinates[k][from..];
                        add_squares(out, there, origin, weight);
                    }
                }
                shape.apply(values, variance, out);
            }
            Self::Linear { inputs, sd } => {
                let variance = sd.get(values).powi(2);
                out.fill(0.0);
                for &k in inputs {
                    let slope = variance * here(k);
                    for (value, a) in out.iter_mut().zip(&places.coordinates[k][from..]) {
                        *value += slope * a;
                    }
                }
            }
            Self::Constant(sd) => out.fill(sd.get(values).powi(2)),
            Self::Nugget { sd, inputs } => {
                out.fill(0.0);
                let variance = sd.get(values).powi(2);
                let all = places.coordinates.len();
                let same = |i: usize| {
                    let at = |k: usize| places.coordinates[k][from + i] == here(k);
                    if inputs.is_empty() {
                        (0..all).all(at)
                    } else {
                        inputs.iter().all(|k| at(*k))
                    }
                };
                match which {
                    Column::Other(_) => {}
                    // The data's places differ in some coordinate: only a nugget of fewer can be shared.
                    Column::Own(_) if inputs.is_empty() || inputs.len() == all => out[0] = variance,
                    Column::Own(_) | Column::Row(_) => {
                        for (i, value) in out.iter_mut().enumerate() {
                            if same(i) {
                                *value = variance;
                            }
                        }
                    }
                }
            }
            Self::Sum(parts) => {
                fold(parts, places, values, which, out, spare, |a, b| *a += b);
            }
            Self::Product(parts) => {
                fold(parts, places, values, which, out, spare, |a, b| *a *= b);
            }
        }
    }

    /// The variance at one place; with what is particular to it, or without.
    pub fn variance(&self, values: &[f64], place: &[f64], with_nugget: bool) -> f64 {
        match self {
            Self::Stationary { sd, .. } | Self::Constant(sd) => sd.get(values).powi(2),
            Self::Linear { inputs, sd } => {
                let squares: f64 = inputs.iter().map(|&k| place[k] * place[k]).sum();
                sd.get(values).powi(2) * squares
            }
            Self::Nugget { sd, .. } if with_nugget => sd.get(values).powi(2),
            Self::Nugget { .. } => 0.0,
            Self::Sum(parts) => parts
                .iter()
                .map(|p| p.variance(values, place, with_nugget))
                .sum(),
            Self::Product(parts) => parts
                .iter()
                .map(|p| p.variance(values, place, with_nugget))
                .product(),
        }
    }
}

fn fold(
    parts: &[Node],
    places: &Places,
    values: &[f64],
    which: Column,
    out: &mut [f64],
    spare: &mut Vec<f64>,
    join: impl Fn(&mut f64, f64),
) {
    let Some((first, rest)) = parts.split_first() else {
        out.fill(0.0);
        return;
    };
    first.column(places, values, which, out, spare);
    let mut other = std::mem::take(spare);
    let mut deeper = Vec::new();
    for part in rest {
        // What does not depend on the place needs no column of its own.
        other.resize(out.len(), 0.0);
        part.column(places, values, which, &mut other, &mut deeper);
        for (a, b) in out.iter_mut().zip(&other) {
            join(a, *b);
        }
    }
    *spare = other;
}

/// out += weight (there − origin)².
fn add_squares(out: &mut [f64], there: &[f64], origin: f64, weight: f64) {
    wide(
        #[inline(always)]
        || {
            for (r2, a) in out.iter_mut().zip(there) {
                let d = a - origin;
                *r2 += weight * (d * d);
            }
        },
    );
}

#[cfg(test)]
mod tests;
