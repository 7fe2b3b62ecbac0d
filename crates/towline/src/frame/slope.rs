//! The conditional at x as what an optimiser climbs: y seen in the frame from which a search begins.

use crate::linalg::{Factor, transpose};
use crate::optimise::surface::Surface;
use crate::target::{Scratch, Target};

/// The conditional at x as a surface over u, y seen in the linear frame.
pub(super) struct Slope<'a, T: Target> {
    pub target: &'a T,
    pub cache: &'a T::Cache,
    pub centre: &'a [f64],
    pub root: &'a Factor,
    pub scratch: &'a mut Scratch,
    pub y: &'a mut [f64],
    pub evaluations: u64,
}

impl<T: Target> Slope<'_, T> {
    /// Leaves y at u in `self.y`.
    #[inline]
    pub fn centre_at(&mut self, u: &[f64]) {
        place(self.centre, self.root, u, self.y);
    }
}

/// y at u.
#[inline]
fn place(centre: &[f64], root: &Factor, u: &[f64], y: &mut [f64]) {
    root.apply(u, y);
    for (value, m) in y.iter_mut().zip(centre) {
        *value += m;
    }
}

impl<T: Target> Surface for Slope<'_, T> {
    fn height(&mut self, u: &[f64]) -> f64 {
        self.evaluations += 1;
        self.centre_at(u);
        self.target.log_density_in(self.cache, self.y, self.scratch)
    }

    fn is_vectorised(&self) -> bool {
        self.target.is_vectorised()
    }

    fn heights(&mut self, us: &[f64], out: &mut [f64]) {
        let dim = self.y.len();
        let mut ys = vec![0.0; us.len()];
        for (u, y) in us.chunks_exact(dim).zip(ys.chunks_exact_mut(dim)) {
            place(self.centre, self.root, u, y);
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
            self.root.apply_transposed(&by_y, gradient);
        }
        known
    }

    fn curvature(&mut self, u: &[f64], curvature: &mut [f64]) -> bool {
        self.centre_at(u);
        let known = self
            .target
            .curvature(self.cache, self.y, curvature, self.scratch);
        if known {
            self.evaluations += 1;
            // H in u is Lᵀ H L: both sides by the map that takes gradients along.
            let dim = u.len();
            for _ in 0..2 {
                let mut mapped = vec![0.0; dim * dim];
                for (row, out) in curvature.chunks_mut(dim).zip(mapped.chunks_mut(dim)) {
                    self.root.apply_transposed(row, out);
                }
                curvature.copy_from_slice(&mapped);
                transpose(curvature, dim);
            }
        }
        known
    }
}
