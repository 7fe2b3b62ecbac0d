//! The example of a model of one's own runs, goes on from where it was, and says what it found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use towline::store::RunDir;

/// Where cargo puts examples: beside the folder of the tests.
fn example() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.join(format!("own_model{}", std::env::consts::EXE_SUFFIX))
}

fn run(folder: &Path, draws: &str) -> String {
    let output = Command::new(example())
        .arg(folder)
        .arg(draws)
        .output()
        .expect("the example is not built: `cargo test` without `--test`, or `cargo build --example own_model --profile test`");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_goes_on_from_where_it_was_and_finds_the_beam() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("beam");
    run(&folder, "300");
    let before = fs::read(folder.join("chain-3.f64")).unwrap();
    let said = run(&folder, "600");
    let after = fs::read(folder.join("chain-3.f64")).unwrap();
    assert!(after.len() == 2 * before.len() && after.starts_with(&before));
    assert!(
        said.contains("quality") && said.contains("towline report"),
        "{said}"
    );

    let run = RunDir::open(&folder).unwrap();
    assert_eq!(run.common_rows(), 600);
    // The swing that was measured: within five standard deviations of what is found.
    for (name, truth) in [("frequency", 2.3), ("damping", 0.15), ("amplitude", 1.4)] {
        let draws: Vec<f64> = run.column(name).unwrap().concat();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let square = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
        let sd = (square / draws.len() as f64).sqrt();
        assert!((mean - truth).abs() < 5.0 * sd, "{name}: {mean} ± {sd}");
    }
    // Derived quantities follow from the draw beside them.
    let (frequency, period) = (
        run.column("frequency").unwrap(),
        run.column("period").unwrap(),
    );
    for (f, p) in frequency.concat().iter().zip(period.concat()) {
        assert!((f * p - std::f64::consts::TAU).abs() < 1e-9);
    }
}
