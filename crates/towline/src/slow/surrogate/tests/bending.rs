//! Bent coordinates: Metropolis with them is exact from exact starts, a version without their determinant is not, and they do pay.

use super::{Pair, reversibility_scores, worst};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::slow::surrogate::{Extent, Surrogate, Visit};

const PAIRS: usize = 40_000;

/// A funnel of two variables.
fn funnel(x: &[f64]) -> f64 {
    -0.5 * (x[0] / 1.5).powi(2) - 0.5 * x[1] * x[1] * (-x[0]).exp() - 0.5 * x[0]
}

/// An exact draw of it.
fn draw(rng: &mut Rng) -> Vec<f64> {
    let a = 1.5 * rng.normal();
    vec![a, (0.5 * a).exp() * rng.normal()]
}

fn fitted(rng: &mut Rng) -> Surrogate {
    let visits: Vec<Visit> = (0..400)
        .map(|_| {
            let a = 2.2 * rng.normal();
            let x = vec![a, 1.5 * (0.5 * a).exp() * rng.normal()];
            let log_marginal = funnel(&x);
            Visit { x, log_marginal }
        })
        .collect();
    let factor = Factor::diagonal(&[1.5, 1.7], "test").unwrap();
    let extent = Extent {
        heat: 3.0,
        reach: 1.0,
        mixed: true,
        curved: true,
        thorough: true,
    };
    Surrogate::fit_to(&visits, &[0.0, 0.0], &factor, extent).unwrap()
}

#[test]
fn a_funnel_is_bent_and_proposals_are_nearly_always_accepted() {
    let mut rng = Rng::stream(51, 0);
    let surrogate = fitted(&mut rng);
    assert!(surrogate.bend.is_some(), "{:?}", surrogate.quality());
    surrogate.validate(2).unwrap();
    let mut accepted = 0;
    let (mut pairs, mut broken): (Vec<Pair>, Vec<Pair>) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let x = draw(&mut rng);
        let mut new = vec![0.0; 2];
        let ratio = surrogate.propose(&x, &mut new, &mut rng);
        // The ratio is that of the density that it says it has.
        let known = surrogate.log_density(&x) - surrogate.log_density(&new);
        assert!((ratio - known).abs() < 1e-9, "{ratio} {known}");
        let gain = funnel(&new) - funnel(&x);
        let taken = rng.accept(gain + ratio);
        accepted += u32::from(taken);
        pairs.push((x.clone(), if taken { new.clone() } else { x.clone() }));
        // Densities over u in place of those over x.
        let (mut u, bend) = (vec![0.0; 2], surrogate.bend.as_ref().unwrap());
        let det = bend.apply(&x, &mut u) - bend.apply(&new, &mut u);
        let taken = rng.accept(gain + ratio - det);
        broken.push((x.clone(), if taken { new } else { x }));
    }
    let share = f64::from(accepted) / PAIRS as f64;
    assert!(share > 0.9, "{share}");
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.5, "{scores:?}");
    assert!(worst(&reversibility_scores(&broken)) > 10.0);
}

#[test]
fn a_stored_bend_is_read_as_it_was() {
    let surrogate = fitted(&mut Rng::stream(52, 0));
    let text = serde_json::to_string(&surrogate).unwrap();
    let read: Surrogate = serde_json::from_str(&text).unwrap();
    assert_eq!(read, surrogate);
}
