//! The surrogate in whitened coordinates: a Gaussian with linear tails, and a guarded correction.

use super::faces::Face;
use super::limits::{
    FACE_DEPTH, FACE_DEPTH_HEATED, MANY_SLOW, MARGIN, POWER_LEAST, POWER_SHARE, TAIL_RATE,
};
use super::mixture::Mixture;
use super::polynomial::Polynomial;
use super::process::Process;
use super::radial::Radial;
use super::visits::Samples;
use crate::linalg::SmallBuffer;
use serde::{Deserialize, Serialize};

/// What is added to −|w|²/2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Correction {
    Polynomial(Polynomial),
    Process(Process),
    Radial(Radial),
    Mixture(Mixture),
}

impl Correction {
    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        match self {
            Self::Polynomial(polynomial) => polynomial.value(w),
            Self::Process(process) => process.value(w),
            Self::Radial(radial) => radial.value(w),
            Self::Mixture(mixture) => mixture.value(w),
        }
    }

    pub fn fits(&self, dim: usize) -> bool {
        match self {
            Self::Polynomial(polynomial) => polynomial.fits(dim),
            Self::Process(process) => process.fits(dim),
            Self::Radial(radial) => radial.fits(dim),
            Self::Mixture(mixture) => mixture.fits(dim),
        }
    }
}

/// What keeps a correction sane where there were no data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Guard {
    /// Beyond this |w| the correction is constant along rays, and the base falls linearly.
    pub radius: f64,
    /// How steeply it falls there: no more steeply than the Gaussian does at the radius.
    slope: f64,
    /// Bounds of the correction.
    low: f64,
    high: f64,
    /// The bound of the log density itself: the mode, with a margin.
    ceiling: f64,
    /// The power of the distance with which tails fall instead, where that is more slowly.
    #[serde(default)]
    power: Option<f64>,
}

impl Guard {
    /// Bounds from what was seen, on the scale on which the mode has log density zero.
    pub fn new(samples: &Samples) -> Self {
        let seen = samples
            .inside()
            .map(|(_, sample)| sample.wanted)
            .fold(f64::NEG_INFINITY, f64::max);
        let radius = samples.radius;
        // With the volume r^(d−1), the share of draws per unit of distance falls at the rate asked for.
        let slope = (samples.dim - 1) as f64 / radius + TAIL_RATE;
        Self {
            radius,
            slope: slope.min(radius),
            low: -samples.depth - MARGIN,
            // At least the level of the Gaussian itself, so that low < high whatever was seen.
            high: seen.max(0.0) + MARGIN,
            ceiling: MARGIN,
            power: None,
        }
    }

    /// How steeply it is to fall beyond the radius where it is heated. Many variables have their mass where the volume's growth and the
    /// density's fall are in balance: tails made a few times less steep would move all of it outwards, to where nothing is worth a visit.
    #[inline]
    fn slope_to_heat(&self, dim: usize, heat: f64) -> f64 {
        if dim <= MANY_SLOW {
            return self.slope;
        }
        let steeper = heat * ((dim - 1) as f64 / self.radius + TAIL_RATE);
        steeper.min(self.radius).max(self.slope)
    }

    /// The correction, bounded, at a point of this squared length inside the radius.
    #[inline]
    pub fn bound(&self, correction: f64, square: f64) -> f64 {
        // The floor last: a tail may end up too heavy, never too light.
        correction
            .min(self.high)
            .min(self.ceiling + 0.5 * square)
            .max(self.low)
    }

    fn fits(&self) -> bool {
        self.radius > 0.0
            && self.radius.is_finite()
            && self.slope > 0.0
            && self.slope <= self.radius
            && self.low.is_finite()
            && self.high.is_finite()
            && self.ceiling.is_finite()
            && self
                .power
                .is_none_or(|power| power > 0.0 && power.is_finite())
    }
}

/// log π̃ as a function of w, up to a constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Shape {
    pub correction: Correction,
    pub guard: Guard,
    /// Walls, beyond which it is lower.
    #[serde(default)]
    pub faces: Vec<Face>,
}

impl Shape {
    /// −½|w|² + p(w) out to the radius R; beyond, −½R² − slope × (|w| − R) + p(R w/|w|), or with a power of |w|/R.
    ///
    /// Continuous; along every ray beyond R it falls, and rises relative to the Gaussian.
    #[inline]
    pub fn log_density(&self, w: &[f64]) -> f64 {
        self.followed(w, self.guard.slope, self.guard.power) - self.wall(w, FACE_DEPTH)
    }

    /// The same to be raised to the power one over `heat`, with exponential tails: those of a power might have no end.
    #[inline]
    pub fn with_an_end(&self, w: &[f64], heat: f64) -> f64 {
        let slope = self.guard.slope_to_heat(w.len(), heat);
        self.followed(w, slope, None) - self.wall(w, FACE_DEPTH_HEATED)
    }

    /// What is lost beyond a wall.
    #[inline]
    fn wall(&self, w: &[f64], depth: f64) -> f64 {
        if self.faces.iter().any(|face| face.bars(w)) {
            depth
        } else {
            0.0
        }
    }

    #[inline]
    fn followed(&self, w: &[f64], slope: f64, power: Option<f64>) -> f64 {
        let square: f64 = w.iter().map(|v| v * v).sum();
        let radius = self.guard.radius;
        if square <= radius * radius {
            let correction = self.guard.bound(self.correction.value(w), square);
            return correction - 0.5 * square;
        }
        let distance = square.sqrt();
        if !distance.is_finite() {
            return f64::NEG_INFINITY;
        }
        let light = slope * (distance - radius);
        let fall = power.map_or(light, |power| light.min(power * (distance / radius).ln()));
        self.edge(w, distance) - fall
    }

    /// Where the ray through w leaves the radius.
    #[cold]
    fn edge(&self, w: &[f64], distance: f64) -> f64 {
        let radius = self.guard.radius;
        let mut edge = SmallBuffer::new(w.len());
        let edge = edge.as_mut();
        for (edge, v) in edge.iter_mut().zip(w) {
            *edge = v * (radius / distance);
        }
        let correction = self.correction.value(edge);
        self.guard.bound(correction, radius * radius) - 0.5 * radius * radius
    }

    /// Takes up the slowest power with which points beyond the radius fall, where it is slower than the exponential.
    pub fn follow_tails(&mut self, samples: &Samples) {
        let radius = self.guard.radius;
        let mut least: Option<(f64, f64)> = None;
        for (w, log) in &samples.tails {
            let distance = w.iter().map(|v| v * v).sum::<f64>().sqrt();
            let fall = self.edge(w, distance) - log;
            let power = fall / (distance / radius).ln();
            if least.is_none_or(|(so_far, _)| power < so_far) {
                least = Some((power, distance));
            }
        }
        let Some((power, distance)) = least else {
            return;
        };
        let power = (POWER_SHARE * power).max(samples.dim as f64 + POWER_LEAST);
        let slower = power * (distance / radius).ln() < self.guard.slope * (distance - radius);
        self.guard.power = slower.then_some(power);
    }

    pub fn fits(&self, dim: usize) -> bool {
        self.guard.fits()
            && self.correction.fits(dim)
            && self.faces.iter().all(|face| face.fits(dim))
    }
}
