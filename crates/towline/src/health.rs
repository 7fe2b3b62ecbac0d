//! Watches whether frames work everywhere: failures, and regions that framed moves never enter.
//!
//! A frame that is wrong in some region makes that region unreachable for its own moves; the chain then looks
//! perfect and is wrong. Moves in the linear frame, always mixed in, do get there, and that difference is
//! what is looked for here.

use crate::info::Info;
use serde::{Deserialize, Serialize};

/// The edges between regions of a slow variable, in standard deviations from its mean.
const EDGES: [f64; 9] = [-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0];
const REGIONS: usize = EDGES.len() + 1;
/// Proposals into a region, and draws in it, before anything is said about it.
const ENOUGH: f64 = 30.0;
/// A region that framed moves enter with less than this share of their overall acceptance is shut to them.
const SHUT: f64 = 0.03;
/// A region in which more than this share of searches fails is worth a word.
const FAILING: f64 = 0.1;

/// What was seen in one region of one slow variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Region {
    draws: f64,
    framed: f64,
    framed_acceptance: f64,
    failures: f64,
    other_arrivals: f64,
}

/// How frames fare in each region of x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameHealth {
    centre: Vec<f64>,
    sds: Vec<f64>,
    regions: Vec<Region>,
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
}

/// What can be wrong with frames in a region.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum AilmentKind {
    /// Framed moves into the region are hardly ever accepted, though other moves go there.
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
        }
    }

    /// Notes a step: where it was proposed to go, where the chain stands after it, what happened.
    pub(crate) fn note(&mut self, proposed: &[f64], x: &[f64], info: &Info) {
        if info.outer_proposed == 0 {
            return;
        }
        for k in 0..self.centre.len() {
            let here = self.region(k, x[k]);
            let there = self.region(k, proposed[k]);
            self.regions[here].draws += 1.0;
            let region = &mut self.regions[there];
            // A step that searched for a mode was proposed in a Laplace frame.
            if info.frame_searches > 0 {
                region.framed += 1.0;
                region.framed_acceptance += info.log_ratio.min(0.0).exp();
                region.failures += info.frame_failures.min(1) as f64;
            } else {
                region.other_arrivals += info.outer_accepted as f64;
            }
        }
    }

    fn region(&self, k: usize, value: f64) -> usize {
        let w = (value - self.centre[k]) / self.sds[k];
        k * REGIONS + EDGES.iter().filter(|&&edge| w >= edge).count()
    }

    /// Everything counted, to be added up over chains.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let each = |r: &Region| {
            [
                r.draws,
                r.framed,
                r.framed_acceptance,
                r.failures,
                r.other_arrivals,
            ]
        };
        self.regions.iter().flat_map(each).collect()
    }

    /// Adds what another chain counted.
    pub(crate) fn absorb(&mut self, numbers: &[f64]) {
        for (region, n) in self.regions.iter_mut().zip(numbers.chunks_exact(5)) {
            region.draws += n[0];
            region.framed += n[1];
            region.framed_acceptance += n[2];
            region.failures += n[3];
            region.other_arrivals += n[4];
        }
    }

    /// Adds another chain's counts.
    pub fn merge(&mut self, other: &Self) {
        self.absorb(&other.numbers());
    }

    /// The regions in which frames do not work; empty when all is well.
    pub fn ailments(&self) -> Vec<Ailment> {
        let mut found = Vec::new();
        for k in 0..self.centre.len() {
            let regions = &self.regions[k * REGIONS..(k + 1) * REGIONS];
            let total = |f: fn(&Region) -> f64| regions.iter().map(f).sum::<f64>();
            let usual = total(|r| r.framed_acceptance) / total(|r| r.framed).max(1.0);
            let draws = total(|r| r.draws).max(1.0);
            for (b, region) in regions.iter().enumerate() {
                if region.framed < ENOUGH {
                    continue;
                }
                let acceptance = region.framed_acceptance / region.framed;
                let failing = region.failures / region.framed;
                let peopled = region.draws >= ENOUGH && region.other_arrivals > 0.0;
                let kind = if peopled && acceptance < SHUT * usual {
                    AilmentKind::Shut
                } else if failing > FAILING {
                    AilmentKind::Failing(failing)
                } else {
                    continue;
                };
                let edge = |b: usize| self.centre[k] + self.sds[k] * EDGES[b];
                let low = if b == 0 {
                    f64::NEG_INFINITY
                } else {
                    edge(b - 1)
                };
                let high = if b == EDGES.len() {
                    f64::INFINITY
                } else {
                    edge(b)
                };
                found.push(Ailment {
                    variable: k,
                    range: (low, high),
                    kind,
                    share: region.draws / draws,
                });
            }
        }
        found
    }
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
                "moves in the Laplace frame are (nearly) never accepted there, though other moves reach it and {:.1} % of the draws lie in it. The frame is wrong in that region: check the model's gradient and curvature, or use the linear frame, and do not trust this run's tails",
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

    #[test]
    fn a_region_that_only_other_moves_enter_is_reported() {
        let mut health = FrameHealth::new(&[0.0], &[1.0]);
        let framed = |log_ratio| Info {
            outer_proposed: 1,
            frame_searches: 1,
            log_ratio,
            ..Info::default()
        };
        let other = Info {
            outer_proposed: 1,
            outer_accepted: 1,
            ..Info::default()
        };
        for _ in 0..100 {
            health.note(&[0.2], &[0.2], &framed(-0.5));
            health.note(&[1.5], &[0.2], &framed(-200.0));
            health.note(&[1.5], &[1.5], &other);
        }
        let found = health.ailments();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].range, (1.0, 2.0));
        assert_eq!(found[0].kind, AilmentKind::Shut);
        assert!(found[0].to_string().contains("33.3 % of the draws"));
    }

    #[test]
    fn healthy_frames_have_no_ailments() {
        let mut health = FrameHealth::new(&[0.0], &[1.0]);
        for k in 0..1000 {
            let x = -2.5 + 0.005 * f64::from(k);
            let info = Info {
                outer_proposed: 1,
                frame_searches: u64::from(k % 3 > 0),
                outer_accepted: 1,
                ..Info::default()
            };
            health.note(&[x], &[x], &info);
        }
        assert!(health.ailments().is_empty());
    }
}
