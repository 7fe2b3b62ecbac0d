//! The climb to a top that may lie at walls: along one axis after another, where derivatives would lead nowhere.
//!
//! At a wall the peak is no parabola. Its width there is the integral of the density along the axis over its height, which is 1/rate
//! for an exponential and the distance for a density that is flat up to the next wall.

use super::surface::{STRAYED, Surface, clean};

/// Sweeps over all axes; independent variables need two.
const MOST_SWEEPS: usize = 30;
/// A sweep that gains less than this many log units was the last.
const SETTLED: f64 = 1e-3;
/// The first step along an axis, and the shortest.
const STEP: f64 = 0.5;
const SHORTEST: f64 = 1e-9;
/// Steps that grow, and a bracket that shrinks, do so this many times at most.
const MOST_LONGER: usize = 60;
const MOST_INSIDE: usize = 16;
/// A wall is known when it is between two places this far apart, in the distance to the place that was known to have mass: so
/// small a share of the mass lies between them.
const SHARP: f64 = 1e-5;
/// A wall is at the top where a place before it, by this share of the bracket, is lower.
const BEFORE: f64 = 0.02;
/// What a parabola promises less than, in log units, is not worth a step.
const SMALL_GAIN: f64 = 1e-3;
/// The integral along an axis goes as far down as this many log units, in so many intervals of Simpson's rule; the rest is taken for exponential.
const DEEP: f64 = 3.0;
const INTERVALS: usize = 8;
/// Halvings that find how far that is.
const HALVINGS: usize = 12;
/// Differences for the curvature along an axis are over so many widths.
const WIDTHS: f64 = 0.3;

/// The top, and how wide the peak is along each axis: negative where it is at a wall above which there is no mass.
pub(crate) struct Edge {
    pub at: Vec<f64>,
    pub height: f64,
    pub widths: Vec<f64>,
    /// The logarithm of the peak's volume over its height, in units of a normal peak's of width one.
    pub log_volume: f64,
}

/// Climbs from `start`, which must have mass; `None` where no top is found.
pub(crate) fn climb(surface: &mut impl Surface, start: &[f64]) -> Option<Edge> {
    let height = clean(surface.height(start));
    if height == f64::NEG_INFINITY {
        return None;
    }
    let mut here = Here {
        at: start.to_vec(),
        height,
        walls: vec![None; start.len()],
        steps: vec![STEP; start.len()],
    };
    for _ in 0..MOST_SWEEPS {
        let before = here.height;
        for k in 0..start.len() {
            here.along(surface, k)?;
            if (here.at[k] - start[k]).abs() > STRAYED {
                return None;
            }
        }
        if here.height - before < SETTLED {
            return here.edge(surface);
        }
    }
    None
}

struct Here {
    at: Vec<f64>,
    height: f64,
    /// On which side of each variable there is a wall.
    walls: Vec<Option<f64>>,
    steps: Vec<f64>,
}

impl Here {
    /// The height at a distance along an axis.
    fn look(&mut self, surface: &mut impl Surface, k: usize, t: f64) -> f64 {
        let here = self.at[k];
        self.at[k] = here + t;
        let height = clean(surface.height(&self.at));
        self.at[k] = here;
        height
    }

    fn go(&mut self, k: usize, t: f64, height: f64) {
        self.at[k] += t;
        self.height = height;
    }

    /// Goes to the highest place along an axis.
    fn along(&mut self, surface: &mut impl Surface, k: usize) -> Option<()> {
        if let Some(side) = self.walls[k] {
            // Still at that wall, most often.
            let near = SHARP * self.steps[k];
            let beyond = self.look(surface, k, 2.0 * side * near);
            let before = self.look(surface, k, -side * 0.1 * self.steps[k]);
            if beyond == f64::NEG_INFINITY && before <= self.height {
                return Some(());
            }
            self.walls[k] = None;
        }
        let [mut low, mut middle, mut high] = self.bracket(surface, k)?;
        self.steps[k] = (high.0 - low.0).abs().max(SHORTEST) / 2.0;
        for (end, side) in [(&mut high, 1.0), (&mut low, -1.0)] {
            if end.1 > f64::NEG_INFINITY {
                continue;
            }
            let inside = self.wall(surface, k, middle, end.0);
            let before = inside.0 - side * BEFORE * self.steps[k];
            let before = (before, self.look(surface, k, before));
            if inside.1 >= middle.1 && inside.1 > before.1 {
                self.walls[k] = Some(side);
                self.steps[k] = (inside.0 - middle.0).abs().max(self.steps[k]);
                self.go(k, inside.0, inside.1);
                return Some(());
            }
            if before.1 > middle.1 {
                middle = before;
            }
            *end = inside;
        }
        let best = self.inside(surface, k, [low, middle, high]);
        self.go(k, best.0, best.1);
        Some(())
    }

