//! Between the user's scale and the unconstrained one: which transform, and its Jacobian.
//!
//! A half-line goes by the logarithm and an interval by the logit, one coordinate each. An interval far wider than the posterior goes by
//! ln(1 + eᵗ) − ln(1 + eᵗ⁻ᴸ), which is a line but near its ends, and there the logarithm. A circle goes to the
//! plane: φ is the angle of a point (a, b) whose distance r from the origin is given the density
//! 2 r² exp(−r²) · r dr. That is exact, proper and has no seam. (On the line of unwrapped angles a density is
//! periodic, hence improper; weighting its periods fixes that but leaves one mode for each of them, which the
//! covariances of warm-up would take for one wide one. Cutting the circle puts a wall where there is none.)

use crate::prior::Prior;
use std::f64::consts::{PI, TAU};

/// The transform of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scale {
    Line,
    Above { lower: f64 },
    Below { upper: f64 },
    Between { lower: f64, upper: f64 },
    Wide { lower: f64, upper: f64, width: f64 },
    Circle { lower: f64, upper: f64 },
}

impl Scale {
    pub(super) fn of(prior: &Prior) -> Self {
        if let Prior::UniformWide {
            lower,
            upper,
            width,
        } = *prior
        {
            return Self::Wide {
                lower,
                upper,
                width,
            };
        }
        match prior.support() {
            (lower, upper) if prior.is_periodic() => Self::Circle { lower, upper },
            (lower, upper) if lower.is_finite() && upper.is_finite() => {
                Self::Between { lower, upper }
            }
            (lower, _) if lower.is_finite() => Self::Above { lower },
            (_, upper) if upper.is_finite() => Self::Below { upper },
            _ => Self::Line,
        }
    }

