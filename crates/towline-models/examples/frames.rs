//! What frames for skewed conditionals are worth: the same model with frames at the mean and at the mode, alternating.
//!
//! `cargo run --release -p towline-models --example frames -- MODEL.toml DRAWS ROUNDS`. Every round runs both with its own seed, two
//! chains on one thread each; printed are the effective draws of the worst parameter, CPU seconds (warm-up included), slow
//! evaluations, the share of accepted slow moves, and the autocorrelation time of the worst scale.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use towline::diagnose::pooled_autocorrelation_time;
use towline::report::RunSummary;
use towline::run::{Run, Settings};
use towline::store::RunDir;
use towline_models::{LatentGaussian, ModelFile, Resolved};

type Any<T> = Result<T, Box<dyn std::error::Error>>;

/// One run's row.
fn measure(model: LatentGaussian, draws: u64, seed: u64, folder: &Path) -> Any<String> {
    let slow: Vec<String> = model.slow_names().map(str::to_string).collect();
    let settings = Settings {
        chains: 2,
        draws,
        seed,
        threads: Some(1),
        latent_every: 10,
        ..Settings::default()
    };
    let run = Run::create(folder, Arc::new(model), "frames".into(), settings)?;
    run.go(Default::default(), &mut |_| ())?;
    let kept = RunDir::open(folder)?;
    let said = RunSummary::of(&kept, None)?;
    let mut time: f64 = 0.0;
    for name in &slow {
        let chains = kept.column(name)?;
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        time = time.max(pooled_autocorrelation_time(&chains, None).value);
    }
    let (cost, cpu) = (&said.run, said.run.cpu_seconds.unwrap_or(f64::NAN));
    let row = format!(
        "{:8.2} {:6.0} {cpu:7.2} {:7.2} {:7} {:7} {:10.3} {time:6.1} {:6.3}",
        said.least_ess() / cpu,
        said.least_ess(),
        cost.warmup_seconds,
        cost.slow_evals,
        cost.warmup_slow_evals,
        cost.outer_acceptance,
        said.worst_rhat(),
    );
    fs::remove_dir_all(folder)?;
    Ok(row)
}

fn main() -> Any<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, draws, rounds] = &arguments[..] else {
        return Err("usage: frames MODEL.toml DRAWS ROUNDS".into());
    };
    let resolved = Resolved::read(&ModelFile::read(Path::new(path))?)?;
    let (draws, rounds): (u64, u64) = (draws.parse()?, rounds.parse()?);
    let folder = std::env::temp_dir().join(format!("frames-{}", std::process::id()));
    let model = resolved.parts.clone().build()?;
    let (missing, tried) = (model.missing(), model.trial());
    println!(
        "{path}: frames at the mode miss {missing:.2?}; moves tried in frames at the mean and at the mode were accepted {tried:.2?}; per CPU second, least ESS, CPU seconds, longest warm-up, slow evaluations, those of warm-up, accepted, time of scales, R-hat"
    );
    for seed in 1..=rounds {
        for (name, mean) in [("mean", true), ("mode", false)] {
            let model = resolved.parts.clone().build()?.corrected(mean);
            let row = measure(model, draws, seed, &folder)?;
            println!("{seed:4} {name:5} {row}");
        }
    }
    Ok(())
}
