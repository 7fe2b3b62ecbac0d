//! Eigenvalues and eigenvectors of small symmetric matrices, by Jacobi's rotations: few lines, accurate, and the same bits on every machine,
//! which a library that picks its instructions by the processor does not give.

/// Sweeps after which rotations have long converged: a dozen do for any matrix.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix, given row by row, in ascending order, each with its unit eigenvector; nothing where a number is
/// not finite.
pub(crate) fn symmetric_eigen(matrix: &[f64], dim: usize) -> Option<Vec<(f64, Vec<f64>)>> {
    if !matrix.iter().all(|v| v.is_finite()) {
        return None;
    }
    let mut a = matrix.to_vec();
    // Rows are the eigenvectors.
    let mut vectors = vec![0.0; dim * dim];
    for k in 0..dim {
        vectors[k * dim + k] = 1.0;
    }
    for _ in 0..SWEEPS {
        let mut turned = false;
        for i in 0..dim {
            for j in 0..i {
                turned |= rotate(&mut a, &mut vectors, dim, i, j);
            }
        }
        if !turned {
            break;
        }
    }
    let each = |k: usize| (a[k * dim + k], vectors[k * dim..(k + 1) * dim].to_vec());
    let mut all: Vec<(f64, Vec<f64>)> = (0..dim).map(each).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    Some(all)
}

/// Makes the entry (i, j) zero; whether there was anything to do.
fn rotate(a: &mut [f64], vectors: &mut [f64], dim: usize, i: usize, j: usize) -> bool {
    let (off, first, second) = (a[i * dim + j], a[i * dim + i], a[j * dim + j]);
    if off.abs() <= f64::EPSILON * (first.abs() * second.abs()).sqrt() || off.abs() < 1e-300 {
        return false;
    }
    // The smaller of the two angles: t² + 2θt − 1 = 0.
    let theta = (second - first) / (2.0 * off);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / t.hypot(1.0);
    let sine = t * cosine;
    let turn = |x: f64, y: f64| (cosine * x - sine * y, sine * x + cosine * y);
    for k in 0..dim {
        (a[i * dim + k], a[j * dim + k]) = turn(a[i * dim + k], a[j * dim + k]);
        let (x, y) = (vectors[i * dim + k], vectors[j * dim + k]);
        (vectors[i * dim + k], vectors[j * dim + k]) = turn(x, y);
    }
    for k in 0..dim {
        (a[k * dim + i], a[k * dim + j]) = turn(a[k * dim + i], a[k * dim + j]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::dot;
    use crate::random::Rng;

    #[test]
    fn eigenvectors_are_orthonormal_and_give_the_matrix_back() {
        let mut rng = Rng::stream(9, 0);
        for dim in 1..12 {
            let mut matrix = vec![0.0; dim * dim];
            for i in 0..dim {
                for j in 0..=i {
                    let v = rng.normal();
                    matrix[i * dim + j] = v;
                    matrix[j * dim + i] = v;
                }
            }
            let all = symmetric_eigen(&matrix, dim).unwrap();
            assert!(all.is_sorted_by(|a, b| a.0 <= b.0));
            for (k, (_, v)) in all.iter().enumerate() {
                for (m, (_, w)) in all.iter().enumerate() {
                    let wanted = f64::from(u8::from(k == m));
                    assert!((dot(v, w) - wanted).abs() < 1e-13);
                }
            }
            for i in 0..dim {
                for j in 0..dim {
                    let sum: f64 = all.iter().map(|(value, v)| value * v[i] * v[j]).sum();
                    assert!((sum - matrix[i * dim + j]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn equal_eigenvalues_zeros_and_what_is_not_finite() {
        let values = |matrix: &[f64], dim| -> Vec<f64> {
            let all = symmetric_eigen(matrix, dim).unwrap();
            all.into_iter().map(|(value, _)| value).collect()
        };
        assert_eq!(values(&[0.0; 9], 3), [0.0; 3]);
        assert_eq!(values(&[2.0, 0.0, 0.0, 2.0], 2), [2.0, 2.0]);
        let [low, high] = values(&[0.0, 1.0, 1.0, 0.0], 2)[..] else {
            panic!("two values");
        };
        assert!((low + 1.0).abs() < 1e-15 && (high - 1.0).abs() < 1e-15);
        assert!(symmetric_eigen(&[1.0, f64::NAN, f64::NAN, 1.0], 2).is_none());
    }
}
