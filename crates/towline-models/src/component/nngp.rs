//! A Gaussian process given its nearest neighbours: `nngp(x, y, m = 10)` (Vecchia 1988; Datta et al. 2016).
//!
//! Places stand in an order; each is normal given the m nearest of those before it, as the process has it. That is a
//! process of its own, with a sparse precision, near to the full one.

use super::spde::{diagonal, places};
use super::{Built, Call, Fresh, Function, Input, Nodes, Point, Structure};
use crate::defaults;
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use crate::resolve::Natural;
use crate::triangle::Triangle;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub(crate) const FUNCTION: Function = Function {
    name: "nngp",
    arguments: &["x", "y", "m", "covariance", "by"],
    fixed: &[],
    build,
};

/// Neighbours, where nothing is said.
const NEIGHBOURS: usize = 10;
/// Added to every variance for the sake of the arithmetic, relative to it.
const JITTER: f64 = 1e-8;

#[derive(Debug)]
struct Nearest {
    /// In their order.
    places: Vec<[f64; 2]>,
    number: HashMap<[u64; 2], u32>,
    m: usize,
    shape: Shape,
    /// The neighbours of each place among those before it.
    before: Vec<Vec<u32>>,
    nodes: Nodes,
    /// Place by place, where the products of (itself, its neighbours) go among the entries.
    slots: Vec<Vec<u32>>,
    sd: Value,
    length: Value,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Exponential,
    Matern32,
    Matern52,
}

impl Shape {
    /// The correlation at a distance in lengths.
    fn at(self, d: f64) -> f64 {
        match self {
            Self::Exponential => (-d).exp(),
            Self::Matern32 => {
                let r = 3f64.sqrt() * d;
                (1.0 + r) * (-r).exp()
            }
            Self::Matern52 => {
                let r = 5f64.sqrt() * d;
                (1.0 + r + r * r / 3.0) * (-r).exp()
            }
        }
    }
}

fn key(place: [f64; 2]) -> [u64; 2] {
    // Adding zero makes −0 and 0 the same.
    place.map(|c| (c + 0.0).to_bits())
}

fn distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)).sqrt()
}

fn build(call: &mut Call) -> Result<Built, Error> {
    let m = call.bound.whole("m", 1, 60)?.unwrap_or(NEIGHBOURS);
    let names = ["matern32", "exponential", "matern52"];
    let shape = match call.word("covariance", &names)? {
        "exponential" => Shape::Exponential,
        "matern52" => Shape::Matern52,
        _ => Shape::Matern32,
    };
    let (inputs, all) = places(call)?;
    let mut number = HashMap::new();
    let mut places: Vec<[f64; 2]> = Vec::new();
    for place in all {
        if number.insert(key(place), 0).is_none() {
            places.push(place);
        }
    }
    if places.len() < 3 {
        return Err(call.error("a field needs at least three different places"));
    }
    // Along a diagonal: what comes before lies to one side, so that neighbours are near and the factor stays sparse.
    places.sort_by(|a, b| {
        (a[0] + a[1])
            .total_cmp(&(b[0] + b[1]))
            .then(a[0].total_cmp(&b[0]))
    });
    for (k, place) in places.iter().enumerate() {
        number.insert(key(*place), k as u32);
    }
    let sd = call.sd()?;
    let diagonal = diagonal(&places);
    let length = defaults::length(
        diagonal / 50.0,
        diagonal,
        "from a fiftieth of the extent to all of it",
    );
    let length = call.parameter("length", length, Natural::Length)?;
    let before = neighbours(&places, m);
    let level = |p: &[f64; 2]| format!("{},{}", p[0], p[1]);
    let levels = places.iter().map(level).collect();
    let (nodes, slots) = pattern(&before);
    Ok(Built {
        levels,
        effects: vec![String::new()],
        structure: Arc::new(Nearest {
            places,
            number,
            m,
            shape,
            before,
            nodes,
            slots,
            sd,
            length,
        }),
        inputs,
    })
}

/// The nearest of the places before each, by a search that ends where the order's own coordinate is too far off.
fn neighbours(places: &[[f64; 2]], m: usize) -> Vec<Vec<u32>> {
    let along = |p: [f64; 2]| (p[0] + p[1]) / 2f64.sqrt();
    let mut all = Vec::with_capacity(places.len());
    for (i, place) in places.iter().enumerate() {
        let mut near: Vec<(f64, u32)> = Vec::with_capacity(m + 1);
        for j in (0..i).rev() {
            let worst = near.last().map_or(f64::INFINITY, |(d, _)| *d);
            if near.len() == m && along(*place) - along(places[j]) > worst {
                break;
            }
            let d = distance(*place, places[j]);
            if near.len() < m || d < worst {
                let at = near.partition_point(|(other, _)| *other <= d);
                near.insert(at, (d, j as u32));
                near.truncate(m);
            }
        }
        all.push(near.into_iter().map(|(_, j)| j).collect());
    }
    all
}

