//! The page: template, style, script and data in one file.

use super::data::Data;
use anyhow::Result;
use minijinja::{Environment, context};

const TEMPLATE: &str = include_str!("../../assets/report/report.html");
const STYLE: &str = include_str!("../../assets/report/report.css");
const SCRIPT: &str = include_str!("../../assets/report/report.js");
const PLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");

/// The whole page.
pub fn render(data: &Data) -> Result<String> {
    let mut environment = Environment::new();
    // A name ending in .html makes the template escape what it shows.
    environment.add_template("report.html", TEMPLATE)?;
    let safe = |text: &str| minijinja::Value::from_safe_string(text.to_owned());
    // Inside a script element only "</" could end it early; as an escape it means the same in JSON.
    let json = serde_json::to_string(data)?.replace('<', "\\u003c");
    let chip = |c: &super::data::Chip| context! { name => c.name, value => c.value.as_str(), mood => c.mood };
    let chips: Vec<minijinja::Value> = data.chips.iter().map(chip).collect();
    Ok(environment.get_template("report.html")?.render(context! {
        title => data.title.as_str(),
        chips => chips,
        warnings => data.warnings.clone(),
        model => pairs(&data.model),
        tuning => pairs(&data.tuning),
        hidden => data.hidden,
        style => safe(STYLE),
        script => safe(SCRIPT),
        plot_style => safe(PLOT_STYLE),
        plot_script => safe(PLOT_SCRIPT),
        data => safe(&json),
    })?)
}

fn pairs(rows: &[[String; 2]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.to_vec()).collect()
}
