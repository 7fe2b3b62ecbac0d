//! Looking for what would be missed: mass of x far outside of what was explored, and other modes of y.

use super::common::{self, Common};
use super::enough::Aim;
use super::explore::depth;
use super::limits::probe::{
    BETWEEN, DIRECTIONS_EACH, DIRECTIONS_OF_WEIGHTS, HOMEWARD, KEPT_PROMISE, LEAST_BEND,
    MOST_DIRECTIONS, RADII, SOFT, STEP, STRAIGHT, SURPRISE,
};
use super::start::Known;
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
    let mut looking = Looking {
        walker,
        rule,
        visits,
        common,
        exchange,
        seen: Vec::new(),
        spent: 0,
    };
    let heights = looking.at(&points)?;
    looking.note();
    let p = fitted.dim();
    let surprising = most_surprising(fitted, &points, &heights);
    let soft = || match p {
        1 => None,
        _ => softest(&heights, best(looking.visits)),
    };
    let Some(k) = surprising.or_else(soft) else {
        return Ok((false, looking.spent));
    };
    let (place, straight) = match surprising {
        Some(_) => (&points[k], HOMEWARD),
        None => (&points[k], STRAIGHT),
    };
    let (mut met, mut more) = (Vec::new(), false);
    if !leads_home(&mut looking, fitted, straight, place, heights[k])? {
        let enough = best(looking.visits) - depth(p);
        let is_surprising = |x: &[f64], height: f64| height - fitted.log_density(x) > SURPRISE;
        let is_known = |x: &[f64], height: f64| height > enough && !is_surprising(x, height);
        met = looking.search_from(place, &is_known)?;
        // A search that came back to what is known has only seen that the fit falls too steeply where nobody comes.
        let is_new = |visit: &Visit| {
            visit.log_marginal > enough && is_surprising(&visit.x, visit.log_marginal)
        };
        more = best(&met) <= enough || met.iter().any(is_new);
    }
    // What was seen of a tail that is known well enough, along a single ray, would tell the fit too much.
    if more || surprising.is_some() {
        looking.note();
        looking.visits.extend(met);
    }
    Ok((more, looking.spent))
}

/// What it takes to look at places together with the other chains, and where what is found is noted.
struct Looking<'a, 't, T: Target, E> {
    walker: &'a mut Walker<'t, T>,
    rule: &'a FrameRule,
    visits: &'a mut Vec<Visit>,
    common: &'a mut Common,
    exchange: &'a mut E,
    /// What is not yet among the visits.
    seen: Vec<Visit>,
    spent: usize,
}

impl<T: Target, E: Exchange> Looking<'_, '_, T, E> {
    /// The heights at these places: no number where there is no mode.
    fn at(&mut self, points: &[Vec<f64>]) -> Result<Vec<f64>, Error> {
        let found = self
            .common
            .visit(self.walker, self.rule, points, self.exchange)?;
        common::note(&mut self.seen, points, &found);
        self.spent += points.len();
        Ok(found.iter().map(|f| f.unwrap_or(f64::NAN)).collect())
    }

    /// Adds what was seen to the visits.
    fn note(&mut self) {
        self.visits.append(&mut self.seen);
    }

    /// What a search from there met, to a top or to what is known: the first chain makes it, for all.
    fn search_from(&mut self, place: &[f64], is_known: &Known<'_>) -> Result<Vec<Visit>, Error> {
        let mine = match self.common.index {
            0 => self.walker.search_from(self.rule, place, is_known)?,
            _ => Vec::new(),
        };
        let numbers: Vec<f64> = mine
            .iter()
            .flat_map(|visit| visit.x.iter().copied().chain([visit.log_marginal]))
            .collect();
        let p = place.len();
        let all = self.exchange.gather(&numbers)?;
        let rows = all.iter().flat_map(|theirs| theirs.chunks_exact(p + 1));
        let visit = |row: &[f64]| Visit {
            x: row[..p].to_vec(),
            log_marginal: row[p],
        };
        Ok(rows.map(visit).collect())
    }
}

/// The probe that lies highest above the fit, if it is a surprise.
fn most_surprising(fitted: &Surrogate, points: &[Vec<f64>], heights: &[f64]) -> Option<usize> {
    let above = points.iter().zip(heights).enumerate();
    above
        .map(|(k, (x, height))| (height - fitted.log_density(x), k))
        .filter(|(above, _)| *above > SURPRISE)
        // The first of equals.
        .reduce(|most, one| if one.0 > most.0 { one } else { most })
        .map(|(_, k)| k)
}

