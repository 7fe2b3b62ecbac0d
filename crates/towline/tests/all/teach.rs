//! Slow points that show that what was learned is too far off for the error asked for: they teach it, and fresh ones are weighed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use towline::run::{Ended, Run, Settings};
use towline::store::{RunDir, StoredEstimates};
use towline::{Column, Cost, Model, ModelError, Rng, Role, RunSummary, Target};

/// Euler's constant: the mean of the logarithm of an exponential number is its negative.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Three slow variables whose exponentials are exponential, and a fast variable that follows them, whose conditional is skewed: Laplace's estimate of
/// the marginal is off by the same everywhere, and what is learned of the tails is not exact.
#[derive(Default)]
struct Skewed {
    count: AtomicUsize,
    stop: Arc<AtomicBool>,
    stop_after: Option<usize>,
}

impl Target for Skewed {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        if self.stop_after.is_some_and(|after| count >= after) {
            self.stop.store(true, Ordering::SeqCst);
        }
        let value = x.iter().map(|v| v - v.exp()).sum();
        Ok(Some([value, x[0].sin() + 0.5 * x[1]]))
    }

    fn log_density(&self, &[value, centre]: &[f64; 2], y: &[f64]) -> f64 {
        let t = 3.0 * (y[0] - centre);
        value + 4.0 * (t - t.exp())
    }
}

impl Model for Skewed {
    fn columns(&self) -> Vec<Column> {
        let slow = ["a", "b", "c"].map(|name| Column::new(name, Role::Slow));
        [&slow[..], &[Column::new("y", Role::Fast)]].concat()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row.copy_from_slice(&[x[0], x[1], x[2], y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok(((0..3).map(|_| rng.normal()).collect(), vec![0.0]))
    }
}

fn settings(seed: u64) -> Settings {
    Settings {
        chains: 1,
        draws: 4000,
        seed,
        cost: Cost::Ratio(1e5),
        error: Some(0.008),
        workers: Some(3),
        ..Settings::default()
    }
}

fn run_in(folder: &Path, model: &Arc<Skewed>, settings: Settings) -> Ended {
    let folder = folder.join("run");
    let run = Run::create(&folder, Arc::clone(model), "skewed".into(), settings);
    run.unwrap()
        .go(Arc::clone(&model.stop), &mut |_| ())
        .unwrap()
}

fn estimates(folder: &Path) -> StoredEstimates {
    let run = RunDir::open(&folder.join("run")).unwrap();
    let mut found = run.estimates().unwrap().expect("estimates");
    found.seconds = 0.0;
    found
}

#[test]
fn points_that_are_too_few_by_far_teach_and_fresh_ones_are_weighed() {
    // ln Z of the slow part is zero; ∫ exp 4(t − eᵗ) dt = Γ(4) 4⁻⁴, and y goes three times slower.
    let ln_z = 6f64.ln() - 4.0 * 4f64.ln() - 3f64.ln();
    let mut taught = 0;
    for seed in 1..=4 {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Skewed::default());
        // One at a time: idle workers guess what is needed next, and what they guess wrong is not counted.
        let one_at_a_time = Settings {
            workers: Some(1),
            error: Some(0.006),
            ..settings(seed)
        };
        assert_eq!(
            run_in(folder.path(), &model, one_at_a_time),
            Ended::TargetReached
        );
        let found = estimates(folder.path());
        assert!(!found.chains_instead);
        for column in &found.estimates.columns[..3] {
            let z = (column.mean + EULER) / column.se;
            assert!(z.abs() < 4.0, "seed {seed}: z {z} of {}", column.name);
            assert!(column.se < 0.0061 * column.sd, "seed {seed}");
        }
        let evidence = found.estimates.evidence.unwrap();
        let z = (evidence.ln_z - ln_z) / evidence.se;
        assert!(z.abs() < 4.0, "seed {seed}: z {z} of ln Z");
        // Every evaluation is counted once, by learning or among the points that the estimates are of.
        let run = RunDir::open(&folder.path().join("run")).unwrap();
        let summary = RunSummary::of(&run, None).unwrap();
        let counted = model.count.load(Ordering::SeqCst) as u64;
        assert_eq!(summary.run.slow_evals, counted, "seed {seed}");
        taught += usize::from(found.refits > 0);
    }
    assert!(
        taught >= 2,
        "{taught} of 4 runs were taught by their points"
    );
}

#[test]
fn a_run_stopped_after_its_points_have_taught_ends_as_if_it_had_not_been() {
    let whole = tempfile::tempdir().unwrap();
    let model = Arc::new(Skewed::default());
    run_in(whole.path(), &model, settings(1));
    let wanted = estimates(whole.path());
    let all = model.count.load(Ordering::SeqCst);
    for share in [0.85, 0.95] {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Skewed {
            stop_after: Some((share * all as f64) as usize),
            ..Skewed::default()
        });
        assert_eq!(
            run_in(folder.path(), &model, settings(1)),
            Ended::Stopped,
            "{share}"
        );
        let again = Arc::new(Skewed::default());
        let run = Run::open(&folder.path().join("run"), Arc::clone(&again)).unwrap();
        let ended = run
            .workers(Some(2))
            .go(Arc::clone(&again.stop), &mut |_| ());
        assert_eq!(ended.unwrap(), Ended::TargetReached);
        assert_eq!(estimates(folder.path()), wanted);
    }
}
