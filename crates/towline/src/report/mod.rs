//! What a run directory says in numbers: every parameter's summary, what the run cost, and what to worry about.

mod estimated;
mod place;
mod trust;

use crate::diagnose::{MIN_DRAWS, Summary};
use crate::error::Error;
use crate::kernel::info::Info;
use crate::store::RunDir;
use crate::warmup::tuning::FrameKind;
use crate::warmup::{UNLEARNED, UNSETTLED};
use estimated::Estimated;
pub use estimated::ParameterEstimate;
use serde::Serialize;
use trust::Trust;
pub use trust::{Disagreement, KernelFigures, TrustFigures};

/// The summary of a run, finished or not: what `towline summary --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// One entry for each parameter and derived quantity.
    pub parameters: Vec<ParameterSummary>,
    /// What it cost.
    pub run: RunCost,
    /// What was checked beside the chains' agreement.
    pub trust: TrustFigures,
    /// Whether the draws may be used, in words.
    pub verdict: String,
    /// What a reader should worry about, each with what to do.
    pub warnings: Vec<String>,
    /// What a reader may want to know, and need not worry about.
    pub remarks: Vec<String>,
}

/// One parameter's line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterSummary {
    /// Its name.
    pub name: String,
    /// Its figures; those that have no answer are NaN, which JSON writes as `null`.
    #[serde(flatten)]
    pub summary: Summary,
    /// What weights of slow points say, where they were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<ParameterEstimate>,
}

/// What a run cost, warm-up included, and how it moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCost {
    /// Chains.
    pub chains: usize,
    /// Draws of each chain that all chains have.
    pub draws: usize,
    /// Slow evaluations of all chains, and of the slow points that were weighed.
    pub slow_evals: u64,
    /// Fast evaluations of all of them.
    pub fast_evals: u64,
    /// Seconds by the clock on the wall, from beginning to end, all sessions added up; nothing before a checkpoint tells.
    pub seconds: Option<f64>,
    /// Seconds of the processor that the threads of all chains used; nothing where the system does not tell. (Threads and
    /// processes that a model starts by itself are not counted.)
    pub cpu_seconds: Option<f64>,
    /// The share of proposals of x that were accepted; NaN where none was made.
    pub outer_acceptance: f64,
    /// The share of proposals of y that were accepted; NaN where none was made.
    pub inner_acceptance: f64,
    /// The intervals of the main drag; nothing before warm-up has chosen.
    pub n: Option<usize>,
    /// The frame of the main drag: `linear`, `laplace`, `mode` or `own`.
    pub frame: Option<&'static str>,
    /// Slow evaluations of warm-up, which are among those above.
    #[serde(skip)]
    pub warmup_slow_evals: u64,
    /// Fast evaluations of warm-up, which are among those above.
    #[serde(skip)]
    pub warmup_fast_evals: u64,
    /// Seconds of warm-up, which are among those above.
    #[serde(skip)]
    pub warmup_seconds: f64,
}

/// R-hat above this: the chains do not agree yet (Vehtari et al. 2021).
pub(crate) const RHAT_LIMIT: f64 = 1.01;
/// Effective draws per chain below this: R-hat and the errors themselves cannot be relied on (the same paper).
pub(crate) const ESS_PER_CHAIN: f64 = 100.0;

