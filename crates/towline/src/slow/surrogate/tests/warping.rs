//! Warped coordinates and walls: Metropolis with them is exact from exact starts, a version without the maps' determinant is not, and they do pay.

use super::{Pair, reversibility_scores, worst};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::slow::surrogate::{Extent, Surrogate, Visit};

const PAIRS: usize = 40_000;

const HEATED: Extent = Extent {
    heat: 3.0,
    reach: 1.0,
    mixed: true,
    curved: true,
    thorough: true,
};

/// Two correlated log-normals.
fn log_normals(x: &[f64]) -> f64 {
    if x[0] <= 0.0 || x[1] <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let z = [x[0].ln() / 0.6, x[1].ln() / 0.6];
    -0.5 * z[0] * z[0] - 0.5 * (z[1] - 0.7 * z[0]).powi(2) / 0.51 - x[0].ln() - x[1].ln()
}

/// An exact draw of them, or one of theirs spread so many times as wide in their logarithms.
fn draw(wide: f64, rng: &mut Rng) -> Vec<f64> {
    let a = wide * rng.normal();
    let b = 0.7 * a + wide * 0.51f64.sqrt() * rng.normal();
    vec![(0.6 * a).exp(), (0.6 * b).exp()]
}

fn fitted(rng: &mut Rng) -> Surrogate {
    let mut visits: Vec<Visit> = (0..400)
        .map(|_| {
            let x = draw(1.7, rng);
            let log_marginal = log_normals(&x);
            Visit { x, log_marginal }
        })
        .collect();
    for k in 0..40 {
        let x = vec![-0.05 - 0.1 * f64::from(k % 7), 0.2 * f64::from(k)];
        visits.push(Visit {
            x,
            log_marginal: f64::NEG_INFINITY,
        });
    }
    let factor = Factor::diagonal(&[0.8, 0.8], "test").unwrap();
    Surrogate::fit_to(&visits, &[1.2, 1.2], &factor, HEATED).unwrap()
}

#[test]
fn log_normals_are_warped_and_proposals_are_nearly_always_accepted() {
    let mut rng = Rng::stream(61, 0);
    let surrogate = fitted(&mut rng);
    assert!(surrogate.warp.is_some(), "{:?}", surrogate.quality());
    surrogate.validate(2).unwrap();
    let mut accepted = 0;
    let (mut pairs, mut broken): (Vec<Pair>, Vec<Pair>) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let x = draw(1.0, &mut rng);
        let mut new = vec![0.0; 2];
        let ratio = surrogate.propose(&x, &mut new, &mut rng);
        // The ratio is that of the density that it says it has.
        let known = surrogate.log_density(&x) - surrogate.log_density(&new);
        assert!((ratio - known).abs() < 1e-9, "{ratio} {known}");
        let gain = log_normals(&new) - log_normals(&x);
        let taken = rng.accept(gain + ratio);
        accepted += u32::from(taken);
        pairs.push((x.clone(), if taken { new.clone() } else { x.clone() }));
        // Densities over u in place of those over x.
        let mut u = vec![0.0; 2];
        let det = surrogate.coordinates(&x, &mut u) - surrogate.coordinates(&new, &mut u);
        let taken = rng.accept(gain + ratio - det);
        broken.push((x.clone(), if taken { new } else { x }));
    }
    let share = f64::from(accepted) / PAIRS as f64;
    assert!(share > 0.85, "{share}");
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.5, "{scores:?}");
    assert!(worst(&reversibility_scores(&broken)) > 10.0);
}

#[test]
fn a_stored_warp_is_read_as_it_was() {
    let surrogate = fitted(&mut Rng::stream(62, 0));
    let text = serde_json::to_string(&surrogate).unwrap();
    let read: Surrogate = serde_json::from_str(&text).unwrap();
    assert_eq!(read, surrogate);
}

/// Uniform on the triangle below the diagonal of the unit square.
fn triangle(x: &[f64]) -> f64 {
    match x.iter().all(|v| *v > 0.0) && x[0] + x[1] < 1.0 {
        true => 0.0,
        false => f64::NEG_INFINITY,
    }
}

#[test]
fn walls_are_learned_and_proposals_stay_within_them() {
    let mut rng = Rng::stream(63, 0);
    let visits: Vec<Visit> = (0..500)
        .map(|_| {
            let x: Vec<f64> = (0..2).map(|_| 2.0 * rng.uniform() - 0.5).collect();
            let log_marginal = triangle(&x);
            Visit { x, log_marginal }
        })
        .collect();
    let factor = Factor::diagonal(&[0.24, 0.24], "test").unwrap();
    let surrogate = Surrogate::fit_to(&visits, &[0.33, 0.33], &factor, HEATED).unwrap();
    surrogate.validate(2).unwrap();
    let mut accepted = 0;
    let mut pairs: Vec<Pair> = Vec::new();
    for _ in 0..PAIRS {
        let mut x = vec![rng.uniform(), rng.uniform()];
        if x[0] + x[1] > 1.0 {
            x.iter_mut().for_each(|v| *v = 1.0 - *v);
        }
        let mut new = vec![0.0; 2];
        let ratio = surrogate.propose(&x, &mut new, &mut rng);
        let known = surrogate.log_density(&x) - surrogate.log_density(&new);
        assert!((ratio - known).abs() < 1e-9, "{ratio} {known}");
        let taken = rng.accept(triangle(&new) + ratio);
        accepted += u32::from(taken);
        pairs.push((x.clone(), if taken { new } else { x }));
    }
    let share = f64::from(accepted) / PAIRS as f64;
    assert!(share > 0.8, "{share} {:?}", surrogate.quality());
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.5, "{scores:?}");
}
