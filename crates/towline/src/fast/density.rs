//! What a fast move sees of a target: a density over y, and nothing else.

use crate::random::selection::Choose;

/// A density over y whose evaluations may carry more than its logarithm.
///
/// While dragging, one evaluation returns the log density at both ends, from which the logarithm of
/// the intermediate density follows. A move cannot tell: it can only ask for [`log`](Self::log).
/// That is why it satisfies the paper's symmetry condition whatever it does.
pub(crate) trait FastDensity {
    /// What an evaluation returns.
    type Value: Choose + Spread;

    /// The density of the variables that come after the leading ones: see [`nest`](Self::nest).
    type Nested<'n>: Nested
    where
        Self: 'n;

    /// Evaluates at `y`.
    fn value(&mut self, y: &[f64]) -> Self::Value;

    /// The logarithm of the density where it had this value.
    fn log(&self, value: Self::Value) -> f64;

    /// Evaluates at `y` with the gradient; `None` where the target gives none.
    fn gradient(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<Self::Value>;

    /// The density of the variables that come after the leading ones, on the way from where those are
    /// in `at` to where they are proposed to be in `head`: for a nested drag.
    ///
    /// # Panics
    /// Where a density without a model is handed a nested drag.
    fn nest(&mut self, at: &[f64], head: &[f64]) -> Self::Nested<'_> {
        let _ = (at, head);
        unreachable!("a density without a model has no blocks to nest")
    }
}

/// A density on the way between two ends.
pub(crate) trait Way: FastDensity {
    /// Makes this ρᵢ of n.
    fn set(&mut self, i: usize, n: usize);

    /// How much higher the log density is at the proposed end.
    fn difference(&self, value: Self::Value) -> f64;
}

/// A way of which the ends are two values of the leading variables of another density: what a nested drag runs on.
pub(crate) trait Nested: Way<Value = Values> {
    /// The values where a nested path starts, of which those at present are known to the outer density.
    fn start(&mut self, known: Values, rest: &[f64]) -> Values;

    /// Called before the first inner move.
    fn open(&mut self);

    /// The outer density's value where a nested path arrived.
    fn arrived(&self, values: Values) -> Values;

    /// Keeps what was computed for the side where the point now is.
    fn settle(self, accepted: bool);
}

/// How deep nested drags may go: four speeds below the slow one.
pub(crate) const DEEPEST: usize = 3;

/// The most points at which one value is evaluated: both ends of a drag, and both values of every
/// nested block.
pub(crate) const MOST_CORNERS: usize = 2 << DEEPEST;

/// The log densities at all corners, padded with zeros.
pub(crate) type Values = [f64; MOST_CORNERS];

/// A value as the plain log densities that it is made of.
pub(crate) trait Spread {
    /// As a list.
    fn spread(self) -> Values;
    /// From such a list.
    fn gather(values: Values) -> Self;
}

impl Spread for Values {
    fn spread(self) -> Values {
        self
    }

    fn gather(values: Values) -> Self {
        values
    }
}

impl Spread for f64 {
    fn spread(self) -> Values {
        let mut values = Values::default();
        values[0] = self;
        values
    }

    fn gather(values: Values) -> Self {
        values[0]
    }
}

/// The nested density of one that has no model, such as a surrogate's: there is none.
#[derive(Debug)]
pub(crate) enum NoModel {}

impl FastDensity for NoModel {
    type Value = Values;
    type Nested<'n> = NoModel;

    fn value(&mut self, _: &[f64]) -> Values {
        match *self {}
    }

    fn log(&self, _: Values) -> f64 {
        match *self {}
    }

    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Option<Values> {
        match *self {}
    }
}

impl Way for NoModel {
    fn set(&mut self, _: usize, _: usize) {
        match *self {}
    }

    fn difference(&self, _: Values) -> f64 {
        match *self {}
    }
}

impl Nested for NoModel {
    fn start(&mut self, _: Values, _: &[f64]) -> Values {
        match *self {}
    }

    fn open(&mut self) {
        match *self {}
    }

    fn arrived(&self, _: Values) -> Values {
        match *self {}
    }

    fn settle(self, _: bool) {
        match self {}
    }
}
