//! The command `towline`.

use std::process::ExitCode;

fn main() -> ExitCode {
    towline_cli::main(std::env::args_os())
}
