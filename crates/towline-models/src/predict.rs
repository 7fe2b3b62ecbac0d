//! Prediction from a draw: the latent predictor at new places, for known and for new groups.

use crate::covariance::{Column, Places};
use crate::dense::{Dense, DenseAt};
use crate::error::Error;
use crate::latent::{At, Cache, Latent, LatentGaussian};
use crate::sparse::{Sparse, SparseAt};
use crate::vector::{inner, square};
use towline::Rng;

/// Where predictions are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct New {
    /// How many predictions.
    pub rows: usize,
    /// The covariates of the fixed effects, in the model's order: covariate by covariate.
    pub fixed: Vec<Vec<f64>>,
    /// The offset of each, or empty.
    pub offset: Vec<f64>,
    /// The places, for a Gaussian process.
    pub places: Places,
    /// Grouping by grouping: the group of each, `None` for a group that the data do not have.
    pub groups: Vec<Vec<Option<usize>>>,
    /// Grouping by grouping, effect by effect: what it multiplies.
    pub columns: Vec<Vec<Vec<f64>>>,
}

/// The linear predictor at new rows given one draw: normal, with these means and variances. (Class by class.)
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The mean of each.
    pub mean: Vec<f64>,
    /// The variance of each: what the draw leaves open. Known groups leave nothing open.
    pub variance: Vec<f64>,
    /// The variance of what is particular to each observation (a nugget): part of a response there, not of the surface.
    pub nugget: Vec<f64>,
}

impl Predicted {
    /// One draw of the predictor at each row, each by itself.
    pub fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let parts = self.mean.iter().zip(&self.variance);
        parts.map(|(m, v)| m + v.sqrt() * rng.normal()).collect()
    }
}

impl LatentGaussian {
    /// The linear predictor at new rows, given a draw y and the cache of its x.
    ///
    /// # Errors
    /// Where what is new does not fit the model.
    pub fn predict(&self, cache: &Cache, y: &[f64], new: &New) -> Result<Predicted, Error> {
        self.check(new)?;
        let classes = self.likelihood.classes();
        let width = self.fixed.len();
        let mut out = Predicted {
            mean: vec![0.0; classes * new.rows],
            variance: vec![0.0; classes * new.rows],
            nugget: vec![0.0; classes * new.rows],
        };
        for class in 0..classes {
            let rows = class * new.rows..(class + 1) * new.rows;
            let mean = &mut out.mean[rows.clone()];
            for (m, offset) in mean.iter_mut().zip(&new.offset) {
                *m = *offset;
            }
            let from = match &self.latent {
                Latent::Dense(dense) => class * dense.block(),
                Latent::Sparse(_) => class * width,
            };
            for (k, column) in new.fixed.iter().enumerate() {
                let beta = self.fixed.means[k] + self.fixed.sds[k] * y[from + k];
                for (m, x) in mean.iter_mut().zip(column) {
                    *m += beta * x;
                }
            }
            let variance = &mut out.variance[rows.clone()];
            let nugget = &mut out.nugget[rows];
            match (&self.latent, &cache.at) {
                (Latent::Dense(dense), At::Dense(at)) => {
                    let u = &y[from + width..from + dense.block()];
                    dense.predict(at, &cache.values, u, new, mean, variance);
                    dense.nuggets(&cache.values, new, nugget);
                }
                (Latent::Sparse(sparse), At::Sparse(at)) => {
                    sparse.predict(at, &y[sparse.border()..], class, new, mean, variance);
                }
                _ => unreachable!("a cache belongs to the model that made it"),
            }
        }
        Ok(out)
    }

