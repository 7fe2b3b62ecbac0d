//! The log densities at both ends of a drag, and what the ends weigh on the way.

use super::density::{Spread, Values};
use crate::random::selection::{Choice, Choose};

/// The log densities at both ends of a drag, at one z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends {
    /// At the current x.
    pub from: f64,
    /// At the proposed x*.
    pub to: f64,
}

impl Ends {
    /// What the ends weigh in ρᵢ of n.
    ///
    /// Each weight is computed from its own whole number (n − i, i), and products are summed without
    /// fusing: exchanging the ends and i with n − i gives the same bits.
    #[inline(always)]
    pub fn weights(i: usize, n: usize) -> Self {
        // One instruction where the integer has a sign, half a dozen where it has none.
        let float = |k: usize| k as i64 as f64;
        let share = 1.0 / float(n);
        Self {
            from: float(n - i) * share,
            to: float(i) * share,
        }
    }
}

impl Choose for Ends {
    #[inline(always)]
    fn choose(choice: Choice, new: Self, old: Self) -> Self {
        Self {
            from: f64::choose(choice, new.from, old.from),
            to: f64::choose(choice, new.to, old.to),
        }
    }
}

impl Spread for Ends {
    fn spread(self) -> Values {
        let mut values = Values::default();
        (values[0], values[1]) = (self.from, self.to);
        values
    }

    fn gather(values: Values) -> Self {
        Self {
            from: values[0],
            to: values[1],
        }
    }
}
