//! Shapes ρ of stationary covariances, as functions of the distance r in units of the range.

use crate::parameter::{Register, Source, Value};
use crate::vector::{exp, wide};

/// The correlation at distance r (in units of the range).
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// exp(−r²/2).
    SquaredExponential,
    /// Matérn ½: exp(−r).
    Exponential,
    /// (1 + √3 r) exp(−√3 r).
    Matern32,
    /// (1 + √5 r + 5r²/3) exp(−√5 r).
    Matern52,
    /// exp(−r^power), 0 < power ≤ 2.
    PoweredExponential {
        /// The power.
        power: Value,
    },
    /// (1 + r²/(2 mix))^−mix: squared exponentials of many ranges.
    RationalQuadratic {
        /// The mix: the larger, the nearer to one range.
        mix: Value,
    },
}

/// A shape whose parameters are numbered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Settled {
    SquaredExponential,
    Exponential,
    Matern32,
    Matern52,
    Powered(Source),
    RationalQuadratic(Source),
}

impl Shape {
    /// Whether it is a covariance of great-circle distances on a sphere, whatever the range: so are exp(−r^p) with p ≤ 1,
    /// and no Matérn function with ν above ½ (Gneiting 2013, table 1).
    pub(crate) fn is_valid_on_great_circles(&self) -> bool {
        match self {
            Self::Exponential => true,
            Self::PoweredExponential { power } => match power {
                Value::Fixed(power) => *power <= 1.0,
                Value::Free(parameter) => parameter.prior.support().1 <= 1.0,
            },
            _ => false,
        }
    }

    pub(super) fn number(&self, register: &mut Register) -> Settled {
        match self {
            Self::SquaredExponential => Settled::SquaredExponential,
            Self::Exponential => Settled::Exponential,
            Self::Matern32 => Settled::Matern32,
            Self::Matern52 => Settled::Matern52,
            Self::PoweredExponential { power } => Settled::Powered(register.add(power, 0.0, 2.0)),
            Self::RationalQuadratic { mix } => {
                Settled::RationalQuadratic(register.add(mix, 0.0, f64::INFINITY))
            }
        }
    }
}

impl Settled {
    /// From r² to variance · ρ(r), in place.
    pub fn apply(self, values: &[f64], variance: f64, out: &mut [f64]) {
        match self {
            Self::SquaredExponential => each(out, |r2| variance * exp(-0.5 * r2)),
            Self::Exponential => each(out, |r2| variance * exp(-r2.sqrt())),
            Self::Matern32 => each(out, |r2| {
                let s = (3.0 * r2).sqrt();
                variance * (1.0 + s) * exp(-s)
            }),
            Self::Matern52 => each(out, |r2| {
                let s = (5.0 * r2).sqrt();
                variance * (1.0 + s + s * s * (1.0 / 3.0)) * exp(-s)
            }),
            Self::Powered(power) => {
                let half = 0.5 * power.get(values);
                each(out, |r2| variance * exp(-r2.powf(half)));
            }
            Self::RationalQuadratic(mix) => {
                let mix = mix.get(values);
                each(out, |r2| variance * exp(-mix * (0.5 * r2 / mix).ln_1p()));
            }
        }
    }
}

#[inline(always)]
fn each(out: &mut [f64], f: impl Fn(f64) -> f64) {
    wide(
        #[inline(always)]
        || {
            for value in out.iter_mut() {
                *value = f(*value);
            }
        },
    );
}
