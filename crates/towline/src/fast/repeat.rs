//! Moves repeated under one density: what is done at fixed x.

use super::density::FastDensity;
use super::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;

/// Moves z in an array: returns the proposals and the value where it ends. A function of its own, for the reason that
/// [`path::in_array`](super::path::in_array) gives.
#[inline(never)]
pub(crate) fn in_array<F: FastDensity, M: Move, const D: usize>(
    times: usize,
    inner: &M,
    density: &mut F,
    start: F::Value,
    z: &mut [f64],
    rng: &mut Rng,
) -> (Tally, F::Value) {
    let mut at = [0.0; D];
    at.copy_from_slice(z);
    let mut point = Point {
        at: &mut at,
        value: start,
    };
    let tally = repeat(times, inner, density, &mut point, &mut Work::fixed(), rng);
    let end = point.value;
    z.copy_from_slice(&at);
    (tally, end)
}

/// The same in a vector.
pub(crate) fn in_vector<F: FastDensity, M: Move>(
    times: usize,
    inner: &M,
    density: &mut F,
    start: F::Value,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
) -> (Tally, F::Value) {
    let mut point = Point {
        at: z,
        value: start,
    };
    let tally = repeat(times, inner, density, &mut point, work, rng);
    (tally, point.value)
}

#[inline(always)]
fn repeat<F: FastDensity, M: Move, C: Storage>(
    times: usize,
    inner: &M,
    density: &mut F,
    point: &mut Point<'_, C, F::Value>,
    work: &mut Work<C>,
    generator: &mut Rng,
) -> Tally {
    // A copy of its own, as in `path::walk`.
    let mut rng = generator.clone();
    let mut tally = Tally::default();
    for _ in 0..times {
        tally += inner.step(density, point, work, &mut rng);
    }
    *generator = rng;
    tally
}
