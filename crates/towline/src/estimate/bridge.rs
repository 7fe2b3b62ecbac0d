//! Bridge sampling (Meng and Wong 1996): the constant of an unnormalised density from draws of it and of a normalised one.

use super::reference::log_sum;

/// Rounds of the fixed point: it converges like a geometric series, and this many reach rounding.
const ROUNDS: usize = 200;

/// ln ∫p and its standard error, from ln(p/q) at draws of p and at draws of q, both in as many blocks of equal length.
///
/// The error is a jackknife over blocks, so that what is left of a chain's memory within a block is counted.
pub(crate) fn bridge(at_p: &[Vec<f64>], at_q: &[Vec<f64>]) -> (f64, f64) {
    let join = |blocks: &[Vec<f64>], without: Option<usize>| -> Vec<f64> {
        let kept = blocks
            .iter()
            .enumerate()
            .filter(|(k, _)| Some(*k) != without);
        kept.flat_map(|(_, block)| block.iter().copied()).collect()
    };
    let whole = estimate(&join(at_p, None), &join(at_q, None));
    let blocks = at_p.len().min(at_q.len());
    let left: Vec<f64> = (0..blocks)
        .map(|k| estimate(&join(at_p, Some(k)), &join(at_q, Some(k))))
        .collect();
    (whole, jackknife(&left))
}

/// The standard error from estimates that leave out one part each.
pub(crate) fn jackknife(left_out: &[f64]) -> f64 {
    let count = left_out.len() as f64;
    let mean = left_out.iter().sum::<f64>() / count;
    let squares: f64 = left_out.iter().map(|v| (v - mean) * (v - mean)).sum();
    ((count - 1.0) / count * squares).sqrt()
}

/// The optimal bridge's fixed point.
fn estimate(at_p: &[f64], at_q: &[f64]) -> f64 {
    let (n_p, n_q) = (at_p.len() as f64, at_q.len() as f64);
    let (s_p, s_q) = ((n_p / (n_p + n_q)).ln(), (n_q / (n_p + n_q)).ln());
    let mut log_r = median(at_p);
    for _ in 0..ROUNDS {
        let mix = |l: f64| log_sum(&[s_p + l, s_q + log_r]);
        let above: Vec<f64> = at_q.iter().map(|&l| l - mix(l)).collect();
        let below: Vec<f64> = at_p.iter().map(|&l| -mix(l)).collect();
        let next = log_sum(&above) - n_q.ln() - (log_sum(&below) - n_p.ln());
        let done = (next - log_r).abs() < 1e-10;
        log_r = next;
        if done {
            break;
        }
    }
    log_r
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn the_constant_of_a_known_density_is_found_within_its_error() {
        // p = 7 exp(−|x|), whose integral is 14; q is a normal of sd 1.2.
        let sd: f64 = 1.2;
        let ratio = |x: f64| {
            7f64.ln() - x.abs() + 0.5 * (x / sd).powi(2) + (sd * std::f64::consts::TAU.sqrt()).ln()
        };
        let mut scores = Vec::new();
        for seed in 0..40 {
            let mut rng = Rng::stream(21, seed);
            let mut block = |of_p: bool| -> Vec<f64> {
                (0..60)
                    .map(|_| match of_p {
                        true => ratio(rng.exponential()),
                        false => ratio(sd * rng.normal()),
                    })
                    .collect()
            };
            let at_p: Vec<_> = (0..16).map(|_| block(true)).collect();
            let at_q: Vec<_> = (0..16).map(|_| block(false)).collect();
            let (found, error) = bridge(&at_p, &at_q);
            scores.push((found - 14f64.ln()) / error);
        }
        let rms = (scores.iter().map(|z| z * z).sum::<f64>() / 40.0).sqrt();
        // √χ²(40)/√40: sd 0.11, and a jackknife of 16 blocks is a little noisy.
        assert!((0.6..1.5).contains(&rms), "{rms}");
        assert!(scores.iter().all(|z| z.abs() < 4.5), "{scores:?}");
    }
}
