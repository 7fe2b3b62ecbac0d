//! What users run: warmed-up kernels on the report's tests and on ten fast variables, beside the same kernel in plain C.
//!
//! Warm-up chooses the settings; the drags and fast-only moves that it chose are then timed here and in `users.c`, with x
//! proposed by a random walk in both (and frames with learned widths in place of widths at each mode), so that both do the same arithmetic. The model's own time is measured in each language
//! and taken off. The whole kernel, learned proposals included, is timed too: engine time per slow step. Writes
//! `target/bench/users.json`.

use crate::models::{Test1, Test2};
use crate::{c, callgrind};
use serde_json::{Value, json};
use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use towline::warmup::{FrameKind, Warm};
use towline::{Chain, Cost, Rng, Target, Tuning, Warmup};

/// Steps in one timed turn, and turns of each program before the other's.
const STEPS: usize = 1000;
const TURNS: usize = 20;
/// How often each program gets its turns.
const ROUNDS: u64 = 8;
/// The steps of a short run and of a long one whose instructions are counted.
const COUNTED: [u64; 2] = [1000, 11_000];
/// Evaluations with which a model's own time is measured.
const OWN: usize = 20_000;

/// What a program measured of itself, the best of all its turns.
#[derive(Debug, Clone, Copy)]
struct Timing {
    ns_per_step: f64,
    fast_per_step: f64,
    slow_per_step: f64,
    model_ns_fast: f64,
    model_ns_slow: f64,
    accepted: f64,
}

impl Timing {
    /// Without the model's own time.
    fn engine_ns(&self) -> f64 {
        let model =
            self.fast_per_step * self.model_ns_fast + self.slow_per_step * self.model_ns_slow;
        self.ns_per_step - model
    }

    fn per_fast(&self) -> f64 {
        self.engine_ns() / self.fast_per_step
    }

    fn better(self, other: Self) -> Self {
        Self {
            ns_per_step: self.ns_per_step.min(other.ns_per_step),
            model_ns_fast: self.model_ns_fast.min(other.model_ns_fast),
            model_ns_slow: self.model_ns_slow.min(other.model_ns_slow),
            ..other
        }
    }
}

/// Instructions per step, ours and C's, the model's included: what no other program on the machine can disturb.
pub fn counted(folder: &Path) -> Result<(), Box<dyn Error>> {
    let program = c::compile(folder, "users.c", "users", "-ffp-contract=off")?;
    let myself = std::env::current_exe()?;
    for dim in [1, 2, 10] {
        let ours = callgrind::per_step(COUNTED, |steps| {
            let arguments = ["users", "count", &dim.to_string(), &steps.to_string()];
            (myself.clone(), arguments.map(String::from).to_vec())
        });
        let settings = settings(folder, dim);
        // It takes as many steps before it begins to measure.
        let plain = callgrind::per_step(COUNTED, |steps| {
            let steps = (steps / 2).to_string();
            let arguments = [&settings.display().to_string(), &steps, "1", "1"];
            (program.clone(), arguments.map(String::from).to_vec())
        });
        let (Some(ours), Some(plain)) = (ours, plain) else {
            return Err("no instructions were counted: is valgrind installed?".into());
        };
        println!(
            "{dim} fast: {ours:.0} instructions a step, C {plain:.0}: {:.2}",
            ours / plain
        );
    }
    Ok(())
}

/// Where the settings for so many fast variables are written.
fn settings(folder: &Path, dim: usize) -> PathBuf {
    folder.join(format!("users-{dim}.settings"))
}

pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let program = c::compile(folder, "users.c", "users", "-ffp-contract=off")?;
    let cases = [
        case("neal1", &Test1, 1, &program, folder)?,
        case("neal2", &Test2, 2, &program, folder)?,
        case("ten fast variables", &Test2, 10, &program, folder)?,
    ];
    let path = folder.join("users.json");
    std::fs::write(
        &path,
        serde_json::to_string_pretty(&json!({ "cases": cases }))?,
    )?;
    println!("Wrote {}", path.display());
    Ok(())
}

