//! Whether frames at the mean are worth what they cost: decided once, where the posterior of x is highest.
//!
//! A frame at the mean takes longer to find than one at the mode, by a tenth to a half. Where the data say much about every
//! effect, both are the same, and that is for nothing. What the mode misses is the divergence between the two, summed over all
//! observations; it is looked at near the posterior's mode, which a coarse search finds. Where that is something, moves are tried
//! in both frames (`trial`), since what is missed everywhere alike loses none. Everything is a function of the data
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
/// How many times as much a slow evaluation with a frame at the mean costs: 1.1 to 1.6 measured (docs/figures/skewed.csv). Moves must
/// bring as many times as much.
const PRICE: f64 = 1.5;
/// Frames that the search may take, and its first and its last step: parameters are logarithms, or of a similar scale.
const MOST_FRAMES: usize = 60;
const FIRST_STEP: f64 = 1.0;
const LAST_STEP: f64 = 0.2;

impl LatentGaussian {
    /// What frames at the mean are found from, where they are worth it.
    pub(super) fn frozen(&self) -> Option<&Frozen> {
        let decide = || {
            let looked = (self.worth < f64::INFINITY).then(|| self.look()).flatten();
            let (x, _, frozen) = looked.filter(|(_, missing, _)| *missing > self.worth)?;
            // Whoever asks for them whatever they bring has them.
            let asked = self.worth <= 0.0;
            frozen.filter(|frozen| asked || self.gain(&x, frozen).is_none_or(|gain| gain > PRICE))
        };
        self.frozen.get_or_init(decide).as_ref()
    }

    /// What frames at the mode miss near the posterior's own: about the divergence of Laplace's approximation, in all
    /// observations together. `None` where it cannot be had at a price that is worth it.
    #[doc(hidden)]
    pub fn missing(&self) -> Option<f64> {
        self.look().map(|(_, missing, _)| missing)
    }

    /// The shares of slow moves that frames at the mean and at the mode would have accepted near the posterior's mode.
    #[doc(hidden)]
    pub fn trial(&self) -> Option<[f64; 2]> {
        let (x, _, frozen) = self.look()?;
        self.tried(&x, &frozen?)
    }

    /// How many times as many effective draws frames at the mean bring for as many slow moves: with proposals that are nearly
    /// independent draws, of which a share a is accepted, the autocorrelation time is (2 − a) / a.
    fn gain(&self, x: &[f64], frozen: &Frozen) -> Option<f64> {
        let [mean, mode] = self.tried(x, frozen)?;
        let worth = |a: f64| a / (2.0 - a);
        Some(worth(mean) / worth(mode)).filter(|gain| gain.is_finite())
    }

    /// Where it was looked, what is missing there, and what frames at the mean are found from.
    #[allow(clippy::type_complexity)]
    fn look(&self) -> Option<(Vec<f64>, f64, Option<Frozen>)> {
        if !(matches!(self.latent, Latent::Sparse(_)) && self.likelihood.is_skewed()) {
            return None;
        }
        let x = self.highest()?;
        let cache = self.plain(&x).ok()??;
        let (missing, frozen) = with_system!(self, cache, system => look(&system, self, &cache))?;
        Some((x, missing, frozen))
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
        None,
    )?;
    let sites = Sites::at(likelihood, settled, eta);
    let missing = expectation::missing(system, likelihood, settled, &found, &mut sites.clone())?;
    let frozen = Frozen::new(system, likelihood, settled, &found, sites);
    Some((missing, frozen))
}
