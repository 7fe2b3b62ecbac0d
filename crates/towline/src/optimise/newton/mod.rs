//! A deterministic climb to a mode: Newton's method that converges from anywhere on a single peak.
//!
//! It finds the mode and curvature of a conditional for the Laplace frame, and of the estimated
//! marginal for a start. Storage are meant to be scaled so that the peak is of width 1, but a
//! wrong scale costs evaluations, not convergence: difference steps follow the curvature that is
//! found, steps that overshoot are shortened, and steps that gain more than a parabola would are
//! lengthened, so that a start 10⁵ log units down, on a flat tail or on an exponential wall is a
//! matter of a few dozen evaluations.

mod ascent;
mod here;
#[cfg(test)]
mod tests;

use super::coordinate::feel;
use super::surface::{STRAYED, Surface, clean};
use crate::linalg::Storage;
use ascent::Ascent;
use here::{Around, Here, MOST_LONGER};

/// The top.
#[derive(Debug, Clone)]
pub(crate) struct Peak {
    pub at: Vec<f64>,
    /// Minus the second derivatives at the top, row by row; positive definite.
    pub curvature: Vec<f64>,
}

/// How many times derivatives may be taken. A peak needs two to ten; a climb that needs more is lost.
const MOST_ROUNDS: usize = 80;
/// A round that gained this many log units was far from the top.
const FAR_DOWN: f64 = 100.0;
/// The squared distance to the top, in units of its width, at which the last step is taken on trust.
const CLOSE: f64 = 1e-3;
/// A climb that begins more than this far down (twice the log units that a parabola would promise), or where the
/// surface bends up, or that takes long, has its top looked at twice.
const DOUBTFUL: f64 = 25.0;
/// Difference steps, in units of the peak's width: small enough to see the peak's own curvature, large
/// enough that a model's rounding or interpolation noise of 1e-4 log units does not show.
pub(crate) const STEP: f64 = 0.3;
/// Steps are made finer by this factor where a top shows no peak's curvature, down to this share of the first.
const FINER: f64 = 0.4;
const FINEST: f64 = 0.05;
/// With more variables than this, one-sided mixed differences add up to a wrong volume: each is off by a third derivative times its step. On a
/// likelihood with twenty coupled nuisances the logarithm of the volume scattered by 0.45, and half of the curvatures had none; with both sides, by 0.03.
const FEW: usize = 4;
/// And with more than that, a parabola that foretold the height was seen from no further than this (squared, in widths): its curvature is taken for the top's.
const NEAR: f64 = 0.02;
/// The same with few variables.
const NEAR_ENOUGH: f64 = 4.0;

/// The memory of a search, used again by the next one, so that searches need not allocate: vectors of type V, square matrices
/// of type M. In arrays, as for one and two variables, all loops are unrolled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Newton<V = Vec<f64>, M = Vec<f64>> {
    here: Here<V, M>,
    around: Around<V>,
    ascent: Ascent<V, M>,
}

/// Climbs from `start` with first difference steps `steps`; `None` where no top is found. Difference steps are of this
/// many widths: wider ones than [`STEP`] for a surface that is itself only known to a hundredth of a log unit or so.
pub(crate) fn climb_with(
    surface: &mut impl Surface,
    start: &[f64],
    steps: &[f64],
    width: f64,
) -> Option<Peak> {
    let mut newton = <Newton>::default();
    newton.climb(surface, start, steps, width)?;
    Some(Peak {
        at: newton.here.at,
        curvature: newton.ascent.curvature,
    })
}

impl<V: Storage, M: Storage> Newton<V, M> {
    /// Climbs, and returns the height of the top; see [`climb_with`].
    pub fn climb(
        &mut self,
        surface: &mut impl Surface,
        start: &[f64],
        steps: &[f64],
        width: f64,
    ) -> Option<f64> {
        self.search(surface, start, steps, width).or_else(|| {
            // Derivatives led nowhere: feel the way along one axis after another, then try again.
            let felt = feel(surface, start, steps)?;
            let strayed = felt
                .iter()
                .zip(start)
                .any(|(u, s)| (u - s).abs() > 1e-3 * STRAYED);
            if strayed {
                return None;
            }
            self.search(surface, &felt, steps, width)
        })
    }

