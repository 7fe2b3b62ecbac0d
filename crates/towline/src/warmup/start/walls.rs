//! Whether modes of the fast variables lie at walls.

use super::super::limits::start::BESIDE;
use super::Marginal;
use crate::frame::laplace::{Curvature, Laplace};
use crate::linalg::Factor;
use crate::optimise::surface::clean;
use crate::target::Target;

impl<T: Target> Marginal<'_, T> {
    /// Whether there is no mass close to the mode on one side of it: a search may take the place where a wall stopped it for a top.
    pub(super) fn is_walled(&mut self, cache: &T::Cache) -> bool {
        if self.curvature != Curvature::Local {
            return false;
        }
        let (mode, widths) = (&self.best.y, self.rule.linear().root().sds());
        let mut y = mode.clone();
        for (k, width) in widths.iter().enumerate() {
            for side in [BESIDE, -BESIDE] {
                y[k] = mode[k] + side * width;
                self.spent.fast_evaluations += 1;
                let density = self.target.log_density_in(cache, &y, &mut self.scratch);
                if clean(density) == f64::NEG_INFINITY {
                    return true;
                }
            }
            y[k] = mode[k];
        }
        false
    }

    /// The share of places with mass at which no mode was found.
    pub(super) fn failing(&self) -> f64 {
        self.failed as f64 / (self.failed + self.modes.len()).max(1) as f64
    }

    /// Where no mode is found that derivatives lead to, it may lie at a wall: if so, frames are looked for at walls from here on.
    pub(super) fn try_walls(&mut self, x: &[f64], cache: &T::Cache) {
        if self.curvature != Curvature::Local {
            return;
        }
        let sds = self.rule.linear().root().sds();
        let centre = self.centre.clone();
        let Ok(widths) = Factor::diagonal(&sds, "the fast widths") else {
            return;
        };
        self.curvature = Curvature::Walls;
        self.set_frame(centre, widths);
        self.best.height = f64::NEG_INFINITY;
        let before = self.modes.len();
        self.look(x, cache);
        if self.modes.len() == before {
            self.curvature = Curvature::Local;
            self.rule = Laplace::new(self.rule.linear().clone(), self.curvature);
        }
    }
}
