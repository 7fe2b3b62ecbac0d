//! Bent coordinates: a triangular map after which a banana or a funnel is nearly normal.
//!
//! Variable by variable, uₖ = (tₖ − mₖ(t before it)) / sₖ(t before it), with polynomials m and ln s: what follows the square of
//! another variable is straightened, and what has a scale that depends on another gets one scale. The map is frozen, can be inverted, and has a triangular
//! derivative, so that a density over u is one over x.

mod orders;
#[cfg(test)]
mod tests;

use super::levenberg::{Equations, Fitted, improve};
use super::limits::{
    BEND_CROSSED, BEND_FIRST_ROUNDS, BEND_LOG_SCALE, BEND_POINTS, BEND_POINTS_EACH, BEND_REACH,
    BEND_RIDGE, BEND_ROUNDS, POINTS_PER_BEND,
};
use super::visits::Visit;
use crate::linalg::dot;
pub(super) use orders::orders;
use orders::regress;
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

/// How far points lie from the centre along each variable.
pub(super) struct Range {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Range {
    /// Of these points.
    pub fn of<'a>(points: impl Iterator<Item = &'a [f64]>, p: usize) -> Self {
        let mut range = Self {
            low: vec![0.0; p],
            high: vec![0.0; p],
        };
        for point in points {
            for (k, t) in point.iter().enumerate() {
                range.low[k] = range.low[k].min(*t);
                range.high[k] = range.high[k].max(*t);
            }
        }
        range
    }
}

impl Bend {
    /// The map whose normal density explains the points best; nothing where there are too few of them.
    pub fn fit(seen: &[Seen], heat: f64) -> Option<Self> {
        let p = seen.first()?.x.len();
        if p < 2 {
            return None;
        }
        let crossed = p <= BEND_CROSSED;
        let size = 1 + Self::numbers(p);
        if (seen.len() as f64) < POINTS_PER_BEND * size as f64 {
            return None;
        }
        let most = BEND_POINTS.max((BEND_POINTS_EACH * size as f64) as usize);
        let stride = seen.len().div_ceil(most);
        let thinned: Vec<Seen> = seen.iter().step_by(stride).cloned().collect();
        let seen = &thinned[..];
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
        let inner = white.iter().zip(seen).filter(|(_, s)| s.inner);
        let bulk = Range::of(inner.map(|(t, _)| &t[..]), p);
        let mut best: Option<(f64, Fit)> = None;
        for order in orders(&white, &shares, p) {
            let mut fit = Fit {
                bend: Self::begin(order, (&centre, &sds), &white, &shares, &bulk, crossed),
                level: 0.0,
                white: &white,
                seen,
            };
            let Some(error) = improve(&mut fit, BEND_FIRST_ROUNDS) else {
                continue;
            };
            if best.as_ref().is_none_or(|(so_far, _)| error < *so_far) {
                best = Some((error, fit));
            }
        }
        let (_, mut fit) = best?;
        improve(&mut fit, BEND_ROUNDS)?;
        Some(fit.bend)
    }

