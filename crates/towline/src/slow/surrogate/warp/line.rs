//! The map of one variable: monotone, with a closed inverse.

use serde::{Deserialize, Serialize};

/// The map of one variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub knots: Vec<f64>,
    /// ln g′ at the knots.
    pub logs: Vec<f64>,
    /// g at the knots.
    pub values: Vec<f64>,
    /// Minus the logarithm of the standard deviation.
    pub usual: f64,
}

impl Line {
    /// With these derivatives, and this value at the knot in the middle.
    pub fn new(knots: Vec<f64>, logs: Vec<f64>, middle: f64) -> Self {
        let mut line = Self {
            usual: logs[0],
            values: vec![0.0; knots.len()],
            knots,
            logs,
        };
        line.fill(middle);
        line
    }

    pub fn fill(&mut self, middle: f64) {
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
    pub fn apply(&self, x: f64) -> (f64, f64) {
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
    pub fn invert(&self, u: f64) -> f64 {
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
    pub fn slopes(&self, x: f64, by: &mut [f64], hats: &mut [f64]) {
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

    pub fn fits(&self) -> bool {
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