    /// Three places along an axis, the middle one no lower than the others, of which each may have no mass.
    fn bracket(&mut self, surface: &mut impl Surface, k: usize) -> Option<[(f64, f64); 3]> {
        let mut step = self.steps[k];
        let here = (0.0, self.height);
        let (up, down) = loop {
            let up = (step, self.look(surface, k, step));
            let down = (-step, self.look(surface, k, -step));
            if up.1.max(down.1) > f64::NEG_INFINITY {
                break (up, down);
            }
            step *= 0.25;
            if step < SHORTEST {
                return None;
            }
        };
        if here.1 >= up.1 && here.1 >= down.1 {
            return Some([down, here, up]);
        }
        let (mut before, mut at) = if up.1 > down.1 {
            (here, up)
        } else {
            (here, down)
        };
        for _ in 0..MOST_LONGER {
            let t = at.0 + 2.0 * (at.0 - before.0);
            let next = (t, self.look(surface, k, t));
            if next.1 <= at.1 {
                let (low, high) = if next.0 > at.0 {
                    (before, next)
                } else {
                    (next, before)
                };
                return Some([low, at, high]);
            }
            (before, at) = (at, next);
        }
        None
    }

    /// The last place with mass between one that has it and one that has not.
    fn wall(
        &mut self,
        surface: &mut impl Surface,
        k: usize,
        mut inside: (f64, f64),
        mut beyond: f64,
    ) -> (f64, f64) {
        let far = (beyond - inside.0).abs();
        while (beyond - inside.0).abs() > SHARP * far {
            let t = 0.5 * (inside.0 + beyond);
            let height = self.look(surface, k, t);
            if height > f64::NEG_INFINITY {
                inside = (t, height);
            } else {
                beyond = t;
            }
        }
        inside
    }

    /// The top within a bracket, by parabolas, and by the golden section where they do not help.
    fn inside(
        &mut self,
        surface: &mut impl Surface,
        k: usize,
        [mut low, mut middle, mut high]: [(f64, f64); 3],
    ) -> (f64, f64) {
        for _ in 0..MOST_INSIDE {
            let (a, b) = (middle.0 - low.0, high.0 - middle.0);
            if a.min(b) <= 0.0 {
                break;
            }
            let (left, right) = ((middle.1 - low.1) / a, (middle.1 - high.1) / b);
            let bend = (left + right) / (0.5 * (a + b));
            // The slope of the parabola at the middle.
            let slope = (left * b - right * a) / (a + b);
            let vertex = slope / bend;
            let promise = 0.5 * slope * vertex;
            if bend > 0.0 && promise < SMALL_GAIN {
                break;
            }
            let within = bend > 0.0 && vertex > -0.9 * a && vertex < 0.9 * b;
            let t = match (within, a > b) {
                (true, _) => middle.0 + vertex,
                (false, true) => middle.0 - 0.382 * a,
                (false, false) => middle.0 + 0.382 * b,
            };
            let next = (t, self.look(surface, k, t));
            match (next.1 > middle.1, next.0 > middle.0) {
                (true, true) => (low, middle) = (middle, next),
                (true, false) => (high, middle) = (middle, next),
                (false, true) => high = next,
                (false, false) => low = next,
            }
        }
        middle
    }

    /// The top as it is found, with its widths.
    fn edge(mut self, surface: &mut impl Surface) -> Option<Edge> {
        let normal = 0.5 * std::f64::consts::TAU.ln();
        let (mut widths, mut log_volume) = (Vec::with_capacity(self.at.len()), 0.0);
        for k in 0..self.at.len() {
            let width = match self.walls[k] {
                Some(side) => {
                    log_volume -= normal;
                    -side * self.integral(surface, k, -side)?
                }
                None => self.curved(surface, k)?,
            };
            log_volume += width.abs().ln();
            widths.push(width);
        }
        Some(Edge {
            at: self.at,
            height: self.height,
            widths,
            log_volume,
        })
    }

    /// The width along an axis at whose top there is no wall.
    fn curved(&mut self, surface: &mut impl Surface, k: usize) -> Option<f64> {
        let mut step = WIDTHS * self.steps[k];
        for _ in 0..4 {
            let up = self.look(surface, k, step);
            let down = self.look(surface, k, -step);
            let curvature = (2.0 * self.height - up - down) / (step * step);
            if !curvature.is_finite() || curvature <= 0.0 {
                break;
            }
            let width = 1.0 / curvature.sqrt();
            if (0.1 * WIDTHS..4.0 * WIDTHS).contains(&(step / width)) {
                return Some(width);
            }
            step = WIDTHS * width;
        }
        // A wall close by, or no parabola: as wide as the normal peak of the same volume.
        let both = self.integral(surface, k, 1.0)? + self.integral(surface, k, -1.0)?;
        Some(both / std::f64::consts::TAU.sqrt())
    }

