//! Runs through the library: threads, stopping, failures of the model, damaged files.

use proptest::prelude::*;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use towline::run::{Ended, OnFailure, Progress, Run, Settings, StopTarget};
use towline::store::{Checkpoint, Draws, Failures, Manifest, RunDir};
use towline::{Column, Cost, Error, Model, ModelError, Rng, Role, Target};

/// x is slow; two fast variables follow it, one of them reported as a latent, and so is a third number.
#[derive(Debug, Default)]
struct Wavy {
    trouble: AtomicU8,
    /// Trouble comes at so many slow evaluations.
    until: AtomicU64,
    evaluations: AtomicU64,
}

const NONE: u8 = 0;
const PANIC: u8 = 1;
const ERR: u8 = 2;
const NAN: u8 = 3;
const HANG: u8 = 4;
const HANG_FAST: u8 = 5;
const FAST_PANIC: u8 = 6;

impl Wavy {
    fn troubled(trouble: u8, after: u64) -> Arc<Self> {
        Arc::new(Self {
            trouble: AtomicU8::new(trouble),
            until: AtomicU64::new(after),
            evaluations: AtomicU64::new(0),
        })
    }

    fn is(&self, trouble: u8) -> bool {
        self.trouble.load(Ordering::Relaxed) == trouble
            && self.evaluations.load(Ordering::Relaxed) > self.until.load(Ordering::Relaxed)
    }

    fn hang(&self, trouble: u8) {
        while self.is(trouble) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Target for Wavy {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        // The far side is where the trouble is.
        if x[0] > 0.5 {
            assert!(!self.is(PANIC), "the solver broke down");
            if self.is(ERR) {
                return Err("the table ends here".into());
            }
            self.hang(HANG);
        }
        Ok(Some([x[0], x[0].sin()]))
    }

    fn log_density(&self, &[x, sin]: &[f64; 2], y: &[f64]) -> f64 {
        if x > 0.5 {
            if self.is(NAN) {
                return f64::NAN;
            }
            assert!(!self.is(FAST_PANIC), "the fast part broke down");
            self.hang(HANG_FAST);
        }
        -x * x - 20.0 * (y[0] - sin).powi(2) - 5.0 * (y[1] - y[0]).powi(2)
    }
}

impl Model for Wavy {
    fn columns(&self) -> Vec<Column> {
        vec![
            Column::new("u", Role::Latent),
            Column::new("x", Role::Slow),
            Column::new("v", Role::Latent),
            Column::new("y", Role::Fast),
        ]
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row.copy_from_slice(&[y[1], x[0], y[1] * y[1], y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![rng.normal()], vec![rng.normal(), rng.normal()]))
    }
}

const CHAINS: usize = 4;

fn settings(draws: u64) -> Settings {
    Settings {
        chains: CHAINS,
        draws,
        cost: Cost::Ratio(50.0),
        threads: Some(2),
        latent_every: 3,
        checkpoint_every: Some(Duration::from_millis(5)),
        ..Settings::default()
    }
}

fn create(folder: &Path, model: &Arc<Wavy>, settings: Settings) -> Result<Ended, Error> {
    Run::create(folder, Arc::clone(model), "wavy".into(), settings)?.go(Arc::default(), &mut |_| ())
}

fn go_on(folder: &Path, model: &Arc<Wavy>) -> Result<Ended, Error> {
    Run::open(folder, Arc::clone(model))?.go(Arc::default(), &mut |_| ())
}

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    let names = (0..CHAINS).flat_map(|k| [format!("chain-{k}.f64"), format!("latents-{k}.f64")]);
    names
        .map(|name| fs::read(folder.join(name)).unwrap())
        .collect()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }
}

