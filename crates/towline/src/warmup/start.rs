//! From a start to the bulk of the marginal: widths, then the mode of the estimated marginal of x.

use super::known;
pub(super) use super::limits::start::{MOST_FAST, MOST_SLOW};
use super::look::Looks;
use super::marginal::Marginal;
use super::prices::Clock;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::Linear;
use crate::frame::anchors::Mode;
use crate::frame::laplace::Curvature;
use crate::kernel::info::Info;
use crate::kernel::state::Sighting;
use crate::linalg::Factor;
use crate::optimise::lbfgs::ascend;
use crate::optimise::newton::climb_with;
use crate::optimise::surface::Surface;
use crate::optimise::widths::{MOST_TRIALS, scales};
use crate::target::Target;

/// Where a chain may begin, and how wide the target is there.
pub(super) struct Found {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Root of the covariance of x, as the curvature of the marginal gives it.
    pub slow: Factor,
    /// The linear frame through the modes found on the way.
    pub linear: Linear,
    pub curvature: Curvature,
    pub visits: Vec<Sighting>,
    pub spent: Info,
    /// The estimated log marginal at x.
    pub height: f64,
    /// What evaluations took.
    pub clock: Clock,
}

/// Climbs from (x, y) to the top of the estimated marginal of x, with at most `budget` slow evaluations.
pub(super) fn search<T: Target>(
    target: &T,
    (looks, exchange): (&dyn Looks, &mut dyn Exchange),
    (x, y): (&[f64], &[f64]),
    budget: usize,
) -> Result<Found, Error> {
    let mut marginal = Marginal::new(target, (looks, exchange), (x, y), budget)?;
    if let Some(covariance) = target.slow_covariance() {
        let factor = Factor::from_covariance(covariance, "the covariance of the slow parameters")?;
        if factor.dim() == x.len() && known::climb(&mut marginal, x, &factor) {
            return found(marginal, Some(factor), x.len());
        }
        // The covariance was another's: the search has all it would have had.
        marginal.budget += marginal.spent.slow_evaluations as usize;
    }
    let here = marginal.height(x);
    let steps = scales(&mut |at| marginal.heights(at), x, here);
    let mut scaled = Scaled {
        marginal: &mut marginal,
        origin: x.to_vec(),
        steps: steps.clone(),
    };
    let origin = vec![0.0; x.len()];
    let ones = vec![1.0; x.len()];
    let mut slow = None;
    if x.is_empty() {
    } else if x.len() <= MOST_SLOW {
        if let Some(peak) = climb_with(&mut scaled, &origin, &ones, 1.0) {
            slow = scaled.covariance(&peak.curvature);
            scaled.height(&peak.at);
        }
    } else {
        // Not having found the top is no failure: the best point met is where the chain begins.
        let _ = ascend(&mut scaled, &origin, 1.0);
    }
    found(marginal, slow, x.len())
}

/// What a climb has found; widths are looked for where it gave no covariance.
fn found(mut marginal: Marginal<'_>, slow: Option<Factor>, p: usize) -> Result<Found, Error> {
    if let Some(failure) = marginal.failure.take() {
        return Err(failure);
    }
    let best = marginal.best.clone();
    let slow = match slow {
        Some(factor) => factor,
        None => {
            // What the climb has left of the budget may be nothing, and without widths nothing moves.
            marginal.budget += MOST_TRIALS * p;
            let widths = scales(&mut |at| marginal.heights(at), &best.x, best.height);
            Factor::diagonal(&widths, "the slow covariance")?
        }
    };
    if let Some(failure) = marginal.failure.take() {
        return Err(failure);
    }
    let linear = marginal.linear(&slow, &best)?;
    Ok(Found {
        x: best.x,
        y: best.y,
        slow,
        linear,
        curvature: marginal.curvature,
        visits: marginal.visits,
        spent: marginal.spent,
        height: best.height,
        clock: marginal.clock,
    })
}

/// The line through modes by weighted least squares, from the highest of them; each counts as much as its estimated density.
pub(super) fn line_through(
    modes: &[Mode],
    heights: &[f64],
    slow: &Factor,
    root: Factor,
) -> Option<Linear> {
    let top = (0..modes.len()).max_by(|&a, &b| heights[a].total_cmp(&heights[b]))?;
    let best = &modes[top];
    let (p, d) = (best.x.len(), best.y.len());
    let mut slope = vec![0.0; p * d];
    // In whitened x, with a small ridge: directions never looked along have slope 0.
    let mut normal = vec![0.0; p * p];
    let mut right = vec![0.0; p * d];
    for k in 0..p {
        normal[k * p + k] = 1e-3;
    }
    for (mode, height) in modes.iter().zip(heights) {
        let weight = (height - heights[top]).max(-30.0).exp();
        if weight.is_nan() {
            continue;
        }
        let mut w: Vec<f64> = mode.x.iter().zip(&best.x).map(|(a, b)| a - b).collect();
        slow.solve(&mut w);
        for i in 0..p {
            for j in 0..p {
                normal[i * p + j] += weight * w[i] * w[j];
            }
            for k in 0..d {
                right[k * p + i] += weight * w[i] * (mode.y[k] - best.y[k]);
            }
        }
    }
    if p > 0 {
        let factor = Factor::from_covariance(&normal, "the slope's normal equations").ok()?;
        for (row, out) in right.chunks_mut(p).zip(slope.chunks_mut(p)) {
            factor.solve(row);
            factor.solve_transposed(row);
            // From whitened x back to x: B = B_w L⁻¹, so bᵀ = L⁻ᵀ b_wᵀ.
            slow.solve_transposed(row);
            out.copy_from_slice(row);
        }
    }
    Linear::new(best.x.clone(), best.y.clone(), slope, root).ok()
}

/// The marginal in units of the widths found at the start.
struct Scaled<'m, 'a> {
    marginal: &'m mut Marginal<'a>,
    origin: Vec<f64>,
    steps: Vec<f64>,
}

impl Scaled<'_, '_> {
    /// The covariance that a curvature in scaled units stands for.
    fn covariance(&self, curvature: &[f64]) -> Option<Factor> {
        let p = self.steps.len();
        let precision = Factor::from_covariance(curvature, "curvature").ok()?;
        let mut covariance = vec![0.0; p * p];
        for (k, row) in covariance.chunks_mut(p).enumerate() {
            row[k] = 1.0;
            precision.solve(row);
            precision.solve_transposed(row);
            for (j, entry) in row.iter_mut().enumerate() {
                *entry *= self.steps[k] * self.steps[j];
            }
        }
        let symmetric: Vec<f64> = (0..p * p)
            .map(|k| 0.5 * (covariance[k] + covariance[(k % p) * p + k / p]))
            .collect();
        Factor::from_covariance(&symmetric, "the slow covariance").ok()
    }
}

impl Surface for Scaled<'_, '_> {
    fn height(&mut self, u: &[f64]) -> f64 {
        let mut height = [0.0];
        self.heights(u, &mut height);
        height[0]
    }

    fn is_vectorised(&self) -> bool {
        true
    }

    fn heights(&mut self, us: &[f64], out: &mut [f64]) {
        let place = |u: &[f64]| {
            (0..u.len())
                .map(|k| self.origin[k] + self.steps[k] * u[k])
                .collect()
        };
        let xs: Vec<Vec<f64>> = us.chunks_exact(self.origin.len()).map(place).collect();
        out.copy_from_slice(&self.marginal.heights(&xs));
    }
}
