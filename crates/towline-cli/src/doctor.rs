//! `towline doctor`: what is installed, what this machine has, and whether sampling works here.

mod machine;
mod sampling;

use crate::summary::hanging;
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// Flags of `towline doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline doctor            versions, cores, memory, MPI, Python, and a short run whose answer is known
  towline doctor --json     the same for programs, and for reports of bugs")]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Not there, and only some users need it.
    Absent,
    /// Towline will not work like this.
    Bad,
}

/// One line of the report.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    state: State,
    what: &'static str,
    found: String,
    /// What to do, where something can be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn ok(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            state: State::Ok,
            what,
            found: found.into(),
            advice: None,
        }
    }

    fn absent(what: &'static str, found: &str, advice: &str) -> Self {
        Self {
            state: State::Absent,
            what,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    fn bad(what: &'static str, found: impl Into<String>, advice: &str) -> Self {
        Self {
            state: State::Bad,
            what,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }
}

/// Columns before what was found: a mark, and what it is about.
const BEFORE: usize = 16;

/// Looks at everything, and says it.
pub fn run(options: &Options) -> Result<()> {
    let mut findings = machine::findings();
    findings.push(sampling::finding());
    let mut out = io::stdout().lock();
    // A terminal would break lines within words; programs read the lines as they are.
    let breaks = out.is_terminal();
    let lines = |text: &str| match breaks {
        true => hanging(BEFORE, text),
        false => text.to_owned(),
    };
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
    } else {
        for finding in &findings {
            let mark = match finding.state {
                State::Ok => "ok",
                State::Absent => "–",
                State::Bad => "BAD",
            };
            let found = lines(&finding.found);
            writeln!(out, "{mark:>3}  {:<10} {found}", finding.what)?;
            if let Some(advice) = &finding.advice {
                writeln!(out, "{:BEFORE$}{}", "", lines(advice))?;
            }
        }
    }
    let bad = findings.iter().filter(|f| f.state == State::Bad).count();
    match bad {
        0 => Ok(()),
        1 => bail!("one thing is wrong here; the line marked BAD says what to do"),
        many => bail!("{many} things are wrong here; the lines marked BAD say what to do"),
    }
}