    /// The integral of the density on one side of the top, over its height.
    fn integral(&mut self, surface: &mut impl Surface, k: usize, side: f64) -> Option<f64> {
        let drop = |this: &mut Self, surface: &mut _, t: f64| {
            this.height - this.look(surface, k, side * t)
        };
        let mut far = self.steps[k];
        let mut near = 0.0;
        for _ in 0..MOST_LONGER {
            if drop(self, surface, far) >= DEEP {
                break;
            }
            (near, far) = (far, 2.0 * far);
        }
        for _ in 0..HALVINGS {
            let t = 0.5 * (near + far);
            if drop(self, surface, t) >= DEEP {
                far = t;
            } else {
                near = t;
            }
        }
        if near <= 0.0 {
            return None;
        }
        let h = near / INTERVALS as f64;
        let (mut sum, mut last, mut before) = (1.0, 0.0, 0.0);
        for j in 1..=INTERVALS {
            let weight = match j {
                INTERVALS => 1.0,
                j if j % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let here = drop(self, surface, j as f64 * h);
            sum += weight * (-here).exp();
            (before, last) = (last, here);
        }
        // Beyond, at the rate at which it fell in the end; behind a wall there is nothing.
        let beyond = self.look(surface, k, side * far) > f64::NEG_INFINITY;
        let rate = (last - before) / h;
        let tail = if beyond && rate > 0.0 {
            (-last).exp() / rate
        } else {
            0.0
        };
        let integral = sum * h / 3.0 + tail;
        (integral > 0.0 && integral.is_finite()).then_some(integral)
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
    fn an_exponential_ends_at_its_wall_and_is_as_wide_as_its_mean() {
        for rate in [0.01, 1.0, 40.0] {
            let f = |u: &[f64]| {
                let inside = u[0] > 0.25 && u[1] < -0.5;
                match inside {
                    true => -rate * u[0] + 3.0 * u[1],
                    false => f64::NEG_INFINITY,
                }
            };
            let mut surface = Formula(f, 0);
            let edge = climb(&mut surface, &[0.7, -2.0]).unwrap();
            assert!((edge.at[0] - 0.25).abs() < 1e-3 / rate, "{:?}", edge.at);
            assert!((edge.at[1] + 0.5).abs() < 1e-3, "{:?}", edge.at);
            assert!(
                (edge.widths[0] * rate - 1.0).abs() < 2e-3,
                "{:?}",
                edge.widths
            );
            assert!(
                (edge.widths[1] * 3.0 + 1.0).abs() < 2e-3,
                "{:?}",
                edge.widths
            );
            assert!(surface.1 < 200, "{} evaluations", surface.1);
        }
    }

    #[test]
    fn a_climb_that_begins_at_the_wall_stays_there() {
        let f = |u: &[f64]| match u[0] > 0.0 {
            true => -2.0 * u[0],
            false => f64::NEG_INFINITY,
        };
        for start in [1e-12, 1e-7, 1e-3, 5.0] {
            let edge = climb(&mut Formula(f, 0), &[start]).unwrap();
            assert!(edge.at[0] < 1e-4 && (edge.widths[0] - 0.5).abs() < 1e-3);
        }
    }

    #[test]
    fn a_flat_density_is_as_wide_as_its_box_and_a_normal_one_as_its_sd() {
        let f = |u: &[f64]| match (0.0..1.0).contains(&u[0]) {
            true => 0.01 * u[0] - 0.5 * ((u[1] - 3.0) / 0.2).powi(2),
            false => f64::NEG_INFINITY,
        };
        let edge = climb(&mut Formula(f, 0), &[0.4, 1.0]).unwrap();
        assert!(
            (edge.widths[0].abs() - 1.0).abs() < 0.01,
            "{:?}",
            edge.widths
        );
        assert!((edge.at[1] - 3.0).abs() < 0.02, "{:?}", edge.at);
        assert!((edge.widths[1] - 0.2).abs() < 1e-3, "{:?}", edge.widths);
        let volume = 0.2f64.ln() - 0.5 * std::f64::consts::TAU.ln();
        assert!((edge.log_volume - volume).abs() < 0.01);
    }

    #[test]
    fn coupled_variables_are_climbed_along_their_wall() {
        // A normal in two variables, correlated, cut off at u0 > 1: the top is at (1, 0.8).
        let f = |u: &[f64]| match u[0] > 1.0 {
            true => -0.5 * u[0] * u[0] - 0.5 * ((u[1] - 0.8 * u[0]) / 0.6).powi(2),
            false => f64::NEG_INFINITY,
        };
        let edge = climb(&mut Formula(f, 0), &[3.0, -1.0]).unwrap();
        assert!((edge.at[0] - 1.0).abs() < 1e-3 && (edge.at[1] - 0.8).abs() < 0.05);
        assert!((edge.widths[1] - 0.6).abs() < 0.01);
    }

    #[test]
    fn an_endless_slope_and_a_place_without_mass_have_no_top() {
        assert!(climb(&mut Formula(|u: &[f64]| u[0], 0), &[0.0]).is_none());
        let nowhere = |_: &[f64]| f64::NEG_INFINITY;
        assert!(climb(&mut Formula(nowhere, 0), &[0.0]).is_none());
    }
}