#[test]
fn draws_are_the_same_whatever_the_number_of_threads() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    for threads in [1, 2, 4] {
        let settings = Settings {
            threads: Some(threads),
            ..settings(400)
        };
        let ended = create(&place.at(&threads.to_string()), &model, settings);
        assert_eq!(ended.unwrap(), Ended::Finished);
    }
    assert!(bytes(&place.at("1")) == bytes(&place.at("2")));
    assert!(bytes(&place.at("1")) == bytes(&place.at("4")));
    let run = RunDir::open(&place.at("1")).unwrap();
    let (x, other) = (run.column("x").unwrap(), run.column("y").unwrap());
    assert_eq!((x.len(), x[0].len(), other[3].len()), (4, 400, 400));
    assert_ne!(x[0], x[1]);
    assert!(
        run.column("z")
            .unwrap_err()
            .to_string()
            .contains("it has x, y")
    );
}

#[test]
fn thinned_latents_keep_exact_means_and_variances() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    create(&place.at("thin"), &model, settings(500)).unwrap();
    let all = Settings {
        latent_every: 1,
        ..settings(500)
    };
    create(&place.at("all"), &model, all).unwrap();
    let (thin, all) = (
        RunDir::open(&place.at("thin")).unwrap(),
        RunDir::open(&place.at("all")).unwrap(),
    );
    assert_eq!(thin.column("x").unwrap(), all.column("x").unwrap());
    let (few, many) = (thin.latent("v").unwrap(), all.latent("v").unwrap());
    assert_eq!((few[0].len(), many[0].len()), (166, 500));
    for chain in 0..CHAINS {
        let kept: Vec<f64> = many[chain].iter().copied().skip(2).step_by(3).collect();
        assert_eq!(few[chain], kept);
        let moments = &thin.checkpoints().unwrap()[chain]
            .as_ref()
            .unwrap()
            .moments
            .clone();
        // Columns first, then latents: x, y, u, v.
        let mean = many[chain].iter().sum::<f64>() / 500.0;
        let squares = many[chain].iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        assert_eq!((moments.count(), moments.columns()), (500, 4));
        assert!((moments.mean(3) - mean).abs() < 1e-12);
        assert!((moments.variance(3) - squares / 499.0).abs() < 1e-12);
    }
}

#[test]
fn a_target_stops_the_run_at_the_same_draw_however_it_is_run() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    let target = Settings {
        stop: Some(StopTarget {
            rhat: 1.05,
            ess: 2000.0,
        }),
        ..settings(1_000_000)
    };
    let ended = create(&place.at("whole"), &model, target.clone());
    assert_eq!(ended.unwrap(), Ended::TargetReached);
    let one = Settings {
        threads: Some(1),
        ..target.clone()
    };
    assert_eq!(
        create(&place.at("one"), &model, one).unwrap(),
        Ended::TargetReached
    );
    assert!(bytes(&place.at("whole")) == bytes(&place.at("one")));

    // Stopped by hand again and again, at whatever draw it happens to be.
    let mut ended = {
        let run = Run::create(
            &place.at("broken"),
            Arc::clone(&model),
            "wavy".into(),
            target,
        );
        stop_after(run.unwrap(), 3)
    };
    for _ in 0..200 {
        if ended == Ended::TargetReached {
            break;
        }
        ended = stop_after(
            Run::open(&place.at("broken"), Arc::clone(&model)).unwrap(),
            3,
        );
    }
    assert_eq!(
        go_on(&place.at("broken"), &model).unwrap(),
        Ended::TargetReached
    );
    assert!(bytes(&place.at("whole")) == bytes(&place.at("broken")));
    let run = RunDir::open(&place.at("whole")).unwrap();
    let draws = run.rows();
    assert!(draws.iter().all(|&rows| rows == draws[0]) && draws[0] < 1_000_000);
    for name in ["x", "y"] {
        let column = run.column(name).unwrap();
        let chains: Vec<&[f64]> = column.iter().map(Vec::as_slice).collect();
        let ess = towline::diagnose::ess_mean(&chains);
        assert!(ess > 1200.0, "{name}: {ess}");
    }
}

