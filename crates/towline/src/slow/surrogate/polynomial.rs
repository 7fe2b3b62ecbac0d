//! Polynomials in several variables: evaluated by nested products, fitted by weighted least squares.

use super::limits::{FOLDS, TINY_RIDGE};
use super::radial;
use super::visits::Samples;
use crate::linalg::Factor;
use serde::{Deserialize, Serialize};

/// All monomials up to some total degree, each with a coefficient.
///
/// They stand in the order of [`listed`], in which those in the last variables alone come first. Evaluation
/// is then a few products of a number with a list, and reads the coefficients once from first to last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Polynomial {
    pub degree: usize,
    coefficients: Vec<f64>,
}

/// Room on the stack for the lists of lower degree: enough for degree 4 in 8 variables.
const ROOM: usize = 224;

impl Polynomial {
    pub fn constant(value: f64) -> Self {
        Self {
            degree: 0,
            coefficients: vec![value],
        }
    }

    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        match self.degree {
            0 => self.coefficients[0],
            2 => self.evaluate::<2>(w),
            3 => self.evaluate::<3>(w),
            _ => self.evaluate::<4>(w),
        }
    }

    fn evaluate<const DEGREE: usize>(&self, w: &[f64]) -> f64 {
        let lower = (1..DEGREE).map(|degree| count(w.len(), degree)).sum();
        if lower <= ROOM {
            self.evaluate_in::<DEGREE>(w, &mut [0.0; ROOM])
        } else {
            self.evaluate_in::<DEGREE>(w, &mut vec![0.0; lower])
        }
    }

    /// Builds the lists of lower degree side by side, variable by variable; of the highest only the sum is kept.
    #[inline]
    fn evaluate_in<const DEGREE: usize>(&self, w: &[f64], room: &mut [f64]) -> f64 {
        let size = |degree| {
            if degree < DEGREE {
                count(w.len(), degree)
            } else {
                0
            }
        };
        let (first, rest) = room.split_at_mut(size(1));
        let (second, third) = rest.split_at_mut(size(2));
        // Lists of degree 1, 2 and 3, with the lengths that they have reached.
        let (mut n1, mut n2, mut n3) = (1, 1, 1);
        first[0] = 1.0;
        if DEGREE > 2 {
            second[0] = 1.0;
        }
        if DEGREE > 3 {
            third[0] = 1.0;
        }
        let mut sum = self.coefficients[0];
        let mut rest = &self.coefficients[1..];
        for &v in w.iter().rev() {
            first[n1] = v;
            n1 += 1;
            if DEGREE > 2 {
                multiply(v, &first[..n1], &mut second[n2..]);
                n2 += n1;
            }
            if DEGREE > 3 {
                multiply(v, &second[..n2], &mut third[n3..]);
                n3 += n2;
            }
            let list = match DEGREE {
                2 => &first[..n1],
                3 => &second[..n2],
                _ => &third[..n3],
            };
            let (mine, others) = rest.split_at(list.len());
            sum += v * dot(mine, list);
            rest = others;
        }
        sum
    }

    /// Whether there are as many coefficients as evaluation will read.
    pub fn fits(&self, dim: usize) -> bool {
        matches!(self.degree, 0 | 2 | 3 | 4)
            && self.coefficients.len() == count(dim, self.degree)
            && self.coefficients.iter().all(|c| c.is_finite())
    }
}

#[inline]
fn multiply(by: f64, list: &[f64], out: &mut [f64]) {
    for (out, v) in out.iter_mut().zip(list) {
        *out = by * v;
    }
}

