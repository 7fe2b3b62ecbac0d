//! Prediction from a draw: the linear predictor at new rows, for known and for new places and groups.

mod components;
mod joint;
mod mixture;
mod parallel;
mod predictor;
mod response;
mod score;
#[cfg(test)]
mod tests;

pub use joint::JointDraw;
pub use mixture::Mixture;
pub use predictor::{Predictor, Surface};
pub(crate) use response::ln_sum;
pub use response::{Interval, RowPrediction};
pub use score::{Coverage, Scores};

use crate::component::ComponentRows;
use crate::covariance::{Column, Places};
use crate::dense::{Dense, DenseAt};
use crate::error::Error;
use crate::latent::{At, Cache, Latent, LatentGaussian};
use crate::sparse::{Sparse, SparseAt};
use crate::vector::{inner, square};

/// Where predictions are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct New {
    /// How many predictions.
    pub rows: usize,
    /// The covariates of the fixed effects, in the model's order: covariate by covariate.
    pub fixed: Vec<Vec<f64>>,
    /// The offset of each, or empty.
    pub offset: Vec<f64>,
    /// The trials of each, for a binomial response, or empty for one.
    pub trials: Vec<f64>,
    /// The places, for a Gaussian process.
    pub places: Places,
    /// Grouping by grouping: the group of each, `None` for a group that the data do not have.
    pub groups: Vec<Vec<Option<usize>>>,
    /// Grouping by grouping: which of the new groups a row is in, where it is in one; empty where each is its own.
    pub newcomers: Vec<Vec<usize>>,
    /// Grouping by grouping, effect by effect: what it multiplies.
    pub columns: Vec<Vec<Vec<f64>>>,
    /// Component by component: where each row lies; empty where none is to be counted.
    pub components: Vec<ComponentRows>,
}

/// What is predicted of a Gaussian process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A row's linear predictor: with what is particular to its place (a nugget), which is known where the data are.
    Row,
    /// The surface that rows have in common: without nuggets.
    Surface,
    /// The same, less the mean of the process over the data's places: what does not trade off with an intercept.
    Centred,
}

/// The linear predictor at new rows given one draw: normal, with these means and variances. (Class by class.)
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The mean of each.
    pub mean: Vec<f64>,
    /// The variance of each: what the draw leaves open. Known groups and places leave nothing open.
    pub variance: Vec<f64>,
}

/// A variance that is this small beside the prior's is rounding: the place is one of the data's.
const ROUNDING: f64 = 1e-10;

impl LatentGaussian {
    /// The linear predictor at new rows, given a draw y and the cache of its x.
    ///
    /// # Errors
    /// Where what is new does not fit the model.
    pub fn predict(
        &self,
        cache: &Cache,
        y: &[f64],
        new: &New,
        what: What,
    ) -> Result<Predicted, Error> {
        self.check(new)?;
        let y = &*cache.straight(y);
        let classes = self.likelihood.classes();
        let mut out = Predicted {
            mean: vec![0.0; classes * new.rows],
            variance: vec![0.0; classes * new.rows],
        };
        for class in 0..classes {
            let rows = class * new.rows..(class + 1) * new.rows;
            let mean = &mut out.mean[rows.clone()];
            self.fixed_part(y, class, new, mean);
            let variance = &mut out.variance[rows];
            match (&self.latent, &cache.at) {
                (Latent::Dense(dense), At::Dense(at)) => {
                    let from = class * dense.block() + self.fixed.len();
                    let u = &y[from..(class + 1) * dense.block()];
                    dense.predict(at, &cache.values, u, new, what, mean, variance);
                    if what == What::Centred {
                        let mut f = vec![0.0; dense.places.len];
                        dense.latent(at, y, class, &mut f);
                        let centre = f.iter().sum::<f64>() / f.len() as f64;
                        mean.iter_mut().for_each(|m| *m -= centre);
                    }
                }
                (Latent::Sparse(sparse), At::Sparse(at)) => {
                    sparse.predict(at, &y[sparse.border()..], class, new, mean, variance);
                }
                (Latent::Additive(additive), At::Additive(at)) => {
                    additive.predict(at, &cache.values, y, new, what, mean, variance);
                }
                _ => unreachable!("a cache belongs to the model that made it"),
            }
        }
        Ok(out)
    }

    /// Offsets and fixed effects of one class.
    pub(crate) fn fixed_part(&self, y: &[f64], class: usize, new: &New, mean: &mut [f64]) {
        for (m, offset) in mean.iter_mut().zip(&new.offset) {
            *m = *offset;
        }
        let from = match &self.latent {
            Latent::Dense(dense) => class * dense.block(),
            _ => class * self.fixed.len(),
        };
        for (k, column) in new.fixed.iter().enumerate() {
            let beta = self.fixed.means[k] + self.fixed.sds[k] * y[from + k];
            for (m, x) in mean.iter_mut().zip(column) {
                *m += beta * x;
            }
        }
    }

