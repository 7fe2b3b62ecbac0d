//! What every family must satisfy: derivatives, normalisation, safety far out, draws with the right mean.

use super::*;

const ALL: [Family; 7] = [
    Family::BernoulliLogit,
    Family::BernoulliProbit,
    Family::BinomialLogit,
    Family::BinomialProbit,
    Family::Poisson,
    Family::NegativeBinomial,
    Family::Gaussian,
];

fn of(family: Family, y: f64, trials: f64) -> Likelihood {
    Likelihood::new(family, &[y], Some(&[trials]), 3)
}

fn value(l: &Likelihood, eta: f64, parameter: f64) -> f64 {
    l.log_p(&[eta], l.settle(parameter))
}

#[test]
fn slopes_and_weights_are_the_derivatives_of_log_p() {
    for family in ALL {
        for y in [0.0, 1.0, 3.0] {
            if !family.accepts(y, 7.0) {
                continue;
            }
            let l = of(family, y, if y <= 1.0 { 1.0 } else { 7.0 });
            for eta in [-6.0, -1.3, 0.0, 0.4, 2.7, 5.5] {
                let s = l.settle(1.7);
                let h = 1e-5;
                let (up, down) = (value(&l, eta + h, 1.7), value(&l, eta - h, 1.7));
                let (mut g, mut w, mut g_up, mut g_down) = ([0.0], [0.0], [0.0], [0.0]);
                l.slope(&[eta], s, &mut g);
                l.weight(&[eta], s, &mut w);
                l.slope(&[eta + h], s, &mut g_up);
                l.slope(&[eta - h], s, &mut g_down);
                let first = (up - down) / (2.0 * h);
                let second = -(g_up[0] - g_down[0]) / (2.0 * h);
                let near = |a: f64, b: f64| (a - b).abs() < 2e-7 * (1.0 + b.abs());
                assert!(
                    near(g[0], first),
                    "{family:?} y {y} η {eta}: {} {first}",
                    g[0]
                );
                assert!(
                    near(w[0], second),
                    "{family:?} y {y} η {eta}: {} {second}",
                    w[0]
                );
            }
        }
    }
}

#[test]
fn probabilities_sum_to_one() {
    for family in ALL {
        for eta in [-2.0, 0.3, 2.2] {
            let trials = match family {
                Family::BinomialLogit | Family::BinomialProbit => 6.0,
                _ => 1.0,
            };
            let sum: f64 = if family == Family::Gaussian {
                (-40_000..40_000)
                    .map(|k| value(&of(family, f64::from(k) * 1e-3, 1.0), eta, 1.7).exp() * 1e-3)
                    .sum()
            } else {
                (0..2000)
                    .map(f64::from)
                    .filter(|y| family.accepts(*y, trials))
                    .map(|y| value(&of(family, y, trials), eta, 1.7).exp())
                    .sum()
            };
            assert!((sum - 1.0).abs() < 1e-9, "{family:?} at η = {eta}: {sum}");
        }
    }
    let eta = [0.3, -1.0, 2.0];
    let sum: f64 = (0..3)
        .map(|c| Likelihood::new(Family::Softmax, &[f64::from(c)], None, 3))
        .map(|l| l.log_p(&eta, l.settle(1.0)).exp())
        .sum();
    assert!((sum - 1.0).abs() < 1e-14);
}

#[test]
fn nothing_breaks_far_out() {
    for family in ALL {
        for y in [0.0, 1.0] {
            let l = of(family, y, 1.0);
            let s = l.settle(1.7);
            for eta in [-1e5, -1500.0, -700.0, -38.0, 38.0, 700.0, 1500.0, 1e5] {
                let (mut g, mut w) = ([0.0], [0.0]);
                let p = l.log_p(&[eta], s);
                l.slope(&[eta], s, &mut g);
                l.weight(&[eta], s, &mut w);
                assert!(
                    p.is_finite() || p == f64::NEG_INFINITY,
                    "{family:?} {eta} {p}"
                );
                assert!(
                    g[0].is_finite() && w[0].is_finite() && w[0] >= 0.0,
                    "{family:?} {eta}"
                );
            }
        }
    }
    let probit = of(Family::BernoulliProbit, 1.0, 1.0);
    // ln Φ(−700) from the asymptotic series, by hand.
    let exact = -245_000.0 - 700.0f64.ln() - 0.918_938_533_204_672_8 - 1.0 / 490_000.0;
    assert!((value(&probit, -700.0, 1.0) - exact).abs() < 1e-9);
    let (a, b) = (
        value(&probit, -12.0 - 1e-9, 1.0),
        value(&probit, -12.0 + 1e-9, 1.0),
    );
    assert!((a - b).abs() < 1e-7, "the two forms of ln Φ meet: {a} {b}");
    let l = Likelihood::new(Family::Softmax, &[0.0], None, 3);
    assert_eq!(l.log_p(&[-800.0, 800.0, 0.0], l.settle(1.0)), -1600.0);
}

