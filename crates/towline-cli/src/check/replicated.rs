//! Replicated data beside the observed, in a few numbers.

use serde_json::{Value, json};
use std::fmt::Write;

/// One figure of the data, and of data like them.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistic {
    /// What it is.
    pub name: &'static str,
    /// Of the observed data.
    pub observed: f64,
    /// Of replicated data: the 5 %, 50 % and 95 % quantiles.
    pub replicated: [f64; 3],
    /// The share of replicated data with as much or more; ties count half.
    pub above: f64,
}

impl Statistic {
    /// For `--json`.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name, "observed": self.observed, "q5": self.replicated[0], "q50": self.replicated[1],
            "q95": self.replicated[2], "share_above": self.above,
        })
    }
}

/// A figure of many responses, with its name.
type Figure = (&'static str, fn(&[f64]) -> f64);

/// The figures that are compared.
const FIGURES: [Figure; 5] = [
    ("mean", mean),
    ("standard deviation", deviation),
    ("smallest", |data| {
        data.iter().copied().fold(f64::INFINITY, f64::min)
    }),
    ("largest", |data| {
        data.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }),
    ("share of zeros", |data| {
        data.iter().filter(|y| **y == 0.0).count() as f64 / data.len() as f64
    }),
];

/// A share of replicated data outside this range is worth a look.
const ODD: f64 = 0.025;

fn mean(data: &[f64]) -> f64 {
    data.iter().sum::<f64>() / data.len() as f64
}

fn deviation(data: &[f64]) -> f64 {
    let centre = mean(data);
    (data.iter().map(|y| (y - centre).powi(2)).sum::<f64>() / data.len() as f64).sqrt()
}

/// Compares observed data with others like them.
pub fn compare(observed: &[f64], copies: &[Vec<f64>]) -> Vec<Statistic> {
    FIGURES
        .iter()
        .map(|(name, figure)| {
            let own = figure(observed);
            let mut others: Vec<f64> = copies.iter().map(|data| figure(data)).collect();
            others.sort_by(f64::total_cmp);
            let above: f64 = others
                .iter()
                .map(|other| match other.total_cmp(&own) {
                    std::cmp::Ordering::Greater => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Less => 0.0,
                })
                .sum();
            let at = |p: f64| others[(p * (others.len() - 1) as f64).round() as usize];
            Statistic {
                name,
                observed: own,
                replicated: [at(0.05), at(0.5), at(0.95)],
                above: above / others.len() as f64,
            }
        })
        // Zeros are of no interest where there are none.
        .filter(|s| s.name != "share of zeros" || s.observed > 0.0 || s.replicated[2] > 0.0)
        .collect()
}

/// A table, and what stands out in it.
pub fn render(statistics: &[Statistic], by: &str) -> String {
    use crate::runs::short;
    let mut text = format!(
        "Data made by {by}, beside the observed:\n\
         {:<18} {:>9} {:>9} {:>9} {:>9} {:>12}",
        "", "observed", "5 %", "50 %", "95 %", "share above"
    );
    for s in statistics {
        let [low, middle, high] = s.replicated.map(short);
        let mark = if s.above < ODD || s.above > 1.0 - ODD {
            "  !"
        } else {
            ""
        };
        let _ = write!(
            text,
            "\n{:<18} {:>9} {low:>9} {middle:>9} {high:>9} {:>12.3}{mark}",
            s.name,
            short(s.observed),
            s.above
        );
    }
    if statistics
        .iter()
        .any(|s| s.above < ODD || s.above > 1.0 - ODD)
    {
        text +=
            "\n! such data are hardly ever made: look at the picture for what the model misses.";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_the_model_never_makes_stand_out() {
        let copies: Vec<Vec<f64>> = (0..100).map(|k| vec![f64::from(k % 3), 1.0, 2.0]).collect();
        let text = render(&compare(&[0.0, 9.0, 30.0], &copies), "a model");
        assert!(text.contains("largest") && text.contains('!'), "{text}");
        let same = compare(&copies[0], &copies);
        assert!(same.iter().all(|s| s.above > 0.1), "{same:?}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