    /// How many unconstrained coordinates it takes.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Circle { .. } => 2,
            _ => 1,
        }
    }

    /// The value on the user's scale, always strictly inside the support, and the logarithm of the Jacobian:
    /// −∞ where the coordinates are so far out that the value means nothing.
    #[inline]
    pub(super) fn value(self, u: &[f64]) -> (f64, f64) {
        match self {
            Self::Line => (
                u[0],
                if u[0].is_finite() {
                    0.0
                } else {
                    f64::NEG_INFINITY
                },
            ),
            Self::Above { lower } => {
                let away = u[0].exp();
                let value = (lower + away).max(above(lower));
                let fine = u[0].is_finite() && value.is_finite();
                (value, if fine { u[0] } else { f64::NEG_INFINITY })
            }
            Self::Below { upper } => {
                let (value, log) = Self::Above { lower: -upper }.value(u);
                (-value, log)
            }
            Self::Between { lower, upper } => {
                let far = u[0].abs();
                let small = (-far).exp();
                let share = small / (1.0 + small);
                let value = if u[0] < 0.0 {
                    lower + (upper - lower) * share
                } else {
                    upper - (upper - lower) * share
                };
                let value = value.max(above(lower)).min(below(upper));
                let jacobian = (upper - lower).ln() - far - 2.0 * small.ln_1p();
                (
                    value,
                    if far.is_finite() {
                        jacobian
                    } else {
                        f64::NEG_INFINITY
                    },
                )
            }
            Self::Wide {
                lower,
                upper,
                width,
            } => {
                let (t, length) = (u[0], (upper - lower) / width);
                // From whichever end is nearer.
                let value = if t < 0.5 * length {
                    lower + width * (soft(t) - soft(t - length))
                } else {
                    upper - width * (soft(length - t) - soft(-t))
                };
                let value = value.max(above(lower)).min(below(upper));
                let jacobian =
                    width.ln() + (-(-length).exp_m1()).ln() - soft(-t) - soft(t - length);
                (
                    value,
                    if t.is_finite() {
                        jacobian
                    } else {
                        f64::NEG_INFINITY
                    },
                )
            }
            Self::Circle { lower, upper } => {
                let square = u[0] * u[0] + u[1] * u[1];
                if !(square > 0.0 && square < 1e300) {
                    return (lower, f64::NEG_INFINITY);
                }
                let turn = (u[1].atan2(u[0]) / TAU).rem_euclid(1.0);
                // One period of φ is a turn; the plane's density is that of the angle times 2 r² exp(−r²).
                let jacobian = ((upper - lower) / PI).ln() + square.ln() - square;
                ((lower + (upper - lower) * turn).min(below(upper)), jacobian)
            }
        }
    }

    /// The coordinates of a value inside the support.
    pub(super) fn coordinates(self, value: f64, out: &mut [f64]) {
        match self {
            Self::Line => out[0] = value,
            Self::Above { lower } => out[0] = (value - lower).max(f64::MIN_POSITIVE).ln(),
            Self::Below { upper } => Self::Above { lower: -upper }.coordinates(-value, out),
            Self::Between { lower, upper } => {
                let (left, right) = (value - lower, upper - value);
                let tiny = f64::MIN_POSITIVE;
                out[0] = left.max(tiny).ln() - right.max(tiny).ln();
            }
            Self::Wide {
                lower,
                upper,
                width,
            } => {
                let [left, right] =
                    [value - lower, upper - value].map(|v| (v / width).max(f64::MIN_POSITIVE));
                // ln(e^left − 1) − ln(1 − e^−right), the first without overflow.
                out[0] = left + (-(-left).exp_m1()).ln() - (-(-right).exp_m1()).ln();
            }
            Self::Circle { lower, upper } => {
                let angle = TAU * (value - lower) / (upper - lower);
                (out[0], out[1]) = (angle.cos(), angle.sin());
            }
        }
    }

    /// From the slope in the value to those in the coordinates, the Jacobian's own included.
    pub(super) fn slopes(self, u: &[f64], value: f64, slope: f64, out: &mut [f64]) {
        match self {
            Self::Line => out[0] = slope,
            Self::Above { lower } => out[0] = slope * (value - lower) + 1.0,
            Self::Below { upper } => out[0] = slope * (value - upper) + 1.0,
            Self::Between { lower, upper } => {
                let share = (value - lower) / (upper - lower);
                out[0] = slope * (upper - lower) * share * (1.0 - share) + 1.0 - 2.0 * share;
            }
            Self::Wide {
                lower,
                upper,
                width,
            } => {
                let length = (upper - lower) / width;
                let [down, up] = [-u[0], u[0] - length].map(|t| 1.0 / (1.0 + (-t).exp()));
                out[0] = slope * width * (1.0 - down - up) + down - up;
            }
            Self::Circle { lower, upper } => {
                let square = u[0] * u[0] + u[1] * u[1];
                let turning = slope * (upper - lower) / TAU / square;
                let outward = 2.0 / square - 2.0;
                out[0] = -turning * u[1] + outward * u[0];
                out[1] = turning * u[0] + outward * u[1];
            }
        }
    }
}

