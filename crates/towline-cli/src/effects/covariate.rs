//! What a column of the data does to the mean response: marginal effects, and contrasts of its values.

use super::{Asked, Effects, entry};
use crate::posterior::Posterior;
use crate::runs::short;
use anyhow::{Result, bail};
use std::path::Path;
use towline::diagnose;
use towline_models::{New, Resolved, Table};

/// How far to either side of its value a numeric column is moved, in standard deviations.
const STEP: f64 = 1e-3;

/// What a column of the data does to the mean response.
pub(super) fn covariate(dir: &Path, asked: &Asked, resolved: &Resolved) -> Result<Effects> {
    let name = asked.name;
    let table = Table::read(&resolved.model.data.file)?;
    if !table.has(name) {
        let groups: Vec<&str> = resolved
            .parts
            .groupings
            .iter()
            .map(|g| g.name.as_str())
            .chain(resolved.parts.components.iter().map(|c| c.name.as_str()))
            .collect();
        bail!(
            "`{name}` is neither a grouping or component of the model{} nor a column of its data ({})",
            if groups.is_empty() {
                String::new()
            } else {
                format!(" ({})", groups.join(", "))
            },
            table.headers().join(", ")
        );
    }
    let table = fitted(resolved, table)?;
    let posterior = Posterior::open(dir, asked.draws)?;
    let average = |values: Vec<String>| -> Result<Vec<f64>> {
        let new = with(resolved, &table, name, &values)?;
        Ok(posterior.predictor.average_response(&new)?)
    };
    let rows = table.rows();
    // Moved by a place, values are others in some row unless all are the same.
    let mut moved = table.text(name)?.to_vec();
    moved.rotate_left(1);
    if with(resolved, &table, name, &moved)? == resolved_rows(resolved, &table)? {
        bail!("the model does not use `{name}`: it has no effect to show");
    }
    let numeric = table.is_numeric(name)? && resolved.parts.fixed.names.iter().any(|n| n == name);
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    let mut entries = Vec::new();
    let title;
    if let Some(contrast) = asked.contrast {
        let (a, b) = split(contrast, &table.levels(name)?, table.is_numeric(name)?)?;
        let (high, low) = (
            average(vec![a.clone(); rows])?,
            average(vec![b.clone(); rows])?,
        );
        let of = |value: &str| format!("{name} = {value}");
        entries.push(entry(of(&a), &high, asked.level));
        entries.push(entry(of(&b), &low, asked.level));
        entries.push(entry(
            format!("{a} - {b}"),
            &minus(&high, &low),
            asked.level,
        ));
        title = format!("Mean response if every row had these values of `{name}`");
    } else if numeric || (table.is_numeric(name)? && table.levels(name)?.len() > 20) {
        let numbers = table.numbers(name)?;
        let sd = diagnose::sd(&[&numbers]);
        let h = STEP * if sd > 0.0 { sd } else { 1.0 };
        let moved = |by: f64| {
            numbers
                .iter()
                .map(|x| format!("{:e}", x + by))
                .collect::<Vec<_>>()
        };
        let (high, low) = (average(moved(h))?, average(moved(-h))?);
        let slope: Vec<f64> = minus(&high, &low).iter().map(|d| d / (2.0 * h)).collect();
        entries.push(entry(format!("per unit of {name}"), &slope, asked.level));
        let by_sd: Vec<f64> = slope.iter().map(|d| d * sd).collect();
        entries.push(entry(
            format!("per sd ({})", short(sd)),
            &by_sd,
            asked.level,
        ));
        title = format!("Average marginal effect of `{name}` on the mean response");
    } else {
        let levels = table.levels(name)?;
        let mut first: Option<Vec<f64>> = None;
        for level in &levels {
            let here = average(vec![level.clone(); rows])?;
            entries.push(entry(level.clone(), &here, asked.level));
            if let Some(first) = &first {
                let name = format!("{level} - {}", levels[0]);
                entries.push(entry(name, &minus(&here, first), asked.level));
            } else {
                first = Some(here);
            }
        }
        title = format!("Mean response if every row had this `{name}`, and differences");
    }
    Ok(Effects {
        title,
        entries,
        of_groups: false,
        level: asked.level,
    })
}

/// The data as they are.
fn resolved_rows(resolved: &Resolved, table: &Table) -> Result<New> {
    let first = &table.headers()[0];
    with(resolved, table, first, table.text(first)?)
}

/// The rows that were fitted: a fit that leaves out rows with missing values has left out those that its model cannot read.
fn fitted(resolved: &Resolved, table: Table) -> Result<Table> {
    let count = resolved.parts.data.response.len();
    if table.rows() == count {
        return Ok(table);
    }
    let columns = columns(&table)?;
    let mut kept = Vec::new();
    for row in 0..table.rows() {
        let alone = picked(&table, &columns, [row])?;
        if resolved.rows(&alone).is_ok() && resolved.response_of(&alone).is_ok() {
            kept.push(row);
        }
    }
    if kept.len() != count {
        bail!(
            "{} rows of {} can be read, and {count} were fitted: which ones cannot be told, so effects on the response cannot be had",
            kept.len(),
            table.name()
        );
    }
    picked(&table, &columns, kept)
}

/// The columns of a table, as it has them.
fn columns(table: &Table) -> Result<Vec<&[String]>> {
    let each = table.headers().iter().map(|name| Ok(table.text(name)?));
    each.collect()
}

/// Some rows of these columns under the table's headers.
fn picked(
    table: &Table,
    columns: &[&[String]],
    rows: impl IntoIterator<Item = usize>,
) -> Result<Table> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.headers())?;
    for row in rows {
        writer.write_record(columns.iter().map(|column| column[row].as_str()))?;
    }
    let text = String::from_utf8(writer.into_inner()?)?;
    Ok(Table::parse(table.name(), &text)?)
}

/// The data with other values in one column. Rows keep their own effects, (1 | row()).
fn with(resolved: &Resolved, table: &Table, column: &str, values: &[String]) -> Result<New> {
    let mut columns = columns(table)?;
    for (name, here) in table.headers().iter().zip(&mut columns) {
        if name == column {
            *here = values;
        }
    }
    let (mut new, _) = resolved.rows(&picked(table, &columns, 0..table.rows())?)?;
    for (grouping, groups) in resolved.parts.groupings.iter().zip(&mut new.groups) {
        if grouping.name == "row" && !table.has("row") {
            *groups = (0..table.rows()).map(Some).collect();
        }
    }
    Ok(new)
}

/// `a-b` as two values: levels may have hyphens of their own.
fn split(contrast: &str, levels: &[String], numeric: bool) -> Result<(String, String)> {
    let known = |value: &str| {
        levels.iter().any(|level| level == value) || (numeric && value.parse::<f64>().is_ok())
    };
    for (at, _) in contrast.match_indices('-') {
        let (a, b) = (contrast[..at].trim(), contrast[at + 1..].trim());
        if known(a) && known(b) {
            return Ok((a.into(), b.into()));
        }
    }
    let shown = levels
        .iter()
        .take(12)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    bail!(
        "--contrast {contrast}: write two values of the column with a hyphen between them; it has {shown}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_split_between_two_known_values() {
        let levels = ["x-ray".to_string(), "none".into()];
        let see = |text: &str| split(text, &levels, false).unwrap();
        assert_eq!(see("x-ray-none"), ("x-ray".into(), "none".into()));
        assert_eq!(split("2--1", &[], true).unwrap(), ("2".into(), "-1".into()));
        let said = split("a-b", &levels, false).unwrap_err().to_string();
        assert!(said.contains("it has x-ray, none"), "{said}");
    }
}