    /// The mean of the response (for the softmax, the probability of each class) where the linear predictor is `eta`, one
    /// for each class; for one trial.
    pub fn response_mean(&self, eta: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; eta.len()];
        self.likelihood.mean(eta, &mut out);
        out
    }

    fn check(&self, new: &New) -> Result<(), Error> {
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
        if !new.offset.is_empty() {
            fits("the offset", new.offset.len())?;
        }
        match &self.latent {
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
    fn predict(
        &self,
        at: &DenseAt,
        values: &[f64],
        u: &[f64],
        new: &New,
        mean: &mut [f64],
        variance: &mut [f64],
    ) {
        let mut column = vec![0.0; self.places.len];
        let mut spare = Vec::new();
        for i in 0..new.rows {
            let place = new.places.place(i);
            self.node.column(
                &self.places,
                values,
                Column::Other(&place),
                &mut column,
                &mut spare,
            );
            at.root.solve(&mut column);
            mean[i] += inner(&column, u);
            let own = self.node.variance(values, &place, false);
            variance[i] = (own - square(&column)).max(0.0);
        }
    }

    /// The variance that belongs to each new observation alone.
    fn nuggets(&self, values: &[f64], new: &New, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            let place = new.places.place(i);
            let variance = |with_nugget| self.node.variance(values, &place, with_nugget);
            *out = variance(true) - variance(false);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Builder, Covariance, Data, Distance, Family, Fixed, Grouping, Process, Shape, Value,
    };
    use towline::{Model, Target};

    fn y(model: &LatentGaussian) -> Vec<f64> {
        (0..model.fast_dim())
            .map(|k| (k as f64 * 1.9).sin())
            .collect()
    }

    #[test]
    fn a_process_predicts_itself_where_it_is_known_and_its_prior_far_away() {
        let places = Places::new(vec![vec![0.0, 1.0, 2.5, 4.0]]);
        let covariance = Covariance::Stationary {
            shape: Shape::Matern32,
            inputs: vec![0],
            distance: Distance::Euclidean,
            sd: Value::Fixed(1.4),
            ranges: vec![Value::Fixed(0.9)],
        };
        let fixed = Fixed::default().with("Intercept", vec![1.0; 4], 0.5, 2.0);
        let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
            .fixed(fixed)
            .process(Process {
                jitter: 1e-12,
                ..Process::new(covariance, places)
            })
            .build()
            .unwrap();
        let y = y(&model);
        let cache = model.prepare(&[]).unwrap().unwrap();
        let mut row = vec![0.0; model.columns().len()];
        model.report(&[], &y, &cache, &mut row);
        let new = New {
            rows: 3,
            fixed: vec![vec![1.0; 3]],
            places: Places::new(vec![vec![1.0, 4.0, 1e6]]),
            ..New::default()
        };
        let seen = model.predict(&cache, &y, &new).unwrap();
        assert!((seen.mean[0] - row[0] - row[2]).abs() < 1e-9);
        assert!((seen.mean[1] - row[0] - row[4]).abs() < 1e-9);
        assert!((seen.mean[2] - row[0]).abs() < 1e-9);
        assert!(seen.variance[0] < 1e-9 && (seen.variance[2] - 1.96).abs() < 1e-9);
        assert!(model.predict(&cache, &y, &New { rows: 2, ..new }).is_err());
    }

    #[test]
    fn a_nugget_belongs_to_observations_and_not_to_the_surface() {
        let smooth = Covariance::Stationary {
            shape: Shape::Matern32,
            inputs: vec![0],
            distance: Distance::Euclidean,
            sd: Value::Fixed(1.4),
            ranges: vec![Value::Fixed(0.9)],
        };
        let nugget = Covariance::Nugget {
            sd: Value::Fixed(0.7),
        };
        let places = Places::new(vec![vec![0.0, 1.0, 2.5, 4.0]]);
        let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
            .process(Process::new(Covariance::Sum(vec![smooth, nugget]), places))
            .build()
            .unwrap();
        let cache = model.prepare(&[]).unwrap().unwrap();
        let new = New {
            rows: 2,
            places: Places::new(vec![vec![1.0, 1e6]]),
            ..New::default()
        };
        let seen = model.predict(&cache, &y(&model), &new).unwrap();
        assert!(seen.nugget.iter().all(|v| (v - 0.49).abs() < 1e-12));
        assert!((seen.variance[1] - 1.96).abs() < 1e-9);
    }

    #[test]
    fn known_groups_have_their_effects_and_new_ones_their_variance() {
        let grouping = Grouping {
            name: "g".into(),
            levels: vec!["a".into(), "b".into()],
            group: vec![0, 1, 1],
            effects: vec!["Intercept".into(), "t".into()],
            columns: vec![vec![1.0; 3], vec![0.0, 1.0, 2.0]],
            sds: vec![Value::Fixed(0.7), Value::Fixed(0.4)],
            correlation: None,
        };
        let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 3]))
            .grouping(grouping)
            .build()
            .unwrap();
        let y = y(&model);
        let cache = model.prepare(&[]).unwrap().unwrap();
        let new = New {
            rows: 2,
            groups: vec![vec![Some(1), None]],
            columns: vec![vec![vec![1.0; 2], vec![3.0; 2]]],
            ..New::default()
        };
        let seen = model.predict(&cache, &y, &new).unwrap();
        assert!((seen.mean[0] - (0.7 * y[2] + 3.0 * 0.4 * y[3])).abs() < 1e-12);
        assert_eq!((seen.variance[0], seen.mean[1]), (0.0, 0.0));
        assert!((seen.variance[1] - (0.49 + 9.0 * 0.16)).abs() < 1e-12);
    }
}
