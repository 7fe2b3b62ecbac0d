//! The climb to a mode of many variables whose axes are known: widths along the axes by second differences, nothing between them.
//!
//! Where the variables are scaled so that the peak is nearly round, or nearly so along its own axes, a step of Newton's method
//! with the diagonal alone lands on the top; where it is not, limited-memory BFGS learns what is missing.

use super::lbfgs::{Metric, Past, ascend_to, search};
use super::surface::{STRAYED, Surface, clean};

/// How many times derivatives may be taken along all axes.
const MOST_ROUNDS: usize = 40;
/// The squared distance to the top, in its widths and over all variables, at which the last step is taken on trust: what is left
/// after it hardly shows in a ratio of densities.
const CLOSE: f64 = 0.05;
/// Difference steps, in widths.
const STEP: f64 = 0.3;
/// Differences over steps of fewer or more widths than these have measured something else than the peak's curvature.
const FITTING: [f64; 2] = [0.02, 1.2];
/// A bend of the surface that is seen, in log units; where none is, steps grow by this factor, so many times.
const SEEN: f64 = 1e-7;
const LONGER: f64 = 8.0;
const MOST_LONGER: usize = 5;
/// Steps that end without mass are shortened by this factor, down to this length.
const SHORTER: f64 = 0.125;
const SHORTEST: f64 = 1e-9;

/// The top of a peak, and minus the second derivatives along each axis there.
pub(crate) struct Top {
    pub at: Vec<f64>,
    pub height: f64,
    pub curvatures: Vec<f64>,
}

/// Climbs from `start`, in units in which the peak is about as wide as one; `None` where no top is found.
pub(crate) fn climb(surface: &mut impl Surface, start: &[f64]) -> Option<Top> {
    let mut slope = vec![0.0; start.len()];
    if surface.gradient(start, &mut slope) {
        return with_gradients(surface, start);
    }
    let mut here = Here::new(surface, start)?;
    let mut past = Past::default();
    let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
    for _ in 0..MOST_ROUNDS {
        here.look(surface)?;
        if let Some((before, slope)) = last.take() {
            past.note(&before, &here.at, &slope, &here.slope);
        }
        let (ahead, promise) = past.direction(&here.slope, Metric::Axes(&here.metric()));
        if promise < CLOSE && here.is_peak() {
            here.step_on_trust(surface, &ahead);
            return Some(here.top());
        }
        let fitted = here.refit();
        let Some((next, height)) = search(surface, &here.at, here.height, &ahead, promise) else {
            // Differences over the wrong length promise what is not there; else the climb is lost.
            if fitted && !past.is_empty() {
                past.clear();
                continue;
            }
            if !fitted {
                continue;
            }
            return None;
        };
        if next.iter().zip(start).any(|(u, s)| (u - s).abs() > STRAYED) {
            return None;
        }
        last = Some((std::mem::replace(&mut here.at, next), here.slope.clone()));
        here.height = height;
    }
    None
}

/// The same where the surface knows its gradient: only the widths at the top are differences.
fn with_gradients(surface: &mut impl Surface, start: &[f64]) -> Option<Top> {
    let (at, _) = ascend_to(surface, start, STEP, CLOSE)?;
    let mut here = Here::new(surface, &at)?;
    here.look(surface)?;
    if !here.is_peak() && !here.refit() {
        here.look(surface)?;
    }
    here.is_peak().then(|| here.top())
}

