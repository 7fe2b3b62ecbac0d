//! The density between two values of the leading fast variables: what a nested drag runs on.

use crate::fast::density::{FastDensity, MOST_CORNERS, Nested, Values, Way};
use crate::fast::ends::Ends;
use crate::fast::ledger::{Buffers, Ledger};
use crate::fast::nested::refine::{Refined, keeps_blocks, refine};
use crate::frame::Frame;
use crate::target::Target;
use std::cell::RefCell;

/// Where an outer density is evaluated: at one x, and at one value of each block held so far.
pub(crate) struct Place<'a, C> {
    pub x: &'a [f64],
    pub frame: &'a Frame,
    /// The cache that serves there whatever the variables are that are not yet held.
    pub cache: &'a C,
    /// The leading values of z held so far.
    pub held: &'a [f64],
    /// A refined cache that someone else keeps.
    pub kept: Option<&'a Refined<C>>,
    /// The refined cache of where the point is now, from one nested move to the next.
    pub current: &'a RefCell<Option<Box<Refined<C>>>>,
}

/// A refined cache in use.
enum Held<'a, C> {
    None,
    Own(Box<Refined<C>>),
    Kept(&'a Refined<C>),
}

/// A place with one more block held.
struct Corner<'a, C> {
    place: Place<'a, C>,
    refined: Held<'a, C>,
    /// Where the density was last evaluated; the first `held` values stay.
    z: Vec<f64>,
    held: usize,
    /// For nested moves inside nested moves.
    current: RefCell<Option<Box<Refined<C>>>>,
}

/// The intermediate density between an outer density at present and at proposed values of its leading
/// variables, over the rest of them.
///
/// The outer density is a weighted sum of log densities at its places (one x, or the two ends of a
/// drag; twice as many inside a nested drag), so this is one at twice as many corners, each of which
/// has its own refined cache.
pub(crate) struct Corners<'a, T: Target> {
    target: &'a T,
    /// At the present values, then, in the same order, at the proposed ones.
    corners: Vec<Corner<'a, T::Cache>>,
    /// The weights of the outer density's places.
    outer: Values,
    weights: Ends,
    ledger: &'a mut Ledger,
    buffers: &'a mut Buffers,
}

impl<'a, C> Corner<'a, C> {
    /// The place with its next variables held at `head`; `at` are all that were not yet held.
    fn new(place: Place<'a, C>, head: &[f64], at: &[f64]) -> Self {
        let z = [place.held, head, &at[head.len()..]].concat();
        Self {
            held: place.held.len() + head.len(),
            refined: Held::None,
            z,
            place,
            current: RefCell::default(),
        }
    }

    /// The leading values of y, where they depend on what is held alone.
    fn head<'b>(&'b self, buffers: &'b mut Buffers) -> Option<&'b [f64]> {
        keeps_blocks(self.place.frame)
            .then(|| &in_frame(self.place.frame, &self.z, &mut buffers.y)[..self.held])
    }

    /// Takes up the refined cache of an earlier move, where it serves.
    fn recall(&mut self, buffers: &mut Buffers) {
        let Some(head) = self.head(buffers) else {
            return;
        };
        let mut current = self.place.current.borrow_mut();
        if current.as_ref().is_some_and(|r| r.serves(head)) {
            let mut refined = current.take().expect("it serves");
            drop(current);
            self.current = RefCell::new(refined.deeper.take());
            self.refined = Held::Own(refined);
        } else if let Some(kept) = self.place.kept.filter(|r| r.serves(head)) {
            drop(current);
            self.refined = Held::Kept(kept);
        }
    }

    /// Makes a refined cache where there is none.
    fn refine<T: Target<Cache = C>>(
        &mut self,
        target: &T,
        ledger: &mut Ledger,
        buffers: &mut Buffers,
    ) {
        if !matches!(self.refined, Held::None) {
            return;
        }
        let Some(head) = self.head(buffers) else {
            return;
        };
        if let Some(refined) = refine(target, self.place.x, self.place.cache, head, ledger) {
            self.refined = Held::Own(refined);
        }
    }

    fn cache(&self) -> &C {
        match &self.refined {
            Held::None => self.place.cache,
            Held::Own(refined) => &refined.cache,
            Held::Kept(refined) => &refined.cache,
        }
    }

    fn log_density<T: Target<Cache = C>>(
        &mut self,
        target: &T,
        rest: &[f64],
        ledger: &mut Ledger,
        buffers: &mut Buffers,
    ) -> f64 {
        if ledger.failure.is_some() {
            return f64::NEG_INFINITY;
        }
        self.z[self.held..].copy_from_slice(rest);
        let y = in_frame(self.place.frame, &self.z, &mut buffers.y);
        let value = target.log_density_in(self.cache(), y, &mut buffers.scratch);
        ledger.spent.fast += 1;
        ledger.check(self.place.x, y, value);
        value
    }

    /// Adds `weight` times the gradient in the rest of z to `sum`.
    fn add_gradient<T: Target<Cache = C>>(
        &mut self,
        target: &T,
        rest: &[f64],
        weight: f64,
        sum: &mut [f64],
        ledger: &mut Ledger,
        buffers: &mut Buffers,
    ) -> Option<f64> {
        if ledger.failure.is_some() {
            return None;
        }
        self.z[self.held..].copy_from_slice(rest);
        let Buffers {
            scratch,
            y,
            gradient: by_y,
            other_gradient: by_z,
            ..
        } = buffers;
        let y = in_frame(self.place.frame, &self.z, y);
        let value = target.gradient(self.cache(), y, by_y, scratch)?;
        ledger.spent.fast += 1;
        ledger.check(self.place.x, y, value);
        self.place.frame.gradient_to_z(by_y, by_z);
        for (sum, g) in sum.iter_mut().zip(&by_z[self.held..]) {
            *sum += weight * g;
        }
        Some(value)
    }

