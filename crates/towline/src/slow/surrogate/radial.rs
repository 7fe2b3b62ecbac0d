//! A polynomial and a function of the distance from the centre: hollow shapes, and heavy tails that are about round.

use super::limits::RADIAL_QUANTILES;
use super::polynomial::Polynomial;
use super::visits::Samples;
use serde::{Deserialize, Serialize};

/// A polynomial plus multiples of |w| and of cubes of what |w| is beyond knots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Radial {
    polynomial: Polynomial,
    knots: Vec<f64>,
    heights: Vec<f64>,
}

impl Radial {
    pub fn new(polynomial: Polynomial, knots: &[f64], heights: Vec<f64>) -> Self {
        Self {
            polynomial,
            knots: knots.to_vec(),
            heights,
        }
    }

    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        let distance = w.iter().map(|v| v * v).sum::<f64>().sqrt();
        let each = features(distance, &self.knots).zip(&self.heights);
        self.polynomial.value(w) + each.map(|(f, h)| f * h).sum::<f64>()
    }

    pub fn fits(&self, dim: usize) -> bool {
        self.polynomial.fits(dim)
            && self.heights.len() == count(&self.knots)
            && self
                .knots
                .iter()
                .chain(&self.heights)
                .all(|v| v.is_finite())
    }
}

/// How many functions there are.
pub(super) fn count(knots: &[f64]) -> usize {
    match knots.len() {
        0 => 0,
        more => more + 1,
    }
}

/// The functions at a distance; none without knots.
#[inline]
pub(super) fn features(distance: f64, knots: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let first = (!knots.is_empty()).then_some(distance);
    let cubes = knots.iter().map(move |k| (distance - k).max(0.0).powi(3));
    first.into_iter().chain(cubes)
}

/// Zero, and quantiles of the distances of what was seen.
pub(super) fn knots(samples: &Samples) -> Vec<f64> {
    let mut distances: Vec<f64> = samples.inside().map(|(_, s)| s.distance).collect();
    distances.sort_by(f64::total_cmp);
    let mut knots = vec![0.0];
    for share in RADIAL_QUANTILES {
        let at = share * distances.len().saturating_sub(1) as f64;
        knots.extend(distances.get(at as usize));
    }
    knots.dedup();
    knots
}
