//! Tails: never lighter than the Gaussian's, always falling, whatever was fitted.

use super::*;

/// Surrogates of several kinds, among them one that would explode without its guards.
fn specimens() -> Vec<Surrogate> {
    let quadratic = |w: &[f64]| -0.5 * w.iter().map(|v| v * v).sum::<f64>();
    vec![
        fit_white(&visits_at_normals(300, 3, 21, quadratic)),
        fit_white(&visits_at_normals(300, 3, 22, |w| {
            quadratic(w) + 0.08 * w[0].powi(3) + 0.05 * (w[1] * w[2]).powi(2)
        })),
        fit_white(&visits_at_normals(300, 3, 23, |w| {
            quadratic(w) + 0.1 * w[0].powi(4)
        })),
        // Much narrower than the Gaussian in one direction.
        fit_white(&visits_at_normals(300, 3, 24, |w| {
            quadratic(w) - 5.0 * w[0] * w[0]
        })),
        fit_white(&visits_at_normals(300, 3, 25, |w| {
            quadratic(w) + (4.0 * w[0] + w[1]).tanh()
        })),
        fit_white(&visits_at_normals(300, 3, 26, |w| {
            quadratic(w) + (9.0 * w[0]).sin() * 3.0
        })),
    ]
}

#[test]
fn tails_fall_and_are_no_lighter_than_the_gaussian_along_every_ray() {
    let mut rng = Rng::stream(27, 0);
    for surrogate in specimens() {
        let radius = surrogate.shape.guard.radius;
        assert!(radius > 1.5, "a bulk of radius {radius}");
        for _ in 0..2000 {
            let mut ray: Vec<f64> = (0..3).map(|_| rng.normal()).collect();
            let length = ray.iter().map(|v| v * v).sum::<f64>().sqrt();
            ray.iter_mut().for_each(|v| *v /= length);
            let at = |r: f64| surrogate.shape.log_density(&ray.map_by(r));
            let (mut last, mut gain) = (at(radius), at(radius) + 0.5 * radius * radius);
            for k in 1..60 {
                let r = radius * (1.0 + 0.2 * f64::from(k));
                let (value, relative) = (at(r), at(r) + 0.5 * r * r);
                assert!(value < last, "grows at {r}");
                assert!(relative >= gain, "lighter than the Gaussian at {r}");
                (last, gain) = (value, relative);
            }
            // Continuous at the edge.
            let step = at(radius * (1.0 + 1e-9)) - at(radius * (1.0 - 1e-9));
            assert!(step.abs() < 1e-6, "a step of {step}");
        }
        assert_eq!(surrogate.log_density(&[1e200, 0.0, 0.0]), f64::NEG_INFINITY);
    }
}

trait MapBy {
    fn map_by(&self, r: f64) -> Vec<f64>;
}

impl MapBy for Vec<f64> {
    fn map_by(&self, r: f64) -> Vec<f64> {
        self.iter().map(|v| v * r).collect()
    }
}

#[test]
fn nowhere_does_the_surrogate_rise_above_what_was_seen() {
    let mut rng = Rng::stream(28, 0);
    for surrogate in specimens() {
        for _ in 0..20_000 {
            let x: Vec<f64> = (0..3).map(|_| 2.0 * rng.normal()).collect();
            let value = surrogate.log_density(&x);
            // The offset is the guess of the mode's height.
            assert!(value <= surrogate.offset + 1.0 + 1e-9, "{value} at {x:?}");
        }
    }
}
