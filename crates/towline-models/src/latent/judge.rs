//! Whether frames at the mean are worth what they cost: decided once, where the posterior of x is highest.
//!
//! A frame at the mean takes longer to find than one at the mode, by a tenth to a half. Where the data say much about every
//! effect, both are the same, and that is for nothing. What the mode misses is the divergence between the two, summed over all
//! observations; it is looked at near the posterior's mode, which a coarse search finds. Everything is a function of the data
//! alone, so that a run and whoever resumes it decide alike.

use super::{At, Cache, Latent, LatentGaussian};
use crate::additive::AdditiveSystem;
use crate::dense::DenseSystem;
use crate::expectation::{self, Frozen};
use crate::family::Sites;
use crate::newton::{self, Centre, System};
use crate::sparse::SparseSystem;

/// The divergence that is worth it: see docs/benchmarks.md for what was measured on either side of it.
pub(super) const WORTH: f64 = 1.0;
/// Frames that the search may take, and its first and its last step: parameters are logarithms, or of a similar scale.
const MOST_FRAMES: usize = 60;
const FIRST_STEP: f64 = 1.0;
const LAST_STEP: f64 = 0.2;

impl LatentGaussian {
    /// What frames at the mean are found from, where they are worth it.
    pub(super) fn frozen(&self) -> Option<&Frozen> {
        let decide = || {
            let looked = (self.worth < f64::INFINITY).then(|| self.look()).flatten();
            looked.filter(|(missing, _)| *missing > self.worth)?.1
        };
        self.frozen.get_or_init(decide).as_ref()
    }

    /// What frames at the mode miss near the posterior's own: about the divergence of Laplace's approximation, in all
    /// observations together. `None` where it cannot be had at a price that is worth it.
    #[doc(hidden)]
    pub fn missing(&self) -> Option<f64> {
        self.look().map(|(missing, _)| missing)
    }

    fn look(&self) -> Option<(f64, Option<Frozen>)> {
        if !(matches!(self.latent, Latent::Sparse(_)) && self.likelihood.is_skewed()) {
            return None;
        }
        let cache = self.plain(&self.highest()?).ok()??;
        with_system!(self, cache, system => look(&system, self, &cache))
    }

    /// About where the marginal is highest, by frames at the mean: Laplace's estimate finds too small a spread of groups in just
    /// those data for which this matters.
    fn highest(&self) -> Option<Vec<f64>> {
        let height = |x: &[f64]| {
            let cache = self.plain(x).ok()??;
            let (found, _) = self.find(&cache, &[], Centre::Mean)?;
            Some(found.log_marginal).filter(|v| v.is_finite())
        };
        let mut x = self.middle();
        let mut best = height(&x)?;
        let (mut step, mut frames) = (FIRST_STEP, 1);
        while step > LAST_STEP && frames < MOST_FRAMES {
            let mut moved = false;
            for k in 0..x.len() {
                for sign in [step, -step] {
                    let mut there = x.clone();
                    there[k] += sign;
                    frames += 1;
                    if let Some(h) = height(&there)
                        && h > best
                    {
                        (x, best, moved) = (there, h, true);
                        break;
                    }
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
        Some(x)
    }
}

fn look<S: System>(
    system: &S,
    model: &LatentGaussian,
    cache: &Cache,
) -> Option<(f64, Option<Frozen>)> {
    let LatentGaussian {
        likelihood, offset, ..
    } = model;
    let (settled, reference) = (cache.settled, model.reference.as_deref());
    let (found, eta, _) = newton::mode(
        system,
        likelihood,
        settled,
        offset,
        cache.base,
        &[],
        reference,
    )?;
    let sites = Sites::at(likelihood, settled, eta);
    let missing = expectation::missing(system, likelihood, settled, &found, &mut sites.clone())?;
    let frozen = Frozen::new(system, likelihood, settled, &found, sites);
    Some((missing, frozen))
}
