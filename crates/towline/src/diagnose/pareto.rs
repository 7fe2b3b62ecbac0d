//! The tail of importance weights: the shape k of a generalised Pareto distribution (Vehtari et al. 2024).

/// The shape k of the upper tail of weights given by their logarithms: their moments of order below 1/k exist. NaN where there
/// are too few points to tell.
pub fn pareto_shape(log_weights: &[f64]) -> f64 {
    let n = log_weights.len();
    let mut sorted: Vec<f64> = log_weights.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(top) = sorted.last().copied().filter(|top| top.is_finite()) else {
        return f64::NAN;
    };
    let tail = (n as f64 / 5.0).min(3.0 * (n as f64).sqrt()).ceil() as usize;
    let cutoff = (sorted[n.saturating_sub(tail + 1)] - top).max(f64::MIN_POSITIVE.ln());
    let above = sorted.iter().map(|w| w - top).filter(|w| *w > cutoff);
    let excess: Vec<f64> = above.map(|w| w.exp() - cutoff.exp()).collect();
    // Fewer points do not tell a tail.
    if excess.len() <= 4 {
        return f64::NAN;
    }
    generalised_pareto(&excess).0
}

/// The shape and the scale of the generalised Pareto distribution of sorted, positive excesses (Zhang and Stephens 2009), with a weak
/// prior on the shape.
pub fn generalised_pareto(excess: &[f64]) -> (f64, f64) {
    const PRIOR_B: f64 = 3.0;
    const PRIOR_K: f64 = 10.0;
    let n = excess.len() as f64;
    let points = 30 + n.sqrt() as usize;
    let quarter = excess[(n / 4.0 + 0.5) as usize - 1];
    let largest = excess[excess.len() - 1];
    let mean_log = |b: f64| excess.iter().map(|x| (-b * x).ln_1p()).sum::<f64>() / n;
    let candidates: Vec<(f64, f64)> = (1..=points)
        .map(|j| {
            let root = (points as f64 / (j as f64 - 0.5)).sqrt();
            let b = (1.0 - root) / (PRIOR_B * quarter) + 1.0 / largest;
            let k = mean_log(b);
            (b, n * ((-(b / k)).ln() - k - 1.0))
        })
        .collect();
    let weight = |length: f64| 1.0 / candidates.iter().map(|c| (c.1 - length).exp()).sum::<f64>();
    let weighted: Vec<(f64, f64)> = candidates
        .iter()
        .map(|(b, length)| (*b, weight(*length)))
        .filter(|(_, w)| *w >= 10.0 * f64::EPSILON)
        .collect();
    let sum: f64 = weighted.iter().map(|(_, w)| w).sum();
    let b: f64 = weighted.iter().map(|(b, w)| b * w / sum).sum();
    let k = mean_log(b);
    ((n * k + PRIOR_K * 0.5) / (n + PRIOR_K), -k / b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn the_shape_of_pareto_weights_is_found() {
        // w = u^(−k): its tail has shape k; 60 tail points of 2000 give an error of some (1 + k)/√134.
        for (seed, k) in [(1, 0.2), (2, 0.5), (3, 1.0)] {
            let mut rng = Rng::stream(41, seed);
            let logs: Vec<f64> = (0..2000).map(|_| k * rng.exponential()).collect();
            let found = pareto_shape(&logs);
            assert!(
                (found - k).abs() < 4.0 * (1.0 + k) / 134f64.sqrt(),
                "{k}: {found}"
            );
        }
        assert!(pareto_shape(&[0.0; 50]).is_nan());
    }
}
