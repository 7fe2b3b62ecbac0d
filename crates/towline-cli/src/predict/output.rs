//! Predictions as CSV: the new rows' own columns, then the predictor and the response.

use super::posterior::{Summary, Surface};
use anyhow::Result;
use std::io::Write;
use towline_models::{FamilyKind, Resolved, Table};

/// Writes a row for each row of the table.
pub fn write(out: impl Write, table: &Table, surface: &Surface, resolved: &Resolved) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let several = resolved.model.family == FamilyKind::Softmax;
    let classes: Vec<String> = if several {
        resolved
            .classes()
            .iter()
            .map(|class| format!("_{class}"))
            .collect()
    } else {
        vec![String::new()]
    };
    let (low, high) = surface.percent;
    let mut header: Vec<String> = table.headers().to_vec();
    for class in &classes {
        for what in ["latent", "response"] {
            for part in [
                "mean".into(),
                "sd".into(),
                percent(low),
                "q50".into(),
                percent(high),
            ] {
                header.push(format!("{what}{class}_{part}"));
            }
        }
    }
    writer.write_record(&header)?;
    let columns = table
        .headers()
        .iter()
        .map(|name| table.text(name))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..surface.rows {
        let mut record: Vec<String> = columns.iter().map(|column| column[row].clone()).collect();
        for class in 0..classes.len() {
            let cell = class * surface.rows + row;
            for Summary {
                mean,
                sd,
                low,
                median,
                high,
            } in [surface.latent[cell], surface.response[cell]]
            {
                record.extend([mean, sd, low, median, high].map(|value| format!("{value:.6}")));
            }
        }
        writer.write_record(&record)?;
    }
    writer.flush()?;
    Ok(())
}

/// A quantile's name: q2.5.
fn percent(value: f64) -> String {
    format!("q{}", (value * 1e6).round() / 1e6)
}
