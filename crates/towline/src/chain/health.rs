//! Watches whether frames work everywhere: failures, and regions that framed moves never enter.
//!
//! A frame that is wrong in some region makes that region unreachable for its own moves; the chain then looks
//! perfect and is wrong. Moves in the linear frame, which every kernel of warm-up's has, do get there, and that
//! difference is what is looked for here.

use crate::kernel::info::Info;
use serde::{Deserialize, Serialize};

/// The edges between regions of a slow variable, in standard deviations from its mean: from minus to plus `OUTERMOST`, so far apart.
/// A step that a frame cannot cross lies nearly always between two edges, and short moves cross the edge without it: the
/// closer the edges, the fewer these are.
const OUTERMOST: f64 = 3.0;
const APART: f64 = 0.25;
const EDGES: usize = 25;
pub(super) const REGIONS: usize = EDGES + 1;
/// Failures, which are rarer, are counted between these.
const COARSE: [f64; 9] = [-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0];
/// Proposals before anything is said about them, and arrivals by other moves.
const ENOUGH: f64 = 30.0;
const ENOUGH_OTHERS: f64 = 5.0;
/// An edge that framed moves cross with less than this share of their usual acceptance, and of the acceptance of
/// other moves across it, is shut to them.
const SHUT: f64 = 0.1;
/// A region in which more than this share of searches fails is worth a word.
const FAILING: f64 = 0.1;

/// What was seen in one region of one slow variable, and at its upper edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Region {
    draws: f64,
    framed: f64,
    framed_acceptance: f64,
    failures: f64,
    /// Proposals across the upper edge, either way, in a Laplace frame and otherwise.
    across: [f64; 2],
    /// The sums of their acceptance probabilities.
    across_acceptance: [f64; 2],
}

/// How frames fare in each region of x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameHealth {
    centre: Vec<f64>,
    sds: Vec<f64>,
    regions: Vec<Region>,
    /// The summed acceptance of moves that are in no searched frame.
    others: f64,
    /// Where the chain stood before the step.
    last: Option<Vec<f64>>,
}

/// A region in which frames do not work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ailment {
    /// Which slow variable.
    pub variable: usize,
    /// From where to where, on that variable's own scale.
    pub range: (f64, f64),
    /// What is wrong there.
    pub kind: AilmentKind,
    /// The share of draws in the region.
    pub share: f64,
    /// The share of draws below it.
    pub below: f64,
}

/// What can be wrong with frames in a region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum AilmentKind {
    /// Framed moves into and out of the region are hardly ever accepted, though other moves are.
    Shut,
    /// The search for the mode fails for this share of the x proposed there.
    Failing(f64),
}

impl FrameHealth {
    /// Regions about these means, in units of these standard deviations.
    pub fn new(centre: &[f64], sds: &[f64]) -> Self {
        Self {
            centre: centre.to_vec(),
            sds: sds.to_vec(),
            regions: vec![Region::default(); REGIONS * centre.len()],
            others: 0.0,
            last: None,
        }
    }

    /// Notes a step: where it was proposed to go, where the chain stands after it, what happened.
    pub(crate) fn note(&mut self, proposed: &[f64], x: &[f64], info: &Info) {
        if info.outer_proposed == 0 || self.centre.is_empty() {
            return;
        }
        if self.regions.len() != REGIONS * self.centre.len() {
            // Counted by another version, between other edges: begun anew.
            *self = Self::new(&self.centre, &self.sds);
        }
        let last = self.last.take();
        let acceptance = info.log_ratio.min(0.0).exp();
        let kind = usize::from(info.framed_proposed == 0);
        if kind == 1 {
            self.others += acceptance;
        }
        for k in 0..self.centre.len() {
            let (here, there) = (self.region(k, x[k]), self.region(k, proposed[k]));
            self.regions[here].draws += 1.0;
            let region = &mut self.regions[there];
            if info.framed_proposed > 0 {
                region.framed += 1.0;
                region.framed_acceptance += acceptance;
                // Where a proposal has no mass there is no mode to be found, and nothing is lost.
                if info.log_ratio > f64::NEG_INFINITY {
                    region.failures += info.frame_failures.min(1) as f64;
                }
            }
            if let Some(last) = &last {
                let from = self.region(k, last[k]);
                for edge in from.min(there)..from.max(there) {
                    self.regions[edge].across[kind] += 1.0;
                    self.regions[edge].across_acceptance[kind] += acceptance;
                }
            }
        }
        let mut last = last.unwrap_or_default();
        last.clear();
        last.extend_from_slice(x);
        self.last = Some(last);
    }

    fn region(&self, k: usize, value: f64) -> usize {
        k * REGIONS + region_of((value - self.centre[k]) / self.sds[k])
    }

