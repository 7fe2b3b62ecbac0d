//! The surrogate heated: π̃ raised to the power 1/heat, sampled by a chain of its own. It goes where π̃ hardly comes.

use super::Surrogate;
use super::jump::Jumps;
use super::limits::{HEATED_BURN, HEATED_LOOK, JUMP_MOST_SLOW};
use super::wander::{self, Wander};
use crate::random::Rng;

/// A heated surrogate, with what makes its chain jump between the parts of it.
#[derive(Debug)]
pub(crate) struct Heated<'a> {
    surrogate: &'a Surrogate,
    heat: f64,
    jumps: Option<Jumps>,
    /// Where its chains begin, over w/√heat.
    start: Vec<f64>,
}

impl<'a> Heated<'a> {
    /// Jumps go between the parts that short chains from these whitened places find.
    pub fn new(surrogate: &'a Surrogate, heat: f64, places: &[Vec<f64>], rng: &mut Rng) -> Self {
        let (p, scale) = (surrogate.dim(), heat.sqrt());
        let places = if p <= JUMP_MOST_SLOW { places } else { &[] };
        let narrow = |w: Vec<f64>| -> Vec<f64> { w.iter().map(|v| v / scale).collect() };
        let looked = wander::hot_draws(&surrogate.shape, heat, places, HEATED_LOOK, rng);
        let mut looked: Vec<Vec<f64>> = looked.into_iter().map(narrow).collect();
        let jumps = Jumps::fit(&looked);
        let start = looked.pop().unwrap_or_else(|| vec![0.0; p]);
        Self {
            surrogate,
            heat,
            jumps,
            start,
        }
    }

    /// So many draws, whitened, by one long chain, so many moves apart.
    pub fn draws(&self, count: usize, moves: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let scale = self.heat.sqrt();
        let hot = wander::heated(&self.surrogate.shape, self.heat);
        let mut chain = Wander::new(&hot, self.start.clone(), self.jumps.as_ref());
        chain.run(HEATED_BURN, rng);
        (0..count)
            .map(|_| {
                chain.run(moves, rng);
                chain.w.iter().map(|v| scale * v).collect()
            })
            .collect()
    }
}

impl Surrogate {
    /// The logarithm of its heated density by its own at a whitened point, neither normalised.
    pub(crate) fn log_heating(&self, w: &[f64], heat: f64) -> f64 {
        self.shape.with_an_end(w, heat) / heat - self.shape.log_density(w)
    }
}
