//! Coordinates warped one by one: monotone maps after which skewed or long-tailed variables are nearly normal together.
//!
//! uₖ = gₖ(xₖ), where ln gₖ′ is linear between knots and constant beyond the outermost: g and its inverse have closed forms, and the
//! derivative is a diagonal, so that a density over u is one over x. The maps are those under which a normal density of u (of any
//! correlation) explains the visits best, and are then frozen.

use super::bend::Seen;
use super::limits::{
    BEND_CLIP, BEND_FALL, BEND_RIDGE, POINTS_PER_BEND, WARP_KNOTS, WARP_KNOTS_OF_ONE,
    WARP_LOG_SCALE, WARP_ROUNDS, WARP_SMOOTH,
};
use super::visits::Visit;
use crate::linalg::Factor;
use serde::{Deserialize, Serialize};

/// One map for each variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Warp {
    lines: Vec<Line>,
}

/// The map of one variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    knots: Vec<f64>,
    /// ln g′ at the knots.
    logs: Vec<f64>,
    /// g at the knots.
    values: Vec<f64>,
    /// Minus the logarithm of the standard deviation.
    usual: f64,
}

impl Line {
    /// With these derivatives, and this value at the knot in the middle.
    fn new(knots: Vec<f64>, logs: Vec<f64>, middle: f64) -> Self {
        let mut line = Self {
            usual: logs[0],
            values: vec![0.0; knots.len()],
            knots,
            logs,
        };
        line.fill(middle);
        line
    }

    fn fill(&mut self, middle: f64) {
        let r = self.knots.len() / 2;
        self.values[r] = middle;
        for i in r..self.knots.len() - 1 {
            self.values[i + 1] = self.values[i] + self.over(i);
        }
        for i in (0..r).rev() {
            self.values[i] = self.values[i + 1] - self.over(i);
        }
    }

    /// What g gains over a segment.
    fn over(&self, i: usize) -> f64 {
        let (width, rise) = self.segment(i);
        width * self.logs[i].exp() * mean_exp(rise)
    }

    /// The length of a segment, and by how much ln g′ changes over it.
    fn segment(&self, i: usize) -> (f64, f64) {
        (
            self.knots[i + 1] - self.knots[i],
            self.logs[i + 1] - self.logs[i],
        )
    }

    /// g(x) and ln g′(x).
    fn apply(&self, x: f64) -> (f64, f64) {
        let last = self.knots.len() - 1;
        let above = self.knots.partition_point(|k| *k <= x);
        if above == 0 {
            let slope = self.logs[0].exp();
            return (self.values[0] + slope * (x - self.knots[0]), self.logs[0]);
        }
        if above > last {
            let slope = self.logs[last].exp();
            return (
                self.values[last] + slope * (x - self.knots[last]),
                self.logs[last],
            );
        }
        let i = above - 1;
        let (width, rise) = self.segment(i);
        let part = (x - self.knots[i]) / width;
        let gain = width * self.logs[i].exp() * part * mean_exp(rise * part);
        (self.values[i] + gain, self.logs[i] + rise * part)
    }

    /// x where g is u.
    fn invert(&self, u: f64) -> f64 {
        let last = self.knots.len() - 1;
        let above = self.values.partition_point(|v| *v <= u);
        if above == 0 {
            return self.knots[0] + (u - self.values[0]) * (-self.logs[0]).exp();
        }
        if above > last {
            return self.knots[last] + (u - self.values[last]) * (-self.logs[last]).exp();
        }
        let i = above - 1;
        let (width, rise) = self.segment(i);
        let gain = (u - self.values[i]) / (width * self.logs[i].exp());
        // gain = (e^(rise part) − 1)/rise.
        let part = if rise.abs() < 1e-9 {
            gain * (1.0 - 0.5 * rise * gain)
        } else {
            (rise * gain).ln_1p() / rise
        };
        self.knots[i] + width * part
    }

