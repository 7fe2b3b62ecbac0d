//! Test only: targets whose answers are known, and the statistics to check them with.

use crate::{ModelError, Target};

/// The paper's first test.
pub(crate) struct Neal1;

impl Target for Neal1 {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        Ok(Some((x[0], x[0].sin())))
    }

    fn log_density(&self, &(x, sin): &Self::Cache, y: &[f64]) -> f64 {
        -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - sin).powi(2)
    }
}

/// The paper's second test.
pub(crate) struct Neal2;

impl Target for Neal2 {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        Neal1.prepare(x)
    }

    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        Neal1.log_density(cache, y) - 12.5 * (y[1] - y[0]).powi(2)
    }
}
