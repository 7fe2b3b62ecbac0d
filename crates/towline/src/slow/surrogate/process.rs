//! A small Gaussian process over a polynomial: for marginals that no polynomial of low degree follows.

use super::limits::{HYPER_POINTS, LENGTHS, MOST_BARRED, NUGGETS, PROCESS_POINTS};
use super::polynomial::Polynomial;
use super::visits::{Sample, Samples};
use crate::linalg::{Factor, Lanes, SmallBuffer, squared_distance, widely};
use pulp::{Simd, WithSimd};
use serde::{Deserialize, Serialize};

/// A polynomial plus a weighted sum of bumps at some of the visited points.
///
/// Where there are no points the bumps vanish, and the polynomial remains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Process {
    pub mean: Polynomial,
    /// Whether distances are taken after [`warp`].
    warped: bool,
    /// 1/(2 ℓ² × 8); see [`bump`].
    rate: f64,
    /// Whitened coordinates in blocks of [`LANES`] points: the first coordinates of all, then the second, …
    points: Vec<f64>,
    /// One for each point, with zeros to fill the last block.
    heights: Vec<f64>,
}

/// Points evaluated side by side.
const LANES: usize = 8;

/// The covariance at a squared distance: rational quadratic, (1 + t/8)⁻⁸ with t = r²/2ℓ².
///
/// All but the squared exponential e⁻ᵗ, smooth, a covariance in any dimension, and without an `exp`: compilers
/// turn it into vector instructions, and it has the same bits everywhere.
#[inline]
fn bump(rate: f64, distance_squared: f64) -> f64 {
    let second = (1.0 + rate * distance_squared).powi(2);
    let fourth = second * second;
    1.0 / (fourth * fourth)
}

/// What is chosen by marginal likelihood: the length scale, and the nugget as a share of the variance.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hyper {
    /// Whether distances are taken after [`warp`].
    warped: bool,
    length: f64,
    nugget: f64,
}

impl Process {
    /// Fits the residuals of `mean` at those of the process's points that `keep` lets through.
    pub fn fit(
        samples: &Samples,
        mean: &Polynomial,
        hyper: Hyper,
        keep: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let mut chosen: Vec<&Sample> = subset(&samples.list, PROCESS_POINTS)
            .filter(|(index, _)| keep(*index))
            .map(|(_, sample)| sample)
            .collect();
        chosen.extend(subset(&samples.barred, MOST_BARRED).map(|(_, sample)| sample));
        let mut heights = residuals(&chosen, mean);
        let squares = squared_distances(&chosen, hyper.warped);
        let covariance = covariance(&chosen, &squares, hyper);
        let root = Factor::from_covariance(&covariance, "process").ok()?;
        root.solve(&mut heights);
        root.solve_transposed(&mut heights);
        if !heights.iter().all(|h| h.is_finite()) {
            return None;
        }
        heights.resize(heights.len().next_multiple_of(LANES), 0.0);
        let mut points = Vec::with_capacity(heights.len() * samples.dim);
        for block in chosen.chunks(LANES) {
            for k in 0..samples.dim {
                let seen = |sample: &&Sample| warp(hyper.warped, sample.w[k]);
                let lane = |lane: usize| block.get(lane).map_or(0.0, seen);
                points.extend((0..LANES).map(lane));
            }
        }
        Some(Self {
            mean: mean.clone(),
            warped: hyper.warped,
            rate: hyper.rate(),
            points,
            heights,
        })
    }

    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        let mut at = SmallBuffer::new(w.len());
        let at = at.as_mut();
        for (at, v) in at.iter_mut().zip(w) {
            *at = warp(self.warped, *v);
        }
        self.mean.value(w) + widely(Bumps { process: self, at })
    }

    pub fn fits(&self, dim: usize) -> bool {
        self.mean.fits(dim)
            && self.rate > 0.0
            && self.heights.len().is_multiple_of(LANES)
            && self.points.len() == dim * self.heights.len()
            && self
                .points
                .iter()
                .chain(&self.heights)
                .all(|v| v.is_finite())
    }
}

/// The sum of a process's bumps at a place that is warped already.
struct Bumps<'a> {
    process: &'a Process,
    at: &'a [f64],
}

impl WithSimd for Bumps<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        match LANES / S::F64_LANES {
            1 => self.sum::<S, 1>(simd),
            2 => self.sum::<S, 2>(simd),
            4 => self.sum::<S, 4>(simd),
            _ => self.sum::<S, 8>(simd),
        }
    }
}

impl Bumps<'_> {
    /// The sum with the points of a block in so many vectors.
    #[inline(always)]
    fn sum<S: Simd, const VECTORS: usize>(self, simd: S) -> f64 {
        let Self { process, at } = self;
        let (heights, _) = process.heights.as_chunks::<LANES>();
        let (points, _) = process.points.as_chunks::<LANES>();
        let one = Lanes::<S, VECTORS>::all(simd, 1.0);
        let rate = Lanes::all(simd, process.rate);
        let mut sums = Lanes::all(simd, 0.0);
        for (block, heights) in points.chunks_exact(at.len()).zip(heights) {
            let mut squares = Lanes::all(simd, 0.0);
            for (coordinates, &v) in block.iter().zip(at) {
                let difference = Lanes::of(simd, coordinates).minus(Lanes::all(simd, v));
                squares = squares.plus(difference.times(difference));
            }
            // As in `bump`.
            let base = one.plus(rate.times(squares));
            let second = base.times(base);
            let fourth = second.times(second);
            let bumps = one.over(fourth.times(fourth));
            sums = sums.plus(Lanes::of(simd, heights).times(bumps));
        }
        let mut each = [0.0; LANES];
        sums.write(&mut each);
        each.iter().sum()
    }
}

