//! A model of one's own: parameters with priors, derived quantities, a run directory, resume, a summary.
//!
//! `cargo run --release --example own_model [DIR] [DRAWS]`, and again with more draws to see it continue.

use std::path::Path;
use std::sync::Arc;
use towline::posterior::two_stages;
use towline::run::{Run, Settings};
use towline::store::RunDir;
use towline::{Model, Parameter, Posterior, RunSummary};

/// A vibrating beam was struck, and its swing measured at 80 times.
fn measurements() -> Vec<(f64, f64)> {
    let noise = |k: f64| 0.1 * ((k * 12.9898).sin() * 43758.5453).fract();
    let swing = |t: f64| 1.4 * (-0.15 * t).exp() * (2.3 * t + 3.0).cos();
    (0..80)
        .map(f64::from)
        .map(|k| (0.1 * k, swing(0.1 * k) + noise(k)))
        .collect()
}

fn model() -> Result<impl Model + Send + Sync, towline::Error> {
    let parameters = vec![
        Parameter::slow("frequency", "log_normal(0.7, 0.3)".parse()?).labelled(r"\omega"),
        Parameter::slow("damping", "half_normal(0.5)".parse()?).labelled(r"\gamma"),
        Parameter::fast("amplitude", "half_normal(3)".parse()?),
        Parameter::fast("phase", "uniform_periodic(-pi, pi)".parse()?).labelled(r"\varphi"),
        Parameter::fast("noise", "pc_sd(1, 0.05)".parse()?).labelled(r"\sigma"),
    ];
    let data = measurements();
    let times: Vec<f64> = data.iter().map(|d| d.0).collect();
    // The slow stage: here two waves at every time, in earnest a solver that takes seconds.
    let waves = move |slow: &[f64]| {
        let wave = |&t: &f64| {
            let fades = (-slow[1] * t).exp();
            (fades * (slow[0] * t).cos(), fades * (slow[0] * t).sin())
        };
        Ok(Some(times.iter().map(wave).collect::<Vec<_>>()))
    };
    // The fast stage: those waves, with an amplitude, a phase and noise.
    let log_likelihood = move |waves: &Vec<(f64, f64)>, fast: &[f64]| {
        let (sin, cos) = fast[1].sin_cos();
        let misfit = |(&(c, s), &(_, seen)): (&(f64, f64), &(f64, f64))| {
            ((seen - fast[0] * (c * cos - s * sin)) / fast[2]).powi(2)
        };
        -0.5 * waves.iter().zip(&data).map(misfit).sum::<f64>() - data.len() as f64 * fast[2].ln()
    };
    Posterior::new(parameters, two_stages(waves, log_likelihood))?.deriving(
        &["period", "quality"],
        |_, slow, _, out| {
            out[0] = std::f64::consts::TAU / slow[0];
            out[1] = slow[0] / (2.0 * slow[1]);
        },
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(arguments.first().map_or("beam", String::as_str));
    let draws = arguments.get(1).map_or(Ok(1000), |text| text.parse())?;
    let run = if folder.join("manifest.json").exists() {
        Run::open(folder, Arc::new(model()?))?.draws(draws)? // continues, to the same bits
    } else {
        let settings = Settings {
            draws,
            ..Settings::default()
        };
        Run::create(folder, Arc::new(model()?), "a struck beam".into(), settings)?
    };
    run.go(Arc::default(), &mut |_| ())?; // set the flag from elsewhere to stop
    let summary = RunSummary::of(&RunDir::open(folder)?, None)?;
    for p in &summary.parameters {
        let s = &p.summary;
        println!(
            "{:<10} {:8.4} ± {:.4}   R-hat {:.3}",
            p.name, s.mean, s.sd, s.rhat
        );
    }
    println!("{}", summary.warnings.join("\n"));
    println!("to look at it: towline report {}", folder.display());
    Ok(())
}
