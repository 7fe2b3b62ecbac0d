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
                .with_context(|| format!("test {} failed", row.spec.label()))?;
            progress.end(row);
            Ok(done)
        })
        .collect();
    progress.finish(plan);
    rows
}

fn run_row(plan: &Plan, row: &RowPlan, progress: &Progress) -> Result<Row> {
    // Each chain has its own stream, whichever thread it runs on.
    let rng = |k: u64| Rng::stream(plan.seed, row.first_stream + k);
    let advance = |steps| progress.advance(row, steps);
    let team = row.team();
    let teams = row.chains.div_ceil(team) as usize;
    let parts = parallel::map(teams, plan.threads, |k| {
        let first = k as u64 * team;
        let chains = if team == 1 {
            vec![replicate::run(row, rng(first), advance)?]
        } else {
            let members = first..row.chains.min(first + team);
            replicate::run_together(row, members.map(rng).collect(), advance)?
        };
        let part = |chain: &_| Part::new(&row.spec, chain);
        Ok(chains.iter().map(part).collect::<Vec<_>>())
    })?;
    let parts: Vec<Part> = parts.into_iter().flatten().collect();
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
