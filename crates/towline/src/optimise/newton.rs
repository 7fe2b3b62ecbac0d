//! A deterministic climb to a mode: Newton's method that converges from anywhere on a single peak.
//!
//! It finds the mode and curvature of a conditional for the Laplace frame, and of the estimated
//! marginal for a start. Coordinates are meant to be scaled so that the peak is of width 1, but a
//! wrong scale costs evaluations, not convergence: difference steps follow the curvature that is
//! found, steps that overshoot are shortened, and steps that gain more than a parabola would are
//! lengthened, so that a start 10⁵ log units down, on a flat tail or on an exponential wall is a
//! matter of a few dozen evaluations.

use crate::linalg::Factor;

/// What is climbed. Points without mass answer −∞; NaN and +∞ are taken as −∞ too, since a search
/// looks where no chain would go.
pub(crate) trait Surface {
    /// The height at `u`.
    fn height(&mut self, u: &[f64]) -> f64;

    /// The heights at many u, one after another, where that is cheaper than one by one; false where it is not.
    fn heights(&mut self, us: &[f64], out: &mut [f64]) -> bool {
        let _ = (us, out);
        false
    }

    /// The gradient, where the surface knows it.
    fn gradient(&mut self, u: &[f64], gradient: &mut [f64]) -> bool {
        let _ = (u, gradient);
        false
    }

    /// The curvature (minus the second derivatives, row by row), where the surface knows it.
    fn curvature(&mut self, u: &[f64], curvature: &mut [f64]) -> bool {
        let _ = (u, curvature);
        false
    }
}

/// The top.
#[derive(Debug, Clone)]
pub(crate) struct Peak {
    pub at: Vec<f64>,
    pub height: f64,
    /// Minus the second derivatives at the top, row by row; positive definite.
    pub curvature: Vec<f64>,
}

/// How many times derivatives may be taken. A peak needs two to ten; a climb that needs more is lost.
const MOST_ROUNDS: usize = 80;
/// How often the axes are felt along.
const MOST_SWEEPS: usize = 40;
/// A round that gained this many log units was far from the top.
const FAR: f64 = 100.0;
/// The squared distance to the top, in units of its width, at which the last step is taken on trust.
const CLOSE: f64 = 1e-3;
/// A parabola that foretold the height to this many log units is the peak's own.
const FORETOLD: f64 = 0.01;
/// A climb that begins more than this far down (twice the log units that a parabola would promise), or where the
/// surface bends up, or that takes long, has its top looked at twice, by steps of so many widths up the slope that is left.
const DOUBTFUL: f64 = 25.0;
const UPHILL: [f64; 5] = [2.0, 8.0, 30.0, 120.0, 500.0];
/// Difference steps, in units of the peak's width: small enough to see the peak's own curvature, large
/// enough that a model's rounding or interpolation noise of 1e-4 log units does not show.
const STEP: f64 = 0.3;
/// Steps are made finer by this factor where a top shows no peak's curvature, down to this share of the first.
const FINER: f64 = 0.4;
const FINEST: f64 = 0.05;
/// A direction curved less than this (in the learned scale) is flat: the learned scale stands.
const FLAT: f64 = 1e-6;

/// A climb that has gone this far (in the learned scale) follows a slope without end.
pub(crate) const STRAYED: f64 = 1e15;

/// Climbs from `start` with first difference steps `steps`; `None` where no top is found.
pub(crate) fn climb(surface: &mut impl Surface, start: &[f64], steps: &[f64]) -> Option<Peak> {
    climb_with(surface, start, steps, STEP)
}

/// The same with difference steps of this many widths: wider ones for a surface that is itself only known
/// to a hundredth of a log unit or so.
pub(crate) fn climb_with(
    surface: &mut impl Surface,
    start: &[f64],
    steps: &[f64],
    width: f64,
) -> Option<Peak> {
    newton(surface, start, steps, width).or_else(|| {
        // Derivatives led nowhere: feel the way along one axis after another, then try again.
        let felt = feel(surface, start, steps)?;
        let strayed = felt
            .iter()
            .zip(start)
            .any(|(u, s)| (u - s).abs() > 1e-3 * STRAYED);
        if strayed {
            return None;
        }
        newton(surface, &felt, steps, width)
    })
}

