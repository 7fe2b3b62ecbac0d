//! Default priors: weakly informative, on the scale of the data, each with its reason.
//!
//! On the scale of a link, effects beyond ±5 make probabilities of 0 or 1 and multiply counts by 150: priors that
//! allow them without favouring them keep an answer finite and leave data to decide. For a Gaussian response the
//! unit is the response's standard deviation.

use crate::formula::deviation;
use statrs::function::gamma::gamma_lr;
use towline::Prior;

/// How far a coefficient goes for a change of one standard deviation of its covariate (Gelman et al. 2008).
const EFFECT: f64 = 2.5;
/// How far an intercept goes.
const INTERCEPT: f64 = 5.0;
/// How improbable a length scale below the shortest, or above the longest distance is.
const TAIL: f64 = 0.01;
/// The shape of the LKJ prior of correlations: slightly in favour of weak ones.
pub(crate) const CORRELATION: f64 = 2.0;

/// A prior and why it was chosen.
pub(crate) type Reasoned = (Prior, String);

/// The unit of the linear predictor: 1 on a link's scale, the response's standard deviation for a Gaussian one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub unit: f64,
    /// Where the linear predictor of an average row lies.
    pub centre: f64,
}

/// Three significant digits: a default that depends on data should still be readable.
fn short(value: f64) -> f64 {
    // Adding zero makes −0 and 0 the same.
    format!("{value:.2e}").parse().unwrap_or(value) + 0.0
}

pub(crate) fn coefficient(column: &[f64], indicator: bool, unit: Unit) -> Reasoned {
    let sd = deviation(column, 0.0);
    let (scale, why) = if indicator || sd <= 0.0 {
        (
            EFFECT,
            "a factor's level: 2.5 on the link's scale".to_string(),
        )
    } else {
        (
            EFFECT / sd,
            format!("2.5 for one sd of the covariate ({})", short(sd)),
        )
    };
    let prior = Prior::Normal {
        mean: 0.0,
        sd: short(scale * unit.unit),
    };
    (prior, why)
}

/// The intercept's: at the response's centre, and wider where covariates lie far from zero, since the intercept is then
/// far from any data.
pub(crate) fn intercept<'a>(others: impl Iterator<Item = &'a [f64]>, unit: Unit) -> Reasoned {
    let mut square = INTERCEPT * INTERCEPT;
    let mut far = false;
    for column in others {
        let sd = deviation(column, 0.0);
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        if sd > 0.0 && (mean / sd).abs() > 2.0 {
            square += (EFFECT * mean / sd).powi(2);
            far = true;
        }
    }
    let why = match (far, unit.centre == 0.0) {
        (true, _) => "about the response's level, wide because covariates lie far from zero",
        (false, true) => "5 on the link's scale",
        (false, false) => "5 about the response's level",
    };
    let prior = Prior::Normal {
        mean: short(unit.centre),
        sd: short(square.sqrt() * unit.unit),
    };
    (prior, why.into())
}

/// Of the standard deviation of effects between groups, or of a process.
pub(crate) fn deviation_of(column: &[f64], indicator: bool, unit: Unit) -> Reasoned {
    let sd = deviation(column, 0.0);
    let constant = sd <= 1e-12 * column.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    // A factor's level is judged as its fixed effect is, not by how many rows have it.
    let (scale, why) = if constant || indicator {
        (
            unit.unit * EFFECT,
            "2.5 on the link's scale, with a tail for more",
        )
    } else {
        (
            unit.unit * EFFECT / sd,
            "2.5 for one sd of the covariate, with a tail for more",
        )
    };
    let prior = Prior::HalfStudentT {
        df: 3.0,
        scale: short(scale),
    };
    (prior, why.into())
}

/// Of the standard deviation of a component with a typical variance of one: it penalises complexity (Simpson et al. 2017).
pub(crate) fn component(unit: Unit) -> Reasoned {
    let prior = Prior::PcSd {
        u: short(unit.unit * EFFECT),
        alpha: TAIL,
    };
    (
        prior,
        "penalising complexity: above 2.5 on the link's scale with probability 0.01".into(),
    )
}

/// Of the standard deviation with which a seasonal pattern changes from step to step.
pub(crate) fn change(unit: Unit) -> Reasoned {
    let prior = Prior::PcSd {
        u: short(0.5 * unit.unit),
        alpha: TAIL,
    };
    (
        prior,
        "penalising complexity: above 0.5 for each step with probability 0.01".into(),
    )
}

/// Of the correlation of neighbours in time.
pub(crate) fn correlation() -> Reasoned {
    let (lower, upper) = (-1.0, 1.0);
    (Prior::Uniform { lower, upper }, "all correlations".into())
}

/// Of a share.
pub(crate) fn share() -> Reasoned {
    let (lower, upper) = (0.0, 1.0);
    (Prior::Uniform { lower, upper }, "all shares".into())
}

