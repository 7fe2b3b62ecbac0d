//! A reversible chain on the surrogate: elliptical slices, and slices along rays from the centre.
//!
//! Ellipses forget the direction at once and the distance slowly, above all from the heavy tails; rays forget the
//! distance at once. Neither has a step to be tuned.

use super::jump::Jumps;
use super::limits::{
    HEATED_STRIDE, MEMORY, MOVES, RAY_WIDTH, TRIAL_BURN, TRIAL_SEED, TRIAL_STRIDE,
};
use super::shape::Shape;
use crate::fast::density::{FastDensity, NoModel};
use crate::fast::moves::{EllipticalSlice, Slice};
use crate::fast::step::{Move, Point, Work};
use crate::linalg::SmallBuffer;
use crate::random::Rng;

/// A chain at w, with the room it needs.
pub(super) struct Wander<'a, F> {
    density: &'a F,
    pub w: Vec<f64>,
    pub log_density: f64,
    work: Work<Vec<f64>>,
    ray: Slice,
    jumps: Option<&'a Jumps>,
}

impl<'a, F: Fn(&[f64]) -> f64> Wander<'a, F> {
    pub fn new(density: &'a F, w: Vec<f64>, jumps: Option<&'a Jumps>) -> Self {
        let dim = w.len();
        Self {
            log_density: density(&w),
            density,
            w,
            work: Work::new(dim),
            ray: Slice::new(vec![RAY_WIDTH / (dim as f64).sqrt()]),
            jumps,
        }
    }

    /// Ellipse, ray (or, as likely, a jump), ellipse, …: for an odd number of moves a palindrome of reversible moves, hence
    /// reversible.
    pub fn run(&mut self, moves: usize, rng: &mut Rng) {
        for index in 0..moves {
            self.step(index, rng);
        }
    }

    fn step(&mut self, index: usize, rng: &mut Rng) {
        match self.jumps {
            _ if index.is_multiple_of(2) => self.ellipse(rng),
            Some(jumps) if rng.index(2) == 0 => self.jump(jumps, rng),
            _ => self.ray(rng),
        }
    }

    /// An independent proposal from the mixture.
    fn jump(&mut self, jumps: &Jumps, rng: &mut Rng) {
        let here = (&self.w[..], self.log_density);
        if let Some((w, log_density)) = jumps.step(self.density, here, rng) {
            self.w = w;
            self.log_density = log_density;
        }
    }

    fn ellipse(&mut self, rng: &mut Rng) {
        let mut density = Plane(self.density);
        let mut point = Point {
            at: &mut self.w,
            value: self.log_density,
        };
        EllipticalSlice.step(&mut density, &mut point, &mut self.work, rng);
        self.log_density = point.value;
    }

    /// A slice in t = ln |w|, whose density is |w|^d π̃.
    fn ray(&mut self, rng: &mut Rng) {
        let dim = self.w.len() as f64;
        let distance = self.w.iter().map(|v| v * v).sum::<f64>().sqrt();
        let start = distance.ln();
        if !start.is_finite() {
            // At the centre itself there is no ray; a point reached with probability zero.
            return;
        }
        self.w.iter_mut().for_each(|v| *v /= distance);
        let mut t = [start];
        let mut density = Ray {
            density: self.density,
            direction: &self.w,
            room: &mut self.work.spare,
        };
        let mut point = Point {
            at: &mut t,
            value: dim * start + self.log_density,
        };
        let mut work = Work::fixed();
        self.ray.step(&mut density, &mut point, &mut work, rng);
        self.log_density = point.value - dim * t[0];
        let distance = t[0].exp();
        self.w.iter_mut().for_each(|v| *v *= distance);
    }
}

/// A shape raised to the power 1/heat, over w/√heat: then a unit normal is as wide as it is.
pub(super) fn heated(shape: &Shape, heat: f64) -> impl Fn(&[f64]) -> f64 + '_ {
    let scale = heat.sqrt();
    move |v: &[f64]| {
        let mut w = SmallBuffer::new(v.len());
        let w = w.as_mut();
        for (w, v) in w.iter_mut().zip(v) {
            *w = scale * v;
        }
        shape.with_an_end(w, heat) / heat
    }
}

