//! What is said about progress on stderr: a bar on a terminal, plain lines elsewhere, or nothing.

use super::plan::{Plan, RowPlan};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::Instant;

const TEMPLATE: &str = "{bar:32} {percent:>3} %  {msg:<14} {eta:>4} left";

/// Progress through the rows of a plan.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    lines: bool,
    begun: Instant,
}

impl Progress {
    /// A bar at zero, as long as the plan's work.
    pub fn new(plan: &Plan) -> Self {
        let terminal = io::stderr().is_terminal();
        let target = if terminal && !plan.quiet {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let work = plan.rows.iter().map(|row| row.iterations() * row.cost());
        let bar = ProgressBar::with_draw_target(Some(work.sum()), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Self {
            bar,
            lines: !terminal && !plan.quiet,
            begun: Instant::now(),
        }
    }

    /// A row has begun.
    pub fn begin(&self, row: &RowPlan) {
        self.bar.set_message(row.spec.label());
    }

    /// So many more iterations of a row are done.
    pub fn advance(&self, row: &RowPlan, iterations: u64) {
        self.bar.inc(iterations * row.cost());
    }

    /// A row is finished.
    pub fn end(&self, row: &RowPlan) {
        if self.lines {
            let (label, count) = (row.spec.label(), row.iterations());
            self.say(&format!("test {label}: {count} iterations"));
        }
    }

    /// All rows are finished.
    pub fn finish(&self, plan: &Plan) {
        self.bar.finish_and_clear();
        if !plan.quiet {
            let (seconds, threads) = (self.begun.elapsed().as_secs_f64(), plan.threads);
            self.say(&format!("sampled in {seconds:.1} s, threads: {threads}"));
        }
    }

    fn say(&self, line: &str) {
        // Progress that nobody can see is no reason to stop.
        let _ = writeln!(io::stderr(), "{line}");
    }
}
