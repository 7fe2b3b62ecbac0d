//! Draws from priors.

use super::Prior;
use super::density::{pc_range_rate, pc_sd_rate};
use crate::random::Rng;
use std::f64::consts::PI;

impl Prior {
    /// A draw.
    pub fn draw(&self, rng: &mut Rng) -> f64 {
        match *self {
            Self::Normal { mean, sd } => mean + sd * rng.normal(),
            Self::LogNormal { log_mean, log_sd } => (log_mean + log_sd * rng.normal()).exp(),
            Self::HalfNormal { scale } => scale * rng.normal().abs(),
            Self::HalfNormalAbove { lower, scale } => lower + scale * rng.normal().abs(),
            Self::HalfNormalBelow { upper, scale } => upper - scale * rng.normal().abs(),
            Self::StudentT {
                df,
                location,
                scale,
            } => location + scale * student(df, rng),
            Self::HalfStudentT { df, scale } => scale * student(df, rng).abs(),
            Self::Cauchy { location, scale } => location + scale * cauchy(rng),
            Self::HalfCauchy { scale } => scale * cauchy(rng).abs(),
            Self::Exponential { rate } => rng.exponential() / rate,
            Self::Gamma { shape, rate } => log_gamma(shape, rng).exp() / rate,
            Self::InverseGamma { shape, scale } => scale / log_gamma(shape, rng).exp(),
            Self::Beta { a, b } => {
                // By logarithms: with small a and b both gamma draws may be too small for a double.
                let (left, right) = (log_gamma(a, rng), log_gamma(b, rng));
                1.0 / (1.0 + (right - left).exp())
            }
            Self::Uniform { lower, upper }
            | Self::UniformWide { lower, upper, .. }
            | Self::UniformPeriodic { lower, upper } => rng.between(lower, upper),
            Self::PcSd { u, alpha } => rng.exponential() / pc_sd_rate(u, alpha),
            Self::PcRange { u, alpha } => pc_range_rate(u, alpha) / rng.exponential(),
        }
    }
}

fn cauchy(rng: &mut Rng) -> f64 {
    (PI * (rng.uniform() - 0.5)).tan()
}

fn student(df: f64, rng: &mut Rng) -> f64 {
    rng.normal() * (0.5 * ((df / 2.0).ln() - log_gamma(df / 2.0, rng))).exp()
}

/// The logarithm of a gamma draw with rate one (Marsaglia and Tsang 2000).
fn log_gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        // A power of a uniform number brings the shape down from above one.
        return log_gamma(shape + 1.0, rng) - rng.exponential() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = rng.normal();
        let v = (1.0 + c * z).powi(3);
        if v > 0.0 && rng.accept(0.5 * z * z + d * (1.0 - v + v.ln())) {
            return (d * v).ln();
        }
    }
}
