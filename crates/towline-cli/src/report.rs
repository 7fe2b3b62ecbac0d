//! `towline report`: one HTML file to look at a run, with nothing to fetch from anywhere.

mod data;
mod density;
mod page;

use crate::runs;
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What `towline report` is asked.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline report runs/neal1                       writes runs/neal1/report.html and opens it
  towline report runs/neal1 --out r.html --open no --params x,y")]
pub struct Options {
    /// The run directory
    pub dir: PathBuf,
    /// The file to write [default: report.html in the run directory]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Only these parameters, by name or by beginning (f*); by default the first forty columns
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub params: Vec<String>,
    /// Whether to open the report in a browser; by default only from a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub open: Open,
}

/// Whether to open a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Open {
    /// From a terminal
    Auto,
    /// Always
    Yes,
    /// Never
    No,
}

/// Writes the report of a run.
pub fn run(options: &Options) -> Result<()> {
    let out = options
        .out
        .clone()
        .unwrap_or_else(|| options.dir.join("report.html"));
    write(&options.dir, &out, &options.params)?;
    writeln!(io::stdout().lock(), "{}", out.display())?;
    let terminal = io::IsTerminal::is_terminal(&io::stdout());
    if options.open == Open::Yes || (options.open == Open::Auto && terminal) {
        open_browser(&out);
    }
    Ok(())
}

/// Writes the report of the run in a folder, on the parameters asked for or the first forty.
///
/// # Errors
/// Where it is no run, has no parameter of such a name, or the file cannot be written.
pub fn write(dir: &Path, out: &Path, params: &[String]) -> Result<()> {
    let run = runs::open(dir)?;
    let names = runs::choose(&run, params)?;
    let data = data::Data::of(&run, names.as_deref())?;
    let mut html = page::render(&data)?;
    if run
        .manifest()
        .model
        .get("kind")
        .and_then(|kind| kind.as_str())
        == Some("fit")
    {
        html = html.replacen("</main>", &format!("{}</main>", checks(dir)), 1);
    }
    runs::write_beside(out, html.as_bytes())
}

/// What `towline check` draws of a fit, as a section of the page.
fn checks(dir: &Path) -> String {
    let inside = match crate::check::picture_of(dir) {
        Ok(svg) => svg.replacen(
            "<svg ",
            "<svg style=\"max-width:100%;height:auto;background:#fff\" ",
            1,
        ),
        // The draws can be shown without the data; this cannot.
        Err(error) => {
            let why = format!("{error:#}")
                .replace('&', "&amp;")
                .replace('<', "&lt;");
            format!("<p class=\"hint\">Replicated data cannot be shown: {why}</p>")
        }
    };
    format!(
        "<section id=\"checks\"><div class=\"head\"><h2>Checks</h2></div>{inside}\
         <p class=\"hint\"><code>towline check</code> tells more: PSIS-LOO, WAIC and figures of replicated data.</p></section>"
    )
}

/// Opens the page as the desktop would; where that fails the path has been printed anyway.
fn open_browser(page: &std::path::Path) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let _ = std::process::Command::new(opener)
        .arg(page)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
}
