//! A mixture of bent normals: shapes in several pieces, each of which is nearly normal in coordinates of its own.
//!
//! Parts are added where the mixture so far misses points, and all are then fitted together. Their masses come out of the fit as their
//! scales do: nothing is assigned to a part, so that parts may touch and cross.

use super::bend::{Bend, Range, Seen, orders};
use super::levenberg::{Equations, Fitted, improve};
use super::limits::{
    BEND_CROSSED, BEND_FIRST_ROUNDS, BEND_RIDGE, FOLDS, GROWN, MISSED, MISSED_FEWEST, MIXED_FALL,
    MIXED_FOLD_ROUNDS, MIXED_JUDGED, MIXED_MOST_SLOW, MIXED_PARTS, MIXED_ROUNDS, NEAREST, NO_SHARE,
    POINTS_PER_BEND,
};
use super::visits::Samples;
use crate::linalg::squared_distance;
use serde::{Deserialize, Serialize};

/// The sum of some bent normal densities over w.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Mixture {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    /// The log density in its middle, but for its scales.
    level: f64,
    bend: Bend,
    /// Whether it is kept straight: a normal.
    straight: bool,
}

/// A mixture, and the same without each fold of the points in turn.
pub(super) struct Folded {
    pub whole: Mixture,
    pub folds: Vec<Mixture>,
}

impl Mixture {
    /// Mixtures of two parts and more, as long as another part explains the points better.
    pub fn fit_all(samples: &Samples) -> Vec<Folded> {
        if samples.dim > MIXED_MOST_SLOW {
            return Vec::new();
        }
        let seen: Vec<Seen> = samples
            .list
            .iter()
            .map(|sample| Seen {
                x: sample.w.clone(),
                below: 0.5 * sample.distance * sample.distance - sample.wanted,
                weight: sample.weight,
                inner: sample.inner,
            })
            .collect();
        let each: Vec<&Seen> = seen.iter().collect();
        let all = NEAREST.map(|nearest| Self::fit_from(&each, nearest, samples.heat));
        // By what is left at the points: those that leave most are not worth a judgement.
        let mut found: Vec<&(f64, Self)> = all.iter().flatten().collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.truncate(MIXED_JUDGED);
        // The fewest parts first, as in every list of candidates.
        found.sort_by_key(|(_, mixture)| mixture.parts.len());
        let folded = found
            .iter()
            .filter_map(|(_, mixture)| mixture.folded(&each));
        folded.collect()
    }

    /// Mixtures of two parts and more with what they leave, where parts begin with this share of the points that are missed.
    fn fit_from(seen: &[&Seen], nearest: f64, heat: f64) -> Vec<(f64, Self)> {
        let (mut local, mut found) = (Self { parts: Vec::new() }, Vec::new());
        let mut least = f64::INFINITY;
        while local.parts.len() < MIXED_PARTS {
            let Some(part) = local.next_part(seen, nearest, heat) else {
                break;
            };
            local.parts.push(part);
            let size: usize = local.parts.iter().map(Part::numbers).sum();
            if (seen.len() as f64) < POINTS_PER_BEND * size as f64 {
                break;
            }
            // Together on a copy: parts that are to explain everything lose what they are parts of.
            let mut together = local.clone();
            let Some(error) = together.improve(seen, MIXED_ROUNDS) else {
                break;
            };
            if error > MIXED_FALL * least {
                continue;
            }
            least = error;
            if together.parts.len() > 1 {
                found.push((error, together));
            }
        }
        found
    }

