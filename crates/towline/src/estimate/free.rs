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
/// What random numbers are for: it sets their streams apart from those of chains, and from each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    Free,
    Points,
    Bridge,
    Fast,
    Heated,
}

impl Purpose {
    /// The stream of so many for this purpose.
    pub fn stream(self, seed: u64, index: u64) -> Rng {
        let name = match self {
            Self::Free => 0x66_72_65_65,
            Self::Points => 0x70_6f_69_6e_74,
            Self::Bridge => 0x62_72_69_64_67_65,
            Self::Fast => 0x66_61_73_74,
            Self::Heated => 0x68_65_61_74,
        };
        Rng::apart(seed, name, index)
    }
}

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
            let mut rng = Purpose::Free.stream(seed, k as u64);
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

    /// ln ∫π̃ dx and its standard error: each half of the chains makes a neighbour against which the other half measures.
    pub fn log_constant(&self, surrogate: &Surrogate, seed: u64) -> Option<(f64, f64)> {
        let (first, second) = self.chains.split_at(CHAINS / 2);
        let (one, other) = (
            measured(surrogate, first, second, seed, 0)?,
            measured(surrogate, second, first, seed, CHAINS)?,
        );
        let both = (0.5 * (one.0 + other.0), 0.5 * one.1.hypot(other.1));
        Some(both).filter(|(log, error)| log.is_finite() && error.is_finite())
    }
}

/// ln ∫π̃ dx by some chains, against a neighbour that was made of others, whose draws have the streams from this one on.
fn measured(
    surrogate: &Surrogate,
    for_fit: &[Vec<Vec<f64>>],
    for_bridge: &[Vec<Vec<f64>>],
    seed: u64,
    stream: usize,
) -> Option<(f64, f64)> {
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
            let mut rng = Purpose::Bridge.stream(seed, (stream + k) as u64);
            (0..BLOCK)
                .map(|_| neighbour.log_ratio(&neighbour.draw(&mut rng)))
                .collect()
        })
        .collect();
    Some(bridge(&at_p, &at_q))
}

/// Draws of π̃ for slow points, whitened, by a chain of their own: the first of them are the same however many there are.
pub(crate) fn own_points(surrogate: &Surrogate, seed: u64, count: usize) -> Vec<Vec<f64>> {
    surrogate.stretch(count, APART, &mut Purpose::Points.stream(seed, 0))
}