/// The probe that lies least far down for its distance, of those at the first radius at which one is less deep than a normal tail, and far less than the nearest one
/// on its way tells of it: what is known of the width is known roughly. Tails of the fit are so heavy that the flank of another mode may not rise above
/// them; where the way up from there leads tells it from a tail.
fn softest(heights: &[f64], top: f64) -> Option<usize> {
    let depth = |k: usize| (top - heights[k]) / (0.5 * RADII[ring_of(k)].powi(2));
    let beside = |k: usize| depth(k) / depth(k - 2 * ring_of(k));
    let is_soft = |k: &usize| depth(*k) < 1.0 && beside(*k) < SOFT;
    (1..RADII.len()).find_map(|ring| {
        let of_ring = (0..heights.len()).filter(|k| ring_of(*k) == ring);
        of_ring
            .filter(is_soft)
            .min_by(|a, b| beside(*a).total_cmp(&beside(*b)))
    })
}

/// Which of the radii a probe has.
fn ring_of(probe: usize) -> usize {
    probe / 2 % RADII.len()
}

/// Whether the way up from a place of such a height leads straight back to the centre, and nothing lies on that way: then it is a tail of what is known, and not
/// the foot of something else. Also where it leads to the side first, and then back.
fn leads_home<T: Target, E: Exchange>(
    looking: &mut Looking<'_, '_, T, E>,
    fitted: &Surrogate,
    straight: f64,
    place: &[f64],
    height: f64,
) -> Result<bool, Error> {
    let p = place.len();
    // Along one variable every way up is one of two: what lies on it, a search tells better.
    if p == 1 {
        return Ok(false);
    }
    let home = homeward(fitted, place);
    let mut beside = Vec::with_capacity(2 * p);
    for k in 0..p {
        for step in [STEP, -STEP] {
            let mut w = vec![0.0; p];
            w[k] = step;
            beside.push(away(fitted, place, &w));
        }
    }
    beside.extend(on_the_way(fitted, place, &home));
    let heights = looking.at(&beside)?;
    let (around, way) = heights.split_at(2 * p);
    if !rises(height, way) {
        return Ok(false);
    }
    let slope: Vec<f64> = around
        .chunks_exact(2)
        .map(|pair| (pair[0] - pair[1]) / (2.0 * STEP))
        .collect();
    let cosine = dot(&slope, &home) / (dot(&slope, &slope) * dot(&home, &home)).sqrt();
    if cosine >= straight {
        return Ok(true);
    }
    // The way home rises, and the steepest way up leads elsewhere: to the side, where a tail that bends is highest so far out, or to something else.
    let bends: Vec<f64> = around
        .chunks_exact(2)
        .map(|pair| (2.0 * height - pair[0] - pair[1]) / (STEP * STEP))
        .collect();
    let (aside, promised) = aside(&slope, &bends, &home);
    let there = away(fitted, place, &aside);
    let mut points = on_the_way(fitted, &there, &homeward(fitted, &there));
    points.insert(0, there);
    let heights = looking.at(&points)?;
    let gained = heights[0] - height;
    // As high as was promised, not so high that it has mass of its own, and nothing between it and what is known.
    Ok(gained > 0.0
        && gained < KEPT_PROMISE * promised + 1.0
        && heights[0] < best(looking.visits) - depth(p)
        && rises(heights[0], &heights[1..]))
}

/// The whitened way from a place to the centre.
fn homeward(fitted: &Surrogate, place: &[f64]) -> Vec<f64> {
    let both = fitted.centre().iter().zip(place);
    let mut home: Vec<f64> = both.map(|(c, x)| c - x).collect();
    fitted.factor().solve(&mut home);
    home
}

/// Whether heights rise all the way from the first.
fn rises(first: f64, way: &[f64]) -> bool {
    let before = std::iter::once(&first).chain(way);
    before.zip(way).all(|(before, next)| next > before)
}

