//! Expectation propagation: the mean and the covariance of the latent variables at one x, from their mode and curvature.
//!
//! Observations of little information (0 or 1 from a group with a large spread) make every conditional skewed: its mode is
//! not its mean, and over thousands of effects that adds up. Each observation is stood for by a Gaussian factor of its own
//! η such that mean and variance of η agree with what the observation itself would make of them (Minka 2001); all are
//! renewed at a time, beginning with those of the mode. The precision has the form of a curvature, I + AᵀTA, so that every
//! path finds its root as usual. The estimate of the marginal is better by orders of magnitude as well (Kuss and
//! Rasmussen 2005). Nothing here depends on anything but x, the mode, which is unique, and factors that were frozen before a run
//! began: a frame stays exact.

use crate::family::{Likelihood, Settled, Sites, TILT_EVALUATIONS};
use crate::newton::System;
use crate::vector::square;
use crate::warp::Warp;
use towline::linalg::RootMap;

/// Sweeps over all observations: changes shrink to a third or less with each.
const MOST_SWEEPS: usize = 8;
/// The divergence, in all observations together, that is small enough: a frame that is off by this loses no moves.
const CLOSE: f64 = 0.05;
/// A sweep that is left this much farther off than the one before it has lost its way.
const ASTRAY: f64 = 4.0;

/// What was found at one x: centre, root and the estimate of the log marginal.
pub(crate) struct Found<R> {
    pub centre: Vec<f64>,
    pub root: R,
    pub log_marginal: f64,
}

/// The frame of mean and covariance, from that of the mode with its predictors, slopes and weights; and what it cost, in
/// fast evaluations; and what straightens skewed variables. The mode's own where the path has no variances, or where means and variances do not settle.
pub(crate) fn correct<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    base: f64,
    mode: Found<S::Root>,
    mut sites: Sites,
) -> (Found<S::Root>, Option<Warp>, u64) {
    let mut evaluations = 0;
    let swept = sweeps(
        system,
        likelihood,
        settled,
        &mode,
        &mut sites,
        &mut evaluations,
    );
    let Some((centre, root, log_marginal)) = swept else {
        return (mode, None, evaluations);
    };
    // Where the mode and its curvature serve, nothing is skewed enough to matter.
    let Some(root) = root else {
        let found = Found {
            log_marginal: base + log_marginal,
            ..mode
        };
        return (found, None, evaluations);
    };
    let found = Found {
        centre,
        root,
        log_marginal: base + log_marginal,
    };
    let warp = straighten(system, &found, &sites);
    (found, warp, evaluations)
}

/// Factors of all observations, as functions of η: linear · η − ½ weight · η². Found at one x, they are near those of any
/// other of the posterior, so that a few sweeps from them take the place of a search for the mode.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    linear: Vec<f64>,
    weight: Vec<f64>,
}

impl Frozen {
    /// Those that sweeps from the mode lead to.
    pub fn new<S: System>(
        system: &S,
        likelihood: &Likelihood,
        settled: Settled,
        mode: &Found<S::Root>,
        mut sites: Sites,
    ) -> Option<Self> {
        sweeps(system, likelihood, settled, mode, &mut sites, &mut 0)?;
        let linear = sites.slope.iter().zip(&sites.weight).zip(&sites.mean);
        Some(Self {
            linear: linear.map(|((s, w), m)| s + w * m).collect(),
            weight: sites.weight,
        })
    }

    /// The Gaussian approximation with these factors at another x.
    fn at<S: System>(&self, system: &S, offset: &[f64]) -> Option<(Found<S::Root>, Sites)> {
        let root = system.root(&self.weight)?;
        let mut spare = vec![0.0; system.spare()];
        let (mut centre, mut half) = (vec![0.0; system.dim()], vec![0.0; system.dim()]);
        let parts = self.linear.iter().zip(&self.weight).zip(offset);
        let pulled: Vec<f64> = parts.map(|((l, w), o)| l - w * o).collect();
        system.pull(&pulled, &mut centre, &mut spare);
        root.apply_transposed(&mut centre, &mut half);
        root.apply(&half, &mut centre);
        let mut mean = vec![0.0; offset.len()];
        system.push(&centre, &mut mean, &mut spare);
        mean.iter_mut().zip(offset).for_each(|(m, o)| *m += o);
        let slope = self.linear.iter().zip(&self.weight).zip(&mean);
        let sites = Sites {
            slope: slope.map(|((l, w), m)| l - w * m).collect(),
            weight: self.weight.clone(),
            variance: vec![0.0; mean.len()],
            skew: vec![0.0; mean.len()],
            mean,
        };
        let found = Found {
            centre,
            root,
            log_marginal: f64::NAN,
        };
        Some((found, sites))
    }
}

