//! Looking for what would be missed: mass of x far outside of what was explored, and other modes of y.

use super::common::{self, Common};
use super::limits::probe::{DIRECTIONS_EACH, MOST_DIRECTIONS, RADII, SURPRISE};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::FrameRule;
use crate::slow::surrogate::{Surrogate, Visit};
use crate::target::Target;

/// Whether there is mass far outside, where the fit has none: a search from the most surprising of the probes has then added what it
/// met to the visits. Returns the slow evaluations of the probes.
pub(super) fn far<T: Target>(
    walker: &mut Walker<'_, T>,
    fitted: &Surrogate,
    rule: &FrameRule,
    visits: &mut Vec<Visit>,
    common: &mut Common,
    exchange: &mut impl Exchange,
) -> Result<(bool, usize), Error> {
    let points = probes(fitted, common);
    let found = common.visit(walker, rule, &points, exchange)?;
    common::note(visits, &points, &found);
    let mut most: Option<(f64, usize)> = None;
    for (k, (x, found)) in points.iter().zip(&found).enumerate() {
        let above = found.map_or(f64::NEG_INFINITY, |f| f - fitted.log_density(x));
        if above > SURPRISE && most.is_none_or(|(so_far, _)| above > so_far) {
            most = Some((above, k));
        }
    }
    let Some((_, k)) = most else {
        return Ok((false, points.len()));
    };
    let mine = match common.index {
        0 => walker.search_from(rule, &points[k], exchange)?,
        _ => Vec::new(),
    };
    let p = fitted.dim();
    let numbers: Vec<f64> = mine
        .iter()
        .flat_map(|visit| visit.x.iter().copied().chain([visit.log_marginal]))
        .collect();
    for theirs in exchange.gather(&numbers)? {
        visits.extend(theirs.chunks_exact(p + 1).map(|row| Visit {
            x: row[..p].to_vec(),
            log_marginal: row[p],
        }));
    }
    Ok((true, points.len()))
}

/// Points along random directions, both ways.
fn probes(fitted: &Surrogate, common: &mut Common) -> Vec<Vec<f64>> {
    let p = fitted.dim();
    let directions = match p {
        1 => 1,
        _ => (DIRECTIONS_EACH * p).min(MOST_DIRECTIONS),
    };
    let mut points = Vec::new();
    for _ in 0..directions {
        let raw: Vec<f64> = (0..p).map(|_| common.rng.normal()).collect();
        let length = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
        for radius in RADII {
            for sign in [-1.0, 1.0] {
                let w: Vec<f64> = raw.iter().map(|v| sign * radius * v / length).collect();
                let mut x = vec![0.0; p];
                fitted.factor().apply(&w, &mut x);
                x.iter_mut().zip(fitted.centre()).for_each(|(x, c)| *x += c);
                points.push(x);
            }
        }
    }
    points
}
