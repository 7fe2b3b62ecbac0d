//! Where Newton's method goes from here: to the top of the parabola, or of its mirror image where the surface bends up.

use super::here::Here;
use crate::linalg::packed::{cholesky, solve, solve_transposed};
use crate::linalg::{Storage, dot, symmetric_eigen};

/// With every axis brought to the curvature 1, a direction across them curved less than this is flat.
const FLAT: f64 = 1e-6;

/// Where to go from here.
#[derive(Debug, Clone, Default)]
pub(super) struct Ascent<V, M> {
    /// The step to the top of the parabola, or of its mirror image along directions that bend up.
    pub step: V,
    /// gradient · step: twice the gain that a parabola promises.
    pub decrement: f64,
    /// Whether no direction bends up.
    pub concave: bool,
    /// The curvature, with flat directions given the scale 1.
    pub curvature: M,
    /// The direction that bends up most, with how much.
    pub upward: Option<(Vec<f64>, f64)>,
    /// The Cholesky factor of the curvature, where it has one.
    rows: M,
}

impl<V: Storage, M: Storage> Ascent<V, M> {
    /// Looks where to go.
    pub fn look(&mut self, here: &Here<V, M>) {
        let dim = here.dim();
        let curved = cholesky(here.curvature.as_ref(), dim, &mut self.rows).is_ok();
        if curved && !here.flat.contains(&true) {
            self.step.copy(here.gradient.as_ref());
            solve(self.rows.as_ref(), self.step.as_mut());
            solve_transposed(self.rows.as_ref(), self.step.as_mut());
            self.decrement = dot(here.gradient.as_ref(), self.step.as_ref());
            if self.decrement.is_finite() {
                self.concave = true;
                self.curvature.copy(here.curvature.as_ref());
                self.upward = None;
                return;
            }
        }
        self.by_eigenvectors(here);
    }

    /// Along every eigenvector by the size of its curvature, whichever way it bends.
    #[cold]
    fn by_eigenvectors(&mut self, here: &Here<V, M>) {
        let dim = here.dim();
        // Curvatures may differ by many orders of magnitude: bring the diagonal to 1 first.
        let scale: Vec<f64> = (0..dim)
            .map(|k| match here.flat[k] {
                true => FLAT.sqrt(),
                false => here.curvature[k * dim + k].abs().sqrt(),
            })
            .collect();
        let matrix: Vec<f64> = (0..dim * dim)
            .map(|k| here.curvature[k] / (scale[k / dim] * scale[k % dim]))
            .collect();
        let (mut step, mut curvature) = (vec![0.0; dim], vec![0.0; dim * dim]);
        let (mut concave, mut upward) = (true, None::<(Vec<f64>, f64)>);
        if let Some(eigen) = symmetric_eigen(&matrix, dim) {
            for (bent, vector) in eigen {
                let v: Vec<f64> = (0..dim).map(|i| vector[i] / scale[i]).collect();
                let slope = dot(here.gradient.as_ref(), &v);
                let flat = bent.abs() < FLAT;
                let size = if flat { 1.0 } else { bent.abs() };
                if !flat && bent < 0.0 {
                    concave = false;
                    if upward.as_ref().is_none_or(|u| -bent > u.1) {
                        upward = Some((v.clone(), -bent));
                    }
                }
                // A flat direction with a slope is a plane: go up it as far as its learned width.
                for i in 0..dim {
                    step[i] += v[i] * slope / size;
                }
                for i in 0..dim {
                    for j in 0..dim {
                        let (a, b) = (vector[i] * scale[i], vector[j] * scale[j]);
                        curvature[i * dim + j] += size * a * b;
                    }
                }
            }
        } else {
            concave = false;
            step.copy_from_slice(here.gradient.as_ref());
        }
        // A direction whose own curvature is flat keeps the learned scale, not the floor's.
        for k in 0..dim {
            if here.flat[k] {
                for j in 0..dim {
                    curvature[k * dim + j] = 0.0;
                    curvature[j * dim + k] = 0.0;
                }
                curvature[k * dim + k] = 1.0;
                step[k] = here.gradient[k];
            }
        }
        self.decrement = dot(here.gradient.as_ref(), &step);
        self.step.copy(&step);
        self.curvature.copy(&curvature);
        (self.concave, self.upward) = (concave, upward);
    }
}
