//! One look at a place: the mode of the fast variables there, how high it is, and what the search makes of it.

use super::{Best, Marginal};
use crate::frame::laplace::{Curvature, Laplace, Searched};
use crate::frame::{Frame, Linear};
use crate::instant::Instant;
use crate::kernel::state::Sighting;
use crate::linalg::{Factor, Root};
use crate::optimise::surface::clean;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// What a slow evaluation tells of the marginal at its x.
#[derive(Serialize, Deserialize)]
pub(super) struct Seen {
    pub height: f64,
    /// The middle of the frame.
    y: Vec<f64>,
    sighting: Sighting,
    /// Where a search near here begins.
    begin: Option<Vec<f64>>,
    /// The frame from which later searches begin, where this is the best place so far.
    frame: Option<(Vec<f64>, Factor)>,
    /// Fast evaluations.
    evaluations: u64,
}

impl<T: Target> Marginal<'_, T> {
    /// Looks at a place whose slow evaluation is made.
    pub(super) fn look(&mut self, x: &[f64], cache: &T::Cache) -> f64 {
        let seen = self.see(x, cache);
        self.take(x, seen)
    }

    /// Finds the conditional's mode at x, starting from the last one.
    pub(super) fn see(&mut self, x: &[f64], cache: &T::Cache) -> Seen {
        let begun = Instant::now();
        let found = self.rule.find(self.target, x, cache, &mut self.scratch);
        match self.curvature {
            Curvature::Own => self.clock.search(begun),
            _ => self.clock.fast(begun, found.evaluations),
        }
        let begun = Instant::now();
        let mut y = vec![0.0; self.centre.len()];
        found.frame.to_y(&vec![0.0; y.len()], &mut y);
        // Without a mode, the density at the last known one is a height to climb by; and a mode beyond a wall
        // (the search takes its last step on trust) is none to begin at.
        let density = match self.curvature {
            Curvature::Own => self.density_as_in_moves(&found.frame, cache, &y),
            _ => self.target.log_density_in(cache, &y, &mut self.scratch),
        };
        if self.curvature == Curvature::Own {
            self.clock.fast(begun, 1);
        }
        let height = if clean(density) == f64::NEG_INFINITY {
            f64::NEG_INFINITY
        } else {
            // The same measure for both: without a mode, the linear frame's volume stands in.
            clean(
                found
                    .log_marginal
                    .unwrap_or(density + found.frame.log_det()),
            )
        };
        let frame = (height > self.best.height)
            .then(|| self.frame_of(&found))
            .flatten();
        Seen {
            height,
            begin: found.begin().map(<[f64]>::to_vec),
            sighting: Sighting::new(x, &found),
            frame,
            y,
            evaluations: found.evaluations + 1,
        }
    }

    /// The density with what moves by gradients compute beside it: of a field the two solves by the frame's root are most of it.
    fn density_as_in_moves(&mut self, frame: &Frame, cache: &T::Cache, y: &[f64]) -> f64 {
        let (mut by_y, mut by_z) = (vec![0.0; y.len()], vec![0.0; y.len()]);
        let (target, scratch) = (self.target, &mut self.scratch);
        let Some(density) = target.gradient(cache, y, &mut by_y, scratch) else {
            return target.log_density_in(cache, y, scratch);
        };
        frame.gradient_to_z(&mut by_y, &mut by_z);
        std::hint::black_box(&by_z);
        density
    }

    /// Notes what was seen at x.
    pub(super) fn take(&mut self, x: &[f64], seen: Seen) -> f64 {
        let Seen {
            height,
            y,
            sighting,
            begin,
            frame,
            evaluations,
        } = seen;
        self.spent.fast_evaluations += evaluations;
        if sighting.log_marginal.is_some() {
            let begin = begin.unwrap_or_else(|| y.clone());
            self.modes.push((x.to_vec(), begin, height));
        } else if height > f64::NEG_INFINITY {
            self.failed += 1;
        }
        self.visits.push(sighting);
        if height > self.best.height {
            self.returned = match self.is_known.is_some_and(|known| known(x, height)) {
                true => self.returned + 1,
                false => 0,
            };
            self.best = Best {
                x: x.to_vec(),
                y,
                height,
            };
            // Searches from here on begin at this frame: near the best point, they are short.
            if let Some((centre, root)) = frame {
                self.set_frame(centre, root);
            }
        }
        height
    }

    /// The centre and root from which later searches may begin.
    fn frame_of(&self, found: &Searched) -> Option<(Vec<f64>, Factor)> {
        let (Frame::Affine { root, .. }, Some(centre)) = (&found.frame, found.begin()) else {
            return None;
        };
        // A target's own root is no matrix; searches there need the centre alone.
        let root = match root {
            Root::Own(_) => Some((**self.rule.linear().root()).clone()),
            _ => root.factor(),
        };
        Some((centre.to_vec(), root?))
    }

    /// Searches from here on begin at this centre, in units of this root.
    pub(super) fn set_frame(&mut self, centre: Vec<f64>, root: Factor) {
        let p = self.best.x.len();
        let flat = vec![0.0; p * centre.len()];
        if let Ok(linear) = Linear::new(vec![0.0; p], centre.clone(), flat, root) {
            self.centre = centre;
            self.rule = Laplace::new(linear, self.curvature);
        }
    }
}