/// ln(1 + eᵗ), for any t.
fn soft(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

/// The least number above an end: models divide by values and take their logarithms.
fn above(lower: f64) -> f64 {
    if lower == 0.0 {
        f64::MIN_POSITIVE
    } else {
        lower.next_up()
    }
}

fn below(upper: f64) -> f64 {
    if upper == 0.0 {
        -f64::MIN_POSITIVE
    } else {
        upper.next_down()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCALES: [Scale; 7] = [
        Scale::Line,
        Scale::Above { lower: 0.0 },
        Scale::Below { upper: 4.5 },
        Scale::Between {
            lower: -2.0,
            upper: 5.0,
        },
        Scale::Circle {
            lower: -1.0,
            upper: 4.0,
        },
        Scale::Wide {
            lower: 0.0,
            upper: 40.0,
            width: 0.5,
        },
        Scale::Wide {
            lower: -3.0,
            upper: 4.0,
            width: 20.0,
        },
    ];

    #[test]
    fn values_come_back_and_jacobians_are_derivatives() {
        for scale in SCALES {
            for value in [0.01, 0.5, 2.3, 3.9] {
                let mut u = [0.0; 2];
                scale.coordinates(value, &mut u);
                let (back, log) = scale.value(&u);
                assert!(
                    (back - value).abs() < 1e-12,
                    "{scale:?}: {back} is not {value}"
                );
                let h = 1e-6;
                let ends = [h, -h].map(|h| scale.value(&[u[0] + h, 0.0]).0);
                if scale.width() == 1 {
                    let numeric = ((ends[0] - ends[1]) / (2.0 * h)).abs().ln();
                    assert!((numeric - log).abs() < 1e-8, "{scale:?} at {value}");
                }
            }
        }
    }

    #[test]
    fn slopes_are_those_of_the_density_with_its_jacobian() {
        // Of −value²/2, by differences.
        for scale in SCALES.into_iter().filter(|scale| scale.width() == 1) {
            for value in [0.01, 0.5, 2.3, 3.9] {
                let (mut u, mut slope, h) = ([0.0], [0.0], 1e-5);
                scale.coordinates(value, &mut u);
                scale.slopes(&u, value, -value, &mut slope);
                let height = |u: f64| {
                    let (value, log) = scale.value(&[u]);
                    log - 0.5 * value * value
                };
                let numeric = (height(u[0] + h) - height(u[0] - h)) / (2.0 * h);
                assert!(
                    (numeric - slope[0]).abs() < 1e-6 * (1.0 + numeric.abs()),
                    "{scale:?} at {value}: {} is not {numeric}",
                    slope[0]
                );
            }
        }
    }

    #[test]
    fn a_wide_interval_is_a_line_but_near_its_ends() {
        let scale = SCALES[5];
        let coordinate = |value: f64| {
            let mut u = [0.0];
            scale.coordinates(value, &mut u);
            u[0]
        };
        // In units of its width, 0.5.
        assert!((coordinate(20.0) - coordinate(10.0) - 20.0).abs() < 1e-6);
        assert!((coordinate(1e-6) - coordinate(1e-9) - 1000f64.ln()).abs() < 1e-5);
        assert!((coordinate(40.0 - 1e-9) - coordinate(40.0 - 1e-6) - 1000f64.ln()).abs() < 1e-5);
    }

    #[test]
    fn the_plane_of_a_circle_holds_as_much_as_the_circle() {
        // ∫∫ exp(log Jacobian) da db = the length of the circle.
        let scale = SCALES[4];
        let (h, ends) = (0.01, 700);
        let mut total = 0.0;
        for i in -ends..=ends {
            for j in -ends..=ends {
                let log = scale.value(&[f64::from(i) * h, f64::from(j) * h]).1;
                total += log.exp() * h * h;
            }
        }
        assert!((total - 5.0).abs() < 1e-6, "{total}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn no_coordinates_give_nan_or_leave_the_support(a in any::<f64>(), b in any::<f64>()) {
            for scale in SCALES {
                let (value, log) = scale.value(&[a, b]);
                prop_assert!(!log.is_nan() && log < f64::INFINITY, "{scale:?} at {a}, {b}: {log}");
                match scale {
                    Scale::Above { lower } => prop_assert!(value > lower || log == f64::NEG_INFINITY),
                    Scale::Below { upper } => prop_assert!(value < upper || log == f64::NEG_INFINITY),
                    Scale::Between { lower, upper } | Scale::Wide { lower, upper, .. } => {
                        prop_assert!((value > lower && value < upper) || log == f64::NEG_INFINITY);
                    }
                    Scale::Circle { lower, upper } => prop_assert!(value >= lower && value < upper),
                    Scale::Line => {}
                }
            }
        }
    }
}
