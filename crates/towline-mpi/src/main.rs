//! The command `towline` with its chains on MPI's ranks: `mpirun -n 4 towline-mpi fit model.toml`.

use std::process::ExitCode;

fn main() -> ExitCode {
    towline_mpi::with_ranks(|ranks| towline_cli::main_among(std::env::args_os(), ranks))
}
