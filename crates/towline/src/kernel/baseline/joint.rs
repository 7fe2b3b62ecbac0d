//! Joint Metropolis: x and y proposed together.

use crate::error::Error;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace, evaluate, prepare};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A Gaussian random walk of (x, y), x first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    factor: Factor,
}

impl Joint {
    /// Steps with the covariance of this factor, over the slow variables and then the fast ones.
    pub fn new(factor: Factor) -> Self {
        Self { factor }
    }

    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info {
            outer_proposed: 1,
            slow_evaluations: 1,
            log_ratio: f64::NEG_INFINITY,
            ..Info::default()
        };
        let noise: Vec<f64> = (0..self.factor.dim()).map(|_| rng.normal()).collect();
        let mut step = vec![0.0; noise.len()];
        self.factor.apply(&noise, &mut step);
        let (by_x, by_y) = step.split_at_mut(state.slow.x.len());
        for (new, old) in by_x.iter_mut().zip(&state.slow.x) {
            *new += old;
        }
        for (new, old) in by_y.iter_mut().zip(&state.y) {
            *new += old;
        }
        let Some(proposed) = prepare(target, by_x)? else {
            return Ok(info);
        };
        let log_density = evaluate(target, &proposed, by_y, &mut work.buffers)?;
        info.fast_evaluations = 1;
        info.log_ratio = log_density - state.log_density;
        if rng.accept(info.log_ratio) {
            info.outer_accepted = 1;
            state.slow = proposed;
            state.y.copy_from_slice(by_y);
            state.log_density = log_density;
        }
        Ok(info)
    }

    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        let (expected, found) = (x.len() + y.len(), self.factor.dim());
        if found == expected {
            return Ok(());
        }
        Err(Error::Dimension {
            what: "the covariance of the joint proposal",
            expected,
            found,
        })
    }
}
