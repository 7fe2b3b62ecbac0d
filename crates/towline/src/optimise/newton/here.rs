//! Where Newton's method stands, what it sees there by differences, and its steps.

use super::ascent::Ascent;
use crate::linalg::packed::cholesky;
use crate::linalg::{Storage, dot};
use crate::optimise::surface::{Surface, clean};

/// A step that promises less than half of this many log units is mostly the last one.
const ENDS: f64 = 1.0;

/// From a top looked at twice: steps of so many widths up the slope that is left.
const UPHILL: [f64; 5] = [2.0, 8.0, 30.0, 120.0, 500.0];

/// Steps off a saddle, in units of how it bends up.
const SIZES: [f64; 3] = [1.0, 4.0, 0.1];

/// A change of the height that is seen, in log units: a model's rounding may make smaller ones.
const SEEN: f64 = 1e-7;
/// Where nothing is seen, steps grow by this factor, so many times.
const LONGER: f64 = 8.0;
pub(super) const MOST_LONGER: usize = 5;
/// And to no more than this many first steps: `LONGER` to the power of `MOST_LONGER`.
const LONGEST: f64 = 32768.0;
/// Where the surface gives its own curvature, a direction wider than a million times the learned scale is flat.
const FLAT_EXACT: f64 = 1e-12;

/// Where differences are taken, and the heights a step up and a step down each axis.
#[derive(Debug, Clone, Default)]
pub(super) struct Around<V> {
    probe: V,
    beside: [V; 2],
}

/// Where the climb stands, and what it sees there: vectors of type V, square matrices of type M.
#[derive(Debug, Clone, Default)]
pub(super) struct Here<V, M> {
    pub at: V,
    pub height: f64,
    pub steps: V,
    pub first_steps: V,
    pub gradient: V,
    pub curvature: M,
    /// Axes that bend too little to be seen over the steps taken: the learned scale stands there. By what was seen, not by a
    /// bound on the width itself: in the tail of a scale's posterior the conditional may be thousands of times wider than it
    /// was learned, and a frame that keeps the learned scale there closes that tail.
    pub flat: Vec<bool>,
    /// Axes along which nothing could be seen beside a height too large.
    pub unseen: Vec<usize>,
    /// Whether mixed differences are taken on both sides.
    pub both_sides: bool,
    /// Whether the last steps were fitting, so that the next will hardly have to be changed.
    steady: bool,
    /// A point to be tried, and the best of those tried.
    trial: V,
    best: V,
    /// A Cholesky factor.
    rows: M,
}

impl<V: Storage, M: Storage> Here<V, M> {
    /// The number of variables.
    #[inline(always)]
    pub fn dim(&self) -> usize {
        self.at.as_ref().len()
    }

    /// Begins a search here, with these difference steps.
    pub fn begin(&mut self, start: &[f64], steps: &[f64]) {
        let dim = start.len();
        for (list, numbers) in [
            (&mut self.at, start),
            (&mut self.steps, steps),
            (&mut self.first_steps, steps),
        ] {
            list.copy(numbers);
        }
        self.gradient.fit(dim);
        self.curvature.fit(dim * dim);
        self.flat.resize(dim, false);
        self.unseen.clear();
        self.steady = false;
    }

    /// Central differences along the axes; one-sided mixed ones, and where those make no peak, or are too many to be right together, two-sided ones,
    /// which a lopsided peak needs whose axes are strongly coupled.
    pub fn differences(
        &mut self,
        surface: &mut impl Surface,
        around: &mut Around<V>,
        mixed: bool,
    ) -> Option<()> {
        let dim = self.dim();
        let Around { probe, beside } = around;
        self.unseen.clear();
        probe.copy(self.at.as_ref());
        beside.iter_mut().for_each(|list| list.fit(dim));
        let axes = axes(dim);
        let ahead = if surface.looks_ahead() {
            // Steps that fit stay as they are, and with them the corners; others mostly do.
            let corners = |sure: bool| {
                let all = pairs(dim).map(|(j, k)| (j, k, 1.0));
                all.filter(move |_| mixed && sure)
            };
            let likely = self.places(corners(!self.steady));
            surface.expect(&self.places(axes.chain(corners(self.steady))), &likely);
            None
        } else {
            self.all_at_once(surface, axes)
        };
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
        self.mixed(surface, probe, above, 1.0, mixed);
        let peaked =
            |here: &mut Self| cholesky(here.curvature.as_ref(), dim, &mut here.rows).is_ok();
        if mixed && (self.both_sides || !peaked(self)) {
            self.mixed(surface, probe, below, -1.0, mixed);
        }
        Some(())
    }