    /// Its log density at w, and what is to be added to −|w|²/2 for it.
    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
        for part in &self.parts {
            let log = part.level + part.bend.log_normal(w);
            if log > top {
                sum = sum * (top - log).exp() + 1.0;
                top = log;
            } else {
                sum += (log - top).exp();
            }
        }
        let square: f64 = w.iter().map(|v| v * v).sum();
        top + sum.ln() + 0.5 * square
    }

    /// How many parts it has.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    pub fn fits(&self, dim: usize) -> bool {
        let sound = |part: &Part| part.level.is_finite() && part.bend.fits(dim);
        !self.parts.is_empty() && self.parts.iter().all(sound)
    }

    /// Fits all parts together; returns the error that is left.
    fn improve(&mut self, seen: &[&Seen], rounds: usize) -> Option<f64> {
        let mut fit = Fit {
            parts: std::mem::take(&mut self.parts),
            seen,
        };
        let error = improve(&mut fit, rounds);
        self.parts = fit.parts;
        error
    }

    /// A part for what is missed: it begins at the highest missed point and those that are nearest to it.
    fn next_part(&self, seen: &[&Seen], nearest: f64, heat: f64) -> Option<Part> {
        let missed = |s: &&&Seen| s.inner && self.misses(s);
        let mut left: Vec<&Seen> = seen.iter().filter(missed).copied().collect();
        let highest = left.iter().min_by(|a, b| a.below.total_cmp(&b.below))?;
        let fewest = MISSED_FEWEST[0] + MISSED_FEWEST[1] * highest.x.len();
        if left.len() < fewest {
            return None;
        }
        let at = highest.x.clone();
        left.sort_by(|a, b| squared_distance(&a.x, &at).total_cmp(&squared_distance(&b.x, &at)));
        left.truncate(((nearest * left.len() as f64) as usize).max(fewest));
        Part::grow(&left, seen, heat)
    }

    /// How far it is below a point.
    fn off(&self, s: &Seen) -> f64 {
        let square: f64 = s.x.iter().map(|v| v * v).sum();
        -s.below - (self.value(&s.x) - 0.5 * square)
    }

    /// Whether it is far below a point; above it is another matter.
    fn misses(&self, s: &Seen) -> bool {
        self.parts.is_empty() || self.off(s) > MISSED
    }

    /// The same without each fold of the points.
    fn folded(&self, seen: &[&Seen]) -> Option<Folded> {
        let without = |fold: usize| {
            let kept = seen.iter().enumerate().filter(|(k, _)| k % FOLDS != fold);
            let kept: Vec<&Seen> = kept.map(|(_, s)| *s).collect();
            let mut mixture = self.clone();
            mixture.improve(&kept, MIXED_FOLD_ROUNDS)?;
            Some(mixture)
        };
        Some(Folded {
            folds: (0..FOLDS).map(without).collect::<Option<Vec<_>>>()?,
            whole: self.clone(),
        })
    }
}

impl Part {
    fn numbers(&self) -> usize {
        1 + Bend::numbers(self.bend.dim())
    }

    /// The bent normal that begins as that of a few near points, and grows along what it explains: again and again it is fitted to all points
    /// that it does not miss. What it misses is left to other parts; where it claims mass that is not there it is wrong.
    fn grow(near: &[&Seen], seen: &[&Seen], heat: f64) -> Option<Self> {
        let p = near.first()?.x.len();
        let highest = near.iter().map(|s| s.below).fold(f64::INFINITY, f64::min);
        let shares: Vec<f64> = near
            .iter()
            .map(|s| (-(s.below - highest) / heat).exp())
            .collect();
        let white: Vec<Vec<f64>> = near.iter().map(|s| s.x.clone()).collect();
        let inner = seen.iter().filter(|s| s.inner);
        let bulk = Range::of(inner.map(|s| &s.x[..]), p);
        let unit = (&vec![0.0; p][..], &vec![1.0; p][..]);
        let few = |count: usize| (count as f64) < POINTS_PER_BEND * (1 + Bend::numbers(p)) as f64;
        let mut best: Option<(f64, Self)> = None;
        for order in orders(&white, &shares, p) {
            let mut bend = Bend::begin(order, unit, &white, &shares, &bulk, p <= BEND_CROSSED);
            let straight = few(near.len());
            if straight {
                bend.straighten();
            }
            let mut one = Mixture {
                parts: vec![Self {
                    level: -highest,
                    bend,
                    straight,
                }],
            };
            one.improve(near, BEND_FIRST_ROUNDS);
            for _ in 0..GROWN {
                let own: Vec<&Seen> = seen.iter().filter(|s| !one.misses(s)).copied().collect();
                if own.len() < near.len() {
                    break;
                }
                one.parts[0].straight = few(own.len());
                one.improve(&own, BEND_FIRST_ROUNDS);
            }
            // What it explains, by weight.
            let explained: f64 = seen
                .iter()
                .filter(|s| one.off(s).abs() < MISSED)
                .map(|s| s.weight)
                .sum();
            if best.as_ref().is_none_or(|(most, _)| explained > *most) {
                best = one.parts.pop().map(|part| (explained, part));
            }
        }
        best.map(|(_, part)| part)
    }
}