impl RunSummary {
    /// Summarises a run: all its columns, or those named (latents can be named too).
    ///
    /// # Errors
    /// Where a name is unknown or the directory cannot be read.
    pub fn of(run: &RunDir, names: Option<&[String]>) -> Result<Self, Error> {
        let mut parameters = Vec::new();
        let manifest = run.manifest();
        let estimated = Estimated::of_run(run)?;
        let angle = |name: &str| {
            let mut all = manifest.columns.iter().chain(&manifest.latents);
            let column = all.find(|column| column.name == *name && column.periodic)?;
            column.lower.zip(column.upper)
        };
        let mut add = |name: &str, chains: &[Vec<f64>]| {
            let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let summary = match angle(name) {
                Some((lower, upper)) => Summary::of_angles(&chains, lower, upper),
                None => Summary::of(&chains),
            };
            parameters.push(ParameterSummary {
                name: name.to_owned(),
                estimate: estimated.of(name, &summary),
                summary,
            });
        };
        match names {
            None => {
                for (name, chains) in run.names().zip(run.columns()?) {
                    add(name, &chains);
                }
            }
            Some(names) => {
                for name in names {
                    let is_latent = run.manifest().latents.iter().any(|c| c.name == *name);
                    let chains = if is_latent {
                        run.latent(name)?
                    } else {
                        run.column(name)?
                    };
                    add(name, &chains);
                }
            }
        }
        let cost = RunCost::of(run)?;
        let mut warnings = match estimated.stands_alone(cost.draws) {
            true => Vec::new(),
            false => warnings(run, &parameters, &cost)?,
        };
        warnings.extend(estimated.warnings(&parameters));
        let trust = match cost.draws < MIN_DRAWS {
            true => Trust::default(),
            false => Trust::of(run)?,
        };
        warnings.extend(trust.warnings);
        let mut remarks = trust.remarks;
        warnings.extend(remarks.extract_if(.., |remark| remark == UNLEARNED));
        remarks.extend(estimated.remarks(cost.draws));
        if !warnings.is_empty() {
            // What warm-up did not learn may be why.
            warnings.extend(remarks.extract_if(.., |remark| remark == UNSETTLED));
        }
        Ok(Self {
            parameters,
            verdict: verdict(warnings.len(), cost.draws),
            run: cost,
            trust: trust.figures,
            warnings,
            remarks,
        })
    }

    /// The least effective sample size of a bulk; NaN where none has an answer.
    pub fn least_ess(&self) -> f64 {
        let all = self.parameters.iter().map(|p| p.summary.ess_bulk);
        all.fold(f64::NAN, f64::min)
    }

    /// The largest R-hat; NaN where none has an answer.
    pub fn worst_rhat(&self) -> f64 {
        let all = self.parameters.iter().map(|p| p.summary.rhat);
        all.fold(f64::NAN, f64::max)
    }
}

impl RunCost {
    fn of(run: &RunDir) -> Result<Self, Error> {
        let checkpoints = run.checkpoints()?;
        let known: Vec<_> = checkpoints.iter().flatten().collect();
        let (mut warmup, mut totals) = (Info::default(), Info::default());
        for checkpoint in &known {
            warmup += checkpoint.warmup;
            totals += checkpoint.snapshot.totals;
        }
        let most =
            |seconds: &dyn Fn(usize) -> f64| (0..known.len()).map(seconds).fold(0.0, f64::max);
        let sum =
            |name: &str| -> Result<f64, Error> { Ok(run.statistics(name)?.iter().flatten().sum()) };
        let outer_acceptance = if totals.outer_proposed > 0 {
            totals.outer_acceptance()
        } else if known.is_empty() {
            sum("outer_accepted")? / (run.chains() * run.common_rows()) as f64
        } else {
            f64::NAN
        };
        let main = run.manifest().tuning.as_ref().map(|tuning| &tuning.main);
        let estimates = run.estimates()?;
        let (mut points, mut seconds) = ([0, 0], None);
        if let Some(found) = &estimates {
            points = [found.estimates.points as u64, found.estimates.fast_evals];
            if known.is_empty() {
                // No chain got past learning, whose cost the estimates know.
                warmup.slow_evaluations = found.learning_slow_evals;
                warmup.fast_evaluations = found.learning_fast_evals;
                seconds = Some(found.seconds);
            }
        }
        Ok(Self {
            chains: run.chains(),
            draws: run.common_rows(),
            slow_evals: warmup.slow_evaluations + points[0] + sum("slow_evals")? as u64,
            fast_evals: warmup.fast_evaluations + points[1] + sum("fast_evals")? as u64,
            seconds: (!known.is_empty())
                .then(|| {
                    most(&|k| {
                        let worked = known[k].warmup_seconds + known[k].seconds;
                        known[k].wall_seconds.unwrap_or(worked)
                    })
                })
                .or(seconds),
            cpu_seconds: (!known.is_empty())
                .then(|| known.iter().map(|checkpoint| checkpoint.cpu_seconds).sum())
                .flatten(),
            outer_acceptance,
            inner_acceptance: totals.inner_acceptance(),
            n: main.map(|main| main.n),
            frame: main.map(|main| match main.frame {
                FrameKind::Linear => "linear",
                FrameKind::Laplace => "laplace",
                FrameKind::Axes => "axes",
                FrameKind::Walls => "walls",
                FrameKind::Mode => "mode",
                FrameKind::Own => "own",
            }),
            warmup_slow_evals: warmup.slow_evaluations,
            warmup_fast_evals: warmup.fast_evaluations,
            warmup_seconds: most(&|k| known[k].warmup_seconds),
        })
    }
}

