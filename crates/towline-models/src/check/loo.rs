//! Leave-one-out cross-validation without refitting: Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry
//! 2017; Vehtari et al. 2024), step by step as ArviZ has it, and WAIC.

use crate::predict::ln_sum;
use towline::diagnose::generalised_pareto;

/// The expected log predictive density, each observation left out in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Loo {
    /// Σ over the observations.
    pub elpd: f64,
    /// Its standard error.
    pub se: f64,
    /// The effective number of parameters.
    pub p: f64,
    /// Observation by observation.
    pub pointwise: Vec<f64>,
    /// The shape k of the Pareto tail of each observation's weights: above [`good_k`] its estimate is not reliable.
    pub k: Vec<f64>,
}

/// The same by the widely applicable information criterion.
#[derive(Debug, Clone, PartialEq)]
pub struct Waic {
    /// Σ over the observations.
    pub elpd: f64,
    /// Its standard error.
    pub se: f64,
    /// The effective number of parameters.
    pub p: f64,
    /// Observation by observation.
    pub pointwise: Vec<f64>,
}

/// The k up to which an estimate from so many draws is reliable.
pub fn good_k(draws: usize) -> f64 {
    (1.0 - 1.0 / (draws as f64).log10()).min(0.7)
}

/// PSIS-LOO from ln p(y_i | draw), draw by draw; `efficiency` is effective draws by draws.
pub fn loo(log_likelihood: &[Vec<f64>], efficiency: f64) -> Loo {
    let rows = log_likelihood.first().map_or(0, Vec::len);
    let (mut pointwise, mut k) = (Vec::new(), Vec::new());
    let mut lppd = 0.0;
    for row in 0..rows {
        let column: Vec<f64> = log_likelihood.iter().map(|draw| draw[row]).collect();
        let (weights, shape) = smoothed(column.iter().map(|l| -l).collect(), efficiency);
        let logs: Vec<f64> = weights.iter().zip(&column).map(|(w, l)| w + l).collect();
        pointwise.push(ln_sum(&logs));
        k.push(shape);
        lppd += ln_mean(&column);
    }
    let (elpd, se) = total(&pointwise);
    Loo {
        elpd,
        se,
        p: lppd - elpd,
        pointwise,
        k,
    }
}

/// WAIC from ln p(y_i | draw), draw by draw.
pub fn waic(log_likelihood: &[Vec<f64>]) -> Waic {
    let rows = log_likelihood.first().map_or(0, Vec::len);
    let (mut pointwise, mut p) = (Vec::new(), 0.0);
    for row in 0..rows {
        let column: Vec<f64> = log_likelihood.iter().map(|draw| draw[row]).collect();
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        let squares = column.iter().map(|l| (l - mean).powi(2)).sum::<f64>();
        let variance = squares / column.len() as f64;
        pointwise.push(ln_mean(&column) - variance);
        p += variance;
    }
    let (elpd, se) = total(&pointwise);
    Waic {
        elpd,
        se,
        p,
        pointwise,
    }
}

/// The difference of two models' elpd on the same observations, and its standard error.
pub fn difference(a: &[f64], b: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    total(&differences)
}

fn ln_mean(logs: &[f64]) -> f64 {
    ln_sum(logs) - (logs.len() as f64).ln()
}

/// A sum, and its standard error over the observations.
fn total(pointwise: &[f64]) -> (f64, f64) {
    let n = pointwise.len() as f64;
    let sum: f64 = pointwise.iter().sum();
    let variance = pointwise.iter().map(|v| (v - sum / n).powi(2)).sum::<f64>() / n;
    (sum, (n * variance).sqrt())
}

/// Log weights with their upper tail replaced by the quantiles of a Pareto distribution, normalised; and its shape k.
fn smoothed(mut weights: Vec<f64>, efficiency: f64) -> (Vec<f64>, f64) {
    let n = weights.len();
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|w| *w -= top);
    let tail = (n as f64 / 5.0)
        .min(3.0 * (n as f64 / efficiency).sqrt())
        .ceil() as usize;
    let mut sorted = weights.clone();
    sorted.sort_by(f64::total_cmp);
    let cutoff = sorted[n.saturating_sub(tail + 1)].max(f64::MIN_POSITIVE.ln());
    let mut above: Vec<usize> = (0..n).filter(|i| weights[*i] > cutoff).collect();
    let mut shape = f64::INFINITY;
    // Fewer points do not tell a tail.
    if above.len() > 4 {
        above.sort_by(|a, b| weights[*a].total_cmp(&weights[*b]));
        let excess: Vec<f64> = above
            .iter()
            .map(|i| weights[*i].exp() - cutoff.exp())
            .collect();
        let (k, sigma) = generalised_pareto(&excess);
        shape = k;
        if k.is_finite() {
            for (order, i) in above.iter().enumerate() {
                let p = (order as f64 + 0.5) / above.len() as f64;
                let value = (quantile(p, k, sigma) + cutoff.exp()).ln();
                // Not above the largest raw weight.
                weights[*i] = value.min(0.0);
            }
        }
    }
    let scale = ln_sum(&weights);
    weights.iter_mut().for_each(|w| *w -= scale);
    (weights, shape)
}

fn quantile(p: f64, k: f64, sigma: f64) -> f64 {
    if sigma <= 0.0 {
        return f64::NAN;
    }
    if k.abs() < f64::EPSILON {
        -sigma * (-p).ln_1p()
    } else {
        sigma * (-k * (-p).ln_1p()).exp_m1() / k
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Reference {
        draws: usize,
        cases: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        efficiency: f64,
        log_likelihood: Vec<Vec<f64>>,
        elpd_loo: f64,
        se_loo: f64,
        p_loo: f64,
        loo_i: Vec<f64>,
        pareto_k: Vec<f64>,
        elpd_waic: f64,
        se_waic: f64,
        p_waic: f64,
    }

    #[test]
    fn loo_and_waic_are_those_of_arviz() {
        let text = include_str!("../../tests/data/loo.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        assert!(reference.draws >= 200 && reference.cases.len() >= 3);
        for case in reference.cases {
            let near = |a: f64, b: f64| {
                // JSON has no infinity: the largest number stands for it.
                let infinite = a.is_infinite() && b >= 1e308;
                let close = (a - b).abs() < 1e-6 * b.abs().max(1.0) || infinite;
                assert!(close, "{}: {a} {b}", case.name);
            };
            let found = loo(&case.log_likelihood, case.efficiency);
            near(found.elpd, case.elpd_loo);
            near(found.se, case.se_loo);
            near(found.p, case.p_loo);
            found
                .pointwise
                .iter()
                .zip(&case.loo_i)
                .for_each(|(a, b)| near(*a, *b));
            found
                .k
                .iter()
                .zip(&case.pareto_k)
                .for_each(|(a, b)| near(*a, *b));
            let found = waic(&case.log_likelihood);
            near(found.elpd, case.elpd_waic);
            near(found.se, case.se_waic);
            near(found.p, case.p_waic);
        }
    }
}
