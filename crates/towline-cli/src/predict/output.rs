//! Predictions as CSV: the new rows' own columns, then the predictor, the expected response and a new response.

use super::Joint;
use anyhow::Result;
use std::io::Write;
use towline_models::{Cells, Interval, Resolved, Surface, Table};

/// What is predicted, column by column: the predictor, the expected response and a new response.
pub fn columns(surface: &Surface, resolved: &Resolved, level: f64) -> Vec<(String, Cells)> {
    let tail = 50.0 * (1.0 - level);
    let parts = [
        "mean".into(),
        "sd".into(),
        percent(tail),
        "q50".into(),
        percent(100.0 - tail),
    ];
    let mut columns = Vec::new();
    // Five columns for one distribution of each row.
    let mut add = |what: &str, rows: &[Interval]| {
        let of: [fn(&Interval) -> f64; 5] =
            [|i| i.mean, |i| i.sd, |i| i.lower, |i| i.median, |i| i.upper];
        for (part, of) in parts.iter().zip(of) {
            let values = rows.iter().map(of).collect();
            columns.push((format!("{what}_{part}"), Cells::Numbers(values)));
        }
    };
    if surface.classes == 1 {
        let intervals = surface.intervals(level);
        for (k, what) in ["latent", "mean", "predictive"].iter().enumerate() {
            let rows: Vec<Interval> = intervals.iter().map(|row| row[k]).collect();
            add(what, &rows);
        }
        return columns;
    }
    let rows = 0..surface.rows;
    let means: Vec<Vec<Interval>> = rows
        .clone()
        .map(|row| surface.classes_of(row, level))
        .collect();
    for (k, class) in resolved.classes().iter().enumerate() {
        let latent: Vec<Interval> = rows
            .clone()
            .map(|row| surface.latent(k, row, level))
            .collect();
        add(&format!("latent_{class}"), &latent);
    }
    for (k, class) in resolved.classes().iter().enumerate() {
        let of: Vec<Interval> = means.iter().map(|row| row[k]).collect();
        add(&format!("mean_{class}"), &of);
    }
    let best = |row: &Vec<Interval>| {
        let order = (0..row.len()).max_by(|a, b| row[*a].mean.total_cmp(&row[*b].mean));
        order.unwrap_or(0)
    };
    let classes = means
        .iter()
        .map(|row| resolved.classes()[best(row)].clone());
    let shares = means.iter().map(|row| row[best(row)].mean).collect();
    columns.push(("predictive_class".into(), Cells::Words(classes.collect())));
    columns.push(("predictive_probability".into(), Cells::Numbers(shares)));
    columns
}

/// Writes the columns of a table, and those that were predicted, with as many digits as they are worth.
pub fn write(out: impl Write, table: &Table, predicted: &[(String, Cells)]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let names = predicted.iter().map(|(name, _)| name);
    writer.write_record(table.headers().iter().chain(names))?;
    let own = table
        .headers()
        .iter()
        .map(|name| table.text(name))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..table.rows() {
        let mut record: Vec<String> = own.iter().map(|column| column[row].clone()).collect();
        record.extend(predicted.iter().map(|(_, cells)| match cells {
            Cells::Numbers(values) => number(values[row]),
            Cells::Words(values) => values[row].clone(),
        }));
        writer.write_record(&record)?;
    }
    writer.flush()?;
    Ok(())
}

/// Writes joint draws: a line for each draw and row.
pub fn write_joint(out: impl Write, joint: &Joint, rows: usize) -> Result<()> {
    let Joint {
        draws,
        places,
        classes,
    } = joint;
    let mut writer = csv::Writer::from_writer(out);
    let several = draws.first().is_some_and(|draw| draw.eta.len() > rows);
    let mut header: Vec<String> = ["chain", "draw", "row"].map(String::from).to_vec();
    if several {
        header.extend(classes.iter().map(|class| format!("latent_{class}")));
    } else {
        header.push("latent".into());
    }
    header.push("response".into());
    writer.write_record(&header)?;
    for (draw, (chain, step)) in draws.iter().zip(places) {
        for row in 0..rows {
            let mut record = vec![chain.to_string(), step.to_string(), (row + 1).to_string()];
            record.extend(
                draw.eta
                    .iter()
                    .skip(row)
                    .step_by(rows)
                    .map(|eta| number(*eta)),
            );
            record.push(if several {
                classes[draw.response[row] as usize].clone()
            } else {
                draw.response[row].to_string()
            });
            writer.write_record(&record)?;
        }
    }
    writer.flush()?;
    Ok(())
}

/// A number with as many digits as it is worth.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e9).contains(&value.abs()) {
        format!("{value:.6}")
    } else {
        format!("{value:.6e}")
    }
}

/// A quantile's name: q2.5.
fn percent(value: f64) -> String {
    format!("q{}", (value * 1e6).round() / 1e6)
}
