//! The estimated marginal of x as what a search climbs, with what was met on the way.

use super::limits::start::MOST_FAST;
use super::look::{Look, Looks, Wanted, Width, look_at};
use super::prices::Clock;
use super::start::line_through;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::Linear;
use crate::frame::anchors::Mode;
use crate::frame::laplace::{Curvature, Laplace};
use crate::instant::Instant;
use crate::kernel::info::Info;
use crate::kernel::state::{Sighting, prepare};
use crate::linalg::Factor;
use crate::optimise::coordinate::feel;
use crate::optimise::surface::{Surface, clean};
use crate::optimise::widths::scales_of;
use crate::target::{Scratch, Target};
use std::collections::HashMap;

/// A function as a surface.
struct Heights<F>(F);

impl<F: FnMut(&[f64]) -> f64> Surface for Heights<F> {
    fn height(&mut self, u: &[f64]) -> f64 {
        (self.0)(u)
    }
}

/// The best place met.
#[derive(Clone)]
pub(super) struct Best {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub height: f64,
}

/// Laplace's estimate of the log marginal of x, with what was met on the way.
pub(super) struct Marginal<'a> {
    looks: &'a dyn Looks,
    exchange: &'a mut dyn Exchange,
    /// Where the next search for a mode in y begins, and the metric it uses.
    rule: Laplace,
    pub curvature: Curvature,
    pub best: Best,
    /// Heights by the bits of their places: nobody looks twice.
    known: HashMap<Vec<u64>, f64>,
    modes: Vec<(Vec<f64>, Vec<f64>, f64)>,
    pub visits: Vec<Sighting>,
    pub spent: Info,
    pub budget: usize,
    pub failure: Option<Error>,
    pub clock: Clock,
}

impl<'a> Marginal<'a> {
    /// From a start, with at most `budget` slow evaluations.
    pub fn new<T: Target>(
        target: &T,
        (looks, exchange): (&'a dyn Looks, &'a mut dyn Exchange),
        (x, y): (&[f64], &[f64]),
        budget: usize,
    ) -> Result<Self, Error> {
        let mut scratch = Scratch::default();
        let outside = || Error::OutsideSupport {
            x: x.to_vec(),
            y: y.to_vec(),
        };
        let mut clock = Clock::default();
        let begun = Instant::now();
        let slow = prepare(target, x)?.ok_or_else(outside)?;
        let slow_seconds = begun.elapsed().as_secs_f64();
        clock.slow(slow_seconds);
        let mut spent = Info {
            slow_evaluations: 1,
            ..Info::default()
        };
        let mut height = Heights(|y: &[f64]| {
            spent.fast_evaluations += 1;
            target.log_density_in(&slow.cache, y, &mut scratch)
        });
        let start = height.height(y);
        if start.is_nan() || start == f64::INFINITY {
            return Err(Error::NotANumber {
                x: x.to_vec(),
                y: y.to_vec(),
                value: start,
            });
        }
        if start == f64::NEG_INFINITY {
            return Err(outside());
        }
        let (y, widths, curvature) = if target.has_own_frame() {
            // It finds its modes by itself: nothing needs to be felt out.
            (y.to_vec(), vec![1.0; y.len()], Curvature::Own)
        } else {
            // Widths found on a distant wall would be the wall's: go up first, by what needs no scale.
            let reach: Vec<f64> = y.iter().map(|v| 0.1 * v.abs().max(1.0)).collect();
            let y = feel(&mut height, y, &reach).unwrap_or_else(|| y.to_vec());
            let start = height.height(&y);
            let widths = scales_of(&mut height.0, &y, start);
            let mut curvature = vec![0.0; y.len() * y.len()];
            let known = target.curvature(&slow.cache, &y, &mut curvature, &mut scratch);
            let local = known || y.len() <= MOST_FAST;
            let curvature = if local {
                Curvature::Local
            } else {
                Curvature::Learned
            };
            (y, widths, curvature)
        };
        let root = Factor::diagonal(&widths, "the fast widths")?;
        let linear = Linear::new(
            vec![0.0; x.len()],
            y.to_vec(),
            vec![0.0; x.len() * y.len()],
            root,
        )?;
        let mut marginal = Self {
            looks,
            exchange,
            rule: Laplace::new(linear, curvature),
            curvature,
            best: Best {
                x: x.to_vec(),
                y: y.to_vec(),
                height: f64::NEG_INFINITY,
            },
            known: HashMap::new(),
            modes: Vec::new(),
            visits: Vec::new(),
            spent,
            budget,
            failure: None,
            clock,
        };
        let first = look_at(target, &marginal.rule, x, &slow.cache, Wanted::Frame);
        marginal.note(x, &first);
        let clock = &mut marginal.clock;
        clock.refined(target, &slow.cache, &y, &mut scratch);
        Ok(marginal)
    }