    /// Mixed differences by the corners on one side, or the mean with those that are there already.
    fn mixed(
        &mut self,
        surface: &mut impl Surface,
        probe: &mut V,
        beside: &V,
        side: f64,
        mixed: bool,
    ) {
        let dim = self.dim();
        let corners = pairs(dim).map(|(j, k)| (j, k, side));
        let mut ahead = None;
        if mixed && !surface.looks_ahead() {
            ahead = self.all_at_once(surface, corners);
        } else if mixed && !(self.steady && side > 0.0) {
            surface.expect(&self.places(corners), &[]);
        }
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
        let us = self.places(corners);
        let mut heights = vec![0.0; us.len() / self.dim()];
        surface.heights(&us, &mut heights);
        heights
            .iter_mut()
            .for_each(|height| *height = clean(*height));
        Some(heights)
    }

    /// The places a step along axes j and k (which may be the same), one after another.
    fn places(&self, corners: impl Iterator<Item = (usize, usize, f64)>) -> Vec<f64> {
        self.places_about(self.at.as_ref(), corners)
    }

    /// The same about another place.
    fn places_about(
        &self,
        at: &[f64],
        corners: impl Iterator<Item = (usize, usize, f64)>,
    ) -> Vec<f64> {
        let mut us = Vec::new();
        for (j, k, side) in corners {
            let begin = us.len();
            us.extend_from_slice(at);
            us[begin + j] = at[j] + side * self.steps[j];
            us[begin + k] = at[k] + side * self.steps[k];
        }
        us
    }

