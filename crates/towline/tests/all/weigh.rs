//! Runs with `error`: slow points weighed in batches, stopped, resumed, failing, hanging; the same bits whatever the workers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use towline::run::{Ended, OnFailure, Run, Settings};
use towline::slow::{Surrogate, Visit};
use towline::store::{RunDir, StoredEstimates};
use towline::{
    Column, Cost, Error, Factor, Model, ModelError, Rng, Role, RunSummary, Target, Warmup,
};

/// The report's first test, with somebody who counts.
#[derive(Default)]
struct Counted {
    seen: Mutex<Vec<f64>>,
    count: AtomicUsize,
    /// Set when so many slow evaluations were made.
    stop: Arc<AtomicBool>,
    stop_after: Option<usize>,
    /// What happens to the right of 0.6, once so many slow evaluations were made.
    trouble: Option<(usize, Trouble)>,
    batched: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    Fails,
    Panics,
    NotANumber,
    Hangs,
}

impl Target for Counted {
    type Cache = (f64, bool);

    fn prepare(&self, x: &[f64]) -> Result<Option<(f64, bool)>, ModelError> {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        self.seen.lock().unwrap().push(x[0]);
        if self.stop_after.is_some_and(|after| count >= after) {
            self.stop.store(true, Ordering::SeqCst);
        }
        let trouble = self
            .trouble
            .filter(|(after, _)| count > *after && x[0] > 0.6);
        match trouble.map(|(_, trouble)| trouble) {
            Some(Trouble::Fails) => return Err("no convergence".into()),
            Some(Trouble::Panics) => panic!("out of range"),
            Some(Trouble::Hangs) => std::thread::sleep(Duration::from_secs(20)),
            _ => {}
        }
        Ok(Some((x[0], trouble.is_some())))
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        assert!(xs.len() <= 5, "as many as there are workers");
        xs.iter().map(|x| self.prepare(x)).collect()
    }

    fn is_batched(&self) -> bool {
        self.batched
    }

    fn log_density(&self, &(x, troubled): &(f64, bool), y: &[f64]) -> f64 {
        if troubled {
            return f64::NAN;
        }
        -x * x - 50.0 * (1.0 + x * x).powi(2) * (y[0] - x.sin()).powi(2)
    }
}

impl Model for Counted {
    fn columns(&self) -> Vec<Column> {
        vec![Column::new("x", Role::Slow), Column::new("y", Role::Fast)]
    }

    fn report(&self, x: &[f64], y: &[f64], _: &(f64, bool), row: &mut [f64]) {
        row.copy_from_slice(&[x[0], y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![rng.normal()], vec![0.0]))
    }
}

fn settings(error: f64) -> Settings {
    Settings {
        chains: 2,
        draws: 4000,
        cost: Cost::Ratio(1000.0),
        error: Some(error),
        workers: Some(5),
        ..Settings::default()
    }
}

/// A run in a new folder, and what it left there.
fn run(model: &Arc<Counted>, settings: Settings) -> (tempfile::TempDir, Result<Ended, Error>) {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::create(
        &folder.path().join("run"),
        Arc::clone(model),
        "counted".into(),
        settings,
    );
    let ended = run.unwrap().go(Arc::clone(&model.stop), &mut |_| ());
    (folder, ended)
}

fn resumed(folder: &tempfile::TempDir, model: &Arc<Counted>) -> Result<Ended, Error> {
    let run = Run::open(&folder.path().join("run"), Arc::clone(model)).unwrap();
    run.workers(Some(5))
        .go(Arc::clone(&model.stop), &mut |_| ())
}

fn estimates(folder: &tempfile::TempDir) -> StoredEstimates {
    let run = RunDir::open(&folder.path().join("run")).unwrap();
    let mut found = run.estimates().unwrap().expect("estimates");
    found.seconds = 0.0;
    found
}

