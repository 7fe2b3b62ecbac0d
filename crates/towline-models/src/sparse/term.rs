//! One grouping, ready for use: its covariates, its Λ at each x, and where its effects stand.

use super::correlation::correlation_root;
use super::grouping::Grouping;
use crate::parameter::{Register, Source};

/// One grouping, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub groups: usize,
    pub group: Vec<u32>,
    /// The number of effects.
    pub width: usize,
    /// Observation by observation; empty where the only effect is an intercept.
    pub(super) z: Vec<f64>,
    sds: Vec<Source>,
    /// The partial correlations, row by row below the diagonal; empty where there are none.
    pub partials: Vec<usize>,
    /// Class by class, group by group: where each effect's u stands among all u.
    pub(super) places: Vec<u32>,
}

impl Term {
    pub fn new(grouping: &Grouping, register: &mut Register) -> Self {
        let width = grouping.effects.len();
        let rows = grouping.group.len();
        let ones = width == 1 && grouping.columns[0].iter().all(|z| *z == 1.0);
        let z = if ones {
            Vec::new()
        } else {
            (0..rows * width)
                .map(|k| grouping.columns[k % width][k / width])
                .collect()
        };
        let (sds, partials) = grouping.register(register);
        Self {
            groups: grouping.levels.len(),
            group: grouping.group.iter().map(|g| *g as u32).collect(),
            width,
            z,
            sds,
            partials,
            places: Vec::new(),
        }
    }

    /// Λ: the standard deviations times the Cholesky root of the correlations.
    pub fn lambda(&self, values: &[f64]) -> Vec<f64> {
        let k = self.width;
        let mut lambda = self.correlation_root(values);
        for i in 0..k {
            let sd = self.sds[i].get(values);
            for value in &mut lambda[i * k..(i + 1) * k] {
                *value *= sd;
            }
        }
        lambda
    }

    /// The Cholesky root of the correlation matrix, row by row.
    pub fn correlation_root(&self, values: &[f64]) -> Vec<f64> {
        let partials: Vec<f64> = self.partials.iter().map(|p| values[*p]).collect();
        correlation_root(&partials, self.width)
    }

    #[inline(always)]
    pub fn z(&self, row: usize) -> &[f64] {
        if self.z.is_empty() {
            &[1.0]
        } else {
            &self.z[row * self.width..(row + 1) * self.width]
        }
    }

    /// The places of a class's u.
    pub fn places(&self, class: usize) -> &[u32] {
        let len = self.groups * self.width;
        &self.places[class * len..(class + 1) * len]
    }
}
