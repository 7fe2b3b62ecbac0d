//! The conditional at x as what an optimiser climbs: y seen in the frame from which a search begins.

use super::view::View;
use crate::linalg::{Factor, symmetrise, transpose};
use crate::optimise::surface::Surface;
use crate::target::{Scratch, Target};

/// Where a search begins, and the units it is made in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub centre: &'a [f64],
    pub root: &'a Factor,
}

impl Origin<'_> {
    /// y at u.
    #[inline]
    pub fn place(&self, u: &[f64], y: &mut [f64]) {
        self.root.apply(u, y);
        for (value, m) in y.iter_mut().zip(self.centre) {
            *value += m;
        }
    }
}

impl View for Origin<'_> {
    const FRAMED: bool = true;
    const SHARES: bool = false;

    #[inline]
    fn at(&self, u: &[f64], room: &mut [f64], evaluate: impl FnOnce(&[f64]) -> f64) -> f64 {
        self.place(u, room);
        evaluate(room)
    }
}

/// The conditional at x as a surface over u, y seen in the linear frame.
pub(super) struct Slope<'a, T: Target, V> {
    target: &'a T,
    cache: &'a T::Cache,
    origin: Origin<'a>,
    /// The origin, or a copy of it in arrays.
    view: V,
    scratch: &'a mut Scratch,
    pub y: &'a mut [f64],
    pub evaluations: u64,
}

impl<'a, T: Target, V: View> Slope<'a, T, V> {
    /// The conditional where the slow computation left this cache, seen from an origin.
    pub fn new(
        (target, cache, origin): (&'a T, &'a T::Cache, Origin<'a>),
        view: V,
        scratch: &'a mut Scratch,
        y: &'a mut [f64],
    ) -> Self {
        Self {
            target,
            cache,
            origin,
            view,
            scratch,
            y,
            evaluations: 0,
        }
    }

    /// Leaves y at u in `self.y`.
    #[inline]
    pub fn centre_at(&mut self, u: &[f64]) {
        self.origin.place(u, self.y);
    }
}

/// With more variables than this, differences of gradients are cheaper than those of heights, if there are gradients.
const FEW: usize = 24;

impl<T: Target, V: View> Slope<'_, T, V> {
    /// The curvature by differences of gradients; whether there are any.
    fn differences(&mut self, u: &[f64], curvature: &mut [f64]) -> bool {
        let dim = u.len();
        let (mut at, mut up, mut down) = (u.to_vec(), vec![0.0; dim], vec![0.0; dim]);
        if !self.gradient(&at, &mut up) {
            return false;
        }
        for k in 0..dim {
            at[k] = u[k] + DIFFERENCE;
            self.gradient(&at, &mut up);
            at[k] = u[k] - DIFFERENCE;
            self.gradient(&at, &mut down);
            at[k] = u[k];
            for j in 0..dim {
                curvature[k * dim + j] = (down[j] - up[j]) / (2.0 * DIFFERENCE);
            }
        }
        symmetrise(curvature, dim);
        curvature.iter().all(|v| v.is_finite())
    }
}

/// Over what differences of gradients are taken, in units of the learned width.
const DIFFERENCE: f64 = 0.05;

impl<T: Target, V: View> Surface for Slope<'_, T, V> {
    #[inline]
    fn height(&mut self, u: &[f64]) -> f64 {
        self.evaluations += 1;
        let (target, cache, scratch) = (self.target, self.cache, &mut *self.scratch);
        self.view
            .at(u, self.y, |y| target.log_density_in(cache, y, scratch))
    }

    fn is_vectorised(&self) -> bool {
        self.target.is_vectorised()
    }

    fn heights(&mut self, us: &[f64], out: &mut [f64]) {
        let dim = self.y.len();
        let mut ys = vec![0.0; us.len()];
        for (u, y) in us.chunks_exact(dim).zip(ys.chunks_exact_mut(dim)) {
            self.origin.place(u, y);
        }
        self.evaluations += out.len() as u64;
        self.target
            .log_density_batch(self.cache, &ys, out, self.scratch);
    }

    fn gradient(&mut self, u: &[f64], gradient: &mut [f64]) -> bool {
        self.centre_at(u);
        let mut by_y = vec![0.0; u.len()];
        let known = self
            .target
            .gradient(self.cache, self.y, &mut by_y, self.scratch)
            .is_some();
        if known {
            self.evaluations += 1;
            self.origin.root.apply_transposed(&by_y, gradient);
        }
        known
    }

    fn curvature(&mut self, u: &[f64], curvature: &mut [f64]) -> bool {
        self.centre_at(u);
        let known = self
            .target
            .curvature(self.cache, self.y, curvature, self.scratch);
        if !known && u.len() > FEW {
            return self.differences(u, curvature);
        }
        if known {
            self.evaluations += 1;
            // H in u is Lᵀ H L: both sides by the map that takes gradients along.
            let dim = u.len();
            for _ in 0..2 {
                let mut mapped = vec![0.0; dim * dim];
                for (row, out) in curvature.chunks_mut(dim).zip(mapped.chunks_mut(dim)) {
                    self.origin.root.apply_transposed(row, out);
                }
                curvature.copy_from_slice(&mapped);
                transpose(curvature, dim);
            }
        }
        known
    }
}
