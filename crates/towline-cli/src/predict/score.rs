//! How good predictions were, where the response is known.

use super::posterior::Surface;
use std::fmt::Write;
use towline_models::{FamilyKind, Resolved};

/// Bins of predicted probability in the calibration table.
const BINS: usize = 10;

/// Scores in words.
pub fn render(
    resolved: &Resolved,
    surface: &Surface,
    observed: &[f64],
    trials: Option<&[f64]>,
) -> String {
    let mean: Vec<f64> = surface
        .response
        .iter()
        .map(|summary| summary.mean)
        .collect();
    match resolved.model.family {
        FamilyKind::Bernoulli => bernoulli(&mean, observed),
        FamilyKind::Softmax => softmax(&mean, observed),
        _ => numbers(&mean, observed, trials),
    }
}

fn bernoulli(probability: &[f64], observed: &[f64]) -> String {
    let rows = observed.len();
    let errors = probability
        .iter()
        .zip(observed)
        .filter(|(p, y)| (**p > 0.5) != (**y > 0.5))
        .count();
    let log: f64 = probability
        .iter()
        .zip(observed)
        .map(|(p, y)| if *y > 0.5 { p.ln() } else { (1.0 - p).ln() })
        .sum();
    let brier: f64 = probability
        .iter()
        .zip(observed)
        .map(|(p, y)| (p - y).powi(2))
        .sum();
    let count = rows as f64;
    let mut text = format!(
        "{rows} rows: {errors} errors, accuracy {:.4}, mean log score {:.4}, Brier score {:.4}\n\n\
         calibration:\n  probability   rows   mean predicted   observed",
        1.0 - errors as f64 / count,
        log / count,
        brier / count
    );
    for bin in 0..BINS {
        let inside: Vec<(f64, f64)> = probability
            .iter()
            .zip(observed)
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

fn softmax(probability: &[f64], observed: &[f64]) -> String {
    let rows = observed.len();
    let classes = probability.len() / rows;
    let (mut errors, mut log) = (0, 0.0);
    for (row, class) in observed.iter().enumerate() {
        let of = |class: usize| probability[class * rows + row];
        let best = (0..classes).max_by(|a, b| of(*a).total_cmp(&of(*b)));
        errors += usize::from(best != Some(*class as usize));
        log += of(*class as usize).ln();
    }
    let count = rows as f64;
    format!(
        "{rows} rows: {errors} errors, accuracy {:.4}, mean log score {:.4}",
        1.0 - errors as f64 / count,
        log / count
    )
}

fn numbers(mean: &[f64], observed: &[f64], trials: Option<&[f64]>) -> String {
    let rows = observed.len() as f64;
    let expected = |row: usize| mean[row] * trials.map_or(1.0, |trials| trials[row]);
    let error = |row: usize| observed[row] - expected(row);
    let square: f64 = (0..observed.len()).map(|row| error(row).powi(2)).sum();
    let absolute: f64 = (0..observed.len()).map(|row| error(row).abs()).sum();
    format!(
        "{rows} rows: root mean square error {:.4}, mean absolute error {:.4}",
        (square / rows).sqrt(),
        absolute / rows
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_scores_are_counted() {
        let text = bernoulli(&[0.9, 0.2, 0.6], &[1.0, 0.0, 0.0]);
        assert!(text.contains("1 errors, accuracy 0.6667"), "{text}");
        let log = (0.9f64.ln() + 0.8f64.ln() + 0.4f64.ln()) / 3.0;
        assert!(text.contains(&format!("mean log score {log:.4}")), "{text}");
        // Three classes, two rows: class by class.
        let text = softmax(&[0.7, 0.1, 0.2, 0.2, 0.1, 0.7], &[0.0, 1.0]);
        assert!(text.contains("1 errors"), "{text}");
    }
}
