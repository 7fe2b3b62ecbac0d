//! A posterior as a model: its columns, what is reported of a draw, where chains begin.

use super::{Likelihood, Parameter, Posterior, Speed};
use crate::error::ModelError;
use crate::model::{Column, Model, Role};
use crate::random::Rng;
use crate::target::Target;

/// Tries to find a start of positive density. Later ones keep closer to the priors' medians.
const TRIES: usize = 200;

impl<L: Likelihood> Model for Posterior<L> {
    fn columns(&self) -> Vec<Column> {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let parameters = self.parameters.iter().map(|parameter| {
            let (lower, upper) = parameter.prior.support();
            Column {
                name: parameter.name.clone(),
                role: match parameter.speed {
                    Speed::Slow => Role::Slow,
                    Speed::Fast(_) if parameter.latent => Role::Latent,
                    Speed::Fast(_) => Role::Fast,
                },
                label: parameter.label.clone(),
                lower: finite(lower),
                upper: finite(upper),
                periodic: parameter.prior.is_periodic(),
            }
        });
        parameters.chain(self.derived.iter().cloned()).collect()
    }

    fn report(&self, _x: &[f64], y: &[f64], cache: &Self::Cache, row: &mut [f64]) {
        let mut fast = vec![0.0; self.fast.len()];
        self.values(&self.fast, y, &mut fast);
        for (c, value) in self.slow.iter().zip(&cache.slow) {
            row[c.declared] = *value;
        }
        for (c, value) in self.fast.iter().zip(&fast) {
            row[c.declared] = *value;
        }
        if let Some(derive) = &self.derive {
            let out = &mut row[self.parameters.len()..];
            derive(&cache.likelihood, &cache.slow, &fast, out);
        }
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        let mut failure = None;
        for attempt in 0..TRIES {
            let given = match &self.start {
                Some(start) => start(rng)?,
                None => Vec::new(),
            };
            // A median of several draws: dispersed, but never out where only a wide prior's tail reaches.
            let draws = 3 + 2 * (attempt / 8);
            let values: Vec<f64> = self
                .parameters
                .iter()
                .enumerate()
                .map(|(k, parameter)| match given.get(k) {
                    Some(Some(value)) => *value,
                    _ => median(draws, || parameter.prior.draw(rng)),
                })
                .collect();
            let (x, y) = match self.locate(&values) {
                Ok(found) => found,
                Err(error) if !given.is_empty() => return Err(error.into()),
                Err(_) => continue,
            };
            match self.prepare(&x) {
                Ok(Some(cache)) if self.log_density(&cache, &y).is_finite() => return Ok((x, y)),
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| {
            let starts = match self.start {
                Some(_) => "starts that were given",
                None => "draws from the priors",
            };
            format!(
                "none of {TRIES} {starts} has positive density: look at them, or at a likelihood that returns -inf"
            )
            .into()
        }))
    }

    fn says_when(&self) -> bool {
        self.enough.is_some()
    }

    fn is_enough(&self, draws: u64) -> Result<bool, ModelError> {
        self.enough
            .as_ref()
            .map_or(Ok(false), |enough| enough(draws))
    }

    fn settings(&self) -> Vec<(String, String)> {
        let one = |p: &Parameter| (format!("prior of {}", p.name), p.prior.to_string());
        self.parameters.iter().map(one).collect()
    }
}

fn median(count: usize, mut draw: impl FnMut() -> f64) -> f64 {
    let mut draws: Vec<f64> = (0..count).map(|_| draw()).collect();
    draws.sort_by(f64::total_cmp);
    draws[count / 2]
}