/// A mixture in the making.
#[derive(Clone)]
struct Fit<'a> {
    parts: Vec<Part>,
    seen: &'a [&'a Seen],
}

impl Fitted for Fit<'_> {
    fn advance(&mut self, step: &[f64]) {
        let mut rest = step.iter();
        for part in &mut self.parts {
            part.level += rest.next().unwrap_or(&0.0);
            part.bend.advance(&mut rest);
        }
    }

    fn equations(&self) -> Equations {
        let size = self.parts.iter().map(Part::numbers).sum();
        let mut all = Equations::new(size);
        let (mut row, mut own) = (Vec::with_capacity(size), Vec::with_capacity(size));
        let (mut ends, mut runs) = (Vec::new(), Vec::new());
        for s in self.seen {
            row.clear();
            own.clear();
            ends.clear();
            runs.clear();
            for part in &self.parts {
                row.push(1.0);
                let log = part.level + part.bend.explain(&s.x, part.straight, &mut row);
                ends.push((row.len(), log));
            }
            let top = ends.iter().map(|e| e.1).fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = ends.iter().map(|e| (e.1 - top).exp()).sum();
            // What a part's numbers change counts by its share of the density here: at most points, those of one or two.
            let mut first = 0;
            for (end, log) in &ends {
                let share = (log - top).exp() / sum;
                if share > NO_SHARE {
                    own.extend(row[first..*end].iter().map(|v| v * share));
                    runs.push((first, end - first));
                }
                first = *end;
            }
            all.add(&own, &runs, -s.below - (top + sum.ln()), s.weight);
        }
        all.settle();
        all.ridge = BEND_RIDGE * all.weight;
        all.loss /= all.weight;
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    fn arm(a: f64, b: f64) -> f64 {
        -0.5 * (a / 1.2).powi(2) - 0.5 * ((b - 0.8 * a * a) / 0.35).powi(2)
    }

    fn moons(w: &[f64]) -> f64 {
        let (one, two) = (arm(w[0], w[1]), arm(w[0] - 1.0, 4.0 - w[1]));
        let top = one.max(two);
        top + ((one - top).exp() + (two - top).exp()).ln()
    }

    #[test]
    fn two_crescents_that_cross_are_explained_by_a_few_parts() {
        for seed in 1..6 {
            let mut rng = Rng::stream(seed, 0);
            let mut seen = Vec::new();
            while seen.len() < 250 {
                let x = vec![8.0 * rng.uniform() - 3.5, 12.0 * rng.uniform() - 4.0];
                let below = -moons(&x);
                if below < 24.0 && rng.uniform() < (-below / 3.0).exp().max(0.05) {
                    seen.push(Seen {
                        weight: (-0.17 * (below - 3.7).max(0.0)).exp(),
                        inner: below < 11.0,
                        x,
                        below,
                    });
                }
            }
            let each: Vec<&Seen> = seen.iter().collect();
            let all = NEAREST.map(|nearest| Mixture::fit_from(&each, nearest, 3.0));
            let best = all.iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
            let (error, mixture) = best.expect("more than one part");
            println!("seed {seed}: {} parts leave {error}", mixture.parts());
            // One part leaves 1.1 to 1.2.
            assert!(*error < 0.05, "seed {seed}: {error}");
            let folded = mixture.folded(&each).expect("five fits");
            let at = [0.3, 0.1];
            for fold in &folded.folds {
                assert!((fold.value(&at) - mixture.value(&at)).abs() < 0.1);
            }
            assert!(mixture.fits(2) && !mixture.fits(3));
        }
    }
}
