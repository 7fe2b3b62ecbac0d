//! What Laplace's estimate of the marginal misses, learned from the ratios of drags: a tilt and a bend along each direction.
//!
//! The estimate is off by a little for each fast variable. With thousands of them that adds up to a slope of several units
//! over the width of the posterior, and a surrogate fitted to it proposes places that the drags then refuse.

use super::explore::learned;
use super::limits::tilt::{BEND, REACH, SIGNIFICANT, TILT};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::linalg::Factor;
use crate::slow::surrogate::{Surrogate, Visit};
use serde::{Deserialize, Serialize};

/// A proposed move of x, and the ratio of the marginals there as the drag estimated it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Crossing {
    pub from: Vec<f64>,
    pub to: Vec<f64>,
    /// ln π(to)/π(from): the drag's log ratio without the proposal's part.
    pub log_ratio: f64,
    /// The probability of acceptance. Accepted moves go as often one way as the other, so that what is lost because y had no
    /// time to follow, the same both ways, cancels when crossings are weighted with it.
    pub acceptance: f64,
}

/// The crossings of all chains.
pub(super) fn pooled(
    mine: &[Crossing],
    p: usize,
    exchange: &mut impl Exchange,
) -> Result<Vec<Crossing>, Error> {
    let numbers: Vec<f64> = mine
        .iter()
        .flat_map(|c| [&c.from[..], &c.to[..], &[c.log_ratio, c.acceptance]].concat())
        .collect();
    let crossing = |row: &[f64]| Crossing {
        from: row[..p].to_vec(),
        to: row[p..2 * p].to_vec(),
        log_ratio: row[2 * p],
        acceptance: row[2 * p + 1],
    };
    Ok(exchange
        .gather(&numbers)?
        .iter()
        .flat_map(|theirs| theirs.chunks_exact(2 * p + 2).map(crossing))
        .collect())
}

/// A surrogate of the marginal as the crossings have it, in several parts only where that is said.
pub(super) fn fit(
    visits: &[Visit],
    crossings: &[Crossing],
    centre: &[f64],
    slow: &Factor,
    mixed: bool,
) -> Option<Surrogate> {
    let plain = Surrogate::fit_to(visits, centre, slow, learned(centre.len(), mixed))?;
    let Some(correction) = Correction::fit(crossings, &plain, centre, slow) else {
        return Some(plain);
    };
    let visits: Vec<Visit> = visits
        .iter()
        .map(|visit| Visit {
            x: visit.x.clone(),
            log_marginal: visit.log_marginal + correction.at(&visit.x),
        })
        .collect();
    let extent = learned(centre.len(), plain.is_mixed());
    Surrogate::fit_to(&visits, centre, slow, extent).or(Some(plain))
}

/// Σₖ (tiltₖ wₖ + bendₖ wₖ²/2), for whitened w.
struct Correction<'a> {
    numbers: Vec<f64>,
    centre: &'a [f64],
    slow: &'a Factor,
}

impl<'a> Correction<'a> {
    /// By weighted least squares; `None` where nothing of significance is left to explain.
    fn fit(
        crossings: &[Crossing],
        surrogate: &Surrogate,
        centre: &'a [f64],
        slow: &'a Factor,
    ) -> Option<Self> {
        let p = centre.len();
        let size = 2 * p;
        let used: Vec<(Vec<f64>, f64, f64)> = crossings
            .iter()
            .filter(|c| c.log_ratio.is_finite() && c.acceptance > 0.0)
            .map(|c| {
                let explained = surrogate.log_density(&c.to) - surrogate.log_density(&c.from);
                let to = basis(&c.to, centre, slow);
                let from = basis(&c.from, centre, slow);
                let row = to.iter().zip(&from).map(|(a, b)| a - b).collect();
                (row, c.log_ratio - explained, c.acceptance)
            })
            .filter(|(row, rest, _): &(Vec<f64>, f64, f64)| {
                rest.is_finite() && row.iter().all(|v| v.is_finite())
            })
            .collect();
        let weight: f64 = used.iter().map(|(_, _, w)| w).sum();
        if weight < (4 * size) as f64 {
            return None;
        }
        let square = |numbers: &[f64]| -> f64 {
            let left =
                |(row, rest, w): &(Vec<f64>, f64, f64)| w * (rest - dot(row, numbers)).powi(2);
            used.iter().map(left).sum()
        };
        let before = square(&vec![0.0; size]);
        // Ridge regression, first with all that is to be explained as its noise, then with what is left.
        let mut noise = before / weight;
        let mut numbers = vec![0.0; size];
        for _ in 0..3 {
            numbers = regress(&used, noise.max(1e-12), p)?;
            noise = square(&numbers) / weight;
        }
        let explained = (before - square(&numbers)) / noise.max(1e-12);
        (explained > SIGNIFICANT * size as f64).then_some(Self {
            numbers,
            centre,
            slow,
        })
    }

