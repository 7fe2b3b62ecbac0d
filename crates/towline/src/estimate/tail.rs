//! What the errors of few points do not see: tails that no point went to, and averages of skewed quantities.
//!
//! Controls are constant far out. What is averaged need not be: the square of a variable goes on growing. A few dozen points hardly ever
//! lie there, so that a jackknife would mostly leave that part out, and now and then have too much of it. But free draws of π̃ do lie
//! there, and say how much the average would scatter if what was fitted inside went on a little further.

use super::control::{Controls, FURTHEST, Regression, fill};
use super::free::Free;

/// What is averaged is followed so many standard deviations further than controls are: beyond that π̃'s tails are heavier than the
/// posterior's, on purpose, and weights are small.
const FURTHER: f64 = 1.0;
/// Lines and parabolas are followed, and no higher powers.
const MOST_FOLLOWED: usize = 2;

/// How averages go on where controls do not.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    /// The regression on lines and parabolas.
    inside: Regression,
    /// The covariance under π̃ of what they grow by beyond, row by row.
    growth: Vec<f64>,
    /// Which of the points lie beyond.
    beyond: Vec<bool>,
}

impl Tail {
    /// Of these controls at these whitened points; nothing where there are none to follow.
    pub fn new(controls: &Controls, whitened: &[Vec<f64>], free: &Free) -> Option<Self> {
        let short = |term: &&Vec<usize>| term.len() <= MOST_FOLLOWED;
        let terms: Vec<Vec<usize>> = controls.terms().iter().filter(short).cloned().collect();
        let q = terms.len();
        let rows: Vec<Vec<f64>> = whitened
            .iter()
            .map(|w| {
                let mut row = vec![0.0; q];
                fill(&terms, w, FURTHEST, &mut row);
                row
            })
            .collect();
        let inside = Regression::new(&rows).filter(|_| q > 0)?;
        let beyond = |w: &[f64]| w.iter().any(|v| v.abs() > FURTHEST);
        let (mut sums, mut growth) = (vec![0.0; q], vec![0.0; q * q]);
        let (mut near, mut far) = (vec![0.0; q], vec![0.0; q]);
        let share = 1.0 / free.count() as f64;
        for w in free.draws().filter(|w| beyond(w)) {
            fill(&terms, w, FURTHEST, &mut near);
            fill(&terms, w, FURTHEST + FURTHER, &mut far);
            far.iter_mut().zip(&near).for_each(|(f, n)| *f -= n);
            for i in 0..q {
                sums[i] += share * far[i];
                for j in 0..q {
                    growth[i * q + j] += share * far[i] * far[j];
                }
            }
        }
        for i in 0..q {
            for j in 0..q {
                growth[i * q + j] -= sums[i] * sums[j];
            }
        }
        Some(Self {
            inside,
            growth,
            beyond: whitened.iter().map(|w| beyond(w)).collect(),
        })
    }

    /// The variance of an average that the tail is expected to give, from what each point adds to it.
    fn variance(&self, influence: &[f64]) -> f64 {
        let slopes = self.inside.of(influence).slopes;
        let q = slopes.len();
        let mut sum = 0.0;
        for i in 0..q {
            for j in 0..q {
                sum += slopes[i] * slopes[j] * self.growth[i * q + j];
            }
        }
        sum.max(0.0) / influence.len() as f64
    }
}

/// The variance of an estimate, from its values without each of the points and from what each adds to it.
///
/// The part of the points far out is no smaller than what the tail is expected to give. And the mean of a skewed quantity and its error
/// go together: where it comes out too small, so does the error. To order 1/n the mean square of their ratio is 1 + (2 + 2γ²)/n,
/// with the skewness γ (Johnson 1978 has the terms).
pub(super) fn variance(left_out: &[f64], influence: &[f64], tail: Option<&Tail>) -> f64 {
    let count = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let power = |k: i32| left_out.iter().map(move |v| (v - mean).powi(k));
    let all: f64 = power(2).sum();
    if all == 0.0 || !all.is_finite() {
        return all;
    }
    let scale = (count - 1.0) / count;
    let outside: f64 = tail.map_or(0.0, |tail| {
        let far = power(2).zip(&tail.beyond).filter(|(_, beyond)| **beyond);
        far.map(|(square, _)| square).sum()
    });
    let expected = tail.map_or(0.0, |tail| tail.variance(influence));
    let plain = scale * (all - outside) + (scale * outside).max(expected);
    let skewness = power(3).sum::<f64>() / count / (all / count).powf(1.5);
    plain * (1.0 + 2.0 * (1.0 + skewness * skewness) / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// Root mean square of the z-scores of means of a skewed quantity, with and without what skewness adds.
    fn skewed(count: usize) -> (f64, f64) {
        let mut rng = Rng::stream(81, count as u64);
        let (mut with, mut plain) = (0.0, 0.0);
        let replicates = 4000;
        for _ in 0..replicates {
            let values: Vec<f64> = (0..count).map(|_| rng.normal().powi(4)).collect();
            let n = count as f64;
            let mean = values.iter().sum::<f64>() / n;
            let left: Vec<f64> = values.iter().map(|v| (n * mean - v) / (n - 1.0)).collect();
            let square = (mean - 3.0).powi(2) / f64::from(replicates);
            with += square / variance(&left, &values, None);
            plain += square / super::super::bridge::jackknife(&left).powi(2);
        }
        (with.sqrt(), plain.sqrt())
    }

    #[test]
    fn means_of_skewed_quantities_have_larger_errors_than_plain_ones_say() {
        // The fourth power of a normal number: skewness 9.
        for count in [50, 100] {
            let (with, plain) = skewed(count);
            println!("{count}: {with} {plain}");
            assert!(with < 0.9 * plain, "{count}: {with} {plain}");
        }
        let (with, plain) = skewed(400);
        assert!(with < plain && with < 1.25, "{with} {plain}");
    }
}