/// Whether draws with so many warnings may be used.
fn verdict(warnings: usize, draws: usize) -> String {
    match warnings {
        0 if draws == 0 => "Nothing that was checked speaks against using these estimates.".into(),
        0 => "The chains agree, and nothing that was checked speaks against using these draws."
            .into(),
        1 => "Read the warning before you use these draws.".into(),
        count => format!("Read the {count} warnings before you use these draws."),
    }
}

fn warnings(
    run: &RunDir,
    parameters: &[ParameterSummary],
    cost: &RunCost,
) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    let named = |which: &dyn Fn(&Summary) -> bool| -> Vec<&str> {
        let chosen = parameters.iter().filter(|p| which(&p.summary));
        chosen.map(|p| p.name.as_str()).collect()
    };
    if cost.draws < MIN_DRAWS {
        all.push(format!(
            "There are only {} draws of every chain so far: no figure means anything yet. Wait, or resume the run.",
            cost.draws
        ));
        return Ok(all);
    }
    let rows = run.rows();
    if rows.iter().any(|&r| r != cost.draws) {
        let most = rows.iter().max().copied().unwrap_or(0);
        all.push(format!(
            "Chains have between {} and {most} draws; the first {} of each are used. Resume the run to even them out.",
            cost.draws, cost.draws
        ));
    }
    if cost.chains == 1 {
        all.push("There is one chain: R-hat needs at least two. Run with --chains 4 to see whether chains agree.".into());
    }
    let apart = named(&|s| s.rhat > RHAT_LIMIT);
    if !apart.is_empty() {
        all.push(format!(
            "R-hat is above {RHAT_LIMIT} for {}: the chains do not agree yet. Resume with more draws; if it stays \
             so, look at the traces for several modes.",
            list(&apart)
        ));
    }
    let needed = ESS_PER_CHAIN * cost.chains as f64;
    let few = named(&|s| s.ess_bulk < needed || s.ess_tail < needed);
    if !few.is_empty() {
        all.push(format!(
            "Fewer than {needed} effective draws for {}: means and quantiles are uncertain. Resume with more draws.",
            list(&few)
        ));
    }
    let constant = named(&|s| s.sd == 0.0);
    if !constant.is_empty() {
        all.push(format!(
            "All draws are the same for {}: R-hat has no answer, and every draw counts as effective. If it is \
             not a constant, the chains are stuck.",
            list(&constant)
        ));
    }
    let none = named(&|s| !s.mean.is_finite() || s.ess_bulk.is_nan());
    if !none.is_empty() {
        all.push(format!(
            "Some draws of {} are not finite, so that some figures have no answer (shown as – and, in JSON, \
             null). Look at how it is computed.",
            list(&none)
        ));
    }
    let failures = run.failures()?;
    if let Some(last) = failures.last() {
        all.push(format!(
            "{} evaluations failed (the last: {}). See failures.jsonl for where.",
            failures.len(),
            last.message
        ));
    }
    for warning in run.warnings()? {
        all.push(format!("Chain {}: {}", warning.chain, warning.message));
    }
    Ok(all)
}

/// The first few names, and how many more.
fn list(names: &[&str]) -> String {
    const MOST_NAMED: usize = 6;
    let shown = names[..names.len().min(MOST_NAMED)].join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