fn stop_after(run: Run<Wavy>, milliseconds: u64) -> Ended {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let timer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(milliseconds));
        flag.store(true, Ordering::Relaxed);
    });
    let ended = run.go(stop, &mut |_| ()).unwrap();
    timer.join().unwrap();
    ended
}

#[test]
fn stopped_in_warm_up_or_later_a_run_goes_on_to_the_same_bytes() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    create(&place.at("whole"), &model, settings(20_000)).unwrap();
    let run = Run::create(
        &place.at("broken"),
        Arc::clone(&model),
        "wavy".into(),
        settings(20_000),
    );
    let mut ended = stop_after(run.unwrap(), 1);
    let mut times = 0;
    while ended == Ended::Stopped && times < 12 {
        times += 1;
        ended = stop_after(
            Run::open(&place.at("broken"), Arc::clone(&model)).unwrap(),
            2 * times,
        );
    }
    assert!(times > 1, "it was never stopped");
    assert_eq!(go_on(&place.at("broken"), &model).unwrap(), Ended::Finished);
    assert!(bytes(&place.at("whole")) == bytes(&place.at("broken")));
    let limited = Settings {
        time_limit: Some(Duration::from_millis(30)),
        ..settings(u64::MAX / 2)
    };
    assert_eq!(
        create(&place.at("limited"), &model, limited).unwrap(),
        Ended::TimeLimit
    );
}

/// Ends with the point, keeps every draw, and goes on once the model is mended.
fn fails_and_goes_on(trouble: u8, what: &str) {
    let place = Place::new();
    let sound = Arc::new(Wavy::default());
    create(&place.at("whole"), &sound, settings(2000)).unwrap();
    for after in [3, 7000] {
        let (model, folder) = (Wavy::troubled(trouble, after), place.at(&after.to_string()));
        let error = create(&folder, &model, settings(2000))
            .unwrap_err()
            .to_string();
        assert!(error.contains(what) && error.contains("x = ["), "{error}");
        let logged = Failures::read(&folder).unwrap();
        assert!(
            !logged.is_empty() && logged[0].message.contains(what),
            "{logged:?}"
        );
        assert!(logged[0].x[0].is_some_and(|x| x > 0.5), "{logged:?}");
        let run = RunDir::open(&folder).unwrap();
        if after > 3 {
            let kept: u64 = run
                .checkpoints()
                .unwrap()
                .iter()
                .flatten()
                .map(|c| c.rows)
                .sum();
            assert!(kept > 1000, "only {kept} draws are kept");
            assert_eq!(run.rows().iter().sum::<usize>() as u64, kept);
        }
        model.trouble.store(NONE, Ordering::Relaxed);
        assert_eq!(go_on(&folder, &model).unwrap(), Ended::Finished);
        // The search of warm-up goes round points where the density is no number, and so learns another tuning.
        if trouble != NAN || after > 3 {
            assert!(bytes(&place.at("whole")) == bytes(&folder), "{after}");
        }
    }
}

#[test]
fn a_panic_ends_the_run_and_loses_nothing() {
    fails_and_goes_on(PANIC, "the solver broke down");
}

#[test]
fn an_error_of_the_model_ends_the_run_and_loses_nothing() {
    fails_and_goes_on(ERR, "the table ends here");
}

#[test]
fn a_log_density_that_is_no_number_ends_the_run_and_loses_nothing() {
    fails_and_goes_on(NAN, "NaN");
}

