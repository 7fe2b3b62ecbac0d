//! A product of two components: `areal(district, graph = "edges.csv"):rw1(year)`.
//!
//! The covariance is sd² K₁ ⊗ K₂, that of either factor with its own standard deviation one: its precision is Q₁ ⊗ Q₂. What a
//! factor holds at zero is zero in the product for every node of the other: of two intrinsic factors (Knorr-Held's type IV,
//! 2000), levels of areas and the course that all share are not part of it.
//!
//! u = (P₁ ⊗ P₂) w for the free nodes w of both, Pᵢ = I − NᵢMᵢ, is exact: its covariance is the product of those of the
//! factors. Holding all of it by `Nodes::null` would ask for as many constraints as there are nodes on both sides. So the
//! smaller factor's P is worked into where rows lie, each a sum of that factor's free nodes, and the larger one's is left:
//! one constraint for each node that the smaller factor brings.

mod factor;
#[cfg(test)]
mod tests;

use super::{Built, Fresh, Input, Inputs, Nodes, Point, Structure};
use crate::additive::refuse_too_many_entries;
use crate::error::Error;
use crate::parameter::{Register, Source, Value};
use factor::{Factor, Weights};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Product {
    factors: [Factor; 2],
    nodes: Nodes,
    sd: Value,
}

/// Puts two components together whose own standard deviations are one.
pub(super) fn build(name: &str, first: Built, second: Built, sd: Value) -> Result<Built, Error> {
    let structure = Product::new(name, [first.structure, second.structure], sd)?;
    let level = |a: &String| {
        let with = second.levels.iter();
        with.map(|b| format!("{a},{b}")).collect::<Vec<_>>()
    };
    Ok(Built {
        levels: first.levels.iter().flat_map(level).collect(),
        effects: vec![String::new()],
        structure: Arc::new(structure),
        inputs: Inputs::Pair(Box::new([first.inputs, second.inputs])),
    })
}

/// A sparse symmetric matrix has so many entries in all, from those on and below the diagonal.
fn all_entries(nodes: &Nodes) -> usize {
    2 * nodes.entries.len() - nodes.free.len()
}

impl Product {
    pub fn new(name: &str, factors: [Arc<dyn Structure>; 2], sd: Value) -> Result<Self, Error> {
        // Before anything is laid out.
        let [a, b] = [factors[0].nodes(), factors[1].nodes()];
        let free = a.free.len().saturating_mul(b.free.len());
        let entries = all_entries(a).saturating_mul(all_entries(b)) / 2 + free / 2;
        refuse_too_many_entries(free, entries, name)?;
        let smaller = usize::from(b.free.len() <= a.free.len());
        let mut k = 0;
        let factors = factors.map(|structure| {
            let absorbed = k == smaller && !structure.nodes().null.is_empty();
            k += 1;
            Factor::new(structure, absorbed)
        });
        let nodes = lay_out(&factors);
        Ok(Self { factors, nodes, sd })
    }

    /// The parameters of both factors.
    fn split<'a>(&self, theta: &'a [f64]) -> [&'a [f64]; 2] {
        let (first, second) = theta[1..].split_at(self.factors[0].parameters);
        [first, second]
    }

    /// The product of two sums of the factors' nodes.
    fn cross(&self, first: &[(u32, f64)], second: &[(u32, f64)]) -> Weights {
        let (a, b) = (
            self.factors[0].brought(first),
            self.factors[1].brought(second),
        );
        let size = self.factors[1].size() as u32;
        let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b)));
        pairs
            .map(|((i, v), (j, w))| (i * size + j, v * w))
            .collect()
    }
}

/// The nodes of a product, those of the second factor running fastest.
fn lay_out(factors: &[Factor; 2]) -> Nodes {
    let size = factors[1].size() as u32;
    let [a, b] = [factors[0].nodes(), factors[1].nodes()];
    let (first, second) = (factors[0].free(), factors[1].free());
    let inner = second.len() as u32;
    let free = first
        .iter()
        .flat_map(|i| second.iter().map(move |j| i * size + j));
    let mut entries = Vec::new();
    pairs(a, b, |[i, j], [k, l], _| {
        entries.push([i * inner + k, j * inner + l]);
    });
    let mut null: Vec<Weights> = Vec::new();
    for vector in factors[0].open() {
        for j in 0..size {
            null.push(vector.iter().map(|(i, v)| (i * size + j, *v)).collect());
        }
    }
    for vector in factors[1].open() {
        for i in 0..factors[0].size() as u32 {
            null.push(vector.iter().map(|(j, v)| (i * size + j, *v)).collect());
        }
    }
    Nodes {
        count: factors[0].size() * factors[1].size(),
        free: free.collect(),
        entries,
        null,
    }
}

