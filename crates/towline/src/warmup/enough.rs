//! When to stop learning: as soon as another batch of visits is predicted to cost more slow evaluations than it can save.

use super::explore::Errors;
use super::limits::enough::{
    DRAWS, FEW, FEW_NEED, FIRST, FIRST_EACH, IN_A_ROW, IN_A_ROW_OF_WEIGHTS, LARGEST_ERROR,
    LOST_EACH, MARGIN, SMALL_ERROR, SMALL_ERROR_OF_WEIGHTS,
};
use super::limits::explore::BATCH_SHARE;
use super::limits::start::FORETOLD_OF_WEIGHTS;
use crate::optimise::surface::FORETOLD;

/// The slow points that are weighed at least.
pub(crate) fn fewest_points(slow: usize) -> usize {
    FIRST + FIRST_EACH * slow
}

/// A predicted number of points, and some more.
pub(crate) fn with_margin(points: f64) -> f64 {
    MARGIN * points
}

/// What the fit is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Aim {
    /// The proposals of chains, whose draws have yet to be made.
    Draws,
    /// Slow points that are weighed to this standard error.
    Error(f64),
}

impl Aim {
    /// Whether a fit that predicted a batch of so many visits this well is good enough.
    pub fn is_reached(self, errors: Errors, batch: usize, p: usize) -> bool {
        let (error, batch) = (errors.all, batch as f64);
        let (small, pays) = match self {
            Aim::Draws => {
                // Errors fall at best with the root of the visits, and proposals are rejected in proportion to them.
                let gained = 0.5 * BATCH_SHARE * error;
                (SMALL_ERROR, LOST_EACH * gained * DRAWS > batch)
            }
            // The sd of the log weights is about this error; no fit is so good that fewer than the fewest would do.
            Aim::Error(asked) => {
                let saved =
                    with_margin(FEW_NEED * (error / asked).powi(2)) - fewest_points(p) as f64;
                (SMALL_ERROR_OF_WEIGHTS, saved > batch)
            }
        };
        // A claim of mass where there is none costs rejections; mass that is not seen holds chains where it is.
        let seen = errors.missed <= SMALL_ERROR;
        error <= small || error <= LARGEST_ERROR && seen && !pays
    }

    /// Whether visits are spared: a batch for several slow variables costs as much as the points that are weighed after it. A fit that was good
    /// by chance then shows itself in the weights, and is weighed on; what chains miss nobody sees.
    pub fn spares(self, p: usize) -> bool {
        self != Aim::Draws && p > FEW
    }

    /// How well a parabola must have foretold the height at its top for the search to end there.
    pub fn foretold(self, p: usize) -> f64 {
        match self.spares(p) {
            false => FORETOLD,
            true => FORETOLD_OF_WEIGHTS,
        }
    }

    /// Batches in a row that must be predicted so well.
    pub fn in_a_row(self, p: usize) -> usize {
        match self.spares(p) {
            false => IN_A_ROW,
            true => IN_A_ROW_OF_WEIGHTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(all: f64) -> Errors {
        Errors { all, missed: 0.2 }
    }

    #[test]
    fn learning_ends_when_a_batch_costs_more_than_it_saves() {
        // Six slow variables: 60 points are the fewest. An error of 0.25 asks for 72 of them at 0.05, and for 200 at 0.03.
        assert!(Aim::Error(0.05).is_reached(off(0.25), 26, 6));
        assert!(!Aim::Error(0.03).is_reached(off(0.25), 26, 6));
        assert!(!Aim::Error(0.2).is_reached(off(0.6), 26, 6));
        // The smallest error is enough whatever is asked: below it fits gain little.
        assert!(Aim::Error(0.001).is_reached(off(0.1), 26, 6));
        // A tenth less of 0.35, of which 0.56 are rejections: 78 of 4,000 draws.
        assert!(!Aim::Draws.is_reached(off(0.35), 77, 6));
        assert!(Aim::Draws.is_reached(off(0.35), 79, 6));
        assert!(!Aim::Draws.is_reached(off(0.41), 1000, 6));
        assert!(Aim::Draws.is_reached(off(0.24), 8, 1));
        let unseen = Errors {
            all: 0.35,
            missed: 0.3,
        };
        assert!(!Aim::Draws.is_reached(unseen, 1000, 6));
    }
}