#[test]
fn failures_can_count_as_outside_the_support() {
    for (trouble, what) in [
        (PANIC, "broke down"),
        (FAST_PANIC, "broke down"),
        (ERR, "the table ends"),
        (NAN, "NaN"),
    ] {
        let (place, model) = (Place::new(), Wavy::troubled(trouble, 0));
        let lenient = Settings {
            on_failure: OnFailure::CountAsOutside,
            ..settings(300)
        };
        // The start itself must be sound.
        let ended = (1..20).find_map(|seed| {
            let folder = place.at(&seed.to_string());
            let settings = Settings {
                seed,
                ..lenient.clone()
            };
            create(&folder, &model, settings)
                .ok()
                .map(|ended| (ended, folder))
        });
        let (ended, folder) = ended.expect("some seed has sound starts");
        assert_eq!(ended, Ended::Finished);
        let run = RunDir::open(&folder).unwrap();
        let x = run.column("x").unwrap();
        assert!(x.iter().flatten().all(|&x| x <= 0.5));
        let counted: u64 = run
            .checkpoints()
            .unwrap()
            .iter()
            .flatten()
            .map(|c| c.failures)
            .sum();
        assert!(counted > 50, "{counted}");
        let logged = run.failures().unwrap();
        assert!(
            !logged.is_empty() && logged.iter().all(|f| f.message.contains(what)),
            "{what}"
        );
    }
}

#[test]
fn an_evaluation_that_hangs_past_its_limit_ends_the_run() {
    for trouble in [HANG, HANG_FAST] {
        let place = Place::new();
        let sound = Arc::new(Wavy::default());
        create(&place.at("whole"), &sound, settings(2000)).unwrap();
        for after in [3, 7000] {
            let (model, folder) = (Wavy::troubled(trouble, after), place.at(&after.to_string()));
            let begun = Instant::now();
            let limited = Settings {
                evaluation_limit: Some(Duration::from_millis(300)),
                ..settings(2000)
            };
            let error = create(&folder, &model, limited).unwrap_err().to_string();
            assert!(
                error.contains("longer than the 0.3 s") && error.contains("x = ["),
                "{error}"
            );
            assert!(begun.elapsed() < Duration::from_secs(15));
            assert!(
                Failures::read(&folder).unwrap()[0]
                    .message
                    .contains("longer")
            );
            model.trouble.store(NONE, Ordering::Relaxed);
            assert_eq!(go_on(&folder, &model).unwrap(), Ended::Finished);
            // The chain that was given up has woken meanwhile, and must not have written.
            std::thread::sleep(Duration::from_millis(50));
            assert!(bytes(&place.at("whole")) == bytes(&folder));
        }
    }
}

#[test]
fn two_writers_are_refused_and_readers_are_not() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    let folder = place.at("run");
    let run = Run::create(&folder, Arc::clone(&model), "wavy".into(), settings(3000)).unwrap();
    let mut read = 0;
    let mut look = |_: &Progress| {
        let error = Run::open(&folder, Arc::clone(&model)).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        assert!(error.to_string().contains(&std::process::id().to_string()));
        read += RunDir::open(&folder).unwrap().column("x").unwrap().len();
    };
    // Progress is shown before the lock is given back.
    run.go(Arc::default(), &mut look).unwrap();
    assert!(read >= CHAINS);
    assert_eq!(go_on(&folder, &model).unwrap(), Ended::Finished);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_in_words() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    fs::write(place.at("file"), "something else").unwrap();
    let error = create(&place.at("file/run"), &model, settings(10)).unwrap_err();
    assert!(error.to_string().starts_with("cannot make"), "{error}");
    // A checkpoint that cannot be replaced: nothing already stored is lost, and the next resume works.
    let folder = place.at("run");
    create(&folder, &model, settings(100)).unwrap();
    let longer = || {
        Run::open(&folder, Arc::clone(&model))
            .unwrap()
            .draws(500)
            .unwrap()
    };
    fs::create_dir(folder.join("checkpoint-2.tmp")).unwrap();
    let error = longer().go(Arc::default(), &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    fs::remove_dir(folder.join("checkpoint-2.tmp")).unwrap();
    longer().go(Arc::default(), &mut |_| ()).unwrap();
    create(&place.at("whole"), &model, settings(500)).unwrap();
    assert!(bytes(&place.at("whole")) == bytes(&folder));
}

