//! The path of a drag: z₀ … zₙ₋₁ through the intermediate distributions between two ends.

use crate::density::{Between, Ends, FastDensity};
use crate::error::Error;
use crate::moves::{Coordinates, FastMove, Move, Point, Tally, Work};
use crate::rng::Rng;
use crate::target::Target;

/// What a path leaves behind, besides its last point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    /// (1/n) Σᵢ₌₀ⁿ⁻¹ [ℓ(x*, zᵢ) − ℓ(x, zᵢ)].
    pub mean_difference: f64,
    /// The log densities at both ends of the last point.
    pub end: Ends,
    /// Proposals of the inner moves.
    pub inner: Tally,
    /// Fast evaluations spent.
    pub evaluations: u64,
}

/// Moves z along a path of n intervals, choosing the form in which that is fastest.
///
/// `log_density` is that of the start at the current end, which the chain knows already.
pub(crate) fn drag<T: Target, const FRAMED: bool>(
    n: usize,
    inner: Option<&FastMove>,
    between: Between<'_, T, FRAMED>,
    log_density: f64,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
) -> Result<Path, Error> {
    match inner {
        // With few fast variables the whole path lives in registers.
        Some(FastMove::RandomWalk(walk)) if !FRAMED && z.len() == 1 => {
            fixed::<T, _, FRAMED, 1>(n, walk, between, log_density, z, rng)
        }
        Some(FastMove::RandomWalk(walk)) if !FRAMED && z.len() == 2 => {
            fixed::<T, _, FRAMED, 2>(n, walk, between, log_density, z, rng)
        }
        Some(FastMove::RandomWalk(walk)) if !FRAMED && z.len() == 3 => {
            fixed::<T, _, FRAMED, 3>(n, walk, between, log_density, z, rng)
        }
        Some(inner) if !z.is_empty() => any(n, inner, between, log_density, z, work, rng),
        // Nothing to drag: the path is its start.
        _ => any(1, &Stay, between, log_density, z, work, rng),
    }
}

/// A path in an array.
fn fixed<T: Target, M: Move, const FRAMED: bool, const D: usize>(
    n: usize,
    inner: &M,
    between: Between<'_, T, FRAMED>,
    log_density: f64,
    z: &mut [f64],
    rng: &mut Rng,
) -> Result<Path, Error> {
    let mut at = [0.0; D];
    at.copy_from_slice(z);
    let mut work = Work::<[f64; D]>::fixed();
    let path = walk(n, inner, between, log_density, &mut at, &mut work, rng);
    z.copy_from_slice(&at);
    path
}

/// A path in a vector.
fn any<T: Target, M: Move, const FRAMED: bool>(
    n: usize,
    inner: &M,
    between: Between<'_, T, FRAMED>,
    log_density: f64,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
) -> Result<Path, Error> {
    walk(n, inner, between, log_density, z, work, rng)
}

/// The path itself.
#[inline]
fn walk<T: Target, M: Move, C: Coordinates, const FRAMED: bool>(
    n: usize,
    inner: &M,
    mut between: Between<'_, T, FRAMED>,
    log_density: f64,
    z: &mut C,
    work: &mut Work<C>,
    rng: &mut Rng,
) -> Result<Path, Error> {
    let mut point = Point {
        value: Ends {
            from: log_density,
            to: between.value_at_proposed_end(z.as_ref()),
        },
        at: z,
    };
    let mut tally = Tally::default();
    let mut sum = point.value.to - point.value.from;
    // Where the start has no mass at the proposed end, the sum is −∞ whatever comes after.
    if sum > f64::NEG_INFINITY {
        for i in 1..n {
            between.set(i, n);
            tally += inner.step(&mut between, &mut point, work, rng);
            sum += point.value.to - point.value.from;
        }
    }
    Ok(Path {
        mean_difference: sum / n as f64,
        end: point.value,
        inner: tally,
        evaluations: between.finish()?,
    })
}

/// The move that does not move.
struct Stay;

impl Move for Stay {
    fn step<D: FastDensity, C: Coordinates>(
        &self,
        _: &mut D,
        _: &mut Point<'_, C, D::Value>,
        _: &mut Work<C>,
        _: &mut Rng,
    ) -> Tally {
        Tally::default()
    }

    fn validate(&self, _: usize) -> Result<(), Error> {
        Ok(())
    }
}
