//! Whether memory is flat: `towline-bench memory`. 1000 latents, 4 chains, 2,000 and 20,000 draws.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use towline::frame::Linear;
use towline::run::{Run, Settings};
use towline::warmup::{FrameKind, Prices, Setting};
use towline::{Column, Cost, Factor, FastMove, Model, ModelError, Rng, Role, Target, Tuning};

const LATENTS: usize = 1000;
const CHAINS: usize = 4;

/// A scale x and a thousand latents with that scale, each seen with noise.
struct Many;

impl Target for Many {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        Ok(Some([x[0], 0.5 * (-2.0 * x[0]).exp()]))
    }

    fn log_density(&self, &[x, precision]: &[f64; 2], y: &[f64]) -> f64 {
        let squares: f64 = y.iter().map(|v| v * v).sum();
        -0.5 * x * x - precision * squares - LATENTS as f64 * x
    }
}

impl Model for Many {
    fn columns(&self) -> Vec<Column> {
        let latents = (0..LATENTS).map(|k| Column::new(format!("f{k}"), Role::Latent));
        std::iter::once(Column::new("log_scale", Role::Slow))
            .chain(latents)
            .collect()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row[0] = x[0];
        row[1..].copy_from_slice(y);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![0.0], (0..LATENTS).map(|_| rng.normal()).collect()))
    }
}

/// The flag with which this program runs itself, so that each run has a peak of its own.
pub const FLAG: &str = "memory-run";

/// Two runs, and their peaks.
pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    for draws in [2_000, 20_000] {
        let place = folder.join("memory-run");
        let output = Command::new(std::env::current_exe()?)
            .args([FLAG, &draws.to_string()])
            .arg(&place)
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let size: u64 = std::fs::read_dir(&place)?
            .filter_map(|entry| entry.ok()?.metadata().ok())
            .map(|data| data.len())
            .sum();
        println!(
            "memory: {LATENTS} latents, {CHAINS} chains, {draws} draws: {} at most, {} MB on disk",
            said.trim(),
            size / 1_000_000
        );
        std::fs::remove_dir_all(&place)?;
    }
    Ok(())
}

/// One run; prints its peak.
pub fn child(draws: &str, place: &str) -> Result<(), Box<dyn Error>> {
    let settings = Settings {
        chains: CHAINS,
        draws: draws.parse()?,
        cost: Cost::Ratio(100.0),
        tuning: Some(tuning()?),
        latent_every: 10,
        ..Settings::default()
    };
    Run::create(
        Path::new(place),
        Arc::new(Many),
        "a thousand latents".into(),
        settings,
    )?
    .go(Arc::default(), &mut |_| ())?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or("unknown").trim());
    Ok(())
}

fn tuning() -> Result<Tuning, towline::Error> {
    let setting = Setting {
        frame: FrameKind::Linear,
        n: 5,
        inner: FastMove::CrankNicolson(towline::fast::CrankNicolson::new(0.2)),
    };
    let ones = vec![1.0; LATENTS];
    let root = Factor::diagonal(&ones, "the frame")?;
    Ok(Tuning {
        anchors: Default::default(),
        centre: vec![0.0],
        slow: Factor::diagonal(&[0.02], "the slow steps")?,
        scale: 1.0,
        linear: Linear::new(vec![0.0], vec![0.0; LATENTS], vec![0.0; LATENTS], root)?,
        main: setting.clone(),
        safe: setting,
        shares: [0.0, 1.0, 0.0],
        surrogate: None,
        extra: 1,
        alone: None,
        prices: Prices {
            slow: 1000.0,
            nested: None,
            measured: None,
        },
        trials: Vec::new(),
        notes: Vec::new(),
        remarks: Vec::new(),
        along: 0,
    })
}