impl Hyper {
    fn rate(self) -> f64 {
        1.0 / (16.0 * self.length * self.length)
    }

    /// The pair of the grid with the highest marginal likelihood, the variance maximised over in closed form.
    pub fn choose(samples: &Samples, mean: &Polynomial, warped: bool) -> Option<Self> {
        let chosen: Vec<&Sample> = subset(&samples.list, HYPER_POINTS)
            .map(|(_, s)| s)
            .collect();
        let residuals = residuals(&chosen, mean);
        let squares = squared_distances(&chosen, warped);
        let count = chosen.len() as f64;
        let mut best: Option<(f64, Self)> = None;
        for length in LENGTHS {
            for nugget in NUGGETS {
                let hyper = Self {
                    warped,
                    length,
                    nugget,
                };
                let covariance = covariance(&chosen, &squares, hyper);
                let Ok(root) = Factor::from_covariance(&covariance, "process") else {
                    continue;
                };
                let mut white = residuals.clone();
                root.solve(&mut white);
                let variance = white.iter().map(|v| v * v).sum::<f64>() / count;
                let log_likelihood = -0.5 * count * variance.ln() - root.log_det();
                // NaN never wins; residuals that are all zero leave nothing for a process to do.
                if log_likelihood.is_finite() && best.is_none_or(|(top, _)| log_likelihood > top) {
                    best = Some((log_likelihood, hyper));
                }
            }
        }
        best.map(|(_, hyper)| hyper)
    }
}

/// At most `most` of the samples, evenly through their order, with their indices.
fn subset(list: &[Sample], most: usize) -> impl Iterator<Item = (usize, &Sample)> {
    let (all, most) = (list.len(), most.min(list.len()));
    (0..most).map(move |k| {
        let index = k * all / most;
        (index, &list[index])
    })
}

fn residuals(chosen: &[&Sample], mean: &Polynomial) -> Vec<f64> {
    chosen
        .iter()
        .map(|sample| sample.wanted - mean.value(&sample.w))
        .collect()
}

/// The squared distance of every point from each before it, row by row.
fn squared_distances(chosen: &[&Sample], warped: bool) -> Vec<f64> {
    let seen = |sample: &&Sample| sample.w.iter().map(|v| warp(warped, *v)).collect();
    let points: Vec<Vec<f64>> = chosen.iter().map(seen).collect();
    let mut out = Vec::with_capacity(points.len() * points.len() / 2);
    for (i, point) in points.iter().enumerate() {
        out.extend(points[..i].iter().map(|o| squared_distance(point, o)));
    }
    out
}

/// A point of little weight is one with a large nugget.
fn covariance(chosen: &[&Sample], squares: &[f64], hyper: Hyper) -> Vec<f64> {
    let size = chosen.len();
    let rate = hyper.rate();
    let mut out = vec![0.0; size * size];
    let mut squares = squares.iter();
    for i in 0..size {
        for (j, square) in squares.by_ref().take(i).enumerate() {
            let entry = bump(rate, *square);
            out[i * size + j] = entry;
            out[j * size + i] = entry;
        }
        out[i * size + i] = 1.0 + hyper.nugget / chosen[i].weight;
    }
    out
}

/// Long tails drawn in: linear in the bulk, logarithmic beyond. What varies on the scale of the bulk near the centre and on that of
/// the distance itself in a tail then varies evenly.
#[inline]
fn warp(warped: bool, v: f64) -> f64 {
    if warped { v.asinh() } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn points_side_by_side_give_the_bits_of_points_one_by_one() {
        let mut rng = Rng::stream(7, 0);
        for (dim, blocks) in [(1, 1), (2, 5), (7, 38)] {
            let mut many = |count: usize| (0..count).map(|_| rng.normal()).collect::<Vec<_>>();
            let process = Process {
                mean: Polynomial::constant(0.3),
                warped: false,
                rate: 0.02,
                points: many(dim * blocks * LANES),
                heights: many(blocks * LANES),
            };
            let at = many(dim);
            let mut sums = [0.0; LANES];
            for block in 0..blocks {
                for lane in 0..LANES {
                    let coordinate = |k: usize| process.points[(block * dim + k) * LANES + lane];
                    let square = (0..dim).fold(0.0, |sum, k| sum + (coordinate(k) - at[k]).powi(2));
                    sums[lane] += process.heights[block * LANES + lane] * bump(0.02, square);
                }
            }
            let plain = 0.3 + sums.iter().sum::<f64>();
            assert_eq!(process.value(&at).to_bits(), plain.to_bits());
        }
    }
}