/// Calls `f` for each entry of a Kronecker product on or below the diagonal: an entry of the first, one of the second, and
/// their numbers.
fn pairs(a: &Nodes, b: &Nodes, mut f: impl FnMut([u32; 2], [u32; 2], [usize; 2])) {
    for (p, [i, j]) in a.entries.iter().enumerate() {
        for (q, [k, l]) in b.entries.iter().enumerate() {
            f([*i, *j], [*k, *l], [p, q]);
            // Beside the diagonal of both, the second's other side is there too.
            if i != j && k != l {
                f([*i, *j], [*l, *k], [p, q]);
            }
        }
    }
}

/// A place of both factors as numbers: how many belong to the first, then those of each, the first of them its kind.
fn encode([first, second]: &[Point; 2]) -> Vec<f64> {
    let numbers = |point: &Point| -> Vec<f64> {
        match point {
            Point::Nodes(nodes) => [0.0]
                .into_iter()
                .chain(nodes.iter().flat_map(|(k, w)| [f64::from(*k), *w]))
                .collect(),
            Point::Fresh(place) => [1.0].iter().chain(place).copied().collect(),
        }
    };
    let (a, b) = (numbers(first), numbers(second));
    [vec![a.len() as f64], a, b].concat()
}

fn decode(place: &[f64]) -> [Point; 2] {
    let (first, second) = place[1..].split_at(place[0] as usize);
    [first, second].map(|numbers| match numbers[0] {
        0.0 => {
            let pairs = numbers[1..].chunks_exact(2);
            Point::Nodes(pairs.map(|pair| (pair[0] as u32, pair[1])).collect())
        }
        _ => Point::Fresh(numbers[1..].to_vec()),
    })
}

