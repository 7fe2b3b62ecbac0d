//! The way back from what was reported of a draw to the draw itself: what predictions from a stored run need.

use super::{At, Cache, Latent, LatentGaussian};
use crate::parameter::Kind;
use crate::sparse::partials_of;
use towline::ModelError;

impl LatentGaussian {
    /// The cache and y (as they are normal a priori) of a stored draw: `row` holds what [`report`](towline::Model::report) made of it, latent values
    /// included. `None` where the row is outside the support.
    ///
    /// # Errors
    /// Whatever can fail in the slow computation.
    pub fn recover(&self, row: &[f64]) -> Result<Option<(Cache, Vec<f64>)>, ModelError> {
        let (slow, rest) = row.split_at(self.slow.len());
        let mut values = slow.to_vec();
        if let Latent::Sparse(sparse) = &self.latent {
            for term in &sparse.terms {
                partials_of(&term.partials, term.width, &mut values);
            }
        }
        if let Latent::Additive(additive) = &self.latent {
            additive.inner(&mut values);
        }
        let x: Vec<f64> = self
            .slow
            .iter()
            .zip(&values)
            .map(|(slow, value)| match &slow.kind {
                Kind::Scaled(_, scale) | Kind::Own(_, scale, _) => scale.x(*value),
                Kind::Partial { .. } => value.atanh(),
            })
            .collect();
        let Some(cache) = self.plain(&x)? else {
            return Ok(None);
        };
        let classes = self.likelihood.classes();
        let width = self.fixed.len();
        let (beta, mut latent) = rest.split_at(width * classes);
        let mut y = vec![0.0; self.fast_dim()];
        for class in 0..classes {
            let from = match &self.latent {
                Latent::Dense(dense) => class * dense.block(),
                _ => class * width,
            };
            for k in 0..width {
                // A coefficient whose prior is a point says nothing about y.
                if self.fixed.sds[k] > 0.0 {
                    let off = beta[class * width + k] - self.fixed.means[k];
                    y[from + k] = off / self.fixed.sds[k];
                }
            }
        }
        match (&self.latent, &cache.at) {
            (Latent::Dense(dense), At::Dense(at)) => {
                for (class, f) in latent.chunks_exact(dense.places.len).enumerate() {
                    let block = &mut y[class * dense.block()..(class + 1) * dense.block()];
                    let u = &mut block[width..];
                    u.copy_from_slice(f);
                    at.root.solve(u);
                }
            }
            (Latent::Sparse(sparse), At::Sparse(at)) => {
                let u = &mut y[sparse.border()..];
                for (t, term) in sparse.terms.iter().enumerate() {
                    for class in 0..classes {
                        let (b, next) = latent.split_at(term.groups * term.width);
                        sparse.effects_from(at, t, class, b, u);
                        latent = next;
                    }
                }
            }
            (Latent::Additive(additive), At::Additive(at)) => additive.recover(at, latent, &mut y),
            _ => unreachable!("a cache belongs to the model that made it"),
        }
        Ok(Some((cache, y)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Builder, Covariance, Data, Family, Fixed, Grouping, LatentGaussian, Places, Process, Shape,
        Value,
    };
    use towline::{Model, Prior, Rng, Target};

    fn free(name: &str) -> Value {
        Value::free(name, Prior::HalfNormal { scale: 1.0 })
    }

    fn comes_back(model: &LatentGaussian) {
        let mut rng = Rng::stream(5, 0);
        let (x, y, model) = model.simulate(&mut rng).unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let mut row = vec![0.0; model.columns().len()];
        model.report(&x, &y, &cache, &mut row);
        let (again, back) = model.recover(&row).unwrap().unwrap();
        for (a, b) in cache.straight(&y).iter().zip(&back) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
        let prior = |cache: &crate::Cache, y: &[f64]| model.log_prior(cache, y);
        let (a, b) = (
            model.log_density(&cache, &y) - prior(&cache, &y),
            model.log_density(&again, &back) - prior(&again, &back),
        );
        assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{a} {b}");
    }

    #[test]
    fn a_reported_draw_of_correlated_effects_comes_back() {
        let rows = 12;
        let x: Vec<f64> = (0..rows).map(|k| (k as f64).sin()).collect();
        let z: Vec<f64> = (0..rows).map(|k| (k as f64 * 1.3).cos()).collect();
        let grouping = Grouping {
            name: "g".into(),
            levels: vec!["a".into(), "b".into(), "c".into()],
            group: (0..rows).map(|k| k % 3).collect(),
            effects: vec!["Intercept".into(), "x".into(), "z".into()],
            columns: vec![vec![1.0; rows], x.clone(), z],
            sds: vec![free("s0"), free("s1"), free("s2")],
            correlation: Some(2.0),
        };
        let model = Builder::new(Data::new(Family::Poisson, vec![1.0; rows]))
            .fixed(
                Fixed::default()
                    .with("Intercept", vec![1.0; rows], 0.5, 2.0)
                    .with("x", x, 0.0, 1.0),
            )
            .grouping(grouping)
            .build()
            .unwrap();
        comes_back(&model);
    }

    #[test]
    fn a_reported_draw_of_a_process_comes_back() {
        let rows = 9;
        let places = Places::new(vec![(0..rows).map(|k| k as f64).collect()]);
        let covariance = Covariance::Stationary {
            shape: Shape::Exponential,
            inputs: vec![0],
            distance: crate::Distance::Euclidean,
            sd: free("sd"),
            ranges: vec![free("length")],
        };
        let model = Builder::new(Data::new(
            Family::Softmax,
            vec![0., 1., 2., 0., 1., 2., 0., 1., 2.],
        ))
        .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.0, 2.0))
        .process(Process::new(covariance, places))
        .build()
        .unwrap();
        comes_back(&model);
    }
}
