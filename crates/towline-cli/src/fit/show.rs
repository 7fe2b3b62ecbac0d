//! The model in words: sizes, priors with their reasons, notes.

use comfy_table::{ContentArrangement, Table, presets};
use std::fmt::Write;
use towline_models::{Distance, LatentGaussian, Resolved};

/// The model as a reader should see it before it runs.
pub fn render(resolved: &Resolved, target: &LatentGaussian) -> String {
    let model = &resolved.model;
    let mut text = String::new();
    let rows = resolved.parts.data.response.len();
    let link = model.link.map_or(String::new(), |link| {
        format!(", {link:?} link").to_lowercase()
    });
    let _ = writeln!(
        text,
        "{} response{link}, {} of {}",
        model.family,
        plural(rows, "row"),
        model.data.file.display()
    );
    if let Some(formula) = &model.formula {
        let words: Vec<&str> = formula.split_whitespace().collect();
        let _ = writeln!(text, "{}", words.join(" "));
    }
    for gp in &resolved.gp {
        let _ = writeln!(
            text,
            "Gaussian process over {}: {}{}",
            gp.inputs.join(", "),
            gp.covariance,
            match gp.distance {
                Distance::Euclidean => "",
                Distance::GreatCircle => ", distances in km on the Earth",
                Distance::Chord => ", distances in km through the Earth (chords)",
            }
        );
    }
    for component in &resolved.parts.components {
        let _ = writeln!(text, "{}: {}", component.name, component.about());
    }
    let _ = writeln!(
        text,
        "{}, {} fast",
        plural(target.slow_dim(), "slow parameter"),
        target.fast_dim()
    );
    for (factor, reference) in &resolved.references {
        let _ = writeln!(text, "{factor} is compared with {reference}");
    }
    if !resolved.classes().is_empty() {
        let classes = resolved.classes().join(", ");
        let _ = writeln!(text, "classes: {classes}");
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let width = table.width();
    if width.is_some() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(["parameter", "prior", "why"]);
    for chosen in &resolved.chosen {
        table.add_row([&chosen.name, &chosen.prior, &chosen.why]);
    }
    let _ = write!(text, "\n{}", table.trim_fmt());
    for note in &resolved.notes {
        let _ = write!(text, "\n\n{}", wrapped(&format!("note: {note}"), width));
    }
    if !resolved.notes.is_empty() {
        text.push('\n');
    }
    text
}

/// "1 row", "2 rows".
fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A text in lines of at most this width, where there is one: a terminal would break words.
fn wrapped(text: &str, width: Option<u16>) -> String {
    let Some(width) = width else {
        return text.to_string();
    };
    let mut out = String::new();
    let mut at = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if at > 0 && at + 1 + length > usize::from(width) {
            out.push('\n');
            at = 0;
        } else if at > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_broken_between_words() {
        assert_eq!(wrapped("one two three", Some(8)), "one two\nthree");
        assert_eq!(wrapped("one two three", None), "one two three");
        assert_eq!(plural(1, "row"), "1 row");
    }
}
