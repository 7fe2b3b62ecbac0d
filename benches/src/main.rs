//! What users run, and the inner loop of a drag, beside the same in C; what storing costs; whether memory is flat: `make bench`.
//!
//! The kernels that users run are in `users`. For the inner loop, both sample the paper's test 1 with n = 500, alternating in short turns of which the best counts, so
//! that a busy machine disturbs neither more than the other. Prints a table and writes
//! `target/bench/inner.json`.
//!
//! What is compared with what: C's compiler fuses multiplications and additions unasked, Rust's never
//! does, and fused ones are faster. The same arithmetic is therefore either Towline with the model as
//! one writes it and C told not to fuse, which is the `ratio` of the report, or Towline with a model that
//! asks for it (`mul_add`) and C as fast as it gets, which is reported beside it.

mod c;
mod callgrind;
mod memory;
mod models;
mod ours;
mod report;
mod sleeping;
mod store;
mod users;

use c::{Fusing, Reference};
use models::{Test1, Test1Fused, Test2};
use ours::Ours;
use report::Row;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// Intervals of the drag: one inner move fewer.
const N: usize = 500;
/// Outer steps in one timed turn: half a millisecond, short enough to fall between two interruptions.
const STEPS: u64 = 100;
/// Timed turns of each program before the next one's.
const TURNS: u32 = 40;
/// How often each program gets its turns.
const ROUNDS: u64 = 30;

/// One of the programs that are compared.
trait Program {
    /// What it is called in the report.
    fn name(&self) -> &str;

    /// Takes its turns.
    fn run(&mut self, round: u64) -> Result<Timing, Box<dyn Error>>;

    /// Instructions in an inner step; `None` where they cannot be counted.
    fn instructions(&self) -> Option<f64>;
}

/// What a program measured of itself.
struct Timing {
    /// The best nanoseconds per inner step, with everything else that an outer step does.
    ns: f64,
    outer_rejection: f64,
    inner_rejection: f64,
}

/// Says what went wrong in words; an error returned from `main` would be shown as Rust's debugging text.
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, name, steps] = &arguments[..]
        && flag == callgrind::FLAG
    {
        return count(name, steps.parse()?);
    }

    if let [_, flag, draws, place] = &arguments[..]
        && flag == memory::FLAG
    {
        return memory::child(draws, place);
    }

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    std::fs::create_dir_all(&folder)?;
    match arguments.get(1).map(String::as_str) {
        Some("sleeping") if arguments.get(2).is_some_and(|how| how == "counted") => {
            return sleeping::counted();
        }
        Some("sleeping") => return sleeping::run(),
        Some("store") => return store::run(&folder),
        Some("memory") => return memory::run(&folder),
        Some("users") => {
            return match &arguments[2..] {
                [how] if how == "counted" => users::counted(&folder),
                [how, dim, steps] if how == "count" => users::count(dim, steps),
                _ => users::run(&folder),
            };
        }
        Some(other) => {
            return Err(format!(
                "no benchmark is called {other:?}: users (or, after it, users counted), sleeping (or sleeping counted), store, memory, or none for the inner loop"
            )
            .into());
        }
        None => {}
    }
    users::run(&folder)?;
    let mut programs: Vec<Box<dyn Program>> = vec![
        Box::new(plain()?),
        Box::new(Reference::compile(&folder, Fusing::Off)?),
        Box::new(Reference::compile(&folder, Fusing::On)?),
        Box::new(general()?),
        Box::new(test2()?),
        Box::new(many()?),
    ];
    if cfg!(target_feature = "fma") {
        programs.insert(2, Box::new(fused()?));
    } else {
        println!("No fused arithmetic: built without target-cpu=native, or the machine has none.");
    }

    let mut rows: Vec<Row> = programs.iter().map(|p| Row::new(p.name())).collect();
    for round in 0..ROUNDS {
        for (program, row) in programs.iter_mut().zip(&mut rows) {
            row.add(&program.run(round)?);
        }
    }
    if callgrind::is_there() {
        for (program, row) in programs.iter().zip(&mut rows) {
            row.instructions = program.instructions();
        }
    } else {
        println!("No instruction counts: valgrind is not installed.");
    }
    report::print(&rows);
    report::write(&rows, &folder.join("inner.json"))?;
    store::run(&folder)?;
    memory::run(&folder)
}

const PLAIN: &str = "towline";
const FUSED: &str = "towline, mul_add in the model";
const GENERAL: &str = "towline, path in a vector";
const TEST2: &str = "towline, test 2 (d = 2)";
const MANY: &str = "towline, test 2 with d = 8";

fn plain() -> Result<Ours<Test1>, towline::Error> {
    Ours::new(PLAIN, Test1, 1)
}

fn fused() -> Result<Ours<Test1Fused>, towline::Error> {
    Ours::new(FUSED, Test1Fused, 1)
}

fn general() -> Result<Ours<Test1>, towline::Error> {
    Ours::general(GENERAL, Test1, 1)
}

fn test2() -> Result<Ours<Test2>, towline::Error> {
    Ours::new(TEST2, Test2, 2)
}

fn many() -> Result<Ours<Test2>, towline::Error> {
    Ours::new(MANY, Test2, 8)
}

/// What callgrind runs: so many steps of one of ours, and nothing else.
fn count(name: &str, steps: u64) -> Result<(), Box<dyn Error>> {
    match name {
        PLAIN => plain()?.advance(steps)?,
        FUSED => fused()?.advance(steps)?,
        GENERAL => general()?.advance(steps)?,
        TEST2 => test2()?.advance(steps)?,
        MANY => many()?.advance(steps)?,
        _ => return Err(format!("no program is called {name:?}").into()),
    }
    Ok(())
}
