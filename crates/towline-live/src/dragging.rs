//! The report's first example, one chain, step by step.

use crate::letters::Letters;
use crate::{Outcome, words};
use serde::{Deserialize, Serialize};
use towline::erased::{AnyTarget, Erased};
use towline::frame::{Curvature, Laplace, Linear};
use towline::kernel::SeenDrag;
use towline::warmup::Warm;
use towline::{
    Chain, Cost, Drag, Error, Factor, FastMove, FrameRule, Kernel, Model, RandomWalk, Rng,
    SlowProposal, Target, Warmup, diagnose,
};
use towline_models::neal::Neal;

/// The sliders.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Intervals.
    pub n: usize,
    /// Standard deviation of the proposals for x.
    pub slow: f64,
    /// Standard deviation of the inner proposals, in the frame's units.
    pub fast: f64,
    /// The frame, or `auto` where warm-up chooses everything.
    pub frame: Frame,
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    Identity,
    Linear,
    Laplace,
    Auto,
}

/// What a slow evaluation costs in fast ones, as warm-up is told.
pub const COST_RATIO: f64 = 1000.0;

/// The paper's first test, its type forgotten as that of all models is here.
static TARGET: Erased<'static, Neal> = Erased(&Neal::ONE);

/// A chain, and x after each step.
pub struct Dragging {
    chain: Chain<&'static AnyTarget<'static>>,
    x: Vec<f64>,
    chosen: Option<Chosen>,
}

impl std::fmt::Debug for Dragging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dragging")
            .field("steps", &self.x.len())
            .finish_non_exhaustive()
    }
}

/// What warm-up chose.
#[derive(Debug, Clone, Serialize)]
pub struct Chosen {
    n: usize,
    frame: String,
    /// Shares of the learned proposal, of the random walk and of the safe drag.
    shares: [f64; 3],
    slow_evaluations: u64,
    fast_evaluations: u64,
}

/// Where a chain begins.
#[derive(Debug, Serialize)]
pub struct Begun {
    x: f64,
    y: f64,
    chosen: Option<Chosen>,
}

/// Some steps.
#[derive(Debug, Serialize)]
pub struct Steps {
    /// x and y after each of them.
    draws: Vec<[f64; 2]>,
    /// The last one's drag.
    seen: Option<SeenDrag>,
    /// Log densities along a drag are the page's to ask for; these are the chain's own.
    log_density: f64,
}

/// What is known of the chain so far.
#[derive(Debug, Serialize)]
pub struct Figures {
    draws: usize,
    outer: f64,
    inner: f64,
    slow_evaluations: u64,
    fast_evaluations: u64,
    autocorrelation: Vec<f64>,
    time: f64,
    time_error: f64,
    reliable: bool,
    variance: f64,
}

impl Dragging {
    /// A chain with these settings, from the start that `towline run neal1 --chains 1` has with this seed.
    pub fn new(settings: &Settings) -> Outcome<Self> {
        let mut rng = Rng::stream(settings.seed, 0);
        let (x, y) = Neal::ONE.start(&mut rng).map_err(words)?;
        if settings.frame == Frame::Auto {
            let warm = warm(&x, &y, &mut rng).map_err(words)?;
            let tuning = &warm.tuning;
            let chosen = Chosen {
                n: tuning.main.n,
                frame: format!("{:?}", tuning.main.frame).to_lowercase(),
                shares: tuning.shares,
                slow_evaluations: warm.spent.slow_evaluations,
                fast_evaluations: warm.spent.fast_evaluations,
            };
            let kernel = tuning.kernel().map_err(words)?;
            return Self::begin(kernel, &warm.x, &warm.y, rng, Some(chosen));
        }
        let kernel = kernel(settings).map_err(words)?;
        Self::begin(kernel, &x, &y, rng, None)
    }

    fn begin(
        kernel: Kernel,
        x: &[f64],
        y: &[f64],
        rng: Rng,
        chosen: Option<Chosen>,
    ) -> Outcome<Self> {
        Ok(Self {
            chain: Chain::new(&TARGET as &AnyTarget, kernel, x, y, rng).map_err(words)?,
            x: Vec::new(),
            chosen,
        })
    }

    pub fn begun(&self) -> Begun {
        Begun {
            x: self.chain.x()[0],
            y: self.chain.y()[0],
            chosen: self.chosen.clone(),
        }
    }

