//! What the page shows, as plain data: thinned and rounded, so that the file stays small.

use super::density::densities;
use crate::runs::{count, duration, short};
use anyhow::Result;
use serde::{Serialize, Serializer};
use towline::diagnose::{autocorrelation, ess_bulk, rhat};
use towline::store::RunDir;
use towline::{Column, Role, RunSummary};

/// Columns that are shown when none are named.
const MOST_COLUMNS: usize = 40;
/// Numbers of traces in the file, at some eight bytes each.
const TRACE_BUDGET: usize = 110_000;
/// Points of one chain's trace: about what a screen is wide.
const TRACE: usize = 1_000;
/// Lags of the autocorrelation.
const LAGS: usize = 100;
/// Bins of a rank histogram.
const RANKS: usize = 20;
/// Points along the run at which convergence is looked at.
const MOMENTS: usize = 24;

/// Everything on the page.
#[derive(Debug, Serialize)]
pub struct Data {
    pub title: String,
    pub model: Vec<[String; 2]>,
    pub chips: Vec<Chip>,
    pub verdict: String,
    pub warnings: Vec<String>,
    pub remarks: Vec<String>,
    /// What was checked beside the chains' agreement.
    pub checked: Vec<[String; 2]>,
    pub parameters: Vec<Parameter>,
    /// The draws' numbers in the traces.
    pub steps: Vec<usize>,
    /// The draws at which convergence was looked at.
    pub moments: Vec<usize>,
    pub chains: usize,
    pub cost: Vec<Cost>,
    pub tuning: Vec<[String; 2]>,
    pub trials: Vec<Trial>,
    pub hidden: usize,
    pub rhat_limit: f64,
    pub ess_wanted: f64,
}

/// A figure at the top of the page.
#[derive(Debug, Serialize)]
pub struct Chip {
    pub name: &'static str,
    pub value: String,
    /// `good`, `poor` or nothing.
    pub mood: &'static str,
}

/// A part of the cost.
#[derive(Debug, Serialize)]
pub struct Cost {
    name: &'static str,
    warmup: f64,
    sampling: f64,
    text: String,
}

/// A setting that warm-up tried.
#[derive(Debug, Serialize)]
pub struct Trial {
    frame: String,
    n: usize,
    learned: bool,
    worth: Number,
    acceptance: Number,
    chosen: bool,
}

/// One parameter, in pictures.
#[derive(Debug, Serialize)]
pub struct Parameter {
    name: String,
    role: Role,
    /// mean, sd, 5 %, 50 %, 95 %, MCSE, ESS bulk, ESS tail, R-hat.
    figures: Vec<Number>,
    trace: Vec<Vec<Number>>,
    lags: Vec<Vec<Number>>,
    grid: Vec<Number>,
    densities: Vec<Vec<Number>>,
    ranks: Vec<Vec<u32>>,
    rhat: Vec<Number>,
    ess: Vec<Number>,
}

/// A number rounded to what can be seen; null where it is none.
#[derive(Debug, Clone, Copy)]
pub struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.4e}", self.0).parse().unwrap_or(self.0);
        if rounded == rounded.trunc() && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

impl Data {
    /// Reads a run and computes what is to be shown.
    pub fn of(run: &RunDir, names: Option<&[String]>) -> Result<Self> {
        let manifest = run.manifest();
        let (chosen, hidden) = match names {
            Some(names) => (names.to_vec(), 0),
            None => {
                let all: Vec<String> = run.names().map(str::to_owned).collect();
                let hidden = all.len().saturating_sub(MOST_COLUMNS) + manifest.latents.len();
                (all.into_iter().take(MOST_COLUMNS).collect(), hidden)
            }
        };
        let summary = RunSummary::of(run, Some(&chosen))?;
        let draws = summary.run.draws;
        let numbers_of_traces = (chosen.len() * run.chains()).max(1);
        let points = (TRACE_BUDGET / numbers_of_traces).clamp(20, TRACE);
        let steps = spread(draws, points);
        let moments = moments(draws);
        let mut parameters = Vec::new();
        for entry in &summary.parameters {
            let column = manifest.columns_in_order().find(|c| c.name == entry.name);
            let fallback = Column::new(&entry.name, Role::Derived);
            let column = column.unwrap_or(&fallback);
            let chains = if column.role == Role::Latent {
                run.latent(&entry.name)?
            } else {
                run.column(&entry.name)?
            };
            let s = &entry.summary;
            let figures = [
                s.mean,
                s.sd,
                s.q5,
                s.median,
                s.q95,
                s.mcse_mean,
                s.ess_bulk,
                s.ess_tail,
                s.rhat,
            ];
            parameters.push(parameter(column, &chains, &figures, &steps, &moments));
        }
        let named = manifest
            .model
            .as_str()
            .or_else(|| manifest.model.get("name")?.as_str());
        let folder = run
            .path()
            .file_name()
            .map(|n| n.to_string_lossy().into_owned());
        let title = named
            .map(str::to_owned)
            .or(folder)
            .unwrap_or_else(|| "run".into());
        Ok(Self {
            title,
            model: about(run),
            chips: chips(&summary),
            verdict: summary.verdict.clone(),
            warnings: summary.warnings.clone(),
            remarks: summary.remarks.clone(),
            checked: checked(&summary),
            parameters,
            steps,
            moments,
            chains: run.chains(),
            cost: costs(&summary),
            tuning: tuning(run),
            trials: trials(run),
            hidden,
            rhat_limit: 1.01,
            ess_wanted: 100.0 * run.chains() as f64,
        })
    }
}

