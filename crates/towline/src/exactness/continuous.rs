//! An asymmetric target with real variables, exact draws and known means.

use crate::error::ModelError;
use crate::frame::Frame;
use crate::linalg::Root;
use crate::random::Rng;
use crate::target::{Scratch, Target};
use crate::{Factor, Linear};
use std::sync::Arc;

/// x > 0 a mixture of two log-normals; y₁ = m(x) + s(x) g with a skewed g of mean 0; y₂, y₃ … normal
/// about a line in x and y₁. Everything depends on everything, and nothing is symmetric.
#[derive(Debug, Clone, Copy)]
pub(super) struct Skewed {
    /// The number of fast variables.
    pub fast: usize,
}

/// Weight, mean and standard deviation of the two parts of ln x, and of g.
const LOG_X: [(f64, f64, f64); 2] = [(0.6, 0.0, 0.35), (0.4, 0.9, 0.25)];
const G: [(f64, f64, f64); 2] = [(0.6, -0.6, 0.5), (0.4, 0.9, 0.8)];
/// m(x) = a + b x: y follows x over several of its own widths, or dragging would have nothing to do.
const CENTRE: (f64, f64) = (2.0, -1.6);
/// s(x) = a + b x.
const SPREAD: (f64, f64) = (0.15, 0.2);
/// The mean of y₂ … given x and y₁ is a y₁ + b x, their standard deviation this.
const REST_MEAN: (f64, f64) = (0.9, -0.4);
const REST: f64 = 0.3;
/// Where the indicators step.
const STEP: f64 = 1.5;

fn centre(x: f64) -> f64 {
    CENTRE.0 + CENTRE.1 * x
}

fn spread(x: f64) -> f64 {
    SPREAD.0 + SPREAD.1 * x
}

fn rest_mean(x: f64, y1: f64) -> f64 {
    REST_MEAN.0 * y1 + REST_MEAN.1 * x
}

/// The density of a mixture of two normals at v, and its derivative.
fn mixture(parts: &[(f64, f64, f64); 2], v: f64) -> (f64, f64) {
    parts
        .iter()
        .fold((0.0, 0.0), |(density, slope), &(w, m, s)| {
            let u = (v - m) / s;
            let part = w / s * (-0.5 * u * u).exp();
            (density + part, slope - part * u / s)
        })
}

fn draw_mixture(parts: &[(f64, f64, f64); 2], rng: &mut Rng) -> f64 {
    let (_, m, s) = parts[rng.pick(parts.iter().map(|p| p.0))];
    m + s * rng.normal()
}

/// The functions of (x, y) whose means are looked at.
pub(super) const NAMES: [&str; 12] = [
    "x",
    "x²",
    "y",
    "xy",
    "y²",
    "x>1.5",
    "y2",
    "y·y2",
    "x³",
    "y>0",
    "y·(x>1.5)",
    "sin 3y",
];

impl Skewed {
    /// An exact draw.
    pub fn draw(&self, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
        let x = draw_mixture(&LOG_X, rng).exp();
        let mut y = vec![centre(x) + spread(x) * draw_mixture(&G, rng)];
        for _ in 1..self.fast {
            y.push(rest_mean(x, y[0]) + REST * rng.normal());
        }
        (vec![x], y)
    }

    /// The functions at a point.
    pub fn functions(x: &[f64], y: &[f64]) -> [f64; 12] {
        let (x, y1) = (x[0], y[0]);
        let y2 = y.get(1).copied().unwrap_or(0.0);
        let (big, up) = (f64::from(x > STEP), f64::from(y1 > 0.0));
        [
            x,
            x * x,
            y1,
            x * y1,
            y1 * y1,
            big,
            y2,
            y1 * y2,
            x * x * x,
            up,
            y1 * big,
            (3.0 * y1).sin(),
        ]
    }

