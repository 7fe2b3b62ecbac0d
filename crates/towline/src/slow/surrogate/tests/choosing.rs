//! Cross-validation finds the function that the values come from.

use super::*;
use crate::slow::surrogate::Kind;

fn cubic(w: &[f64]) -> f64 {
    let square: f64 = w.iter().map(|v| v * v).sum();
    -0.5 * square + 0.05 * w[0].powi(3) - 0.04 * w[0] * w[1] * w[1] + 0.1 * w[1] - 123.0
}

fn quartic(w: &[f64]) -> f64 {
    cubic(w) - 0.02 * w[0].powi(4) - 0.02 * (w[0] * w[1]).powi(2)
}

#[test]
fn a_polynomial_log_density_is_recovered_from_exact_values() {
    for (degree, log_density) in [(3, cubic as fn(&[f64]) -> f64), (4, quartic)] {
        for dim in [2, 3] {
            let visits = visits_at_normals(400, dim, 5, log_density);
            let surrogate = fit_white(&visits);
            assert_eq!(surrogate.quality().kind, Kind::Polynomial { degree });
            assert!(
                surrogate.quality().cv_error < 1e-6,
                "{:?}",
                surrogate.quality()
            );
            for visit in visits_at_normals(200, dim, 6, log_density) {
                if visit.x.iter().map(|v| v * v).sum::<f64>() < 4.0 {
                    let error = surrogate.log_density(&visit.x) - visit.log_marginal;
                    assert!(error.abs() < 1e-6, "{error} at {:?}", visit.x);
                }
            }
        }
    }
}

#[test]
fn the_learned_gaussian_is_kept_where_it_is_right() {
    let visits = visits_at_normals(300, 3, 7, |w| -0.5 * w.iter().map(|v| v * v).sum::<f64>());
    let quality = *fit_white(&visits).quality();
    assert_eq!(quality.kind, Kind::Gaussian, "{quality:?}");
    assert!(quality.cv_error < 1e-12);
}

#[test]
fn a_quadratic_repairs_a_gaussian_learned_badly() {
    let log_density = |w: &[f64]| -0.9 * w[0] * w[0] - 0.4 * w[1] * w[1] + 0.3 * w[0] * w[1] + w[1];
    let quality = *fit_white(&visits_at_normals(300, 2, 8, log_density)).quality();
    assert_eq!(quality.kind, Kind::Polynomial { degree: 2 }, "{quality:?}");
}

#[test]
fn a_skewed_density_gets_a_degree_above_two() {
    let skewed = LogGamma::new(3);
    let mut rng = Rng::stream(9, 0);
    let visits: Vec<Visit> = (0..500)
        .map(|_| {
            let x = vec![skewed.draw(&mut rng), skewed.draw(&mut rng)];
            let log_marginal = x.iter().map(|&s| skewed.log_density(s)).sum();
            Visit { x, log_marginal }
        })
        .collect();
    let quality = *fit_white(&visits).quality();
    let above_two = !matches!(
        quality.kind,
        Kind::Gaussian | Kind::Polynomial { degree: 2 }
    );
    assert!(above_two && quality.cv_error < 0.1, "{quality:?}");
}

#[test]
fn a_density_that_no_polynomial_follows_gets_a_process() {
    // A ridge that bends twice, sharply.
    let log_density = |w: &[f64]| {
        let bend = 1.2 * (3.0 * w[0]).tanh() - 0.3 * w[0] * w[0];
        -0.5 * w[0] * w[0] - (w[1] - bend).powi(2)
    };
    let mut rng = Rng::stream(10, 0);
    let visits: Vec<Visit> = (0..500)
        .map(|_| {
            let a = rng.normal();
            let bend = 1.2 * (3.0 * a).tanh() - 0.3 * a * a;
            let x = vec![a, bend + rng.normal() / 2f64.sqrt()];
            let log_marginal = log_density(&x);
            Visit { x, log_marginal }
        })
        .collect();
    let quality = *fit_white(&visits).quality();
    assert_eq!(quality.kind, Kind::GaussianProcess, "{quality:?}");
    assert!(quality.cv_error < 0.2, "{quality:?}");
}

#[test]
fn fitting_twice_gives_the_same_bits_and_survives_storage() {
    let visits = visits_at_normals(400, 2, 11, quartic);
    let surrogate = fit_white(&visits);
    assert_eq!(surrogate, fit_white(&visits));
    let stored = serde_json::to_string(&surrogate).unwrap();
    assert_eq!(surrogate, serde_json::from_str(&stored).unwrap());
}

#[test]
fn bad_moments_of_a_short_chain_are_replaced_by_its_own() {
    let target = LogGamma::new(3);
    let mut rng = Rng::stream(61, 0);
    let visits: Vec<Visit> = (0..250)
        .map(|_| {
            let x: Vec<f64> = (0..2).map(|_| target.draw(&mut rng)).collect();
            let log_marginal = x.iter().map(|&s| target.log_density(s)).sum();
            Visit { x, log_marginal }
        })
        .collect();
    let given = Factor::diagonal(&[0.3, 3.0], "test").unwrap();
    let surrogate = Surrogate::fit(&visits, &[1.0, -2.0], &given).unwrap();
    for (centre, sd) in surrogate.centre.iter().zip(surrogate.factor().sds()) {
        assert!(
            centre.abs() < 0.3 && (0.75..1.3).contains(&sd),
            "{centre}, {sd}"
        );
    }
    let right = Factor::diagonal(&[1.0, 1.0], "test").unwrap();
    let best = Surrogate::fit(&visits, &[0.0; 2], &right).unwrap();
    assert_eq!(best.factor(), &right, "good moments are left alone");
    for _ in 0..500 {
        let x: Vec<f64> = (0..2).map(|_| target.draw(&mut rng)).collect();
        if x.iter().all(|s| (-2.0..1.3).contains(s)) {
            let apart = surrogate.log_density(&x) - best.log_density(&x);
            assert!(apart.abs() < 0.2, "{apart} at {x:?}");
        }
    }
}
