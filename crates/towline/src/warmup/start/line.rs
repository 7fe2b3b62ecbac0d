//! The linear frame through modes that were met.

use crate::frame::Linear;
use crate::frame::anchors::Mode;
use crate::linalg::Factor;

/// The line through modes by weighted least squares, from the highest of them; each counts as much as its estimated density.
pub(in crate::warmup) fn line_through(
    modes: &[Mode],
    heights: &[f64],
    slow: &Factor,
    root: Factor,
) -> Option<Linear> {
    let top = (0..modes.len()).max_by(|&a, &b| heights[a].total_cmp(&heights[b]))?;
    let best = &modes[top];
    let (p, d) = (best.x.len(), best.y.len());
    let mut slope = vec![0.0; p * d];
    // In whitened x, with a small ridge: directions never looked along have slope 0.
    let mut normal = vec![0.0; p * p];
    let mut right = vec![0.0; p * d];
    for k in 0..p {
        normal[k * p + k] = 1e-3;
    }
    for (mode, height) in modes.iter().zip(heights) {
        let weight = (height - heights[top]).max(-30.0).exp();
        if weight.is_nan() {
            continue;
        }
        let mut w: Vec<f64> = mode.x.iter().zip(&best.x).map(|(a, b)| a - b).collect();
        slow.solve(&mut w);
        for i in 0..p {
            for j in 0..p {
                normal[i * p + j] += weight * w[i] * w[j];
            }
            for k in 0..d {
                right[k * p + i] += weight * w[i] * (mode.y[k] - best.y[k]);
            }
        }
    }
    if p > 0 {
        let factor = Factor::from_covariance(&normal, "the slope's normal equations").ok()?;
        for (row, out) in right.chunks_mut(p).zip(slope.chunks_mut(p)) {
            factor.solve(row);
            factor.solve_transposed(row);
            // From whitened x back to x: B = B_w L⁻¹, so bᵀ = L⁻ᵀ b_wᵀ.
            slow.solve_transposed(row);
            out.copy_from_slice(row);
        }
    }
    Linear::new(best.x.clone(), best.y.clone(), slope, root).ok()
}
