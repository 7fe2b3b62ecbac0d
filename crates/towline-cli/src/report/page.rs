//! The page: template, style, script and data in one file.

use super::data::{Chip, Data};
use anyhow::{Result, bail};

const TEMPLATE: &str = include_str!("../../assets/report/report.html");
const STYLE: &str = include_str!("../../assets/report/report.css");
const SCRIPT: &str = include_str!("../../assets/report/report.js");
const PLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");

/// The whole page.
///
/// # Errors
/// Where data cannot be written as JSON, or the template asks for what there is not.
pub fn render(data: &Data) -> Result<String> {
    // Inside a script element only "</" could end it early; as an escape it means the same in JSON.
    let json = serde_json::to_string(data)?.replace('<', "\\u003c");
    fill(
        TEMPLATE,
        &[
            ("title", &escaped(&data.title)),
            ("chips", &each(&data.chips, chip)),
            ("verdict", &verdict(data)),
            ("warnings", &warnings(&data.warnings)),
            ("remarks", &remarks(&data.remarks)),
            ("checked", &checked(&data.checked)),
            ("hidden", &hidden(data.hidden)),
            ("tuning", &tuning(&data.tuning)),
            ("model", &definitions(&data.model)),
            ("style", STYLE),
            ("script", SCRIPT),
            ("plot_style", PLOT_STYLE),
            ("plot_script", PLOT_SCRIPT),
            ("data", &json),
        ],
    )
}

/// The template with every `{{ name }}` replaced by what stands for it, which is not looked into again.
fn fill(template: &str, values: &[(&str, &str)]) -> Result<String> {
    let mut pieces = template.split("{{ ");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let Some((name, rest)) = piece.split_once(" }}") else {
            bail!("the report's template has a place without an end");
        };
        let Some((_, value)) = values.iter().find(|(known, _)| *known == name) else {
            bail!("the report's template asks for {name}, which there is not");
        };
        page.push_str(value);
        page.push_str(rest);
    }
    Ok(page)
}

/// Text as HTML shows it, in elements and in quoted attributes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            other => out.push(other),
        }
    }
    out
}

fn each<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect()
}

fn chip(Chip { name, value, mood }: &Chip) -> String {
    let (name, value) = (escaped(name), escaped(value));
    format!("\n    <div class=\"chip {mood}\"><b>{value}</b><span>{name}</span></div>")
}

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let lines = each(warnings, |line| format!("<p>{}</p>", escaped(line)));
    format!("\n  <section class=\"warnings\" aria-label=\"Warnings\">{lines}\n  </section>")
}

/// Whether the draws may be used, in the colour of the answer.
fn verdict(data: &Data) -> String {
    let mood = if data.warnings.is_empty() {
        "good"
    } else {
        "poor"
    };
    let text = escaped(&data.verdict);
    format!("\n  <p class=\"verdict {mood}\">{text}</p>")
}

fn remarks(remarks: &[String]) -> String {
    let lines = each(remarks, |line| format!("<p>{}</p>", escaped(line)));
    match remarks.len() {
        0 => String::new(),
        _ => format!("\n  <section class=\"remarks\" aria-label=\"Notes\">{lines}\n  </section>"),
    }
}

fn checked(rows: &[[String; 2]]) -> String {
    match rows.len() {
        0 => String::new(),
        _ => format!(
            "\n  <section>\n    <h2>Checked</h2>\n    {}\n  </section>\n",
            definitions(rows)
        ),
    }
}

fn hidden(count: usize) -> String {
    match count {
        0 => String::new(),
        _ => format!(" {count} more are not shown: name them with <code>--params</code>."),
    }
}

fn tuning(rows: &[[String; 2]]) -> String {
    if rows.is_empty() {
        return "\n      <p class=\"hint\">Warm-up has not chosen yet.</p>".to_owned();
    }
    format!(
        "\n      {}\n      <div class=\"scroll\"><table id=\"trials\"></table></div>",
        definitions(rows)
    )
}

fn definitions(rows: &[[String; 2]]) -> String {
    let row = |[name, value]: &[String; 2]| {
        format!("<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value))
    };
    format!("<dl>{}</dl>", each(rows, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let values = [("a", "{{ b }}"), ("b", "two")];
        assert_eq!(fill("<{{ a }}|{{ b }}>", &values).unwrap(), "<{{ b }}|two>");
        assert!(fill("{{ c }}", &values).is_err());
        assert!(fill("{{ a", &values).is_err());
    }

    #[test]
    fn names_from_files_cannot_become_elements() {
        let rows = [["<script>".to_owned(), "a & \"b\" 'c'".to_owned()]];
        assert_eq!(
            definitions(&rows),
            "<dl><dt>&lt;script&gt;</dt><dd>a &amp; &quot;b&quot; &#x27;c&#x27;</dd></dl>"
        );
        assert!(warnings(&["1 < 2".to_owned()]).contains("<p>1 &lt; 2</p>"));
    }

    #[test]
    fn nothing_is_said_where_there_is_nothing_to_say() {
        assert_eq!(warnings(&[]), "");
        assert_eq!(hidden(0), "");
        assert!(hidden(3).contains("3 more"));
        assert!(tuning(&[]).contains("not chosen yet"));
    }
}