#[test]
fn an_error_is_reached_by_weights_and_every_slow_evaluation_is_counted() {
    let model = Arc::new(Counted::default());
    let (folder, ended) = run(&model, settings(0.03));
    assert_eq!(ended.unwrap(), Ended::TargetReached);
    let found = estimates(&folder);
    let x = &found.estimates.columns[0];
    assert!(found.reached && x.se <= 0.03 * x.sd, "{x:?}");
    assert!(
        (x.mean / x.se).abs() < 4.0 && (x.sd - 0.319_483_8f64.sqrt()).abs() < 4.0 * x.se_sd,
        "{x:?}"
    );
    let y = &found.estimates.columns[1];
    assert!((y.mean / y.se).abs() < 4.0, "{y:?}");
    let summary = RunSummary::of(&RunDir::open(&folder.path().join("run")).unwrap(), None).unwrap();
    assert_eq!(
        summary.run.slow_evals,
        model.count.load(Ordering::SeqCst) as u64
    );
    assert!(summary.run.slow_evals < 667, "{}", summary.run.slow_evals);
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
    assert_eq!(summary.parameters[0].estimate.as_ref().unwrap().se, x.se);
    let rows = RunDir::open(&folder.path().join("run"))
        .unwrap()
        .weighted()
        .unwrap();
    let weights: f64 = rows.column(3).unwrap().iter().sum();
    assert!((weights - 1.0).abs() < 1e-6, "{weights}");
}

#[test]
fn workers_and_batches_change_no_bit() {
    let one = |workers, batched| {
        let model = Arc::new(Counted {
            batched,
            ..Counted::default()
        });
        let (folder, _) = run(
            &model,
            Settings {
                workers: Some(workers),
                ..settings(0.02)
            },
        );
        estimates(&folder)
    };
    let first = one(1, false);
    assert!(first.reached);
    assert_eq!(one(4, false), first);
    assert_eq!(one(5, true), first);
}

#[test]
fn a_run_stopped_in_a_batch_repeats_no_finished_point_and_ends_as_if_it_had_not_been() {
    let whole = Arc::new(Counted::default());
    let (folder, _) = run(&whole, settings(0.02));
    let wanted = estimates(&folder);
    let learned = wanted.learning_slow_evals as usize;
    for after in [3, 17, 40] {
        let model = Arc::new(Counted {
            stop_after: Some(learned + after),
            ..Counted::default()
        });
        let (folder, ended) = run(&model, settings(0.02));
        assert_eq!(ended.unwrap(), Ended::Stopped);
        // Killed while a record was written: that one point is lost, and no other.
        let log = folder.path().join("run/points.bin");
        let bytes = std::fs::read(&log).unwrap();
        std::fs::write(&log, &bytes[..bytes.len() - 5]).unwrap();
        let again = Arc::new(Counted::default());
        assert_eq!(resumed(&folder, &again).unwrap(), Ended::TargetReached);
        assert_eq!(estimates(&folder), wanted);
        let before = model.seen.lock().unwrap();
        let repeated = again
            .seen
            .lock()
            .unwrap()
            .iter()
            .filter(|x| before.contains(x))
            .count();
        assert_eq!(repeated, 1);
    }
}

