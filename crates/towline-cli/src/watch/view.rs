//! A glance in words and traces: for a terminal of some size, or in one line.

use super::glance::{Glance, Seen, Standing};
use super::trace;
use crate::runs::{count, duration, short};
use console::Term;

/// Columns and rows.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    columns: usize,
    rows: usize,
}

/// R-hat above this is coloured: the chains do not agree yet.
const APART: f64 = 1.01;
/// Lines of each trace.
const LINES: usize = 2;
/// The words beside a trace: name, R-hat, ESS, mean ± sd.
const NAME: usize = 18;
const FIGURES: usize = 38;
/// The draws that a column of dots stands for, at most.
const DRAWS_PER_DOT: usize = 4;

impl Size {
    /// Where there is no terminal.
    pub const PLAIN: Self = Self {
        columns: 100,
        rows: 40,
    };

    pub fn of(term: &Term) -> Self {
        let (rows, columns) = term.size();
        Self {
            columns: columns.into(),
            rows: rows.into(),
        }
    }

    /// How wide traces are; nothing where the window is too narrow for both, and figures come first.
    fn trace(&self) -> usize {
        self.columns.saturating_sub(NAME + FIGURES + 1).min(200)
    }

    /// How many of the last draws can be seen.
    pub fn draws(&self) -> usize {
        2 * self.trace() * DRAWS_PER_DOT
    }
}

/// All of it.
pub fn picture(glance: &Glance, size: &Size, coloured: bool) -> Vec<String> {
    let mut lines = vec![head(glance)];
    lines.extend(progress(glance, size));
    let width = size.trace();
    lines.push(format!(
        "{:<NAME$}{:>7} {:>7}  {:<20}  {}",
        "",
        "R-hat",
        "ESS",
        "mean ± sd",
        if width > 12 { "the last draws" } else { "" }
    ));
    let room = size.rows.saturating_sub(lines.len() + 2) / LINES;
    let shown = choose(glance, room.max(1));
    for seen in &shown {
        let traces = trace::draw(&seen.last, width, LINES, coloured);
        for (k, trace) in traces.into_iter().enumerate() {
            let words = if k == 0 {
                figures(seen, coloured)
            } else {
                " ".repeat(NAME + FIGURES)
            };
            lines.push(format!("{words} {trace}"));
        }
    }
    let hidden = glance.parameters.len() - shown.len();
    if hidden > 0 {
        lines.push(format!(
            "and {hidden} more with smaller R-hat: --params NAME,… shows them"
        ));
    }
    // A line that wraps would push the last ones off the screen.
    let cut = |line: String| console::truncate_str(&line, size.columns, "…").into_owned();
    lines.into_iter().map(cut).collect()
}

/// The parameters to show: as asked for, or those with the largest R-hat in the run's order.
fn choose(glance: &Glance, room: usize) -> Vec<&Seen> {
    let mut places: Vec<usize> = (0..glance.parameters.len()).collect();
    if !glance.chosen {
        // What has no R-hat (yet, or never) says nothing.
        let worth = |k: &usize| -glance.parameters[*k].rhat.max(0.0);
        places.sort_by(|a, b| worth(a).total_cmp(&worth(b)));
    }
    places.truncate(room);
    places.sort_unstable();
    places.into_iter().map(|k| &glance.parameters[k]).collect()
}

fn head(glance: &Glance) -> String {
    let name = glance.path.display();
    let how = match glance.standing {
        Standing::WarmingUp(stage) => format!("warm-up, stage {}", stage + 1),
        Standing::Sampling => "sampling".to_owned(),
        Standing::Finished => "finished".to_owned(),
        Standing::Stopped => format!("stopped: `towline resume {name}` continues it"),
    };
    format!("{name}: {how}")
}

