//! Every prior integrates to one, draws what its density says, and survives being written and read.

use super::Prior;
use crate::random::Rng;
use proptest::prelude::*;

/// At least one prior of each family, asymmetric where the family allows it.
fn examples() -> Vec<Prior> {
    let text = "normal(0.5, 2.5); log_normal(-0.3, 0.7); half_normal(1.7); half_normal_above(-1, 1.3); half_normal_below(2, 0.8); student_t(3, -1, 2);
        student_t(0.8, 1, 0.5); half_student_t(4, 2.5); cauchy(1, 0.6); half_cauchy(2.5); exponential(0.4);
        gamma(0.5, 1.5); gamma(3.2, 0.8); inverse_gamma(2.5, 1.2); beta(0.6, 2); beta(4, 1.5);
        uniform(-2, 5); uniform_wide(-1, 9, 0.7); uniform_periodic(-1, 2pi); pc_sd(1.5, 0.05); pc_range(0.7, 0.1)";
    text.split(';').map(|one| one.parse().unwrap()).collect()
}

/// x and dx/du for u on the line, by the support.
fn place(prior: &Prior, u: f64) -> (f64, f64) {
    match prior.support() {
        (f64::NEG_INFINITY, upper) if upper.is_finite() => (upper - u.exp(), u.exp()),
        (lower, upper) if upper.is_finite() => {
            let s = 1.0 / (1.0 + (-u).exp());
            let width = upper - lower;
            (lower + width * s, width * s / (1.0 + u.exp()))
        }
        (lower, _) if lower.is_finite() => (lower + u.exp(), u.exp()),
        // Heavy tails need sinh: 1e8 scales out, a Cauchy still has 1e-9 left.
        _ => (u.sinh(), u.cosh()),
    }
}

/// ∫ f(x) p(x) dx by the trapezoidal rule in u, which converges fast for densities that die out.
fn integrate(prior: &Prior, f: impl Fn(f64) -> f64) -> f64 {
    let (ends, step) = (80.0, 2e-3);
    let count = (2.0 * ends / step) as usize;
    (0..=count)
        .map(|k| {
            let (x, jacobian) = place(prior, -ends + k as f64 * step);
            match prior.log_density(x) {
                f64::NEG_INFINITY => 0.0,
                log => log.exp() * jacobian * f(x) * step,
            }
        })
        .sum()
}

#[test]
fn every_family_has_an_example() {
    for form in super::text::FORMS {
        let has = |prior: &Prior| prior.parts().0.name == form.name;
        assert!(examples().iter().any(has), "{form}");
    }
}

#[test]
fn every_density_integrates_to_one() {
    for prior in examples() {
        let total = integrate(&prior, |_| 1.0);
        assert!((total - 1.0).abs() < 1e-7, "{prior}: {total}");
    }
}

#[test]
fn draws_follow_the_density() {
    // Bounded functions, so that the means exist whatever the tails: centre, width and lower tail.
    let functions: [fn(f64) -> f64; 3] = [f64::atan, |x| x.atan().powi(2), |x| (-x.abs()).exp()];
    let count = 200_000;
    for (k, prior) in examples().into_iter().enumerate() {
        let mut rng = Rng::stream(20, k as u64);
        let draws: Vec<f64> = (0..count).map(|_| prior.draw(&mut rng)).collect();
        let (lower, upper) = prior.support();
        assert!(draws.iter().all(|&x| lower <= x && x <= upper), "{prior}");
        for (which, f) in functions.iter().enumerate() {
            let exact = integrate(&prior, f);
            let variance = integrate(&prior, |x| (f(x) - exact).powi(2));
            let mean = draws.iter().map(|&x| f(x)).sum::<f64>() / f64::from(count);
            let z = (mean - exact) / (variance / f64::from(count)).sqrt();
            assert!(z.abs() < 4.5, "{prior}, function {which}: z = {z}");
        }
    }
}

