//! Looking for what would be missed: mass of x far outside of what was explored, and other modes of y.

use super::common::{self, Common};
use super::enough::Aim;
use super::explore::depth;
use super::limits::probe::{
    BETWEEN, DIRECTIONS_EACH, DIRECTIONS_OF_WEIGHTS, HOMEWARD, MOST_DIRECTIONS, RADII, STEP,
    SURPRISE,
};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::FrameRule;
use crate::linalg::dot;
use crate::slow::surrogate::{Surrogate, Visit};
use crate::target::Target;

/// Whether there is mass far outside, where the fit has none, as a search from the most surprising of the probes tells, which has then added
/// what it met to the visits. Returns the slow evaluations of the probes.
pub(super) fn far<T: Target>(
    walker: &mut Walker<'_, T>,
    fitted: &Surrogate,
    aim: Aim,
    rule: &FrameRule,
    visits: &mut Vec<Visit>,
    common: &mut Common,
    exchange: &mut impl Exchange,
) -> Result<(bool, usize), Error> {
    let points = probes(fitted, aim, common);
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
    let spent = points.len();
    let p = fitted.dim();
    let place = (&points[k][..], found[k].unwrap_or(f64::NAN));
    let (homeward, cost) = leads_home(walker, fitted, rule, place, visits, common, exchange)?;
    if homeward {
        return Ok((false, spent + cost));
    }
    let mine = match common.index {
        0 => walker.search_from(rule, &points[k])?,
        _ => Vec::new(),
    };
    let numbers: Vec<f64> = mine
        .iter()
        .flat_map(|visit| visit.x.iter().copied().chain([visit.log_marginal]))
        .collect();
    let met: Vec<Visit> = exchange
        .gather(&numbers)?
        .iter()
        .flat_map(|theirs| theirs.chunks_exact(p + 1))
        .map(|row| Visit {
            x: row[..p].to_vec(),
            log_marginal: row[p],
        })
        .collect();
    // A search that came back to what is known has only seen that the fit falls too steeply where nobody comes.
    let enough = best(visits) - depth(p);
    let is_new = |visit: &Visit| {
        let above = visit.log_marginal - fitted.log_density(&visit.x);
        visit.log_marginal > enough && above > SURPRISE
    };
    let more = best(&met) <= enough || met.iter().any(is_new);
    visits.extend(met);
    Ok((more, spent + cost))
}

/// Whether the way up from a place of such a height leads straight back to the centre, and nothing lies on that way: then it is a tail of what is known, and not
/// the foot of something else. Returns what it took.
fn leads_home<T: Target>(
    walker: &mut Walker<'_, T>,
    fitted: &Surrogate,
    rule: &FrameRule,
    (place, height): (&[f64], f64),
    visits: &mut Vec<Visit>,
    common: &mut Common,
    exchange: &mut impl Exchange,
) -> Result<(bool, usize), Error> {
    let p = place.len();
    // Along one variable every way up is one of two: what lies on it, a search tells better.
    if p == 1 {
        return Ok((false, 0));
    }
    let mut home: Vec<f64> = fitted
        .centre()
        .iter()
        .zip(place)
        .map(|(c, x)| c - x)
        .collect();
    fitted.factor().solve(&mut home);
    let mut beside = Vec::with_capacity(2 * p);
    for k in 0..p {
        for step in [STEP, -STEP] {
            let mut w = vec![0.0; p];
            w[k] = step;
            beside.push(away(fitted, place, &w));
        }
    }
    let distance = dot(&home, &home).sqrt();
    for share in stops(distance) {
        let w: Vec<f64> = home.iter().map(|v| share * v).collect();
        beside.push(away(fitted, place, &w));
    }
    let found = common.visit(walker, rule, &beside, exchange)?;
    common::note(visits, &beside, &found);
    let heights: Vec<f64> = found.iter().map(|f| f.unwrap_or(f64::NAN)).collect();
    let (around, way) = heights.split_at(2 * p);
    let slope: Vec<f64> = around
        .chunks_exact(2)
        .map(|pair| pair[0] - pair[1])
        .collect();
    let cosine = dot(&slope, &home) / (dot(&slope, &slope).sqrt() * distance);
    let before = std::iter::once(&height).chain(way);
    let rises = before.zip(way).all(|(before, next)| next > before);
    Ok((cosine >= HOMEWARD && rises, beside.len()))
}

/// Where the way home from so far away is looked at, as shares of it: from the place itself, where it was, to the first of the probes' radii. None
/// where it begins there already, to rounding.
fn stops(distance: f64) -> impl Iterator<Item = f64> {
    let way = distance - RADII[0];
    let count = (way / BETWEEN - 1e-6).ceil().max(0.0) as usize;
    (1..=count).map(move |stop| way / distance * stop as f64 / count as f64)
}

/// The place that lies whitened w away from another.
fn away(fitted: &Surrogate, from: &[f64], w: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; from.len()];
    fitted.factor().apply(w, &mut x);
    x.iter_mut().zip(from).for_each(|(x, f)| *x += f);
    x
}

/// The highest of them.
fn best(visits: &[Visit]) -> f64 {
    let values = visits.iter().map(|visit| visit.log_marginal);
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// Points along random directions, both ways.
fn probes(fitted: &Surrogate, aim: Aim, common: &mut Common) -> Vec<Vec<f64>> {
    let p = fitted.dim();
    let directions = match p {
        1 => 1,
        _ => (DIRECTIONS_EACH * p).min(match aim {
            Aim::Draws => MOST_DIRECTIONS,
            Aim::Error(_) => DIRECTIONS_OF_WEIGHTS,
        }),
    };
    let mut points = Vec::new();
    for _ in 0..directions {
        let raw: Vec<f64> = (0..p).map(|_| common.rng.normal()).collect();
        let length = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
        for radius in RADII {
            for sign in [-1.0, 1.0] {
                let w: Vec<f64> = raw.iter().map(|v| sign * radius * v / length).collect();
                points.push(away(fitted, fitted.centre(), &w));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_home_that_begins_at_the_first_radius_has_no_stops() {
        // A place at that radius, to rounding, used to be compared with itself, and found not to be lower.
        for distance in [RADII[0] - 1e-12, RADII[0], RADII[0] + 1e-12] {
            assert_eq!(stops(distance).count(), 0);
        }
        let [_, second, ..] = RADII;
        let shares: Vec<f64> = stops(second).collect();
        assert_eq!(shares.len(), 2);
        assert!((second * (1.0 - shares[1]) - RADII[0]).abs() < 1e-12);
    }
}
