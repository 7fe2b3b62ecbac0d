//! Predictions as CSV: the new rows' own columns, then the predictor, the expected response and a new response.

use anyhow::Result;
use std::io::Write;
use towline_models::{Interval, JointDraw, Resolved, Surface, Table};

/// Writes a row for each row of the table.
pub fn write(
    out: impl Write,
    table: &Table,
    surface: &Surface,
    resolved: &Resolved,
    level: f64,
) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let tail = 50.0 * (1.0 - level);
    let parts = [
        "mean".into(),
        "sd".into(),
        percent(tail),
        "q50".into(),
        percent(100.0 - tail),
    ];
    let mut header: Vec<String> = table.headers().to_vec();
    let mut name = |what: &str| header.extend(parts.iter().map(|part| format!("{what}_{part}")));
    if surface.classes > 1 {
        for class in resolved.classes() {
            name(&format!("latent_{class}"));
        }
        for class in resolved.classes() {
            name(&format!("mean_{class}"));
        }
        header.extend(["predictive_class".into(), "predictive_probability".into()]);
    } else {
        ["latent", "mean", "predictive"]
            .iter()
            .for_each(|what| name(what));
    }
    writer.write_record(&header)?;
    let columns = table
        .headers()
        .iter()
        .map(|name| table.text(name))
        .collect::<Result<Vec<_>, _>>()?;
    let intervals = match surface.classes {
        1 => surface.intervals(level),
        _ => Vec::new(),
    };
    for row in 0..surface.rows {
        let mut record: Vec<String> = columns.iter().map(|column| column[row].clone()).collect();
        let mut add = |of: Interval| {
            let numbers = [of.mean, of.sd, of.lower, of.median, of.upper];
            record.extend(numbers.map(number));
        };
        if surface.classes > 1 {
            for class in 0..surface.classes {
                add(surface.latent(class, row, level));
            }
            let means = surface.classes_of(row, level);
            means.iter().for_each(|of| add(*of));
            let best = (0..means.len()).max_by(|a, b| means[*a].mean.total_cmp(&means[*b].mean));
            let best = best.unwrap_or(0);
            record.push(resolved.classes()[best].clone());
            record.push(number(means[best].mean));
        } else {
            intervals[row].iter().for_each(|of| add(*of));
        }
        writer.write_record(&record)?;
    }
    writer.flush()?;
    Ok(())
}

/// Writes joint draws: a line for each draw and row.
pub fn write_joint(
    out: impl Write,
    draws: &[JointDraw],
    places: &[(usize, usize)],
    rows: usize,
    classes: &[String],
) -> Result<()> {
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
