//! Warm-up, weights and draws with several slow evaluations at a time: the same bits, sooner; and nothing is lost or made twice when some
//! fail, hang or are interrupted.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use towline::run::{Ended, OnFailure, Run, Settings};
use towline::store::{RunDir, StoredEstimates};
use towline::{Column, Cost, Error, Model, ModelError, Rng, Role, Target, Tuning};

/// Three correlated slow variables and one fast variable that follows them; a slow evaluation sleeps.
#[derive(Default)]
struct Sleeper {
    sleep: Duration,
    at_work: Mutex<AtWork>,
    count: AtomicUsize,
    seen: Mutex<HashMap<[u64; 3], usize>>,
    stop: Arc<AtomicBool>,
    stop_after: Option<usize>,
    trouble: Option<(usize, Trouble)>,
    batched: bool,
}

/// Who computes now, and how long somebody has.
#[derive(Default)]
struct AtWork {
    now: usize,
    most: usize,
    since: Option<Instant>,
    /// Seconds during which at least one slow evaluation was under way, and of all of them added up.
    any: f64,
    all: f64,
}

impl AtWork {
    fn begin(&mut self, count: usize) {
        self.now += count;
        self.most = self.most.max(self.now);
        self.since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self, count: usize, seconds: f64) {
        self.now -= count;
        self.all += seconds * count as f64;
        if let (0, Some(since)) = (self.now, self.since) {
            self.any += since.elapsed().as_secs_f64();
            self.since = None;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    Fails,
    Panics,
    Hangs,
}

impl Sleeper {
    fn new(milliseconds: u64) -> Self {
        Self {
            sleep: Duration::from_millis(milliseconds),
            ..Self::default()
        }
    }

    /// Sleeps for so many evaluations at once.
    fn slept(&self, count: usize) {
        let begun = Instant::now();
        self.at_work.lock().unwrap().begin(count);
        std::thread::sleep(self.sleep);
        let seconds = begun.elapsed().as_secs_f64();
        self.at_work.lock().unwrap().end(count, seconds);
    }

    fn computed(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let bits = [x[0].to_bits(), x[1].to_bits(), x[2].to_bits()];
        if self.stop_after.is_some_and(|after| count >= after) {
            self.stop.store(true, Ordering::SeqCst);
        }
        if let Some((at, trouble)) = self.trouble
            && (at..at + 3).contains(&count)
        {
            match trouble {
                Trouble::Fails => return Err("no convergence".into()),
                Trouble::Panics => panic!("out of range"),
                Trouble::Hangs => std::thread::sleep(Duration::from_secs(30)),
            }
        }
        *self.seen.lock().unwrap().entry(bits).or_default() += 1;
        let (a, b, c) = (x[0], x[1] - 0.8 * x[0], x[2] + 0.5 * x[1]);
        let value = -0.5 * (a * a + b * b / 0.36 + c * c);
        Ok(Some([value, (0.5 * a).sin()]))
    }
}

impl Target for Sleeper {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        self.slept(1);
        self.computed(x)
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<[f64; 2]>, ModelError>> {
        self.slept(xs.len());
        xs.iter().map(|x| self.computed(x)).collect()
    }

    fn is_batched(&self) -> bool {
        self.batched
    }

    fn log_density(&self, &[value, centre]: &[f64; 2], y: &[f64]) -> f64 {
        value - 8.0 * (y[0] - centre).powi(2)
    }
}

impl Model for Sleeper {
    fn columns(&self) -> Vec<Column> {
        let slow = ["a", "b", "c"].map(|name| Column::new(name, Role::Slow));
        let mut columns = slow.to_vec();
        columns.push(Column::new("y", Role::Fast));
        columns
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row.copy_from_slice(&[x[0], x[1], x[2], y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok(((0..3).map(|_| 2.0 * rng.normal()).collect(), vec![0.0]))
    }
}

fn settings(workers: usize) -> Settings {
    Settings {
        chains: 4,
        draws: 2000,
        cost: Cost::Ratio(1e6),
        error: Some(0.1),
        workers: Some(workers),
        ..Settings::default()
    }
}

fn run_in(folder: &Path, model: &Arc<Sleeper>, settings: Settings) -> Result<Ended, Error> {
    let folder = folder.join("run");
    let run = Run::create(&folder, Arc::clone(model), "sleeper".into(), settings);
    run.unwrap().go(Arc::clone(&model.stop), &mut |_| ())
}

fn resume_in(folder: &Path, model: &Arc<Sleeper>, workers: usize) -> Result<Ended, Error> {
    let run = Run::open(&folder.join("run"), Arc::clone(model)).unwrap();
    run.workers(Some(workers))
        .go(Arc::clone(&model.stop), &mut |_| ())
}

fn estimates(folder: &Path) -> StoredEstimates {
    let run = RunDir::open(&folder.join("run")).unwrap();
    let mut found = run.estimates().unwrap().expect("estimates");
    found.seconds = 0.0;
    found
}

/// What a run with so many workers finds, how many slow evaluations were under way on average while any was, and how many at most.
fn timed(workers: usize, batched: bool) -> (StoredEstimates, f64, usize) {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Sleeper {
        batched,
        ..Sleeper::new(20)
    });
    let ended = run_in(folder.path(), &model, settings(workers)).unwrap();
    assert_eq!(ended, Ended::TargetReached);
    let at_work = model.at_work.lock().unwrap();
    (
        estimates(folder.path()),
        at_work.all / at_work.any,
        at_work.most,
    )
}

#[test]
fn workers_make_warm_up_shorter_and_change_no_bit() {
    let (alone, _, _) = timed(1, false);
    let (helped, at_a_time, most) = timed(8, false);
    assert_eq!(helped, alone);
    assert!(most <= 8, "{most} at a time");
    // Six on an idle machine; tests run side by side.
    assert!(at_a_time > 3.5, "{at_a_time}");
    let (together, at_a_time, most) = timed(8, true);
    assert_eq!(together, alone);
    assert!(most <= 8 && at_a_time > 2.5, "{most}, {at_a_time}");
}

#[test]
fn a_run_stopped_in_warm_up_makes_no_look_twice() {
    let whole = tempfile::tempdir().unwrap();
    let model = Arc::new(Sleeper::new(6));
    run_in(whole.path(), &model, settings(6)).unwrap();
    let wanted = estimates(whole.path());
    let learning = wanted.learning_slow_evals as usize;
    for share in [0.2, 0.5, 0.9] {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Sleeper {
            stop_after: Some((share * learning as f64) as usize),
            ..Sleeper::new(6)
        });
        let ended = run_in(folder.path(), &model, settings(6));
        assert_eq!(ended.unwrap(), Ended::Stopped);
        let again = Arc::new(Sleeper::new(6));
        let ended = resume_in(folder.path(), &again, 3);
        assert_eq!(ended.unwrap(), Ended::TargetReached);
        assert_eq!(estimates(folder.path()), wanted);
        let (before, after) = (model.seen.lock().unwrap(), again.seen.lock().unwrap());
        let repeated = after.keys().filter(|x| before.contains_key(*x)).count();
        // Where a chain begins a stage is computed again, for what it leaves behind; and what workers had made ready and no chain had
        // taken yet, of what was needed and of guesses.
        assert!(
            repeated <= 4 + 4 + 6 + 6,
            "{repeated} made again of {}",
            before.len()
        );
        assert!(!folder.path().join("run/looked-0.bin").exists());
    }
}

#[test]
fn looks_that_fail_or_panic_are_told_and_the_others_of_their_batch_are_kept() {
    let whole = tempfile::tempdir().unwrap();
    run_in(whole.path(), &Arc::new(Sleeper::new(6)), settings(8)).unwrap();
    let wanted = estimates(whole.path());
    for (trouble, words) in [
        (Trouble::Fails, "no convergence"),
        (Trouble::Panics, "out of range"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Sleeper {
            trouble: Some((150, trouble)),
            ..Sleeper::new(6)
        });
        let ended = run_in(folder.path(), &model, settings(8));
        let said = ended.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
        let failures = RunDir::open(&folder.path().join("run")).unwrap();
        let failures = failures.failures().unwrap();
        assert!(!failures.is_empty() && failures[0].x.len() == 3);
        let cured = Arc::new(Sleeper::new(6));
        assert_eq!(
            resume_in(folder.path(), &cured, 8).unwrap(),
            Ended::TargetReached
        );
        assert_eq!(estimates(folder.path()), wanted);
        let (before, after) = (model.seen.lock().unwrap(), cured.seen.lock().unwrap());
        let repeated = after.keys().filter(|x| before.contains_key(*x)).count();
        assert!(repeated <= 4 + 4 + 8, "{repeated} made again");
    }
}

#[test]
fn a_look_that_hangs_counts_as_outside_where_failures_do_and_the_batch_continues() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Sleeper {
        trouble: Some((150, Trouble::Hangs)),
        ..Sleeper::new(6)
    });
    let lenient = Settings {
        on_failure: OnFailure::CountAsOutside,
        evaluation_limit: Some(Duration::from_millis(400)),
        ..settings(8)
    };
    let begun = Instant::now();
    run_in(folder.path(), &model, lenient).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(25), "nobody waits");
    let run = RunDir::open(&folder.path().join("run")).unwrap();
    let failures = run.failures().unwrap();
    assert!(
        failures.iter().any(|f| f.message.contains("longer than")),
        "{failures:?}"
    );
}

