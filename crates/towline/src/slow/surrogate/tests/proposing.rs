//! The proposal is reversible for the surrogate, and its ratio makes Metropolis exact on any target.

use super::*;
use crate::slow::proposal::SlowProposal;
use crate::slow::surrogate::Kind;

/// A surrogate of a skewed density of one variable, with an error of about a log unit built in.
fn skewed_surrogate(error: impl Fn(f64) -> f64) -> (LogGamma, Surrogate) {
    let skewed = LogGamma::new(3);
    let mut rng = Rng::stream(31, 0);
    let visits: Vec<Visit> = (0..120)
        .map(|_| {
            let s = skewed.draw(&mut rng);
            let log_marginal = skewed.log_density(s) + error(s);
            Visit {
                x: vec![s],
                log_marginal,
            }
        })
        .collect();
    (skewed, fit_white(&visits))
}

#[test]
fn the_proposal_is_reversible_for_the_surrogate_in_one_dimension() {
    let (_, surrogate) = skewed_surrogate(|s| 0.5 * (2.0 * s).sin());
    // Exact draws of π̃ by inversion on a fine grid.
    let (low, step, count) = (-25.0, 5e-4, 80_000);
    let top = surrogate.offset;
    let mut cumulative = vec![0.0];
    for k in 0..count {
        let middle = low + (f64::from(k) + 0.5) * step;
        let mass = (surrogate.log_density(&[middle]) - top).exp();
        cumulative.push(cumulative[k as usize] + mass);
    }
    let total = cumulative[count as usize];
    let mut rng = Rng::stream(32, 0);
    let proposal = SlowProposal::Surrogate(Box::new(surrogate.clone()));
    let pairs: Vec<_> = (0..200_000)
        .map(|_| {
            let level = rng.uniform() * total;
            let cell = cumulative.partition_point(|&mass| mass <= level) - 1;
            let share = (level - cumulative[cell]) / (cumulative[cell + 1] - cumulative[cell]);
            let x = vec![low + (cell as f64 + share) * step];
            let mut new = vec![0.0];
            let log_ratio = proposal.propose(&x, &mut new, &mut rng);
            let expected = surrogate.log_density(&x) - surrogate.log_density(&new);
            assert!((log_ratio - expected).abs() < 1e-9);
            (x, new)
        })
        .collect();
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.0, "{scores:?}");
}

#[test]
fn a_long_run_of_proposals_has_the_moments_of_the_surrogate_in_two_dimensions() {
    let log_density = |w: &[f64]| {
        -0.5 * w[0] * w[0] - 0.7 * (w[1] - 0.4 * w[0] * w[0] + 0.4).powi(2) + 0.1 * w[0].powi(3)
    };
    let surrogate = fit_white(&visits_at_normals(400, 2, 33, log_density));
    assert_ne!(surrogate.quality().kind, Kind::Gaussian);
    let functions: [fn(&[f64]) -> f64; 5] = [
        |x| x[0],
        |x| x[1],
        |x| x[0] * x[0],
        |x| x[1] * x[1],
        |x| x[0] * x[1],
    ];
    // Quadrature by the trapezium rule, wide enough for the exponential tails.
    let (mut mass, mut moments) = (0.0, [0.0; 5]);
    for i in -600..=600 {
        for j in -600..=600 {
            let x = [f64::from(i) * 0.03, f64::from(j) * 0.03];
            let weight = (surrogate.log_density(&x) - surrogate.offset).exp();
            mass += weight;
            for (moment, f) in moments.iter_mut().zip(functions) {
                *moment += weight * f(&x);
            }
        }
    }
    // Batches make z-scores honest whatever memory is left from one proposal to the next.
    let (batches, length) = (400, 500);
    let mut rng = Rng::stream(34, 0);
    let (mut x, mut new) = (vec![0.0; 2], vec![0.0; 2]);
    let mut means = vec![Vec::new(); 5];
    for _ in 0..batches {
        let mut sums = [0.0; 5];
        for _ in 0..length {
            surrogate.propose(&x, &mut new, &mut rng);
            std::mem::swap(&mut x, &mut new);
            for (sum, f) in sums.iter_mut().zip(functions) {
                *sum += f(&x);
            }
        }
        for k in 0..5 {
            means[k].push(sums[k] / length as f64 - moments[k] / mass);
        }
    }
    let scores: Vec<f64> = means.iter().map(|means| z_score(means)).collect();
    assert!(worst(&scores) < 4.0, "{scores:?}");
}