/// How far it is and what it cost: in one line where that fits, for what would be cut off (acceptance, failures) matters most.
fn progress(glance: &Glance, size: &Size) -> Vec<String> {
    let chains = glance.draws.len();
    let least = glance.draws.iter().min().copied().unwrap_or(0);
    let share = (least as f64 / glance.asked.max(1) as f64).min(1.0);
    let width = (size.columns / 5).clamp(4, 24);
    let full = (share * width as f64).round() as usize;
    let bar = format!("{}{}", "━".repeat(full), "─".repeat(width - full));
    let far = format!(
        "{chains} chain{} {bar} {} of {} draws",
        if chains == 1 { "" } else { "s" },
        count(least),
        count(glance.asked)
    );
    let costs = costs(glance).join("  ");
    let line = format!("{far}  {costs}");
    if costs.is_empty() {
        vec![far]
    } else if console::measure_text_width(&line) <= size.columns {
        vec![line]
    } else {
        vec![far, costs]
    }
}

fn costs(glance: &Glance) -> Vec<String> {
    let mut parts = Vec::new();
    if glance.seconds > 0.0 {
        parts.push(duration(glance.seconds));
        parts.push(format!("{} slow eval.", count(glance.slow_evaluations)));
    }
    for (name, share) in [("outer", glance.outer), ("inner", glance.inner)] {
        if share.is_finite() {
            parts.push(format!("{name} {:.0} % accepted", 100.0 * share));
        }
    }
    if glance.failures > 0 {
        parts.push(format!("{} failed evaluations", glance.failures));
    }
    parts
}

fn figures(seen: &Seen, coloured: bool) -> String {
    let name: String = if seen.name.chars().count() < NAME {
        seen.name.clone()
    } else {
        seen.name.chars().take(NAME - 2).chain(['…']).collect()
    };
    let figure = |value: f64, text: String| {
        if value.is_finite() {
            text
        } else {
            "–".to_owned()
        }
    };
    let rhat = format!("{:>7}", figure(seen.rhat, format!("{:.3}", seen.rhat)));
    let rhat = match coloured && seen.rhat > APART {
        true => format!("\x1b[1;33m{rhat}\x1b[0m"),
        false => rhat,
    };
    let ess = figure(seen.ess, count(seen.ess.max(0.0) as u64));
    let place = match seen.mean.is_finite() {
        true => format!("{} ± {}", short(seen.mean), short(seen.sd)),
        false => "–".to_owned(),
    };
    format!("{name:<NAME$}{rhat} {ess:>7}  {place:<20} ")
}

/// The same in a line.
pub fn line(glance: &Glance) -> String {
    let draws: Vec<String> = glance.draws.iter().map(ToString::to_string).collect();
    let mut parts = vec![
        head(glance),
        format!("draws {} of {}", draws.join(", "), glance.asked),
    ];
    if let Some(seen) = glance.worst() {
        parts.push(format!("largest R-hat {:.3} ({})", seen.rhat, seen.name));
    }
    if let Some(seen) = glance.least() {
        parts.push(format!("least ESS {:.0} ({})", seen.ess, seen.name));
    }
    parts.extend(costs(glance));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Glance {
        Glance {
            path: "runs/first".into(),
            standing: Standing::Sampling,
            draws: vec![125_950; 4],
            asked: 3_000_000,
            seconds: 7.3,
            slow_evaluations: 695_078,
            outer: 0.742,
            inner: 0.631,
            failures: 3,
            parameters: Vec::new(),
            chosen: false,
        }
    }

    #[test]
    fn acceptance_and_failures_are_not_cut_off_at_eighty_columns() {
        let size = Size {
            columns: 80,
            rows: 24,
        };
        let lines = picture(&running(), &size, false);
        let all = lines.join("\n");
        for part in ["outer 74 % accepted", "inner 63 % accepted", "3 failed"] {
            assert!(all.contains(part), "{part} is not in\n{all}");
        }
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{all}");
        // Where there is room for one line, one it is.
        let wide = Size {
            columns: 160,
            rows: 24,
        };
        assert_eq!(
            picture(&running(), &wide, false).len() + 1,
            lines.len(),
            "{all}"
        );
    }
}
