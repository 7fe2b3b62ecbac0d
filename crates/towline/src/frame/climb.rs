//! The climb to the mode of the conditional at one x, with its curvature: in arrays where there are one or two variables.

use super::slope::{Origin, Slope};
use super::view::{Few, View};
use crate::linalg::{Factor, Storage};
use crate::optimise::newton::{Newton, STEP};
use crate::target::{Scratch, Target};

/// The first difference step, in units of the learned width of the conditional: about what the climb
/// itself settles on.
pub(super) const FIRST_STEP: f64 = 0.3;

/// The memory of a search for a frame, used again by the next one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    one: Newton<[f64; 1], [f64; 1]>,
    two: Newton<[f64; 2], [f64; 4]>,
    many: Newton,
    /// Where the search begins.
    pub(super) centre: Vec<f64>,
    /// y at some place of the search; in the end, the mode.
    pub(super) y: Vec<f64>,
    /// The curvature at the mode, row by row.
    pub(super) rows: Vec<f64>,
    /// Zeros, at which a search in the learned units begins, and its first difference steps.
    pub(super) origin: Vec<f64>,
    steps: Vec<f64>,
}

impl Room {
    /// Makes room for so many variables.
    pub(super) fn fit(&mut self, dim: usize) {
        self.y.fit(dim);
        if self.steps.len() != dim {
            self.steps = vec![FIRST_STEP; dim];
            self.origin = vec![0.0; dim];
        }
    }
}

/// Climbs from `room.centre` in the units of this root: the height of the mode, if one is found, and the evaluations spent.
/// Leaves the mode in `room.y`, and its curvature in these units in `room.rows`.
pub(super) fn climb<T: Target>(
    target: &T,
    cache: &T::Cache,
    root: &Factor,
    scratch: &mut Scratch,
    room: &mut Room,
) -> (Option<f64>, u64) {
    let Room {
        one,
        two,
        many,
        centre,
        y,
        rows,
        origin,
        steps,
    } = room;
    let begin = Origin { centre, root };
    let place = (target, cache, begin);
    if let Some(view) = Few::<1>::from_parts(centre, root) {
        let slope = Slope::new(place, view, scratch, y);
        in_room(slope, one, [&[0.0], &[FIRST_STEP]], rows)
    } else if let Some(view) = Few::<2>::from_parts(centre, root) {
        let slope = Slope::new(place, view, scratch, y);
        in_room(slope, two, [&[0.0; 2], &[FIRST_STEP; 2]], rows)
    } else {
        let slope = Slope::new(place, begin, scratch, y);
        in_room(slope, many, [origin, steps], rows)
    }
}

fn in_room<T: Target, V: View, A: Storage, M: Storage>(
    mut slope: Slope<'_, T, V>,
    newton: &mut Newton<A, M>,
    [start, steps]: [&[f64]; 2],
    rows: &mut Vec<f64>,
) -> (Option<f64>, u64) {
    let height = newton.climb(&mut slope, start, steps, STEP);
    if height.is_some() {
        slope.centre_at(newton.at());
        rows.copy(newton.curvature());
    }
    (height, slope.evaluations)
}
