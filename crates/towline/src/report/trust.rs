//! Whether a run's draws can be trusted beyond what R-hat sees: chains that stay at one place, kernels that do not agree, places
//! that the learned proposal does not cover, and regions that frames shut out.

use super::place::Places;
use crate::chain::health::{AilmentKind, FrameHealth};
use crate::chain::parts::{Coverage, Drift, MixRecord};
use crate::diagnose::pareto_shape;
use crate::error::Error;
use crate::store::{Checkpoint, RunDir};
use crate::warmup::tuning::{Part, Tuning};
use serde::Serialize;

/// A chain that rejects so many slow moves in a row is looked at.
const LONG: f64 = 50.0;
/// It is stuck where that is so many times the longest stay that its acceptance explains.
const TIMES: f64 = 4.0;
/// Moves outside the searched frame that must have been accepted before their silence means anything.
const ENOUGH_OTHERS: f64 = 5.0;
/// Kernels disagree beyond so many standard errors: one false alarm in 150,000 comparisons, of which a run with five slow
/// parameters makes thirty.
const DISAGREE: f64 = 4.5;
/// The share of draws outside what the learned proposal covers that is told, and the Pareto index beyond which its moves alone
/// would not do (Vehtari et al. 2024).
const UNCOVERED: f64 = 0.01;
const HEAVY: f64 = 0.7;

/// What was checked of a run beside its chains' agreement, in numbers: a part of what `towline summary --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TrustFigures {
    /// The kernels that moved x, and how often; empty where it was not recorded.
    pub kernels: Vec<KernelFigures>,
    /// The largest disagreement between draws before and after one kernel's moves, where there are several kernels.
    pub disagreement: Option<Disagreement>,
    /// The share of draws where moves of the learned proposal were refused far longer than its acceptance explains; nothing where
    /// there is no learned proposal.
    pub uncovered: Option<f64>,
    /// The Pareto index of the ratios of the target to the learned proposal; above 0.7 its moves alone would not do.
    pub pareto_index: Option<f64>,
    /// Whether frames were checked: `true` where moves outside the searched frame were accepted often enough to tell; nothing where
    /// there was nothing to check.
    pub frames_checked: Option<bool>,
}

/// How often a kernel moved x.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelFigures {
    /// Which: `learned proposal`, `random walk` or `safe moves`.
    pub name: &'static str,
    /// Steps that it made.
    pub steps: f64,
    /// Those that were accepted.
    pub moved: f64,
}

/// How far draws after one kernel's moves differ from those before them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// Which kernel.
    pub kernel: &'static str,
    /// The slow parameter.
    pub parameter: String,
    /// In standard errors.
    pub z: f64,
}

/// What is said of a run: warnings, remarks that are no reason to worry, and the numbers behind them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trust {
    pub warnings: Vec<String>,
    pub remarks: Vec<String>,
    pub figures: TrustFigures,
}

impl Trust {
    /// From the draws, the chains' own records of their frames and kernels, and what warm-up had to say.
    pub fn of(run: &RunDir) -> Result<Self, Error> {
        let mut trust = Self::default();
        for (k, accepted) in run.statistics("outer_accepted")?.iter().enumerate() {
            trust.warnings.extend(stuck(k, accepted));
        }
        let checkpoints = run.checkpoints()?;
        let known: Vec<&Checkpoint> = checkpoints.iter().flatten().collect();
        let mut places = Places::of(run);
        if let Some(tuning) = &run.manifest().tuning {
            let records: Vec<&MixRecord> = known.iter().filter_map(|c| c.parts.as_ref()).collect();
            trust.compare_kernels(tuning, &records, &mut places)?;
        }
        let mut health: Option<FrameHealth> = None;
        for theirs in &known {
            match (&mut health, &theirs.health) {
                (Some(health), Some(theirs)) => health.merge(theirs),
                (none, theirs) => none.clone_from(theirs),
            }
        }
        if let Some(health) = health {
            trust.look_at(&health, &mut places)?;
        }
        if let Some(tuning) = &run.manifest().tuning {
            // What warm-up saw of frames, production sees better, and in the user's parameters.
            let notes = tuning.notes.iter().filter(|note| !is_of_frames(note));
            trust.warnings.extend(notes.cloned());
            let seen = trust.warnings.iter().any(|w| w.contains(SHUT));
            let frames = tuning.notes.iter().filter(|note| is_of_frames(note));
            trust.warnings.extend(frames.filter(|_| !seen).cloned());
            trust.remarks.extend(tuning.remarks.iter().cloned());
        }
        // What warm-up saw and production saw again is said once.
        let mut seen = std::collections::HashSet::new();
        trust
            .warnings
            .retain(|warning| seen.insert(warning.clone()));
        Ok(trust)
    }