/// About so many numbers below `length`, evenly spread, the last included.
fn spread(length: usize, most: usize) -> Vec<usize> {
    let stride = length.div_ceil(most.max(1)).max(1);
    (0..length).step_by(stride).collect()
}

fn moments(draws: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (1..=MOMENTS)
        .map(|k| draws * k / MOMENTS)
        .filter(|&n| n >= 20)
        .collect();
    all.dedup();
    all
}

fn parameter(
    column: &Column,
    chains: &[Vec<f64>],
    figures: &[f64],
    steps: &[usize],
    moments: &[usize],
) -> Parameter {
    let length = chains.iter().map(Vec::len).min().unwrap_or(0);
    let all: Vec<&[f64]> = chains.iter().map(|c| &c[..length]).collect();
    let until = |n: usize| -> Vec<&[f64]> { all.iter().map(|c| &c[..n.min(length)]).collect() };
    let (grid, densities) = densities(&all, column.lower, column.upper);
    let trace = |chain: &&[f64]| -> Vec<Number> {
        // A thinned latent has fewer draws than there are steps: its own are spread over the same width.
        let pick = |&step: &usize| chain.get(step).copied().unwrap_or(f64::NAN);
        numbers(&steps.iter().map(pick).collect::<Vec<_>>())
    };
    let lags = |chain: &&[f64]| {
        let all = autocorrelation(chain);
        numbers(&all[..all.len().min(LAGS + 1)])
    };
    let along = |f: fn(&[&[f64]]) -> f64| {
        let values: Vec<f64> = moments.iter().map(|&n| f(&until(n))).collect();
        numbers(&values)
    };
    Parameter {
        name: column.name.clone(),
        role: column.role,
        figures: numbers(figures),
        trace: all.iter().map(trace).collect(),
        lags: all.iter().map(lags).collect(),
        grid: numbers(&grid),
        densities: densities.iter().map(|d| numbers(d)).collect(),
        ranks: ranks(&all),
        rhat: along(rhat),
        ess: along(ess_bulk),
    }
}

