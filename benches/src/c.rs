//! C's side: `inner.c`, compiled with the flags that make it fastest and run as a program of its own.

use crate::{Program, STEPS, TURNS, Timing, callgrind};
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of those tried (see `inner.c`) the fastest; with -O3, gcc makes a jump of the choice between states.
const FLAGS: [&str; 4] = [
    "-O2",
    "-march=native",
    "-fno-math-errno",
    "-fno-tree-slp-vectorize",
];

/// Whether C's compiler may fuse a multiplication and an addition.
#[derive(Clone, Copy)]
pub enum Fusing {
    On,
    Off,
}

/// The compiled program.
pub struct Reference {
    name: &'static str,
    program: PathBuf,
}

impl Reference {
    pub fn compile(folder: &Path, fusing: Fusing) -> Result<Self, Box<dyn Error>> {
        let (name, file, flag) = match fusing {
            Fusing::On => (FUSED, "inner-fused", "-ffp-contract=fast"),
            Fusing::Off => (PLAIN, "inner-plain", "-ffp-contract=off"),
        };
        let program = compile(folder, "inner.c", file, flag)?;
        Ok(Self { name, program })
    }
}

/// Compiles a program in C, with one flag more.
pub fn compile(
    folder: &Path,
    source: &str,
    file: &str,
    flag: &str,
) -> Result<PathBuf, Box<dyn Error>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let program = folder.join(file);
    let status = Command::new(&compiler)
        .args(FLAGS)
        .arg(flag)
        .args([&source, Path::new("-o"), &program, Path::new("-lm")])
        .status()
        .map_err(|e| format!("cannot run the C compiler {compiler:?}: {e}"))?;
    if !status.success() {
        return Err(format!("{compiler} could not compile {}", source.display()).into());
    }
    Ok(program)
}

pub const PLAIN: &str = "C, nothing fused";
pub const FUSED: &str = "C, fused: the fastest";

impl Program for Reference {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&mut self, round: u64) -> Result<Timing, Box<dyn Error>> {
        let numbers = [STEPS, u64::from(TURNS), round + 1].map(|n| n.to_string());
        let output = Command::new(&self.program).args(numbers).output()?;
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let number = |key: &str| {
            let value = answer[key].as_f64();
            value.ok_or_else(|| format!("no {key} in what the C program printed: {answer}"))
        };
        Ok(Timing {
            ns: number("ns_per_inner_step")?,
            outer_rejection: number("outer_rejection")?,
            inner_rejection: number("inner_rejection")?,
        })
    }

    fn instructions(&self) -> Option<f64> {
        callgrind::per_inner_step(|steps| {
            let arguments = [steps, 1].map(|n| n.to_string()).to_vec();
            (self.program.clone(), arguments)
        })
    }
}
