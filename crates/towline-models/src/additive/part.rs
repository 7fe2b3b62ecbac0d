//! One component among others, and what its y are a priori.

use super::ordered::Ordered;
use super::quadratic::{Form, Quadratic};
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
    /// Where the entries of its precision stand, where the nodes themselves are its y.
    pub(super) form: Option<Arc<Form>>,
    /// Its precision and what its y are a priori, where these are the same at every x.
    pub(super) constant: Option<(Vec<f64>, Prior)>,
}

/// What a component's y are a priori, at one x.
#[derive(Debug, Clone)]
pub(super) enum Prior {
    /// The nodes, independent standard normal ones.
    Unit,
    /// Fᵀw, where F Fᵀ is the precision of the nodes w: standard normal.
    White(Arc<SparseFactor>),
    /// The nodes, and their precision.
    Nodes(Arc<Quadratic>),
}

impl Prior {
    /// F, where y is Fᵀw.
    pub(super) fn root(&self) -> Option<&Arc<SparseFactor>> {
        match self {
            Self::White(factor) => Some(factor),
            _ => None,
        }
    }

    /// The precision of y, where it is not one.
    pub(super) fn quadratic(&self) -> Option<&Quadratic> {
        match self {
            Self::Nodes(quadratic) => Some(quadratic),
            _ => None,
        }
    }
}

/// The precision of a component's free nodes at one x.
pub(super) struct Precision {
    pub values: Vec<f64>,
    /// ln |F|, where it is known without F.
    pub log_root: Option<f64>,
}

impl Part {
    pub(super) fn precision(&self, theta: &[f64]) -> Precision {
        let structure = &self.component.structure;
        let mut values = vec![0.0; structure.nodes().entries.len()];
        let log_root = structure.precision(theta, &mut values);
        Precision { values, log_root }
    }

    /// What its y are; `None` where the precision is not positive definite.
    pub(super) fn prior(&self, precision: &Precision) -> Option<Prior> {
        let values = &precision.values;
        if self.is_unit(values) {
            return Some(Prior::Unit);
        }
        let Some(form) = &self.form else {
            let factor = self.ordered.factor(values)?;
            return Some(Prior::White(Arc::new(factor)));
        };
        let log_root = match precision.log_root {
            Some(known) => known,
            None => self.ordered.factor(values)?.log_det(),
        };
        let quadratic = log_root.is_finite().then(|| form.at(values, log_root))?;
        Some(Prior::Nodes(Arc::new(quadratic)))
    }

    /// Lets the nodes themselves be y, where their precision at these values of its parameters says that this is exact. `None` where it is
    /// not positive definite.
    pub(super) fn choose_form(&mut self, theta: &[f64]) -> Option<()> {
        let values = self.precision(theta).values;
        if !self.is_unit(&values) {
            let factor = self.ordered.factor(&values)?;
            let entries = &self.component.structure.nodes().entries;
            let form = Arc::new(Form::new(&self.ordered, entries));
            let exact = form.at(&values, factor.log_det()).is_exact(&factor);
            self.form = exact.then_some(form);
        }
        Some(())
    }

    fn is_unit(&self, values: &[f64]) -> bool {
        self.component.structure.nodes().is_diagonal() && values.iter().all(|v| *v == 1.0)
    }

    /// Standard normal numbers become a draw of y at these values of its parameters.
    pub(super) fn drawn(&self, theta: &[f64], y: &mut [f64]) {
        if self.form.is_some()
            && let Some(factor) = self.ordered.factor(&self.precision(theta).values)
        {
            factor.solve_transposed(y);
        }
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
