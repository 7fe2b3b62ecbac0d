//! One component among others, with the factor of its prior.

use super::ordered::Ordered;
use super::quadratic::Quadratic;
use crate::component::Component;
use crate::parameter::Source;
use crate::sparse::factor::SparseFactor;
use std::sync::Arc;

/// A component among others.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub component: Component,
    pub sources: Vec<Source>,
    /// Where its free nodes begin among all.
    pub from: usize,
    /// The number of its free nodes.
    pub len: usize,
    /// The order of its own factor; the free nodes stand in it.
    pub(super) ordered: Arc<Ordered>,
    /// What takes away what it leaves open: lists of (free node, value).
    pub(super) takers: Arc<Vec<Vec<(u32, f64)>>>,
    /// Its factor, where that is the same at every x.
    pub(super) constant: Option<Prior>,
    /// Its precision, where the nodes themselves are its y.
    pub(super) quadratic: Option<Arc<Quadratic>>,
}

/// F of the prior precision of a component's nodes, y = Fᵀw; `None` where y are the nodes.
pub(super) type Prior = Option<Arc<SparseFactor>>;

impl Part {
    pub(super) fn precision(&self, theta: &[f64]) -> Vec<f64> {
        let structure = &self.component.structure;
        let mut values = vec![0.0; structure.nodes().entries.len()];
        structure.precision(theta, &mut values);
        values
    }

    /// `None` where the precision is not positive definite.
    pub(super) fn prior(&self, precision: &[f64]) -> Option<Prior> {
        let diagonal = self.component.structure.nodes().is_diagonal();
        if diagonal && precision.iter().all(|v| *v == 1.0) {
            return Some(None);
        }
        self.ordered.factor(precision).map(|f| Some(Arc::new(f)))
    }

    /// Puts its parameters among all slow ones.
    pub(super) fn put(&self, theta: &[f64], slow: &mut [f64]) {
        for (source, value) in self.sources.iter().zip(theta) {
            if let Source::Slow(k) = source {
                slow[*k] = *value;
            }
        }
    }
}