    /// The top that was found.
    pub fn at(&self) -> &[f64] {
        self.here.at.as_ref()
    }

    /// Minus the second derivatives there, row by row; positive definite.
    pub fn curvature(&self) -> &[f64] {
        self.ascent.curvature.as_ref()
    }

    /// Newton's method.
    fn search(
        &mut self,
        surface: &mut impl Surface,
        start: &[f64],
        steps: &[f64],
        width: f64,
    ) -> Option<f64> {
        let dim = start.len();
        let Self {
            here,
            around,
            ascent,
        } = self;
        here.begin(start, steps);
        // (Heights that are dear, as those of a marginal are, are taken on one side.)
        let many = dim > FEW && width <= STEP;
        here.both_sides = many;
        let near = if many { NEAR } else { NEAR_ENOUGH };
        here.height = clean(surface.height(start));
        if here.height == f64::NEG_INFINITY {
            return None;
        }
        let (mut refined, mut gained, mut further) = (false, 0.0, 0);
        // A climb that came from afar may have stopped on a tail so flat that differences take it for a top.
        let mut doubtful = false;
        let mut share = width;
        for round in 0..MOST_ROUNDS {
            // With a gradient but no curvature, differences of heights are still what is simplest.
            let exact = surface.curvature(here.at.as_ref(), here.curvature.as_mut())
                && surface.gradient(here.at.as_ref(), here.gradient.as_mut());
            if !exact {
                // Far down, the axes' own curvatures do: mixed differences are for the neighbourhood of the top.
                here.differences(surface, around, gained < FAR_DOWN || round % 4 == 3)?;
            }
            let strayed = here
                .at
                .as_ref()
                .iter()
                .zip(start)
                .any(|(u, s)| (u - s).abs() > STRAYED);
            if strayed || !here.finite() {
                return None;
            }
            // Steps that were far from the peak's own width have measured something else than its curvature.
            let fitting = if exact {
                here.trust_curvature();
                true
            } else {
                here.refit_steps(share)
            };
            ascent.look(here);
            let decrement = ascent.decrement;
            if decrement < 4.0 && !here.unseen.is_empty() {
                // At the top as far as can be seen, which is not far: look further along the other axes.
                for &k in &here.unseen {
                    here.steps[k] *= 8.0;
                }
                continue;
            }
            let at_top = ascent.concave && decrement < CLOSE;
            if at_top && !exact && further < MOST_LONGER && here.look_further() {
                further += 1;
                continue;
            }
            // (Not where heights are rough and dear, as those of a marginal are.)
            let late = round >= 4 || round == 0 && (decrement > DOUBTFUL || !ascent.concave);
            doubtful |= late && width <= STEP;
            if at_top {
                if fitting || refined {
                    if doubtful && here.look_uphill(surface) {
                        continue;
                    }
                    return Some(here.top(ascent));
                }
                refined = true;
                continue;
            }
            refined = false;
            if !ascent.concave && decrement < CLOSE {
                // On a saddle or in a trough: leave it along the direction that bends up most.
                if here.leave(surface, ascent).is_none() {
                    // No way up: a top after all, whose curvature such long steps do not show.
                    if exact || share < FINEST * width {
                        return None;
                    }
                    share *= FINER;
                    here.scale_steps(FINER);
                }
                continue;
            }
            let gain = here.advance(surface, ascent);
            match gain {
                Some(gain) => {
                    gained = gain;
                    let foretold = (gain - 0.5 * decrement).abs() < surface.foretold();
                    let sure = !doubtful || dim == 1;
                    if ascent.concave && fitting && foretold && decrement < near && sure {
                        return Some(here.height);
                    }
                }
                // No step gains: rounding has the last word near the top, and else the climb is lost.
                None if ascent.concave
                    && decrement < 0.1
                    && doubtful
                    && here.look_uphill(surface) => {}
                None if ascent.concave && decrement < 0.1 => return Some(here.height),
                None if !exact && here.shorten_steps() => {}
                None => return None,
            }
        }
        None
    }
}