    /// Leaves the refined cache where the next move finds it.
    fn settle(self) {
        *self.place.current.borrow_mut() = match self.refined {
            Held::Own(mut refined) => {
                refined.deeper = self.current.into_inner();
                Some(refined)
            }
            Held::None | Held::Kept(_) => None,
        };
    }

    /// This corner as a place for a drag nested once more.
    fn place(&self) -> Place<'_, C> {
        Place {
            x: self.place.x,
            frame: self.place.frame,
            cache: self.cache(),
            held: &self.z[..self.held],
            kept: match self.refined {
                Held::Kept(refined) => refined.deeper.as_deref(),
                Held::None | Held::Own(_) => None,
            },
            current: &self.current,
        }
    }
}

/// y where z is seen in a frame.
fn in_frame<'b>(frame: &Frame, z: &'b [f64], y: &'b mut [f64]) -> &'b [f64] {
    if frame.is_identity() {
        return z;
    }
    frame.to_y(z, y);
    y
}

impl<'a, T: Target> Corners<'a, T> {
    /// Between the values `at` now has of the leading variables and those proposed in `head`.
    ///
    /// `places` returns the outer density's places, each with its weight, whenever it is asked.
    pub fn new(
        target: &'a T,
        places: impl Iterator<Item = (Place<'a, T::Cache>, f64)> + Clone,
        at: &[f64],
        head: &[f64],
        ledger: &'a mut Ledger,
        buffers: &'a mut Buffers,
    ) -> Self {
        let mut outer = [0.0; MOST_CORNERS];
        for (slot, (_, weight)) in outer.iter_mut().zip(places.clone()) {
            *slot = weight;
        }
        let corner = |head| move |(place, _)| Corner::new(place, head, at);
        let present = places.clone().map(corner(&at[..head.len()]));
        let proposed = places.map(corner(head));
        let mut corners: Vec<_> = present.chain(proposed).collect();
        let half = corners.len() / 2;
        for corner in &mut corners[..half] {
            corner.recall(buffers);
        }
        for corner in &mut corners[half..] {
            corner.refine(target, ledger, buffers);
        }
        Self {
            target,
            corners,
            outer,
            weights: Ends { from: 0.5, to: 0.5 },
            ledger,
            buffers,
        }
    }

    fn half(&self) -> usize {
        self.corners.len() / 2
    }

    /// The outer log density on one side.
    fn side(&self, values: &[f64]) -> f64 {
        let pairs = self.outer.iter().zip(values).take(self.half());
        pairs.map(|(weight, value)| weight * value).sum()
    }
}

impl<T: Target> FastDensity for Corners<'_, T> {
    type Value = Values;
    type Nested<'n>
        = Corners<'n, T>
    where
        Self: 'n;

    fn value(&mut self, rest: &[f64]) -> Values {
        let mut values = [0.0; MOST_CORNERS];
        for (value, corner) in values.iter_mut().zip(&mut self.corners) {
            *value = corner.log_density(self.target, rest, self.ledger, self.buffers);
        }
        values
    }

    fn log(&self, value: Values) -> f64 {
        self.weights.from * self.side(&value) + self.weights.to * self.side(&value[self.half()..])
    }

    fn gradient(&mut self, rest: &[f64], gradient: &mut [f64]) -> Option<Values> {
        let mut values = [0.0; MOST_CORNERS];
        let half = self.half();
        gradient.fill(0.0);
        for (k, corner) in self.corners.iter_mut().enumerate() {
            let (share, place) = if k < half {
                (self.weights.from, k)
            } else {
                (self.weights.to, k - half)
            };
            values[k] = corner.add_gradient(
                self.target,
                rest,
                share * self.outer[place],
                gradient,
                self.ledger,
                self.buffers,
            )?;
        }
        Some(values)
    }

    fn nest(&mut self, at: &[f64], head: &[f64]) -> Corners<'_, T> {
        let (half, weights, outer) = (self.half(), self.weights, self.outer);
        let places = self.corners.iter().enumerate().map(move |(k, corner)| {
            let weight = if k < half {
                weights.from * outer[k]
            } else {
                weights.to * outer[k - half]
            };
            (corner.place(), weight)
        });
        Corners::new(self.target, places, at, head, self.ledger, self.buffers)
    }
}

impl<T: Target> Way for Corners<'_, T> {
    fn set(&mut self, i: usize, n: usize) {
        self.weights = Ends::weights(i, n);
    }

    fn difference(&self, value: Values) -> f64 {
        self.side(&value[self.half()..]) - self.side(&value)
    }
}

impl<T: Target> Nested for Corners<'_, T> {
    fn start(&mut self, known: Values, rest: &[f64]) -> Values {
        let half = self.half();
        let mut values = known;
        for (k, corner) in self.corners.iter_mut().enumerate().skip(half) {
            values[k] = corner.log_density(self.target, rest, self.ledger, self.buffers);
        }
        values
    }

    fn open(&mut self) {
        let half = self.half();
        for corner in &mut self.corners[..half] {
            corner.refine(self.target, self.ledger, self.buffers);
        }
    }

    fn arrived(&self, values: Values) -> Values {
        let mut outer = [0.0; MOST_CORNERS];
        outer[..self.half()].copy_from_slice(&values[self.half()..self.corners.len()]);
        outer
    }

    fn settle(mut self, accepted: bool) {
        let proposed = self.corners.split_off(self.half());
        let side = if accepted { proposed } else { self.corners };
        side.into_iter().for_each(Corner::settle);
    }
}
