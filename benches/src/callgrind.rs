//! Instruction counts, which no other program on the machine can disturb.

use crate::N;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Asks this program to run a few steps and nothing else.
pub const FLAG: &str = "--count";

/// The outer steps of a short run and of a long one: the difference is free of what starting costs.
const SHORT: u64 = 100;
const LONG: u64 = 600;

/// Whether there is a valgrind.
pub fn is_there() -> bool {
    let mut version = Command::new("valgrind");
    version.arg("--version").stdout(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Instructions per inner step of the program that `command` makes for a number of outer steps.
pub fn per_inner_step(command: impl Fn(u64) -> (PathBuf, Vec<String>)) -> Option<f64> {
    Some(per_step([SHORT, LONG], command)? / (N as f64 - 1.0))
}

/// Instructions per step, by a short run and a long one.
pub fn per_step(
    [short, long]: [u64; 2],
    command: impl Fn(u64) -> (PathBuf, Vec<String>),
) -> Option<f64> {
    let count = |steps| {
        let (program, arguments) = command(steps);
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(arguments)
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = said.lines().find(|line| line.contains("Collected"))?;
        line.rsplit(' ').next()?.parse::<f64>().ok()
    };
    Some((count(long)? - count(short)?) / (long - short) as f64)
}