    /// Everything counted, to be added up over chains.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let each = |r: &Region| {
            [
                r.draws,
                r.framed,
                r.framed_acceptance,
                r.failures,
                r.across[0],
                r.across[1],
                r.across_acceptance[0],
                r.across_acceptance[1],
            ]
        };
        self.regions
            .iter()
            .flat_map(each)
            .chain([self.others])
            .collect()
    }

    /// Adds what another chain counted.
    pub(crate) fn absorb(&mut self, numbers: &[f64]) {
        self.others += numbers.get(8 * self.regions.len()).copied().unwrap_or(0.0);
        for (region, n) in self.regions.iter_mut().zip(numbers.chunks_exact(8)) {
            region.draws += n[0];
            region.framed += n[1];
            region.framed_acceptance += n[2];
            region.failures += n[3];
            for kind in 0..2 {
                region.across[kind] += n[4 + kind];
                region.across_acceptance[kind] += n[6 + kind];
            }
        }
    }

    /// Adds another chain's counts.
    pub fn merge(&mut self, other: &Self) {
        self.absorb(&other.numbers());
    }

    /// The summed acceptance of moves in a searched frame, and of the others.
    pub(crate) fn accepted(&self) -> [f64; 2] {
        let first = &self.regions[..REGIONS.min(self.regions.len())];
        let framed = first.iter().map(|region| region.framed_acceptance).sum();
        [framed, self.others]
    }

    /// The regions in which frames do not work; empty when all is well.
    pub fn ailments(&self) -> Vec<Ailment> {
        let mut found = Vec::new();
        if self.regions.len() != REGIONS * self.centre.len() {
            // Of another version, which counted between other edges.
            return found;
        }
        for k in 0..self.centre.len() {
            let regions = &self.regions[k * REGIONS..(k + 1) * REGIONS];
            let total = |f: fn(&Region) -> f64| regions.iter().map(f).sum::<f64>();
            let usual = total(|r| r.framed_acceptance) / total(|r| r.framed).max(1.0);
            let draws = total(|r| r.draws).max(1.0);
            let at = |w: f64| self.centre[k] + self.sds[k] * w;
            let rate = |b: usize, kind: usize| {
                regions[b].across_acceptance[kind] / regions[b].across[kind]
            };
            let shut = |b: &usize| {
                let region = &regions[*b];
                region.across[0] >= ENOUGH
                    && region.across_acceptance[1] >= ENOUGH_OTHERS
                    && rate(*b, 0) < SHUT * usual
                    && rate(*b, 0) < SHUT * rate(*b, 1)
            };
            // On either side the one that is shut most: where one is, its neighbours nearly are.
            for inner in [0..EDGES / 2, EDGES / 2..EDGES] {
                let worst = |a: &usize, b: &usize| rate(*a, 0).total_cmp(&rate(*b, 0));
                let Some(b) = inner.filter(shut).min_by(worst) else {
                    continue;
                };
                // The side further from the middle is the one that frames do not reach.
                let (outer, range) = if position(b) >= 0.0 {
                    (b + 1..REGIONS, (at(position(b)), f64::INFINITY))
                } else {
                    (0..b + 1, (f64::NEG_INFINITY, at(position(b))))
                };
                let counted = |these: &[Region]| these.iter().map(|r| r.draws).sum::<f64>() / draws;
                found.push(Ailment {
                    variable: k,
                    range,
                    kind: AilmentKind::Shut,
                    below: counted(&regions[..outer.start]),
                    share: counted(&regions[outer]),
                });
            }
            self.failing(k, &mut found);
        }
        found
    }

    /// Regions of a variable in which searches fail; those side by side are one.
    fn failing(&self, k: usize, found: &mut Vec<Ailment>) {
        let regions = &self.regions[k * REGIONS..(k + 1) * REGIONS];
        let all = regions.iter().map(|r| r.draws).sum::<f64>().max(1.0);
        let at = |w: f64| self.centre[k] + self.sds[k] * w;
        let mut below = 0.0;
        // Where the one begins that is not at its end, draws below and in it, points proposed there, and those that failed.
        let mut open: Option<(f64, [f64; 4])> = None;
        for b in 0..=COARSE.len() + 1 {
            let edge = |b: Option<usize>| b.and_then(|b| COARSE.get(b)).copied();
            let low = edge(b.checked_sub(1)).unwrap_or(if b == 0 {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            });
            let high = edge(Some(b)).unwrap_or(f64::INFINITY);
            let inside = |r: &usize| {
                let from = r.checked_sub(1).map_or(f64::NEG_INFINITY, position);
                from >= low && from < high
            };
            let sum = |f: fn(&Region) -> f64| {
                let here = (0..REGIONS).filter(inside).map(|r| f(&regions[r]));
                here.sum::<f64>()
            };
            let [draws, framed, failures] =
                [sum(|r| r.draws), sum(|r| r.framed), sum(|r| r.failures)];
            // Where the target has no mass a search may well fail, and nothing is lost.
            if draws >= ENOUGH_OTHERS && framed >= ENOUGH && failures > FAILING * framed {
                let (_, sums) = open.get_or_insert((low, [below, 0.0, 0.0, 0.0]));
                for (sum, more) in sums[1..].iter_mut().zip([draws, framed, failures]) {
                    *sum += more;
                }
            } else if let Some((from, [below, draws, framed, failures])) = open.take() {
                found.push(Ailment {
                    variable: k,
                    range: (at(from), at(low)),
                    kind: AilmentKind::Failing(failures / framed),
                    share: draws / all,
                    below: below / all,
                });
            }
            below += draws;
        }
    }
}