#[test]
fn slopes_are_derivatives() {
    for prior in examples() {
        for u in [-1.3, -0.2, 0.4, 1.1] {
            let (x, _) = place(&prior, u);
            let h = 1e-6 * x.abs().max(1e-2);
            let numeric = (prior.log_density(x + h) - prior.log_density(x - h)) / (2.0 * h);
            let exact = prior.slope(x);
            let off = (numeric - exact).abs() / (1.0 + exact.abs());
            assert!(
                off < 1e-7,
                "{prior} at {x}: {exact}, by differences {numeric}"
            );
        }
    }
}

#[test]
fn complexity_penalties_have_the_tails_they_are_named_for() {
    let sd: Prior = "pc_sd(1.5, 0.05)".parse().unwrap();
    let above = integrate(&sd, |x| f64::from(u8::from(x > 1.5)));
    assert!((above - 0.05).abs() < 1e-4, "{above}");
    let range: Prior = "pc_range(0.7, 0.1)".parse().unwrap();
    let below = integrate(&range, |x| f64::from(u8::from(x < 0.7)));
    assert!((below - 0.1).abs() < 1e-4, "{below}");
}

#[test]
fn text_and_plain_data_come_back_the_same() {
    for prior in examples() {
        assert_eq!(prior.to_string().parse::<Prior>().unwrap(), prior);
        let json = serde_json::to_string(&prior).unwrap();
        assert_eq!(serde_json::from_str::<Prior>(&json).unwrap(), prior);
    }
    let json = r#"{"family":"student_t","df":3.0,"location":0.0,"scale":1.0}"#;
    let prior: Prior = serde_json::from_str(json).unwrap();
    assert_eq!(prior.to_string(), "student_t(3, 0, 1)");
    let loose: Prior = " Half-Normal ( 1e-9 ) ".parse().unwrap();
    assert_eq!(loose.to_string(), "half_normal(1e-9)");
}

#[test]
fn refusals_say_what_to_write() {
    for (text, part) in [
        ("", "write one of normal(mean, sd), log_normal"),
        ("normal", "write one of"),
        ("gauss(0, 1)", "there is no family `gauss`"),
        (
            "normal(0, 1",
            "does not end with `)`; write normal(mean, sd)",
        ),
        (
            "normal(0, one)",
            "`one` is not a number; write normal(mean, sd)",
        ),
        (
            "normal(0)",
            "it has 1 arguments, but normal(mean, sd) has 2",
        ),
        ("normal(0, -1)", "sd must be above zero"),
        ("normal(nan, 1)", "mean must be a number of at most 1e100"),
        ("uniform(1, 1)", "lower must be below upper"),
        ("half_normal(1e-200)", "scale must be above zero"),
        ("pc_sd(1, 1)", "alpha is a probability"),
    ] {
        let said = text.parse::<Prior>().unwrap_err().to_string();
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn densities_are_never_nan_and_never_plus_infinity() {
    let edges = [
        0.0,
        1.0,
        -1.0,
        5.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        f64::INFINITY,
    ];
    for prior in examples() {
        let (lower, upper) = prior.support();
        for x in edges.iter().flat_map(|&x| [x, -x]).chain([lower, upper]) {
            let log = prior.log_density(x);
            assert!(log < f64::INFINITY, "{prior} at {x}: {log}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_parser_never_panics(text in "\\PC{0,40}") {
        let _ = text.parse::<Prior>();
    }

    #[test]
    fn the_parser_never_panics_on_near_misses(text in "[a-z_]{0,12}\\(? ?[-+0-9.einfaπp*,]{0,20}\\)?") {
        if let Ok(prior) = text.parse::<Prior>() {
            prop_assert_eq!(prior.to_string().parse::<Prior>().unwrap(), prior);
        }
    }

    #[test]
    fn any_prior_with_any_numbers_comes_back_or_is_refused(
        which in 0..super::text::FORMS.len(), values in proptest::array::uniform3(any::<f64>()), x in any::<f64>()
    ) {
        let form = &super::text::FORMS[which];
        let prior = Prior::from_parts(form.name, &values).unwrap();
        if prior.validate().is_ok() {
            prop_assert_eq!(prior.to_string().parse::<Prior>().unwrap(), prior);
            prop_assert!(prior.log_density(x).is_nan() <= x.is_nan(), "{} at {}", prior, x);
        } else {
            prop_assert!(prior.to_string().parse::<Prior>().is_err());
        }
    }
}
