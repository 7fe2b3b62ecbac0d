//! Bent coordinates: a triangular map after which a banana or a funnel is nearly normal.
//!
//! Variable by variable, uₖ = (tₖ − mₖ(t before it)) / sₖ(t before it), with polynomials m and ln s: what follows the square of
//! another variable is straightened, and what has a scale that depends on another gets one scale. The map is frozen, can be inverted, and has a triangular
//! derivative, so that a density over u is one over x.

mod orders;
#[cfg(test)]
mod tests;

use super::limits::{
    BEND_CLIP, BEND_CROSSED, BEND_FALL, BEND_LOG_SCALE, BEND_REACH, BEND_RIDGE, BEND_ROUNDS,
    POINTS_PER_BEND,
};
use super::visits::Visit;
use crate::linalg::{Factor, dot};
use orders::{orders, regress};
use serde::{Deserialize, Serialize};

/// A triangular map from x to u.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Bend {
    /// Which variable comes first, second, …
    order: Vec<usize>,
    centre: Vec<f64>,
    sds: Vec<f64>,
    /// Beyond these, in standard deviations and by place in the order, m and s go on as constants.
    low: Vec<f64>,
    high: Vec<f64>,
    lines: Vec<Line>,
    /// Whether m has products of two variables.
    crossed: bool,
}

/// The coefficients of mₖ and of ln sₖ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    middle: Vec<f64>,
    log_scale: Vec<f64>,
}

/// A point to fit to.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub x: Vec<f64>,
    /// Log units below the mode.
    pub below: f64,
    pub weight: f64,
    /// Whether it is in the (heated) bulk.
    pub inner: bool,
}

impl Bend {
    /// The map whose normal density explains the points best; nothing where there are too few of them.
    pub fn fit(seen: &[Seen], heat: f64) -> Option<Self> {
        let p = seen.first()?.x.len();
        if p < 2 {
            return None;
        }
        let crossed = p <= BEND_CROSSED;
        let size: usize = 1
            + (0..p)
                .map(|k| middle_count(k, crossed) + scale_count(k))
                .sum::<usize>();
        if (seen.len() as f64) < POINTS_PER_BEND * size as f64 {
            return None;
        }
        // About as wide as the target: heated points are wider.
        let shares: Vec<f64> = seen.iter().map(|s| (-s.below / heat).exp()).collect();
        let total: f64 = shares.iter().sum();
        let mean = |of: &dyn Fn(&Seen) -> f64| {
            let terms = seen.iter().zip(&shares).map(|(s, share)| share * of(s));
            terms.sum::<f64>() / total
        };
        let centre: Vec<f64> = (0..p).map(|k| mean(&|s| s.x[k])).collect();
        let sds: Vec<f64> = (0..p)
            .map(|k| mean(&|s| (s.x[k] - centre[k]).powi(2)).sqrt())
            .collect();
        if !sds.iter().all(|sd| *sd > 0.0 && sd.is_finite()) {
            return None;
        }
        let white: Vec<Vec<f64>> = seen
            .iter()
            .map(|s| (0..p).map(|k| (s.x[k] - centre[k]) / sds[k]).collect())
            .collect();
        let mut best: Option<(f64, Self)> = None;
        for order in orders(&white, &shares, p) {
            let mut bend = Self::begin(order, (&centre, &sds), &white, seen, &shares, crossed);
            let Some(error) = bend.improve(&white, seen) else {
                continue;
            };
            if best.as_ref().is_none_or(|(so_far, _)| error < *so_far) {
                best = Some((error, bend));
            }
        }
        best.map(|(_, bend)| bend)
    }