/// Pairs (exact draw of the target, one Metropolis step from it), and the share accepted.
fn metropolis_pairs(
    surrogate: &Surrogate,
    target: LogGamma,
    count: usize,
    ratio_counts: bool,
) -> (Vec<Pair>, f64) {
    let mut rng = Rng::stream(35, 0);
    let dim = surrogate.dim();
    let log_density = |x: &[f64]| x.iter().map(|&s| target.log_density(s)).sum::<f64>();
    let mut accepted = 0;
    let pairs = (0..count)
        .map(|_| {
            let x: Vec<f64> = (0..dim).map(|_| target.draw(&mut rng)).collect();
            let mut new = vec![0.0; dim];
            let ratio = surrogate.propose(&x, &mut new, &mut rng);
            let ratio = if ratio_counts { ratio } else { 0.0 };
            if rng.accept(log_density(&new) - log_density(&x) + ratio) {
                accepted += 1;
                (x, new)
            } else {
                (x.clone(), x)
            }
        })
        .collect();
    (pairs, f64::from(accepted) / count as f64)
}

#[test]
fn metropolis_with_a_good_surrogate_is_exact_and_accepts_nearly_always() {
    let (target, surrogate) = skewed_surrogate(|_| 0.0);
    let (pairs, accepted) = metropolis_pairs(&surrogate, target, 200_000, true);
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.0, "{scores:?}");
    // Tails heavier than the target's cost some, so that chains do not stay in long ones.
    assert!(accepted > 0.91, "{accepted} with {:?}", surrogate.quality());
}

#[test]
fn metropolis_with_a_bad_surrogate_is_exact_all_the_same() {
    for error in [|s: f64| (2.0 * s).sin(), |s: f64| 0.8 * s, |s: f64| -s * s] {
        let (target, surrogate) = skewed_surrogate(error);
        let (pairs, accepted) = metropolis_pairs(&surrogate, target, 200_000, true);
        let scores = reversibility_scores(&pairs);
        assert!(worst(&scores) < 4.0, "{scores:?} accepting {accepted}");
    }
}

#[test]
fn metropolis_is_exact_in_two_dimensions_with_a_process_of_a_wrong_density() {
    let target = LogGamma::new(2);
    let mut rng = Rng::stream(36, 0);
    let visits: Vec<Visit> = (0..200)
        .map(|_| {
            let x = vec![target.draw(&mut rng), target.draw(&mut rng)];
            let error = (3.0 * x[0] - x[1]).sin();
            let log_marginal = x.iter().map(|&s| target.log_density(s)).sum::<f64>() + error;
            Visit { x, log_marginal }
        })
        .collect();
    let surrogate = fit_white(&visits);
    assert_eq!(surrogate.quality().kind, Kind::GaussianProcess);
    let (pairs, _) = metropolis_pairs(&surrogate, target, 60_000, true);
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) < 4.0, "{scores:?}");
}

#[test]
fn these_tests_catch_a_proposal_whose_ratio_is_left_out() {
    let (target, surrogate) = skewed_surrogate(|s| (2.0 * s).sin());
    let (pairs, _) = metropolis_pairs(&surrogate, target, 200_000, false);
    let scores = reversibility_scores(&pairs);
    assert!(worst(&scores) > 10.0, "{scores:?}");
}

#[test]
fn a_proposal_forgets_its_start() {
    let (_, surrogate) = skewed_surrogate(|_| 0.0);
    assert!(surrogate.quality().memory <= 0.05);
    // Also from ten standard deviations away, where the tail is exponential.
    let mut rng = Rng::stream(37, 0);
    let mut new = vec![0.0];
    let home = (0..2000)
        .filter(|_| {
            surrogate.propose(&[-10.0], &mut new, &mut rng);
            new[0].abs() < 4.0
        })
        .count();
    assert!(home > 1900, "{home} of 2000 came home");
}
