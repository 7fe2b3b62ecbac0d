//! What a fast move sees of a target: a density over y, and nothing else.

use crate::error::{Error, ModelError};
use crate::fast::nested::corners::{Corners, Place, Values};
use crate::fast::nested::refine::Refined;
use crate::frame::Frame;
use crate::kernel::state::Slow;
use crate::random::selection::{Choice, Choose};
use crate::target::{Scratch, Target};
use std::cell::RefCell;
use std::convert::Infallible;

/// A density over y whose evaluations may carry more than its logarithm.
///
/// While dragging, one evaluation answers the log density at both ends, from which the logarithm of
/// the intermediate density follows. A move cannot tell: it can only ask for [`log`](Self::log).
/// That is why it satisfies the paper's symmetry condition whatever it does.
pub(crate) trait FastDensity {
    /// What an evaluation answers.
    type Value: Choose + Spread;

    /// What is evaluated. A move cannot reach it.
    type Model: Target;

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
    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, Self::Model> {
        let _ = (at, head);
        unreachable!("a density without a model has no blocks to nest")
    }
}

/// The model of a density that has none, such as a surrogate's.
#[derive(Debug)]
pub(crate) enum NoModel {}

impl Target for NoModel {
    type Cache = Infallible;

    fn prepare(&self, _: &[f64]) -> Result<Option<Infallible>, ModelError> {
        match *self {}
    }

    fn log_density(&self, _: &Infallible, _: &[f64]) -> f64 {
        match *self {}
    }
}

/// A density on the way between two ends.
pub(crate) trait Way: FastDensity {
    /// Makes this ρᵢ of n.
    fn set(&mut self, i: usize, n: usize);

    /// How much higher the log density is at the proposed end.
    fn difference(&self, value: Self::Value) -> f64;
}

/// A value as the plain log densities that it is made of.
pub(crate) trait Spread {
    /// As a list.
    fn spread(self) -> Values;
    /// From such a list.
    fn gather(values: Values) -> Self;
}

/// Evaluations spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub medium: u64,
    pub fast: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.medium += other.medium;
        self.fast += other.fast;
    }
}

/// What a density has to account for when it is done.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub spent: Spent,
    /// The first failure of a nested move's density.
    pub failure: Option<Error>,
}

impl Ledger {
    /// Notes a log density that is neither a number nor −∞.
    pub fn check(&mut self, x: &[f64], y: &[f64], value: f64) {
        if value.is_nan() || value == f64::INFINITY {
            self.failure.get_or_insert_with(|| Error::NotANumber {
                x: x.to_vec(),
                y: y.to_vec(),
                value,
            });
        }
    }

    /// What was spent, or the failure.
    pub fn close(self) -> Result<Spent, Error> {
        self.failure.map_or(Ok(self.spent), Err)
    }
}

/// What a density needs to work with: a model's scratch, and room for y when moves see z.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers {
    pub scratch: Scratch,
    pub y: Vec<f64>,
    /// Where [`Between`] met what may be no number.
    pub suspect: Vec<f64>,
    pub gradient: Vec<f64>,
    pub other_gradient: Vec<f64>,
    /// Many y, one after another.
    pub ys: Vec<f64>,
    /// Their log densities at both ends.
    pub logs: [Vec<f64>; 2],
}

impl Buffers {
    pub fn new(fast_dim: usize) -> Self {
        Self {
            scratch: Scratch::default(),
            y: vec![0.0; fast_dim],
            suspect: vec![0.0; fast_dim],
            gradient: vec![0.0; fast_dim],
            other_gradient: vec![0.0; fast_dim],
            ys: Vec::new(),
            logs: Default::default(),
        }
    }
}

/// A log density that is neither a number nor −∞, and where it was met.
#[derive(Debug, Clone)]
struct Fault {
    y: Vec<f64>,
    value: f64,
}

/// The target at one x, seen in a frame: a density over z.
pub(crate) struct End<'a, T: Target> {
    target: &'a T,
    slow: &'a Slow<T::Cache>,
    frame: &'a Frame,
    fault: Option<Fault>,
    /// The refined cache of the start, for nested moves.
    kept: Option<&'a Refined<T::Cache>>,
    /// The refined cache of where the nested moves have come, where that is elsewhere.
    current: RefCell<Option<Box<Refined<T::Cache>>>>,
}

