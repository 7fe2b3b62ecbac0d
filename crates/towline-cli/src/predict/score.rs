//! How good predictions were, where the response is known: in words.

use std::fmt::Write;
use towline_models::{Family, Scores, Surface};

/// Bins of predicted probability in the calibration table.
const BINS: usize = 10;

/// Scores in words.
pub fn render(family: Family, surface: &Surface, scores: &Scores, observed: &[f64]) -> String {
    let rows = observed.len();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / rows as f64;
    let log = mean(&scores.log);
    match family {
        Family::BernoulliLogit | Family::BernoulliProbit => {
            bernoulli(&scores.expected, observed, log)
        }
        Family::Softmax => {
            let best = |row: usize| {
                let of = surface.classes_of(row, 0.5);
                let top = (0..of.len()).max_by(|a, b| of[*a].mean.total_cmp(&of[*b].mean));
                top.unwrap_or(0) as f64
            };
            let errors = (0..rows).filter(|row| best(*row) != observed[*row]).count();
            format!(
                "{rows} rows: {}, accuracy {:.4}, mean log score {log:.4}, Brier score {:.4}",
                plural(errors, "error"),
                1.0 - errors as f64 / rows as f64,
                mean(&scores.crps),
            )
        }
        _ => numbers(scores, observed, log, mean(&scores.crps)),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn bernoulli(probability: &[f64], observed: &[f64], log: f64) -> String {
    let rows = observed.len();
    let pairs = || probability.iter().zip(observed);
    let errors = pairs().filter(|(p, y)| (**p > 0.5) != (**y > 0.5)).count();
    let brier: f64 = pairs().map(|(p, y)| (p - y).powi(2)).sum();
    let count = rows as f64;
    let mut text = format!(
        "{rows} rows: {}, accuracy {:.4}, mean log score {log:.4}, Brier score {:.4}\n\n\
         calibration:\n  probability   rows   mean predicted   observed",
        plural(errors, "error"),
        1.0 - errors as f64 / count,
        brier / count
    );
    for bin in 0..BINS {
        let inside: Vec<(f64, f64)> = pairs()
            .filter(|(p, _)| ((**p * BINS as f64) as usize).min(BINS - 1) == bin)
            .map(|(p, y)| (*p, *y))
            .collect();
        if inside.is_empty() {
            continue;
        }
        let n = inside.len() as f64;
        let (predicted, seen) = inside
            .iter()
            .fold((0.0, 0.0), |(a, b), (p, y)| (a + p / n, b + y / n));
        let (low, high) = (bin as f64 / BINS as f64, (bin + 1) as f64 / BINS as f64);
        let _ = write!(
            text,
            "\n  {low:.1} to {high:.1}   {:>6}   {predicted:>14.3}   {seen:>8.3}",
            inside.len()
        );
    }
    text
}

fn numbers(scores: &Scores, observed: &[f64], log: f64, crps: f64) -> String {
    let rows = observed.len() as f64;
    let off = || observed.iter().zip(&scores.expected).map(|(y, mu)| y - mu);
    let square: f64 = off().map(|d| d * d).sum();
    let absolute: f64 = off().map(f64::abs).sum();
    let mut text = format!(
        "{rows} rows: mean log score {log:.4}, CRPS {crps:.4}, root mean square error {:.4}, mean absolute error {:.4}\n\n\
         coverage of predictive intervals:\n  level   should hold   held",
        (square / rows).sqrt(),
        absolute / rows
    );
    for one in &scores.coverage {
        let percent = |part: f64| 100.0 * part;
        let _ = write!(
            text,
            "\n  {:>3.0} %   {:>9.1} %   {:.1} %",
            percent(one.level),
            percent(one.expected),
            percent(one.observed)
        );
    }
    let parts: Vec<String> = scores
        .pit
        .iter()
        .map(|p| format!("{:.0}", 100.0 * p))
        .collect();
    let _ = write!(
        text,
        "\ncalibration: per cent of the rows in each tenth of their predictive distribution (10 each is perfect)\n  {}",
        parts.join("  ")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_scores_are_counted() {
        let log = (0.9f64.ln() + 0.8f64.ln() + 0.4f64.ln()) / 3.0;
        let text = bernoulli(&[0.9, 0.2, 0.6], &[1.0, 0.0, 0.0], log);
        assert!(text.contains("1 error, accuracy 0.6667"), "{text}");
        assert!(text.contains(&format!("mean log score {log:.4}")), "{text}");
    }
}
