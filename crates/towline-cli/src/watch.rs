//! `towline watch DIR`: a run's traces and R-hat in the terminal while it goes on, over ssh too.

mod glance;
mod trace;
mod view;

use crate::failure::Failure;
use crate::sampling::{duration, stop_on_ctrl_c};
use anyhow::Result;
use clap::Args;
use console::Term;
use glance::{Glance, Standing};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use view::{Size, line, picture};

/// Flags of `towline watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline watch runs/neal1                        traces of all chains and R-hat, twice a second; Ctrl-C leaves the run alone
  towline watch runs/neal1 --params x,y           of these parameters
  towline watch runs/neal1 --once                 one picture
  towline watch runs/neal1 --every 1m >> log      where no terminal is: a line a minute until the run ends")]
pub struct Options {
    /// The run directory
    pub dir: PathBuf,
    /// Only these parameters, by name or by beginning (f*) [default: those with the largest R-hat]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    pub params: Vec<String>,
    /// Time between two looks [default: 0.5s in a terminal, 10s elsewhere]
    #[arg(long, value_name = "T", value_parser = duration)]
    pub every: Option<Duration>,
    /// Draw one picture and end
    #[arg(long)]
    pub once: bool,
}

const EVERY: Duration = Duration::from_millis(500);
const EVERY_LINE: Duration = Duration::from_secs(10);
/// How soon Ctrl-C is noticed.
const TICK: Duration = Duration::from_millis(50);

/// Looks on until the run ends or somebody has seen enough.
pub fn run(options: &Options) -> Result<(), Failure> {
    if options.once {
        return once(options).map_err(Failure::Run);
    }
    let stop = stop_on_ctrl_c()?;
    let terminal = io::stdout().is_terminal();
    let every = options
        .every
        .unwrap_or(if terminal { EVERY } else { EVERY_LINE });
    let watched = if terminal {
        on_screen(options, every, &stop)
    } else {
        in_lines(options, every, &stop)
    };
    watched.map_err(Failure::Run)
}

fn once(options: &Options) -> Result<()> {
    let size = if io::stdout().is_terminal() {
        Size::of(&Term::stdout())
    } else {
        Size::PLAIN
    };
    let glance = Glance::of(&options.dir, &options.params, size.draws())?;
    let text = picture(&glance, &size, io::stdout().is_terminal() && coloured()).join("\n");
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

fn coloured() -> bool {
    std::env::var_os("NO_COLOR").is_none()
}

/// On the terminal's other page, so that what was there comes back; the last picture stays.
fn on_screen(options: &Options, every: Duration, stop: &AtomicBool) -> Result<()> {
    let term = Term::stdout();
    let mut glance = Glance::of(&options.dir, &options.params, Size::of(&term).draws())?;
    print!("\x1b[?1049h\x1b[?25l");
    let shown = loop {
        let text: String = picture(&glance, &Size::of(&term), coloured())
            .iter()
            .map(|line| format!("{line}\x1b[K\r\n"))
            .collect();
        let mut out = io::stdout().lock();
        if let Err(error) = write!(out, "\x1b[H{text}\x1b[J").and_then(|()| out.flush()) {
            break Err(error.into());
        }
        drop(out);
        if glance.standing.has_ended() || waited(every, stop) {
            break Ok(());
        }
        match Glance::of(&options.dir, &options.params, Size::of(&term).draws()) {
            Ok(next) => glance = next,
            Err(error) => break Err(error),
        }
    };
    print!("\x1b[?25h\x1b[?1049l");
    shown?;
    let text = picture(&glance, &Size::of(&term), coloured()).join("\n");
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// A line at a time, for logs.
fn in_lines(options: &Options, every: Duration, stop: &AtomicBool) -> Result<()> {
    loop {
        let glance = Glance::of(&options.dir, &options.params, 0)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", line(&glance))?;
        out.flush()?;
        drop(out);
        if glance.standing.has_ended() || waited(every, stop) {
            return Ok(());
        }
    }
}

/// Waits; says whether somebody has seen enough.
fn waited(every: Duration, stop: &AtomicBool) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < every {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        thread::sleep(TICK.min(every));
    }
    stop.load(Ordering::Relaxed)
}

impl Standing {
    /// Whether nothing more will come of itself.
    fn has_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Stopped)
    }
}
