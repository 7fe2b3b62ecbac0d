//! A triangular root whose columns are stretched: L D, with D diagonal.

use super::Factor;
use std::sync::Arc;

/// L D: the axes of a known root, each with a width of its own.
///
/// A width may be negative: along that axis z counts the other way.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretched {
    lower: Arc<Factor>,
    widths: Vec<f64>,
    log_det: f64,
}

impl Stretched {
    /// From L and the diagonal of D, none of which may be zero.
    pub(crate) fn new(lower: Arc<Factor>, widths: Vec<f64>) -> Self {
        let stretch: f64 = widths.iter().map(|w| w.abs().ln()).sum();
        Self {
            log_det: lower.log_det() + stretch,
            lower,
            widths,
        }
    }

    /// out = L D z.
    #[inline]
    pub(crate) fn apply(&self, z: &[f64], out: &mut [f64]) {
        for ((o, v), w) in out.iter_mut().zip(z).zip(&self.widths) {
            *o = v * w;
        }
        self.lower.apply_in_place(out);
    }

    /// out = D⁻¹ L⁻¹ v; `v` is spoilt.
    #[inline]
    pub(crate) fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        self.lower.solve(v);
        for ((o, v), w) in out.iter_mut().zip(v).zip(&self.widths) {
            *o = *v / w;
        }
    }

    /// out = D Lᵀ v.
    pub(crate) fn apply_transposed(&self, v: &[f64], out: &mut [f64]) {
        self.lower.apply_transposed(v, out);
        for (o, w) in out.iter_mut().zip(&self.widths) {
            *o *= w;
        }
    }

    /// The same as one triangle, with positive widths.
    pub(crate) fn factor(&self) -> Factor {
        self.lower.stretched(&self.widths)
    }

    /// ln |det L D|.
    pub(crate) fn log_det(&self) -> f64 {
        self.log_det
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COVARIANCE: [f64; 9] = [4.0, 1.0, -0.5, 1.0, 2.0, 0.3, -0.5, 0.3, 1.0];

    #[test]
    fn it_is_the_product_of_a_triangle_and_a_diagonal() {
        for lower in [
            Factor::from_covariance(&COVARIANCE, "test").unwrap(),
            Factor::diagonal(&[2.0, 3.0, 0.1], "test").unwrap(),
        ] {
            let widths = [0.5, -2.0, 3.0];
            let root = Stretched::new(Arc::new(lower.clone()), widths.to_vec());
            let z = [0.3, -1.2, 2.0];
            let (mut out, mut expected) = ([0.0; 3], [0.0; 3]);
            root.apply(&z, &mut out);
            let stretched: Vec<f64> = z.iter().zip(widths).map(|(z, w)| z * w).collect();
            lower.apply(&stretched, &mut expected);
            for k in 0..3 {
                assert!((out[k] - expected[k]).abs() < 1e-14);
            }
            let mut back = [0.0; 3];
            root.solve(&mut out, &mut back);
            for k in 0..3 {
                assert!((back[k] - z[k]).abs() < 1e-14);
            }
            // vᵀ (L D z) = (D Lᵀ v)ᵀ z.
            let v = [1.0, 0.4, -0.7];
            root.apply_transposed(&v, &mut back);
            let (left, right): (f64, f64) = (0..3).fold((0.0, 0.0), |(l, r), k| {
                (l + v[k] * expected[k], r + back[k] * z[k])
            });
            assert!((left - right).abs() < 1e-13);
            let positive = root.factor();
            assert!((positive.log_det() - root.log_det()).abs() < 1e-14);
            assert!((root.log_det() - lower.log_det() - 3f64.ln()).abs() < 1e-14);
        }
    }
}