#[test]
fn damaged_files_are_named_or_repaired_and_never_panic() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    let sound = place.at("sound");
    create(&sound, &model, settings(100)).unwrap();
    let expected = {
        create(&place.at("whole"), &model, settings(200)).unwrap();
        bytes(&place.at("whole"))
    };
    let newer = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => text
            .replacen("\"version\": 1", "\"version\": 9", 1)
            .into_bytes(),
        Err(_) => [
            &bytes[..8],
            &9u32.to_le_bytes(),
            &bytes[12.min(bytes.len())..],
        ]
        .concat(),
    };
    type Damage<'a> = (&'a str, &'a dyn Fn(&[u8]) -> Vec<u8>);
    let damages: [Damage; 6] = [
        ("truncated", &|b| b[..b.len() / 2].to_vec()),
        ("garbled", &|b| {
            b.iter()
                .enumerate()
                .map(|(k, &c)| if k % 7 == 3 { c ^ 0x5a } else { c })
                .collect()
        }),
        ("empty", &|_| Vec::new()),
        ("foreign", &|_| {
            b"\x89PNG\r\n\x1a\n and so on, for longer than any header".to_vec()
        }),
        ("newer", &newer),
        ("longer", &|b| [b, b"a torn row"].concat()),
    ];
    for file in [
        "manifest.json",
        "checkpoint-1.bin",
        "tuning-2.bin",
        "chain-0.f64",
        "latents-3.f64",
    ] {
        for (name, damage) in &damages {
            let folder = place.at(&format!("{file}-{name}"));
            fs::create_dir(&folder).unwrap();
            for entry in fs::read_dir(&sound).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
            }
            let before = fs::read(folder.join(file)).unwrap();
            fs::write(folder.join(file), damage(&before)).unwrap();
            let resumed = Run::open(&folder, Arc::clone(&model))
                .and_then(|run| run.draws(200))
                .and_then(|run| run.go(Arc::default(), &mut |_| ()));
            let is_rows = file.ends_with(".f64");
            match resumed {
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains(file), "{file} {name}: {error}");
                    if *name == "newer" {
                        assert!(is_rows || error.contains("version 9"), "{error}");
                    }
                }
                // Rows are not summed up: a garbled number cannot be told from a draw. All else is noticed.
                Ok(_) if is_rows && matches!(*name, "garbled" | "newer") => {}
                Ok(_) => {
                    assert!(is_rows && *name == "longer", "{file} {name} went unnoticed");
                    assert!(bytes(&folder) == expected, "{file} {name}");
                }
            }
        }
    }
    // A manifest that is gone, a checkpoint that is gone: said, and draws are not overwritten.
    fs::remove_file(sound.join("checkpoint-1.bin")).unwrap();
    let before = bytes(&sound);
    let error = go_on(&sound, &model).unwrap_err().to_string();
    assert!(
        error.contains("checkpoint-1.bin") && error.contains("not there"),
        "{error}"
    );
    assert!(before == bytes(&sound));
    fs::remove_file(sound.join("manifest.json")).unwrap();
    assert!(matches!(go_on(&sound, &model), Err(Error::NotARun { .. })));
}

#[test]
fn another_model_is_told() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    create(&place.at("run"), &model, settings(50)).unwrap();
    #[derive(Debug)]
    struct Other;
    impl Target for Other {
        type Cache = f64;
        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(x[0]))
        }
        fn log_density(&self, x: &f64, _: &[f64]) -> f64 {
            -x * x
        }
    }
    impl Model for Other {
        fn columns(&self) -> Vec<Column> {
            vec![Column::new("x", Role::Slow)]
        }
        fn report(&self, x: &[f64], _: &[f64], _: &f64, row: &mut [f64]) {
            row[0] = x[0];
        }
        fn start(&self, _: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
            Ok((vec![0.0], vec![]))
        }
    }
    let error = Run::open(&place.at("run"), Arc::new(Other)).unwrap_err();
    assert!(error.to_string().contains("other columns"), "{error}");
}