/// The whitened step across the way home to where a parabola has its top, and what it gains there; where hardly anything bends, it is taken to
/// bend a little, and no step is longer than the way home.
fn aside(slope: &[f64], bends: &[f64], home: &[f64]) -> (Vec<f64>, f64) {
    let along = dot(slope, home) / dot(home, home);
    let across = slope.iter().zip(home).map(|(s, h)| s - along * h);
    let mut step: Vec<f64> = across
        .clone()
        .zip(bends)
        .map(|(s, b)| s / b.max(LEAST_BEND))
        .collect();
    let to_the_top: f64 = across.zip(&step).map(|(s, w)| s * w).sum();
    let share = (dot(home, home) / dot(&step, &step)).sqrt().min(1.0);
    step.iter_mut().for_each(|w| *w *= share);
    (step, (share - 0.5 * share * share) * to_the_top)
}

/// The places on the way home from another at which it is looked at.
fn on_the_way(fitted: &Surrogate, from: &[f64], home: &[f64]) -> Vec<Vec<f64>> {
    stops(dot(home, home).sqrt())
        .map(|share| {
            let w: Vec<f64> = home.iter().map(|v| share * v).collect();
            away(fitted, from, &w)
        })
        .collect()
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
    let directions = match (p, aim) {
        (1, _) => 1,
        (_, Aim::Draws) => (DIRECTIONS_EACH * p).min(MOST_DIRECTIONS),
        (_, Aim::Error(_)) => (DIRECTIONS_EACH * p).min(DIRECTIONS_OF_WEIGHTS),
    };
    let mut found: Vec<Vec<f64>> = Vec::new();
    for k in 0..directions {
        let mut direction: Vec<f64> = (0..p).map(|_| common.rng.normal()).collect();
        // The fewer they are, the more it helps that they are at right angles.
        if aim != Aim::Draws {
            for before in &found[k - k % p..] {
                let along = dot(&direction, before) / dot(before, before);
                let both = direction.iter_mut().zip(before);
                both.for_each(|(v, b)| *v -= along * b);
            }
        }
        found.push(direction);
    }
    let mut points = Vec::new();
    for raw in found {
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

    /// Heights of probes along some directions, both ways.
    fn heights(directions: &[[f64; 2]], height: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        let mut all = Vec::new();
        for direction in directions {
            for radius in RADII {
                for sign in [-1.0, 1.0] {
                    let x: Vec<f64> = direction.iter().map(|v| sign * radius * v).collect();
                    all.push(height(&x));
                }
            }
        }
        all
    }

    #[test]
    fn the_flank_of_another_mode_is_soft_and_tails_that_are_no_lighter_than_normal_are_not() {
        let directions = [[1.0, 0.0], [0.6, 0.8]];
        let square = |x: &[f64]| dot(x, x);
        // A normal, one that is wider than was thought, and a tail that falls faster.
        let normal = heights(&directions, |x| -0.5 * square(x));
        assert_eq!(softest(&normal, 0.0), None);
        let wide = heights(&directions, |x| -0.3 * square(x));
        assert_eq!(softest(&wide, 0.0), None);
        let steep = heights(&directions, |x| -0.5 * square(x).powf(1.4));
        assert_eq!(softest(&steep, 0.0), None);
        // Another mode twelve away, nearer to the first direction: seen at the second radius, on its side.
        let other = |x: &[f64]| -0.5 * ((x[0] - 11.5).powi(2) + (x[1] + 3.4).powi(2));
        let pair = heights(&directions, |x| (-0.5 * square(x)).max(other(x)));
        let seen = softest(&pair, 0.0);
        assert_eq!(seen, Some(3));
        assert_eq!(seen.map(ring_of), Some(1));
        // What has no height has no depth to compare.
        let holes: Vec<f64> = pair.iter().map(|_| f64::NAN).collect();
        assert_eq!(softest(&holes, 0.0), None);
    }

    #[test]
    fn the_step_aside_is_to_the_top_of_a_parabola_and_not_further_than_home() {
        // Home is along the first coordinate; across it the height is −½ 2 (v − 3)².
        let home = [10.0, 0.0];
        let (step, promised) = aside(&[5.0, 6.0], &[1.0, 2.0], &home);
        assert!((step[0]).abs() < 1e-12 && (step[1] - 3.0).abs() < 1e-12);
        assert!((promised - 9.0).abs() < 1e-12);
        // What hardly bends is followed for as long as the way home, and promises what a parabola would gain there.
        let (step, promised) = aside(&[5.0, 6.0], &[1.0, 0.0], &home);
        assert!((step[1] - 10.0).abs() < 1e-12, "{step:?}");
        assert!((promised - (60.0 - 0.5 * LEAST_BEND * 100.0)).abs() < 1e-9);
    }
}
