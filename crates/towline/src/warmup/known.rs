//! The climb to the top of the marginal where its covariance is known beforehand: a slope at each round, and no curvature.

use super::limits::known::{CLOSE, CURVATURES, GAIN, ROUNDS, SHORTENED, STEP};
use super::start::Marginal;
use crate::linalg::Factor;
use crate::optimise::surface::Surface;
use crate::target::Target;

/// Climbs from x in units of `factor`; false where that leads nowhere, since the covariance is not the one of this target.
pub(super) fn climb<T: Target>(marginal: &mut Marginal<'_, T>, x: &[f64], factor: &Factor) -> bool {
    let p = x.len();
    let (mut at, mut way) = (x.to_vec(), vec![0.0; p]);
    let mut here = marginal.height(&at);
    for _ in 0..ROUNDS {
        let (mut slope, mut curvature) = (vec![0.0; p], 0.0);
        let beside = about(&at, factor);
        marginal.expect(&beside.concat(), &[]);
        for k in 0..p {
            let (up, down) = (
                marginal.height(&beside[2 * k]),
                marginal.height(&beside[2 * k + 1]),
            );
            slope[k] = (up - down) / (2.0 * STEP);
            curvature += (2.0 * here - up - down) / (STEP * STEP * p as f64);
        }
        let steep: f64 = slope.iter().map(|s| s * s).sum();
        if !steep.is_finite() {
            return false;
        }
        // If the covariance is right, the top lies exactly there.
        factor.apply(&slope, &mut way);
        let mut share = 1.0;
        let mut next = None;
        let arrived = steep <= CLOSE * p as f64;
        if !arrived {
            let there = moved(&at, share, &way);
            marginal.expect(&there, &about(&there, factor).concat());
        }
        for _ in 0..SHORTENED {
            let there = moved(&at, share, &way);
            let height = marginal.height(&there);
            if height - here >= GAIN * 0.5 * share * steep {
                next = Some((there, height));
                break;
            }
            share *= 0.4;
        }
        if arrived && !(CURVATURES[0]..=CURVATURES[1]).contains(&curvature) {
            return false;
        }
        match next {
            Some((there, height)) => (at, here) = (there, height),
            None => return arrived,
        }
        if arrived {
            return true;
        }
    }
    false
}

/// Where differences about a place are taken, along each of the factor's axes both ways.
fn about(at: &[f64], factor: &Factor) -> Vec<Vec<f64>> {
    let p = at.len();
    let pair = |k: usize| {
        let (mut unit, mut way) = (vec![0.0; p], vec![0.0; p]);
        unit[k] = STEP;
        factor.apply(&unit, &mut way);
        [1.0, -1.0].map(|sign| moved(at, sign, &way))
    };
    (0..p).flat_map(pair).collect()
}

fn moved(at: &[f64], share: f64, way: &[f64]) -> Vec<f64> {
    at.iter().zip(way).map(|(a, w)| a + share * w).collect()
}

#[cfg(test)]
mod tests {
    use crate::error::ModelError;
    use crate::optimise::surface::FORETOLD;
    use crate::target::Target;
    use crate::warmup::start::search;

    const WIDTHS: [f64; 6] = [1e-3, 0.1, 1.0, 3.0, 50.0, 2e4];

    /// A skewed density of six slow variables, with a covariance that is known, or said to be.
    struct Six(Option<Vec<f64>>);
    impl Target for Six {
        type Cache = f64;
        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            let one = |(x, w): (&f64, &f64)| x / w - (x / w).exp();
            Ok(Some(x.iter().zip(&WIDTHS).map(one).sum()))
        }
        fn log_density(&self, cache: &f64, _: &[f64]) -> f64 {
            *cache
        }
        fn slow_covariance(&self) -> Option<&[f64]> {
            self.0.as_deref()
        }
    }

    /// Slow evaluations, and how far below the top it ended.
    fn searched(known: Option<f64>) -> (u64, f64) {
        let covariance = known.map(|times| {
            let mut covariance = vec![0.0; 36];
            for k in 0..6 {
                covariance[7 * k] = (times * WIDTHS[k]).powi(2);
            }
            covariance
        });
        let start: Vec<f64> = WIDTHS.iter().map(|w| -1.5 * w).collect();
        let found = search(&Six(covariance), &start, &[], 390, FORETOLD, None).unwrap();
        (found.spent.slow_evaluations, -6.0 - found.height)
    }

    #[test]
    fn a_known_covariance_saves_half_of_the_climb_and_a_wrong_one_does_no_harm() {
        let (unknown, below) = searched(None);
        assert!(below < 0.1, "{below}");
        let (known, below) = searched(Some(1.0));
        assert!(2 * known < unknown, "{known} of {unknown}");
        // A third of a standard deviation in each is near enough.
        assert!(below < 0.5, "{below}");
        for wrong in [0.02, 100.0] {
            let (_, below) = searched(Some(wrong));
            assert!(below < 0.5, "{below} with {wrong}");
        }
    }
}
