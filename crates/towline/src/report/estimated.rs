//! What weights of slow points say in a summary, beside what the draws say: whose figures are whose.

use super::ParameterSummary;
use crate::diagnose::Summary;
use crate::error::Error;
use crate::store::{RunDir, StoredEstimates};
use serde::Serialize;

/// One parameter's estimate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterEstimate {
    /// The posterior mean.
    pub mean: f64,
    /// The posterior standard deviation.
    pub sd: f64,
    /// The standard error of the mean.
    pub se: f64,
    /// The number of independent draws whose mean would have this error.
    pub equivalent_draws: f64,
    /// The standard error of the standard deviation.
    pub se_sd: f64,
    /// The quantiles at 5, 50 and 95 per cent.
    pub quantiles: [f64; 3],
    /// How far the draws' mean is from this one, in standard errors of the difference; nothing without draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub z_of_draws: Option<f64>,
}

/// The estimates of a run, if any.
pub(super) struct Estimated(Option<StoredEstimates>);

/// Draws and weights that differ by more standard errors than this contradict each other.
const APART: f64 = 4.0;

impl Estimated {
    pub fn of_run(run: &RunDir) -> Result<Self, Error> {
        run.estimates().map(Self)
    }

    /// Whether there is nothing but estimates, so that what is said of draws has no subject.
    pub fn stands_alone(&self, draws: usize) -> bool {
        draws == 0 && self.0.as_ref().is_some_and(|found| !found.chains_instead)
    }

    /// The estimate of a parameter.
    pub fn of(&self, name: &str, draws: &Summary) -> Option<ParameterEstimate> {
        let found = self.0.as_ref()?;
        let column = found
            .estimates
            .columns
            .iter()
            .find(|column| column.name == name)?;
        let apart = (draws.mean - column.mean) / draws.mcse_mean.hypot(column.se);
        Some(ParameterEstimate {
            mean: column.mean,
            sd: column.sd,
            se: column.se,
            equivalent_draws: column.equivalent_draws,
            se_sd: column.se_sd,
            quantiles: column.quantiles,
            z_of_draws: Some(apart).filter(|z| z.is_finite()),
        })
    }

    /// What to worry about.
    pub fn warnings(&self, parameters: &[ParameterSummary]) -> Vec<String> {
        let Some(found) = &self.0 else {
            return Vec::new();
        };
        let estimates = &found.estimates;
        let mut all = Vec::new();
        if estimates.is_poor() {
            let k = estimates.pareto_k.unwrap_or(f64::NAN);
            all.push(format!(
                "The weights have a tail of index {k:.2} (above 0.7): what was learned of the posterior misses part of it. Do not use the \
                 estimates; the chains' draws do not depend on them."
            ));
        }
        if estimates.failed > 0 {
            all.push(format!(
                "{} of {} slow points failed and count as outside the support: if the posterior has mass there, the estimates miss it. See \
                 failures.jsonl for where.",
                estimates.failed, estimates.points
            ));
        }
        let apart = |p: &&ParameterSummary| {
            let z = p.estimate.as_ref().and_then(|e| e.z_of_draws);
            z.is_some_and(|z| z.abs() > APART)
        };
        let names: Vec<&str> = parameters
            .iter()
            .filter(apart)
            .map(|p| &p.name[..])
            .collect();
        if !names.is_empty() {
            all.push(format!(
                "Draws and weights disagree by more than {APART} standard errors for {}: one of them misses part of the posterior. Make more \
                 draws before you use either.",
                super::list(&names)
            ));
        }
        all
    }

    /// Whose figures are whose.
    pub fn remarks(&self, draws: usize) -> Vec<String> {
        let Some(found) = &self.0 else {
            return Vec::new();
        };
        let estimates = &found.estimates;
        if found.chains_instead {
            return vec![format!(
                "{} slow points were weighed first; draws of chains were predicted to be cheaper for the error that was asked for, and the table is theirs.",
                estimates.points
            )];
        }
        if draws == 0 {
            return vec![format!(
                "These figures are from the weights of {} slow points under what warm-up learned (spread of the log weights {:.2}), not from a chain's \
                 draws.",
                estimates.points, estimates.spread
            )];
        }
        vec!["The table is from the chains' draws; what weights of slow points say is in `towline summary --json`, under \"estimate\".".into()]
    }
}
