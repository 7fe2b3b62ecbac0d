//! Test processes whose autocorrelation time is known exactly.

use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stationary chain x_{t+1} = φ x_t + sqrt(1 − φ²) e_t with unit variance and ρ_k = φ^k.
pub(super) fn ar1(phi: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut x: f64 = StandardNormal.sample(&mut rng);
    let noise = (1.0 - phi * phi).sqrt();
    (0..count)
        .map(|_| {
            let now = x;
            let e: f64 = StandardNormal.sample(&mut rng);
            x = phi * x + noise * e;
            now
        })
        .collect()
}

/// The autocorrelation time of [`ar1`]: (1 + φ) / (1 − φ).
pub(super) fn ar1_time(phi: f64) -> f64 {
    (1.0 + phi) / (1.0 - phi)
}

/// A quick process and a slow one in sum: ρ_k = 0.8 · 0.5^k + 0.2 · 0.99^k.
pub(super) fn two_speeds(count: usize, seed: u64) -> Vec<f64> {
    let quick = ar1(0.5, count, 2 * seed);
    let slow = ar1(0.99, count, 2 * seed + 1);
    quick
        .iter()
        .zip(&slow)
        .map(|(q, s)| 0.8f64.sqrt() * q + 0.2f64.sqrt() * s)
        .collect()
}

/// The autocorrelation time of [`two_speeds`].
pub(super) fn two_speeds_time() -> f64 {
    0.8 * ar1_time(0.5) + 0.2 * ar1_time(0.99)
}
