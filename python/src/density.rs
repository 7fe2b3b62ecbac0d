//! A plain log density in two stages, without priors: the same functions, on the scale on which chains move.

use crate::likelihood::{Cache, Functions};
use towline::{Column, Likelihood, Model, ModelError, Rng, Role, Scratch, Target};

/// A density whose variables are unbounded, and where chains begin.
pub struct Density {
    /// Its functions.
    pub functions: Functions,
    /// Its leading blocks.
    pub blocks: Vec<usize>,
    /// The columns that it reports.
    pub columns: Vec<Column>,
    /// Where chains begin.
    pub start: (Vec<f64>, Vec<f64>),
    /// What fills in the derived quantities.
    pub derive: Box<Derive>,
}

type Derive = dyn Fn(&Cache, &[f64], &[f64], &mut [f64]) + Send + Sync;

/// The functions' own cache, and the x it was made for.
pub struct DensityCache {
    cache: Cache,
    x: Vec<f64>,
}

impl Target for Density {
    type Cache = DensityCache;

    fn prepare(&self, x: &[f64]) -> Result<Option<DensityCache>, ModelError> {
        let cache = self.functions.prepare(x)?;
        Ok(cache.map(|cache| DensityCache {
            cache,
            x: x.to_vec(),
        }))
    }

    fn log_density(&self, cache: &DensityCache, y: &[f64]) -> f64 {
        // Nothing that overflowed is shown to the model.
        if y.iter().any(|v| !v.is_finite()) {
            return f64::NEG_INFINITY;
        }
        self.functions.log_likelihood(&cache.cache, y)
    }

    fn log_density_batch(
        &self,
        cache: &DensityCache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        if self.functions.batch.is_some() && ys.iter().all(|v| v.is_finite()) {
            self.functions.log_likelihood_batch(&cache.cache, ys, out);
            return;
        }
        let dim = ys.len().checked_div(out.len()).unwrap_or(0);
        for (k, value) in out.iter_mut().enumerate() {
            *value = self.log_density_in(cache, &ys[k * dim..(k + 1) * dim], scratch);
        }
    }

    fn is_vectorised(&self) -> bool {
        self.functions.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &DensityCache,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        self.functions.gradient(&cache.cache, y, gradient)
    }

    fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    fn refine(
        &self,
        cache: &DensityCache,
        head: &[f64],
    ) -> Result<Option<DensityCache>, ModelError> {
        let refined = self.functions.refine(&cache.cache, head)?;
        Ok(refined.map(|refined| DensityCache {
            cache: refined,
            x: cache.x.clone(),
        }))
    }
}

impl Model for Density {
    fn columns(&self) -> Vec<Column> {
        self.columns.clone()
    }

    fn report(&self, x: &[f64], y: &[f64], cache: &DensityCache, row: &mut [f64]) {
        row[..x.len()].copy_from_slice(x);
        row[x.len()..x.len() + y.len()].copy_from_slice(y);
        let out = &mut row[x.len() + y.len()..];
        (self.derive)(&cache.cache, x, y, out);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        let _ = rng;
        Ok(self.start.clone())
    }
}

/// The columns of a density: its variables, then what is derived.
pub fn columns(functions: &Functions, labels: impl Fn(&str) -> Option<String>) -> Vec<Column> {
    let of = |names: &[String], role: Role| -> Vec<Column> {
        let one = |name: &String| {
            let mut column = Column::new(name, role);
            column.label = labels(name);
            column
        };
        names.iter().map(one).collect()
    };
    let mut columns = of(&functions.slow, Role::Slow);
    columns.extend(of(&functions.fast_names, Role::Fast));
    columns.extend(of(&functions.derived_names, Role::Derived));
    columns
}
