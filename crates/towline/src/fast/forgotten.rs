//! A density whose type is forgotten: the rarer moves run on it, so that they are compiled once, and not again for every target.

use super::density::{FastDensity, Nested, Spread, Values, Way};
use crate::random::selection::Choose;

/// What a move asks of a density of whatever type.
trait Asked<V> {
    fn value_at(&mut self, y: &[f64]) -> V;
    fn log_of(&self, value: V) -> f64;
    fn gradient_at(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<V>;
    fn nested(&mut self, at: &[f64], head: &[f64]) -> ForgottenWay<'_>;
}

impl<D: FastDensity> Asked<D::Value> for D {
    fn value_at(&mut self, y: &[f64]) -> D::Value {
        self.value(y)
    }

    fn log_of(&self, value: D::Value) -> f64 {
        self.log(value)
    }

    fn gradient_at(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<D::Value> {
        self.gradient(y, gradient)
    }

    fn nested(&mut self, at: &[f64], head: &[f64]) -> ForgottenWay<'_> {
        ForgottenWay(Box::new(self.nest(at, head)))
    }
}

/// What a nested drag asks of its way, of whatever type.
trait AskedOnTheWay: Asked<Values> {
    fn set_to(&mut self, i: usize, n: usize);
    fn difference_of(&self, value: Values) -> f64;
    fn begin(&mut self, known: Values, rest: &[f64]) -> Values;
    fn opened(&mut self);
    fn arrived_at(&self, values: Values) -> Values;
    fn settled(self: Box<Self>, accepted: bool);
}

impl<N: Nested> AskedOnTheWay for N {
    fn set_to(&mut self, i: usize, n: usize) {
        self.set(i, n);
    }

    fn difference_of(&self, value: Values) -> f64 {
        self.difference(value)
    }

    fn begin(&mut self, known: Values, rest: &[f64]) -> Values {
        self.start(known, rest)
    }

    fn opened(&mut self) {
        self.open();
    }

    fn arrived_at(&self, values: Values) -> Values {
        self.arrived(values)
    }

    fn settled(self: Box<Self>, accepted: bool) {
        self.settle(accepted);
    }
}

/// A density whose type is forgotten, to the same bits: the arithmetic stays its own.
pub(crate) struct Forgotten<'a, V>(&'a mut dyn Asked<V>);

impl<'a, V> Forgotten<'a, V> {
    /// This density.
    pub fn new(density: &'a mut impl FastDensity<Value = V>) -> Self {
        Self(density)
    }
}

impl<V: Choose + Spread> FastDensity for Forgotten<'_, V> {
    type Value = V;
    type Nested<'n>
        = ForgottenWay<'n>
    where
        Self: 'n;

    fn value(&mut self, y: &[f64]) -> V {
        self.0.value_at(y)
    }

    fn log(&self, value: V) -> f64 {
        self.0.log_of(value)
    }

    fn gradient(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<V> {
        self.0.gradient_at(y, gradient)
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> ForgottenWay<'_> {
        self.0.nested(at, head)
    }
}

/// The way of a nested drag, its type forgotten too. In a box: a way is made of vectors anyhow.
pub(crate) struct ForgottenWay<'a>(Box<dyn AskedOnTheWay + 'a>);

impl FastDensity for ForgottenWay<'_> {
    type Value = Values;
    type Nested<'n>
        = ForgottenWay<'n>
    where
        Self: 'n;

    fn value(&mut self, rest: &[f64]) -> Values {
        self.0.value_at(rest)
    }

    fn log(&self, value: Values) -> f64 {
        self.0.log_of(value)
    }

    fn gradient(&mut self, rest: &[f64], gradient: &mut [f64]) -> Option<Values> {
        self.0.gradient_at(rest, gradient)
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> ForgottenWay<'_> {
        self.0.nested(at, head)
    }
}

impl Way for ForgottenWay<'_> {
    fn set(&mut self, i: usize, n: usize) {
        self.0.set_to(i, n);
    }

    fn difference(&self, value: Values) -> f64 {
        self.0.difference_of(value)
    }
}

impl Nested for ForgottenWay<'_> {
    fn start(&mut self, known: Values, rest: &[f64]) -> Values {
        self.0.begin(known, rest)
    }

    fn open(&mut self) {
        self.0.opened();
    }

    fn arrived(&self, values: Values) -> Values {
        self.0.arrived_at(values)
    }

    fn settle(self, accepted: bool) {
        self.0.settled(accepted);
    }
}