/// The region of a place given in standard deviations from the mean.
#[inline]
pub(super) fn region_of(w: f64) -> usize {
    // A cast goes to the nearest number that there is.
    let below = ((w + OUTERMOST) / APART + 1.0).floor() as usize;
    below.min(EDGES)
}

/// Where an edge is, in standard deviations from the mean.
fn position(edge: usize) -> f64 {
    APART * edge as f64 - OUTERMOST
}

impl std::fmt::Display for Ailment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = self.range;
        write!(
            f,
            "slow variable {} between {low:.4} and {high:.4}: ",
            self.variable
        )?;
        match self.kind {
            AilmentKind::Shut => write!(
                f,
                "moves in the Laplace frame into and out of it are (nearly) never accepted, though other moves are, and {:.1} % of the draws lie in it. The frame is wrong in that region: check the model's gradient and curvature, or use the linear frame, and do not trust this run's tails",
                100.0 * self.share
            ),
            AilmentKind::Failing(share) => write!(
                f,
                "the search for the mode of the fast variables failed for {:.0} % of the points proposed there, and the linear frame stood in. The conditional may have no mode there; draws are right, but mixing is slower",
                100.0 * share
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(framed: bool, log_ratio: f64) -> Info {
        Info {
            outer_proposed: 1,
            framed_proposed: u64::from(framed),
            log_ratio,
            ..Info::default()
        }
    }

    #[test]
    fn an_edge_that_only_other_moves_cross_is_reported() {
        let mut health = FrameHealth::new(&[0.0], &[1.0]);
        for _ in 0..100 {
            health.note(&[0.2], &[0.2], &step(true, -0.5));
            health.note(&[1.5], &[0.2], &step(true, -200.0));
            health.note(&[1.5], &[1.5], &step(false, 0.0));
            // Within the far side framed moves work, as they would there with a frame wrong in the same way.
            health.note(&[1.6], &[1.6], &step(true, 0.0));
            health.note(&[0.3], &[0.3], &step(false, 0.0));
        }
        let found = health.ailments();
        assert!(!found.is_empty() && found.iter().all(|a| a.kind == AilmentKind::Shut));
        assert_eq!(found[0].range, (0.5, f64::INFINITY));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].to_string().contains("40.0 % of the draws"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn searches_that_fail_are_counted_over_wide_regions() {
        let mut health = FrameHealth::new(&[1.0], &[2.0]);
        for k in 0..40 {
            let failed = Info {
                frame_failures: 1,
                ..step(true, -0.1)
            };
            let x = 1.0 + 2.0 * (1.02 + 0.024 * f64::from(k));
            health.note(&[x], &[x], &failed);
        }
        let found = health.ailments();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].range, (3.0, 5.0));
        assert_eq!(found[0].kind, AilmentKind::Failing(1.0));
        assert_eq!((found[0].share, found[0].below), (1.0, 0.0));
        // Side by side they are one, and what lies below is known.
        for k in 0..40 {
            let x = 1.0 + 2.0 * (2.02 + 0.024 * f64::from(k));
            health.note(
                &[x],
                &[x],
                &Info {
                    frame_failures: u64::from(k % 2 == 0),
                    ..step(true, -0.1)
                },
            );
            health.note(&[-3.0], &[-3.0], &step(true, -0.1));
        }
        let found = health.ailments();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].range, (3.0, 7.0));
        assert_eq!(found[0].kind, AilmentKind::Failing(0.75));
        assert_eq!(
            (found[0].share, found[0].below),
            (80.0 / 120.0, 40.0 / 120.0)
        );
        // Far out there is one region on either side.
        assert_eq!(health.region(0, -1e300), 0);
        assert_eq!(health.region(0, f64::INFINITY), EDGES);
    }

    #[test]
    fn counts_of_another_version_are_left_alone_and_begun_anew() {
        let mut health = FrameHealth::new(&[0.0], &[1.0]);
        health.regions.truncate(10);
        assert!(health.ailments().is_empty());
        health.note(&[0.2], &[0.2], &step(true, -0.5));
        assert_eq!(health.regions.len(), REGIONS);
    }

    #[test]
    fn healthy_frames_have_no_ailments() {
        let mut health = FrameHealth::new(&[0.0], &[1.0]);
        for k in 0..1000 {
            let x = 2.5 * f64::from(k).sin();
            health.note(&[x], &[x], &step(k % 3 > 0, -0.3));
        }
        assert!(health.ailments().is_empty());
    }
}