impl<'a, T: Target> End<'a, T> {
    pub fn new(target: &'a T, slow: &'a Slow<T::Cache>, frame: &'a Frame) -> Self {
        Self {
            target,
            slow,
            frame,
            fault: None,
            kept: slow.kept.as_deref(),
            current: RefCell::default(),
        }
    }

    /// The same with another start's refined cache.
    pub fn keeping(mut self, kept: Option<&'a Refined<T::Cache>>) -> Self {
        self.kept = kept;
        self
    }

    /// Where nested moves start from.
    fn place(&self) -> Place<'_, T::Cache> {
        Place {
            x: &self.slow.x,
            frame: self.frame,
            cache: &self.slow.cache,
            held: &[],
            kept: self.kept,
            current: &self.current,
        }
    }

    /// ℓ(x, y) at the start, by its refined cache if it has one.
    fn log_density_at_start(&mut self, z: &[f64], buffers: &mut Buffers) -> f64 {
        let Buffers { scratch, y, .. } = buffers;
        self.frame.to_y(z, y);
        let kept = self
            .kept
            .filter(|kept| y.get(..kept.head.len()).is_some_and(|y| kept.serves(y)));
        let cache = kept.map_or(&self.slow.cache, |kept| &kept.cache);
        let value = self.target.log_density_in(cache, y, scratch);
        if value.is_nan() || value == f64::INFINITY {
            self.note(&buffers.y, value);
        }
        value
    }

    /// ℓ(x, y) at many z, one after another, by one call of the target.
    fn log_densities<const FRAMED: bool>(
        &mut self,
        zs: &[f64],
        out: &mut [f64],
        ys: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) {
        let dim = zs.len() / out.len();
        let ys = if FRAMED {
            ys.resize(zs.len(), 0.0);
            for (z, y) in zs.chunks_exact(dim).zip(ys.chunks_exact_mut(dim)) {
                self.frame.to_y(z, y);
            }
            &ys[..]
        } else {
            zs
        };
        self.target
            .log_density_batch(&self.slow.cache, ys, out, scratch);
        for (&value, y) in out.iter().zip(ys.chunks_exact(dim)) {
            if value.is_nan() || value == f64::INFINITY {
                self.note(y, value);
            }
        }
    }

    /// ℓ(x, y) where z is y in this end's frame. The frame's determinant is the caller's to add,
    /// once, since it is the same for every z.
    #[inline]
    fn log_density<const FRAMED: bool>(&mut self, z: &[f64], buffers: &mut Buffers) -> f64 {
        let value = self.unchecked::<FRAMED>(z, buffers);
        // One comparison for both: false for every number and for −∞.
        if value.is_nan() || value == f64::INFINITY {
            let y = if FRAMED { &buffers.y } else { z };
            self.note(y, value);
        }
        value
    }

    /// The same, for a caller that looks for NaN and +∞ itself.
    #[inline(always)]
    fn unchecked<const FRAMED: bool>(&self, z: &[f64], buffers: &mut Buffers) -> f64 {
        let Self { target, slow, .. } = self;
        if FRAMED {
            self.frame.to_y(z, &mut buffers.y);
            target.log_density_in(&slow.cache, &buffers.y, &mut buffers.scratch)
        } else {
            target.log_density_in(&slow.cache, z, &mut buffers.scratch)
        }
    }

    fn gradient<const FRAMED: bool>(
        &mut self,
        z: &[f64],
        gradient: &mut [f64],
        buffers: &mut Buffers,
    ) -> Option<f64> {
        let Buffers {
            scratch,
            y,
            gradient: by_y,
            ..
        } = buffers;
        let value = if FRAMED {
            self.frame.to_y(z, y);
            let value = self.target.gradient(&self.slow.cache, y, by_y, scratch)?;
            self.frame.gradient_to_z(by_y, gradient);
            value
        } else {
            self.target
                .gradient(&self.slow.cache, z, gradient, scratch)?
        };
        if value.is_nan() || value == f64::INFINITY {
            let y = if FRAMED { &y[..] } else { z };
            self.note(y, value);
        }
        Some(value)
    }

    #[cold]
    fn note(&mut self, y: &[f64], value: f64) {
        // Fast moves may run off to infinity on their way; only the model's answer at a point is its own.
        self.fault.get_or_insert_with(|| Fault {
            y: y.to_vec(),
            value,
        });
    }

    /// The refined cache of where nested moves ended, if they moved; or the fault met on the way.
    fn check(self) -> Result<Option<Box<Refined<T::Cache>>>, Error> {
        match self.fault {
            None => Ok(self.current.into_inner()),
            Some(fault) => Err(Error::NotANumber {
                x: self.slow.x.clone(),
                y: fault.y,
                value: fault.value,
            }),
        }
    }
}