#[test]
fn settings_that_make_no_sense_are_refused_before_anything_is_written() {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    let wrong = [
        Settings {
            chains: 0,
            ..settings(10)
        },
        settings(0),
        Settings {
            threads: Some(0),
            ..settings(10)
        },
        Settings {
            latent_every: 0,
            ..settings(10)
        },
        Settings {
            cost: Cost::Ratio(f64::NAN),
            ..settings(10)
        },
        Settings {
            warmup: Some(3),
            ..settings(10)
        },
        Settings {
            stop: Some(StopTarget {
                rhat: 0.9,
                ess: 10.0,
            }),
            ..settings(10)
        },
        Settings {
            evaluation_limit: Some(Duration::ZERO),
            ..settings(10)
        },
    ];
    for settings in wrong {
        let error = create(&place.at("run"), &model, settings).unwrap_err();
        assert!(matches!(error, Error::Setting { .. }), "{error}");
        assert!(!place.at("run").exists());
    }
}

/// Cases of each fuzz test: five tests, a million in all in the long version.
fn cases() -> u32 {
    if std::env::var_os("TOWLINE_LONG").is_some() {
        250_000
    } else {
        2000
    }
}

/// Bytes that are a valid file but for some places.
fn nearly(valid: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = valid.len();
    let changes = prop::collection::vec((0..length.max(1), any::<u8>()), 1..8);
    (changes, 0..=length).prop_map(move |(changes, cut)| {
        let mut bytes = valid.clone();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        if cut % 4 == 0 {
            bytes.truncate(cut);
        }
        bytes
    })
}

/// The files of a small run.
fn small_run() -> (Vec<u8>, Vec<u8>) {
    let (place, model) = (Place::new(), Arc::new(Wavy::default()));
    create(&place.at("run"), &model, settings(20)).unwrap();
    let read = |name: &str| fs::read(place.at("run").join(name)).unwrap();
    (read("manifest.json"), read("checkpoint-0.bin"))
}

fn fuzz(what: impl Strategy<Value = Vec<u8>>, reader: impl Fn(&[u8])) {
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..Default::default()
    };
    let mut runner = prop::test_runner::TestRunner::new_with_rng(
        config,
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&what, |bytes| {
            reader(&bytes);
            Ok(())
        })
        .unwrap();
}

const ANY: Range<usize> = 0..300;

#[test]
fn no_bytes_make_the_readers_panic() {
    let path = Path::new("fuzzed");
    let any_bytes = || prop::collection::vec(any::<u8>(), ANY);
    fuzz(any_bytes(), |bytes| {
        assert!(Manifest::parse(path, bytes).is_err());
        assert!(Checkpoint::parse(path, bytes).is_err());
    });
    let (manifest, checkpoint) = small_run();
    assert!(
        Manifest::parse(path, &manifest).is_ok() && Checkpoint::parse(path, &checkpoint).is_ok()
    );
    fuzz(nearly(manifest), |bytes| {
        let _ = Manifest::parse(path, bytes);
    });
    fuzz(nearly(checkpoint.clone()), |bytes| {
        assert!(bytes == checkpoint || Checkpoint::parse(path, bytes).is_err());
    });
}

#[test]
fn no_bytes_make_the_readers_of_rows_and_failures_panic() {
    let place = Place::new();
    let (rows, folder) = (place.at("chain-0.f64"), place.at(""));
    fuzz(prop::collection::vec(any::<u8>(), ANY), |bytes| {
        fs::write(&rows, bytes).unwrap();
        for width in [0, 1, 3] {
            let draws = Draws::open(&rows, width).unwrap();
            let columns = draws.columns(&[0, 2]).unwrap();
            let whole = bytes.len().checked_div(8 * width).unwrap_or(0);
            assert_eq!(columns[0].len(), whole);
        }
        fs::write(place.at("failures.jsonl"), bytes).unwrap();
        Failures::read(&folder).unwrap();
    });
}