    /// The heights at many places, found side by side: each search for a mode begins at what was known before any of them.
    pub fn heights(&mut self, xs: &[Vec<f64>]) -> Vec<f64> {
        let spent = self.spent.slow_evaluations as usize;
        let left = match self.failure {
            Some(_) => 0,
            None => self.budget.saturating_sub(spent),
        };
        let new = |x: &&Vec<f64>| !self.known.contains_key(&bits(x));
        let asked: Vec<Vec<f64>> = xs.iter().filter(new).take(left).cloned().collect();
        self.spent.slow_evaluations += asked.len() as u64;
        match self
            .looks
            .looks(&self.rule, &asked, Wanted::Frame, self.exchange)
        {
            Ok(found) => {
                for (x, look) in asked.iter().zip(&found) {
                    if let Some(look) = look {
                        self.clock.slow(look.seconds[0]);
                        self.note(x, look);
                    } else {
                        self.known.insert(bits(x), f64::NEG_INFINITY);
                    }
                }
            }
            Err(failure) => self.failure = Some(failure),
        }
        let height = |x: &Vec<f64>| self.known.get(&bits(x)).copied();
        let heights = xs.iter().map(|x| height(x).unwrap_or(f64::NEG_INFINITY));
        heights.collect()
    }

    /// The height at one place.
    pub fn height(&mut self, x: &[f64]) -> f64 {
        self.heights(&[x.to_vec()])[0]
    }

    /// Notes what was found at x.
    fn note(&mut self, x: &[f64], look: &Look) {
        let [_, searched, at_centre] = look.seconds;
        match self.curvature {
            Curvature::Own => {
                self.clock.search(searched);
                self.clock.fast(at_centre, 1);
            }
            _ => self
                .clock
                .fast(searched, look.fast_evaluations.saturating_sub(1)),
        }
        self.spent.fast_evaluations += look.fast_evaluations;
        // Without a mode, the density at the last known one is a height to climb by; and a mode beyond a wall
        // (the search takes its last step on trust) is none to begin at.
        let density = clean(look.density.unwrap_or(f64::NEG_INFINITY));
        let height = if density == f64::NEG_INFINITY {
            f64::NEG_INFINITY
        } else {
            // The same measure for both: without a mode, the linear frame's volume stands in.
            clean(look.log_marginal.unwrap_or(density + look.log_det))
        };
        self.visits.push(Sighting {
            x: x.to_vec(),
            log_marginal: look.log_marginal,
            mode: look.mode().map(<[f64]>::to_vec),
        });
        if look.log_marginal.is_some() {
            self.modes.push((x.to_vec(), look.centre.clone(), height));
        }
        if height > self.best.height {
            self.best = Best {
                x: x.to_vec(),
                y: look.centre.clone(),
                height,
            };
            self.move_to(look);
        }
        self.known.insert(bits(x), height);
    }

    /// Searches from here on begin at this frame: near the best point, they are short.
    fn move_to(&mut self, look: &Look) {
        let (p, d) = (self.best.x.len(), look.centre.len());
        if d == 0 {
            return;
        }
        let root = match &look.width {
            // A target's own root is no matrix; searches there need the centre alone.
            Width::Untold => Some((**self.rule.linear().root()).clone()),
            Width::Learned => {
                let covariance = self.rule.linear().root().covariance();
                Factor::from_covariance(&covariance, "the fast covariance").ok()
            }
            Width::Found(covariance) => {
                Factor::from_covariance(covariance, "the fast covariance").ok()
            }
        };
        if let Some(root) = root
            && let Ok(linear) =
                Linear::new(vec![0.0; p], look.centre.clone(), vec![0.0; p * d], root)
        {
            self.rule = Laplace::new(linear, self.curvature);
        }
    }

    /// The linear frame through the modes met on the way.
    pub fn linear(&self, slow: &Factor, best: &Best) -> Result<Linear, Error> {
        let root = (**self.rule.linear().root()).clone();
        let mut modes: Vec<Mode> = vec![Mode {
            x: best.x.clone(),
            y: best.y.clone(),
        }];
        let mut heights = vec![best.height];
        for (x, y, height) in &self.modes {
            modes.push(Mode {
                x: x.clone(),
                y: y.clone(),
            });
            heights.push(*height);
        }
        match line_through(&modes, &heights, slow, root.clone()) {
            Some(linear) => Ok(linear),
            None => {
                let flat = vec![0.0; best.x.len() * best.y.len()];
                Linear::new(best.x.clone(), best.y.clone(), flat, root)
            }
        }
    }
}

/// What tells a place from another.
fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}