/// One case, as it stands in the report.
fn case<T: Target>(
    name: &str,
    target: &T,
    dim: usize,
    program: &Path,
    folder: &Path,
) -> Result<Value, Box<dyn Error>> {
    let (warm, rng) = warmed_up(target, dim)?;
    let drags = in_both(&warm.tuning);
    let settings = settings(folder, dim);
    std::fs::write(&settings, for_c(&drags, dim)?)?;

    let start = (&warm.x[..], &warm.y[..]);
    let mut ours = Chain::new(target, drags.kernel()?, start.0, start.1, rng.clone())?;
    let mut whole = Chain::new(target, warm.tuning.kernel()?, start.0, start.1, rng)?;
    let (mut engine, mut plain, mut all) = (None, None, None);
    for round in 0..ROUNDS {
        best(&mut engine, turns(&mut ours)?);
        best(&mut plain, run_c(program, &settings, round + 1)?);
        best(&mut all, turns(&mut whole)?);
    }
    let (Some(engine), Some(plain), Some(all)) = (engine, plain, all) else {
        return Err("no rounds".into());
    };
    // The same kernel spends the same and is accepted as often, but for chance.
    let apart = (engine.fast_per_step / plain.fast_per_step - 1.0).abs();
    if apart > 0.03 || (engine.accepted - plain.accepted).abs() > 0.02 {
        return Err(format!("{name}: not the same kernel: {engine:?} {plain:?}").into());
    }
    let ratio = engine.per_fast() / plain.per_fast();
    println!(
        "{name}: {:.1} fast evaluations a step; engine {:.1} ns per fast evaluation, C {:.1}: {ratio:.2}; a draw {:.2} µs, of which the engine {:.2} µs per slow step",
        all.fast_per_step,
        engine.per_fast(),
        plain.per_fast(),
        all.ns_per_step / 1000.0,
        all.engine_ns() / all.slow_per_step / 1000.0,
    );
    Ok(json!({
        "name": name,
        "engine_ns_per_fast": engine.per_fast(),
        "c_ns_per_fast": plain.per_fast(),
        "engine_us_per_slow": all.engine_ns() / all.slow_per_step / 1000.0,
        "ratio": ratio,
        "n": drags.main.n,
        "fast_per_step": engine.fast_per_step,
        "us_per_draw": all.ns_per_step / 1000.0,
        "model_ns_per_fast": engine.model_ns_fast,
        "c_model_ns_per_fast": plain.model_ns_fast,
    }))
}

fn warmed_up<T: Target>(target: &T, dim: usize) -> Result<(Warm, Rng), Box<dyn Error>> {
    let mut rng = Rng::stream(1, 0);
    let warmup = Warmup {
        cost: Cost::Ratio(1000.0),
        ..Warmup::default()
    };
    let warm = warmup.run(target, &[0.5], &vec![0.0; dim], &mut rng)?;
    Ok((warm, rng))
}

/// What warm-up chose, without learned proposals and widths that are found anew at each mode, which C has not: there only the mode is searched for.
fn in_both(tuning: &Tuning) -> Tuning {
    let mut drags = tuning.clone();
    if drags.main.frame == FrameKind::Axes {
        drags.main.frame = FrameKind::Mode;
    }
    drags.surrogate = None;
    drags.shares = [0.0, drags.shares[0] + drags.shares[1], drags.shares[2]];
    drags
}

/// What callgrind runs: so many steps of what C does too, after a warm-up.
pub fn count(dim: &str, steps: &str) -> Result<(), Box<dyn Error>> {
    let (dim, steps) = (dim.parse()?, steps.parse()?);
    if dim == 1 {
        advance(&Test1, dim, steps)
    } else {
        advance(&Test2, dim, steps)
    }
}

fn advance<T: Target>(target: &T, dim: usize, steps: u64) -> Result<(), Box<dyn Error>> {
    let (warm, rng) = warmed_up(target, dim)?;
    let kernel = in_both(&warm.tuning).kernel()?;
    let mut chain = Chain::new(target, kernel, &warm.x, &warm.y, rng)?;
    for _ in 0..steps {
        chain.advance()?;
    }
    Ok(())
}

fn best(so_far: &mut Option<Timing>, new: Timing) {
    *so_far = Some(so_far.map_or(new, |old| old.better(new)));
}

/// Times a chain, and its model.
fn turns<T: Target>(chain: &mut Chain<&T>) -> Result<Timing, Box<dyn Error>> {
    let before = chain.totals();
    let mut least = f64::INFINITY;
    for _ in 0..TURNS {
        let begun = Instant::now();
        for _ in 0..STEPS {
            chain.advance()?;
        }
        least = least.min(begun.elapsed().as_nanos() as f64 / STEPS as f64);
    }
    let after = chain.totals();
    let steps = (TURNS * STEPS) as f64;
    let mut timing = Timing {
        ns_per_step: least,
        fast_per_step: (after.fast_evaluations - before.fast_evaluations) as f64 / steps,
        slow_per_step: (after.slow_evaluations - before.slow_evaluations) as f64 / steps,
        model_ns_fast: f64::INFINITY,
        model_ns_slow: f64::INFINITY,
        accepted: (after.outer_accepted - before.outer_accepted) as f64 / steps,
    };
    let (target, mut y) = (*chain.target(), chain.y().to_vec());
    for _ in 0..TURNS {
        let begun = Instant::now();
        for k in 0..OWN {
            y[0] = 1e-4 * k as f64;
            black_box(target.log_density(chain.cache(), black_box(&y)));
        }
        let fast = begun.elapsed().as_nanos() as f64 / OWN as f64;
        timing.model_ns_fast = timing.model_ns_fast.min(fast);
        let begun = Instant::now();
        for k in 0..OWN {
            let _ = black_box(target.prepare(black_box(&[1e-4 * k as f64])));
        }
        let slow = begun.elapsed().as_nanos() as f64 / OWN as f64;
        timing.model_ns_slow = timing.model_ns_slow.min(slow);
    }
    Ok(timing)
}

