//! Bad visits: few, repeated, collinear, not finite, far down, failed.

use super::*;
use crate::slow::surrogate::Kind;

fn gaussian(w: &[f64]) -> f64 {
    -0.5 * w.iter().map(|v| v * v).sum::<f64>()
}

fn fit(visits: &[Visit], dim: usize) -> Option<Surrogate> {
    let factor = Factor::diagonal(&vec![1.0; dim], "test").unwrap();
    Surrogate::fit(visits, &vec![0.0; dim], &factor)
}

/// A few proposals, which must be finite.
fn exercise(surrogate: &Surrogate) {
    let mut rng = Rng::stream(41, 0);
    let dim = surrogate.dim();
    surrogate.validate(dim).unwrap();
    for start in [0.0, 3.0, 1e8] {
        let (x, mut new) = (vec![start; dim], vec![0.0; dim]);
        for _ in 0..20 {
            let ratio = surrogate.propose(&x, &mut new, &mut rng);
            assert!(ratio.is_finite() && new.iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn too_few_visits_give_nothing_and_a_few_give_the_gaussian() {
    assert_eq!(fit(&[], 2), None);
    assert_eq!(fit(&[], 0), None);
    for count in 0..40 {
        let visits = visits_at_normals(count, 4, 42, |w| gaussian(w) + 0.1 * w[0].powi(3));
        match fit(&visits, 4) {
            None => assert!(count < 12),
            Some(surrogate) => {
                exercise(&surrogate);
                // 15 coefficients of degree 2 need 38 points.
                assert!(count >= 30 || surrogate.quality().kind == Kind::Gaussian);
            }
        }
    }
}

#[test]
fn one_point_visited_many_times_is_one_point() {
    let visit = Visit {
        x: vec![0.3, -0.2],
        log_marginal: -1.0,
    };
    assert_eq!(fit(&vec![visit; 500], 2), None);
    let mut visits = visits_at_normals(100, 2, 43, gaussian);
    let once = fit(&visits, 2);
    visits.extend_from_within(..);
    assert_eq!(fit(&visits, 2), once);
}

#[test]
fn points_on_a_line_do_no_harm() {
    let visits: Vec<Visit> = (0..300)
        .map(|k| {
            let t = -3.0 + 0.02 * f64::from(k);
            let x = vec![t, t + 1e-9 * f64::from(k % 7), -t];
            let log_marginal = -0.5 * t * t + 0.1 * t.powi(3);
            Visit { x, log_marginal }
        })
        .collect();
    if let Some(surrogate) = fit(&visits, 3) {
        exercise(&surrogate);
    }
}

#[test]
fn values_that_are_not_finite_or_far_down_are_left_out() {
    let clean = visits_at_normals(200, 2, 44, gaussian);
    let expected = fit(&clean, 2).unwrap();
    let mut visits = clean;
    for (x, log_marginal) in [
        (vec![0.0, 0.1], f64::NAN),
        (vec![0.0, 0.2], f64::INFINITY),
        (vec![0.0, 0.3], f64::NEG_INFINITY),
        (vec![f64::NAN, 0.0], -1.0),
        (vec![f64::INFINITY, 0.0], -1.0),
        (vec![0.0], -1.0),
        (vec![0.0, 0.4], -1e6),
    ] {
        visits.push(Visit { x, log_marginal });
    }
    let surrogate = fit(&visits, 2).unwrap();
    assert_eq!(surrogate.quality().points, expected.quality().points);
    assert_eq!(surrogate.quality().kind, Kind::Gaussian);
    exercise(&surrogate);
}

#[test]
fn a_failed_estimate_far_above_the_rest_is_not_taken_for_the_mode() {
    let mut visits = visits_at_normals(300, 2, 45, gaussian);
    for k in 0..2 {
        visits.push(Visit {
            x: vec![5.0, f64::from(k)],
            log_marginal: 1e4,
        });
    }
    let surrogate = fit(&visits, 2).unwrap();
    assert!(surrogate.quality().points > 250);
    assert!((surrogate.log_density(&[0.5, 0.5]) + 0.25).abs() < 0.1);
}

#[test]
fn a_flat_density_and_one_of_huge_scale_are_survived() {
    for log_density in [
        (|_| 0.0) as fn(&[f64]) -> f64,
        |w| 1e12 * gaussian(w),
        |w| 1e-12 * gaussian(w),
        |w| 1e15 + gaussian(w),
        |w| if w[0] > 0.0 { gaussian(w) } else { -1e9 },
        |w| 40.0 * (20.0 * w[0]).sin() * (17.0 * w[1]).cos(),
    ] {
        if let Some(surrogate) = fit(&visits_at_normals(300, 2, 46, log_density), 2) {
            exercise(&surrogate);
        }
    }
}

#[test]
fn many_variables_with_few_points_each_are_survived() {
    for (dim, count) in [(20, 400), (40, 200), (100, 150)] {
        let visits = visits_at_normals(count, dim, 48, |w| gaussian(w) + 0.1 * w[0].powi(3));
        exercise(&fit(&visits, dim).unwrap());
    }
}

#[test]
fn a_surrogate_of_another_dimension_or_damaged_is_refused() {
    let mut surrogate = fit(&visits_at_normals(200, 2, 47, gaussian), 2).unwrap();
    assert!(surrogate.validate(3).is_err());
    surrogate.moves = 8;
    assert!(surrogate.validate(2).is_err());
    surrogate.moves = 7;
    assert!(surrogate.validate(2).is_ok());
    surrogate.shape.guard.radius = f64::NAN;
    assert!(surrogate.validate(2).is_err());
}

#[test]
fn places_far_down_a_normal_tail_are_no_wall() {
    // Probes far outside, and a look around one of them: all hundreds of log units down, and hardly beyond the visits along most normals.
    const DIM: usize = 6;
    for seed in 0..12 {
        let mut visits = visits_at_normals(90, DIM, 600 + seed, gaussian);
        let mut rng = Rng::stream(700 + seed, 0);
        let mut far = |radius: f64| -> Vec<f64> {
            let raw: Vec<f64> = (0..DIM).map(|_| rng.normal()).collect();
            let length = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
            raw.iter().map(|v| radius * v / length).collect()
        };
        let mut places: Vec<Vec<f64>> = [16.0, 26.0, 40.0, 40.0].map(&mut far).to_vec();
        for k in 0..DIM {
            for step in [0.5, -0.5] {
                let mut beside = places[1].clone();
                beside[k] += step;
                places.push(beside);
            }
        }
        let opposite: Vec<Vec<f64>> = places
            .iter()
            .map(|x| x.iter().map(|v| -v).collect())
            .collect();
        visits.extend(places.into_iter().chain(opposite).map(|x| Visit {
            log_marginal: gaussian(&x),
            x,
        }));
        let surrogate = fit(&visits, DIM).unwrap();
        // What a wall there bars is mass that weights would never see.
        let mut apart = 0.0_f64;
        for _ in 0..2000 {
            let x: Vec<f64> = (0..DIM).map(|_| rng.normal()).collect();
            let off = surrogate.log_density(&x) - gaussian(&x);
            apart = apart.max(-off);
        }
        assert!(surrogate.shape.faces.is_empty(), "seed {seed}: {apart}");
        assert!(apart < 1.0, "seed {seed}: {apart}");
    }
}
