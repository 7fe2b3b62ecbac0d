//! Where Newton's method stands, what it sees there by differences, and its steps.

use super::ascent::{Ascent, FLAT};
use crate::linalg::dot;
use crate::linalg::packed::{cholesky, copy, fit};
use crate::optimise::surface::{Surface, clean};

/// From a top looked at twice: steps of so many widths up the slope that is left.
const UPHILL: [f64; 5] = [2.0, 8.0, 30.0, 120.0, 500.0];

/// Where differences are taken, and the heights a step up and a step down each axis.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    probe: Vec<f64>,
    beside: [Vec<f64>; 2],
}

/// Where the climb stands, and what it sees there.
#[derive(Debug, Clone, Default)]
pub(super) struct Here {
    pub at: Vec<f64>,
    pub height: f64,
    pub steps: Vec<f64>,
    pub first_steps: Vec<f64>,
    pub gradient: Vec<f64>,
    pub curvature: Vec<f64>,
    /// Whether the last differences left the steps as they were.
    steady: bool,
    /// Axes along which nothing could be seen beside a height too large.
    pub unseen: Vec<usize>,
    /// A point to be tried, and the best of those tried.
    trial: Vec<f64>,
    best: Vec<f64>,
    /// A Cholesky factor.
    rows: Vec<f64>,
}

/// Every two different axes.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(|j| (0..j).map(move |k| (j, k)))
}

impl Here {
    /// Begins a search here, with these difference steps.
    pub fn begin(&mut self, start: &[f64], steps: &[f64]) {
        let dim = start.len();
        for (list, numbers) in [
            (&mut self.at, start),
            (&mut self.steps, steps),
            (&mut self.first_steps, steps),
        ] {
            copy(list, numbers);
        }
        fit(&mut self.gradient, dim);
        fit(&mut self.curvature, dim * dim);
        self.unseen.clear();
        self.steady = false;
    }

    /// Central differences along the axes; one-sided mixed ones, and where those make no peak, two-sided ones, which a
    /// lopsided peak needs whose axes are strongly coupled.
    pub fn differences(
        &mut self,
        surface: &mut impl Surface,
        around: &mut Around,
        mixed: bool,
    ) -> Option<()> {
        let dim = self.at.len();
        let Around { probe, beside } = around;
        self.unseen.clear();
        copy(probe, &self.at);
        beside.iter_mut().for_each(|list| fit(list, dim));
        let axes = (0..2 * dim).map(|i| (i / 2, i / 2, if i % 2 == 0 { 1.0 } else { -1.0 }));
        // The corners with them, where all can be had at once and no step is likely to be changed.
        let both = mixed && self.steady;
        let corners = pairs(dim).take_while(|_| both).map(|(j, k)| (j, k, 1.0));
        let mut ahead = self.all_at_once(surface, axes.chain(corners));
        let begun = ahead.as_ref().map(|_| self.steps.clone());
        for k in 0..dim {
            let known = ahead.as_ref().map(|all| (all[2 * k], all[2 * k + 1]));
            let (up, down) = self.look_along(surface, probe, k, known)?;
            let h = self.steps[k];
            self.gradient[k] = (up - down) / (2.0 * h);
            self.curvature[k * dim + k] = (2.0 * self.height - up - down) / (h * h);
            (beside[0][k], beside[1][k]) = (up, down);
        }
        if dim == 1 {
            return Some(());
        }
        let [above, below] = &*beside;
        // Steps that had to be changed have other corners.
        self.steady = begun.is_none_or(|begun| begun == self.steps);
        let mut corners = ahead.as_mut().map(|all| all.split_off(2 * dim));
        if mixed && !(both && self.steady) {
            corners = self.all_at_once(surface, pairs(dim).map(|(j, k)| (j, k, 1.0)));
        }
        self.mixed(surface, probe, above, 1.0, (mixed, corners));
        if mixed && cholesky(&self.curvature, dim, &mut self.rows).is_err() {
            let corners = pairs(dim).map(|(j, k)| (j, k, -1.0));
            let corners = self.all_at_once(surface, corners);
            self.mixed(surface, probe, below, -1.0, (mixed, corners));
        }
        Some(())
    }

