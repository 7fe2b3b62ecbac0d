//! Progress on stderr: a bar for each chain on a terminal, a plain line a minute elsewhere, or nothing.

use super::lines::Lines;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use towline::run::{ChainProgress, Phase, Progress};

/// Characters of a bar.
const BAR: usize = 20;
/// How often bars are drawn anew.
const DRAW: Duration = Duration::from_millis(100);
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
        lines: Lines,
        drawn: Option<Instant>,
    },
}

impl Display {
    /// For this terminal, or none. Where `stop` is given, it is said when it is set.
    pub fn new(quiet: bool, stop: Option<Arc<AtomicBool>>) -> Self {
        let kind = if quiet {
            Kind::Nothing
        } else if io::stderr().is_terminal() {
            Kind::Bars {
                lines: Lines::default(),
                drawn: None,
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
            if let Kind::Bars { lines, drawn } = &mut self.kind {
                let _ = lines.clear(&mut io::stderr());
                *drawn = None;
            }
            let _ = writeln!(io::stderr(), "{LINE}");
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
            Kind::Bars { lines, drawn } => {
                if drawn.is_some_and(|at| at.elapsed() < DRAW) {
                    return;
                }
                *drawn = Some(Instant::now());
                let chains = progress.chains.iter().enumerate();
                let mut text: Vec<String> = chains
                    .map(|(k, chain)| one(k, chain, progress.draws))
                    .collect();
                text.push(format!("{:>8} {foot_text}", "all"));
                // A terminal that has gone away is no reason to fail.
                let _ = lines.write(&mut io::stderr(), &text, console::Term::stderr().size());
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
        // What matters most comes first: a narrow terminal cuts the rest off.
        if let Some(left) = self.left(progress) {
            parts.push(format!("{} left", roughly(left.as_secs_f64())));
        }
        let failures: u64 = progress.chains.iter().map(|c| c.failures).sum();
        if failures > 0 {
            parts.push(format!("{failures} failed evaluations"));
        }
        let (rhat, ess) = self.worst;
        if rhat.is_finite() {
            parts.push(format!("worst R-hat {rhat:.3}"));
        }
        if ess.is_finite() {
            parts.push(format!("least ESS {ess:.0}"));
        }
        let slow: u64 = progress.chains.iter().map(|c| c.slow_evaluations).sum();
        let rate = slow as f64 / self.begun.elapsed().as_secs_f64().max(1e-3);
        parts.push(format!("{} slow evals/s", short(rate)));
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
        if let Kind::Bars { lines, .. } = &mut self.kind {
            // A terminal that has gone away is no reason to fail.
            let _ = lines.clear(&mut io::stderr());
        }
    }
}

/// The line of one chain: a bar, its draws, and what it does.
fn one(k: usize, chain: &ChainProgress, draws: u64) -> String {
    let share = chain.draws as f64 / draws.max(1) as f64;
    let done = ((BAR as f64 * share).round() as usize).min(BAR);
    let bar = "━".repeat(done) + &"─".repeat(BAR - done);
    let state = state(chain);
    format!(
        "{:>8} {bar} {:>7}/{draws}  {state}",
        format!("chain {k}"),
        chain.draws
    )
}

/// What a chain does, in a few words.
fn state(chain: &ChainProgress) -> String {
    let share = |name: &str, value: f64| match value.is_finite() {
        true => format!(" {name} {:.0} %", 100.0 * value),
        false => String::new(),
    };
    match chain.phase {
        Phase::Waiting => "waiting".to_owned(),
        Phase::WarmingUp(stage) => format!("warm-up, stage {}", stage + 1),
        Phase::Sampling | Phase::Done => format!(
            "accepted:{}{}",
            share("outer", chain.totals.outer_acceptance()),
            share("inner", chain.totals.inner_acceptance())
        ),
    }
}

/// A time that is only guessed.
fn roughly(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(draws: u64, phase: Phase) -> ChainProgress {
        ChainProgress {
            phase,
            draws,
            ..ChainProgress::default()
        }
    }

    #[test]
    fn a_chain_of_a_million_draws_has_room_in_eighty_columns() {
        let mut running = chain(250_000, Phase::Sampling);
        let totals = &mut running.totals;
        (totals.outer_proposed, totals.outer_accepted) = (100, 79);
        (totals.inner_proposed, totals.inner_accepted) = (100, 61);
        let line = one(0, &running, 1_000_000);
        let whole =
            " chain 0 ━━━━━───────────────  250000/1000000  accepted: outer 79 % inner 61 %";
        assert_eq!(line, whole);
        assert!(line.chars().count() < 80);
        let line = one(3, &chain(0, Phase::WarmingUp(1)), 2000);
        assert!(line.ends_with("0/2000  warm-up, stage 2"), "{line}");
    }

    #[test]
    fn times_that_are_guessed_are_short() {
        let said = [12.3, 100.0, 7200.0].map(roughly);
        assert_eq!(said, ["12 s", "2 min", "2.0 h"]);
    }
}
