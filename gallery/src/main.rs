//! `make gallery`: every target, eight seeds each, into target/gallery.json; names as arguments for some of them, `--seeds=N`,
//! `--json=FILE` for what is said of those.

use std::error::Error;
use std::path::Path;
use towline::Rng;
use towline_gallery::{Known, run, targets};

/// Draws of each of the four chains.
const DRAWS: u64 = 2000;
/// Dots in a target's picture.
const DOTS: usize = 600;
/// Seeds of each target.
const SEEDS: u64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seeds, mut names, mut json) = (SEEDS, Vec::new(), None);
    for argument in std::env::args().skip(1) {
        if let Some(count) = argument.strip_prefix("--seeds=") {
            seeds = count.parse()?;
        } else if let Some(path) = argument.strip_prefix("--json=") {
            json = Some(path.to_owned());
        } else {
            names.push(argument);
        }
    }
    let mut verdicts = Vec::new();
    let mut pictures = serde_json::Map::new();
    for target in targets::all() {
        if !names.is_empty() && !names.contains(&target.name) {
            continue;
        }
        let begun = std::time::Instant::now();
        pictures.insert(target.name.clone(), serde_json::json!(picture(&target)));
        let verdict = run(target, 1..seeds + 1, DRAWS)?;
        println!(
            "{} {:14} {:>3}+{:<4} z {:5.1} ({}), slow/eff {:.2} ({:.2} with warm-up of {:.0}), {:.0} fast/slow, warned {}, {:.0} s  {:?}",
            if verdict.right {
                "right"
            } else if verdict.announced {
                "told "
            } else {
                "WRONG"
            },
            verdict.name,
            verdict.slow,
            verdict.fast,
            verdict.worst_z,
            verdict.worst,
            verdict.slow_per_effective,
            verdict.slow_per_effective_with_warmup,
            verdict.warmup_slow,
            verdict.fast_per_slow,
            verdict.warned,
            begun.elapsed().as_secs_f64(),
            verdict.chosen,
        );
        for warning in &verdict.warnings {
            println!("      {warning}");
        }
        verdicts.push(verdict);
    }
    let all = serde_json::to_string_pretty(&serde_json::json!({ "targets": verdicts }))?;
    if let Some(path) = json {
        std::fs::write(path, &all)?;
    }
    if names.is_empty() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/gallery.json");
        std::fs::write(&path, all)?;
        std::fs::write(
            path.with_file_name("gallery-draws.json"),
            serde_json::to_string(&pictures)?,
        )?;
    }
    Ok(())
}

/// Independent draws of the first two variables, for a picture of the target.
fn picture(target: &Known) -> Vec<[f64; 2]> {
    let mut rng = Rng::stream(7, 0);
    (0..DOTS)
        .map(|_| {
            let (x, y) = target.draw(&mut rng);
            let mut all = target.shown(x).into_iter().chain(y);
            let first = all.next().unwrap_or(0.0);
            [first, all.next().unwrap_or(0.0)]
        })
        .collect()
}