/// One chain of so many workers, whose draws are all there is to do: its bytes, and the seconds in which a slow evaluation was under way.
fn drawn(folder: &Path, tuning: &Tuning, workers: Option<usize>) -> (Vec<u8>, f64) {
    let model = Arc::new(Sleeper::new(10));
    let settings = Settings {
        chains: 1,
        draws: 120,
        cost: Cost::Ratio(1e6),
        tuning: Some(tuning.clone()),
        workers,
        ..Settings::default()
    };
    assert_eq!(run_in(folder, &model, settings).unwrap(), Ended::Finished);
    let seconds = model.at_work.lock().unwrap().any;
    (bytes(folder), seconds)
}

fn bytes(folder: &Path) -> Vec<u8> {
    std::fs::read(folder.join("run/chain-0.f64")).unwrap()
}

#[test]
fn draws_come_sooner_with_more_workers_and_are_the_same() {
    let folder = || tempfile::tempdir().unwrap();
    let warm = folder();
    let learning = Settings {
        chains: 1,
        draws: 10,
        cost: Cost::Ratio(1e6),
        ..Settings::default()
    };
    run_in(warm.path(), &Arc::new(Sleeper::new(0)), learning).unwrap();
    let run = RunDir::open(&warm.path().join("run")).unwrap();
    let tuning = run.manifest().tuning.clone().unwrap();
    let (alone, long) = drawn(folder().path(), &tuning, Some(1));
    let (helped, short) = drawn(folder().path(), &tuning, Some(6));
    assert_eq!(helped, alone);
    // Three times on an idle machine; tests run side by side.
    assert!(long > 1.7 * short, "{long} s alone, {short} s with six");
    // Without workers steps share one stream of random numbers, as they always have.
    let (plain, _) = drawn(folder().path(), &tuning, None);
    assert_ne!(plain, alone);

    // Stopped halfway and continued by others, it is the same run; and what was evaluated in vain is no draw's.
    let halfway = folder();
    let model = Arc::new(Sleeper {
        stop_after: Some(100),
        ..Sleeper::new(2)
    });
    let settings = Settings {
        chains: 1,
        draws: 120,
        cost: Cost::Ratio(1e6),
        tuning: Some(tuning),
        workers: Some(6),
        ..Settings::default()
    };
    let ended = run_in(halfway.path(), &model, settings);
    assert_eq!(ended.unwrap(), Ended::Stopped);
    for workers in [1, 3] {
        let again = folder();
        std::fs::create_dir(again.path().join("run")).unwrap();
        for file in std::fs::read_dir(halfway.path().join("run")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), again.path().join("run").join(file.file_name())).unwrap();
        }
        let ended = resume_in(again.path(), &Arc::new(Sleeper::new(2)), workers);
        assert_eq!(ended.unwrap(), Ended::Finished);
        assert_eq!(bytes(again.path()), alone, "continued by {workers}");
    }
}
