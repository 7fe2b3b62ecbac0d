//! The matrix of an affine frame of very few variables, copied into an array.

use super::packed::row;

/// L, D × D, whichever of its halves is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SmallRoot<const D: usize> {
    shape: Shape,
    rows: [[f64; D]; D],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Diagonal,
    Lower,
    Upper,
}

impl<const D: usize> SmallRoot<D> {
    /// From its diagonal.
    pub fn diagonal(entries: &[f64]) -> Option<Self> {
        let entries: &[f64; D] = entries.try_into().ok()?;
        let mut rows = [[0.0; D]; D];
        for i in 0..D {
            rows[i][i] = entries[i];
        }
        let shape = Shape::Diagonal;
        Some(Self { shape, rows })
    }

    /// From a packed lower triangle.
    #[inline]
    pub fn lower(entries: &[f64]) -> Option<Self> {
        if entries.len() != row(D) {
            return None;
        }
        let mut rows = [[0.0; D]; D];
        for i in 0..D {
            for k in 0..=i {
                rows[i][k] = entries[row(i) + k];
            }
        }
        let shape = Shape::Lower;
        Some(Self { shape, rows })
    }

    /// From a packed upper triangle.
    #[inline]
    pub fn upper(entries: &[f64]) -> Option<Self> {
        if entries.len() != row(D) {
            return None;
        }
        let mut rows = [[0.0; D]; D];
        let mut next = 0;
        for i in 0..D {
            for k in i..D {
                rows[i][k] = entries[next];
                next += 1;
            }
        }
        let shape = Shape::Upper;
        Some(Self { shape, rows })
    }

    /// out = L z, with the products added in the order in which longer loops add them. Entries that are not there are left
    /// out, not multiplied: zero times infinity is no number.
    #[inline(always)]
    pub fn apply(&self, z: &[f64], out: &mut [f64; D]) {
        for i in 0..D {
            let (first, end) = match self.shape {
                _ if D == 1 => (0, 1),
                Shape::Diagonal => (i, i + 1),
                Shape::Lower => (0, i + 1),
                Shape::Upper => (i, D),
            };
            let mut sum = self.rows[i][first] * z[first];
            for k in first + 1..end {
                sum += self.rows[i][k] * z[k];
            }
            out[i] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Factor, Inverse};

    #[test]
    fn it_gives_the_bits_of_what_it_was_copied_from() {
        let matrix = [2.0, 0.7, 0.7, 1.1];
        let lower = Factor::from_covariance(&matrix, "test").unwrap();
        let diagonal = Factor::diagonal(&[0.3, 1.7], "test").unwrap();
        let mut upper = Inverse::default();
        assert!(upper.refill(&matrix, 2));
        for z in [
            [0.3, -1.2],
            [-0.0, 0.0],
            [0.0, f64::INFINITY],
            [f64::INFINITY, 1.0],
        ] {
            let check = |expected: [f64; 2], small: SmallRoot<2>| {
                let mut found = [0.0; 2];
                small.apply(&z, &mut found);
                assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{z:?}");
            };
            let mut image = [0.0; 2];
            for factor in [&lower, &diagonal] {
                factor.apply(&z, &mut image);
                check(image, factor.small().unwrap());
            }
            upper.apply(&z, &mut image);
            check(image, upper.small().unwrap());
        }
        assert!(lower.small::<1>().is_none() && upper.small::<3>().is_none());
    }
}
