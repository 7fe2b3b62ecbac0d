//! Runs the chains of every row, and draws the sample of figure 1.

use super::estimate::{self, Part};
use super::parallel;
use super::plan::{Plan, RowPlan};
use super::progress::Progress;
use super::replicate;
use super::result::Row;
use crate::builtin::{draw_x, draw_y};
use anyhow::{Context, Result};
use towline::Rng;

/// Points in figure 1, as in the paper.
const POINTS: usize = 1000;

/// Every row of the plan, one after another, the chains of each on all threads.
pub fn rows(plan: &Plan) -> Result<Vec<Row>> {
    let progress = Progress::new(plan);
    let rows = plan
        .rows
        .iter()
        .map(|row| {
            progress.begin(row);
            let done = run_row(plan, row, &progress)
                .with_context(|| format!("test {} failed", row.known.label()))?;
            progress.end(row);
            Ok(done)
        })
        .collect();
    progress.finish(plan);
    rows
}

fn run_row(plan: &Plan, row: &RowPlan, progress: &Progress) -> Result<Row> {
    let parts = parallel::map(row.chains as usize, plan.threads, |k| {
        // Each chain has its own stream, whichever thread it runs on.
        let rng = Rng::stream(plan.seed, row.first_stream + k as u64);
        let chain = replicate::run(row, rng, |steps| progress.advance(row, steps))?;
        Ok(Part::new(row.known, &chain))
    })?;
    Ok(estimate::row(row, &parts))
}

/// Independent points of the first test distribution.
pub fn sample(plan: &Plan) -> Vec<(f64, f64)> {
    let mut rng = Rng::stream(plan.seed, plan.spare_stream());
    let mut point = || {
        let x = draw_x(&mut rng);
        (x, draw_y(x, &mut rng))
    };
    (0..POINTS).map(|_| point()).collect()
}