    /// Adds to `by` how g(x) changes with each of the logs, the value in the middle held, and to `hats` what of ln g′(x) each is.
    fn slopes(&self, x: f64, by: &mut [f64], hats: &mut [f64]) {
        let last = self.knots.len() - 1;
        let r = self.knots.len() / 2;
        let above = self.knots.partition_point(|k| *k <= x);
        // Whole segments between the middle and x, then the part of one.
        let segment = above.clamp(1, last) - 1;
        let outside = above == 0 || above > last;
        let mut add = |i: usize, from: f64, to: f64, sign: f64| {
            let (width, rise) = self.segment(i);
            let size = sign * width * self.logs[i].exp();
            let whole = to * mean_exp(rise * to) - from * mean_exp(rise * from);
            let second = to * to * mean_first(rise * to) - from * from * mean_first(rise * from);
            by[i] += size * (whole - second);
            by[i + 1] += size * second;
        };
        let part = if outside {
            f64::from(u8::from(above > last))
        } else {
            (x - self.knots[segment]) / self.segment(segment).0
        };
        if segment >= r {
            for i in r..segment {
                add(i, 0.0, 1.0, 1.0);
            }
            add(segment, 0.0, part, 1.0);
        } else {
            for i in segment + 1..r {
                add(i, 0.0, 1.0, -1.0);
            }
            add(segment, part, 1.0, -1.0);
        }
        if above == 0 {
            by[0] += self.logs[0].exp() * (x - self.knots[0]);
            hats[0] = 1.0;
        } else if above > last {
            by[last] += self.logs[last].exp() * (x - self.knots[last]);
            hats[last] = 1.0;
        } else {
            hats[segment] = 1.0 - part;
            hats[segment + 1] = part;
        }
    }

    fn fits(&self) -> bool {
        let same = self.knots.len() == self.logs.len() && self.knots.len() == self.values.len();
        let all = || self.knots.iter().chain(&self.logs).chain(&self.values);
        let rising = |list: &[f64]| list.windows(2).all(|w| w[0] < w[1]);
        same && self.knots.len() >= 2
            && all().all(|v| v.is_finite())
            && rising(&self.knots)
            && rising(&self.values)
    }
}

/// (eᶻ − 1)/z: the mean of the exponential from 0 to z.
fn mean_exp(z: f64) -> f64 {
    if z.abs() < 1e-9 {
        1.0 + 0.5 * z
    } else {
        z.exp_m1() / z
    }
}

/// ∫₀¹ t e^{zt} dt.
fn mean_first(z: f64) -> f64 {
    if z.abs() < 1e-3 {
        0.5 + z / 3.0 + z * z / 8.0
    } else {
        (z.exp() * (z - 1.0) + 1.0) / (z * z)
    }
}

impl Warp {
    /// The maps whose normal density explains the points best; nothing where there are too few of them.
    pub fn fit(seen: &[Seen], heat: f64) -> Option<Self> {
        let p = seen.first()?.x.len();
        let most = if p == 1 {
            WARP_KNOTS_OF_ONE
        } else {
            WARP_KNOTS
        };
        let size = 1 + p * (most + 1) + p * (p - 1) / 2;
        if (seen.len() as f64) < POINTS_PER_BEND * size as f64 {
            return None;
        }
        // Points came from the heated marginal: so they would count as draws of the marginal itself.
        let shares: Vec<f64> = seen
            .iter()
            .map(|s| (-s.below * (1.0 - 1.0 / heat)).exp())
            .collect();
        let even = vec![1.0; seen.len()];
        let mut lines = Vec::with_capacity(p);
        for k in 0..p {
            let values: Vec<f64> = seen.iter().map(|s| s.x[k]).collect();
            let total: f64 = shares.iter().sum();
            let mean = values.iter().zip(&shares).map(|(v, s)| v * s).sum::<f64>() / total;
            let square = values
                .iter()
                .zip(&shares)
                .map(|(v, s)| s * (v - mean).powi(2));
            let sd = (square.sum::<f64>() / total).sqrt();
            if !(sd > 0.0 && sd.is_finite()) {
                return None;
            }
            let inner = |weights: &[f64]| {
                let used = seen.iter().zip(&values).zip(weights);
                let used = used.filter(|((s, _), _)| s.inner);
                let mut list: Vec<(f64, f64)> = used.map(|((_, v), w)| (*v, *w)).collect();
                list.sort_by(|a, b| a.0.total_cmp(&b.0));
                list
            };
            let knots = knots(&inner(&shares), &inner(&even), most, 0.05 * sd);
            if knots.len() < 2 {
                return None;
            }
            let logs = vec![-sd.ln(); knots.len()];
            let middle = (knots[knots.len() / 2] - mean) / sd;
            lines.push(Line::new(knots, logs, middle));
        }
        let mut fit = Fit {
            level: 0.0,
            below: vec![0.0; p * p],
            lines,
        };
        fit.improve(seen)?;
        let warp = Self { lines: fit.lines };
        warp.fits(p).then_some(warp)
    }