    pub(crate) fn check(&self, new: &New) -> Result<(), Error> {
        let fits = |name: &str, len: usize| {
            if len == new.rows {
                Ok(())
            } else {
                Err(Error::model(format!(
                    "{name} has {len} entries for {} predictions",
                    new.rows
                )))
            }
        };
        if new.fixed.len() != self.fixed.len() {
            return Err(Error::model(format!(
                "predictions need the {} covariates of the model ({}), {} were given",
                self.fixed.len(),
                self.fixed.names.join(", "),
                new.fixed.len()
            )));
        }
        for (name, column) in self.fixed.names.iter().zip(&new.fixed) {
            fits(name, column.len())?;
        }
        for (name, column) in [("the offset", &new.offset), ("the trials", &new.trials)] {
            if !column.is_empty() {
                fits(name, column.len())?;
            }
        }
        match &self.latent {
            Latent::Additive(additive) => additive.check(new)?,
            Latent::Dense(dense) => {
                if new.places.coordinates.len() != dense.places.coordinates.len() {
                    return Err(Error::model(
                        "new places need the coordinates that the data's have",
                    ));
                }
                for column in &new.places.coordinates {
                    fits("the list of places", column.len())?;
                }
            }
            Latent::Sparse(sparse) => {
                let terms = sparse.terms.len();
                if new.groups.len() != terms || new.columns.len() != terms {
                    return Err(Error::model(format!(
                        "predictions need a group for each of {terms} groupings"
                    )));
                }
                for ((term, groups), columns) in
                    sparse.terms.iter().zip(&new.groups).zip(&new.columns)
                {
                    fits("a grouping", groups.len())?;
                    if columns.len() != term.width {
                        return Err(Error::model(
                            "a grouping needs a column for each of its effects",
                        ));
                    }
                    for column in columns {
                        fits("a column of a grouping", column.len())?;
                    }
                    if groups.iter().flatten().any(|g| *g >= term.groups) {
                        return Err(Error::model(
                            "a group that the data do not have must be given as new",
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Dense {
    /// With f = L u and k the covariances with the data's places, the mean is kᵀK⁻¹f = (L⁻¹k)ᵀu.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn predict(
        &self,
        at: &DenseAt,
        values: &[f64],
        u: &[f64],
        new: &New,
        what: What,
        mean: &mut [f64],
        variance: &mut [f64],
    ) {
        let mut column = vec![0.0; self.places.len];
        for i in 0..new.rows {
            let place = new.places.place(i);
            let own = self.whitened(at, values, &place, what, &mut column);
            mean[i] += inner(&column, u);
            let left = own - square(&column);
            variance[i] = if left > ROUNDING * own { left } else { 0.0 };
        }
    }

    /// L⁻¹k for a place, and the variance there.
    pub(crate) fn whitened(
        &self,
        at: &DenseAt,
        values: &[f64],
        place: &[f64],
        what: What,
        column: &mut [f64],
    ) -> f64 {
        let which = match what {
            What::Row => Column::Row(place),
            What::Surface | What::Centred => Column::Other(place),
        };
        self.node
            .column(&self.places, values, which, column, &mut Vec::new());
        let mut own = self.node.variance(values, place, what == What::Row);
        if what == What::Row {
            own += self.jitter;
            // The jitter is part of the model: a row at a fitted place shares it, as it shares a nugget.
            for (i, value) in column.iter_mut().enumerate() {
                let mut coordinates = self.places.coordinates.iter().zip(place);
                if coordinates.all(|(c, here)| c[i] == *here) {
                    *value += self.jitter;
                }
            }
        }
        at.root.solve(column);
        own
    }
}

impl Sparse {
    fn predict(
        &self,
        at: &SparseAt,
        u: &[f64],
        class: usize,
        new: &New,
        mean: &mut [f64],
        variance: &mut [f64],
    ) {
        for (t, term) in self.terms.iter().enumerate() {
            let k = term.width;
            let mut b = vec![0.0; term.groups * k];
            self.effects_of(at, t, class, u, &mut b);
            let lambda = &at.lambda[t];
            for i in 0..new.rows {
                let z = |a: usize| new.columns[t][a][i];
                match new.groups[t][i] {
                    Some(group) => mean[i] += (0..k).map(|a| z(a) * b[group * k + a]).sum::<f64>(),
                    None => {
                        // zᵀΛΛᵀz.
                        let parts =
                            (0..k).map(|j| (j..k).map(|a| lambda[a * k + j] * z(a)).sum::<f64>());
                        variance[i] += parts.map(|v| v * v).sum::<f64>();
                    }
                }
            }
        }
    }
}