#[test]
fn the_negative_binomial_tends_to_poisson_as_its_size_grows() {
    for y in [0.0, 3.0, 80.0] {
        let (a, b) = (
            of(Family::NegativeBinomial, y, 1.0),
            of(Family::Poisson, y, 1.0),
        );
        let gap = value(&a, 1.3, 1e9) - value(&b, 1.3, 1.0);
        assert!(gap.abs() < 1e-5, "y = {y}: {gap}");
    }
}

#[test]
fn softmax_derivatives_are_right() {
    let l = Likelihood::new(Family::Softmax, &[1.0, 2.0], None, 3);
    let s = l.settle(1.0);
    let eta = [0.3, -1.0, 2.0, 0.1, 0.5, -0.7];
    let mut g = [0.0; 6];
    l.slope(&eta, s, &mut g);
    let mut w = [0.0; 12];
    l.weight(&eta, s, &mut w);
    let h = 1e-6;
    for k in 0..6 {
        let (mut up, mut down) = (eta, eta);
        up[k] += h;
        down[k] -= h;
        let slope = (l.log_p(&up, s) - l.log_p(&down, s)) / (2.0 * h);
        assert!((slope - g[k]).abs() < 1e-8);
        let (mut g_up, mut g_down) = ([0.0; 6], [0.0; 6]);
        l.slope(&up, s, &mut g_up);
        l.slope(&down, s, &mut g_down);
        let (c, i) = (k / 2, k % 2);
        for other in 0..=c {
            let pair = c * (c + 1) / 2 + other;
            let numeric = -(g_up[other * 2 + i] - g_down[other * 2 + i]) / (2.0 * h);
            assert!((numeric - w[pair * 2 + i]).abs() < 1e-8);
        }
    }
}

#[test]
fn draws_have_the_mean_and_variance_they_should() {
    let mut rng = Rng::stream(5, 0);
    let n = 100_000;
    for (family, eta, mean, variance) in [
        (
            Family::BernoulliLogit,
            0.4,
            0.598_687_660_112_452,
            0.240_260_745_741_529,
        ),
        (
            Family::BinomialProbit,
            0.4,
            6.0 * 0.655_421_741_610_324,
            6.0 * 0.225_844_082_199_698,
        ),
        (Family::Poisson, 1.0, 1f64.exp(), 1f64.exp()),
        (Family::Poisson, 4.0, 4f64.exp(), 4f64.exp()),
        (
            Family::NegativeBinomial,
            1.0,
            1f64.exp(),
            1f64.exp() + 2f64.exp() / 1.7,
        ),
        (Family::Gaussian, 1.0, 1.0, 1.7 * 1.7),
    ] {
        let l = Likelihood::new(family, &vec![1.0; n], Some(&vec![6.0; n]), 3);
        let l = if family == Family::BernoulliLogit {
            Likelihood::new(family, &vec![1.0; n], None, 3)
        } else {
            l
        };
        let draws = l.draw(&vec![eta; n], l.settle(1.7), &mut rng);
        let seen = draws.iter().sum::<f64>() / n as f64;
        let spread = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
        let error = (variance / n as f64).sqrt();
        assert!(
            (seen - mean).abs() < 4.0 * error,
            "{family:?}: {seen} for {mean}"
        );
        assert!(
            (spread / variance - 1.0).abs() < 0.05,
            "{family:?}: {spread} for {variance}"
        );
    }
}
