//! Slice sampling along one coordinate, by stepping out and shrinkage (Neal 2003, figures 3 and 5).

use super::{check_dim, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// A slice along a coordinate chosen at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    widths: Vec<f64>,
    most_steps: usize,
}

/// How often the first interval may be widened by default: a slice 100 widths long is a width set badly.
const MOST_STEPS: usize = 100;

impl Slice {
    /// Slices whose first interval has these widths, one for each fast variable.
    pub fn new(widths: Vec<f64>) -> Self {
        Self {
            widths,
            most_steps: MOST_STEPS,
        }
    }

    /// The same, but with no more than this many widths in the interval (at least 1).
    #[must_use]
    pub fn with_most_steps(mut self, most_steps: usize) -> Self {
        self.most_steps = most_steps;
        self
    }
}

impl Move for Slice {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        _: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let k = rng.index(self.widths.len());
        let (start, width) = (point.at.as_ref()[k], self.widths[k]);
        let mut height = rng.height(density.log(point.value));
        let mut look = |y: f64, rng: &mut Rng| {
            point.at.as_mut()[k] = y;
            let value = density.value(point.at.as_ref());
            (value, rng.above(&mut height, density.log(value)))
        };

        // Stepping out, with the allowed steps shared at random between the two sides: without that
        // share an interval of limited length would not be reversible.
        let mut low = rng.around(start, width);
        let mut high = low + width;
        let steps_down = rng.index(self.most_steps);
        let steps_up = self.most_steps - 1 - steps_down;
        for _ in 0..steps_down {
            if !look(low, rng).1 {
                break;
            }
            low -= width;
        }
        for _ in 0..steps_up {
            if !look(high, rng).1 {
                break;
            }
            high += width;
        }

        // Shrinkage towards the start, which is always inside.
        let (mut trials, mut moved) = (0, false);
        loop {
            let trial = rng.between(low, high);
            // An interval shrunk to the start itself (or a density that changes under rounding):
            // staying is right, and the only thing left to do.
            let open = low < high;
            if trial == start || !open {
                point.at.as_mut()[k] = start;
                break;
            }
            let (value, inside) = look(trial, rng);
            trials += 1;
            if inside {
                point.value = value;
                moved = true;
                break;
            }
            if trial < start {
                low = trial;
            } else {
                high = trial;
            }
        }
        Tally {
            proposed: trials.max(1),
            accepted: u64::from(moved),
        }
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_dim("the list of slice widths", self.widths.len(), dim)?;
        if self.most_steps == 0 {
            return Err(Error::Setting {
                what: "the most steps of a slice",
                value: 0.0,
                expected: "at least 1",
            });
        }
        self.widths
            .iter()
            .try_for_each(|&width| check_positive("a slice width", width))
    }
}
