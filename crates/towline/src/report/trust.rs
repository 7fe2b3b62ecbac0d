//! Whether a run's draws can be trusted beyond what R-hat sees: chains that stay at one place, and regions that frames shut out.

use crate::chain::health::{AilmentKind, FrameHealth};
use crate::error::Error;
use crate::store::RunDir;

/// A chain that rejects so many slow moves in a row is looked at.
const LONG: f64 = 50.0;
/// It is stuck where that is so many times the longest stay that its acceptance explains.
const TIMES: f64 = 4.0;
/// Moves outside the searched frame that must have been accepted before their silence means anything.
const ENOUGH_OTHERS: f64 = 5.0;

/// What is said of a run: warnings, and remarks that are no reason to worry.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Trust {
    pub warnings: Vec<String>,
    pub remarks: Vec<String>,
}

impl Trust {
    /// From the draws, the chains' own records of their frames, and what warm-up had to say.
    pub fn of(run: &RunDir) -> Result<Self, Error> {
        let mut trust = Self::default();
        for (k, accepted) in run.statistics("outer_accepted")?.iter().enumerate() {
            trust.warnings.extend(stuck(k, accepted));
        }
        let mut health: Option<FrameHealth> = None;
        for theirs in run.checkpoints()?.iter().flatten() {
            match (&mut health, &theirs.health) {
                (Some(health), Some(theirs)) => health.merge(theirs),
                (none, theirs) => none.clone_from(theirs),
            }
        }
        if let Some(health) = health {
            trust.look_at(&health);
        }
        if let Some(tuning) = &run.manifest().tuning {
            trust.warnings.extend(tuning.notes.iter().cloned());
            trust.remarks.extend(tuning.remarks.iter().cloned());
        }
        // What warm-up saw and production saw again is said once.
        let mut seen = std::collections::HashSet::new();
        trust
            .warnings
            .retain(|warning| seen.insert(warning.clone()));
        Ok(trust)
    }

    fn look_at(&mut self, health: &FrameHealth) {
        for ailment in health.ailments() {
            let text = ailment.to_string();
            match ailment.kind {
                AilmentKind::Shut => self.warnings.push(text),
                // Draws are right all the same.
                AilmentKind::Failing(_) => self.remarks.push(text),
            }
        }
        let [framed, others] = health.accepted();
        if framed > 0.0 && others < ENOUGH_OTHERS {
            self.remarks.push(format!(
                "Whether the moving frame shuts out a region cannot be told from this run: the moves outside of it, which would \
                 show that, were accepted {others:.0} times."
            ));
        }
    }
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