/// The conditional density of y (or z) at one x.
pub(crate) struct Conditional<'a, T: Target> {
    end: End<'a, T>,
    buffers: &'a mut Buffers,
    ledger: Ledger,
}

/// What a density leaves behind: evaluations spent, and the refined caches of where nested moves ended.
pub(crate) struct Left<K> {
    pub spent: Spent,
    pub kept: K,
}

/// A refined cache, if there is one.
pub(crate) type Kept<C> = Option<Box<Refined<C>>>;

impl<'a, T: Target> Conditional<'a, T> {
    pub fn new(end: End<'a, T>, buffers: &'a mut Buffers) -> Self {
        Self {
            end,
            buffers,
            ledger: Ledger::default(),
        }
    }

    /// What it leaves behind, or the fault met in an evaluation.
    pub fn finish(self) -> Result<Left<Kept<T::Cache>>, Error> {
        Ok(Left {
            kept: self.end.check()?,
            spent: self.ledger.close()?,
        })
    }
}

impl<T: Target> FastDensity for Conditional<'_, T> {
    type Value = f64;
    type Model = T;

    #[inline]
    fn value(&mut self, z: &[f64]) -> f64 {
        self.ledger.spent.fast += 1;
        self.end.log_density::<true>(z, self.buffers)
    }

    #[inline]
    fn log(&self, value: f64) -> f64 {
        value
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.ledger.spent.fast += 1;
        self.end.gradient::<true>(z, gradient, self.buffers)
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, T> {
        let places = std::iter::once(&self.end).map(|end| (end.place(), 1.0));
        Corners::new(
            self.end.target,
            places,
            at,
            head,
            &mut self.ledger,
            self.buffers,
        )
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

/// The intermediate density ρᵢ between two ends (the paper's equation 11).
pub(crate) struct Between<'a, T: Target, const FRAMED: bool> {
    from: End<'a, T>,
    to: End<'a, T>,
    buffers: &'a mut Buffers,
    weights: Ends,
    /// Whether there is a point in `buffers.suspect`.
    suspected: bool,
    ledger: Ledger,
}

impl<'a, T: Target, const FRAMED: bool> Between<'a, T, FRAMED> {
    pub fn new(from: End<'a, T>, to: End<'a, T>, buffers: &'a mut Buffers) -> Self {
        Self {
            from,
            to,
            buffers,
            weights: Ends { from: 0.5, to: 0.5 },
            suspected: false,
            ledger: Ledger::default(),
        }
    }

    /// Makes this ρᵢ of n.
    #[inline]
    pub fn set(&mut self, i: usize, n: usize) {
        self.weights = Ends::weights(i, n);
    }

    /// The proposed end alone, at z: what is needed at the start, where the current end is known.
    pub fn value_at_proposed_end(&mut self, z: &[f64]) -> f64 {
        self.ledger.spent.fast += 1;
        self.to.log_density_at_start(z, self.buffers)
    }

    /// Evaluates at many z, one after another, by one call of the target for each end.
    pub fn values(&mut self, zs: &[f64], out: &mut [Ends]) {
        self.ledger.spent.fast += 2 * out.len() as u64;
        let Buffers {
            scratch, ys, logs, ..
        } = &mut *self.buffers;
        for (end, logs) in [&mut self.from, &mut self.to].into_iter().zip(&mut *logs) {
            logs.resize(out.len(), 0.0);
            end.log_densities::<FRAMED>(zs, logs, ys, scratch);
        }
        for ((value, &from), &to) in out.iter_mut().zip(&logs[0]).zip(&logs[1]) {
            *value = Ends { from, to };
        }
    }

    /// What it leaves behind, or the fault met in an evaluation.
    pub fn finish(mut self) -> Result<Left<[Kept<T::Cache>; 2]>, Error> {
        if self.suspected {
            self.suspected = false;
            // The ends look more closely, and note what they find.
            let z = std::mem::take(&mut self.buffers.suspect);
            self.from.log_density::<FRAMED>(&z, self.buffers);
            self.to.log_density::<FRAMED>(&z, self.buffers);
            self.buffers.suspect = z;
        }
        Ok(Left {
            kept: [self.from.check()?, self.to.check()?],
            spent: self.ledger.close()?,
        })
    }
}

impl<T: Target, const FRAMED: bool> Way for Between<'_, T, FRAMED> {
    #[inline(always)]
    fn set(&mut self, i: usize, n: usize) {
        Between::set(self, i, n);
    }

    #[inline(always)]
    fn difference(&self, value: Ends) -> f64 {
        value.to - value.from
    }
}