/// The sum of products, in four strands that do not wait for one another.
#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (fours_a, rest_a) = a.as_chunks::<4>();
    let (fours_b, rest_b) = b.as_chunks::<4>();
    let mut strands = [0.0; 4];
    for (a, b) in fours_a.iter().zip(fours_b) {
        for k in 0..4 {
            strands[k] += a[k] * b[k];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    (strands[0] + strands[1]) + (strands[2] + strands[3]) + rest
}

/// The number of monomials in `dim` variables of total degree at most `degree`: (dim + degree choose degree).
#[inline]
pub(super) fn count(dim: usize, degree: usize) -> usize {
    match degree {
        0 => 1,
        1 => dim + 1,
        2 => (dim + 1) * (dim + 2) / 2,
        3 => (dim + 1) * (dim + 2) * (dim + 3) / 6,
        _ => (dim + 1) * (dim + 2) * (dim + 3) * (dim + 4) / 24,
    }
}

/// All monomials of total degree at most `degree`: 1, then for every variable, the last first, its product with
/// all monomials of one degree less in it and the variables after it.
fn listed<T: Clone>(dim: usize, degree: usize, one: T, times: impl Fn(usize, &T) -> T) -> Vec<T> {
    let mut lists = vec![vec![one]; degree + 1];
    for k in (0..dim).rev() {
        for degree in 1..=degree {
            let (lower, upper) = lists.split_at_mut(degree);
            upper[0].extend(lower[degree - 1].iter().map(|monomial| times(k, monomial)));
        }
    }
    lists.swap_remove(degree)
}

/// The monomials at w.
fn monomials(w: &[f64], degree: usize) -> Vec<f64> {
    listed(w.len(), degree, 1.0, |k, monomial| w[k] * monomial)
}

/// α! for monomials of degree three and more, else 0: the squared norm under a standard normal of the
/// Hermite polynomial that each leads. A ridge in this metric is one on the function in the bulk.
fn roughness(dim: usize, degree: usize) -> Vec<f64> {
    let exponents = listed(dim, degree, vec![0u32; dim], |k, exponents| {
        let mut exponents = exponents.clone();
        exponents[k] += 1;
        exponents
    });
    let factorial = |&exponent: &u32| (1..=exponent).map(f64::from).product::<f64>();
    exponents
        .iter()
        .map(|exponents| match exponents.iter().sum::<u32>() {
            0..=2 => 0.0,
            _ => exponents.iter().map(factorial).product(),
        })
        .collect()
}

/// The normal equations of one degree, kept apart for each fold, so that a fit without a fold is a subtraction.
pub(super) struct NormalEquations {
    degree: usize,
    monomials: usize,
    roughness: Vec<f64>,
    /// Whole matrices, of which only the lower triangle is used, row by row.
    grams: Vec<Vec<f64>>,
    rights: Vec<Vec<f64>>,
}

impl NormalEquations {
    /// With functions of the distance beside the monomials, where these have knots.
    pub fn new(samples: &Samples, degree: usize, knots: &[f64]) -> Self {
        let mut roughness = roughness(samples.dim, degree);
        roughness.resize(roughness.len() + radial::count(knots), 1.0);
        let size = roughness.len();
        let mut grams = vec![vec![0.0; size * size]; FOLDS];
        let mut rights = vec![vec![0.0; size]; FOLDS];
        for (index, sample) in samples.list.iter().enumerate() {
            let (gram, right) = (&mut grams[index % FOLDS], &mut rights[index % FOLDS]);
            let mut row = monomials(&sample.w, degree);
            row.extend(radial::features(sample.distance, knots));
            for i in 0..size {
                let scaled = sample.weight * row[i];
                right[i] += scaled * sample.wanted;
                for (entry, other) in gram[i * size..=i * size + i].iter_mut().zip(&row) {
                    *entry += scaled * other;
                }
            }
        }
        Self {
            degree,
            monomials: count(samples.dim, degree),
            roughness,
            grams,
            rights,
        }
    }

    /// The fit to all points but those of one fold, and its multiples of the functions of the distance; `None` where the points do not
    /// determine it.
    pub fn solve(&self, without: Option<usize>, ridge: f64) -> Option<(Polynomial, Vec<f64>)> {
        let size = self.roughness.len();
        let (mut gram, mut right) = (vec![0.0; size * size], vec![0.0; size]);
        for fold in (0..FOLDS).filter(|&fold| Some(fold) != without) {
            for (sum, term) in gram.iter_mut().zip(&self.grams[fold]) {
                *sum += term;
            }
            for (sum, term) in right.iter_mut().zip(&self.rights[fold]) {
                *sum += term;
            }
        }
        for i in 0..size {
            let diagonal = &mut gram[i * size + i];
            *diagonal += TINY_RIDGE * *diagonal + ridge * self.roughness[i];
            for j in 0..i {
                gram[j * size + i] = gram[i * size + j];
            }
        }
        let root = Factor::from_covariance(&gram, "normal equations").ok()?;
        root.solve(&mut right);
        root.solve_transposed(&mut right);
        let heights = right.split_off(self.monomials);
        let polynomial = Polynomial {
            degree: self.degree,
            coefficients: right,
        };
        let mut all = polynomial.coefficients.iter().chain(&heights);
        all.all(|c| c.is_finite()).then_some((polynomial, heights))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluation_is_the_sum_of_the_monomials() {
        for (dim, degree) in [
            (1, 4),
            (2, 3),
            (3, 4),
            (6, 4),
            (5, 2),
            (12, 4),
            (1, 2),
            (9, 3),
        ] {
            let w: Vec<f64> = (0..dim).map(|k| 0.7 - 0.45 * k as f64).collect();
            let size = count(dim, degree);
            let coefficients: Vec<f64> = (0..size).map(|k| (k as f64).sin()).collect();
            let row = monomials(&w, degree);
            assert_eq!(row.len(), size);
            let sum: f64 = row.iter().zip(&coefficients).map(|(a, b)| a * b).sum();
            let scale: f64 = row.iter().map(|v| v.abs()).sum();
            let polynomial = Polynomial {
                degree,
                coefficients,
            };
            assert!(polynomial.fits(dim));
            assert!((polynomial.value(&w) - sum).abs() < 1e-13 * scale);
        }
    }

    #[test]
    fn every_monomial_is_listed_once() {
        // 1; y, yy, yyy; x, xy, xyy, xx, xxy, xxx.
        let (x, y) = (2.0, 3.0);
        let expected = [1.0, y, y * y, 27.0, x, x * y, 18.0, x * x, 12.0, 8.0];
        assert_eq!(monomials(&[x, y], 3), expected);
        // The products of their factorials, from degree three on.
        let expected = [0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 2.0, 0.0, 2.0, 6.0];
        assert_eq!(roughness(2, 3), expected);
    }
}
