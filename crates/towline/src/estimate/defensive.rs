//! A defensive mixture (Hesterberg 1995; Owen and Zhou 2000): one slow point in three is a draw of π̃ heated.
//!
//! Fifty draws of π̃ hardly ever lie in its tails. What grows there, a square of a square, say, would now and then be seen once and
//! have too large a share, and mostly not at all, with an error that knows of neither. Heated draws go there, and weights are by the
//! density of the mixture, so that none is large. The mixture's own ratio to π̃ is known at every point for nothing: it multiplies the
//! controls, and is one itself, so that what controls explain is explained as before.

use super::bridge::bridge;
use super::free::{Free, Purpose};
use crate::slow::surrogate::{Heated, Surrogate};

/// One point in so many is heated.
const EVERY: usize = 3;
/// How hot, as exploring counts it (`warmup::explore`): so many standard deviations of the log density of π̃'s own draws further down.
const DEVIATIONS: f64 = 2.0;
/// Proposals of π̃ from which the heated chain's parts are looked for.
const PLACES: usize = 8;
/// Moves of the heated chain between two draws, and between two slow points.
const MOVES: usize = 7;
const MOVES_APART: usize = 41;
/// Heated draws for each of the free chains.
const BLOCK: usize = 250;

/// How hot the heated draws of so many slow variables are.
pub(crate) fn heat(p: usize) -> f64 {
    1.0 + DEVIATIONS * (2.0 / p as f64).sqrt()
}

/// Whether a point is one of the heated.
pub(crate) fn is_heated(index: usize) -> bool {
    index % EVERY == EVERY - 1
}

/// The first slow points, whitened: the first of them are the same however many there are.
pub(crate) fn slow_points(
    surrogate: &Surrogate,
    heat: Option<f64>,
    seed: u64,
    count: usize,
) -> Vec<Vec<f64>> {
    let hot = match heat {
        Some(_) => (0..count).filter(|k| is_heated(*k)).count(),
        None => 0,
    };
    let mut own = super::free::own_points(surrogate, seed, count - hot).into_iter();
    let Some(heat) = heat else {
        return own.collect();
    };
    let mut rng = Purpose::Points.stream(seed, 1);
    let draws = heated(surrogate, heat, seed).draws(hot, MOVES_APART, &mut rng);
    let mut hot = draws.into_iter();
    (0..count)
        .filter_map(|k| match is_heated(k) {
            true => hot.next(),
            false => own.next(),
        })
        .collect()
}

fn heated(surrogate: &Surrogate, heat: f64, seed: u64) -> Heated<'_> {
    let mut rng = Purpose::Heated.stream(seed, 0);
    let places = surrogate.stretch(PLACES, 1, &mut rng);
    Heated::new(surrogate, heat, &places, &mut rng)
}

/// The mixture, normalised.
#[derive(Debug, Clone)]
pub(crate) struct Defensive {
    heat: f64,
    /// ln of the heated density's integral by that of π̃.
    log_constant: f64,
}

impl Defensive {
    /// Its constant, from free draws of both (it is known to a hundredth, and where weights are constant nothing depends on it).
    pub fn new(surrogate: &Surrogate, heat: f64, seed: u64, free: &Free) -> Option<Self> {
        let hot = heated(surrogate, heat, seed);
        let ratios = |draws: &[Vec<f64>]| -> Vec<f64> {
            let ratio = |w: &Vec<f64>| surrogate.log_heating(w, heat);
            draws.iter().map(ratio).collect()
        };
        let at_own: Vec<Vec<f64>> = free
            .chains
            .iter()
            .map(|chain| ratios(&chain[..BLOCK.min(chain.len())]))
            .collect();
        let at_hot: Vec<Vec<f64>> = (0..at_own.len())
            .map(|k| {
                let mut rng = Purpose::Heated.stream(seed, 1 + k as u64);
                ratios(&hot.draws(BLOCK, MOVES, &mut rng))
            })
            .collect();
        let (log_constant, _) = bridge(&at_hot, &at_own);
        log_constant
            .is_finite()
            .then_some(Self { heat, log_constant })
    }

    /// π̃ by the density of the mixture with such a share of heated draws, at a whitened point.
    pub fn ratio(&self, surrogate: &Surrogate, share: f64, w: &[f64]) -> f64 {
        let hot = (surrogate.log_heating(w, self.heat) - self.log_constant).exp();
        (1.0 - share + share * hot).recip()
    }
}