    /// Whether the draws before and after each kernel's moves are alike, and where the learned proposal is refused.
    fn compare_kernels(
        &mut self,
        tuning: &Tuning,
        records: &[&MixRecord],
        places: &mut Places<'_>,
    ) -> Result<(), Error> {
        let parts = tuning.parts();
        let moves = MixRecord::moves(records);
        if moves.len() != parts.len() {
            return Ok(());
        }
        self.figures.kernels = parts
            .iter()
            .zip(&moves)
            .filter(|(_, moves)| moves[0] > 0.0)
            .map(|(part, [steps, moved])| KernelFigures {
                name: name(*part),
                steps: *steps,
                moved: *moved,
            })
            .collect();
        let drifts = MixRecord::drifts(records);
        if let Some(worst) = drifts.iter().max_by(|a, b| a.z.abs().total_cmp(&b.z.abs())) {
            let (kernel, parameter) = (name(parts[worst.part]), places.name(worst.variable));
            if worst.z.abs() > DISAGREE {
                self.warnings.push(disagreement(worst, kernel, &parameter));
            }
            self.figures.disagreement = Some(Disagreement {
                kernel,
                parameter,
                z: worst.z,
            });
        }
        if let Some(coverage) = MixRecord::coverage(records) {
            let index = pareto_shape(&coverage.log_runs);
            self.figures.uncovered = Some(coverage.uncovered);
            self.figures.pareto_index = Some(index).filter(|k| k.is_finite());
            if coverage.uncovered >= UNCOVERED {
                let said = uncovered(&coverage, index, places)?;
                match index > HEAVY {
                    true => self.warnings.push(said),
                    false => self.remarks.push(said),
                }
            }
        }
        Ok(())
    }

    fn look_at(&mut self, health: &FrameHealth, places: &mut Places<'_>) -> Result<(), Error> {
        for ailment in health.ailments() {
            let place = places.region(&ailment)?;
            match ailment.kind {
                AilmentKind::Shut => self.warnings.push(format!(
                    "Where {place}, {SHUT}, though other moves are; {} of the draws lie there. The frame is wrong in that region: check \
                     the model's gradient and curvature, or use the linear frame, and do not trust this run's tails.",
                    percent(ailment.share)
                )),
                // Draws are right all the same.
                AilmentKind::Failing(share) => self.remarks.push(format!(
                    "Where {place}, the search for the mode of the fast parameters failed for {:.0} % of the points proposed there, and \
                     the linear frame stood in. The conditional may have no mode there; draws are right, but mixing is slower.",
                    100.0 * share
                )),
            }
        }
        let [framed, others] = health.accepted();
        if framed > 0.0 {
            let can_tell = others >= ENOUGH_OTHERS;
            self.figures.frames_checked = Some(can_tell);
            if !can_tell {
                self.remarks.push(format!(
                    "Whether the moving frame shuts out a region cannot be told from this run: the moves outside of it, which would \
                     show that, were accepted {others:.0} times."
                ));
            }
        }
        Ok(())
    }
}

/// What is said of a region that framed moves do not reach: by it warm-up's notes and production's are known to be of one kind.
const SHUT: &str =
    "moves in the Laplace frame into and out of the region are (nearly) never accepted";

