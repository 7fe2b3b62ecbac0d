//! Counts with mean μ = e^η and variance μ + μ²/size.

use super::random::{gamma, poisson};
use super::{Pointwise, Settled};
use crate::vector::{exp, logistic, logistic_slope, softplus};
use towline::Rng;

/// The counts.
#[derive(Debug, Clone)]
pub(crate) struct NegativeBinomial {
    data: Vec<f64>,
    constant: f64,
    /// The different counts and how often each occurs: the constant needs a gamma function for each, no more.
    counts: Vec<(f64, f64)>,
}

impl NegativeBinomial {
    pub fn new(data: Vec<f64>) -> Self {
        let constant = -data.iter().map(|y| libm::lgamma(y + 1.0)).sum::<f64>();
        let mut sorted = data.clone();
        sorted.sort_by(f64::total_cmp);
        let groups = sorted.chunk_by(|a, b| a == b);
        let counts = groups.map(|g| (g[0], g.len() as f64)).collect();
        Self {
            data,
            constant,
            counts,
        }
    }
}

/// Γ(y + size)/Γ(size) · size^−y, as a logarithm: tends to 0 as the size grows, and must not lose its digits there.
pub(super) fn rising(y: f64, size: f64) -> f64 {
    if y <= 64.0 {
        // A product of few factors.
        (0..y as u32).map(|k| (f64::from(k) / size).ln_1p()).sum()
    } else {
        libm::lgamma(y + size) - libm::lgamma(size) - y * size.ln()
    }
}

impl Pointwise for NegativeBinomial {
    type Datum = f64;

    fn data(&self) -> &[f64] {
        &self.data
    }

    fn constant(&self, size: f64) -> f64 {
        let risen = self
            .counts
            .iter()
            .map(|(y, times)| times * rising(*y, size));
        self.constant + risen.sum::<f64>()
    }

    /// y η − (y + size) ln(1 + μ/size), since ln(size + μ) = ln size + ln(1 + e^(η − ln size)).
    #[inline(always)]
    fn log_p(y: f64, eta: f64, size: Settled) -> f64 {
        let t = eta - size.ln;
        // y η − y softplus(t) is y (ln size + t − softplus(t)), and t − softplus(t) = −softplus(−t).
        y * (size.ln - softplus(-t)) - size.value * softplus(t)
    }

    /// (y − μ)/(1 + μ/size).
    #[inline(always)]
    fn slope(y: f64, eta: f64, size: Settled) -> f64 {
        let t = eta - size.ln;
        y * logistic(-t) - size.value * logistic(t)
    }

    #[inline(always)]
    fn weight(y: f64, eta: f64, size: Settled) -> f64 {
        (y + size.value) * logistic_slope(eta - size.ln)
    }

    fn draw(_: f64, eta: f64, size: Settled, rng: &mut Rng) -> f64 {
        poisson(exp(eta) * gamma(size.value, rng) / size.value, rng)
    }
}
