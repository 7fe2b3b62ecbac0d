//! What the tables show, said in words computed from the rows.

use super::format;
use super::result::{AGREEMENT_LIMIT, Comparison, Estimate, Row, Verdict};
use super::spec::Method;

/// A paper's time counts as off when it lies further than this many of our standard errors away.
const OFF: f64 = 2.0;

/// How the paper's times compare, what frames add if they were run, then whether every row agrees with the precise values.
pub fn render(rows: &[Row]) -> String {
    paper_times(rows) + &frames(rows) + &agreement(rows)
}

/// Nothing, where no time that the paper gives has a standard error here.
fn paper_times(rows: &[Row]) -> String {
    let quoted: Vec<(&Row, f64)> = rows
        .iter()
        .filter(|row| row.act.se.is_finite())
        .filter_map(|row| row.act().paper.map(|paper| (row, paper)))
        .collect();
    let off: Vec<String> = quoted
        .iter()
        .filter(|(row, paper)| (paper - row.act.value).abs() > OFF * row.act.se)
        .map(|(row, paper)| difference(row, *paper))
        .collect();
    if quoted.is_empty() {
        return String::new();
    }
    format!(
        "The paper calls its autocorrelation times approximate; its runs were short.\n\
         Of {} that can be compared, {} differ from ours by more than {OFF} standard errors{}\n",
        quoted.len(),
        off.len(),
        if off.is_empty() {
            ".".to_owned()
        } else {
            format!(":\n{}", off.join("\n"))
        }
    )
}

fn difference(row: &Row, paper: f64) -> String {
    let ours = row.act;
    format!(
        "  test {}: paper {paper}, here {} ({} %, {} s.e.)",
        row.label(),
        format::estimate(ours),
        format::score(Some(100.0 * (paper / ours.value - 1.0))),
        format::score(Some((paper - ours.value) / ours.se)),
    )
}

/// What the rows of `--frames` show; nothing without them.
fn frames(rows: &[Row]) -> String {
    let mut lines = Vec::new();
    for test in [1, 2] {
        let find = |method, n| rows.iter().find(|row| row.spec.is(test, method, n));
        let (Some(framed), Some(ideal)) = (
            find(Method::DragFramed, Some(1)),
            find(Method::Marginal, None),
        ) else {
            continue;
        };
        lines.push(format!(
            "Test {test}: framed with n = 1, time {} at {:.1} fast per slow;",
            format::estimate(framed.act),
            framed.fast_per_slow(),
        ));
        lines.push(format!(
            "  ideal (marginal) {}",
            format::estimate(ideal.act)
        ));
        if let Some(auto) = find(Method::Auto, None) {
            let scale = auto.slow_evals as f64 / auto.iterations as f64;
            let spent = Estimate {
                value: auto.act.value * scale,
                se: auto.act.se * scale,
            };
            lines.push(format!(
                "  auto: {} slow evaluations per effective draw, {:.1} fast per slow",
                format::estimate(spent),
                auto.fast_per_slow(),
            ));
        }
    }
    if !lines.is_empty() {
        lines.push(
            "A plain drag with n = 1 never changes y: its x has no autocorrelation time.\n"
                .to_owned(),
        );
    }
    lines.join("\n")
}

fn agreement(rows: &[Row]) -> String {
    let (apart, unknown) = (
        with_verdict(rows, Verdict::Differs),
        with_verdict(rows, Verdict::Unknown),
    );
    let mut lines = Vec::new();
    if !apart.is_empty() {
        lines.push(format!(
            "NOT within {AGREEMENT_LIMIT} standard errors of the precise values:"
        ));
        let score = |c: &Comparison| format!(", z = {}", format::score(c.z()));
        lines.extend(apart.iter().map(|(row, c)| named(row, c) + &score(c)));
    }
    if !unknown.is_empty() {
        lines
            .push("Too few iterations for a standard error, so nothing can be said of:".to_owned());
        lines.extend(unknown.iter().map(|(row, c)| named(row, c)));
    }
    if lines.is_empty() {
        lines.push(format!(
            "Every row agrees with the precise values within {AGREEMENT_LIMIT} standard errors."
        ));
    }
    lines.join("\n")
}

fn with_verdict(rows: &[Row], verdict: Verdict) -> Vec<(&Row, Comparison)> {
    rows.iter()
        .flat_map(|row| row.comparisons().into_iter().map(move |c| (row, c)))
        .filter(|(_, comparison)| comparison.verdict() == verdict)
        .collect()
}

fn named(row: &Row, comparison: &Comparison) -> String {
    format!("  test {}: {}", row.label(), comparison.quantity)
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn rough_times_of_the_paper_are_named_with_their_difference() {
        let text = render(&fixture::rows());
        assert!(text.contains("test 2 joint: paper 205"), "{text}");
        assert!(text.contains("test 1 single: paper 230"), "{text}");
        assert!(!text.contains("test 1 marginal"), "{text}");
    }

    #[test]
    fn frames_stand_beside_the_ideal_where_they_were_run() {
        assert!(!render(&fixture::rows()).contains("framed"));
        let text = render(&[fixture::rows(), fixture::frames()].concat());
        for words in [
            "Test 2: framed with n = 1, time 5.04 ± 0.05 at 12.0 fast per slow",
            "auto: 1.300 ± 0.013 slow evaluations per effective draw, 30.0 fast per slow",
            "Every row agrees",
        ] {
            assert!(text.contains(words), "{words} not in {text}");
        }
    }

    #[test]
    fn agreement_is_stated_when_it_holds() {
        let text = render(&fixture::rows());
        assert!(text.contains("Every row agrees with the precise values within 4 standard errors"));
    }

    #[test]
    fn a_row_that_disagrees_is_named() {
        let mut rows = fixture::rows();
        rows[4].inner_rejection.as_mut().unwrap().value += 0.05;
        let text = render(&rows);
        assert!(!text.contains("Every row agrees"));
        assert!(text.contains("test 1 drag 100: inner rejection, z = +"));
    }

    #[test]
    fn a_row_too_short_to_tell_is_named_and_not_called_wrong() {
        let mut rows = fixture::rows();
        rows[1].act.se = f64::NAN;
        let text = render(&rows);
        assert!(!text.contains("NOT within"));
        assert!(text.contains("Too few iterations"));
        assert!(text.contains("test 1 single: autocorrelation time"));
    }
}