/// Whether a note of warm-up's is about a frame that shuts out a region.
fn is_of_frames(note: &str) -> bool {
    note.starts_with("slow variable ") && note.contains("moves in the Laplace frame")
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Learned => "learned proposal",
        Part::Walk => "random walk",
        Part::Safe => "safe moves",
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn disagreement(worst: &Drift, kernel: &str, parameter: &str) -> String {
    let what = match (worst.of_spread, worst.change > 0.0) {
        (false, true) => "larger",
        (false, false) => "smaller",
        (true, true) => "further from its mean",
        (true, false) => "nearer to its mean",
    };
    format!(
        "The kernels do not agree: after moves by the {kernel}, {parameter} is {what} than before them, on average ({:.1} standard \
         errors; in a chain that has settled no kernel changes a mean). Either the chains have not settled, or the model's log \
         density is not one function (noise, or something remembered from call to call). Do not use these draws yet: see that the \
         model gives the same value twice, and resume with more draws.",
        worst.z.abs()
    )
}

/// What is said of places that the learned proposal does not cover.
fn uncovered(coverage: &Coverage, index: f64, places: &mut Places<'_>) -> Result<String, Error> {
    let mut regions = Vec::new();
    for &(variable, above, share) in &coverage.tails {
        let place = places.tail(variable, above, share)?;
        regions.push(format!("where {place} ({} of the draws)", percent(share)));
    }
    let regions = match regions.len() {
        0 => String::new(),
        _ => format!(", among them {}", regions.join(" and ")),
    };
    let index = match index.is_nan() {
        true => String::new(),
        false => format!("; Pareto index {index:.2}"),
    };
    Ok(format!(
        "The learned proposal does not cover {} of the draws{regions}: its moves are hardly ever accepted there{index}. The random \
         walk alone moves through these places, so that their share of the posterior is less certain than the rest. Resume with \
         more draws; if that does not change it, warm up longer.",
        percent(coverage.uncovered)
    ))
}

/// A chain that stayed at one value of its slow parameters far longer than its acceptance explains.
fn stuck(chain: usize, accepted: &[f64]) -> Option<String> {
    let count = accepted.len() as f64;
    let rate = accepted.iter().filter(|a| **a > 0.0).count() as f64 / count;
    let (mut longest, mut end, mut here) = (0usize, 0, 0);
    for (k, a) in accepted.iter().enumerate() {
        here = if *a > 0.0 { 0 } else { here + 1 };
        if here > longest {
            (longest, end) = (here, k + 1);
        }
    }
    if rate == 0.0 || rate >= 1.0 {
        return None;
    }
    // The longest of so many stays of geometric length.
    let explained = (count * rate).max(1.0).ln().max(1.0) / -(1.0 - rate).ln();
    ((longest as f64) > LONG && longest as f64 > TIMES * explained).then(|| {
        format!(
            "Chain {chain} stayed at one value of the slow parameters for {longest} draws in a row (up to draw {end}), though it \
             accepts {:.0} % of its slow moves elsewhere: a part of the posterior that they hardly reach. Its share may be off. \
             Resume with more draws; if it happens again, warm up longer.",
            100.0 * rate
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stay_is_told_and_a_usual_one_is_not() {
        let usual: Vec<f64> = (0..2000).map(|k| f64::from(u8::from(k % 3 == 0))).collect();
        assert_eq!(stuck(0, &usual), None);
        let mut long = usual;
        // From the acceptance at 498 to that at 702.
        long[500..700].fill(0.0);
        let told = stuck(2, &long).unwrap();
        assert!(
            told.contains("Chain 2") && told.contains("203 draws"),
            "{told}"
        );
    }

    #[test]
    fn a_chain_that_rarely_accepts_may_stay_as_long_as_that_explains() {
        // One in fifty: stays of a few hundred are usual.
        let rare: Vec<f64> = (0..4000)
            .map(|k| f64::from(u8::from(k % 50 == 0)))
            .collect();
        assert_eq!(stuck(0, &rare), None);
    }
}