    fn at(&self, x: &[f64]) -> f64 {
        dot(&basis(x, self.centre, self.slow), &self.numbers)
    }
}

/// The numbers that explain most, shrunk towards none.
fn regress(used: &[(Vec<f64>, f64, f64)], noise: f64, p: usize) -> Option<Vec<f64>> {
    let size = 2 * p;
    let mut normal = vec![0.0; size * size];
    let mut right = vec![0.0; size];
    for (row, rest, w) in used {
        for i in 0..size {
            right[i] += w * row[i] * rest;
            for j in 0..size {
                normal[i * size + j] += w * row[i] * row[j];
            }
        }
    }
    for k in 0..size {
        let prior = if k < p { TILT } else { BEND };
        normal[k * size + k] += noise / (prior * prior);
    }
    let factor = Factor::from_covariance(&normal, "the normal equations of a tilt").ok()?;
    factor.solve(&mut right);
    factor.solve_transposed(&mut right);
    Some(right)
}

/// The whitened coordinates, and half their squares (tangents of those beyond the reach).
fn basis(x: &[f64], centre: &[f64], slow: &Factor) -> Vec<f64> {
    let mut w: Vec<f64> = x.iter().zip(centre).map(|(a, b)| a - b).collect();
    slow.solve(&mut w);
    let squares: Vec<f64> = w
        .iter()
        .map(|&v| {
            let near = v.clamp(-REACH, REACH);
            0.5 * near * near + near * (v - near)
        })
        .collect();
    w.extend(squares);
    w
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_tilt_that_the_estimate_misses_is_found() {
    // The estimate is a unit normal, the marginal one about 1.5, and drags see it with noise.
    let visits: Vec<Visit> = (0..120)
        .map(|k| -3.0 + 0.05 * f64::from(k))
        .map(|x| Visit {
            x: vec![x],
            log_marginal: -0.5 * x * x,
        })
        .collect();
    let marginal = |x: f64| -0.5 * (x - 1.5) * (x - 1.5);
    let mut rng = crate::random::Rng::stream(5, 0);
    let mut x = 1.5;
    let crossings: Vec<Crossing> = (0..80)
        .map(|_| {
            let to = x + 2.0 * rng.normal();
            let log_ratio = marginal(to) - marginal(x) + rng.normal();
            let acceptance = log_ratio.min(0.0).exp();
            let crossing = Crossing {
                from: vec![x],
                to: vec![to],
                log_ratio,
                acceptance,
            };
            if rng.accept(marginal(to) - marginal(x)) {
                x = to;
            }
            crossing
        })
        .collect();
    let factor = Factor::diagonal(&[1.0], "the spread").unwrap();
    let surrogate = fit(&visits, &crossings, &[0.5], &factor, true).unwrap();
    let found = surrogate.log_density(&[2.0]) - surrogate.log_density(&[0.0]);
    let wanted = marginal(2.0) - marginal(0.0);
    assert!((found - wanted).abs() < 0.6, "{found} instead of {wanted}");
    let plain = fit(&visits, &[], &[0.5], &factor, true).unwrap();
    let missed = plain.log_density(&[2.0]) - plain.log_density(&[0.0]);
    assert!(
        (missed - wanted).abs() > 2.0,
        "the test cannot fail: {missed}"
    );
}
