//! Annealed importance sampling at one x (Neal 2001): from the frame's normal to the conditional along a drag's way.
//!
//! A trajectory begins at a draw of the normal and makes a move at each of n − 1 densities q^(1−i/n) p^(i/n), which each leave
//! their density invariant; the product of the ratios of neighbours along it is an unbiased estimate of ∫p, whatever n is
//! and however well the moves mix. With many fast variables its noise is far below that of independent draws.

use crate::fast::density::{FastDensity, NoModel, Values};
use crate::fast::moves::EllipticalSlice;
use crate::fast::step::{Move, Point, Work};
use crate::random::Rng;

/// The density between the ends.
struct Rung<'a, F> {
    log_p: &'a mut F,
    /// The share of the conditional.
    heat: f64,
}

impl<F: FnMut(&[f64]) -> f64> FastDensity for Rung<'_, F> {
    /// ln p and ln q come first.
    type Value = Values;
    type Nested<'n>
        = NoModel
    where
        Self: 'n;

    fn value(&mut self, z: &[f64]) -> Values {
        let mut values = Values::default();
        (values[0], values[1]) = ((self.log_p)(z), log_normal(z));
        values
    }

    fn log(&self, values: Values) -> f64 {
        self.heat * values[0] + (1.0 - self.heat) * values[1]
    }

    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Option<Values> {
        None
    }
}

/// The log density of the frame's normal.
fn log_normal(z: &[f64]) -> f64 {
    let square: f64 = z.iter().map(|v| v * v).sum();
    -0.5 * square - 0.5 * z.len() as f64 * std::f64::consts::TAU.ln()
}

/// One trajectory of n steps: writes where it ends, and returns the logarithm of its weight, whose mean (not logarithm) is ∫p.
pub(crate) fn trajectory(
    log_p: &mut impl FnMut(&[f64]) -> f64,
    n: usize,
    z: &mut Vec<f64>,
    rng: &mut Rng,
) -> f64 {
    trajectory_by(&EllipticalSlice, log_p, n, z, rng)
}

/// The same with any move.
pub(crate) fn trajectory_by(
    by: &impl Move,
    log_p: &mut impl FnMut(&[f64]) -> f64,
    n: usize,
    z: &mut Vec<f64>,
    rng: &mut Rng,
) -> f64 {
    for v in z.iter_mut() {
        *v = rng.normal();
    }
    let mut work = Work::new(z.len());
    let mut rung = Rung { log_p, heat: 0.0 };
    let value = rung.value(z);
    let mut point = Point { at: z, value };
    let mut log_weight = 0.0;
    for i in 1..=n {
        let (p, q) = (point.value[0], point.value[1]);
        if p == f64::NEG_INFINITY {
            // Outside the support: what follows has no weight either.
            return f64::NEG_INFINITY;
        }
        log_weight += (p - q) / n as f64;
        if i < n {
            rung.heat = i as f64 / n as f64;
            by.step(&mut rung, &mut point, &mut work, rng);
        }
    }
    log_weight
}
