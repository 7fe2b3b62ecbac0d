//! The root of the curvature, which is the frame's map.

use super::factor::SparseFactor;
use crate::triangle::Triangle;
use towline::linalg::RootMap;

/// R of the curvature: for y in the order (coefficients, u), R = [[S, B], [0, F]] with the effects' sparse F, the border
/// B = (F⁻¹ G)ᵀ, and S a root of what is left for the coefficients. R Rᵀ is the curvature.
#[derive(Debug)]
pub(crate) struct SparseRoot {
    pub factor: SparseFactor,
    /// F⁻¹ G: effect by effect, a row for all coefficients.
    pub mixed: Vec<f64>,
    pub own: Triangle,
}

impl SparseRoot {
    /// v becomes R⁻¹ v: u by F, then the coefficients by S.
    pub fn solve_root(&self, v: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at_mut(border);
        self.factor.solve(u);
        for (row, u) in self.mixed.chunks_exact(border.max(1)).zip(&*u) {
            for (b, m) in beta.iter_mut().zip(row) {
                *b -= m * u;
            }
        }
        self.own.solve(beta);
    }

    /// v becomes R⁻ᵀ v.
    pub fn solve_root_transposed(&self, v: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at_mut(border);
        self.own.solve_transposed(beta);
        for (row, u) in self.mixed.chunks_exact(border.max(1)).zip(u.iter_mut()) {
            for (b, m) in beta.iter().zip(row) {
                *u -= m * b;
            }
        }
        self.factor.solve_transposed(u);
    }
}

impl RootMap for SparseRoot {
    fn apply(&self, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(z);
        self.solve_root_transposed(out);
    }

    /// Rᵀ v: Fᵀ u + Bᵀ β for the effects, Sᵀ β for the coefficients.
    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at(border);
        let (out_beta, out_u) = out.split_at_mut(border);
        self.own.multiply_transposed(beta, out_beta);
        self.factor.multiply_transposed(u, out_u);
        for (row, out) in self.mixed.chunks_exact(border.max(1)).zip(out_u) {
            for (b, m) in beta.iter().zip(row) {
                *out += m * b;
            }
        }
    }

    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        self.solve_root(out);
    }

    fn log_det(&self) -> f64 {
        -self.own.log_det() - self.factor.log_det()
    }
}