/// Draws of a heated shape by short chains from a few places (all as w, not w/√heat).
pub(super) fn hot_draws(
    shape: &Shape,
    heat: f64,
    places: &[Vec<f64>],
    count: usize,
    rng: &mut Rng,
) -> Vec<Vec<f64>> {
    let (hot, scale) = (heated(shape, heat), heat.sqrt());
    let mut draws = Vec::with_capacity(count * places.len());
    for place in places {
        let mut chain = Wander::new(&hot, place.iter().map(|v| v / scale).collect(), None);
        for _ in 0..count {
            chain.run(HEATED_STRIDE, rng);
            draws.push(chain.w.iter().map(|v| scale * v).collect());
        }
    }
    draws
}

/// The surrogate over w.
struct Plane<'a, F>(&'a F);

impl<F: Fn(&[f64]) -> f64> FastDensity for Plane<'_, F> {
    type Value = f64;
    type Nested<'n>
        = NoModel
    where
        Self: 'n;

    #[inline]
    fn value(&mut self, w: &[f64]) -> f64 {
        (self.0)(w)
    }

    #[inline]
    fn log(&self, value: f64) -> f64 {
        value
    }

    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Option<f64> {
        None
    }
}

/// The surrogate over the logarithm of the distance in one direction.
struct Ray<'a, F> {
    density: &'a F,
    direction: &'a [f64],
    room: &'a mut [f64],
}

impl<F: Fn(&[f64]) -> f64> FastDensity for Ray<'_, F> {
    type Value = f64;
    type Nested<'n>
        = NoModel
    where
        Self: 'n;

    fn value(&mut self, t: &[f64]) -> f64 {
        let distance = t[0].exp();
        for (w, u) in self.room.iter_mut().zip(self.direction) {
            *w = distance * u;
        }
        self.direction.len() as f64 * t[0] + (self.density)(self.room)
    }

    fn log(&self, value: f64) -> f64 {
        value
    }

    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Option<f64> {
        None
    }
}

/// A long chain on a surrogate, from a point, with a fixed seed: where proposals will go, and how fast they forget.
pub(super) struct Trial {
    starts: usize,
    /// One series for each thing to forget: every coordinate, |w|² and the log density.
    series: Vec<Vec<f64>>,
    /// Some of its points.
    pub draws: Vec<Vec<f64>>,
}

impl Trial {
    pub fn new(shape: &Shape, start: &[f64], starts: usize, jumps: Option<&Jumps>) -> Self {
        let mut rng = Rng::stream(TRIAL_SEED, 0);
        let density = |w: &[f64]| shape.log_density(w);
        let mut chain = Wander::new(&density, start.to_vec(), jumps);
        chain.run(TRIAL_BURN, &mut rng);
        let total = 2 * starts + MOVES[MOVES.len() - 1];
        let mut series = vec![Vec::new(); start.len() + 2];
        let mut draws = Vec::new();
        for index in 0..total {
            let (coordinates, others) = series.split_at_mut(start.len());
            for (series, v) in coordinates.iter_mut().zip(&chain.w) {
                series.push(*v);
            }
            others[0].push(chain.w.iter().map(|v| v * v).sum());
            others[1].push(chain.log_density);
            if index.is_multiple_of(TRIAL_STRIDE) {
                draws.push(chain.w.clone());
            }
            // An ellipse comes next at even indices: there proposals start.
            chain.step(index, &mut rng);
        }
        Self {
            starts,
            series,
            draws,
        }
    }

    /// The number of moves after which the start is forgotten, and the correlation that is left then.
    pub fn moves(&self) -> (usize, f64) {
        let memory = |moves: usize| {
            let correlations = self.series.iter().map(|s| self.correlation(s, moves).abs());
            (moves, correlations.fold(0.0, f64::max))
        };
        let longest = MOVES[MOVES.len() - 1];
        MOVES
            .into_iter()
            .map(memory)
            .find(|&(_, memory)| memory <= MEMORY)
            .unwrap_or_else(|| memory(longest))
    }

    /// The correlation of a series at even times with itself `lag` later.
    fn correlation(&self, series: &[f64], lag: usize) -> f64 {
        let pairs = || (0..self.starts).map(|start| (series[2 * start], series[2 * start + lag]));
        let count = self.starts as f64;
        let (a, b) = pairs().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        let (a, b) = (a / count, b / count);
        let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
        for (first, last) in pairs() {
            aa += (first - a) * (first - a);
            ab += (first - a) * (last - b);
            bb += (last - b) * (last - b);
        }
        let scale = (aa * bb).sqrt();
        if scale > 0.0 { ab / scale } else { 1.0 }
    }
}
