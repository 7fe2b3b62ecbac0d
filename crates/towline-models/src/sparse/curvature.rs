//! The entries of the curvature: the effects' own, and those that they share with the coefficients.

use super::blocks::NOWHERE;
use super::system::SparseSystem;

impl SparseSystem<'_> {
    /// The values of I + ΛᵀZᵀWZΛ.
    pub(super) fn curvature(&self, weights: &[f64]) -> Vec<f64> {
        let sparse = self.sparse;
        let rows = sparse.fixed.rows;
        let mut values = vec![0.0; sparse.pattern.len()];
        let mut sums = Vec::new();
        for blocks in &sparse.blocks {
            let [a, b] = blocks.terms.map(|t| &sparse.terms[t]);
            let (k, l) = (a.width, b.width);
            let w = &weights[blocks.weight * rows..(blocks.weight + 1) * rows];
            sums.clear();
            sums.resize(blocks.len(&sparse.terms) * k * l, 0.0);
            let of_row: &[u32] = blocks.pairs.as_ref().map_or(&a.group, |met| &met.of_row);
            if k * l == 1 && a.z.is_empty() && b.z.is_empty() {
                for (block, w) in of_row.iter().zip(w) {
                    sums[*block as usize] += w;
                }
            } else {
                for (i, (block, w)) in of_row.iter().zip(w).enumerate() {
                    let sums = &mut sums[*block as usize * k * l..(*block as usize + 1) * k * l];
                    let (za, zb) = (a.z(i), b.z(i));
                    for (row, za) in sums.chunks_exact_mut(l).zip(za) {
                        for (sum, zb) in row.iter_mut().zip(zb) {
                            *sum += w * za * zb;
                        }
                    }
                }
            }
            let [left, right] = blocks.terms.map(|t| &self.at.lambda[t]);
            let one = f64::from(u8::from(blocks.diagonal));
            if k * l == 1 {
                let scale = left[0] * right[0];
                for (sum, slot) in sums.iter().zip(&blocks.slots) {
                    values[*slot as usize] = scale * sum + one;
                }
                continue;
            }
            let mut half = vec![0.0; k * l];
            let parts = sums
                .chunks_exact(k * l)
                .zip(blocks.slots.chunks_exact(k * l));
            for (sum, slots) in parts {
                // half = Λ_aᵀ S, then half Λ_b.
                for i in 0..k {
                    for j in 0..l {
                        half[i * l + j] = (i..k).map(|m| left[m * k + i] * sum[m * l + j]).sum();
                    }
                }
                for i in 0..k {
                    for j in 0..l {
                        let slot = slots[i * l + j];
                        if slot != NOWHERE {
                            let value: f64 =
                                (j..l).map(|m| half[i * l + m] * right[m * l + j]).sum();
                            let on = if i == j { one } else { 0.0 };
                            values[slot as usize] = value + on;
                        }
                    }
                }
            }
        }
        values
    }

    /// ΛᵀZᵀWX: effect by effect, a row for all coefficients.
    pub(super) fn mixed(&self, weights: &[f64]) -> Vec<f64> {
        let sparse = self.sparse;
        let (width, rows, border) = (sparse.fixed.width, sparse.fixed.rows, sparse.border());
        let mut mixed = vec![0.0; sparse.effects * border];
        if border == 0 {
            return mixed;
        }
        for (term, lambda) in sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            let mut sums = vec![0.0; term.groups * k * width];
            for c in 0..sparse.classes {
                for other in 0..sparse.classes {
                    let (high, low) = (c.max(other), c.min(other));
                    let pair = high * (high + 1) / 2 + low;
                    let w = &weights[pair * rows..(pair + 1) * rows];
                    sums.fill(0.0);
                    for (i, (group, w)) in term.group.iter().zip(w).enumerate() {
                        let x = sparse.fixed.row(i);
                        for (a, z) in term.z(i).iter().enumerate() {
                            let from = (*group as usize * k + a) * width;
                            let wz = w * z;
                            for (sum, x) in sums[from..from + width].iter_mut().zip(x) {
                                *sum += wz * x;
                            }
                        }
                    }
                    let places = term.places(c).chunks_exact(k);
                    for (places, sums) in places.zip(sums.chunks_exact(k * width)) {
                        for j in 0..k {
                            let from = places[j] as usize * border + other * width;
                            let row = &mut mixed[from..from + width];
                            for i in j..k {
                                let sums = &sums[i * width..(i + 1) * width];
                                for (m, s) in row.iter_mut().zip(sums) {
                                    *m += lambda[i * k + j] * s;
                                }
                            }
                        }
                    }
                }
            }
        }
        mixed
    }
}
