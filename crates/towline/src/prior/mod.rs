//! Priors of single parameters: normalised densities that can be written, read, drawn from and stored.

mod density;
mod draw;
mod slope;
#[cfg(test)]
mod tests;
mod text;

use crate::error::Error;
use serde::{Deserialize, Serialize};

/// The prior of one parameter.
///
/// It reads and writes as people say it, and is stored as plain data with its family's name:
///
/// ```
/// use towline::Prior;
/// let prior: Prior = "normal(0, 2.5)".parse()?;
/// assert_eq!(prior, Prior::Normal { mean: 0.0, sd: 2.5 });
/// assert_eq!(prior.to_string(), "normal(0, 2.5)");
/// assert!((prior.log_density(0.0) - (-1.8352)).abs() < 1e-4);
/// assert!("normal(0, -1)".parse::<Prior>().is_err());
/// # Ok::<(), towline::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case", deny_unknown_fields)]
pub enum Prior {
    /// Normal.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        sd: f64,
    },
    /// The exponential of a normal variable.
    LogNormal {
        /// The mean of the logarithm.
        log_mean: f64,
        /// The standard deviation of the logarithm.
        log_sd: f64,
    },
    /// The absolute value of a normal variable with mean zero.
    HalfNormal {
        /// The standard deviation of that variable.
        scale: f64,
    },
    /// Half a normal, upwards from where it has its top.
    HalfNormalAbove {
        /// The lower end.
        lower: f64,
        /// The standard deviation of the whole normal.
        scale: f64,
    },
    /// Half a normal, downwards from where it has its top.
    HalfNormalBelow {
        /// The upper end.
        upper: f64,
        /// The standard deviation of the whole normal.
        scale: f64,
    },
    /// Student's t.
    StudentT {
        /// Degrees of freedom.
        df: f64,
        /// Its centre.
        location: f64,
        /// Its scale.
        scale: f64,
    },
    /// The absolute value of a Student t variable with centre zero.
    HalfStudentT {
        /// Degrees of freedom.
        df: f64,
        /// Its scale.
        scale: f64,
    },
    /// Cauchy.
    Cauchy {
        /// Its centre.
        location: f64,
        /// Its scale.
        scale: f64,
    },
    /// The absolute value of a Cauchy variable with centre zero.
    HalfCauchy {
        /// Its scale, which is also its median.
        scale: f64,
    },
    /// Exponential.
    Exponential {
        /// One over its mean.
        rate: f64,
    },
    /// Gamma: density in proportion to x^(shape − 1) exp(−rate x).
    Gamma {
        /// Its shape.
        shape: f64,
        /// Its rate: the mean is shape / rate.
        rate: f64,
    },
    /// One over a gamma variable: density in proportion to x^(−shape − 1) exp(−scale / x).
    InverseGamma {
        /// Its shape.
        shape: f64,
        /// Its scale: the mean is scale / (shape − 1).
        scale: f64,
    },
    /// Beta, on (0, 1).
    Beta {
        /// The power of x, plus one.
        a: f64,
        /// The power of 1 − x, plus one.
        b: f64,
    },
    /// Uniform on an interval.
    Uniform {
        /// Its lower end.
        lower: f64,
        /// Its upper end.
        upper: f64,
    },
    /// Uniform on an interval that is far wider than what data leave of it: chains move on its own scale, and only within about this width of
    /// an end on that of the logarithm. The density is that of [`Uniform`](Self::Uniform), whose chains move by the logit: what is normal but for
    /// an end nearby stays nearly so here.
    UniformWide {
        /// Its lower end.
        lower: f64,
        /// Its upper end.
        upper: f64,
        /// About the standard deviation of the posterior.
        width: f64,
    },
    /// Uniform on a circle: both ends are the same point, as for an angle.
    UniformPeriodic {
        /// Where the circle is cut.
        lower: f64,
        /// The same point, one period later.
        upper: f64,
    },
    /// The prior of a standard deviation that penalises complexity (Simpson et al. 2017): exponential, with
    /// P(sd > u) = alpha.
    PcSd {
        /// A standard deviation that would be surprisingly large.
        u: f64,
        /// How improbable it is to exceed it.
        alpha: f64,
    },
    /// The prior of a Matérn field's range in the plane that penalises complexity (Fuglstad et al. 2019):
    /// P(range < u) = alpha, density λ r⁻² exp(−λ/r) with λ = −u ln alpha.
    PcRange {
        /// A range that would be surprisingly short.
        u: f64,
        /// How improbable it is to fall below it.
        alpha: f64,
    },
}

/// Arguments beyond this, or closer to zero than one over it, would overflow in the densities.
const LARGEST: f64 = 1e100;

impl Prior {
    /// The ends of the support.
    pub fn support(&self) -> (f64, f64) {
        match *self {
            Self::Normal { .. } | Self::StudentT { .. } | Self::Cauchy { .. } => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            Self::LogNormal { .. }
            | Self::HalfNormal { .. }
            | Self::HalfStudentT { .. }
            | Self::HalfCauchy { .. }
            | Self::Exponential { .. }
            | Self::Gamma { .. }
            | Self::InverseGamma { .. }
            | Self::PcSd { .. }
            | Self::PcRange { .. } => (0.0, f64::INFINITY),
            Self::HalfNormalAbove { lower, .. } => (lower, f64::INFINITY),
            Self::HalfNormalBelow { upper, .. } => (f64::NEG_INFINITY, upper),
            Self::Beta { .. } => (0.0, 1.0),
            Self::Uniform { lower, upper }
            | Self::UniformWide { lower, upper, .. }
            | Self::UniformPeriodic { lower, upper } => (lower, upper),
        }
    }

    /// Whether the ends of the support are the same point.
    pub fn is_periodic(&self) -> bool {
        matches!(self, Self::UniformPeriodic { .. })
    }

    /// Refuses arguments for which there is no such distribution.
    ///
    /// # Errors
    /// [`Error::Prior`], naming the argument.
    pub fn validate(&self) -> Result<(), Error> {
        let (form, values) = self.parts();
        let refuse = |reason: String| {
            Err(Error::Prior {
                prior: self.to_string(),
                reason,
            })
        };
        for (name, &value) in form.arguments.iter().zip(&values) {
            if !value.is_finite() || value.abs() > LARGEST {
                return refuse(format!("{name} must be a number of at most {LARGEST:e}"));
            }
            let free = matches!(*name, "mean" | "log_mean" | "location" | "lower" | "upper");
            if !free && value < 1.0 / LARGEST {
                return refuse(format!("{name} must be above zero"));
            }
            if *name == "alpha" && value >= 1.0 {
                return refuse("alpha is a probability: it must be below one".into());
            }
        }
        match *self {
            Self::Uniform { lower, upper }
            | Self::UniformWide { lower, upper, .. }
            | Self::UniformPeriodic { lower, upper }
                if lower >= upper =>
            {
                refuse("lower must be below upper".into())
            }
            _ => Ok(()),
        }
    }
}