    /// Writes u at x, and returns ln |det du/dx|.
    pub fn apply(&self, x: &[f64], u: &mut [f64]) -> f64 {
        let mut log_det = 0.0;
        for ((u, x), line) in u.iter_mut().zip(x).zip(&self.lines) {
            let log;
            (*u, log) = line.apply(*x);
            log_det += log;
        }
        log_det
    }

    /// Writes x at u, in place.
    pub fn invert(&self, u: &mut [f64]) {
        for (u, line) in u.iter_mut().zip(&self.lines) {
            *u = line.invert(*u);
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

    /// Whether x is between the outermost knots: beyond them the maps are straight, and say nothing of where the mass is.
    pub fn covers(&self, x: &[f64]) -> bool {
        let within = |(line, x): (&Line, &f64)| {
            line.knots[0] <= *x && *x <= line.knots[line.knots.len() - 1]
        };
        self.lines.iter().zip(x).all(within)
    }

    pub fn fits(&self, dim: usize) -> bool {
        self.lines.len() == dim && self.lines.iter().all(Line::fits)
    }
}

/// Knots at quantiles of the points, one half as draws of the marginal have them and one half as they are, none nearer to another than `least`.
fn knots(drawn: &[(f64, f64)], seen: &[(f64, f64)], most: usize, least: f64) -> Vec<f64> {
    let quantiles = |list: &[(f64, f64)], count: usize, outer: bool| {
        let total: f64 = list.iter().map(|v| v.1).sum();
        let mut found = Vec::new();
        for j in 0..count {
            let share = if outer {
                j as f64 / (count - 1) as f64
            } else {
                (j as f64 + 0.5) / count as f64
            };
            let mut sum = 0.0;
            let at = list.iter().find(|v| {
                sum += v.1;
                sum >= share * total
            });
            found.extend(at.or(list.last()).map(|v| v.0));
        }
        found
    };
    let mut all = quantiles(drawn, most / 2, false);
    all.extend(quantiles(seen, most - most / 2, true));
    all.sort_by(f64::total_cmp);
    let mut kept: Vec<f64> = Vec::new();
    for knot in all {
        if kept.last().is_none_or(|last| knot - last > least) {
            kept.push(knot);
        }
    }
    kept
}

/// Maps in the making: ln π ≈ level − |v|²/2 + Σ ln g′, with v = u and, below the diagonal, multiples of the u before it.
#[derive(Clone)]
struct Fit {
    level: f64,
    below: Vec<f64>,
    lines: Vec<Line>,
}

/// The normal equations of a step.
struct Equations {
    normal: Vec<f64>,
    right: Vec<f64>,
    loss: f64,
}

impl Fit {
    /// Levenberg and Marquardt, with errors clipped.
    fn improve(&mut self, seen: &[Seen]) -> Option<()> {
        let mut damping = 1e-2;
        let mut here = self.equations(seen);
        for _ in 0..WARP_ROUNDS {
            let Some(step) = here.step(damping) else {
                damping *= 100.0;
                continue;
            };
            let before = self.clone();
            self.advance(&step);
            let there = self.equations(seen);
            if there.loss < here.loss {
                damping = (0.3 * damping).max(1e-9);
                let little = there.loss > (1.0 - BEND_FALL) * here.loss;
                here = there;
                if little {
                    break;
                }
            } else {
                *self = before;
                damping *= 10.0;
                if damping > 1e9 {
                    break;
                }
            }
        }
        here.loss.is_finite().then_some(())
    }

    fn advance(&mut self, step: &[f64]) {
        let p = self.lines.len();
        self.level += step[0];
        let mut rest = step[1..].iter();
        for line in &mut self.lines {
            let middle = line.values[line.knots.len() / 2] + rest.next().unwrap_or(&0.0);
            for (log, step) in line.logs.iter_mut().zip(&mut rest) {
                *log =
                    (*log + step).clamp(line.usual - WARP_LOG_SCALE, line.usual + WARP_LOG_SCALE);
            }
            line.fill(middle);
        }
        for k in 0..p {
            for j in 0..k {
                self.below[k * p + j] += rest.next().unwrap_or(&0.0);
            }
        }
    }

    fn equations(&self, seen: &[Seen]) -> Equations {
        let p = self.lines.len();
        let numbers: usize = self.lines.iter().map(|line| 1 + line.knots.len()).sum();
        let size = 1 + numbers + p * (p - 1) / 2;
        let mut all = Equations {
            normal: vec![0.0; size * size],
            right: vec![0.0; size],
            loss: 0.0,
        };
        let (mut u, mut row, mut weight) = (vec![0.0; p], Vec::with_capacity(size), 0.0);
        for s in seen {
            let mut value = self.level;
            for (k, line) in self.lines.iter().enumerate() {
                let log;
                (u[k], log) = line.apply(s.x[k]);
                value += log;
            }
            let row_of = |k: usize| (0..k).map(move |j| (k * p + j, j));
            let v: Vec<f64> = (0..p)
                .map(|k| u[k] + row_of(k).map(|(at, j)| self.below[at] * u[j]).sum::<f64>())
                .collect();
            value -= 0.5 * v.iter().map(|v| v * v).sum::<f64>();
            row.clear();
            row.push(1.0);
            for (k, line) in self.lines.iter().enumerate() {
                let pull: f64 = v[k]
                    + (k + 1..p)
                        .map(|m| v[m] * self.below[m * p + k])
                        .sum::<f64>();
                let count = line.knots.len();
                let (mut by, mut hats) = (vec![0.0; count], vec![0.0; count]);
                line.slopes(s.x[k], &mut by, &mut hats);
                row.push(-pull);
                row.extend(by.iter().zip(&hats).map(|(by, hat)| hat - pull * by));
            }
            for k in 0..p {
                row.extend((0..k).map(|j| -v[k] * u[j]));
            }
            let off = -s.below - value;
            let clipped = off.abs().min(BEND_CLIP);
            all.loss += s.weight * clipped * (2.0 * off.abs() - clipped);
            weight += s.weight;
            let counts = s.weight * (clipped / off.abs().max(1e-12)).min(1.0);
            for i in 0..size {
                let scaled = counts * row[i];
                all.right[i] += scaled * off;
                for j in 0..=i {
                    all.normal[i * size + j] += scaled * row[j];
                }
            }
        }
        // Smooth where points do not say otherwise.
        let stiff = WARP_SMOOTH * weight;
        let mut first = 1;
        for line in &self.lines {
            first += 1;
            for i in first + 1..(first + line.knots.len()).saturating_sub(1) {
                let bent = line.logs[i - first - 1] - 2.0 * line.logs[i - first]
                    + line.logs[i - first + 1];
                all.loss += stiff * bent * bent;
                for (a, by) in [(i - 1, 1.0), (i, -2.0), (i + 1, 1.0)] {
                    all.right[a] -= stiff * by * bent;
                    for (b, times) in [(i - 1, 1.0), (i, -2.0), (i + 1, 1.0)] {
                        if b <= a {
                            all.normal[a * size + b] += stiff * by * times;
                        }
                    }
                }
            }
            first += line.knots.len();
        }
        for i in 0..size {
            all.normal[i * size + i] += BEND_RIDGE * weight;
        }
        all.loss /= weight;
        all
    }
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
        }
        let factor = Factor::from_covariance(&normal, "a warp's normal equations").ok()?;
        let mut step = self.right.clone();
        factor.solve(&mut step);
        factor.solve_transposed(&mut step);
        step.iter().all(|v| v.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line::new(
            vec![-2.0, -0.5, 0.3, 1.0, 4.0],
            vec![0.4, -1.0, -1.0, 2.0, -3.0],
            0.7,
        )
    }

    #[test]
    fn a_map_is_undone_by_its_inverse_and_has_the_derivative_that_it_says() {
        let line = line();
        for k in 0..200 {
            let x = -5.0 + 0.06 * f64::from(k);
            let (u, log) = line.apply(x);
            assert!((line.invert(u) - x).abs() < 1e-12 * x.abs().max(1.0), "{x}");
            let (up, down) = (line.apply(x + 1e-6).0, line.apply(x - 1e-6).0);
            let by_differences = (up - down) / 2e-6;
            assert!((by_differences / log.exp() - 1.0).abs() < 1e-5, "{x}");
        }
    }

    #[test]
    fn slopes_are_those_of_differences() {
        let whole = line();
        for x in [-3.0, -1.2, 0.0, 0.31, 0.9, 2.5, 6.0] {
            let (mut by, mut hats) = (vec![0.0; 5], vec![0.0; 5]);
            whole.slopes(x, &mut by, &mut hats);
            for i in 0..5 {
                let at = |h: f64| {
                    let mut line = line();
                    line.logs[i] += h;
                    line.fill(0.7);
                    line.apply(x)
                };
                let (up, down) = (at(1e-5), at(-1e-5));
                assert!((by[i] - (up.0 - down.0) / 2e-5).abs() < 1e-7, "{x} {i}");
                assert!((hats[i] - (up.1 - down.1) / 2e-5).abs() < 1e-7, "{x} {i}");
            }
        }
    }
}