/// The frame of mean and covariance from frozen factors, and what it cost; `None` where they lead nowhere.
pub(crate) fn from_frozen<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    offset: &[f64],
    base: f64,
    frozen: &Frozen,
) -> Option<(Found<S::Root>, Option<Warp>, u64)> {
    let mut evaluations = 1;
    let (start, mut sites) = frozen.at(system, offset)?;
    let (centre, root, log_marginal) = sweeps(
        system,
        likelihood,
        settled,
        &start,
        &mut sites,
        &mut evaluations,
    )?;
    let found = Found {
        centre,
        root: root.unwrap_or(start.root),
        log_marginal: base + log_marginal,
    };
    let warp = straighten(system, &found, &sites);
    Some((found, warp, evaluations))
}

fn straighten<S: System>(system: &S, found: &Found<S::Root>, sites: &Sites) -> Option<Warp> {
    let (variance, third) = system.cumulants(&found.root, &sites.variance, &sites.skew);
    Warp::new(&found.centre, &variance, &third)
}

/// How far the mode and its curvature are from what the observations ask for.
pub(crate) fn missing<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    mode: &Found<S::Root>,
    sites: &mut Sites,
) -> Option<f64> {
    if !system.variances(&mode.root, &mut sites.variance) {
        return None;
    }
    likelihood.tilt(sites, settled).map(|tilted| tilted.change)
}

/// The centre, the root (none: the mode's own) and the log marginal without the prior of x.
fn sweeps<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    mode: &Found<S::Root>,
    sites: &mut Sites,
    evaluations: &mut u64,
) -> Option<(Vec<f64>, Option<S::Root>, f64)> {
    let (dim, rows) = (system.dim(), sites.mean.len());
    let mut spare = vec![0.0; system.spare()];
    let (mut step, mut half) = (vec![0.0; dim], vec![0.0; dim]);
    let mut y = mode.centre.clone();
    let mut own: Option<S::Root> = None;
    let mut moved = vec![0.0; rows];
    let mut last = f64::INFINITY;
    for sweep in 1..=MOST_SWEEPS {
        let root = own.as_ref().unwrap_or(&mode.root);
        if !system.variances(root, &mut sites.variance) {
            return None;
        }
        let height = likelihood.log_p(&sites.mean, settled) - 0.5 * square(&y);
        let tilted = likelihood.tilt(sites, settled)?;
        *evaluations += TILT_EVALUATIONS;
        if !tilted.change.is_finite() || tilted.change > ASTRAY * last {
            return None;
        }
        last = tilted.change;
        if tilted.change < CLOSE || sweep == MOST_SWEEPS {
            let log_marginal = height + tilted.log_ratio + root.log_det();
            return log_marginal.is_finite().then_some((y, own, log_marginal));
        }
        let next = system.root(&sites.weight)?;
        // A Newton step, which for Gaussian factors leads to the mean.
        system.pull(&sites.slope, &mut step, &mut spare);
        step.iter_mut().zip(&y).for_each(|(s, y)| *s -= y);
        next.apply_transposed(&mut step, &mut half);
        next.apply(&half, &mut step);
        y.iter_mut().zip(&step).for_each(|(y, s)| *y += s);
        system.push(&step, &mut moved, &mut spare);
        for (i, by) in moved.iter().enumerate() {
            sites.mean[i] += by;
            sites.slope[i] -= sites.weight[i] * by;
        }
        if !y.iter().all(|v| v.is_finite()) {
            return None;
        }
        own = Some(next);
    }
    None
}
