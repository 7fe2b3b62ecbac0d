//! The variance of an estimate, from what leaving out each of its points changes.

/// The variance of an estimate, from its values without each of the points.
///
/// A jackknife; and the mean of a skewed quantity and its error go together: where it comes out too small, so does the error. To order
/// 1/n the mean square of their ratio is 1 + (2 + 2γ²)/n, with the skewness γ (Johnson 1978 has the terms).
pub(super) fn variance(left_out: &[f64]) -> f64 {
    let count = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let power = |k: i32| left_out.iter().map(move |v| (v - mean).powi(k));
    let all: f64 = power(2).sum();
    if all == 0.0 || !all.is_finite() {
        return all;
    }
    let skewness = power(3).sum::<f64>() / count / (all / count).powf(1.5);
    (count - 1.0) / count * all * (1.0 + 2.0 * (1.0 + skewness * skewness) / count)
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
            with += square / variance(&left);
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
