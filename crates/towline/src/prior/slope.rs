//! The derivatives of the priors' log densities, for targets that give gradients.

use super::Prior;
use super::density::{pc_range_rate, pc_sd_rate};

impl Prior {
    /// The derivative of [`log_density`](Self::log_density) at `x`, inside the support.
    pub fn slope(&self, x: f64) -> f64 {
        match *self {
            Self::Normal { mean, sd } => -(x - mean) / (sd * sd),
            Self::LogNormal { log_mean, log_sd } => {
                -(1.0 + (x.ln() - log_mean) / (log_sd * log_sd)) / x
            }
            Self::HalfNormal { scale } => -x / (scale * scale),
            Self::HalfNormalAbove { lower: end, scale }
            | Self::HalfNormalBelow { upper: end, scale } => -(x - end) / (scale * scale),
            Self::StudentT {
                df,
                location,
                scale,
            } => student(df, (x - location) / scale) / scale,
            Self::HalfStudentT { df, scale } => student(df, x / scale) / scale,
            Self::Cauchy { location, scale } => student(1.0, (x - location) / scale) / scale,
            Self::HalfCauchy { scale } => student(1.0, x / scale) / scale,
            Self::Exponential { rate } => -rate,
            Self::Gamma { shape, rate } => (shape - 1.0) / x - rate,
            Self::InverseGamma { shape, scale } => (scale / x - shape - 1.0) / x,
            Self::Beta { a, b } => (a - 1.0) / x - (b - 1.0) / (1.0 - x),
            Self::Uniform { .. } | Self::UniformWide { .. } | Self::UniformPeriodic { .. } => 0.0,
            Self::PcSd { u, alpha } => -pc_sd_rate(u, alpha),
            Self::PcRange { u, alpha } => (pc_range_rate(u, alpha) / x - 2.0) / x,
        }
    }
}

fn student(df: f64, z: f64) -> f64 {
    -(df + 1.0) * z / (df + z * z)
}
