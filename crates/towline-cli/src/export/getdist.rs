//! GetDist's text files: `root_N.txt` with weight, −log posterior and parameters, `.paramnames`, `.ranges`.

use super::names::unique;
use anyhow::Result;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use towline::store::RunDir;
use towline::{Column, Role};

/// Writes the files whose names begin with `root`, in place of earlier ones once all are written.
pub fn write(run: &RunDir, root: &Path) -> Result<()> {
    let parent = match root.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let beside = tempfile::tempdir_in(parent)?;
    let name = root.file_name().unwrap_or_default();
    fill(run, &beside.path().join(name))?;
    for file in fs::read_dir(beside.path())? {
        let file = file?;
        fs::rename(file.path(), parent.join(file.file_name()))?;
    }
    Ok(())
}

fn fill(run: &RunDir, root: &Path) -> Result<()> {
    let columns = &run.manifest().columns;
    let named = |ending: &str| {
        let mut name = root.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let mut names = BufWriter::new(File::create(named(".paramnames"))?);
    let mut ranges = BufWriter::new(File::create(named(".ranges"))?);
    let all: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    for (column, name) in columns.iter().zip(unique(&all, plain)) {
        let star = if column.role == Role::Derived {
            "*"
        } else {
            ""
        };
        let label = column
            .label
            .as_deref()
            .map_or_else(|| typeset(&column.name), str::to_owned);
        writeln!(names, "{name}{star}\t{}", label.replace(['\n', '\t'], " "))?;
        let end = |end: Option<f64>| end.map_or("N".to_owned(), |end| format!("{end:e}"));
        let (lower, upper) = (end(column.lower), end(column.upper));
        let periodic = if column.periodic { " periodic" } else { "" };
        writeln!(ranges, "{name} {lower} {upper}{periodic}")?;
    }
    names.flush()?;
    ranges.flush()?;
    if super::is_weighted(run)? {
        let mut file = BufWriter::new(File::create(named("_1.txt"))?);
        let mut failed = None;
        let rows = run.weighted()?;
        // GetDist takes weights for counts where it can: their mean is one.
        let scale = rows.rows() as f64;
        rows.each(|row| {
            let (log, weight) = (row[columns.len()], row[columns.len() + 1]);
            let log = log - log_jacobian(columns, row);
            let numbers = std::iter::once(&row[..columns.len()]).flatten();
            let text: String = numbers.map(|value| format!(" {value:e}")).collect();
            if failed.is_none() && weight > 0.0 {
                failed = writeln!(file, "{:e} {:e}{text}", weight * scale, -log).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        file.flush()?;
        return Ok(());
    }
    for chain in 0..run.chains() {
        let mut file = BufWriter::new(File::create(named(&format!("_{}.txt", chain + 1)))?);
        let mut last: Vec<f64> = Vec::new();
        let (mut weight, mut failed) = (0u64, None);
        let mut line = |weight: u64, row: &[f64]| -> std::io::Result<()> {
            // The log density follows the columns, first of the statistics.
            let log = row[columns.len()] - log_jacobian(columns, row);
            write!(file, "{weight} {:e}", -log)?;
            for value in &row[..columns.len()] {
                write!(file, " {value:e}")?;
            }
            writeln!(file)
        };
        run.draws(chain).each(|row| {
            let row = &row[..=columns.len()];
            if weight > 0 && same(row, &last) {
                weight += 1;
                return;
            }
            if weight > 0 && failed.is_none() {
                failed = line(weight, &last).err();
            }
            last.clear();
            last.extend_from_slice(row);
            weight = 1;
        })?;
        if weight > 0 && failed.is_none() {
            failed = line(weight, &last).err();
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        file.flush()?;
    }
    Ok(())
}

/// ln|dθ/du| of the parameters: chains move on unbounded scales u (the logarithm of a half-line, the logit of an
/// interval), and GetDist wants the density on the user's. The circle of a periodic parameter has no such factor of its own.
fn log_jacobian(columns: &[Column], row: &[f64]) -> f64 {
    let one = |(column, value): (&Column, &f64)| {
        let sampled = matches!(column.role, Role::Slow | Role::Fast) && !column.periodic;
        match (column.lower, column.upper) {
            _ if !sampled => 0.0,
            (Some(lower), Some(upper)) => {
                (value - lower).ln() + (upper - value).ln() - (upper - lower).ln()
            }
            (Some(lower), None) => (value - lower).ln(),
            (None, Some(upper)) => (upper - value).ln(),
            (None, None) => 0.0,
        }
    };
    let sum: f64 = columns.iter().zip(row).map(one).sum();
    // At a bound itself there is nothing to take off.
    if sum.is_finite() { sum } else { 0.0 }
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// GetDist ends a name at white space, and takes a star at its end for "derived".
fn plain(name: &str) -> String {
    let joined: String = name
        .chars()
        .map(|c| if c.is_whitespace() { '_' } else { c })
        .collect();
    joined.trim_end_matches('*').to_owned()
}

/// A name that LaTeX can set: GetDist puts labels between dollar signs.
fn typeset(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '_' | '%' | '$' | '#' | '&' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str(r"\backslash "),
            '^' => out.push_str(r"\hat{\ }"),
            '~' => out.push_str(r"\sim "),
            ' ' => out.push_str(r"\ "),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_density_is_that_on_the_users_scale() {
        // u = ln θ with θ log-normal: p(u) = φ(u), p(θ) = φ(ln θ)/θ.
        let mut column = Column::new("sd", Role::Slow);
        column.lower = Some(0.0);
        let theta: f64 = 2.5;
        assert!((log_jacobian(&[column.clone()], &[theta]) - theta.ln()).abs() < 1e-15);
        column.upper = Some(10.0);
        let share = theta / 10.0;
        let exact = (10.0 * share * (1.0 - share)).ln();
        assert!((log_jacobian(&[column], &[theta]) - exact).abs() < 1e-14);
    }

    #[test]
    fn labels_are_escaped_for_latex() {
        assert_eq!(typeset("a_b%{c}$"), r"a\_b\%\{c\}\$");
        assert_eq!(typeset(r"x\y^2 z"), r"x\backslash y\hat{\ }2\ z");
    }
}
