//! A deterministic ascent to a mode by gradients alone: for many variables, where second differences
//! cost too much and the learned curvature serves.

use super::surface::{STRAYED, Surface, clean};
use crate::linalg::dot;

/// How many gradients may be taken.
const MOST_ROUNDS: usize = 100;
/// How many past steps the estimate of the curvature remembers (limited-memory BFGS).
const MEMORY: usize = 10;
/// The squared length of the scaled gradient, per variable, at which the top is near enough: the frame
/// need not be exact, and the drag corrects a tenth of a width.
const CLOSE: f64 = 1e-3;

/// Climbs from `start`; `None` where no top is found. Storage are scaled to width 1.
pub(crate) fn ascend(
    surface: &mut impl Surface,
    start: &[f64],
    step: f64,
) -> Option<(Vec<f64>, f64)> {
    ascend_to(surface, start, step, CLOSE * start.len() as f64)
}

/// The same, as close to the top as this squared length of the scaled gradient.
pub(super) fn ascend_to(
    surface: &mut impl Surface,
    start: &[f64],
    mut step: f64,
    close: f64,
) -> Option<(Vec<f64>, f64)> {
    let mut at = start.to_vec();
    let mut height = clean(surface.height(&at));
    if height == f64::NEG_INFINITY {
        return None;
    }
    let mut slope = gradient(surface, &mut at, step)?;
    let mut past = Past::default();
    for _ in 0..MOST_ROUNDS {
        let (ahead, promise) = past.direction(&slope, Metric::Unit);
        if promise < close {
            return Some((at, height));
        }
        let Some((mut next, next_height)) = search(surface, &at, height, &ahead, promise) else {
            // No step gains. Near the top that is the differences' own error; further down they were
            // too coarse.
            if promise < 0.1 * at.len() as f64 {
                return Some((at, height));
            }
            step *= 0.1;
            past.clear();
            slope = gradient(surface, &mut at, step)?;
            continue;
        };
        if next.iter().zip(start).any(|(u, s)| (u - s).abs() > STRAYED) {
            return None;
        }
        let next_slope = gradient(surface, &mut next, step)?;
        past.note(&at, &next, &slope, &next_slope);
        (at, height, slope) = (next, next_height, next_slope);
    }
    None
}

/// The surface's own gradient, or central differences.
fn gradient(surface: &mut impl Surface, at: &mut [f64], step: f64) -> Option<Vec<f64>> {
    let mut slope = vec![0.0; at.len()];
    if !surface.gradient(at, &mut slope) {
        if surface.looks_ahead() {
            let mut places = Vec::with_capacity(2 * at.len() * at.len());
            for k in 0..at.len() {
                for h in [step, -step] {
                    let begin = places.len();
                    places.extend_from_slice(at);
                    places[begin + k] = at[k] + h;
                }
            }
            surface.expect(&places, &[]);
        }
        for k in 0..at.len() {
            let here = at[k];
            let mut h = step;
            slope[k] = loop {
                at[k] = here + h;
                let up = clean(surface.height(at));
                at[k] = here - h;
                let down = clean(surface.height(at));
                at[k] = here;
                if up > f64::NEG_INFINITY && down > f64::NEG_INFINITY {
                    break (up - down) / (2.0 * h);
                }
                h *= 0.125;
                if h < 1e-12 {
                    return None;
                }
            };
        }
    }
    slope.iter().all(|g| g.is_finite()).then_some(slope)
}

/// What is believed of the curvature before any step.
#[derive(Debug, Clone, Copy)]
pub(super) enum Metric<'a> {
    /// The learned one, in whose units it is 1.
    Unit,
    /// These curvatures along the axes.
    Axes(&'a [f64]),
}

/// Past steps, and how the slope turned over them.
#[derive(Debug, Default)]
pub(super) struct Past(Vec<(Vec<f64>, Vec<f64>)>);

impl Past {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Notes a step between two places with these slopes, where the surface bends down along it.
    pub fn note(&mut self, from: &[f64], to: &[f64], slope: &[f64], next_slope: &[f64]) {
        let moved: Vec<f64> = to.iter().zip(from).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = slope.iter().zip(next_slope).map(|(a, b)| a - b).collect();
        if dot(&moved, &turned) > 1e-10 * dot(&turned, &turned).sqrt() * dot(&moved, &moved).sqrt()
        {
            self.0.push((moved, turned));
            if self.0.len() > MEMORY {
                self.0.remove(0);
            }
        }
    }

