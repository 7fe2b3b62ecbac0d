//! Draws that families need: binomial, Poisson and gamma numbers from uniform and normal ones.

use towline::Rng;

/// ln C(m, y).
pub(super) fn ln_choose(m: f64, y: f64) -> f64 {
    libm::lgamma(m + 1.0) - libm::lgamma(y + 1.0) - libm::lgamma(m - y + 1.0)
}

/// Successes in m trials: counted one by one.
pub(super) fn binomial(m: f64, p: f64, rng: &mut Rng) -> f64 {
    (0..m as u64).filter(|_| rng.uniform() < p).count() as f64
}

/// A Poisson number: by waiting times for small means, else by Hörmann's transformed rejection (PTRS, 1993).
pub(super) fn poisson(mean: f64, rng: &mut Rng) -> f64 {
    if mean < 10.0 {
        let (mut count, mut time) = (0.0, rng.exponential());
        while time < mean {
            count += 1.0;
            time += rng.exponential();
        }
        return count;
    }
    let (root, log) = (mean.sqrt(), mean.ln());
    let b = 0.931 + 2.53 * root;
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let v_r = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = rng.uniform() - 0.5;
        let v = rng.uniform();
        let s = 0.5 - u.abs();
        let k = ((2.0 * a / s + b) * u + mean + 0.43).floor();
        if s >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || (s < 0.013 && v > s) {
            continue;
        }
        let left = v.ln() + inverse_alpha.ln() - (a / (s * s) + b).ln();
        if left <= -mean + k * log - libm::lgamma(k + 1.0) {
            return k;
        }
    }
}

/// A gamma number with scale 1 (Marsaglia and Tsang 2000).
pub(crate) fn gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        let u = 1.0 - rng.uniform();
        return gamma(shape + 1.0, rng) * u.powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = rng.normal();
        let v = (1.0 + c * z).powi(3);
        if v > 0.0 && 0.5 * z * z + d - d * v + d * v.ln() > -rng.exponential() {
            return d * v;
        }
    }
}
