//! Bent coordinates: a triangular map after which a banana or a funnel is nearly normal.
//!
//! Variable by variable, uₖ = (tₖ − mₖ(t before it)) / sₖ(t before it), with polynomials m and ln s: what follows the square of
//! another variable is straightened, and what has a scale that depends on another gets one scale. The map is frozen, can be inverted, and has a triangular
//! derivative, so that a density over u is one over x.

use super::limits::{
    BEND_CLIP, BEND_CROSSED, BEND_FALL, BEND_LOG_SCALE, BEND_ORDERS, BEND_REACH, BEND_RIDGE,
    BEND_ROUNDS, POINTS_PER_BEND,
};
use super::visits::Visit;
use crate::linalg::Factor;
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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Weighted least squares with a small ridge.
fn regress(rows: &[Vec<f64>], wanted: &[f64], shares: &[f64], size: usize) -> Option<Vec<f64>> {
    let mut normal = vec![0.0; size * size];
    let mut right = vec![0.0; size];
    let total: f64 = shares.iter().sum();
    for ((row, wanted), share) in rows.iter().zip(wanted).zip(shares) {
        for i in 0..size {
            right[i] += share * row[i] * wanted;
            for j in 0..size {
                normal[i * size + j] += share * row[i] * row[j];
            }
        }
    }
    for i in 0..size {
        normal[i * size + i] += 1e-6 * total;
    }
    let factor = Factor::from_covariance(&normal, "a bend's regression").ok()?;
    factor.solve(&mut right);
    factor.solve_transposed(&mut right);
    Some(right)
}