    /// Where to go, and what the slope promises along it.
    pub fn direction(&mut self, slope: &[f64], metric: Metric<'_>) -> (Vec<f64>, f64) {
        let mut ahead = self.two_loops(slope, metric);
        let mut promise = dot(&ahead, slope);
        if promise <= 0.0 {
            // The remembered curvature has gone stale: what was believed before always ascends.
            self.clear();
            ahead = self.two_loops(slope, metric);
            promise = dot(&ahead, slope);
        }
        (ahead, promise)
    }

    /// The two-loop recursion of limited-memory BFGS, with what is believed beforehand at its base.
    fn two_loops(&self, slope: &[f64], metric: Metric<'_>) -> Vec<f64> {
        let mut ahead = slope.to_vec();
        let mut shares = Vec::with_capacity(self.0.len());
        for (moved, turned) in self.0.iter().rev() {
            let share = dot(moved, &ahead) / dot(moved, turned);
            add(&mut ahead, -share, turned);
            shares.push(share);
        }
        if let Metric::Axes(curvatures) = metric {
            for (a, c) in ahead.iter_mut().zip(curvatures) {
                *a /= c;
            }
        }
        for ((moved, turned), share) in self.0.iter().zip(shares.iter().rev()) {
            let back = dot(turned, &ahead) / dot(moved, turned);
            add(&mut ahead, share - back, moved);
        }
        ahead
    }
}

/// A step that gains; lengthened while that gains more.
pub(super) fn search(
    surface: &mut impl Surface,
    at: &[f64],
    height: f64,
    ahead: &[f64],
    promise: f64,
) -> Option<(Vec<f64>, f64)> {
    let mut look = |t: f64| {
        let mut trial = at.to_vec();
        add(&mut trial, t, ahead);
        let height = clean(surface.height(&trial));
        (trial, height)
    };
    let mut t = 1.0;
    for _ in 0..50 {
        let (trial, trial_height) = look(t);
        let gain = trial_height - height;
        if gain > 1e-4 * t * promise {
            let mut best = (trial, trial_height);
            if t == 1.0 && gain > 0.75 * promise {
                for _ in 0..60 {
                    t *= 2.0;
                    let further = look(t);
                    if further.1 <= best.1 {
                        break;
                    }
                    best = further;
                }
            }
            return Some(best);
        }
        let parabola = 0.5 * t * t * promise / (t * promise - gain);
        t = if parabola.is_finite() {
            parabola.clamp(0.05 * t, 0.5 * t)
        } else {
            0.1 * t
        };
    }
    None
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    for (a, b) in to.iter_mut().zip(what) {
        *a += times * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Formula<F>(F, usize);
    impl<F: Fn(&[f64]) -> f64> Surface for Formula<F> {
        fn height(&mut self, u: &[f64]) -> f64 {
            self.1 += 1;
            (self.0)(u)
        }
    }

    #[test]
    fn forty_coupled_variables_are_brought_to_their_mode() {
        let f = |u: &[f64]| {
            let own: f64 = u
                .iter()
                .enumerate()
                .map(|(k, v)| 2.0 * v - 0.1 * k as f64 * v - v.exp())
                .sum();
            let pairs: f64 = u.windows(2).map(|p| (p[0] - p[1]).powi(2)).sum();
            own - pairs
        };
        let mut surface = Formula(f, 0);
        let (at, height) = ascend(&mut surface, &vec![5.0; 40], 0.3).unwrap();
        // The mode is where no coordinate can gain by a small step.
        for k in 0..40 {
            for h in [-0.2, 0.2] {
                let mut moved = at.clone();
                moved[k] += h;
                assert!(f(&moved) < height + 1e-3);
            }
        }
        // A start on an exponential wall, in a metric that is off by ten: 63 gradients when last measured.
        assert!(surface.1 < 80 * 100, "{} evaluations", surface.1);
    }

    #[test]
    fn an_endless_slope_has_no_top() {
        assert!(ascend(&mut Formula(|u: &[f64]| u[0], 0), &[0.0, 0.0], 0.3).is_none());
        assert!(ascend(&mut Formula(|_: &[f64]| f64::NAN, 0), &[0.0], 0.3).is_none());
    }
}