/// Of the share of what neighbours have in common.
pub(crate) fn mixing() -> Reasoned {
    let prior = Prior::Beta { a: 0.5, b: 0.5 };
    (prior, "mostly either: as its authors have it".into())
}

/// Of a field's range, in the plane (Fuglstad et al. 2019).
pub(crate) fn range(short_one: f64) -> Reasoned {
    let u = short(short_one);
    let prior = Prior::PcRange { u, alpha: 0.05 };
    (
        prior,
        "penalising complexity: below a twentieth of the extent with probability 0.05".into(),
    )
}

pub(crate) fn nugget(unit: Unit) -> Reasoned {
    let prior = Prior::HalfNormal {
        scale: short(unit.unit),
    };
    (
        prior,
        "1 on the link's scale: what is left to single places".into(),
    )
}

pub(crate) fn noise(unit: Unit) -> Reasoned {
    let prior = Prior::HalfStudentT {
        df: 3.0,
        scale: short(unit.unit),
    };
    (prior, "the response's standard deviation".into())
}

pub(crate) fn size() -> Reasoned {
    let prior = Prior::LogNormal {
        log_mean: 1.0,
        log_sd: 1.5,
    };
    (
        prior,
        "from far over-dispersed (0.1) to nearly Poisson (50)".into(),
    )
}

pub(crate) fn power() -> Reasoned {
    let (lower, upper) = (0.0, 2.0);
    (
        Prior::Uniform { lower, upper },
        "all powers that are covariances".into(),
    )
}

pub(crate) fn mix() -> Reasoned {
    let prior = Prior::LogNormal {
        log_mean: 0.0,
        log_sd: 1.0,
    };
    (prior, "from many scales (0.1) to nearly one (10)".into())
}

/// The inverse gamma prior that keeps a length scale between the shortest and the longest distance but for 1 % on
/// either side: below, it would explain each place by itself; above, it could not be told from a constant.
pub(crate) fn length(shortest: f64, longest: f64, what: &str) -> Reasoned {
    // The ratio of the 99 % and the 1 % point of 1/ℓ is that of the distances, and falls as the shape grows.
    let ratio = longest / shortest;
    let (mut low, mut high) = ((0.05f64).ln(), (1e4f64).ln());
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        let shape = middle.exp();
        if quantile(shape, 1.0 - TAIL) / quantile(shape, TAIL) > ratio {
            low = middle;
        } else {
            high = middle;
        }
    }
    let shape = (0.5 * (low + high)).exp();
    let prior = Prior::InverseGamma {
        shape: short(shape),
        scale: short(longest * quantile(shape, TAIL)),
    };
    let why = format!(
        "98 % between {} and {}, {what}",
        short(shortest),
        short(longest)
    );
    (prior, why)
}

/// The point below which a gamma variable of this shape (and rate 1) falls with probability p.
fn quantile(shape: f64, p: f64) -> f64 {
    let (mut low, mut high) = (-700.0f64, (10.0 + 10.0 * shape).ln());
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if gamma_lr(shape, middle.exp()) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (0.5 * (low + high)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_scale_stays_between_the_distances_but_for_one_per_cent_on_either_side() {
        for (shortest, longest) in [(40.0, 7000.0), (0.1, 1.0), (1e-3, 5.0)] {
            let (prior, _) = length(shortest, longest, "");
            let Prior::InverseGamma { shape, scale } = prior else {
                panic!("{prior}");
            };
            // ℓ < shortest where 1/ℓ is above; the arguments are rounded to three digits.
            let below = 1.0 - gamma_lr(shape, scale / shortest);
            let above = gamma_lr(shape, scale / longest);
            assert!((below - TAIL).abs() < 2e-3, "{below}");
            assert!((above - TAIL).abs() < 2e-3, "{above}");
        }
    }

    #[test]
    fn a_coefficient_is_judged_by_the_spread_of_its_covariate() {
        let unit = Unit {
            unit: 1.0,
            centre: 0.0,
        };
        let column: Vec<f64> = (0..100).map(|k| 100.0 * f64::from(k % 2)).collect();
        let (prior, why) = coefficient(&column, false, unit);
        assert_eq!(
            prior,
            Prior::Normal {
                mean: 0.0,
                sd: 0.05
            }
        );
        assert!(why.contains("50"), "{why}");
    }

    #[test]
    fn the_intercept_is_wide_where_covariates_are_far_from_zero() {
        let unit = Unit {
            unit: 1.0,
            centre: 0.0,
        };
        let near = intercept([[-1.0, 1.0].as_slice()].into_iter(), unit).0;
        let far = intercept([[1999.0, 2001.0].as_slice()].into_iter(), unit).0;
        assert_eq!(near, Prior::Normal { mean: 0.0, sd: 5.0 });
        assert!(
            matches!(far, Prior::Normal { sd, .. } if sd > 4000.0),
            "{far}"
        );
    }
}