    /// Minus the mixed second derivative by the corner on one side, given the heights beside it.
    fn bend(
        &self,
        surface: &mut impl Surface,
        probe: &mut V,
        beside: &V,
        (j, k): (usize, usize),
        side: f64,
        known: Option<f64>,
    ) -> f64 {
        let (hj, hk) = (side * self.steps[j], side * self.steps[k]);
        probe[j] = self.at[j] + hj;
        probe[k] = self.at[k] + hk;
        let corner = known.unwrap_or_else(|| clean(surface.height(probe.as_ref())));
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
        probe: &mut V,
        k: usize,
        mut known: Option<(f64, f64)>,
    ) -> Option<(f64, f64)> {
        let (mut longer, mut shorter) = (0, 0);
        loop {
            let h = self.steps[k];
            let (up, down) = known.take().unwrap_or_else(|| {
                probe[k] = self.at[k] + h;
                let up = clean(surface.height(probe.as_ref()));
                probe[k] = self.at[k] - h;
                let down = clean(surface.height(probe.as_ref()));
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
            let unseen = change < SEEN;
            if lost && shorter < 40 {
                shorter += 1;
                self.steps[k] = h / 8.0;
            } else if lost {
                return None;
            } else if unseen && longer < MOST_LONGER && shorter == 0 {
                longer += 1;
                // A step left over from a much narrower place starts again from the learned scale.
                self.steps[k] = (LONGER * h).max(self.first_steps[k]);
            } else {
                return Some((up, down));
            }
        }
    }

    pub fn finite(&self) -> bool {
        let finite = |list: &[f64]| list.iter().all(|v| v.is_finite());
        finite(self.gradient.as_ref()) && finite(self.curvature.as_ref())
    }

    /// Takes a curvature that the surface gave as it is.
    pub fn trust_curvature(&mut self) {
        let dim = self.dim();
        for k in 0..dim {
            self.flat[k] = self.curvature[k * dim + k].abs() < FLAT_EXACT;
        }
    }

    /// Sets the next difference steps by the curvature found; returns whether the last were fitting.
    pub fn refit_steps(&mut self, share: f64) -> bool {
        let dim = self.dim();
        let mut fitting = true;
        for k in 0..dim {
            let curved = self.curvature[k * dim + k];
            // (Steps shortened beside a wall show less than the first ones would.)
            let reach = self.steps[k].max(self.first_steps[k]);
            self.flat[k] = curved.abs() * (reach * reach) < SEEN;
            if curved > 0.0 && !self.flat[k] {
                let width = 1.0 / curved.sqrt();
                fitting &=
                    self.steps[k] < 4.0 * share * width && self.steps[k] > 0.03 * share * width;
                // Bounded, since a curvature met far from the top says little about the next place.
                self.steps[k] = (share * width).clamp(1e-3 * self.steps[k], 8.0 * self.steps[k]);
            }
        }
        self.steady = fitting;
        fitting
    }

    /// Before a place is taken for a top: longer steps along axes that show no bend, if any can be taken. A slight slope is all that
    /// short steps show of the side of a peak much wider than was learned.
    pub fn look_further(&mut self) -> bool {
        let mut further = false;
        for k in 0..self.dim() {
            if self.flat[k] && self.steps[k] < LONGEST * self.first_steps[k] {
                self.steps[k] *= LONGER;
                further = true;
            }
        }
        further
    }

    /// Makes all steps longer or shorter.
    pub fn scale_steps(&mut self, by: f64) {
        self.steps.as_mut().iter_mut().for_each(|h| *h *= by);
    }

    /// After a climb that could not gain: perhaps the differences were too coarse.
    pub fn shorten_steps(&mut self) -> bool {
        self.scale_steps(0.1);
        self.steps.as_ref().iter().all(|h| *h > 1e-9)
    }

    /// Says where a whole step leads, and what is likely to be looked at from there: a longer step where nothing says how long it is to be, and else differences
    /// over steps as they are now, unless the top is so near that the climb will end.
    fn foretell(&self, surface: &mut impl Surface, ascent: &Ascent<V, M>) {
        let along = |t: f64| {
            let both = self.at.as_ref().iter().zip(ascent.step.as_ref());
            both.map(|(u, p)| u + t * p).collect::<Vec<f64>>()
        };
        let (whole, ends) = (along(1.0), self.steady && ascent.decrement < ENDS);
        let likely = match (ascent.concave, ends) {
            (false, _) => [along(2.0), along(4.0)].concat(),
            (true, true) => Vec::new(),
            (true, false) => {
                let corners = pairs(self.dim()).map(|(j, k)| (j, k, 1.0));
                self.places_about(&whole, axes(self.dim()).chain(corners))
            }
        };
        surface.expect(&whole, &likely);
    }

    /// Moves up along the ascent and returns the gain; `None` where no step gains.
    pub fn advance(&mut self, surface: &mut impl Surface, ascent: &Ascent<V, M>) -> Option<f64> {
        // here + t · step, into a list that is there.
        let go = |t: f64, here: &V, to: &mut V| {
            let (here, step) = (here.as_ref(), ascent.step.as_ref());
            to.fit(here.len());
            for ((to, u), p) in to.as_mut().iter_mut().zip(here).zip(step) {
                *to = u + t * p;
            }
        };
        let (mut t, mut wall) = (1.0, false);
        if surface.looks_ahead() {
            self.foretell(surface, ascent);
        }
        for _ in 0..60 {
            go(t, &self.at, &mut self.best);
            let height = clean(surface.height(self.best.as_ref()));
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
                        let height = clean(surface.height(self.trial.as_ref()));
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
        let steep = dot(self.gradient.as_ref(), self.gradient.as_ref()).sqrt();
        if !(steep > 0.0 && steep.is_finite()) {
            return false;
        }
        let mut best: Option<(Vec<f64>, f64)> = None;
        for far in UPHILL {
            let trial: Vec<f64> = self
                .at
                .as_ref()
                .iter()
                .zip(self.gradient.as_ref())
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
        self.at.copy(&at);
        self.height = height;
        true
    }

    /// Steps off a saddle, to whichever side is higher.
    pub fn leave(&mut self, surface: &mut impl Surface, ascent: &Ascent<V, M>) -> Option<()> {
        let (direction, bend) = ascent.upward.as_ref()?;
        let mut best: Option<(Vec<f64>, f64)> = None;
        let place = |size: f64, sign: f64| -> Vec<f64> {
            let t = sign * size / bend.sqrt();
            let both = self.at.as_ref().iter().zip(direction);
            both.map(|(u, v)| u + t * v).collect()
        };
        if surface.looks_ahead() {
            let pair = |size: f64| [place(size, 1.0), place(size, -1.0)].concat();
            surface.expect(&pair(SIZES[0]), &[pair(SIZES[1]), pair(SIZES[2])].concat());
        }
        for size in SIZES {
            for sign in [1.0, -1.0] {
                let trial = place(size, sign);
                let height = clean(surface.height(&trial));
                if height > best.as_ref().map_or(self.height, |b| b.1) {
                    best = Some((trial, height));
                }
            }
            if best.is_some() {
                break;
            }
        }
        let (at, height) = best?;
        self.at.copy(&at);
        self.height = height;
        Some(())
    }

    /// The last, small step, taken on trust; returns the height there.
    pub fn top(&mut self, ascent: &Ascent<V, M>) -> f64 {
        for (u, p) in self.at.as_mut().iter_mut().zip(ascent.step.as_ref()) {
            *u += p;
        }
        self.height + 0.5 * ascent.decrement
    }
}

/// A step up and down each axis, in the order in which they are looked at.
fn axes(dim: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    (0..2 * dim).map(|i| (i / 2, i / 2, if i % 2 == 0 { 1.0 } else { -1.0 }))
}

/// Pairs of axes, in the order in which their corners are looked at.
fn pairs(dim: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dim).flat_map(|j| (0..j).map(move |k| (j, k)))
}
