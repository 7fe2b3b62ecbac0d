//! The priors' normalised log densities.

use super::Prior;
use libm::lgamma;
use std::f64::consts::{LN_2, PI};

impl Prior {
    /// The normalised log density at `x`; −∞ outside the support and at infinity, never +∞.
    pub fn log_density(&self, x: f64) -> f64 {
        let (lower, upper) = self.support();
        if x < lower || x > upper || x.is_infinite() {
            return f64::NEG_INFINITY;
        }
        match *self {
            Self::Normal { mean, sd } => log_normal((x - mean) / sd) - sd.ln(),
            Self::LogNormal { log_mean, log_sd } => inside(x, || {
                log_normal((x.ln() - log_mean) / log_sd) - log_sd.ln() - x.ln()
            }),
            Self::HalfNormal { scale } => LN_2 + log_normal(x / scale) - scale.ln(),
            Self::HalfNormalAbove { lower, scale } => {
                LN_2 + log_normal((x - lower) / scale) - scale.ln()
            }
            Self::HalfNormalBelow { upper, scale } => {
                LN_2 + log_normal((upper - x) / scale) - scale.ln()
            }
            Self::StudentT {
                df,
                location,
                scale,
            } => log_student(df, (x - location) / scale) - scale.ln(),
            Self::HalfStudentT { df, scale } => LN_2 + log_student(df, x / scale) - scale.ln(),
            Self::Cauchy { location, scale } => log_cauchy((x - location) / scale) - scale.ln(),
            Self::HalfCauchy { scale } => LN_2 + log_cauchy(x / scale) - scale.ln(),
            Self::Exponential { rate } => rate.ln() - rate * x,
            Self::Gamma { shape, rate } => inside(x, || {
                shape * rate.ln() - lgamma(shape) + (shape - 1.0) * x.ln() - rate * x
            }),
            Self::InverseGamma { shape, scale } => inside(x, || {
                shape * scale.ln() - lgamma(shape) - (shape + 1.0) * x.ln() - scale / x
            }),
            Self::Beta { a, b } => inside(x.min(1.0 - x), || {
                lgamma(a + b) - lgamma(a) - lgamma(b)
                    + (a - 1.0) * x.ln()
                    + (b - 1.0) * (-x).ln_1p()
            }),
            Self::Uniform { lower, upper }
            | Self::UniformWide { lower, upper, .. }
            | Self::UniformPeriodic { lower, upper } => -(upper - lower).ln(),
            Self::PcSd { u, alpha } => {
                let rate = pc_sd_rate(u, alpha);
                rate.ln() - rate * x
            }
            Self::PcRange { u, alpha } => inside(x, || {
                let rate = pc_range_rate(u, alpha);
                rate.ln() - 2.0 * x.ln() - rate / x
            }),
        }
    }
}

/// Exponential with P(sd > u) = alpha.
pub(super) fn pc_sd_rate(u: f64, alpha: f64) -> f64 {
    -alpha.ln() / u
}

/// P(range < u) = exp(−λ/u) = alpha.
pub(super) fn pc_range_rate(u: f64, alpha: f64) -> f64 {
    -alpha.ln() * u
}

/// An end of the support that the formula cannot take has no mass: whatever is said of it is right.
fn inside(distance: f64, value: impl FnOnce() -> f64) -> f64 {
    if distance <= 0.0 {
        f64::NEG_INFINITY
    } else {
        value()
    }
}

fn log_normal(z: f64) -> f64 {
    -0.5 * (z * z + (2.0 * PI).ln())
}

fn log_student(df: f64, z: f64) -> f64 {
    lgamma((df + 1.0) / 2.0)
        - lgamma(df / 2.0)
        - 0.5 * (df * PI).ln()
        - (df + 1.0) / 2.0 * (z * z / df).ln_1p()
}

fn log_cauchy(z: f64) -> f64 {
    -PI.ln() - (z * z).ln_1p()
}
