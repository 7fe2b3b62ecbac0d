//! A table of summaries, as `towline summary` has it.

use serde::Serialize;
use towline::diagnose::{self, Summary};

/// One column's line.
#[derive(Debug, Serialize)]
pub struct Line {
    #[serde(flatten)]
    summary: Summary,
    q2_5: f64,
    q97_5: f64,
}

/// The summaries of columns, each given as the draws of every chain.
pub fn of(columns: &[Vec<Vec<f64>>]) -> Vec<Line> {
    let one = |chains: &Vec<Vec<f64>>| {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        Line {
            summary: Summary::of(&chains),
            q2_5: diagnose::quantile(&chains, 0.025),
            q97_5: diagnose::quantile(&chains, 0.975),
        }
    };
    columns.iter().map(one).collect()
}