#[test]
fn points_that_fail_are_told_and_the_others_are_kept() {
    let whole = Arc::new(Counted::default());
    let (folder, _) = run(&whole, settings(0.03));
    let wanted = estimates(&folder);
    let learned = wanted.learning_slow_evals as usize;
    for trouble in [Trouble::Fails, Trouble::Panics, Trouble::NotANumber] {
        let model = Arc::new(Counted {
            trouble: Some((learned, trouble)),
            ..Counted::default()
        });
        let (folder, ended) = run(&model, settings(0.03));
        let said = ended.unwrap_err().to_string();
        assert!(
            said.contains("slow points failed, the others are stored"),
            "{said}"
        );
        let failures = RunDir::open(&folder.path().join("run"))
            .unwrap()
            .failures()
            .unwrap();
        assert!(
            !failures.is_empty() && failures[0].x[0] > Some(0.6),
            "{failures:?}"
        );
        // The model is mended: only what failed is evaluated.
        let cured = Arc::new(Counted::default());
        assert_eq!(resumed(&folder, &cured).unwrap(), Ended::TargetReached);
        assert_eq!(estimates(&folder), wanted);
        assert!(
            cured.seen.lock().unwrap()[..failures.len()]
                .iter()
                .all(|x| *x > 0.6)
        );
        // Counted as outside: the run ends, and says so.
        let model = Arc::new(Counted {
            trouble: Some((learned, trouble)),
            ..Counted::default()
        });
        let lenient = Settings {
            on_failure: OnFailure::CountAsOutside,
            ..settings(0.03)
        };
        let (folder, ended) = run(&model, lenient);
        ended.unwrap();
        let directory = RunDir::open(&folder.path().join("run")).unwrap();
        assert!(directory.estimates().unwrap().unwrap().estimates.failed > 0);
        let warnings = RunSummary::of(&directory, None).unwrap().warnings;
        assert!(
            warnings.iter().any(|w| w.contains("slow points failed")),
            "{warnings:?}"
        );
    }
}

#[test]
fn a_point_that_hangs_is_given_up_and_the_batch_continues() {
    let whole = Arc::new(Counted::default());
    let (folder, _) = run(&whole, settings(0.1));
    let learned = estimates(&folder).learning_slow_evals as usize;
    let model = Arc::new(Counted {
        trouble: Some((learned, Trouble::Hangs)),
        ..Counted::default()
    });
    let limited = Settings {
        evaluation_limit: Some(Duration::from_millis(300)),
        ..settings(0.1)
    };
    let begun = std::time::Instant::now();
    let (folder, ended) = run(&model, limited);
    let said = ended.unwrap_err().to_string();
    assert!(said.contains("took longer than 0.3 s"), "{said}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "nobody waits for it"
    );
    // All others are there.
    let cured = Arc::new(Counted::default());
    assert_eq!(resumed(&folder, &cured).unwrap(), Ended::TargetReached);
    assert!(cured.seen.lock().unwrap().iter().all(|x| *x > 0.6));
}

#[test]
fn where_weights_would_be_dear_chains_do_the_work() {
    // A tuning whose surrogate is mostly noise.
    let mut rng = Rng::stream(5, 0);
    let warmup = Warmup {
        cost: Cost::Ratio(1000.0),
        ..Warmup::default()
    };
    let mut tuning = warmup
        .run(&Counted::default(), &[0.5], &[0.0], &mut rng)
        .unwrap()
        .tuning;
    let visits: Vec<Visit> = (0..40)
        .map(|k| -3.0 + 0.15 * f64::from(k))
        .map(|x| Visit {
            x: vec![x],
            log_marginal: -0.2 * x * x + 2.0 * (3.0 * x).sin(),
        })
        .collect();
    let root = Factor::diagonal(&[1.0], "x").unwrap();
    tuning.surrogate = Surrogate::fit(&visits, &[0.0], &root);
    let model = Arc::new(Counted::default());
    let (folder, ended) = run(
        &model,
        Settings {
            tuning: Some(tuning),
            // More would make proposals ready ahead, some of them in vain, which no row counts.
            workers: Some(1),
            ..settings(0.05)
        },
    );
    assert_eq!(ended.unwrap(), Ended::TargetReached);
    let directory = RunDir::open(&folder.path().join("run")).unwrap();
    assert!(directory.estimates().unwrap().unwrap().chains_instead);
    let summary = RunSummary::of(&directory, None).unwrap();
    assert!(
        summary.parameters[0].summary.ess_bulk > 300.0,
        "{:?}",
        summary.parameters[0]
    );
    // A chain's first evaluation, and the one with which it begins to draw, belong to no draw: two of each chain are in no row.
    let counted = model.count.load(Ordering::SeqCst) as u64;
    assert!((counted - 4..=counted).contains(&summary.run.slow_evals));
    assert!(
        summary.remarks.iter().any(|r| r.contains("weighed first")),
        "{:?}",
        summary.remarks
    );
}