    /// Mixed differences by the corners on one side (known where they were looked at all at once), or the mean with those that are there already.
    fn mixed(
        &mut self,
        surface: &mut impl Surface,
        probe: &mut [f64],
        beside: &[f64],
        side: f64,
        (mixed, ahead): (bool, Option<Vec<f64>>),
    ) {
        let dim = self.at.len();
        for (i, (j, k)) in pairs(dim).enumerate() {
            let known = ahead.as_ref().map(|all| all[i]);
            let mut bend = if mixed {
                self.bend(surface, probe, beside, (j, k), side, known)
            } else {
                0.0
            };
            if side < 0.0 {
                bend = 0.5 * (self.curvature[j * dim + k] + bend);
            }
            self.curvature[j * dim + k] = bend;
            self.curvature[k * dim + j] = bend;
        }
    }

    /// The heights a step along axes j and k (which may be the same), where the surface gives many at once.
    fn all_at_once(
        &self,
        surface: &mut impl Surface,
        corners: impl Iterator<Item = (usize, usize, f64)>,
    ) -> Option<Vec<f64>> {
        if !surface.is_vectorised() {
            return None;
        }
        let mut us = Vec::new();
        for (j, k, side) in corners {
            let begin = us.len();
            us.extend_from_slice(&self.at);
            us[begin + j] = self.at[j] + side * self.steps[j];
            us[begin + k] = self.at[k] + side * self.steps[k];
        }
        let mut heights = vec![0.0; us.len() / self.at.len()];
        surface.heights(&us, &mut heights);
        heights
            .iter_mut()
            .for_each(|height| *height = clean(*height));
        Some(heights)
    }

    /// Minus the mixed second derivative by the corner on one side, given the heights beside it.
    fn bend(
        &self,
        surface: &mut impl Surface,
        probe: &mut [f64],
        beside: &[f64],
        (j, k): (usize, usize),
        side: f64,
        known: Option<f64>,
    ) -> f64 {
        let (hj, hk) = (side * self.steps[j], side * self.steps[k]);
        probe[j] = self.at[j] + hj;
        probe[k] = self.at[k] + hk;
        let corner = known.unwrap_or_else(|| clean(surface.height(probe)));
        probe[j] = self.at[j];
        probe[k] = self.at[k];
        // Where the corner has no mass, or nothing can be seen beside so large a height, take the axes
        // as independent: a curvature to climb by.
        let bend = beside[j] + beside[k] - corner - self.height;
        let seen = corner > f64::NEG_INFINITY && bend.abs() > 1e-9 * self.height.abs();
        if seen { bend / (hj * hk) } else { 0.0 }
    }

    /// The heights a step up and down axis k, shortening the step where there is no mass, lengthening
    /// it where nothing is seen to change.
    fn look_along(
        &mut self,
        surface: &mut impl Surface,
        probe: &mut [f64],
        k: usize,
        mut known: Option<(f64, f64)>,
    ) -> Option<(f64, f64)> {
        let (mut longer, mut shorter) = (0, 0);
        loop {
            let h = self.steps[k];
            let (up, down) = known.take().unwrap_or_else(|| {
                probe[k] = self.at[k] + h;
                let up = clean(surface.height(probe));
                probe[k] = self.at[k] - h;
                let down = clean(surface.height(probe));
                probe[k] = self.at[k];
                (up, down)
            });
            let lost = up == f64::NEG_INFINITY || down == f64::NEG_INFINITY;
            let change = (up - self.height).abs() + (down - self.height).abs();
            // Beside a height this large nothing can be seen of the axis: leave it for later.
            if !lost && change < 1e-10 * self.height.abs() && self.height.abs() > 1e6 {
                self.unseen.push(k);
                return Some((self.height, self.height));
            }
            let unseen = change < 1e-7;
            if lost && shorter < 40 {
                shorter += 1;
                self.steps[k] = h / 8.0;
            } else if lost {
                return None;
            } else if unseen && longer < 5 && shorter == 0 {
                longer += 1;
                // A step left over from a much narrower place starts again from the learned scale.
                self.steps[k] = (8.0 * h).max(self.first_steps[k]);
            } else {
                return Some((up, down));
            }
        }
    }

    pub fn finite(&self) -> bool {
        self.gradient
            .iter()
            .chain(&self.curvature)
            .all(|v| v.is_finite())
    }

    /// Sets the next difference steps by the curvature found; returns whether the last were fitting.
    pub fn refit_steps(&mut self, share: f64) -> bool {
        let dim = self.at.len();
        let mut fitting = true;
        for k in 0..dim {
            let curved = self.curvature[k * dim + k];
            if curved > FLAT {
                let width = 1.0 / curved.sqrt();
                fitting &=
                    self.steps[k] < 4.0 * share * width && self.steps[k] > 0.03 * share * width;
                // Bounded, since a curvature met far from the top says little about the next place.
                self.steps[k] = (share * width).clamp(1e-3 * self.steps[k], 8.0 * self.steps[k]);
            }
        }
        fitting
    }

