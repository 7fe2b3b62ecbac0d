//! What came out, as a table and as JSON.

use crate::{FUSED, Timing, c};
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;

/// All rounds of one program.
pub struct Row {
    name: String,
    ns: f64,
    rounds: f64,
    outer_rejections: f64,
    inner_rejections: f64,
    pub instructions: Option<f64>,
}

impl Row {
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ns: f64::INFINITY,
            rounds: 0.0,
            outer_rejections: 0.0,
            inner_rejections: 0.0,
            instructions: None,
        }
    }

    pub fn add(&mut self, timing: &Timing) {
        self.ns = self.ns.min(timing.ns);
        self.rounds += 1.0;
        self.outer_rejections += timing.outer_rejection;
        self.inner_rejections += timing.inner_rejection;
    }

    fn outer_rejection(&self) -> f64 {
        self.outer_rejections / self.rounds
    }

    fn inner_rejection(&self) -> f64 {
        self.inner_rejections / self.rounds
    }

    fn json(&self) -> Value {
        json!({
            "program": self.name,
            "ns": self.ns,
            "outer_rejection": self.outer_rejection(),
            "inner_rejection": self.inner_rejection(),
            "instructions": self.instructions,
        })
    }
}

/// The table, with the ratios below it.
pub fn print(rows: &[Row]) {
    println!("Test 1 (test 2 where it says so), n = 500. The paper's test 1 rejects");
    println!("52.22 % of outer and 63.98 % of inner proposals.\n");
    println!(
        "{:<32}{:>14}{:>14}{:>10}{:>10}",
        "", "ns per inner", "instructions", "outer", "inner"
    );
    println!(
        "{:<32}{:>14}{:>14}{:>10}{:>10}",
        "", "step, best", "per step", "rejected", "rejected"
    );
    for row in rows {
        let count = row.instructions.map_or("–".into(), |n| format!("{n:.1}"));
        println!(
            "{:<32}{:>14.2}{count:>14}{:>9.2}%{:>9.2}%",
            row.name,
            row.ns,
            100.0 * row.outer_rejection(),
            100.0 * row.inner_rejection(),
        );
    }
    println!();
    for (what, ours, theirs) in PAIRS {
        if let Some(ratio) = ratio(rows, ours, theirs) {
            println!("{ratio:.3}  {what}");
        }
    }
}

/// What is compared with what; the first is the ratio of the report.
const PAIRS: [(&str, &str, &str); 3] = [
    (
        "the same arithmetic, nothing fused: towline / C",
        crate::PLAIN,
        c::PLAIN,
    ),
    (
        "the same arithmetic, fused where it may be: towline with mul_add / the fastest C",
        FUSED,
        c::FUSED,
    ),
    (
        "a model without mul_add / the fastest C, which fuses",
        crate::PLAIN,
        c::FUSED,
    ),
];

/// The JSON of the report.
pub fn write(rows: &[Row], file: &Path) -> Result<(), Box<dyn Error>> {
    let ns = |name: &str| find(rows, name).map(|row| row.ns);
    let pairs: Vec<Value> = PAIRS
        .iter()
        .map(|(what, ours, theirs)| {
            json!({
                "what": what,
                "towline_ns": ns(ours),
                "c_ns": ns(theirs),
                "ratio": ratio(rows, ours, theirs),
            })
        })
        .collect();
    let (what, ours, theirs) = PAIRS[0];
    let report = json!({
        "towline_ns": ns(ours),
        "c_ns": ns(theirs),
        "ratio": ratio(rows, ours, theirs),
        "compared": what,
        "pairs": pairs,
        "programs": rows.iter().map(Row::json).collect::<Vec<_>>(),
    });
    std::fs::write(file, format!("{report:#}\n"))?;
    println!("\nWritten to {}.", file.canonicalize()?.display());
    Ok(())
}

fn ratio(rows: &[Row], ours: &str, theirs: &str) -> Option<f64> {
    Some(find(rows, ours)?.ns / find(rows, theirs)?.ns)
}

fn find<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name)
}
