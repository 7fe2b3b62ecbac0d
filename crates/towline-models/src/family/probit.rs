//! Successes among so many trials (or 0 and 1) with the probit link.

use super::random::{binomial, ln_choose};
use super::{Pointwise, Settled};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};
use towline::Rng;

/// Successes and trials.
#[derive(Debug, Clone)]
pub(crate) struct Probit {
    data: Vec<[f64; 2]>,
    constant: f64,
}

impl Probit {
    pub fn new(data: Vec<[f64; 2]>) -> Self {
        let constant = data.iter().map(|[y, m]| ln_choose(*m, *y)).sum();
        Self { data, constant }
    }
}

/// √(2π) and its logarithm.
const SQRT_TAU: f64 = 2.506_628_274_631_000_7;
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;
/// Below, Φ is computed by its asymptotic series: there its terms fall to 1e-17 before they rise.
const TAIL: f64 = -12.0;

/// The series S in Φ(t) = φ(t) S / −t, for t far below 0.
fn tail(t: f64) -> f64 {
    let u = 1.0 / (t * t);
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 0..20 {
        term *= -u * f64::from(2 * k + 1);
        sum += term;
    }
    sum
}

/// ln Φ(t).
fn ln_phi(t: f64) -> f64 {
    if t < TAIL {
        -0.5 * t * t - (-t).ln() - HALF_LN_TAU + tail(t).ln()
    } else if t < 5.0 {
        libm::erfc(-t * FRAC_1_SQRT_2).ln() - LN_2
    } else {
        (-0.5 * libm::erfc(t * FRAC_1_SQRT_2)).ln_1p()
    }
}

/// φ(t)/Φ(t).
fn mills(t: f64) -> f64 {
    if t < TAIL {
        -t / tail(t)
    } else {
        (-0.5 * t * t).exp() / (0.5 * SQRT_TAU * libm::erfc(-t * FRAC_1_SQRT_2))
    }
}

/// −d² ln Φ / dt² = r (t + r): between 0 and 1.
fn bend(t: f64) -> f64 {
    if t < -1e4 {
        return 1.0;
    }
    let r = mills(t);
    (r * (t + r)).clamp(0.0, 1.0)
}

/// Φ(t).
pub(crate) fn phi(t: f64) -> f64 {
    0.5 * libm::erfc(-t * FRAC_1_SQRT_2)
}

/// Zero times infinity is zero here: nothing was observed on that side.
fn times(count: f64, value: f64) -> f64 {
    if count == 0.0 { 0.0 } else { count * value }
}

impl Pointwise for Probit {
    type Datum = [f64; 2];

    fn data(&self) -> &[[f64; 2]] {
        &self.data
    }

    fn constant(&self, _: f64) -> f64 {
        self.constant
    }

    fn log_p([y, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        times(y, ln_phi(eta)) + times(m - y, ln_phi(-eta))
    }

    fn slope([y, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        times(y, mills(eta)) - times(m - y, mills(-eta))
    }

    fn weight([y, m]: [f64; 2], eta: f64, _: Settled) -> f64 {
        times(y, bend(eta)) + times(m - y, bend(-eta))
    }

    fn draw([_, m]: [f64; 2], eta: f64, _: Settled, rng: &mut Rng) -> f64 {
        binomial(m, phi(eta), rng)
    }
}