/// Newton's method.
fn newton(surface: &mut impl Surface, start: &[f64], steps: &[f64], width: f64) -> Option<Peak> {
    let dim = start.len();
    let mut here = Here {
        at: start.to_vec(),
        height: clean(surface.height(start)),
        steps: steps.to_vec(),
        first_steps: steps.to_vec(),
        gradient: vec![0.0; dim],
        curvature: vec![0.0; dim * dim],
        unseen: Vec::new(),
    };
    if here.height == f64::NEG_INFINITY {
        return None;
    }
    let (mut refined, mut gained) = (false, 0.0);
    // A climb that came from afar may have stopped on a tail so flat that differences take it for a top.
    let mut doubtful = false;
    let mut share = width;
    for round in 0..MOST_ROUNDS {
        // With a gradient but no curvature, differences of heights are still what is simplest.
        let exact = surface.curvature(&here.at, &mut here.curvature)
            && surface.gradient(&here.at, &mut here.gradient);
        if !exact {
            // Far down, the axes' own curvatures do: mixed differences are for the neighbourhood of the top.
            here.differences(surface, gained < FAR || round % 4 == 3)?;
        }
        let strayed = here
            .at
            .iter()
            .zip(start)
            .any(|(u, s)| (u - s).abs() > STRAYED);
        if strayed || !here.finite() {
            return None;
        }
        // Steps that were far from the peak's own width have measured something else than its curvature.
        let fitting = exact || here.refit_steps(share);
        let ascent = Ascent::new(&here);
        let decrement = ascent.decrement;
        if decrement < 4.0 && !here.unseen.is_empty() {
            // At the top as far as can be seen, which is not far: look further along the other axes.
            for &k in &here.unseen {
                here.steps[k] *= 8.0;
            }
            continue;
        }
        // (Not where heights are rough and dear, as those of a marginal are.)
        let late = round >= 4 || round == 0 && (decrement > DOUBTFUL || !ascent.concave);
        doubtful |= late && width <= STEP;
        if ascent.concave && decrement < CLOSE {
            if fitting || refined {
                if doubtful && here.look_uphill(surface) {
                    continue;
                }
                return Some(here.top(&ascent));
            }
            refined = true;
            continue;
        }
        refined = false;
        if !ascent.concave && decrement < CLOSE {
            // On a saddle or in a trough: leave it along the direction that bends up most.
            if here.leave(surface, &ascent).is_none() {
                // No way up: a top after all, whose curvature such long steps do not show.
                if exact || share < FINEST * width {
                    return None;
                }
                share *= FINER;
                here.steps.iter_mut().for_each(|h| *h *= FINER);
            }
            continue;
        }
        let gain = here.advance(surface, &ascent);
        match gain {
            Some(gain) => {
                gained = gain;
                let foretold = (gain - 0.5 * decrement).abs() < FORETOLD;
                let sure = !doubtful || dim == 1;
                if ascent.concave && fitting && foretold && decrement < 4.0 && sure {
                    return Some(Peak {
                        at: here.at,
                        height: here.height,
                        curvature: ascent.curvature,
                    });
                }
            }
            // No step gains: rounding has the last word near the top, and else the climb is lost.
            None if ascent.concave && decrement < 0.1 && doubtful && here.look_uphill(surface) => {}
            None if ascent.concave && decrement < 0.1 => {
                return Some(Peak {
                    at: here.at,
                    height: here.height,
                    curvature: ascent.curvature,
                });
            }
            None if !exact && here.shorten_steps() => {}
            None => return None,
        }
    }
    None
}

/// Goes up along one axis after another, with steps that double while they gain: slow, but nothing that
/// has a way up defeats it. Answers where no axis gains much any more.
pub(crate) fn feel(surface: &mut impl Surface, start: &[f64], steps: &[f64]) -> Option<Vec<f64>> {
    let mut at = start.to_vec();
    let mut height = clean(surface.height(&at));
    if height == f64::NEG_INFINITY {
        return None;
    }
    let mut steps = steps.to_vec();
    for _ in 0..MOST_SWEEPS {
        let before = height;
        for k in 0..at.len() {
            let mut tries = 0;
            while tries < 12 {
                tries += 1;
                let origin = at[k];
                let mut gained = false;
                for sign in [1.0, -1.0] {
                    let mut h = sign * steps[k];
                    loop {
                        at[k] = origin + h;
                        let trial = clean(surface.height(&at));
                        if trial <= height || (at[k] - start[k]).abs() > STRAYED {
                            break;
                        }
                        (height, gained) = (trial, true);
                        steps[k] = h.abs();
                        h *= 2.0;
                    }
                    at[k] = if gained {
                        origin + sign * steps[k]
                    } else {
                        origin
                    };
                    if gained {
                        break;
                    }
                }
                if !gained {
                    steps[k] *= 0.125;
                }
                if steps[k] < 1e-13 * at[k].abs().max(1e-13) {
                    break;
                }
            }
            // The next sweep need not begin with the last, smallest step.
            steps[k] *= 8.0;
        }
        if height - before < 1.0 {
            break;
        }
    }
    Some(at)
}

