//! The climb to the top of the marginal where its covariance is known beforehand: a slope at each round, and no curvature.

use super::start::Marginal;
use crate::linalg::Factor;
use crate::target::Target;

/// Rounds; a covariance that is about right needs two or three.
const ROUNDS: usize = 8;
/// Differences are taken over so much of a standard deviation.
const STEP: f64 = 0.5;
/// The slope per variable, squared, at which the top is near enough: exploring goes on from a place a third of a standard deviation
/// away as well as from the top.
const CLOSE: f64 = 0.1;
/// A round must gain this share of what its slope promises, else its step is shortened, so many times at most.
const GAIN: f64 = 0.1;
const SHORTENED: usize = 6;

/// Climbs from x in units of `factor`; false where that leads nowhere, since the covariance is not the one of this target.
pub(super) fn climb<T: Target>(marginal: &mut Marginal<'_, T>, x: &[f64], factor: &Factor) -> bool {
    let p = x.len();
    let (mut at, mut way) = (x.to_vec(), vec![0.0; p]);
    let mut here = marginal.height(&at);
    for _ in 0..ROUNDS {
        let mut slope = vec![0.0; p];
        for k in 0..p {
            let mut unit = vec![0.0; p];
            unit[k] = STEP;
            factor.apply(&unit, &mut way);
            let mut look = |sign: f64| marginal.height(&moved(&at, sign, &way));
            slope[k] = (look(1.0) - look(-1.0)) / (2.0 * STEP);
        }
        let steep: f64 = slope.iter().map(|s| s * s).sum();
        if !steep.is_finite() {
            return false;
        }
        // If the covariance is right, the top lies exactly there.
        factor.apply(&slope, &mut way);
        let mut share = 1.0;
        let mut next = None;
        for _ in 0..SHORTENED {
            let there = moved(&at, share, &way);
            let height = marginal.height(&there);
            if height - here >= GAIN * 0.5 * share * steep {
                next = Some((there, height));
                break;
            }
            share *= 0.4;
        }
        let arrived = steep <= CLOSE * p as f64;
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

fn moved(at: &[f64], share: f64, way: &[f64]) -> Vec<f64> {
    at.iter().zip(way).map(|(a, w)| a + share * w).collect()
}