    /// After a climb that could not gain: perhaps the differences were too coarse.
    pub fn shorten_steps(&mut self) -> bool {
        self.steps.iter_mut().for_each(|h| *h *= 0.1);
        self.steps.iter().all(|h| *h > 1e-9)
    }

    /// Moves up along the ascent and returns the gain; `None` where no step gains.
    pub fn advance(&mut self, surface: &mut impl Surface, ascent: &Ascent) -> Option<f64> {
        // here + t · step, into a list that is there.
        let go = |t: f64, here: &[f64], to: &mut Vec<f64>| {
            fit(to, here.len());
            for ((to, u), p) in to.iter_mut().zip(here).zip(&ascent.step) {
                *to = u + t * p;
            }
        };
        let (mut t, mut wall) = (1.0, false);
        for _ in 0..60 {
            go(t, &self.at, &mut self.best);
            let height = clean(surface.height(&self.best));
            let gain = height - self.height;
            if gain > 1e-4 * t * ascent.decrement {
                let mut best_height = height;
                // More than a parabola promised, or no parabola at all, or a step cut short by a place
                // without mass: the top may be further on.
                let more = t == 1.0 && gain > 1.1 * 0.5 * ascent.decrement;
                if more || !ascent.concave || wall {
                    for _ in 0..100 {
                        t *= 2.0;
                        go(t, &self.at, &mut self.trial);
                        let height = clean(surface.height(&self.trial));
                        if height <= best_height {
                            break;
                        }
                        std::mem::swap(&mut self.best, &mut self.trial);
                        best_height = height;
                    }
                }
                let gain = best_height - self.height;
                std::mem::swap(&mut self.at, &mut self.best);
                self.height = best_height;
                return Some(gain);
            }
            wall = height == f64::NEG_INFINITY;
            // The top of the parabola through both heights and the slope, within reason.
            let parabola = 0.5 * t * t * ascent.decrement / (t * ascent.decrement - gain);
            t = if parabola.is_finite() {
                parabola.clamp(0.05 * t, 0.5 * t)
            } else {
                0.1 * t
            };
        }
        None
    }

    /// From what looks like a top, goes up the slope that is left as far as it gains; returns whether it did. At a top,
    /// a step of a width or more loses.
    pub fn look_uphill(&mut self, surface: &mut impl Surface) -> bool {
        let steep = dot(&self.gradient, &self.gradient).sqrt();
        if !(steep > 0.0 && steep.is_finite()) {
            return false;
        }
        let mut best: Option<(Vec<f64>, f64)> = None;
        for far in UPHILL {
            let trial: Vec<f64> = self
                .at
                .iter()
                .zip(&self.gradient)
                .map(|(u, g)| u + far * g / steep)
                .collect();
            let height = clean(surface.height(&trial));
            if height > best.as_ref().map_or(self.height, |b| b.1) {
                best = Some((trial, height));
            } else if best.is_some() {
                break;
            }
        }
        let Some((at, height)) = best else {
            return false;
        };
        (self.at, self.height) = (at, height);
        true
    }

    /// Steps off a saddle, to whichever side is higher.
    pub fn leave(&mut self, surface: &mut impl Surface, ascent: &Ascent) -> Option<()> {
        let (direction, bend) = ascent.upward.as_ref()?;
        let mut best: Option<(Vec<f64>, f64)> = None;
        for size in [1.0, 4.0, 0.1] {
            for sign in [1.0, -1.0] {
                let t = sign * size / bend.sqrt();
                let trial: Vec<f64> = self
                    .at
                    .iter()
                    .zip(direction)
                    .map(|(u, v)| u + t * v)
                    .collect();
                let height = clean(surface.height(&trial));
                if height > best.as_ref().map_or(self.height, |b| b.1) {
                    best = Some((trial, height));
                }
            }
            if best.is_some() {
                break;
            }
        }
        (self.at, self.height) = best?;
        Some(())
    }

    /// The last, small step, taken on trust; returns the height there.
    pub fn top(&mut self, ascent: &Ascent) -> f64 {
        for (u, p) in self.at.iter_mut().zip(&ascent.step) {
            *u += p;
        }
        self.height + 0.5 * ascent.decrement
    }
}