/// What a search takes a height for.
pub(crate) fn clean(height: f64) -> f64 {
    if height.is_nan() || height == f64::INFINITY {
        f64::NEG_INFINITY
    } else {
        height
    }
}

/// Where the climb stands, and what it sees there.
struct Here {
    at: Vec<f64>,
    height: f64,
    steps: Vec<f64>,
    first_steps: Vec<f64>,
    gradient: Vec<f64>,
    curvature: Vec<f64>,
    /// Axes along which nothing could be seen beside a height too large.
    unseen: Vec<usize>,
}

impl Here {
    /// Central differences along the axes; one-sided mixed ones, and where those make no peak, two-sided ones, which a
    /// lopsided peak needs whose axes are strongly coupled.
    fn differences(&mut self, surface: &mut impl Surface, mixed: bool) -> Option<()> {
        let dim = self.at.len();
        self.unseen.clear();
        let mut probe = self.at.clone();
        let mut beside = [vec![0.0; dim], vec![0.0; dim]];
        let axes = (0..2 * dim).map(|i| (i / 2, i / 2, if i % 2 == 0 { 1.0 } else { -1.0 }));
        let ahead = self.all_at_once(surface, axes);
        for k in 0..dim {
            let known = ahead.as_ref().map(|all| (all[2 * k], all[2 * k + 1]));
            let (up, down) = self.look_along(surface, &mut probe, k, known)?;
            let h = self.steps[k];
            self.gradient[k] = (up - down) / (2.0 * h);
            self.curvature[k * dim + k] = (2.0 * self.height - up - down) / (h * h);
            (beside[0][k], beside[1][k]) = (up, down);
        }
        let [above, below] = &beside;
        let pairs = || (0..dim).flat_map(|j| (0..j).map(move |k| (j, k)));
        let ahead = if mixed && dim > 1 {
            self.all_at_once(surface, pairs().map(|(j, k)| (j, k, 1.0)))
        } else {
            None
        };
        for (i, (j, k)) in pairs().enumerate() {
            let known = ahead.as_ref().map(|all| all[i]);
            let bend = if mixed {
                self.bend(surface, &mut probe, above, (j, k), 1.0, known)
            } else {
                0.0
            };
            self.curvature[j * dim + k] = bend;
            self.curvature[k * dim + j] = bend;
        }
        if mixed && dim > 1 && Factor::from_covariance(&self.curvature, "curvature").is_err() {
            let ahead = self.all_at_once(surface, pairs().map(|(j, k)| (j, k, -1.0)));
            for (i, (j, k)) in pairs().enumerate() {
                let known = ahead.as_ref().map(|all| all[i]);
                let other = self.bend(surface, &mut probe, below, (j, k), -1.0, known);
                let bend = 0.5 * (self.curvature[j * dim + k] + other);
                self.curvature[j * dim + k] = bend;
                self.curvature[k * dim + j] = bend;
            }
        }
        Some(())
    }

