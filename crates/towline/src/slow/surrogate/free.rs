//! Draws of the frozen surrogate for their own sake: they cost no slow evaluation, so there may be as many as one likes.

use super::Surrogate;
use super::jump::Jumps;
use super::wander::Wander;
use crate::random::Rng;

/// Moves before a chain's first draw is used, from the centre.
const BURN: usize = 301;

impl Surrogate {
    /// So many draws of π̃, whitened, each so many proposals after the one before.
    pub(crate) fn stretch(&self, count: usize, apart: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let density = |w: &[f64]| self.shape.log_density(w);
        let mut chain = Wander::new(&density, vec![0.0; self.dim()], self.jumps.as_ref());
        chain.run(BURN, rng);
        (0..count)
            .map(|_| {
                for _ in 0..apart {
                    chain.run(self.moves, rng);
                }
                chain.w.clone()
            })
            .collect()
    }

    /// A point, whitened.
    pub(crate) fn whitened(&self, x: &[f64]) -> Vec<f64> {
        let mut w = vec![0.0; x.len()];
        self.whiten(x, &mut w);
        w
    }

    /// ln π̃ at a whitened point, as a density over x.
    pub(crate) fn log_density_whitened(&self, w: &[f64]) -> f64 {
        self.offset + self.shape.log_density(w)
    }

    /// A normalised density over x near π̃, made from whitened draws of it.
    pub(crate) fn neighbour(&self, draws: &[Vec<f64>]) -> Option<Neighbour<'_>> {
        let mixture = Jumps::fit(draws)?;
        Some(Neighbour {
            log_total: mixture.log_total(),
            mixture,
            surrogate: self,
        })
    }
}

/// A mixture of normals near a surrogate, normalised: what its own constant is measured against.
pub(crate) struct Neighbour<'a> {
    mixture: Jumps,
    log_total: f64,
    surrogate: &'a Surrogate,
}

impl Neighbour<'_> {
    /// A draw, whitened.
    pub fn draw(&self, rng: &mut Rng) -> Vec<f64> {
        let mut w = vec![0.0; self.surrogate.dim()];
        self.mixture.draw(&mut w, rng);
        w
    }

    /// ln π̃ less the log density of this, both as densities over x.
    pub fn log_ratio(&self, w: &[f64]) -> f64 {
        let own = self.mixture.log_density(w) - self.log_total - self.surrogate.factor.log_det();
        self.surrogate.log_density_whitened(w) - own
    }
}