    /// Their means, as far as they have a closed form (the first nine).
    pub fn means(&self) -> [f64; 9] {
        let moment = |k: f64| -> f64 {
            let part = |&(w, m, s): &(f64, f64, f64)| w * (k * m + 0.5 * k * k * s * s).exp();
            LOG_X.iter().map(part).sum()
        };
        let (x, x2) = (moment(1.0), moment(2.0));
        let g2: f64 = G.iter().map(|&(w, m, s)| w * (m * m + s * s)).sum();
        let square = |(a, b): (f64, f64)| a * a + 2.0 * a * b * x + b * b * x2;
        let y = CENTRE.0 + CENTRE.1 * x;
        let xy = CENTRE.0 * x + CENTRE.1 * x2;
        let yy = square(CENTRE) + g2 * square(SPREAD);
        let tail = |&(w, m, s): &(f64, f64, f64)| {
            0.5 * w * libm::erfc((STEP.ln() - m) / (s * std::f64::consts::SQRT_2))
        };
        let big: f64 = LOG_X.iter().map(tail).sum();
        let (y2, yy2) = match self.fast {
            1 => (0.0, 0.0),
            _ => (
                REST_MEAN.0 * y + REST_MEAN.1 * x,
                REST_MEAN.0 * yy + REST_MEAN.1 * xy,
            ),
        };
        [x, x2, y, xy, yy, big, y2, yy2, moment(3.0)]
    }

    /// The frame in which y hardly depends on x; its determinant does.
    pub fn frame(x: &[f64]) -> Frame {
        let root = Factor::diagonal(&[spread(x[0]), REST], "test").unwrap();
        Frame::Affine {
            centre: vec![centre(x[0]), rest_mean(x[0], centre(x[0]))],
            root: Root::Lower(Arc::new(root)),
        }
    }

    /// A linear frame, good in the middle.
    pub fn linear(&self) -> Linear {
        let mut centres = vec![rest_mean(STEP, centre(STEP)); self.fast];
        let follow = REST_MEAN.0 * CENTRE.1 + REST_MEAN.1;
        let mut slope = vec![follow; self.fast];
        let mut sds = vec![REST; self.fast];
        (centres[0], slope[0], sds[0]) = (centre(STEP), CENTRE.1, spread(STEP));
        let root = Factor::diagonal(&sds, "test").unwrap();
        Linear::new(vec![STEP], centres, slope, root).unwrap()
    }
}

impl Target for Skewed {
    /// x, s(x) and what does not depend on y.
    type Cache = (f64, f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        if x[0] <= 0.0 {
            return Ok(None);
        }
        let (density, _) = mixture(&LOG_X, x[0].ln());
        let spread = spread(x[0]);
        let log = density.ln() - x[0].ln() - spread.ln();
        // Where the density underflows there is no mass to speak of.
        Ok((log > f64::NEG_INFINITY).then_some((x[0], spread, log)))
    }

    #[inline]
    fn log_density(&self, &(x, spread, log): &Self::Cache, y: &[f64]) -> f64 {
        let (density, _) = mixture(&G, (y[0] - centre(x)) / spread);
        let mean = rest_mean(x, y[0]);
        let rest: f64 = y[1..].iter().map(|v| ((v - mean) / REST).powi(2)).sum();
        log + density.ln() - 0.5 * rest
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        let &(x, spread, _) = cache;
        let (density, slope) = mixture(&G, (y[0] - centre(x)) / spread);
        let mean = rest_mean(x, y[0]);
        let mut first = slope / density / spread;
        for (g, v) in gradient[1..].iter_mut().zip(&y[1..]) {
            *g = (mean - v) / (REST * REST);
            first -= REST_MEAN.0 * *g;
        }
        gradient[0] = first;
        Some(self.log_density(cache, y))
    }
}

#[test]
fn the_gradient_is_that_of_the_density() {
    let target = Skewed { fast: 3 };
    let mut rng = Rng::stream(5, 0);
    for _ in 0..50 {
        let (x, y) = target.draw(&mut rng);
        let cache = target.prepare(&x).unwrap().unwrap();
        let mut gradient = [0.0; 3];
        target.gradient(&cache, &y, &mut gradient, &mut Scratch::default());
        for k in 0..3 {
            let at = |h: f64| {
                let mut y = y.clone();
                y[k] += h;
                target.log_density(&cache, &y)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[k]).abs() < 1e-5 * (1.0 + slope.abs()));
        }
    }
}