fn pattern(before: &[Vec<u32>]) -> (Nodes, Vec<Vec<u32>>) {
    let mut entries: BTreeSet<[u32; 2]> = BTreeSet::new();
    let pairs = |i: usize| {
        let set: Vec<u32> = [i as u32]
            .into_iter()
            .chain(before[i].iter().copied())
            .collect();
        let mut pairs = Vec::new();
        for a in 0..set.len() {
            for b in 0..=a {
                pairs.push([set[a].max(set[b]), set[a].min(set[b])]);
            }
        }
        pairs
    };
    for i in 0..before.len() {
        entries.extend(pairs(i));
    }
    let entries: Vec<[u32; 2]> = entries.into_iter().collect();
    let slot = |pair: &[u32; 2]| entries.binary_search(pair).unwrap_or(0) as u32;
    let slots = (0..before.len())
        .map(|i| pairs(i).iter().map(slot).collect())
        .collect();
    let count = before.len();
    let nodes = Nodes {
        count,
        free: (0..count as u32).collect(),
        entries,
        null: Vec::new(),
    };
    (nodes, slots)
}

impl Nearest {
    /// The weights of some places for another, and the variance that they leave it.
    fn given(&self, length: f64, place: [f64; 2], near: &[u32]) -> Option<(Vec<f64>, f64)> {
        let k = near.len();
        let at = |j: u32| self.places[j as usize];
        let correlation = |a: [f64; 2], b: [f64; 2]| self.shape.at(distance(a, b) / length);
        let mut matrix = vec![0.0; k * k];
        for a in 0..k {
            for b in 0..=a {
                matrix[b * k + a] = correlation(at(near[a]), at(near[b]));
            }
            matrix[a * k + a] += JITTER;
        }
        let root = Triangle::root_of(matrix, k)?;
        let column: Vec<f64> = near.iter().map(|j| correlation(place, at(*j))).collect();
        let mut weights = column.clone();
        root.solve(&mut weights);
        let left = 1.0 + JITTER - weights.iter().map(|w| w * w).sum::<f64>();
        root.solve_transposed(&mut weights);
        Some((weights, left.max(JITTER)))
    }
}

impl Structure for Nearest {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        vec![
            register.add(&self.sd, 0.0, f64::INFINITY),
            register.add(&self.length, 0.0, f64::INFINITY),
        ]
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        out.fill(0.0);
        // Each place is normal given others before it: the determinant is the product of what they leave.
        let mut log_root = 0.0;
        for (i, (near, slots)) in self.before.iter().zip(&self.slots).enumerate() {
            let Some((weights, left)) = self.given(theta[1], self.places[i], near) else {
                out.fill(f64::NAN);
                return None;
            };
            log_root -= 0.5 * left.ln();
            let row: Vec<f64> = [1.0]
                .into_iter()
                .chain(weights.iter().map(|w| -w))
                .collect();
            let mut slots = slots.iter();
            for a in 0..row.len() {
                for b in 0..=a {
                    if let Some(slot) = slots.next() {
                        out[*slot as usize] += row[a] * row[b] / left;
                    }
                }
            }
        }
        Some(log_root)
    }

    fn is_constant(&self) -> bool {
        false
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        out.fill(theta[0]);
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Numbers(&[x, y]) = input else {
            return Err(Error::model("a field has two coordinates"));
        };
        Ok(match self.number.get(&key([x, y])) {
            Some(node) => Point::Nodes(vec![(*node, 1.0)]),
            None => Point::Fresh(vec![x, y]),
        })
    }

    /// Given the nearest nodes, independent of other new places: as Datta et al. have it.
    fn fresh(&self, theta: &[f64], new: &[&[f64]]) -> Fresh {
        let n = new.len();
        let mut fresh = Fresh::nothing(n);
        for (i, place) in new.iter().enumerate() {
            let place = [place[0], place[1]];
            let mut order: Vec<u32> = (0..self.places.len() as u32).collect();
            let far = |j: &u32| distance(place, self.places[*j as usize]);
            if order.len() > self.m {
                order.select_nth_unstable_by(self.m, |a, b| far(a).total_cmp(&far(b)));
                order.truncate(self.m);
            }
            if let Some((weights, left)) = self.given(theta[1], place, &order) {
                fresh.weights[i] = order.into_iter().zip(weights).collect();
                fresh.covariance[i * n + i] = theta[0] * theta[0] * left;
            }
        }
        fresh
    }
}
