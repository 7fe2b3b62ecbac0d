//! Rank normalisation: draws replaced by the normal scores of their ranks, so that tails cannot dominate.

use super::moments::sorted;
use statrs::distribution::{ContinuousCDF, Normal};

/// Replaces every draw by Φ⁻¹((r − 3/8) / (S + 1/4)), r its rank among all S draws of all chains.
///
/// Tied draws share the average of their ranks; 3/8 is Blom's offset, as in Vehtari et al.
pub(super) fn normalised(chains: &[&[f64]]) -> Vec<Vec<f64>> {
    let draws = chains.concat();
    let total = draws.len();
    let normal = Normal::standard();
    let mut order: Vec<usize> = (0..total).collect();
    order.sort_unstable_by(|&a, &b| draws[a].total_cmp(&draws[b]));

    let mut scores = vec![0.0; total];
    let mut start = 0;
    while start < total {
        let mut end = start + 1;
        // `==` and not `total_cmp`: −0 and 0 are a tie.
        while end < total && draws[order[end]] == draws[order[start]] {
            end += 1;
        }
        // Ranks start + 1 … end, on average:
        let rank = (start + 1 + end) as f64 / 2.0;
        let score = normal.inverse_cdf((rank - 0.375) / (total as f64 + 0.25));
        for &i in &order[start..end] {
            scores[i] = score;
        }
        start = end;
    }

    let mut rest = scores.as_slice();
    chains
        .iter()
        .map(|chain| {
            let (head, tail) = rest.split_at(chain.len());
            rest = tail;
            head.to_vec()
        })
        .collect()
}

/// The distances of the draws from their common median: where chains differ in spread, these differ in place.
pub(super) fn folded(chains: &[&[f64]]) -> Vec<Vec<f64>> {
    let draws = sorted(chains);
    // Half the sum, not an interpolation: with an even number of draws the middle two are equally
    // far from their median, and only the same rounding as NumPy's ties (or parts) them alike.
    let middle = draws.len() / 2;
    let median = match draws.len() % 2 {
        _ if draws.is_empty() => f64::NAN,
        0 => 0.5 * (draws[middle - 1] + draws[middle]),
        _ => draws[middle],
    };
    super::chains::map(chains, |x| (x - median).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_follow_ranks_whatever_the_values() {
        let tame = normalised(&[&[1.0, 2.0], &[3.0, 4.0]]);
        let wild = normalised(&[&[-1e300, 0.0], &[1e-5, f64::INFINITY]]);
        assert_eq!(tame, wild);
        // scipy.stats.norm.ppf((1 - 0.375) / 4.25)
        assert!(
            (tame[0][0] - -1.049131397963971).abs() < 1e-13,
            "{}",
            tame[0][0]
        );
        assert!((tame[0][1] + tame[1][0]).abs() < 1e-15);
    }

    #[test]
    fn tied_draws_share_their_average_score() {
        let scores = normalised(&[&[0.0, -0.0, 5.0], &[-3.0, 0.0, 9.0]]);
        assert_eq!(scores[0][0], scores[0][1]);
        assert_eq!(scores[0][0], scores[1][1]);
        assert_eq!(normalised(&[&[7.0; 10]]), vec![vec![0.0; 10]]);
    }

    #[test]
    fn folding_measures_from_the_common_median() {
        assert_eq!(
            folded(&[&[1.0, 2.0], &[3.0, 6.0]]),
            vec![vec![1.5, 0.5], vec![0.5, 3.5]]
        );
    }
}