/// Orders worth a try: all of them for few variables; else as they come, the other way round, and those first that others follow.
fn orders(white: &[Vec<f64>], shares: &[f64], p: usize) -> Vec<Vec<usize>> {
    let plain: Vec<usize> = (0..p).collect();
    if p <= BEND_ORDERS {
        let mut all = vec![Vec::new()];
        for _ in 0..p {
            all = all
                .into_iter()
                .flat_map(|so_far: Vec<usize>| {
                    (0..p)
                        .filter(|k| !so_far.contains(k))
                        .map(|k| [so_far.clone(), vec![k]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        return all;
    }
    let mut scores = vec![0.0; p];
    for j in 0..p {
        for k in (0..p).filter(|&k| k != j) {
            let gain = follows(white, shares, j, k);
            scores[j] += gain;
            scores[k] -= gain;
        }
    }
    let mut led = plain.clone();
    led.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let back = plain.iter().rev().copied().collect();
    let mut all = vec![plain];
    for order in [led, back] {
        if !all.contains(&order) {
            all.push(order);
        }
    }
    all
}

/// How much variable k follows the square of variable j, or has a spread that follows it: shares of its variance.
fn follows(white: &[Vec<f64>], shares: &[f64], j: usize, k: usize) -> f64 {
    let line = |size: usize| {
        let rows: Vec<Vec<f64>> = white
            .iter()
            .map(|t| vec![1.0, t[j], t[j] * t[j]][..size].to_vec())
            .collect();
        let wanted: Vec<f64> = white.iter().map(|t| t[k]).collect();
        let numbers = regress(&rows, &wanted, shares, size)?;
        let left: Vec<f64> = rows
            .iter()
            .zip(&wanted)
            .map(|(row, wanted)| (wanted - dot(row, &numbers)).powi(2))
            .collect();
        Some(left)
    };
    let (Some(straight), Some(bent)) = (line(2), line(3)) else {
        return 0.0;
    };
    let total: f64 = shares.iter().sum();
    let mean = |values: &[f64]| dot(values, shares) / total;
    let bends = 1.0 - mean(&bent) / mean(&straight).max(1e-300);
    // The correlation of what is left, squared, with the other variable.
    let first: Vec<f64> = white.iter().map(|t| t[j]).collect();
    let (a, b) = (mean(&first), mean(&bent));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for ((t, left), share) in first.iter().zip(&bent).zip(shares) {
        ab += share * (t - a) * (left - b);
        aa += share * (t - a).powi(2);
        bb += share * (left - b).powi(2);
    }
    bends + ab * ab / (aa * bb).max(1e-300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// Points about as a heated target's, with the exact log density.
    fn seen(
        log_density: impl Fn(&[f64]) -> f64,
        draw: impl Fn(&mut Rng) -> Vec<f64>,
        count: usize,
    ) -> Vec<Seen> {
        let mut rng = Rng::stream(3, 0);
        (0..count)
            .map(|_| {
                let x = draw(&mut rng);
                let below = -log_density(&x);
                Seen {
                    x,
                    below,
                    weight: (-below / 6.0).exp(),
                    inner: below < 12.0,
                }
            })
            .collect()
    }

    /// The rms of log density less that of a unit normal over u, about its mean.
    fn left(bend: &Bend, points: &[Seen]) -> f64 {
        let values: Vec<f64> = points
            .iter()
            .filter(|s| s.below < 8.0)
            .map(|s| {
                let mut u = vec![0.0; s.x.len()];
                let log_det = bend.apply(&s.x, &mut u);
                let normal = -0.5 * u.iter().map(|v| v * v).sum::<f64>();
                -s.below - log_det - normal
            })
            .collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (square / values.len() as f64).sqrt()
    }

    #[test]
    fn a_banana_and_a_funnel_become_normal_whichever_variable_leads() {
        for swapped in [false, true] {
            let turn = move |mut x: Vec<f64>| {
                if swapped {
                    x.swap(0, 1);
                }
                x
            };
            let banana = seen(
                |x| {
                    let x = turn(x.to_vec());
                    -0.5 * x[0] * x[0] - 0.5 * ((x[1] - x[0] * x[0] + 1.0) / 0.3).powi(2)
                },
                |rng| {
                    let a = 1.6 * rng.normal();
                    turn(vec![a, a * a - 1.0 + 0.5 * rng.normal()])
                },
                300,
            );
            let bend = Bend::fit(&banana, 3.0).unwrap();
            assert!(left(&bend, &banana) < 0.05, "{}", left(&bend, &banana));
            let funnel = seen(
                |x| {
                    let x = turn(x.to_vec());
                    -0.5 * (x[0] / 1.5).powi(2) - 0.5 * x[1] * x[1] * (-x[0]).exp() - 0.5 * x[0]
                },
                |rng| {
                    let a = 2.2 * rng.normal();
                    turn(vec![a, 1.5 * (0.5 * a).exp() * rng.normal()])
                },
                300,
            );
            let bend = Bend::fit(&funnel, 3.0).unwrap();
            assert!(left(&bend, &funnel) < 0.1, "{}", left(&bend, &funnel));
        }
    }

    #[test]
    fn what_is_bent_is_bent_back_and_its_determinant_is_that_of_differences() {
        let points = seen(
            |x| -0.5 * x.iter().map(|v| v * v).sum::<f64>() - 0.2 * (x[2] - x[0] * x[1]).powi(2),
            |rng| (0..3).map(|_| 1.5 * rng.normal()).collect(),
            400,
        );
        let bend = Bend::fit(&points, 2.0).unwrap();
        assert!(bend.fits(3) && !bend.fits(2));
        let mut rng = Rng::stream(4, 0);
        for _ in 0..50 {
            let x: Vec<f64> = (0..3).map(|_| 2.0 * rng.normal()).collect();
            let (mut u, mut back) = (vec![0.0; 3], vec![0.0; 3]);
            let log_det = bend.apply(&x, &mut u);
            bend.invert(&u, &mut back);
            for k in 0..3 {
                assert!((x[k] - back[k]).abs() < 1e-9, "{x:?} {back:?}");
            }
            // By central differences; three by three by hand.
            let mut d = [[0.0; 3]; 3];
            let h = 1e-6;
            for (j, row) in d.iter_mut().enumerate() {
                let (mut up, mut down) = (x.clone(), x.clone());
                up[j] += h;
                down[j] -= h;
                let (mut a, mut b) = (vec![0.0; 3], vec![0.0; 3]);
                bend.apply(&up, &mut a);
                bend.apply(&down, &mut b);
                for k in 0..3 {
                    row[k] = (a[k] - b[k]) / (2.0 * h);
                }
            }
            let det = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1])
                - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0])
                + d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
            assert!((det.abs().ln() - log_det).abs() < 1e-4, "{det} {log_det}");
        }
    }
}
