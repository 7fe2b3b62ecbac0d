//! `make gallery`: every target, eight seeds each, into target/gallery.json; names as arguments for some of them, `--seeds=N`,
//! `--json=FILE` for what is said of those. What is said of each target is kept in target/gallery as soon as it is known:
//! `--continue` takes from there what an interrupted gallery, of the same engine, has already judged.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use towline::Rng;
use towline_gallery::{Known, Verdict, run, targets};

/// Draws of each of the four chains.
const DRAWS: u64 = 2000;
/// Dots in a target's picture.
const DOTS: usize = 600;
/// Seeds of each target.
const SEEDS: u64 = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seeds, mut names, mut json, mut continued) = (SEEDS, Vec::new(), None, false);
    for argument in std::env::args().skip(1) {
        if let Some(count) = argument.strip_prefix("--seeds=") {
            seeds = count.parse()?;
        } else if let Some(path) = argument.strip_prefix("--json=") {
            json = Some(path.to_owned());
        } else if argument == "--continue" {
            continued = true;
        } else {
            names.push(argument);
        }
    }
    let chosen: Vec<Known> = targets::all()
        .into_iter()
        .filter(|target| names.is_empty() || names.contains(&target.name))
        .collect();
    // A map of serde_json's keeps its names sorted: pictures stand in the page as the alphabet has them.
    let pictures: serde_json::Map<String, serde_json::Value> = chosen
        .iter()
        .map(|target| (target.name.clone(), serde_json::json!(picture(target))))
        .collect();
    let kept = Kept::new(continued)?;
    // Several targets side by side: a run's own threads wait for each other most of the time, and nothing here is timed.
    let count = chosen.len();
    let queue = Mutex::new(chosen.into_iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(count));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics").next();
                    let Some((place, target)) = next else { break };
                    let begun = std::time::Instant::now();
                    let verdict = match kept.verdict(&target.name, seeds) {
                        Some(verdict) => Ok(verdict),
                        None => run(target, 1..seeds + 1, DRAWS),
                    };
                    if let Ok(verdict) = &verdict {
                        tell(verdict, begun.elapsed().as_secs_f64());
                        kept.keep(verdict);
                    }
                    let mut done = done.lock().expect("no worker panics");
                    done.push((place, verdict));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(place, _)| *place);
    let verdicts = done
        .into_iter()
        .map(|(_, verdict)| verdict)
        .collect::<Result<Vec<Verdict>, _>>()?;
    let all = serde_json::to_string_pretty(&serde_json::json!({ "targets": verdicts }))?;
    if let Some(path) = json {
        std::fs::write(path, &all)?;
    }
    if names.is_empty() {
        let path = target_folder().join("gallery.json");
        std::fs::write(&path, all)?;
        std::fs::write(
            path.with_file_name("gallery-draws.json"),
            serde_json::to_string(&pictures)?,
        )?;
    }
    Ok(())
}

fn target_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")
}

/// What is known of targets already, a file each: the whole takes longer than most people wait.
struct Kept {
    folder: PathBuf,
    continued: bool,
}

impl Kept {
    fn new(continued: bool) -> std::io::Result<Self> {
        let folder = target_folder().join("gallery");
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder, continued })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// What was said before, from as many seeds, where a gallery is continued.
    fn verdict(&self, name: &str, seeds: u64) -> Option<Verdict> {
        if !self.continued {
            return None;
        }
        let text = std::fs::read_to_string(self.path(name)).ok()?;
        let verdict: Verdict = serde_json::from_str(&text).ok()?;
        (verdict.seeds as u64 == seeds).then_some(verdict)
    }

    fn keep(&self, verdict: &Verdict) {
        let path = self.path(&verdict.name);
        let text = serde_json::to_string_pretty(verdict).expect("numbers and words");
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("{}: {error}", path.display());
        }
    }
}

/// A line for a target, and what its first warned run said.
fn tell(verdict: &Verdict, seconds: f64) {
    let word = match (verdict.right, verdict.announced) {
        (true, _) => "right",
        (false, true) => "told ",
        (false, false) => "WRONG",
    };
    let mut lines = format!(
        "{word} {:14} {:>3}+{:<4} z {:5.1} ({}), slow/eff {:.2} ({:.2} with warm-up of {:.0}), {:.0} fast/slow, warned {}{}, {seconds:.0} s  {:?}",
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
        verdict
            .silent_z
            .filter(|_| verdict.warned > 0)
            .map_or(String::new(), |z| format!(" (others z {z:.1})")),
        verdict.chosen,
    );
    for warning in &verdict.warnings {
        lines.push_str("\n      ");
        lines.push_str(warning);
    }
    println!("{lines}");
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