/// Where the climb stands, and what it sees there.
struct Here {
    at: Vec<f64>,
    height: f64,
    steps: Vec<f64>,
    slope: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Here {
    fn new(surface: &mut impl Surface, at: &[f64]) -> Option<Self> {
        let height = clean(surface.height(at));
        (height > f64::NEG_INFINITY).then(|| Self {
            at: at.to_vec(),
            height,
            steps: vec![STEP; at.len()],
            slope: vec![0.0; at.len()],
            curvatures: vec![0.0; at.len()],
        })
    }

    /// Central differences along every axis; `None` where one has no mass beside this place.
    fn look(&mut self, surface: &mut impl Surface) -> Option<()> {
        let all = self.all_at_once(surface);
        for k in 0..self.at.len() {
            let mut known = all.as_ref().map(|all| (all[2 * k], all[2 * k + 1]));
            let mut longer = 0;
            loop {
                let (up, down) = known
                    .take()
                    .unwrap_or_else(|| self.beside(surface, k, self.steps[k]));
                let (up, down) = (clean(up), clean(down));
                let h = self.steps[k];
                if up.min(down) == f64::NEG_INFINITY {
                    self.steps[k] *= SHORTER;
                    if self.steps[k] < SHORTEST {
                        return None;
                    }
                    longer = MOST_LONGER;
                    continue;
                }
                self.slope[k] = (up - down) / (2.0 * h);
                let bend = 2.0 * self.height - up - down;
                self.curvatures[k] = bend / (h * h);
                if bend.abs() > SEEN || longer >= MOST_LONGER {
                    break;
                }
                longer += 1;
                self.steps[k] *= LONGER;
            }
        }
        Some(())
    }

    /// The heights a step up and down one axis.
    fn beside(&mut self, surface: &mut impl Surface, k: usize, h: f64) -> (f64, f64) {
        let here = self.at[k];
        self.at[k] = here + h;
        let up = surface.height(&self.at);
        self.at[k] = here - h;
        let down = surface.height(&self.at);
        self.at[k] = here;
        (up, down)
    }

    /// The same for every axis, where the surface gives many at once.
    fn all_at_once(&self, surface: &mut impl Surface) -> Option<Vec<f64>> {
        if !surface.is_vectorised() {
            return None;
        }
        let dim = self.at.len();
        let mut us = Vec::with_capacity(2 * dim * dim);
        for k in 0..dim {
            for side in [1.0, -1.0] {
                us.extend_from_slice(&self.at);
                let last = us.len() - dim + k;
                us[last] += side * self.steps[k];
            }
        }
        let mut heights = vec![0.0; 2 * dim];
        surface.heights(&us, &mut heights);
        Some(heights)
    }

    /// The curvatures; the learned scale stands where the surface bends up, or where no bend is seen.
    fn metric(&self) -> Vec<f64> {
        let metric = self.curvatures.iter();
        metric.map(|c| if *c > 0.0 { *c } else { 1.0 }).collect()
    }

    /// Whether it bends down along every axis, as seen over steps that fit.
    fn is_peak(&self) -> bool {
        let fits = |(c, h): (&f64, &f64)| {
            let widths = h * c.sqrt();
            *c > 0.0 && (FITTING[0]..=FITTING[1]).contains(&widths)
        };
        self.curvatures.iter().zip(&self.steps).all(fits)
    }

    /// Makes the steps fit the curvatures that were seen; returns whether they did.
    fn refit(&mut self) -> bool {
        let mut fitted = true;
        for (h, c) in self.steps.iter_mut().zip(&self.curvatures) {
            if *c > 0.0 {
                let widths = *h * c.sqrt();
                fitted &= (FITTING[0]..=FITTING[1]).contains(&widths);
                *h = STEP / c.sqrt();
            } else {
                fitted = false;
                *h *= 0.5;
            }
        }
        fitted
    }

    /// The last step, where it does not lose.
    fn step_on_trust(&mut self, surface: &mut impl Surface, ahead: &[f64]) {
        let next: Vec<f64> = self.at.iter().zip(ahead).map(|(u, a)| u + a).collect();
        let height = clean(surface.height(&next));
        if height >= self.height {
            (self.at, self.height) = (next, height);
        }
    }

    fn top(self) -> Top {
        Top {
            at: self.at,
            height: self.height,
            curvatures: self.curvatures,
        }
    }
}

/// Minus the second derivatives at a top, row by row, by differences over steps that fit: d²/2 heights, or 2d gradients.
pub(crate) fn curvature(surface: &mut impl Surface, top: &Top) -> Option<Vec<f64>> {
    let dim = top.at.len();
    let steps: Vec<f64> = top.curvatures.iter().map(|c| STEP / c.sqrt()).collect();
    let mut at = top.at.clone();
    let mut matrix = vec![0.0; dim * dim];
    let (mut up, mut down) = (vec![0.0; dim], vec![0.0; dim]);
    if surface.gradient(&at, &mut up) {
        for k in 0..dim {
            at[k] = top.at[k] + steps[k];
            surface.gradient(&at, &mut up);
            at[k] = top.at[k] - steps[k];
            surface.gradient(&at, &mut down);
            at[k] = top.at[k];
            for j in 0..dim {
                let bend = (down[j] - up[j]) / (2.0 * steps[k]);
                matrix[k * dim + j] += 0.5 * bend;
                matrix[j * dim + k] += 0.5 * bend;
            }
        }
    } else {
        for k in 0..dim {
            at[k] = top.at[k] + steps[k];
            up[k] = clean(surface.height(&at));
            at[k] = top.at[k];
            matrix[k * dim + k] = top.curvatures[k];
        }
        for k in 0..dim {
            at[k] = top.at[k] + steps[k];
            for j in 0..k {
                at[j] = top.at[j] + steps[j];
                let corner = clean(surface.height(&at));
                at[j] = top.at[j];
                let bend = (up[k] + up[j] - corner - top.height) / (steps[k] * steps[j]);
                matrix[k * dim + j] = bend;
                matrix[j * dim + k] = bend;
            }
            at[k] = top.at[k];
        }
    }
    matrix.iter().all(|v| v.is_finite()).then_some(matrix)
}

/// How far a curvature is from diagonal: the squared correlations of all pairs of axes, added up. Half of that is about what the logarithm
/// of the peak's volume is off by where they are left out.
pub(crate) fn coupling(curvature: &[f64], dim: usize) -> f64 {
    let mut sum = 0.0;
    for i in 0..dim {
        for j in 0..i {
            let scale = curvature[i * dim + i] * curvature[j * dim + j];
            sum += curvature[i * dim + j].powi(2) / scale;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Formula<F> {
        height: F,
        gradients: bool,
        heights: usize,
    }

    impl<F: Fn(&[f64]) -> f64> Surface for Formula<F> {
        fn height(&mut self, u: &[f64]) -> f64 {
            self.heights += 1;
            (self.height)(u)
        }

        fn gradient(&mut self, u: &[f64], gradient: &mut [f64]) -> bool {
            for k in 0..u.len() {
                let mut at = u.to_vec();
                at[k] += 1e-5;
                let up = (self.height)(&at);
                at[k] -= 2e-5;
                gradient[k] = (up - (self.height)(&at)) / 2e-5;
            }
            self.gradients
        }
    }

    fn surface<F: Fn(&[f64]) -> f64>(height: F, gradients: bool) -> Formula<F> {
        Formula {
            height,
            gradients,
            heights: 0,
        }
    }

    #[test]
    fn widths_that_differ_by_thousands_are_found_in_three_rounds() {
        let width = |k: usize| 10f64.powf(3.0 * (k as f64 / 29.0) - 1.5);
        let peak = |u: &[f64]| -> f64 {
            let each = u.iter().enumerate();
            each.map(|(k, v)| -0.5 * ((v - 0.2 * k as f64) / width(k)).powi(2))
                .sum()
        };
        for gradients in [false, true] {
            let mut surface = surface(peak, gradients);
            let top = climb(&mut surface, &[0.0; 30]).unwrap();
            // By gradients alone the climb ends earlier: the 30 variables together are off by less than a width.
            let off = if gradients { 0.5 } else { 0.05 };
            assert!(top.height > -off, "{}", top.height);
            for (k, c) in top.curvatures.iter().enumerate() {
                assert!((c * width(k).powi(2) - 1.0).abs() < 1e-3, "{k}: {c}");
            }
            assert!(gradients || surface.heights < 4 * 62, "{}", surface.heights);
        }
    }

    #[test]
    fn a_skewed_coupled_peak_is_climbed_and_its_curvature_found() {
        let peak = |u: &[f64]| {
            let own: f64 = u.iter().map(|v| v - v.exp()).sum();
            let pairs: f64 = u.windows(2).map(|p| (p[0] - p[1]).powi(2)).sum();
            own - 0.3 * pairs
        };
        for gradients in [false, true] {
            let mut surface = surface(peak, gradients);
            let top = climb(&mut surface, &[2.0; 40]).unwrap();
            // The mode is zero: there every slope vanishes.
            for u in &top.at {
                assert!(u.abs() < 0.05, "{u}");
            }
            let matrix = curvature(&mut surface, &top).unwrap();
            for i in 1..39 {
                assert!((matrix[i * 40 + i] - 2.2).abs() < 0.1);
                assert!((matrix[i * 40 + i - 1] + 0.6).abs() < 0.02);
                assert!(matrix[i * 40 + (i + 7) % 40].abs() < 0.02);
            }
            // 37 pairs of inner variables, and one at either end.
            let expected = 37.0 * (0.6f64 / 2.2).powi(2) + 2.0 * 0.36 / (1.6 * 2.2);
            assert!((coupling(&matrix, 40) - expected).abs() < 0.3);
        }
    }

    #[test]
    fn neither_an_endless_slope_nor_a_saddle_nor_a_wall_is_a_top() {
        assert!(climb(&mut surface(|u| u[0] - u[1] * u[1], false), &[0.0; 2]).is_none());
        let saddle = |u: &[f64]| u[0] * u[0] - u[1] * u[1];
        assert!(climb(&mut surface(saddle, false), &[0.0; 2]).is_none());
        let wall = |u: &[f64]| if u[0] < 0.0 { f64::NEG_INFINITY } else { -u[0] };
        assert!(climb(&mut surface(wall, false), &[1.0]).is_none());
        assert!(climb(&mut surface(|_| f64::NAN, false), &[0.0]).is_none());
    }
}