    /// Lines by weighted regression, scales that do not change.
    fn begin(
        order: Vec<usize>,
        (centre, sds): (&[f64], &[f64]),
        white: &[Vec<f64>],
        seen: &[Seen],
        shares: &[f64],
        crossed: bool,
    ) -> Self {
        let p = order.len();
        // As far as the (heated) bulk was seen, and a little further: there the next visits will be.
        let range = |k: usize| {
            let bulk = white.iter().zip(seen).filter(|(_, s)| s.inner);
            let (low, high) = bulk.fold((0.0f64, 0.0f64), |(low, high), (t, _)| {
                (low.min(t[k]), high.max(t[k]))
            });
            (BEND_REACH * low, BEND_REACH * high)
        };
        let mut bend = Self {
            low: order.iter().map(|&k| range(k).0).collect(),
            high: order.iter().map(|&k| range(k).1).collect(),
            order,
            centre: centre.to_vec(),
            sds: sds.to_vec(),
            lines: Vec::new(),
            crossed,
        };
        for k in 0..p {
            let rows: Vec<Vec<f64>> = white
                .iter()
                .map(|t| bend.middle_features(&bend.before(t, k)))
                .collect();
            let wanted: Vec<f64> = white.iter().map(|t| t[bend.order[k]]).collect();
            let size = rows[0].len();
            let middle = regress(&rows, &wanted, shares, size).unwrap_or_else(|| vec![0.0; size]);
            let (mut square, mut total) = (0.0, 0.0);
            for ((row, wanted), share) in rows.iter().zip(&wanted).zip(shares) {
                square += share * (wanted - dot(row, &middle)).powi(2);
                total += share;
            }
            let mut log_scale = vec![0.0; scale_count(k)];
            log_scale[0] = 0.5 * (square / total).max(1e-12).ln();
            bend.lines.push(Line { middle, log_scale });
        }
        bend
    }

    /// Levenberg and Marquardt on the log density, with errors clipped; returns the mean clipped error.
    fn improve(&mut self, white: &[Vec<f64>], seen: &[Seen]) -> Option<f64> {
        let (mut level, mut damping) = (0.0, 1e-2);
        let mut here = self.equations(level, white, seen);
        for _ in 0..BEND_ROUNDS {
            let Some(step) = here.step(damping) else {
                damping *= 100.0;
                continue;
            };
            let lines = self.lines.clone();
            let mut rest = step[1..].iter();
            for line in &mut self.lines {
                let all = line.middle.iter_mut().chain(&mut line.log_scale);
                for (c, step) in all.zip(&mut rest) {
                    *c += step;
                }
            }
            let there = self.equations(level + step[0], white, seen);
            if there.loss < here.loss {
                level += step[0];
                damping = (0.3 * damping).max(1e-9);
                let little = there.loss > (1.0 - BEND_FALL) * here.loss;
                here = there;
                if little {
                    break;
                }
            } else {
                self.lines = lines;
                damping *= 10.0;
            }
        }
        here.loss.is_finite().then(|| here.loss.sqrt())
    }

    /// The normal equations of a step from here.
    fn equations(&self, level: f64, white: &[Vec<f64>], seen: &[Seen]) -> Equations {
        let p = self.order.len();
        let numbers = |line: &Line| line.middle.len() + line.log_scale.len();
        let size = 1 + self.lines.iter().map(numbers).sum::<usize>();
        let mut all = Equations {
            normal: vec![0.0; size * size],
            right: vec![0.0; size],
            loss: 0.0,
            weight: 0.0,
        };
        let mut row = Vec::with_capacity(size);
        for (t, s) in white.iter().zip(seen) {
            row.clear();
            row.push(1.0);
            let mut value = level;
            for k in 0..p {
                let before = self.before(t, k);
                let (middle, scale) = (self.middle_features(&before), scale_features(&before));
                let log_scale = self.log_scale(k, &scale);
                let thin = (-log_scale).exp();
                let z = (t[self.order[k]] - dot(&middle, &self.lines[k].middle)) * thin;
                value -= 0.5 * z * z + log_scale;
                row.extend(middle.iter().map(|f| z * thin * f));
                row.extend(scale.iter().map(|f| (z * z - 1.0) * f));
            }
            let off = -s.below - value;
            let clipped = off.abs().min(BEND_CLIP);
            // Huber's: squares of small errors, and large ones only as they are.
            all.loss += s.weight * clipped * (2.0 * off.abs() - clipped);
            all.weight += s.weight;
            let counts = s.weight * (clipped / off.abs().max(1e-12)).min(1.0);
            for i in 0..size {
                let scaled = counts * row[i];
                all.right[i] += scaled * off;
                for j in 0..=i {
                    all.normal[i * size + j] += scaled * row[j];
                }
            }
        }
        all.loss /= all.weight;
        all
    }

    /// The variables before the k-th, within their ranges.
    fn before(&self, t: &[f64], k: usize) -> Vec<f64> {
        (0..k)
            .map(|j| t[self.order[j]].clamp(self.low[j], self.high[j]))
            .collect()
    }

