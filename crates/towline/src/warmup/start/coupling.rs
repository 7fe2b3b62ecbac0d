//! How fast variables are coupled, and whether the directions of that turn with x.

use super::super::limits::start::{
    MOST_COUPLED, MOST_COUPLED_GRADIENTS, MOST_LOCAL, MOST_LOOKS, TURNED, UNCOUPLED,
};
use super::Marginal;
use crate::error::Error;
use crate::frame::laplace::{Coupled, Curvature};
use crate::instant::Instant;
use crate::kernel::state::prepare;
use crate::linalg::Factor;
use crate::target::Target;

impl<T: Target> Marginal<'_, T> {
    /// Learns how many fast variables are coupled where the search stands: a frame along their own axes moves with x as the
    /// conditional does, where one along the variables may only stretch it.
    pub(super) fn couple(&mut self, x: &[f64], cache: &T::Cache) {
        let d = self.centre.len();
        if self.curvature != Curvature::Axes {
            return;
        }
        let (target, scratch) = (self.target, &mut self.scratch);
        let mut gradient = vec![0.0; d];
        let known = target.gradient(cache, &self.centre, &mut gradient, scratch);
        let most = match known {
            Some(_) => MOST_COUPLED_GRADIENTS,
            None => MOST_COUPLED,
        };
        if d > most {
            return;
        }
        let coupled = self.coupled(x, cache);
        if let Some(coupled) = coupled.filter(|c| c.coupling > UNCOUPLED) {
            self.set_frame(self.centre.clone(), coupled.root);
        }
    }

    fn coupled(&mut self, x: &[f64], cache: &T::Cache) -> Option<Coupled> {
        let begun = Instant::now();
        let (target, scratch) = (self.target, &mut self.scratch);
        let (coupled, evaluations) = self.rule.coupled_root(target, x, cache, scratch);
        self.clock.fast(begun, evaluations);
        self.spent.fast_evaluations += evaluations;
        coupled
    }

    /// Whether the directions in which fast variables are coupled change within a standard deviation of x: then no axes will do, and the full curvature is
    /// worth its price at each x, where there are not too many of them.
    pub(super) fn turns(&mut self, slow: &Factor) -> Result<bool, Error> {
        if self.curvature != Curvature::Axes || self.centre.len() > MOST_LOCAL {
            return Ok(false);
        }
        let p = slow.dim();
        for k in 0..p.min(MOST_LOOKS) {
            let mut unit = vec![0.0; p];
            unit[k] = 1.0;
            let mut x = vec![0.0; p];
            slow.apply(&unit, &mut x);
            x.iter_mut().zip(&self.best.x).for_each(|(x, b)| *x += b);
            self.spent.slow_evaluations += 1;
            let Some(there) = prepare(self.target, &x)? else {
                continue;
            };
            let coupled = self.coupled(&x, &there.cache);
            if coupled.is_some_and(|c| c.coupling > TURNED) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