fn run_c(program: &Path, settings: &Path, seed: u64) -> Result<Timing, Box<dyn Error>> {
    let numbers = [STEPS as u64, TURNS as u64, seed].map(|n| n.to_string());
    let output = Command::new(program).arg(settings).args(numbers).output()?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| {
        answer[key]
            .as_f64()
            .ok_or_else(|| format!("no {key} in {answer}"))
    };
    if number("lost")? > 0.0 {
        return Err(format!("the C program lost searches: {answer}").into());
    }
    Ok(Timing {
        ns_per_step: number("ns_per_step")?,
        fast_per_step: number("fast_per_step")?,
        slow_per_step: number("slow_per_step")?,
        model_ns_fast: number("model_ns_fast")?,
        model_ns_slow: number("model_ns_slow")?,
        accepted: number("accepted")?,
    })
}

/// The settings as the C program reads them.
fn for_c(tuning: &Tuning, dim: usize) -> Result<String, Box<dyn Error>> {
    let tuning: Value = serde_json::to_value(tuning)?;
    let frame = match (
        tuning["main"]["frame"].as_str(),
        tuning["safe"]["frame"].as_str(),
    ) {
        (Some("Laplace"), Some("Linear")) => 1,
        (Some("Mode"), Some("Linear")) => 2,
        _ => return Err(format!("no C for these frames: {}", tuning["main"]).into()),
    };
    let mut text = String::new();
    let [_, walk, safe] = [0, 1, 2].map(|k| tuning["shares"][k].as_f64().unwrap_or(0.0));
    let step = tuning["scale"].as_f64().unwrap_or(0.0) * triangle(&tuning["slow"], 1)?[0];
    writeln!(
        text,
        "{dim} {frame} {} {} {} {} {step}",
        tuning["main"]["n"],
        tuning["safe"]["n"],
        tuning["extra"],
        safe / (walk + safe)
    )?;
    let alone = match &tuning["alone"] {
        Value::Null => &tuning["main"]["inner"],
        alone => alone,
    };
    for inner in [&tuning["main"]["inner"], &tuning["safe"]["inner"], alone] {
        mixture(inner, &mut text)?;
    }
    let linear = &tuning["linear"];
    let anchors = &tuning["anchors"];
    for list in [&linear["x"], &linear["centre"], &linear["slope"]] {
        numbers(&list_of(list)?, &mut text)?;
    }
    numbers(&triangle(&linear["root"], dim)?, &mut text)?;
    let narrow = match &anchors["root"] {
        Value::Null => &linear["root"],
        root => root,
    };
    numbers(&triangle(narrow, dim)?, &mut text)?;
    let points = anchors["points"].as_array().cloned().unwrap_or_default();
    let metric = match &anchors["metric"] {
        Value::Null => 1.0,
        metric => triangle(metric, 1)?[0],
    };
    writeln!(text, "{metric} {}", points.len())?;
    for point in &points {
        numbers(&list_of(&point["w"])?, &mut text)?;
        numbers(&list_of(&point["offset"])?, &mut text)?;
    }
    Ok(text)
}

fn list_of(value: &Value) -> Result<Vec<f64>, Box<dyn Error>> {
    let list = value.as_array().ok_or("a list was expected")?;
    Ok(list.iter().filter_map(Value::as_f64).collect())
}

fn numbers(list: &[f64], text: &mut String) -> Result<(), Box<dyn Error>> {
    for value in list {
        write!(text, "{value:e} ")?;
    }
    writeln!(text)?;
    Ok(())
}

/// The rows of a lower triangle, whichever form the factor has.
fn triangle(factor: &Value, dim: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    if let Some(lower) = factor.get("Lower") {
        return list_of(&lower["rows"]);
    }
    let sds = list_of(&factor["Diagonal"])?;
    Ok((0..dim)
        .flat_map(|i| {
            let sd = sds[i];
            (0..=i).map(move |j| if i == j { sd } else { 0.0 })
        })
        .collect())
}

/// The parts of a mixture: weight, kind and size of each.
fn mixture(inner: &Value, text: &mut String) -> Result<(), Box<dyn Error>> {
    let one = json!([[1.0, inner]]);
    let parts = inner.get("Mixture").unwrap_or(&one);
    let parts = parts.as_array().ok_or("a mixture is a list")?;
    writeln!(text, "{}", parts.len())?;
    for part in parts {
        let (weight, part) = (&part[0], &part[1]);
        let (kind, size) = if let Some(walk) = part.get("CrankNicolson") {
            (0, walk["beta"].as_f64())
        } else if let Some(walk) = part.get("RandomWalk") {
            (1, triangle(&walk["factor"], 1)?.first().copied())
        } else if let Some(slice) = part.get("Slice") {
            (2, slice["widths"][0].as_f64())
        } else if part.get("EllipticalSlice").is_some() || part == "EllipticalSlice" {
            (3, Some(0.0))
        } else {
            return Err(format!("no C for this move: {part}").into());
        };
        writeln!(
            text,
            "{weight} {kind} {}",
            size.ok_or("a move without a size")?
        )?;
    }
    Ok(())
}
