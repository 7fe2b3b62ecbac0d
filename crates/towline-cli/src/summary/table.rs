//! A run's table in eighty columns, with colours where a terminal shows it.

use crate::runs::count;
use std::fmt::Write;
use towline::RunSummary;

/// The most columns of text.
pub const WIDTH: usize = 80;
/// R-hat above this is coloured, as it is warned of.
const RHAT: f64 = 1.01;

/// One parameter's quantiles: lower, median, upper.
pub type Quantiles = [f64; 3];

/// A figure and how it is shown.
struct Column {
    heading: String,
    width: usize,
    cells: Vec<(String, bool)>,
}

/// The table; `level` is the probability between the quantiles.
pub fn render(summary: &RunSummary, quantiles: &[Quantiles], level: f64, colour: bool) -> String {
    let tail = 50.0 * (1.0 - level);
    let percent = |value: f64| format!("{} %", (value * 100.0).round() / 100.0);
    let all = &summary.parameters;
    let longest = all
        .iter()
        .map(|p| p.name.chars().count())
        .max()
        .unwrap_or(0);
    let plain = |heading: &str, width: usize, cells: Vec<String>| Column {
        heading: heading.to_owned(),
        width,
        cells: cells.into_iter().map(|cell| (cell, false)).collect(),
    };
    let of = |k: usize| quantiles.iter().map(|q| brief(q[k])).collect();
    let mut columns = vec![
        plain(
            "mean",
            8,
            all.iter().map(|p| brief(p.summary.mean)).collect(),
        ),
        plain("sd", 8, all.iter().map(|p| brief(p.summary.sd)).collect()),
        plain(&percent(tail), 8, of(0)),
        plain("50 %", 8, of(1)),
        plain(&percent(100.0 - tail), 8, of(2)),
        plain(
            "MCSE",
            8,
            all.iter().map(|p| brief(p.summary.mcse_mean)).collect(),
        ),
        plain(
            "ESS bulk",
            9,
            all.iter().map(|p| whole(p.summary.ess_bulk)).collect(),
        ),
        plain(
            "tail",
            7,
            all.iter().map(|p| whole(p.summary.ess_tail)).collect(),
        ),
    ];
    let rhat = |value: f64| {
        let text = if value.is_nan() {
            "–".to_owned()
        } else {
            format!("{value:.3}")
        };
        (text, value > RHAT)
    };
    columns.push(Column {
        heading: "R-hat".to_owned(),
        width: 6,
        cells: all.iter().map(|p| rhat(p.summary.rhat)).collect(),
    });
    // What long names leave no room for is in `--json`.
    for heading in ["MCSE", "50 %"] {
        if longest + width_of(&columns) > WIDTH {
            columns.retain(|column| column.heading != heading);
        }
    }
    let names = longest.min(WIDTH - width_of(&columns));
    let mut text = " ".repeat(names);
    for column in &columns {
        let _ = write!(text, "{:>width$}", column.heading, width = column.width);
    }
    let _ = write!(text, "\n{}", "─".repeat(names + width_of(&columns)));
    for (k, parameter) in all.iter().enumerate() {
        let name: String = if parameter.name.chars().count() > names {
            parameter
                .name
                .chars()
                .take(names - 1)
                .chain(['…'])
                .collect()
        } else {
            parameter.name.clone()
        };
        let _ = write!(text, "\n{name:<names$}");
        for Column { cells, width, .. } in &columns {
            let (cell, bad) = &cells[k];
            let cell = format!("{cell:>width$}");
            text += &if *bad && colour {
                format!("\x1b[31m{cell}\x1b[0m")
            } else {
                cell
            };
        }
    }
    text
}

/// The table of estimates by weights, where there are no draws.
pub fn estimates(summary: &RunSummary) -> String {
    let all: Vec<_> = summary
        .parameters
        .iter()
        .filter_map(|p| p.estimate.as_ref().map(|e| (&p.name, e)))
        .collect();
    let names = all
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let headings = ["mean", "± se", "sd", "5 %", "50 %", "95 %", "worth draws"];
    let widths = [9, 9, 9, 9, 9, 9, 12];
    let mut text = " ".repeat(names);
    for (heading, width) in headings.iter().zip(widths) {
        let _ = write!(text, "{heading:>width$}");
    }
    let _ = write!(
        text,
        "\n{}",
        "─".repeat(names + widths.iter().sum::<usize>())
    );
    for (name, e) in all {
        let [low, median, high] = e.quantiles;
        let cells = [e.mean, e.se, e.sd, low, median, high].map(brief);
        let _ = write!(text, "\n{name:<names$}");
        for (cell, width) in cells.iter().chain([&whole(e.equivalent_draws)]).zip(widths) {
            let _ = write!(text, "{cell:>width$}");
        }
    }
    text
}

fn width_of(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.width).sum()
}

/// Four digits, in at most seven characters.
fn brief(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.1e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 4);
        format!("{value:.*}", digits as usize)
    }
}

/// A count with its thousands apart.
pub fn whole(value: f64) -> String {
    if value.is_finite() {
        count(value.round() as u64)
    } else {
        "–".to_owned()
    }
}

/// Text in lines of at most eighty columns.
pub fn wrap(text: &str) -> String {
    wrap_to(WIDTH, text)
}

/// Text that begins so many columns to the right, and goes on there.
pub fn hanging(indent: usize, text: &str) -> String {
    let lines = wrap_to(WIDTH.saturating_sub(indent).max(20), text);
    lines.replace('\n', &format!("\n{:indent$}", ""))
}

fn wrap_to(width: usize, text: &str) -> String {
    let mut out = String::new();
    for (k, line) in text.lines().enumerate() {
        if k > 0 {
            out.push('\n');
        }
        let mut used = 0;
        for (j, word) in unbroken(line).iter().enumerate() {
            // Without the codes of colours, which take no room.
            let long = console::measure_text_width(word);
            if j > 0 && used + 1 + long > width {
                out.push('\n');
                used = 0;
            } else if j > 0 {
                out.push(' ');
                used += 1;
            }
            out.push_str(word);
            used += long;
        }
    }
    out
}

/// The words of a line; a per cent sign stays with its number, and an error with what it is the error of.
fn unbroken(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut held = false;
    for word in line.split(' ') {
        let joins = held || word.starts_with('%') || word.starts_with('±');
        match words.last_mut() {
            Some(last) if joins => *last = format!("{last} {word}"),
            _ => words.push(word.to_owned()),
        }
        held = word == "±";
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_lines_wrap() {
        let seen = [-0.695_31, 1.069, -123_456.7, -1.068e-5, 0.002_543].map(brief);
        assert_eq!(seen, ["-0.6953", "1.069", "-123457", "-1.1e-5", "0.0025"]);
        let text = wrap(&"word ".repeat(40));
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert_eq!(
            wrap_to(9, "\x1b[31mred\x1b[0m lines"),
            "\x1b[31mred\x1b[0m lines"
        );
        let seen = wrap_to(14, "it covers 99.5 % of 0.324 ± 0.009 draws");
        assert_eq!(seen, "it covers\n99.5 % of\n0.324 ± 0.009\ndraws");
    }
}