impl<T: Target, const FRAMED: bool> FastDensity for Between<'_, T, FRAMED> {
    type Value = Ends;
    type Model = T;

    #[inline(always)]
    fn value(&mut self, z: &[f64]) -> Ends {
        self.ledger.spent.fast += 2;
        let ends = Ends {
            from: self.from.unchecked::<FRAMED>(z, self.buffers),
            to: self.to.unchecked::<FRAMED>(z, self.buffers),
        };
        // With both weights positive, the sum is a number or −∞ just where both ends are (unless it
        // overflows: a false alarm). Here the point is only stored: a function to note it would, even if
        // never called, cost a cheap step a quarter of its time.
        let sound = self.log(ends) < f64::INFINITY;
        if !sound {
            self.buffers.suspect.copy_from_slice(z);
            self.suspected = true;
        }
        ends
    }

    #[inline(always)]
    fn log(&self, value: Ends) -> f64 {
        self.weights.from * value.from + self.weights.to * value.to
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<Ends> {
        self.ledger.spent.fast += 2;
        let from = self.from.gradient::<FRAMED>(z, gradient, self.buffers)?;
        let mut other = std::mem::take(&mut self.buffers.other_gradient);
        let to = self.to.gradient::<FRAMED>(z, &mut other, self.buffers);
        for (g, other) in gradient.iter_mut().zip(&other) {
            *g = self.weights.from * *g + self.weights.to * other;
        }
        self.buffers.other_gradient = other;
        to.map(|to| Ends { from, to })
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, T> {
        let ends = [(&self.from, self.weights.from), (&self.to, self.weights.to)];
        Corners::new(
            self.from.target,
            ends.into_iter().map(|(end, weight)| (end.place(), weight)),
            at,
            head,
            &mut self.ledger,
            self.buffers,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::state::prepare;

    /// Whatever y is told to be.
    struct Echo;

    impl Target for Echo {
        type Cache = f64;

        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(x[0]))
        }

        fn log_density(&self, sign: &f64, y: &[f64]) -> f64 {
            if *sign > 0.0 { y[0] } else { -1.0 }
        }
    }

    /// What a density between x = −1, where all is well, and x = 1 says after one evaluation.
    fn after(i: usize, answer: f64) -> Result<u64, Error> {
        let slow = |x| prepare(&Echo, &[x]).unwrap().unwrap();
        let (good, told, mut buffers) = (slow(-1.0), slow(1.0), Buffers::new(1));
        let end = |slow| End::new(&Echo, slow, &Frame::Identity);
        let mut between = Between::<_, false>::new(end(&good), end(&told), &mut buffers);
        between.set(i, 4);
        between.value(&[answer]);
        between.finish().map(|left| left.spent.fast)
    }

    #[test]
    fn what_is_no_number_is_reported_with_its_point() {
        for answer in [f64::NAN, f64::INFINITY] {
            let error = after(1, answer).unwrap_err();
            let Error::NotANumber { x, y, value } = error else {
                panic!("{error}");
            };
            assert_eq!(x, [1.0]);
            assert_eq!([y[0], value].map(f64::to_bits), [answer.to_bits(); 2]);
        }
    }

    #[test]
    fn a_false_alarm_is_not_reported() {
        // Zero times −∞ is no number, though both ends answered as they may.
        assert_eq!(after(0, f64::NEG_INFINITY).unwrap(), 2);
        assert_eq!(after(1, f64::NEG_INFINITY).unwrap(), 2);
        assert_eq!(after(1, f64::MAX).unwrap(), 2);
    }
}