    /// The heights a step along axes j and k (which may be the same), where the surface answers many at once.
    fn all_at_once(
        &self,
        surface: &mut impl Surface,
        corners: impl Iterator<Item = (usize, usize, f64)>,
    ) -> Option<Vec<f64>> {
        let mut us = Vec::new();
        for (j, k, side) in corners {
            let begin = us.len();
            us.extend_from_slice(&self.at);
            us[begin + j] = self.at[j] + side * self.steps[j];
            us[begin + k] = self.at[k] + side * self.steps[k];
        }
        let mut heights = vec![0.0; us.len() / self.at.len()];
        let known = surface.heights(&us, &mut heights);
        known.then(|| heights.into_iter().map(clean).collect())
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

    fn finite(&self) -> bool {
        self.gradient
            .iter()
            .chain(&self.curvature)
            .all(|v| v.is_finite())
    }

    /// Sets the next difference steps by the curvature found; answers whether the last were fitting.
    fn refit_steps(&mut self, share: f64) -> bool {
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
    fn shorten_steps(&mut self) -> bool {
        self.steps.iter_mut().for_each(|h| *h *= 0.1);
        self.steps.iter().all(|h| *h > 1e-9)
    }

    /// Moves up along the ascent and answers the gain; `None` where no step gains.
    fn advance(&mut self, surface: &mut impl Surface, ascent: &Ascent) -> Option<f64> {
        let at = |t: f64, here: &[f64]| -> Vec<f64> {
            here.iter()
                .zip(&ascent.step)
                .map(|(u, p)| u + t * p)
                .collect()
        };
        let (mut t, mut wall) = (1.0, false);
        for _ in 0..60 {
            let trial = at(t, &self.at);
            let height = clean(surface.height(&trial));
            let gain = height - self.height;
            if gain > 1e-4 * t * ascent.decrement {
                let (mut best, mut best_height) = (trial, height);
                // More than a parabola promised, or no parabola at all, or a step cut short by a place
                // without mass: the top may be further on.
                let more = t == 1.0 && gain > 1.1 * 0.5 * ascent.decrement;
                if more || !ascent.concave || wall {
                    for _ in 0..100 {
                        t *= 2.0;
                        let further = at(t, &self.at);
                        let height = clean(surface.height(&further));
                        if height <= best_height {
                            break;
                        }
                        (best, best_height) = (further, height);
                    }
                }
                let gain = best_height - self.height;
                self.at = best;
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

    /// From what looks like a top, goes up the slope that is left as far as it gains; answers whether it did. At a top,
    /// a step of a width or more loses.
    fn look_uphill(&mut self, surface: &mut impl Surface) -> bool {
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
    fn leave(&mut self, surface: &mut impl Surface, ascent: &Ascent) -> Option<()> {
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

    /// The last, small step, taken on trust.
    fn top(mut self, ascent: &Ascent) -> Peak {
        for (u, p) in self.at.iter_mut().zip(&ascent.step) {
            *u += p;
        }
        Peak {
            at: self.at,
            height: self.height + 0.5 * ascent.decrement,
            curvature: ascent.curvature.clone(),
        }
    }
}

/// Where to go from here.
struct Ascent {
    /// The step to the top of the parabola, or of its mirror image along directions that bend up.
    step: Vec<f64>,
    /// gradient · step: twice the gain that a parabola promises.
    decrement: f64,
    /// Whether no direction bends up.
    concave: bool,
    /// The curvature, with flat directions given the scale 1.
    curvature: Vec<f64>,
    /// The direction that bends up most, with how much.
    upward: Option<(Vec<f64>, f64)>,
}

impl Ascent {
    fn new(here: &Here) -> Self {
        let dim = here.at.len();
        if let Ok(factor) = Factor::from_covariance(&here.curvature, "curvature") {
            let flat = (0..dim).any(|k| here.curvature[k * dim + k] < FLAT);
            if !flat {
                let mut step = here.gradient.clone();
                factor.solve(&mut step);
                factor.solve_transposed(&mut step);
                let decrement = dot(&here.gradient, &step);
                if decrement.is_finite() {
                    return Self {
                        step,
                        decrement,
                        concave: true,
                        curvature: here.curvature.clone(),
                        upward: None,
                    };
                }
            }
        }
        Self::by_eigenvectors(here)
    }

    /// Along every eigenvector by the size of its curvature, whichever way it bends.
    fn by_eigenvectors(here: &Here) -> Self {
        let dim = here.at.len();
        // Curvatures may differ by many orders of magnitude: bring the diagonal to 1 first.
        let scale: Vec<f64> = (0..dim)
            .map(|k| here.curvature[k * dim + k].abs().max(FLAT).sqrt())
            .collect();
        let matrix = faer::Mat::from_fn(dim, dim, |i, j| {
            here.curvature[i * dim + j] / (scale[i] * scale[j])
        });
        let (mut step, mut curvature) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let (mut concave, mut upward) = (true, None::<(Vec<f64>, f64)>);
        if let Ok(eigen) = matrix.self_adjoint_eigen(faer::Side::Lower) {
            let vectors = eigen.U();
            let values = eigen.S().column_vector();
            for e in 0..dim {
                let v: Vec<f64> = (0..dim).map(|i| vectors[(i, e)] / scale[i]).collect();
                let slope = dot(&here.gradient, &v);
                let bent: f64 = values[e];
                let flat = bent.abs() < FLAT;
                let size = if flat { 1.0 } else { bent.abs() };
                if !flat && bent < 0.0 {
                    concave = false;
                    if upward.as_ref().is_none_or(|u| -bent > u.1) {
                        upward = Some((v.clone(), -bent));
                    }
                }
                // A flat direction with a slope is a plane: go up it as far as its learned width.
                for i in 0..dim {
                    step[i] += v[i] * slope / size;
                }
                for i in 0..dim {
                    for j in 0..dim {
                        let (a, b) = (vectors[(i, e)] * scale[i], vectors[(j, e)] * scale[j]);
                        curvature[i * dim + j] += size * a * b;
                    }
                }
            }
        } else {
            concave = false;
            step.copy_from_slice(&here.gradient);
        }
        // A direction whose own curvature is flat keeps the learned scale, not the floor's.
        for k in 0..dim {
            if here.curvature[k * dim + k].abs() < FLAT {
                for j in 0..dim {
                    curvature[k * dim + j] = 0.0;
                    curvature[j * dim + k] = 0.0;
                }
                curvature[k * dim + k] = 1.0;
                step[k] = here.gradient[k];
            }
        }
        let decrement = dot(&here.gradient, &step);
        Self {
            step,
            decrement,
            concave,
            curvature,
            upward,
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counted<F>(F, usize);
    impl<F: Fn(&[f64]) -> f64> Surface for Counted<F> {
        fn height(&mut self, u: &[f64]) -> f64 {
            self.1 += 1;
            (self.0)(u)
        }
    }

    fn top(f: impl Fn(&[f64]) -> f64, start: &[f64]) -> (Option<Peak>, usize) {
        let mut surface = Counted(f, 0);
        let steps = vec![STEP; start.len()];
        let peak = climb(&mut surface, start, &steps);
        (peak, surface.1)
    }

    #[track_caller]
    fn found(f: impl Fn(&[f64]) -> f64, start: &[f64], mode: &[f64], width: f64, most: usize) {
        let (peak, evaluations) = top(f, start);
        let peak = peak.expect("no top found");
        for (a, b) in peak.at.iter().zip(mode) {
            assert!(
                (a - b).abs() < 0.1 * width,
                "{:?} instead of {mode:?} after {evaluations}",
                peak.at
            );
        }
        assert!(evaluations <= most, "{evaluations} evaluations");
        assert!(Factor::from_covariance(&peak.curvature, "curvature").is_ok());
    }

    /// Numbers between −1 and 1, the same every time.
    fn scattered(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
    }

    /// Climbs from many places at once, each variable leaning on the one before it, in units that are off by up to a
    /// factor of three; answers how many tops were missed.
    fn missed(dim: usize, far: f64, lean: f64, log_density: fn(f64) -> f64) -> usize {
        let mut seed = 1;
        (0..100)
            .filter(|_| {
                let scale: Vec<f64> = (0..dim).map(|_| scattered(&mut seed).exp()).collect();
                let start: Vec<f64> = (0..dim).map(|_| far * scattered(&mut seed)).collect();
                let surface = |u: &[f64]| {
                    let mut before = 0.0;
                    let each = u.iter().zip(&scale).map(|(u, s)| {
                        let v = u * s;
                        let t = v - lean * before;
                        before = v;
                        log_density(t)
                    });
                    each.sum()
                };
                let (peak, _) = top(surface, &start);
                !peak.is_some_and(|peak| {
                    let off = peak.at.iter().zip(&scale).map(|(u, s)| (u * s).abs());
                    off.fold(0.0, f64::max) < 0.3
                })
            })
            .count()
    }

    #[test]
    fn a_flat_tail_is_not_taken_for_a_top() {
        let student = |t: f64| -2.5 * (1.0 + t * t / 4.0).ln();
        for (dim, far) in [(4, 5.0), (4, 50.0), (10, 5.0), (10, 50.0)] {
            assert_eq!(missed(dim, far, 0.6, student), 0, "{dim} variables, {far}");
        }
    }

    #[test]
    fn lopsided_peaks_of_coupled_variables_are_found() {
        let wall = |t: f64| 6.0 * (t - t.exp());
        for (dim, far) in [(4, 0.5), (4, 10.0), (10, 0.5), (10, 5.0)] {
            assert_eq!(missed(dim, far, 0.5, wall), 0, "{dim} variables, {far}");
        }
    }

    #[test]
    fn a_parabola_is_climbed_with_few_evaluations() {
        found(|u| -0.5 * (u[0] - 1.0).powi(2), &[0.0], &[1.0], 1.0, 4);
        found(
            |u| -0.5 * ((u[0] - 40.0) / 0.02).powi(2),
            &[0.0],
            &[40.0],
            0.02,
            12,
        );
        let bent = |u: &[f64]| -u[0] * u[0] - (u[1] - u[0] - 3.0).powi(2);
        found(bent, &[0.5, 0.5], &[0.0, 3.0], 1.0, 14);
    }

    #[test]
    fn a_start_a_million_log_units_down_is_no_obstacle() {
        found(
            |u| -0.5 * (u[0] - 1500.0).powi(2),
            &[0.0],
            &[1500.0],
            1.0,
            12,
        );
        let poisson = |u: &[f64]| 3.0 * u[0] - u[0].exp();
        found(poisson, &[300.0], &[3f64.ln()], 0.6, 140);
        found(poisson, &[-300.0], &[3f64.ln()], 0.6, 140);
    }

    #[test]
    fn heavy_tails_and_flat_tails_are_climbed_from_far_away() {
        for start in [3.0, -50.0, 1e4, -1e6] {
            let t = |u: &[f64]| -2.5 * (1.0 + u[0] * u[0] / 4.0).ln();
            found(t, &[start], &[0.0], 0.9, 140);
            let cauchy = |u: &[f64]| -(1.0 + (u[0] / 0.01).powi(2)).ln();
            found(cauchy, &[start], &[0.0], 0.01, 200);
        }
    }

    #[test]
    fn four_student_variables_are_climbed_from_fifty_widths_away() {
        let f = |u: &[f64]| {
            (0..4)
                .map(|k| -3.0 * (1.0 + (u[k] - k as f64).powi(2) / 5.0).ln())
                .sum()
        };
        found(
            f,
            &[50.0, -50.0, 40.0, 30.0],
            &[0.0, 1.0, 2.0, 3.0],
            0.9,
            800,
        );
    }

    #[test]
    fn exponential_walls_of_very_different_heights_are_all_climbed_down() {
        let f = |u: &[f64]| {
            (0..4)
                .map(|k| {
                    let t = u[k] - 3.0 * k as f64 + 0.5 * u[(k + 1) % 4];
                    4.0 * (t - t.exp())
                })
                .sum()
        };
        for start in [
            [50.0, -40.0, 20.0, 5.0],
            [-50.0, 45.0, -20.0, 30.0],
            [20.0; 4],
        ] {
            let (peak, evaluations) = top(f, &start);
            let at = peak.expect("no top found").at;
            for k in 0..4 {
                let t = at[k] - 3.0 * k as f64 + 0.5 * at[(k + 1) % 4];
                assert!(t.abs() < 0.1, "{at:?} after {evaluations}");
            }
            println!("{evaluations} evaluations from {start:?}");
            assert!(evaluations < 1500, "{evaluations}");
        }
    }

    #[test]
    fn a_saddle_is_left() {
        let f = |u: &[f64]| -(u[0] * u[0] - 4.0).powi(2) - u[1] * u[1];
        let (peak, _) = top(f, &[0.0, 0.3]);
        let at = peak.unwrap().at;
        assert!(
            (at[0].abs() - 2.0).abs() < 0.05 && at[1].abs() < 0.05,
            "{at:?}"
        );
    }

    #[test]
    fn a_direction_the_density_ignores_keeps_its_learned_scale() {
        let (peak, _) = top(|u| -0.5 * (u[0] - 2.0).powi(2) / 0.25, &[0.0, 7.0]);
        let peak = peak.unwrap();
        assert!((peak.at[0] - 2.0).abs() < 0.05 && peak.at[1] == 7.0);
        assert!(
            (peak.curvature[3] - 1.0).abs() < 1e-9,
            "{:?}",
            peak.curvature
        );
        assert!((peak.curvature[0] - 4.0).abs() < 0.1);
    }

    #[test]
    fn a_wall_nearby_is_seen_and_kept_away_from() {
        let f = |u: &[f64]| {
            if u[0] <= 0.0 {
                f64::NEG_INFINITY
            } else {
                3.0 * u[0].ln() - 5.0 * u[0]
            }
        };
        found(f, &[0.01], &[0.6], 0.35, 80);
        found(f, &[90.0], &[0.6], 0.35, 80);
    }

    #[test]
    fn no_top_is_said_rather_than_invented() {
        assert!(top(|u| u[0], &[0.0]).0.is_none(), "an endless slope");
        assert!(top(|_| f64::NEG_INFINITY, &[0.0]).0.is_none());
        assert!(top(|_| f64::NAN, &[0.0]).0.is_none());
        assert!(
            top(|u| u[0].abs().exp(), &[0.3]).0.is_none(),
            "growth without end"
        );
    }
}
