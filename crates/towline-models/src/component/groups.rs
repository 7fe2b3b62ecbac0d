//! Effects of groups beside other components: as on the sparse path, the covariance of a group's effects by its roots.

use super::nodes::inverse;
use super::{Component, Fresh, Input, Labelled, Nodes, Point, Rows, Structure};
use crate::error::Error;
use crate::parameter::{Register, Source};
use crate::sparse::{Grouping, correlation_root, partials_of};
use std::sync::Arc;

/// Groups with one or several effects each.
#[derive(Debug, Clone)]
pub(crate) struct Grouped {
    grouping: Grouping,
    nodes: Nodes,
}

impl Grouped {
    /// The component that a grouping is.
    pub fn component(grouping: &Grouping) -> Component {
        let width = grouping.effects.len();
        let mut nodes = Nodes::independent(grouping.levels.len() * width);
        if width > 1 && grouping.correlation.is_some() {
            nodes.entries = (0..grouping.levels.len() * width)
                .flat_map(|i| {
                    let first = i - i % width;
                    (first..=i).map(move |j| [i as u32, j as u32])
                })
                .collect();
        }
        let mut rows = Rows::default();
        for (i, group) in grouping.group.iter().enumerate() {
            let columns = grouping.columns.iter().enumerate();
            rows.push(columns.map(|(a, column)| ((group * width + a) as u32, column[i])));
        }
        Component {
            name: grouping.name.clone(),
            labels: Labelled {
                levels: grouping.levels.clone(),
                effects: grouping.effects.clone(),
            },
            rows,
            structure: Arc::new(Self {
                grouping: grouping.clone(),
                nodes,
            }),
        }
    }

    fn width(&self) -> usize {
        self.grouping.effects.len()
    }
}

impl Structure for Grouped {
    fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    fn register(&self, register: &mut Register) -> Vec<Source> {
        let (sds, partials) = self.grouping.register(register);
        sds.into_iter()
            .chain(partials.into_iter().map(Source::Slow))
            .collect()
    }

    fn precision(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let k = self.width();
        if self.nodes.is_diagonal() {
            out.fill(1.0);
            return None;
        }
        let root = correlation_root(&theta[k..], k);
        let product = |c: usize| -> f64 {
            let (i, j) = (c / k, c % k);
            (0..=i.min(j))
                .map(|m| root[i * k + m] * root[j * k + m])
                .sum()
        };
        let correlations: Vec<f64> = (0..k * k).map(product).collect();
        let inverse = inverse(&correlations, k);
        for (value, [i, j]) in out.iter_mut().zip(&self.nodes.entries) {
            *value = inverse[(*i as usize % k) * k + *j as usize % k];
        }
        None
    }

    fn is_constant(&self) -> bool {
        self.nodes.is_diagonal()
    }

    fn scale(&self, theta: &[f64], out: &mut [f64]) {
        let k = self.width();
        for (i, value) in out.iter_mut().enumerate() {
            *value = theta[i % k];
        }
    }

    fn locate(&self, _: Input) -> Result<Point, Error> {
        Err(Error::model("groups are found by their names"))
    }

    /// A group that the data do not have: the place holds what multiplies its effects.
    fn fresh(&self, theta: &[f64], places: &[&[f64]]) -> Fresh {
        let (k, n) = (self.width(), places.len());
        let root = correlation_root(&theta[k..], k);
        let image = |z: &[f64]| -> Vec<f64> {
            (0..k)
                .map(|j| (j..k).map(|i| z[i] * theta[i] * root[i * k + j]).sum())
                .collect()
        };
        let images: Vec<Vec<f64>> = places.iter().map(|z| image(z)).collect();
        let between = |a: usize, b: usize| -> f64 {
            images[a].iter().zip(&images[b]).map(|(x, y)| x * y).sum()
        };
        Fresh {
            weights: vec![Vec::new(); n],
            covariance: (0..n * n).map(|c| between(c / n, c % n)).collect(),
        }
    }

    /// Correlations instead of partial ones.
    fn reported(&self, theta: &mut [f64]) {
        let k = self.width();
        let root = correlation_root(&theta[k..], k);
        let pairs = (1..k).flat_map(|i| (0..i).map(move |j| (i, j)));
        for (value, (i, j)) in theta[k..].iter_mut().zip(pairs) {
            *value = (0..=j).map(|m| root[i * k + m] * root[j * k + m]).sum();
        }
    }

    fn inner(&self, theta: &mut [f64]) {
        let k = self.width();
        let at: Vec<usize> = (k..theta.len()).collect();
        partials_of(&at, k, theta);
    }
}
