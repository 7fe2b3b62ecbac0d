//! Checking a fitted model: what it makes of each observation, data that it would make itself, and how well it would
//! predict observations that it had not seen.

mod loo;

pub use loo::{Loo, Waic, difference, good_k, loo, waic};

use crate::error::Error;
use crate::family::{Likelihood, Observation};
use crate::latent::{Cache, LatentGaussian};
use crate::predict::Predictor;
use towline::Rng;

impl Predictor {
    /// ln p(y_i | draw) of every observation i: draw by draw.
    ///
    /// # Errors
    /// Where no draw lies in the model's support.
    pub fn log_likelihood(&self) -> Result<Vec<Vec<f64>>, Error> {
        self.each(&|_| {}, |_, cache, y| Ok(self.model.pointwise(cache, y)))
    }

    /// Data like the observed ones, of the same sizes, made from every draw.
    ///
    /// # Errors
    /// Where no draw lies in the model's support.
    pub fn replicated(&self, seed: u64) -> Result<Vec<Vec<f64>>, Error> {
        self.each(&|_| {}, |k, cache, y| {
            let mut rng = Rng::stream(seed, k as u64);
            Ok(self.model.replicate(cache, y, &mut rng))
        })
    }
}

impl LatentGaussian {
    /// η of every observation, class by class, at a draw y and the cache of its x.
    pub fn predictor_at(&self, cache: &Cache, y: &[f64]) -> Vec<f64> {
        let mut eta = vec![0.0; self.offset.len()];
        self.eta(cache, y, &mut eta, &mut vec![0.0; self.spare()]);
        eta
    }

    /// ln p(y_i | x, y) of every observation.
    pub fn pointwise(&self, cache: &Cache, y: &[f64]) -> Vec<f64> {
        let eta = self.predictor_at(cache, y);
        let rows = self.response.len();
        let classes = self.likelihood.classes();
        if classes > 1 {
            let one = |(row, label): (usize, &f64)| {
                let of = |class: usize| eta[class * rows + row];
                let top = (0..classes).map(of).fold(f64::NEG_INFINITY, f64::max);
                let scale: f64 = (0..classes).map(|c| (of(c) - top).exp()).sum();
                of(*label as usize) - top - scale.ln()
            };
            return self.response.iter().enumerate().map(one).collect();
        }
        let trials = self.trials();
        let one = |(row, value): (usize, &f64)| {
            let observation = Observation {
                family: self.family,
                parameter: cache.parameter(),
                trials: trials.as_ref().map_or(1.0, |t| t[row]),
            };
            observation.ln_p(*value, eta[row])
        };
        self.response.iter().enumerate().map(one).collect()
    }

    /// Data like the observed ones, drawn at x and y.
    pub fn replicate(&self, cache: &Cache, y: &[f64], rng: &mut Rng) -> Vec<f64> {
        let eta = self.predictor_at(cache, y);
        let settled = self.likelihood.settle(cache.parameter());
        self.likelihood.draw(&eta, settled, rng)
    }

    /// The trials of each observation, for a binomial response.
    pub fn trials(&self) -> Option<Vec<f64>> {
        Likelihood::trials(&self.likelihood)
    }

    /// A draw from the prior: as a run would store it, and data drawn there.
    ///
    /// # Errors
    /// Whatever can fail in the slow computation.
    pub fn prior_draw(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), towline::ModelError> {
        use towline::{Model, Target};
        let (x, y, model) = self.simulate(rng)?;
        let cache = model
            .prepare(&x)?
            .ok_or("a draw of the prior lies outside its support")?;
        let mut row = vec![0.0; self.columns().len()];
        model.report(&x, &y, &cache, &mut row);
        Ok((row, model.response().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Builder, Data, Family, Fixed, Grouping, Value};
    use towline::{Prior, Rng, Target};

    /// Σ ln p(y_i) must be what the sampler itself uses, less the prior.
    #[test]
    fn pointwise_log_likelihoods_add_up_to_the_models_own() {
        for family in [
            Family::BernoulliLogit,
            Family::BernoulliProbit,
            Family::BinomialLogit,
            Family::BinomialProbit,
            Family::Poisson,
            Family::NegativeBinomial,
            Family::Gaussian,
            Family::Softmax,
        ] {
            let values = vec![1.0, 0.0, 1.0, 1.0];
            let mut data = Data::new(family, values);
            if matches!(family, Family::BinomialLogit | Family::BinomialProbit) {
                data = data.trials(vec![1.0, 3.0, 2.0, 5.0]);
            }
            let sd = Value::free("sd_g", Prior::HalfNormal { scale: 1.0 });
            let levels = vec!["a".into(), "b".into()];
            let mut builder = Builder::new(data.offset(vec![0.1, 0.2, -0.3, 0.4]))
                .fixed(Fixed::default().with("Intercept", vec![1.0; 4], 0.3, 1.0))
                .grouping(Grouping::intercept("g", levels, vec![0, 0, 1, 1], sd));
            if let Some(name) = family.parameter() {
                builder = builder.parameter(Value::free(name, Prior::HalfNormal { scale: 1.0 }));
            }
            let model = builder.build().unwrap();
            let mut rng = Rng::stream(4, 0);
            let (x, y, _) = model.simulate(&mut rng).unwrap();
            let cache = model.prepare(&x).unwrap().unwrap();
            let whole = model.log_density(&cache, &y) - model.log_prior(&cache, &y);
            let sum: f64 = model.pointwise(&cache, &y).iter().sum();
            assert!(
                (whole - sum).abs() < 1e-9 * sum.abs().max(1.0),
                "{family:?} {whole} {sum}"
            );
            assert_eq!(model.replicate(&cache, &y, &mut rng).len(), 4);
        }
    }
}
