//! The path of a drag: z₀ … zₙ₋₁ through the intermediate distributions between two ends.

use super::density::{FastDensity, Way};
use super::ends::Ends;
use super::ledger::Spent;
use super::nested::refine::Kept;
use super::step::{Move, Point, Storage, Tally, Work};
use crate::error::Error;
use crate::random::Rng;
use std::cell::RefCell;

/// What a path leaves behind, besides its last point.
#[derive(Debug)]
pub(crate) struct Path<C> {
    /// (1/n) Σᵢ₌₀ⁿ⁻¹ [ℓ(x*, zᵢ) − ℓ(x, zᵢ)].
    pub mean_difference: f64,
    /// The log densities at both ends of the last point.
    pub end: Ends,
    /// Proposals of the inner moves.
    pub inner: Tally,
    /// Evaluations spent.
    pub spent: Spent,
    /// The refined caches of the last point at both ends, where nested moves made some.
    pub kept: [Kept<C>; 2],
}

/// A path in an array: returns its mean difference, its proposals and the value of its last point.
///
/// A function of its own, in which nothing is dropped: the compiler then keeps y and its log densities in
/// registers. Where it must be ready to clean up after a panic it does not, which costs 3 ns a step.
#[inline(never)]
pub(crate) fn in_array<W: Way, M: Move, const D: usize>(
    n: usize,
    inner: &M,
    way: &mut W,
    start: W::Value,
    z: &mut [f64],
    rng: &mut Rng,
) -> (f64, Tally, W::Value) {
    let mut at = [0.0; D];
    at.copy_from_slice(z);
    let mut point = Point {
        at: &mut at,
        value: start,
    };
    let (mean_difference, tally) = walk(n, inner, way, &mut point, &mut Work::fixed(), rng);
    let end = point.value;
    z.copy_from_slice(&at);
    (mean_difference, tally, end)
}

/// The same in a vector.
#[inline(never)]
pub(crate) fn in_vector<W: Way, M: Move>(
    n: usize,
    inner: &M,
    way: &mut W,
    start: W::Value,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
) -> (f64, Tally, W::Value) {
    let mut point = Point {
        at: z,
        value: start,
    };
    let (mean_difference, tally) = walk(n, inner, way, &mut point, work, rng);
    (mean_difference, tally, point.value)
}

/// The path itself: returns the mean difference along it, and counts the proposals.
///
/// Inlined whatever the compiler thinks: only then does the point stay in registers.
#[inline(always)]
pub(crate) fn walk<W: Way, M: Move, C: Storage>(
    n: usize,
    inner: &M,
    way: &mut W,
    point: &mut Point<'_, C, W::Value>,
    work: &mut Work<C>,
    generator: &mut Rng,
) -> (f64, Tally) {
    // A copy of its own, which nobody else can see, is cheaper to work with.
    let mut rng = generator.clone();
    let mut tally = Tally::default();
    let mut sum = way.difference(point.value);
    // Where the start has no mass at the proposed end, the sum is −∞ whatever comes after.
    if sum > f64::NEG_INFINITY {
        for i in 1..n {
            way.set(i, n);
            tally += inner.step(way, point, work, &mut rng);
            sum += way.difference(point.value);
        }
    }
    *generator = rng;
    (sum / n as f64, tally)
}

/// A move that notes where it leaves the point: for those who want to see a path, not only its end.
pub(crate) struct Noted<'a, M> {
    pub inner: &'a M,
    /// The points after each step, one after another.
    pub seen: &'a RefCell<Vec<f64>>,
}

impl<M: Move> Move for Noted<'_, M> {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let tally = self.inner.step(density, point, work, rng);
        self.seen.borrow_mut().extend_from_slice(point.at.as_ref());
        tally
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        self.inner.validate(dim)
    }
}

/// The move that does not move.
pub(crate) struct Stay;

impl Move for Stay {
    fn step<D: FastDensity, C: Storage>(
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