    /// Lines by weighted regression, scales that do not change. The bulk is that of all points, not only of those that the lines go through.
    pub fn begin(
        order: Vec<usize>,
        (centre, sds): (&[f64], &[f64]),
        white: &[Vec<f64>],
        shares: &[f64],
        bulk: &Range,
        crossed: bool,
    ) -> Self {
        let p = order.len();
        // As far as the (heated) bulk was seen, and a little further: there the next visits will be.
        let mut bend = Self {
            low: order.iter().map(|&k| BEND_REACH * bulk.low[k]).collect(),
            high: order.iter().map(|&k| BEND_REACH * bulk.high[k]).collect(),
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

    /// The features of mₖ at t, added to a list.
    fn push_features(&self, t: &[f64], k: usize, out: &mut Vec<f64>) {
        let at = |j: usize| t[self.order[j]].clamp(self.low[j], self.high[j]);
        out.push(1.0);
        out.extend((0..k).map(at));
        out.extend((0..k).map(|j| at(j) * at(j)));
        if self.crossed {
            for i in 0..k {
                out.extend((0..i).map(|j| at(i) * at(j)));
            }
        }
    }

    fn log_scale(&self, k: usize, features: &[f64]) -> f64 {
        dot(features, &self.lines[k].log_scale).clamp(-BEND_LOG_SCALE, BEND_LOG_SCALE)
    }

    /// The logarithm of its normal density at a point in standard deviations from the centre, less a constant.
    pub fn log_normal(&self, t: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (k, line) in self.lines.iter().enumerate() {
            let at = |j: usize| t[self.order[j]].clamp(self.low[j], self.high[j]);
            let (mut middle, mut log_scale) = (line.middle[0], line.log_scale[0]);
            for j in 0..k {
                let (v, square) = (at(j), at(j) * at(j));
                middle += line.middle[1 + j] * v + line.middle[1 + k + j] * square;
                log_scale += line.log_scale[1 + j] * v + line.log_scale[1 + k + j] * square;
            }
            if self.crossed {
                let mut products = line.middle[1 + 2 * k..].iter();
                for i in 0..k {
                    let each = (0..i).zip(&mut products);
                    middle += each.map(|(j, c)| c * at(i) * at(j)).sum::<f64>();
                }
            }
            let log_scale = log_scale.clamp(-BEND_LOG_SCALE, BEND_LOG_SCALE);
            let z = (t[self.order[k]] - middle) * (-log_scale).exp();
            sum -= 0.5 * z * z + log_scale;
        }
        sum
    }

    /// The same, and how it changes with each of the map's numbers, added to the row. Of a straight map only those numbers may change that keep
    /// it so.
    pub fn explain(&self, t: &[f64], straight: bool, row: &mut Vec<f64>) -> f64 {
        let mut value = 0.0;
        for k in 0..self.order.len() {
            // In the row itself, so that nothing is allocated: the features of m, the first of which are those of ln s.
            let (first, scale) = (row.len(), scale_count(k));
            self.push_features(t, k, row);
            let last = row.len();
            let log_scale = self.log_scale(k, &row[first..first + scale]);
            let thin = (-log_scale).exp();
            let z = (t[self.order[k]] - dot(&row[first..last], &self.lines[k].middle)) * thin;
            value -= 0.5 * z * z + log_scale;
            let free = |j: usize, straight_ones: usize| match straight && j >= straight_ones {
                true => 0.0,
                false => 1.0,
            };
            for j in 0..scale {
                let f = row[first + j];
                row.push(free(j, 1) * (z * z - 1.0) * f);
            }
            for (j, f) in row[first..last].iter_mut().enumerate() {
                *f *= free(j, 1 + k) * z * thin;
            }
        }
        value
    }

    /// Changes each of its numbers, in the order of [`explain`](Self::explain).
    pub fn advance<'s>(&mut self, steps: &mut impl Iterator<Item = &'s f64>) {
        for line in &mut self.lines {
            let all = line.middle.iter_mut().chain(&mut line.log_scale);
            for (c, step) in all.zip(&mut *steps) {
                *c += step;
            }
        }
    }

    /// How many numbers a map of so many variables has.
    pub fn numbers(p: usize) -> usize {
        let each = |k| middle_count(k, p <= BEND_CROSSED) + scale_count(k);
        (0..p).map(each).sum()
    }

    /// Takes out of a map all that bends it.
    pub fn straighten(&mut self) {
        for (k, line) in self.lines.iter_mut().enumerate() {
            line.middle[1 + k..].fill(0.0);
            line.log_scale[1..].fill(0.0);
        }
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

    /// The number of variables.
    pub fn dim(&self) -> usize {
        self.order.len()
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

/// A map in the making: the visits that it is to explain, and the level of their log densities.
#[derive(Clone)]
struct Fit<'a> {
    bend: Bend,
    level: f64,
    white: &'a [Vec<f64>],
    seen: &'a [Seen],
}

impl Fitted for Fit<'_> {
    fn advance(&mut self, step: &[f64]) {
        self.level += step[0];
        self.bend.advance(&mut step[1..].iter());
    }

    fn equations(&self) -> Equations {
        let mut all = Equations::new(1 + Bend::numbers(self.bend.order.len()));
        let mut row = Vec::new();
        for (t, s) in self.white.iter().zip(self.seen) {
            row.clear();
            row.push(1.0);
            let value = self.level + self.bend.explain(t, false, &mut row);
            all.add(&row, &[(0, row.len())], -s.below - value, s.weight);
        }
        all.settle();
        all.ridge = BEND_RIDGE * all.weight;
        all.loss /= all.weight;
        all
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
