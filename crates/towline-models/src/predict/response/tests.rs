//! Predictors of any width: quantiles of counts beyond all data, means of probabilities.

use super::*;

fn row(family: Family, parameter: f64, parts: &[(f64, f64)]) -> RowPrediction {
    let mut eta = Mixture::default();
    for (mean, sd) in parts {
        eta.push(*mean, sd * sd);
    }
    RowPrediction {
        eta,
        parameters: vec![parameter],
        family,
        trials: 1.0,
    }
}

/// A group that the data do not know, in a run that has not arrived: standard deviations of any size.
#[test]
fn counts_beyond_all_data_have_quantiles() {
    for (family, parameter) in [(Family::Poisson, 1.0), (Family::NegativeBinomial, 2.0)] {
        for sd in [1.0, 10.0, 30.0, 100.0, 1e10] {
            let row = row(family, parameter, &[(1.0, sd), (2.0, 0.5 * sd)]);
            let [low, middle, high] = row.quantiles([0.025, 0.5, 0.975]);
            assert!(low <= middle && middle <= high, "{low} {middle} {high}");
            if high.is_finite() {
                assert!(row.cdf(high) >= 0.975 - 1e-9, "{}", row.cdf(high));
                // The next smaller number that a double holds has less.
                let below = (high - 1.0).min(high * (1.0 - 1e-9));
                assert!(row.cdf(below) <= 0.975 + 1e-9, "{}", row.cdf(below));
            } else {
                let of_mean = row.eta.quantile(0.975);
                assert!(of_mean > 700.0, "{of_mean}");
            }
        }
    }
}

#[test]
fn probabilities_of_an_uncertain_predictor_are_those_of_a_step() {
    for family in [Family::BernoulliLogit, Family::BernoulliProbit] {
        for sd in [0.9, 1.1, 3.0, 30.0, 1e10] {
            let (mean, second) = row(family, 1.0, &[(0.3, sd)]).moments();
            // By brute force, in steps of a hundredth where there is something to see.
            let one = row(family, 1.0, &[(0.3, sd)]).observation(0);
            let h = 0.01;
            let (mut first, mut square) = (0.0, 0.0);
            for j in -6000..6000_i32 {
                let t = h * (f64::from(j) + 0.5);
                let weight = h * normal_density((t - 0.3) / sd) / sd;
                first += weight * one.mean(t);
                square += weight * one.mean(t).powi(2);
            }
            let above = normal_cdf((0.3 - 60.0) / sd);
            assert!((mean - first - above).abs() < 1e-8, "{mean} {first}");
            assert!((second - square - above).abs() < 1e-8, "{second} {square}");
        }
    }
}
