//! A mixture of bent normals: what it learns, and Metropolis with it from exact starts.

use super::*;
use crate::slow::surrogate::{Extent, Kind};

/// Two modes of two variables, the second five times as narrow.
fn log_density(x: &[f64]) -> f64 {
    let near = -0.5 * (x[0] * x[0] + x[1] * x[1]);
    let far = -0.5 * ((x[0] - 5.0).powi(2) + (x[1] - 4.0).powi(2)) / 0.04;
    let (near, far) = (0.6f64.ln() + near, 10f64.ln() + far);
    let top = near.max(far);
    top + ((near - top).exp() + (far - top).exp()).ln()
}

fn draw(rng: &mut Rng) -> Vec<f64> {
    let (a, b) = (rng.normal(), rng.normal());
    match rng.uniform() < 0.6 {
        true => vec![a, b],
        false => vec![5.0 + 0.2 * a, 4.0 + 0.2 * b],
    }
}

fn learned(error: impl Fn(&[f64]) -> f64) -> Surrogate {
    let mut rng = Rng::stream(61, 0);
    let visits: Vec<Visit> = (0..500)
        .map(|_| {
            // As from a heated target: draws of it, twice as far from their mode.
            let x = draw(&mut rng);
            let mode = if x[0] > 3.0 { [5.0, 4.0] } else { [0.0, 0.0] };
            let x: Vec<f64> = (0..2).map(|k| mode[k] + 1.7 * (x[k] - mode[k])).collect();
            let log_marginal = log_density(&x) + error(&x);
            Visit { x, log_marginal }
        })
        .collect();
    let factor = Factor::diagonal(&[2.5, 2.0], "test").unwrap();
    let extent = Extent {
        heat: 3.0,
        reach: 1.0,
        mixed: true,
        curved: true,
        thorough: true,
    };
    Surrogate::fit_to(&visits, &[2.0, 1.6], &factor, extent).expect("enough points")
}

/// Steps of Metropolis's method from exact draws; the ratio of the proposal may be left out, which is wrong.
fn pairs(surrogate: &Surrogate, ratio_counts: bool) -> (Vec<Pair>, f64) {
    let mut rng = Rng::stream(62, 0);
    let (mut accepted, count) = (0, 40_000);
    let all = (0..count).map(|_| {
        let x = draw(&mut rng);
        let mut new = vec![0.0; 2];
        let ratio = surrogate.propose(&x, &mut new, &mut rng);
        let expected = surrogate.log_density(&x) - surrogate.log_density(&new);
        assert!((ratio - expected).abs() < 1e-9);
        let ratio = if ratio_counts { ratio } else { 0.0 };
        if rng.accept(log_density(&new) - log_density(&x) + ratio) {
            accepted += 1;
            (x, new)
        } else {
            (x.clone(), x)
        }
    });
    let all = all.collect();
    (all, f64::from(accepted) / f64::from(count))
}

#[test]
fn two_modes_of_different_widths_are_a_mixture_that_is_accepted_nearly_always() {
    let surrogate = learned(|_| 0.0);
    let quality = *surrogate.quality();
    assert!(matches!(quality.kind, Kind::Mixture { .. }), "{quality:?}");
    let (pairs, accepted) = pairs(&surrogate, true);
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.0, "{scores:?}");
    assert!(accepted > 0.85, "{accepted} with {quality:?}");
    // It goes from one to the other and back.
    let crossed = |(a, b): &&Pair| (a[0] > 3.0) != (b[0] > 3.0);
    let crossings = pairs.iter().filter(crossed).count();
    assert!(crossings > 8000, "{crossings}");
}

#[test]
fn metropolis_with_a_mixture_of_wrong_masses_is_exact_and_without_its_ratio_it_is_not() {
    let wrong = learned(|x| if x[0] > 3.0 { 1.2 } else { 0.3 * x[0] });
    assert!(matches!(wrong.quality().kind, Kind::Mixture { .. }));
    let scores = reversibility_scores(&pairs(&wrong, true).0);
    assert!(worst(&scores) < 4.0, "{scores:?}");
    let scores = reversibility_scores(&pairs(&wrong, false).0);
    assert!(worst(&scores) > 10.0, "{scores:?}");
}
