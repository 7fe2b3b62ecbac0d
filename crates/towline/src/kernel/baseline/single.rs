//! Single-variable Metropolis: one variable after another, the slow ones first.

use crate::error::Error;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace, evaluate, prepare};
use crate::random::Rng;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// Every variable in turn, each by a Gaussian step of its own.
///
/// A fixed order is right here, though it would be wrong inside a drag: each update leaves the target
/// invariant, which is all that an outer kernel must do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Single {
    slow_sds: Vec<f64>,
    fast_sds: Vec<f64>,
}

impl Single {
    /// Steps of these standard deviations.
    pub fn new(slow_sds: Vec<f64>, fast_sds: Vec<f64>) -> Self {
        Self { slow_sds, fast_sds }
    }

    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info::default();
        for (k, sd) in self.slow_sds.iter().enumerate() {
            work.x.copy_from_slice(&state.slow.x);
            work.x[k] += sd * rng.normal();
            info.outer_proposed += 1;
            info.slow_evaluations += 1;
            info.log_ratio = f64::NEG_INFINITY;
            let Some(proposed) = prepare(target, &work.x)? else {
                continue;
            };
            let log_density = evaluate(target, &proposed, &state.y, &mut work.buffers)?;
            info.fast_evaluations += 1;
            info.log_ratio = log_density - state.log_density;
            if rng.accept(info.log_ratio) {
                info.outer_accepted += 1;
                state.slow = proposed;
                state.log_density = log_density;
            }
        }
        for (k, sd) in self.fast_sds.iter().enumerate() {
            work.z.copy_from_slice(&state.y);
            work.z[k] += sd * rng.normal();
            let log_density = evaluate(target, &state.slow, &work.z, &mut work.buffers)?;
            info.inner_proposed += 1;
            info.fast_evaluations += 1;
            if rng.accept(log_density - state.log_density) {
                info.inner_accepted += 1;
                state.log_density = log_density;
                state.y[k] = work.z[k];
            }
        }
        Ok(info)
    }

    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        for (what, sds, expected) in [
            ("the list of slow steps", &self.slow_sds, x.len()),
            ("the list of fast steps", &self.fast_sds, y.len()),
        ] {
            if sds.len() != expected {
                return Err(Error::Dimension {
                    what,
                    expected,
                    found: sds.len(),
                });
            }
            if let Some(&value) = sds.iter().find(|&&sd| !(sd > 0.0 && sd.is_finite())) {
                return Err(Error::Setting {
                    what: "the step of a single-variable update",
                    value,
                    expected: "positive and finite",
                });
            }
        }
        Ok(())
    }
}
