//! The terminal tables: rejection rates, then autocorrelation times, each beside the known values.

use super::format;
use super::notes;
use super::result::{Comparison, Row};
use comfy_table::{
    CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle,
};

/// Rules above, below and between header and rows only: numbers need no boxes.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'))
    .content_lines(ContentLineStyle::none())
    .header_lines(ContentLineStyle::none());

/// Both tables and what they show, ready to print. At most 80 columns wide, less if the terminal is.
pub fn render(rows: &[Row]) -> String {
    let (published, added): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.published().is_some());
    format!(
        "Rejection rates in per cent, by test and method; column z is the standard score\n\
         against the precise value. Outer: updates of x; inner: of the fast variables\n\
         (single, test 2: of y, and below it of the variable z).\n\
         {}\n\n\
         Autocorrelation times of x, 1 + 2 Σ ρ_k, in iterations\n\
         {}\n\n{}{}",
        rejections(&published),
        times(&published),
        frames(&added),
        notes::render(rows)
    )
}

/// What is not in the paper; nothing without it.
fn frames(rows: &[&Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let header = ["method", "proposal sd", "outer, %", "time", "fast/slow"];
    let mut table = table(&header, 2);
    for row in rows {
        table.add_row(vec![
            row.label(),
            row.spec.proposal_sd(),
            format::percentage(row.outer_rejection),
            format::estimate(row.act),
            ratio(row.fast_per_slow()),
        ]);
    }
    format!(
        "Not in the paper: drags of other lengths, drags in the Laplace frame, and\n\
         everything chosen by warm-up (auto; its own evaluations are not counted)\n\
         {}\n\n",
        trimmed(&table)
    )
}

fn rejections(rows: &[&Row]) -> String {
    let header = [
        "method", "outer", "paper", "precise", "z", "inner", "paper", "precise", "z",
    ];
    let mut table = table(&header, 1);
    for row in rows {
        let mut cells = vec![row.label()];
        cells.extend(rate_cells(&[Some(row.outer())]));
        // With single-variable updates of two fast variables the second line of the cells is z's.
        cells.extend(rate_cells(&[row.inner(), row.inner_z()]));
        table.add_row(cells);
    }
    trimmed(&table)
}

fn times(rows: &[&Row]) -> String {
    let header = [
        "method",
        "proposal sd",
        "time",
        "paper",
        "precise",
        "z",
        "fast/slow",
    ];
    let mut table = table(&header, 2);
    for row in rows {
        let act = row.act();
        table.add_row(vec![
            row.label(),
            row.spec.proposal_sd(),
            format::estimate(act.ours),
            act.paper.map_or(format::NONE.to_owned(), |p| p.to_string()),
            act.precise
                .map_or(format::NONE.to_owned(), format::estimate),
            format::score(act.z()),
            ratio(row.fast_per_slow()),
        ]);
    }
    trimmed(&table)
}

/// Ours, paper, precise and z; one line for each comparison there is.
fn rate_cells(comparisons: &[Option<Comparison>]) -> [String; 4] {
    let present: Vec<&Comparison> = comparisons.iter().flatten().collect();
    let lines = |show: &dyn Fn(&Comparison) -> String| {
        let lines: Vec<String> = present.iter().map(|c| show(c)).collect();
        lines.join("\n")
    };
    let per_cent = |rate: Option<f64>, decimals| {
        rate.map_or(format::NONE.to_owned(), |r| {
            format::number(100.0 * r, decimals)
        })
    };
    [
        lines(&|c| format::percentage(c.ours)),
        lines(&|c| per_cent(c.paper, 0)),
        lines(&|c| per_cent(c.precise.map(|p| p.value), 2)),
        lines(&|c| format::score(c.z())),
    ]
}

fn ratio(value: f64) -> String {
    if value.is_finite() {
        format::number(value, if value < 10.0 { 1 } else { 0 })
    } else {
        format::NONE.to_owned()
    }
}

/// An empty table whose first `left` columns are words and the rest numbers.
fn table(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    if cfg!(test) {
        table.force_no_tty(); // What tests see must not depend on the developer's window.
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        // A z belongs to the precise value before it; nothing follows the last column.
        let before_z = header.get(index + 1).is_none_or(|next| *next == "z");
        column.set_padding((0, if before_z { 0 } else { 1 }));
        if index >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The table without the blanks that the last column's padding leaves at the ends of lines.
fn trimmed(table: &Table) -> String {
    let lines: Vec<String> = table
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn line<'a>(text: &'a str, start: &str, nth: usize) -> &'a str {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        text.lines()
            .filter(|line| words(line).starts_with(start))
            .nth(nth)
            .unwrap()
    }

    #[test]
    fn rates_stand_beside_the_papers_and_the_precise_value() {
        let text = render(&fixture::rows());
        let drag = line(&text, "1 drag 20", 0);
        for value in ["76", "75.47", "60", "58.93"] {
            assert!(drag.contains(value), "{value} not in {drag}");
        }
        assert!(text.contains("35.56"), "the rejection rate of z");
    }

    #[test]
    fn times_stand_beside_the_papers_and_the_precise_value() {
        let text = render(&fixture::rows());
        let joint = line(&text, "2 joint", 1);
        for value in ["x,y,z 0.3", "205", "249.0 ± 1.5"] {
            assert!(joint.contains(value), "{value} not in {joint}");
        }
    }

    #[test]
    fn frames_have_a_table_of_their_own() {
        assert!(!render(&fixture::rows()).contains("drag-framed"));
        let text = render(&[fixture::rows(), fixture::frames()].concat());
        let framed = line(&text, "2 drag-framed 1", 0);
        for value in ["x 1.0; frame 1.7", "5.04 ± 0.05", "12"] {
            assert!(framed.contains(value), "{value} not in {framed}");
        }
        assert!(line(&text, "1 auto", 0).contains("chosen"));
        assert!(line(&text, "1 drag 1 ", 0).contains('?'), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let rows = [fixture::rows(), fixture::frames()].concat();
        for line in render(&rows).lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
