//! Run directories that earlier versions left: their draws are read for ever. `tests/data/run-0.1` was written by version 0.1.0
//! (`towline run neal1 --chains 2 --draws 40 --cost-ratio 100`), and draws.csv in it by that version's `towline export`.

use std::path::{Path, PathBuf};
use towline::store::{Checkpoint, RunDir};
use towline::{Error, RunSummary};

fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/run-0.1")
}

#[test]
fn every_number_of_a_run_of_version_0_1_is_read() {
    let run = RunDir::open(&kept()).unwrap();
    assert_eq!(run.manifest().towline, "0.1.0");
    assert_eq!((run.chains(), run.common_rows()), (2, 40));
    let names: Vec<&str> = run.names().collect();
    assert_eq!(names, ["x", "y"]);
    let text = std::fs::read_to_string(kept().join("draws.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| header.iter().position(|h| *h == name).unwrap();
    let rows: Vec<Vec<f64>> = lines
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    for (name, chains) in names.iter().zip(run.columns().unwrap()) {
        let read: Vec<f64> = chains.concat();
        let written: Vec<f64> = rows.iter().map(|row| row[place(name)]).collect();
        assert_eq!(read, written, "{name}");
    }
    let log = run.statistics("log_density").unwrap().concat();
    assert!(rows.iter().map(|row| row[place("log_density")]).eq(log));
}

#[test]
fn it_is_summarised_and_not_continued() {
    let run = RunDir::open(&kept()).unwrap();
    let summary = RunSummary::of(&run, None).unwrap();
    assert_eq!(summary.run.draws, 40);
    assert!(
        summary
            .parameters
            .iter()
            .all(|p| p.summary.mean.is_finite())
    );
    let error = Checkpoint::read(&kept(), 0).unwrap_err();
    assert!(
        matches!(error, Error::OlderFormat { found: 1, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("earlier version"), "{error}");
}
