//! Coordinates warped one by one: monotone maps after which skewed or long-tailed variables are nearly normal together.
//!
//! uₖ = gₖ(xₖ), where ln gₖ′ is linear between knots and constant beyond the outermost: g and its inverse have closed forms, and the
//! derivative is a diagonal, so that a density over u is one over x. The maps are those under which a normal density of u (of any
//! correlation) explains the visits best, and are then frozen.

mod line;

use super::bend::Seen;
use super::levenberg::{Equations, Fitted, improve};
use super::limits::{
    BEND_RIDGE, POINTS_PER_BEND, WARP_KNOTS, WARP_KNOTS_OF_ONE, WARP_LOG_SCALE, WARP_ROUNDS,
    WARP_SMOOTH,
};
use super::visits::Visit;
use line::Line;
use serde::{Deserialize, Serialize};

/// One map for each variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Warp {
    lines: Vec<Line>,
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
            seen,
            level: 0.0,
            below: vec![0.0; p * p],
            lines,
        };
        improve(&mut fit, WARP_ROUNDS)?;
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
struct Fit<'a> {
    seen: &'a [Seen],
    level: f64,
    below: Vec<f64>,
    lines: Vec<Line>,
}

impl Fitted for Fit<'_> {
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

    fn equations(&self) -> Equations {
        let p = self.lines.len();
        let numbers: usize = self.lines.iter().map(|line| 1 + line.knots.len()).sum();
        let size = 1 + numbers + p * (p - 1) / 2;
        let mut all = Equations::new(size);
        let (mut u, mut row) = (vec![0.0; p], Vec::with_capacity(size));
        for s in self.seen {
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
            all.add(&row, &[(0, row.len())], -s.below - value, s.weight);
        }
        all.settle();
        // Smooth where points do not say otherwise.
        let stiff = WARP_SMOOTH * all.weight;
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
            all.normal[i * size + i] += BEND_RIDGE * all.weight;
        }
        all.loss /= all.weight;
        all
    }
}