    /// Takes steps.
    pub fn step(&mut self, count: usize) -> Outcome<Steps> {
        let mut draws = Vec::with_capacity(count);
        let mut seen = None;
        for k in 0..count {
            if k + 1 == count {
                seen = self.chain.advance_seen().map_err(words)?.1;
            } else {
                self.chain.advance().map_err(words)?;
            }
            let (x, y) = (self.chain.x()[0], self.chain.y()[0]);
            draws.push([x, y]);
            self.x.push(x);
        }
        Ok(Steps {
            draws,
            seen,
            log_density: self.chain.log_density(),
        })
    }

    pub fn figures(&self, lags: usize) -> Figures {
        let totals = self.chain.totals();
        // About 0, which is the mean: a short chain's own mean would hide how little it has moved.
        let time = diagnose::autocorrelation_time_about(&self.x, 0.0);
        let covariance = diagnose::autocovariance_about(&self.x, 0.0);
        let variance = covariance.first().copied().unwrap_or(f64::NAN);
        Figures {
            draws: self.x.len(),
            outer: totals.outer_acceptance(),
            inner: totals.inner_acceptance(),
            slow_evaluations: totals.slow_evaluations,
            fast_evaluations: totals.fast_evaluations,
            autocorrelation: covariance.iter().take(lags).map(|c| c / variance).collect(),
            time: time.value,
            time_error: time.standard_error,
            reliable: time.reliable,
            variance,
        }
    }
}

/// The warm-up of `towline run neal1 --chains 1 --cost-ratio 1000`.
pub fn warm(x: &[f64], y: &[f64], rng: &mut Rng) -> Result<Warm, Error> {
    let warmup = Warmup {
        cost: Cost::Ratio(COST_RATIO),
        ..Warmup::default()
    };
    warmup.run_pooled(&Neal::ONE, x, y, rng, &mut Letters::alone())
}

fn kernel(settings: &Settings) -> Result<Kernel, Error> {
    let inner = RandomWalk::new(Factor::diagonal(&[settings.fast], "the inner proposals")?);
    let slow = SlowProposal::random_walk(&[settings.slow])?;
    let drag = Drag::new(settings.n, slow, FastMove::RandomWalk(inner))?;
    Ok(drag.in_frame(frame(settings.frame)?).into())
}

fn frame(frame: Frame) -> Result<FrameRule, Error> {
    Ok(match frame {
        Frame::Identity | Frame::Auto => FrameRule::Identity,
        Frame::Linear => {
            // What warm-up learns, always the same: the frame is no matter of the seed.
            let warm = warm(&[0.5], &[0.5], &mut Rng::stream(1, 0))?;
            FrameRule::Linear(warm.tuning.linear)
        }
        Frame::Laplace => {
            let unit = Factor::diagonal(&[1.0], "the frame's unit")?;
            let origin = Linear::new(vec![0.0], vec![0.0], vec![0.0], unit)?;
            FrameRule::Laplace(Box::new(Laplace::new(origin, Curvature::Local)))
        }
    })
}

/// Log densities at one x.
pub fn densities(x: f64, y: &[f64]) -> Outcome<Vec<f64>> {
    let given = Neal::ONE
        .prepare(&[x])
        .map_err(words)?
        .ok_or("x is outside of the support")?;
    Ok(y.iter()
        .map(|&y| Neal::ONE.log_density(&given, &[y]))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(frame: Frame) -> Settings {
        Settings {
            n: 20,
            slow: 1.0,
            fast: if frame == Frame::Identity { 0.2 } else { 2.4 },
            frame,
            seed: 1,
        }
    }

    #[test]
    fn every_frame_draws_from_the_same_posterior() {
        for frame in [Frame::Identity, Frame::Linear, Frame::Laplace, Frame::Auto] {
            let mut dragging = Dragging::new(&settings(frame)).unwrap();
            dragging.step(200).unwrap();
            dragging.x.clear();
            dragging.step(20_000).unwrap();
            let squares: Vec<f64> = dragging.x.iter().map(|x| x * x).collect();
            let error = diagnose::mcse_mean(&[&squares]);
            let z = (diagnose::mean(&[&squares]) - 0.319_483_8) / error;
            assert!(z.abs() < 4.5, "{frame:?}: z = {z}");
            let figures = dragging.figures(50);
            assert_eq!(figures.autocorrelation.len(), 50);
            assert!(figures.autocorrelation[1] < 1.0 && figures.time > 1.0);
        }
    }

    #[test]
    fn the_last_step_shows_its_path() {
        let mut dragging = Dragging::new(&settings(Frame::Identity)).unwrap();
        let steps = dragging.step(3).unwrap();
        let seen = steps.seen.unwrap();
        assert_eq!(seen.path.len(), 20);
        assert_eq!(steps.draws[1][0], seen.x[0]);
        assert_eq!(seen.accepted, steps.draws[2][0] == seen.proposed[0]);
    }
}