    fn middle_features(&self, before: &[f64]) -> Vec<f64> {
        let mut all = scale_features(before);
        if self.crossed {
            for i in 0..before.len() {
                all.extend((0..i).map(|j| before[i] * before[j]));
            }
        }
        all
    }

    fn log_scale(&self, k: usize, features: &[f64]) -> f64 {
        dot(features, &self.lines[k].log_scale).clamp(-BEND_LOG_SCALE, BEND_LOG_SCALE)
    }

    /// Writes u at x, and returns ln |det du/dx|.
    pub fn apply(&self, x: &[f64], u: &mut [f64]) -> f64 {
        let p = self.order.len();
        let t: Vec<f64> = (0..p)
            .map(|k| (x[k] - self.centre[k]) / self.sds[k])
            .collect();
        let mut log_det = 0.0;
        for k in 0..p {
            let before = self.before(&t, k);
            let log_scale = self.log_scale(k, &scale_features(&before));
            let middle = dot(&self.middle_features(&before), &self.lines[k].middle);
            u[k] = (t[self.order[k]] - middle) * (-log_scale).exp();
            log_det -= log_scale + self.sds[self.order[k]].ln();
        }
        log_det
    }

    /// Writes x at u.
    pub fn invert(&self, u: &[f64], x: &mut [f64]) {
        let p = self.order.len();
        let mut t = vec![0.0; p];
        for k in 0..p {
            let before = self.before(&t, k);
            let log_scale = self.log_scale(k, &scale_features(&before));
            let middle = dot(&self.middle_features(&before), &self.lines[k].middle);
            t[self.order[k]] = middle + log_scale.exp() * u[k];
        }
        for k in 0..p {
            x[k] = self.centre[k] + self.sds[k] * t[k];
        }
    }

    /// A visit as seen in u: the density there is that over u.
    pub fn visit(&self, visit: &Visit) -> Visit {
        let mut u = vec![0.0; visit.x.len()];
        let log_det = self.apply(&visit.x, &mut u);
        Visit {
            x: u,
            log_marginal: visit.log_marginal - log_det,
        }
    }

    pub fn fits(&self, dim: usize) -> bool {
        let mut sorted = self.order.clone();
        sorted.sort_unstable();
        let lists = [&self.centre, &self.sds, &self.low, &self.high];
        sorted.into_iter().eq(0..dim)
            && lists
                .iter()
                .all(|list| list.len() == dim && list.iter().all(|v| v.is_finite()))
            && self.sds.iter().all(|sd| *sd > 0.0)
            && self.low.iter().zip(&self.high).all(|(a, b)| a <= b)
            && self.lines.len() == dim
            && self.lines.iter().enumerate().all(|(k, line)| {
                line.middle.len() == middle_count(k, self.crossed)
                    && line.log_scale.len() == scale_count(k)
                    && line
                        .middle
                        .iter()
                        .chain(&line.log_scale)
                        .all(|c| c.is_finite())
            })
    }
}

/// What a step of the fit needs to know.
struct Equations {
    /// The lower half.
    normal: Vec<f64>,
    right: Vec<f64>,
    loss: f64,
    weight: f64,
}

impl Equations {
    fn step(&self, damping: f64) -> Option<Vec<f64>> {
        let size = self.right.len();
        let mut normal = self.normal.clone();
        for i in 0..size {
            for j in 0..i {
                normal[j * size + i] = normal[i * size + j];
            }
            normal[i * size + i] *= 1.0 + damping;
            normal[i * size + i] += BEND_RIDGE * self.weight;
        }
        let factor = Factor::from_covariance(&normal, "a bend's normal equations").ok()?;
        let mut step = self.right.clone();
        factor.solve(&mut step);
        factor.solve_transposed(&mut step);
        step.iter().all(|v| v.is_finite()).then_some(step)
    }
}

/// 1, every variable, and every square.
fn scale_features(before: &[f64]) -> Vec<f64> {
    let mut all = vec![1.0];
    all.extend_from_slice(before);
    all.extend(before.iter().map(|t| t * t));
    all
}

fn scale_count(before: usize) -> usize {
    1 + 2 * before
}

fn middle_count(before: usize, crossed: bool) -> usize {
    let products = before * before.saturating_sub(1) / 2;
    scale_count(before) + if crossed { products } else { 0 }
}
