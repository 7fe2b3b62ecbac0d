//! Progress on stderr: a bar for each chain on a terminal, a plain line a minute elsewhere, or nothing.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use towline::run::{ChainProgress, Phase, Progress};

const BAR: &str = "{prefix:>8} {bar:24} {pos:>7}/{len}  {msg}";
/// How often R-hat and effective sizes are computed anew, and plain lines are printed.
const THINK: Duration = Duration::from_secs(1);
const LINE: Duration = Duration::from_secs(60);

/// What is shown.
pub struct Display {
    kind: Kind,
    /// Set when the run is told to stop; nothing once that was said.
    stop: Option<Arc<AtomicBool>>,
    begun: Instant,
    thought: Option<Instant>,
    said: Instant,
    worst: (f64, f64),
}

enum Kind {
    Nothing,
    Lines,
    Bars {
        all: MultiProgress,
        bars: Vec<ProgressBar>,
        foot: ProgressBar,
    },
}

impl Display {
    /// For this terminal, or none. Where `stop` is given, it is said when it is set.
    pub fn new(quiet: bool, stop: Option<Arc<AtomicBool>>) -> Self {
        let kind = if quiet {
            Kind::Nothing
        } else if io::stderr().is_terminal() {
            let all = MultiProgress::new();
            let foot = all.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{prefix:>8} {msg}") {
                foot.set_style(style);
            }
            Kind::Bars {
                all,
                bars: Vec::new(),
                foot,
            }
        } else {
            Kind::Lines
        };
        let now = Instant::now();
        Self {
            kind,
            stop,
            begun: now,
            thought: None,
            said: now,
            worst: (f64::NAN, f64::NAN),
        }
    }

    /// Says once that the run was told to stop; above the bars, which a line written among them would spoil.
    fn say_that_it_stops(&mut self) {
        const LINE: &str = "stopping after the current step (again to end at once)";
        if self
            .stop
            .take_if(|stop| stop.load(Ordering::Relaxed))
            .is_some()
        {
            // If stderr is closed there is nobody to tell.
            let _ = match &self.kind {
                Kind::Bars { all, .. } => all.println(LINE),
                Kind::Lines | Kind::Nothing => writeln!(io::stderr(), "{LINE}"),
            };
        }
    }

    /// Shows how far the run is.
    pub fn show(&mut self, progress: &Progress) {
        self.say_that_it_stops();
        if matches!(self.kind, Kind::Nothing) {
            return;
        }
        if self.thought.is_none_or(|at| at.elapsed() > THINK) {
            self.thought = Some(Instant::now());
            self.worst = progress.worst();
        }
        let foot_text = self.together(progress);
        match &mut self.kind {
            Kind::Nothing => {}
            Kind::Lines => {
                if self.said.elapsed() > LINE {
                    self.said = Instant::now();
                    let draws: Vec<String> = progress
                        .chains
                        .iter()
                        .map(|c| c.draws.to_string())
                        .collect();
                    if progress.weighing.is_some() {
                        // Progress that nobody can see is no reason to stop.
                        let _ = writeln!(io::stderr(), "{foot_text}");
                        return;
                    }
                    let line = format!(
                        "draws {} of {}  {foot_text}",
                        draws.join(", "),
                        progress.draws
                    );
                    // Progress that nobody can see is no reason to stop.
                    let _ = writeln!(io::stderr(), "{line}");
                }
            }
            Kind::Bars { all, bars, foot } => {
                while bars.len() < progress.chains.len() {
                    let bar = all.insert_before(foot, ProgressBar::new(progress.draws));
                    if let Ok(style) = ProgressStyle::with_template(BAR) {
                        bar.set_style(style.progress_chars("━╸─"));
                    }
                    bar.set_prefix(format!("chain {}", bars.len()));
                    bars.push(bar);
                }
                for (bar, chain) in bars.iter().zip(&progress.chains) {
                    bar.set_position(chain.draws);
                    bar.set_message(one(chain));
                }
                foot.set_prefix("all");
                foot.set_message(foot_text);
            }
        }
    }

    /// What is said of all chains together.
    fn together(&self, progress: &Progress) -> String {
        if let Some(w) = &progress.weighing {
            let mut text = format!(
                "{} slow evaluations to learn, {} of {} points weighed",
                w.learned, w.points, w.planned
            );
            if let Some(error) = w.error {
                text += &format!("  error {error:.3} of {} asked", w.asked);
            }
            return text;
        }
        let mut parts = Vec::new();
        let warming = progress
            .chains
            .iter()
            .any(|c| matches!(c.phase, Phase::Waiting | Phase::WarmingUp(_)));
        if warming && progress.chains.iter().all(|c| c.draws == 0) {
            parts.push("warm-up".to_owned());
        }
        let slow: u64 = progress.chains.iter().map(|c| c.slow_evaluations).sum();
        let rate = slow as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        parts.push(format!("{} slow evaluations/s", short(rate)));
        let (rhat, ess) = self.worst;
        if rhat.is_finite() {
            parts.push(format!("worst R-hat {rhat:.3}"));
        }
        if ess.is_finite() {
            parts.push(format!("least ESS {ess:.0}"));
        }
        let failures: u64 = progress.chains.iter().map(|c| c.failures).sum();
        if failures > 0 {
            parts.push(format!("{failures} failed evaluations"));
        }
        if let Some(left) = self.left(progress) {
            parts.push(format!("{} left", indicatif::HumanDuration(left)));
        }
        parts.join("  ")
    }

    /// The time left, if draws go on coming as they have.
    fn left(&self, progress: &Progress) -> Option<Duration> {
        let sum = |f: &dyn Fn(&ChainProgress) -> u64| progress.chains.iter().map(f).sum::<u64>();
        let made = sum(&|c| c.draws - c.draws_before.min(c.draws));
        let missing = sum(&|c| progress.draws.saturating_sub(c.draws));
        let longest = progress
            .chains
            .iter()
            .map(|c| c.seconds)
            .fold(0.0, f64::max);
        if made == 0 || longest < 0.5 {
            return None;
        }
        Duration::try_from_secs_f64(longest * missing as f64 / made as f64).ok()
    }

    /// Takes the bars away.
    pub fn finish(&mut self) {
        if let Kind::Bars { all, .. } = &self.kind {
            // A terminal that has gone away is no reason to fail.
            let _ = all.clear();
        }
    }
}

/// What is said of one chain.
fn one(chain: &ChainProgress) -> String {
    match chain.phase {
        Phase::Waiting => "waiting".to_owned(),
        Phase::WarmingUp(stage) => format!("warm-up, stage {}", stage + 1),
        Phase::Sampling | Phase::Done => {
            let share = |name: &str, value: f64| match value.is_finite() {
                true => format!("{name} {:.0} %", 100.0 * value),
                false => String::new(),
            };
            format!(
                "accepted: {} {}",
                share("outer", chain.totals.outer_acceptance()),
                share("inner", chain.totals.inner_acceptance())
            )
        }
    }
}

/// A number in few characters.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{:.1} M", v / 1e6),
        v if v >= 1e4 => format!("{:.0} k", v / 1e3),
        v if v >= 10.0 => format!("{v:.0}"),
        v => format!("{v:.2}"),
    }
}