/// How many of each chain's draws fall into each bin of the ranks of all.
fn ranks(chains: &[&[f64]]) -> Vec<Vec<u32>> {
    let mut all: Vec<(f64, usize)> = Vec::new();
    for (k, chain) in chains.iter().enumerate() {
        all.extend(chain.iter().map(|&x| (x, k)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = vec![vec![0; RANKS]; chains.len()];
    for (rank, (_, chain)) in all.iter().enumerate() {
        counts[*chain][rank * RANKS / all.len()] += 1;
    }
    counts
}

fn about(run: &RunDir) -> Vec<[String; 2]> {
    let manifest = run.manifest();
    let mut rows = Vec::new();
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (key, value) in manifest.model.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(inner) => rows.extend(inner.iter().map(|(k, v)| [k.clone(), text(v)])),
            None => rows.push([key.clone(), text(value)]),
        }
    }
    rows.push(["seed".into(), manifest.seed.to_string()]);
    rows.push(["towline".into(), manifest.towline.clone()]);
    rows
}

fn chips(summary: &RunSummary) -> Vec<Chip> {
    let run = &summary.run;
    let (rhat, ess) = (summary.worst_rhat(), summary.least_ess());
    let mood = |good: bool, known: bool| match (known, good) {
        (false, _) => "",
        (true, true) => "good",
        (true, false) => "poor",
    };
    let mut chips = vec![
        Chip {
            name: "worst R-hat",
            value: if rhat.is_nan() {
                "–".into()
            } else {
                format!("{rhat:.3}")
            },
            mood: mood(rhat <= 1.01, !rhat.is_nan()),
        },
        Chip {
            name: "least ESS",
            value: if ess.is_nan() {
                "–".into()
            } else {
                count(ess.round() as u64)
            },
            mood: mood(ess >= 100.0 * run.chains as f64, !ess.is_nan()),
        },
        plain("chains", run.chains.to_string()),
        plain("draws each", count(run.draws as u64)),
        plain("slow evaluations", count(run.slow_evals)),
        plain(
            "ESS per slow evaluation",
            short(ess / run.slow_evals as f64),
        ),
    ];
    if let Some(seconds) = run.seconds {
        chips.push(plain("time", duration(seconds)));
        if let Some(cpu) = run.cpu_seconds {
            chips.push(plain("processor time", duration(cpu)));
        }
        chips.push(plain("ESS per second", short(ess / seconds)));
    }
    if run.outer_acceptance.is_finite() {
        chips.push(plain(
            "outer acceptance",
            format!("{:.0} %", 100.0 * run.outer_acceptance),
        ));
    }
    if run.inner_acceptance.is_finite() {
        chips.push(plain(
            "inner acceptance",
            format!("{:.0} %", 100.0 * run.inner_acceptance),
        ));
    }
    chips
}

/// What was checked of kernels, learned proposal and frames.
fn checked(summary: &RunSummary) -> Vec<[String; 2]> {
    let trust = &summary.trust;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut rows = Vec::new();
    for kernel in &trust.kernels {
        rows.push([
            format!("moves by the {}", kernel.name),
            format!(
                "{}, of which {} were accepted",
                count(kernel.steps as u64),
                percent(kernel.moved / kernel.steps.max(1.0))
            ),
        ]);
    }
    if let Some(worst) = &trust.disagreement {
        rows.push([
            "draws before and after one kernel's moves".into(),
            format!(
                "differ by at most {:.1} standard errors ({}, {}); below 4.5 they agree",
                worst.z.abs(),
                worst.parameter,
                worst.kernel
            ),
        ]);
    }
    if let Some(uncovered) = trust.uncovered {
        rows.push([
            "draws that the learned proposal covers".into(),
            percent(1.0 - uncovered),
        ]);
    }
    if let Some(index) = trust.pareto_index {
        rows.push([
            "Pareto index of the target's ratio to it".into(),
            format!("{index:.2}; above 0.7 its moves alone would not do"),
        ]);
    }
    if let Some(can_tell) = trust.frames_checked {
        let said = if can_tell {
            "looked for, by moves outside of it"
        } else {
            "cannot be told: too few moves outside of it were accepted"
        };
        rows.push([
            "regions that the moving frame shuts out".into(),
            said.into(),
        ]);
    }
    rows
}

fn plain(name: &'static str, value: String) -> Chip {
    Chip {
        name,
        value,
        mood: "",
    }
}

fn costs(summary: &RunSummary) -> Vec<Cost> {
    let run = &summary.run;
    let part = |name, warmup: f64, total: f64, show: &dyn Fn(f64) -> String| Cost {
        name,
        warmup,
        sampling: (total - warmup).max(0.0),
        text: format!(
            "warm-up {}, sampling {}",
            show(warmup),
            show((total - warmup).max(0.0))
        ),
    };
    let whole = |value: f64| count(value as u64);
    let mut all = vec![
        part(
            "slow evaluations",
            run.warmup_slow_evals as f64,
            run.slow_evals as f64,
            &whole,
        ),
        part(
            "fast evaluations",
            run.warmup_fast_evals as f64,
            run.fast_evals as f64,
            &whole,
        ),
    ];
    if let Some(seconds) = run.seconds {
        all.push(part("seconds", run.warmup_seconds, seconds, &duration));
    }
    all
}

fn tuning(run: &RunDir) -> Vec<[String; 2]> {
    let Some(tuning) = &run.manifest().tuning else {
        return Vec::new();
    };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let setting = |s: &towline::warmup::Setting| format!("{:?} frame, n = {}", s.frame, s.n);
    let mut rows = vec![
        ["main drag".into(), setting(&tuning.main)],
        ["drag that is always mixed in".into(), setting(&tuning.safe)],
        [
            "shares of steps".into(),
            format!(
                "learned proposal {}, random walk {}, mixed in {}",
                percent(tuning.shares[0]),
                percent(tuning.shares[1]),
                percent(tuning.shares[2])
            ),
        ],
        [
            "step of the random walk".into(),
            format!("{} of x's spread", short(tuning.scale)),
        ],
        [
            "fast moves after each slow one".into(),
            match tuning.along {
                0 => tuning.extra.to_string(),
                along => format!("{}, and {along} along single variables", tuning.extra),
            },
        ],
    ];
    let learned = if tuning.surrogate.is_some() {
        "yes"
    } else {
        "no"
    };
    rows.push(["surrogate of the marginal".into(), learned.into()]);
    rows
}

fn trials(run: &RunDir) -> Vec<Trial> {
    let Some(tuning) = &run.manifest().tuning else {
        return Vec::new();
    };
    let one = |t: &towline::warmup::Trial| Trial {
        frame: format!("{:?}", t.frame),
        n: t.n,
        learned: t.learned_proposal,
        worth: Number(t.worth()),
        acceptance: Number(t.acceptance),
        chosen: t.frame == tuning.main.frame && t.n == tuning.main.n,
    };
    tuning.trials.iter().map(one).collect()
}
