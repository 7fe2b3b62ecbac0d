//! A model of one's own on MPI's ranks, which breaks on one of them: `mpirun -n 4 broken DIR err|panic|main EVALUATIONS RANK`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use towline::run::{Run, Settings};
use towline::{Column, Cost, Model, ModelError, Rng, Role, Target};

/// The paper's first example, until it has been evaluated too often.
struct Broken {
    how: String,
    evaluations: AtomicU64,
    most: u64,
}

impl Target for Broken {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
        if self.evaluations.fetch_add(1, Ordering::Relaxed) > self.most {
            assert!(self.how != "panic", "the solver broke down");
            return Err("the table ends here".into());
        }
        Ok(Some((x[0], x[0].sin())))
    }

    fn log_density(&self, &(x, sin_x): &(f64, f64), y: &[f64]) -> f64 {
        -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - sin_x).powi(2)
    }
}

impl Model for Broken {
    fn columns(&self) -> Vec<Column> {
        vec![Column::new("x", Role::Slow), Column::new("y", Role::Fast)]
    }

    fn report(&self, x: &[f64], y: &[f64], _: &(f64, f64), row: &mut [f64]) {
        row.copy_from_slice(&[x[0], y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![rng.normal()], vec![rng.normal()]))
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, how, most, rank] = &arguments[..] else {
        eprintln!("usage: broken DIR err|panic|main EVALUATIONS RANK");
        return ExitCode::FAILURE;
    };
    towline_mpi::main(|ranks| {
        let here = *rank == ranks.rank().to_string();
        assert!(!(here && how == "main"), "this rank broke down");
        let model = Arc::new(Broken {
            how: how.clone(),
            evaluations: AtomicU64::new(0),
            most: match here {
                true => most.parse().unwrap_or(0),
                false => u64::MAX,
            },
        });
        let settings = Settings {
            chains: ranks.ranks(),
            draws: 1_000_000_000,
            cost: Cost::Ratio(100.0),
            ..Settings::default()
        };
        let folder = PathBuf::from(folder);
        let make = || Run::create(&folder, Arc::clone(&model), "broken".into(), settings);
        Run::among(ranks, &model, make)?.go_among(ranks, Arc::default(), &mut |_| ())?;
        Ok(())
    })
}
