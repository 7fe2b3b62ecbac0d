//! Draws of π̃ that cost nothing: what is known of it, and where the slow points are.

use super::bridge::bridge;
use crate::random::Rng;
use crate::slow::surrogate::Surrogate;

/// Independent chains, and the fewest draws of each: the means of the controls are then known to 0.006 of their spread.
const CHAINS: usize = 32;
const LENGTH: usize = 1000;
/// Free draws in all for an error of one standard deviation: they may add a quarter of the error that is asked for.
const FOR_ERROR: f64 = 17.0;
/// Draws of the neighbour in each block of the bridge.
const BLOCK: usize = 500;
/// Proposals between two slow points, whose memory of each other is then gone (0.05 to the power of this, at most).
const APART: usize = 4;
/// What sets the streams of random numbers apart from those of chains, and from each other.
const OF_FREE: u64 = 0x66_72_65_65;
const OF_POINTS: u64 = 0x70_6f_69_6e_74;
const OF_BRIDGE: u64 = 0x62_72_69_64_67_65;
const OF_FAST: u64 = 0x66_61_73_74;

/// Free draws, whitened.
#[derive(Debug, Clone)]
pub(crate) struct Free {
    /// Chain by chain.
    pub chains: Vec<Vec<Vec<f64>>>,
}

impl Free {
    /// As many as such an error (in standard deviations) asks for, on so many threads: the same whatever that is.
    pub fn new(surrogate: &Surrogate, seed: u64, error: f64, threads: usize) -> Self {
        let length = (FOR_ERROR / (error * error) / CHAINS as f64).ceil() as usize;
        let length = length.max(LENGTH);
        let one = |k: usize| {
            let mut rng = Rng::stream(mixed(seed, OF_FREE, k as u64), 0);
            surrogate.stretch(length, 1, &mut rng)
        };
        let threads = threads.clamp(1, CHAINS);
        let mut chains = vec![Vec::new(); CHAINS];
        std::thread::scope(|scope| {
            for (first, part) in chains.chunks_mut(CHAINS.div_ceil(threads)).enumerate() {
                let from = first * CHAINS.div_ceil(threads);
                let one = &one;
                scope.spawn(move || {
                    for (k, chain) in part.iter_mut().enumerate() {
                        *chain = one(from + k);
                    }
                });
            }
        });
        Self { chains }
    }

    /// The number of slow variables.
    pub fn dim(&self) -> usize {
        self.draws().next().map_or(0, Vec::len)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.chains.iter().map(Vec::len).sum()
    }

    /// One after another.
    pub fn draws(&self) -> impl Iterator<Item = &Vec<f64>> {
        self.chains.iter().flatten()
    }

    /// ln ∫π̃ dx and its standard error: half of the chains make the neighbour, the others measure against it.
    pub fn log_constant(&self, surrogate: &Surrogate, seed: u64) -> Option<(f64, f64)> {
        let (for_fit, for_bridge) = self.chains.split_at(CHAINS / 2);
        let first = |chain: &Vec<Vec<f64>>| chain[..LENGTH.min(chain.len())].to_vec();
        let for_fit: Vec<Vec<f64>> = for_fit.iter().flat_map(first).collect();
        let neighbour = surrogate.neighbour(&for_fit)?;
        let at_p: Vec<Vec<f64>> = for_bridge
            .iter()
            .map(|chain| {
                let some = chain.iter().take(LENGTH);
                some.map(|w| neighbour.log_ratio(w)).collect()
            })
            .collect();
        let at_q: Vec<Vec<f64>> = (0..for_bridge.len())
            .map(|k| {
                let mut rng = Rng::stream(mixed(seed, OF_BRIDGE, k as u64), 0);
                (0..BLOCK)
                    .map(|_| neighbour.log_ratio(&neighbour.draw(&mut rng)))
                    .collect()
            })
            .collect();
        Some(bridge(&at_p, &at_q)).filter(|(log, error)| log.is_finite() && error.is_finite())
    }
}

/// The first slow points, whitened: draws of π̃ by a chain of their own, the first of which are the same however many there are.
pub(crate) fn slow_points(surrogate: &Surrogate, seed: u64, count: usize) -> Vec<Vec<f64>> {
    let mut rng = Rng::stream(mixed(seed, OF_POINTS, 0), 0);
    surrogate.stretch(count, APART, &mut rng)
}

/// The random numbers of a point's fast draws.
pub(crate) fn fast_stream(seed: u64, point: usize) -> Rng {
    Rng::stream(mixed(seed, OF_FAST, point as u64), 0)
}

/// A seed made of three numbers (the finaliser of splitmix64, once for each).
fn mixed(seed: u64, purpose: u64, index: u64) -> u64 {
    [purpose, index].into_iter().fold(seed, |sum, part| {
        let mut z =
            sum.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}
