//! Tops are found from far away, along walls, on tails, and at the price claimed.

use super::*;
use crate::linalg::Factor;

struct Counted<F>(F, usize);
impl<F: Fn(&[f64]) -> f64> Surface for Counted<F> {
    fn height(&mut self, u: &[f64]) -> f64 {
        self.1 += 1;
        (self.0)(u)
    }
}

fn top(f: impl Fn(&[f64]) -> f64, start: &[f64]) -> (Option<Peak>, usize) {
    let mut surface = Counted(f, 0);
    let steps = vec![STEP; start.len()];
    let peak = climb_with(&mut surface, start, &steps, STEP);
    (peak, surface.1)
}

#[track_caller]
fn found(f: impl Fn(&[f64]) -> f64, start: &[f64], mode: &[f64], width: f64, most: usize) {
    let (peak, evaluations) = top(f, start);
    let peak = peak.expect("no top found");
    for (a, b) in peak.at.iter().zip(mode) {
        assert!(
            (a - b).abs() < 0.1 * width,
            "{:?} instead of {mode:?} after {evaluations}",
            peak.at
        );
    }
    assert!(evaluations <= most, "{evaluations} evaluations");
    assert!(Factor::from_covariance(&peak.curvature, "curvature").is_ok());
}

/// Numbers between −1 and 1, the same every time.
fn scattered(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    (*seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
}

/// Climbs from many places at once, each variable leaning on the one before it, in units that are off by up to a
/// factor of three; returns how many tops were missed.
fn missed(dim: usize, far: f64, lean: f64, log_density: fn(f64) -> f64) -> usize {
    let mut seed = 1;
    (0..100)
        .filter(|_| {
            let scale: Vec<f64> = (0..dim).map(|_| scattered(&mut seed).exp()).collect();
            let start: Vec<f64> = (0..dim).map(|_| far * scattered(&mut seed)).collect();
            let surface = |u: &[f64]| {
                let mut before = 0.0;
                let each = u.iter().zip(&scale).map(|(u, s)| {
                    let v = u * s;
                    let t = v - lean * before;
                    before = v;
                    log_density(t)
                });
                each.sum()
            };
            let (peak, _) = top(surface, &start);
            !peak.is_some_and(|peak| {
                let off = peak.at.iter().zip(&scale).map(|(u, s)| (u * s).abs());
                off.fold(0.0, f64::max) < 0.3
            })
        })
        .count()
}

#[test]
fn a_flat_tail_is_not_taken_for_a_top() {
    let student = |t: f64| -2.5 * (1.0 + t * t / 4.0).ln();
    for (dim, far) in [(4, 5.0), (4, 50.0), (10, 5.0), (10, 50.0)] {
        assert_eq!(missed(dim, far, 0.6, student), 0, "{dim} variables, {far}");
    }
}

#[test]
fn lopsided_peaks_of_coupled_variables_are_found() {
    let wall = |t: f64| 6.0 * (t - t.exp());
    for (dim, far) in [(4, 0.5), (4, 10.0), (10, 0.5), (10, 5.0)] {
        assert_eq!(missed(dim, far, 0.5, wall), 0, "{dim} variables, {far}");
    }
}

#[test]
fn a_parabola_is_climbed_with_few_evaluations() {
    found(|u| -0.5 * (u[0] - 1.0).powi(2), &[0.0], &[1.0], 1.0, 4);
    found(
        |u| -0.5 * ((u[0] - 40.0) / 0.02).powi(2),
        &[0.0],
        &[40.0],
        0.02,
        12,
    );
    let bent = |u: &[f64]| -u[0] * u[0] - (u[1] - u[0] - 3.0).powi(2);
    found(bent, &[0.5, 0.5], &[0.0, 3.0], 1.0, 14);
}

#[test]
fn a_start_a_million_log_units_down_is_no_obstacle() {
    found(
        |u| -0.5 * (u[0] - 1500.0).powi(2),
        &[0.0],
        &[1500.0],
        1.0,
        12,
    );
    let poisson = |u: &[f64]| 3.0 * u[0] - u[0].exp();
    found(poisson, &[300.0], &[3f64.ln()], 0.6, 140);
    found(poisson, &[-300.0], &[3f64.ln()], 0.6, 140);
}

#[test]
fn heavy_tails_and_flat_tails_are_climbed_from_far_away() {
    for start in [3.0, -50.0, 1e4, -1e6] {
        let t = |u: &[f64]| -2.5 * (1.0 + u[0] * u[0] / 4.0).ln();
        found(t, &[start], &[0.0], 0.9, 140);
        let cauchy = |u: &[f64]| -(1.0 + (u[0] / 0.01).powi(2)).ln();
        found(cauchy, &[start], &[0.0], 0.01, 200);
    }
}

#[test]
fn four_student_variables_are_climbed_from_fifty_widths_away() {
    let f = |u: &[f64]| {
        (0..4)
            .map(|k| -3.0 * (1.0 + (u[k] - k as f64).powi(2) / 5.0).ln())
            .sum()
    };
    found(
        f,
        &[50.0, -50.0, 40.0, 30.0],
        &[0.0, 1.0, 2.0, 3.0],
        0.9,
        800,
    );
}

#[test]
fn exponential_walls_of_very_different_heights_are_all_climbed_down() {
    let f = |u: &[f64]| {
        (0..4)
            .map(|k| {
                let t = u[k] - 3.0 * k as f64 + 0.5 * u[(k + 1) % 4];
                4.0 * (t - t.exp())
            })
            .sum()
    };
    for start in [
        [50.0, -40.0, 20.0, 5.0],
        [-50.0, 45.0, -20.0, 30.0],
        [20.0; 4],
    ] {
        let (peak, evaluations) = top(f, &start);
        let at = peak.expect("no top found").at;
        for k in 0..4 {
            let t = at[k] - 3.0 * k as f64 + 0.5 * at[(k + 1) % 4];
            assert!(t.abs() < 0.1, "{at:?} after {evaluations}");
        }
        println!("{evaluations} evaluations from {start:?}");
        assert!(evaluations < 1500, "{evaluations}");
    }
}

#[test]
fn a_saddle_is_left() {
    let f = |u: &[f64]| -(u[0] * u[0] - 4.0).powi(2) - u[1] * u[1];
    let (peak, _) = top(f, &[0.0, 0.3]);
    let at = peak.unwrap().at;
    assert!(
        (at[0].abs() - 2.0).abs() < 0.05 && at[1].abs() < 0.05,
        "{at:?}"
    );
}

#[test]
fn a_direction_the_density_ignores_keeps_its_learned_scale() {
    let (peak, _) = top(|u| -0.5 * (u[0] - 2.0).powi(2) / 0.25, &[0.0, 7.0]);
    let peak = peak.unwrap();
    assert!((peak.at[0] - 2.0).abs() < 0.05 && peak.at[1] == 7.0);
    assert!(
        (peak.curvature[3] - 1.0).abs() < 1e-9,
        "{:?}",
        peak.curvature
    );
    assert!((peak.curvature[0] - 4.0).abs() < 0.1);
}

#[test]
fn a_wall_nearby_is_seen_and_kept_away_from() {
    let f = |u: &[f64]| {
        if u[0] <= 0.0 {
            f64::NEG_INFINITY
        } else {
            3.0 * u[0].ln() - 5.0 * u[0]
        }
    };
    found(f, &[0.01], &[0.6], 0.35, 80);
    found(f, &[90.0], &[0.6], 0.35, 80);
}

#[test]
fn no_top_is_said_rather_than_invented() {
    assert!(top(|u| u[0], &[0.0]).0.is_none(), "an endless slope");
    assert!(top(|_| f64::NEG_INFINITY, &[0.0]).0.is_none());
    assert!(top(|_| f64::NAN, &[0.0]).0.is_none());
    assert!(
        top(|u| u[0].abs().exp(), &[0.3]).0.is_none(),
        "growth without end"
    );
}

#[test]
fn a_peak_a_million_times_wider_than_was_learned_has_its_own_width() {
    for wide in [1e2, 1e3, 3e3, 1e4, 1e6] {
        let (peak, evaluations) = top(
            |u| {
                -0.5 * (u[0] / wide - 1.0).powi(2) - 0.5 * (u[1] / wide - 0.3 * u[0] / wide).powi(2)
            },
            &[0.0, 0.0],
        );
        let peak = peak.expect("a top");
        let expected = [1.09, -0.3, -0.3, 1.0];
        for (curved, expected) in peak.curvature.iter().zip(expected) {
            let found = curved * wide * wide;
            assert!(
                (found - expected).abs() < 0.02,
                "{wide}: {found} instead of {expected} after {evaluations}"
            );
        }
        assert!((peak.at[0] / wide - 1.0).abs() < 0.05, "{:?}", peak.at);
    }
}

#[test]
fn a_direction_in_which_nothing_changes_keeps_the_learned_scale() {
    let (peak, _) = top(|u| -0.5 * u[0] * u[0] + 0.0 * u[1], &[0.4, 0.2]);
    let peak = peak.expect("a top");
    assert!((peak.curvature[3] - 1.0).abs() < 1e-9, "{peak:?}");
    assert!((peak.curvature[0] - 1.0).abs() < 0.01, "{peak:?}");
}

#[test]
fn the_volume_of_a_lopsided_peak_of_many_coupled_variables_is_right() {
    // Sums of t − eᵗ over coupled variables: the mode and the curvature there are known. How far the volume is off must not depend on where the climb
    // began either: as a function of x it would be noise.
    let dim = 12;
    let mut seed = 3;
    let rows: Vec<f64> = (0..dim * dim)
        .map(|k| f64::from(k / dim == k % dim) + 0.2 * scattered(&mut seed))
        .collect();
    let rows = &rows;
    let surface = |u: &[f64]| -> f64 {
        let each = rows.chunks(dim).map(|row| {
            let t: f64 = row.iter().zip(u).map(|(a, u)| a * u).sum();
            t - t.exp()
        });
        each.sum()
    };
    // ½ ln|AᵀA| = ln|A|.
    let gram: Vec<f64> = (0..dim * dim)
        .map(|k| {
            (0..dim)
                .map(|i| rows[i * dim + k / dim] * rows[i * dim + k % dim])
                .sum()
        })
        .collect();
    let log_det = |matrix: &[f64]| {
        Factor::from_covariance(matrix, "curvature")
            .unwrap()
            .log_det()
    };
    let expected = log_det(&gram);
    for _ in 0..20 {
        let start: Vec<f64> = (0..dim).map(|_| 0.7 * scattered(&mut seed)).collect();
        let peak = top(surface, &start).0.expect("no top found");
        let off = log_det(&peak.curvature) - expected;
        assert!(off.abs() < 0.15, "{off}");
    }
}