impl Structure for Product {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        let mut sources = vec![register.add(&self.sd, 0.0, f64::INFINITY)];
        for factor in &self.factors {
            sources.extend(factor.structure.register(register));
        }
        sources
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let theta = self.split(theta);
        let [(a, of_a), (b, of_b)] = [0, 1].map(|k| self.factors[k].precision(theta[k]));
        let mut out = out.iter_mut();
        pairs(
            self.factors[0].nodes(),
            self.factors[1].nodes(),
            |_, _, [p, q]| {
                if let Some(value) = out.next() {
                    *value = a[p] * b[q];
                }
            },
        );
        let [n, m] = [0, 1].map(|k| self.factors[k].nodes().free.len() as f64);
        Some(m * of_a? + n * of_b?)
    }

    fn is_constant(&self) -> bool {
        let mut factors = self.factors.iter();
        factors.all(|factor| factor.structure.is_constant())
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        let sd = theta[0];
        let theta = self.split(theta);
        let [a, b] = [0, 1].map(|k| {
            let factor = &self.factors[k];
            let mut scale = vec![0.0; factor.nodes().count];
            factor.structure.scale(theta[k], &mut scale);
            // What a constraint mixes has one scale.
            if factor.size() < scale.len() {
                let free = factor.nodes().free.iter();
                scale = free.map(|node| scale[*node as usize]).collect();
            }
            scale
        });
        for (row, a) in out.chunks_exact_mut(b.len()).zip(a) {
            for (value, b) in row.iter_mut().zip(&b) {
                *value = sd * a * b;
            }
        }
    }

    fn locate(&self, input: Input) -> Result<Point, Error> {
        let Input::Pair(first, second) = input else {
            return Err(Error::model("a product has the inputs of both its factors"));
        };
        let points = [
            self.factors[0].structure.locate(*first)?,
            self.factors[1].structure.locate(*second)?,
        ];
        Ok(match &points {
            [Point::Nodes(a), Point::Nodes(b)] => Point::Nodes(self.cross(a, b)),
            _ => Point::Fresh(encode(&points)),
        })
    }

    /// A factor f is W f at new places, plus something of covariance C: the product is (W₁ ⊗ W₂) u plus something of
    /// covariance S₁∘C₂ + C₁∘S₂ + C₁∘C₂, with Sᵢ = WᵢKᵢWᵢᵀ.
    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let n = places.len();
        let own = self.split(theta);
        let points: Vec<[Point; 2]> = places.iter().map(|place| decode(place)).collect();
        let at = [0, 1].map(|k| {
            let points: Vec<Point> = points.iter().map(|both| both[k].clone()).collect();
            self.factors[k].at(own[k], &points)
        });
        let mut covariance = vec![0.0; n * n];
        let mut add = |a: &[f64], b: &[f64]| {
            let both = a.iter().zip(b).map(|(a, b)| theta[0] * theta[0] * a * b);
            covariance.iter_mut().zip(both).for_each(|(c, v)| *c += v);
        };
        for k in [0, 1] {
            if let Some(added) = &at[1 - k].1 {
                add(&self.factors[k].covariance(own[k], &at[k].0), added);
            }
        }
        if let [(_, Some(a)), (_, Some(b))] = &at {
            add(a, b);
        }
        let sums = at[0].0.iter().zip(&at[1].0);
        Fresh {
            weights: sums.map(|(a, b)| self.cross(a, b)).collect(),
            covariance,
        }
    }

    fn reports(&self) -> usize {
        self.factors[0].nodes().count * self.factors[1].nodes().count
    }

    fn report(&self, u: &[f64], out: &mut [f64]) {
        let [a, b] = &self.factors;
        let [rows, columns] = [a.nodes().count, b.nodes().count];
        let half = along_rows(u, b.size(), columns, |line, out| {
            let mut whole = vec![0.0; columns];
            b.whole(line, &mut whole);
            b.structure.report(&whole, out);
        });
        let whole = along_columns(&half, columns, rows, |line, out| {
            let mut whole = vec![0.0; rows];
            a.whole(line, &mut whole);
            a.structure.report(&whole, out);
        });
        out.copy_from_slice(&whole);
    }

    fn recover(&self, reported: &[f64], u: &mut [f64]) {
        let [a, b] = &self.factors;
        let [rows, columns] = [a.nodes().count, b.nodes().count];
        let half = along_columns(reported, columns, a.size(), |line, out| {
            let mut whole = vec![0.0; rows];
            a.structure.recover(line, &mut whole);
            a.parts(&mut whole, out);
        });
        let parts = along_rows(&half, columns, b.size(), |line, out| {
            let mut whole = vec![0.0; columns];
            b.structure.recover(line, &mut whole);
            b.parts(&mut whole, out);
        });
        u.copy_from_slice(&parts);
    }

    fn reported(&self, theta: &mut [f64]) {
        let (first, second) = theta[1..].split_at_mut(self.factors[0].parameters);
        self.factors[0].structure.reported(first);
        self.factors[1].structure.reported(second);
    }

    fn inner(&self, theta: &mut [f64]) {
        let (first, second) = theta[1..].split_at_mut(self.factors[0].parameters);
        self.factors[0].structure.inner(first);
        self.factors[1].structure.inner(second);
    }
}

/// What `f` makes of each row of a matrix that has so many columns, before and after.
fn along_rows(
    matrix: &[f64],
    columns: usize,
    after: usize,
    f: impl Fn(&[f64], &mut [f64]),
) -> Vec<f64> {
    let mut out = vec![0.0; matrix.len() / columns.max(1) * after];
    let lines = matrix.chunks_exact(columns.max(1));
    for (line, out) in lines.zip(out.chunks_exact_mut(after.max(1))) {
        f(line, out);
    }
    out
}

/// What `f` makes of each column of a matrix that has so many columns, with so many rows after.
fn along_columns(
    matrix: &[f64],
    columns: usize,
    after: usize,
    f: impl Fn(&[f64], &mut [f64]),
) -> Vec<f64> {
    let rows = matrix.len() / columns.max(1);
    let (mut line, mut made) = (vec![0.0; rows], vec![0.0; after]);
    let mut out = vec![0.0; after * columns];
    for column in 0..columns {
        for (value, row) in line.iter_mut().zip(matrix.chunks_exact(columns)) {
            *value = row[column];
        }
        f(&line, &mut made);
        for (value, row) in made.iter().zip(out.chunks_exact_mut(columns)) {
            row[column] = *value;
        }
    }
    out
}
