//! `towline-mpi` under `mpirun`: the bits of threads; killed, stopped, broken, on another number of ranks.

use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use towline::Rng;
use towline::store::{Checkpoint, RunDir};

/// The longest that anything here may take, on a busy machine too: what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(120);
const CHAINS: usize = 4;

/// A command whose ranks can be found again: by a word in their environment.
struct Job {
    command: Command,
    mark: String,
}

/// What a command said, and its exit code.
struct Said {
    words: String,
    code: Option<i32>,
}

fn is_long() -> bool {
    std::env::var_os("TOWLINE_LONG").is_some()
}

/// A program on so many ranks.
fn ranks(number: usize, program: &Path) -> Job {
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(number.to_string())
        .arg(program);
    marked(command)
}

fn marked(mut command: Command) -> Job {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let mark = format!("{}-{number}", std::process::id());
    command.env("TOWLINE_TEST_MARK", &mark).process_group(0);
    Job { command, mark }
}

fn mpi(number: usize) -> Job {
    ranks(number, &cargo_bin("towline-mpi"))
}

/// The command without MPI, which is the same program with one rank that nobody started.
fn towline() -> Job {
    marked(Command::new(cargo_bin("towline-mpi")))
}

impl Job {
    fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    fn on(mut self, folder: &Path) -> Self {
        self.command.arg(folder);
        self
    }

    /// The processes that run the program now (mpirun itself is none of them), by rank.
    fn processes(&self) -> Vec<(String, u32)> {
        let mark = format!("TOWLINE_TEST_MARK={}", self.mark);
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|s| s.parse().ok()) else {
                continue;
            };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let words: Vec<&str> = environment
                .split(|&byte| byte == 0)
                .filter_map(|word| std::str::from_utf8(word).ok())
                .collect();
            let rank = words
                .iter()
                .find_map(|word| word.strip_prefix("OMPI_COMM_WORLD_RANK="));
            if let (true, Some(rank)) = (words.contains(&mark.as_str()), rank) {
                found.push((rank.to_owned(), id));
            }
        }
        found.sort();
        found
    }

    /// Runs it to its end.
    fn finish(mut self) -> Said {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command.spawn().unwrap();
        self.await_end(child)
    }

    fn await_end(&self, mut child: std::process::Child) -> Said {
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let reader = std::thread::spawn(move || {
            let mut words = String::new();
            if let Some(err) = &mut err {
                err.read_to_string(&mut words).unwrap();
            }
            if let Some(out) = &mut out {
                out.read_to_string(&mut words).unwrap();
            }
            words
        });
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                signal("KILL", child.id());
                self.processes().iter().for_each(|p| signal("KILL", p.1));
                panic!("it hangs: {}", reader.join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Said {
            words: reader.join().unwrap(),
            code: status.code(),
        }
    }

    /// Waits until none of its processes is left.
    fn await_gone(&self) {
        let begun = Instant::now();
        while !self.processes().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "ranks are left behind");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn signal(name: &str, process: u32) {
    // It may have ended by itself.
    let _ = Command::new("kill")
        .arg(format!("-{name}"))
        .arg(process.to_string())
        .stderr(Stdio::null())
        .status();
}

/// Every file of draws, as bytes.
fn draws(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "f64"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn well(said: Said) -> String {
    assert_eq!(said.code, Some(0), "{}", said.words);
    said.words
}

const NEAL1: [&str; 6] = ["run", "neal1", "--cost-ratio", "100", "--quiet", "--chains"];

/// A run on threads, to compare with.
fn on_threads(folder: &Path, draws: &str) {
    well(
        towline()
            .args(&NEAL1)
            .args(&["4", "--draws", draws, "--out"])
            .on(folder)
            .finish(),
    );
}

#[test]
fn ranks_make_the_draws_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    on_threads(&place("threads"), "2000");
    let expected = draws(&place("threads"));
    assert_eq!(expected.len(), CHAINS);
    // As many as there are chains, which is the default; fewer; more.
    let said = well(
        mpi(4)
            .args(&["run", "neal1", "--cost-ratio", "100", "--out"])
            .on(&place("four"))
            .finish(),
    );
    assert!(said.contains("4 chains of 2000 draws"), "{said}");
    assert_eq!(said.matches("next:").count(), 1, "{said}");
    assert!(draws(&place("four")) == expected);
    for number in [3, 5] {
        let name = number.to_string();
        let job = mpi(number).args(&NEAL1).args(&["4", "--out"]);
        well(job.on(&place(&name)).finish());
        assert!(draws(&place(&name)) == expected, "{number} ranks");
    }
}

#[test]
fn a_fit_with_latents_is_the_same_on_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/glmm_epil/model.toml");
    let settings = [
        "--cost-ratio",
        "20",
        "--warmup",
        "60",
        "--draws",
        "40",
        "--chains",
        "4",
    ];
    let fit = |job: Job, name: &str| {
        let place = folder.path().join(name);
        well(
            job.args(&["fit"])
                .on(&model)
                .args(&settings)
                .args(&["--out"])
                .on(&place)
                .finish(),
        );
        draws(&place)
    };
    let expected = fit(towline(), "threads");
    assert!(expected.iter().any(|file| file.0 == "latents-3.f64"));
    assert!(fit(mpi(4), "ranks") == expected);
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    /// mpirun and all ranks.
    All,
    /// mpirun alone.
    Mpirun,
    /// One rank.
    Rank(usize),
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    // So many draws that a quick machine has not made them all before the last kill.
    let (kills, number) = (if is_long() { 50 } else { 6 }, "400000");
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    on_threads(&whole, number);
    let mut rng = Rng::stream(7, 0);
    let mut hit = 0;
    let checkpoint = |k: usize| fs::read(broken.join(format!("checkpoint-{k}.bin"))).ok();
    for kill in 0..kills {
        // Now and then on another number of ranks.
        let count = [4, 4, 2, 4, 3, 4][kill % 6];
        let job = if broken.join("manifest.json").exists() {
            mpi(count).args(&["resume", "--quiet"]).on(&broken)
        } else {
            let job = mpi(count)
                .args(&NEAL1)
                .args(&["4", "--draws", number, "--out"]);
            job.on(&broken)
        };
        let mut job = job.args(&["--checkpoint-every", "0.005s"]);
        job.command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = job.command.spawn().unwrap();
        // A quarter at any time after the start, mostly in warm-up; the others some time after a checkpoint was written.
        if kill >= kills / 4 {
            let before = checkpoint(kill % CHAINS);
            while checkpoint(kill % CHAINS) == before && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_secs_f64(rng.between(0.0, 0.05)));
        } else {
            std::thread::sleep(Duration::from_secs_f64(rng.between(0.2, 1.0)));
        }
        let rows = |k| Checkpoint::read(&broken, k).unwrap().map_or(0, |c| c.rows);
        let all: u64 = number.parse().unwrap();
        let under_way = kill < kills / 4 || (0..CHAINS).any(|k| rows(k) > 0 && rows(k) < all);
        hit += usize::from(child.try_wait().unwrap().is_none() && under_way);
        let victim = match kill % 3 {
            0 => Victim::All,
            1 => Victim::Rank((rng.uniform() * count as f64) as usize),
            _ => Victim::Mpirun,
        };
        let processes = job.processes();
        if matches!(victim, Victim::All | Victim::Mpirun) {
            signal("KILL", child.id());
        }
        for (rank, process) in processes {
            if victim == Victim::All || victim == Victim::Rank(rank.parse().unwrap()) {
                signal("KILL", process);
            }
        }
        let said = job.await_end(child);
        // A rank alone: mpirun says so, and ends the others.
        if let (Victim::Rank(_), Some(code)) = (victim, said.code)
            && code != 0
        {
            assert!(said.words.contains("Killed"), "{}", said.words);
        }
        job.await_gone();
    }
    assert!(2 * hit > kills, "only {hit} of {kills} were killed at work");
    let said = well(mpi(4).args(&["resume"]).on(&broken).finish());
    assert!(said.contains("finished: 4 chains"), "{said}");
    assert!(draws(&whole) == draws(&broken), "the draws differ");
    for entry in fs::read_dir(&broken).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            !name.starts_with("warmup-") && !name.starts_with("lock-"),
            "{name}"
        );
    }
}

#[test]
fn a_stopped_run_goes_on_with_two_ranks_one_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    on_threads(&whole, "60000");
    let settings = ["4", "--draws", "60000", "--out"];
    let begin = mpi(4).args(&NEAL1).args(&settings).on(&broken);
    // What mpirun does at Ctrl-C is to tell every rank to end; a queue may tell one alone.
    let stop_one = |mut job: Job, rank: usize| {
        job.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = job.command.spawn().unwrap();
        let rows = || {
            let run = RunDir::open(&broken).ok();
            run.map_or(0, |run| run.common_rows())
        };
        let (before, begun) = (rows(), Instant::now());
        while rows() == before && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let process = job.processes()[rank].1;
        signal("TERM", process);
        let said = job.await_end(child);
        let made = rows();
        assert!(
            made > before && made < 60_000,
            "{made} draws: {}",
            said.words
        );
        assert_eq!(said.code, Some(130), "{}", said.words);
        assert!(said.words.contains("stopping"), "{}", said.words);
    };
    stop_one(begin.args(&["--checkpoint-every", "0.02s"]), 0);
    let resume = |number: usize| {
        let job = mpi(number).args(&["resume", "--checkpoint-every", "0.02s"]);
        job.on(&broken)
    };
    stop_one(resume(2), 0);
    well(resume(1).args(&["--time-limit", "0.1s"]).finish());
    well(towline().args(&["resume"]).on(&broken).finish());
    assert!(draws(&whole) == draws(&broken), "the draws differ");
}

fn broken() -> PathBuf {
    // Beside the tests' own folder, where cargo puts examples.
    cargo_bin("towline-mpi").with_file_name("examples/broken")
}

#[test]
fn a_model_that_fails_on_one_rank_ends_all_with_a_message() {
    let folder = tempfile::tempdir().unwrap();
    // In warm-up and after it; an error, a panic, and a panic of the rank itself.
    let cases = [
        ("err", "30", "1", "the table ends here"),
        ("panic", "20000", "3", "the solver broke down"),
        ("err", "20000", "0", "the table ends here"),
        ("main", "0", "2", "this rank broke down"),
    ];
    for (case, (how, most, rank, message)) in cases.iter().enumerate() {
        let place = folder.path().join(case.to_string());
        let job = ranks(4, &broken()).on(&place).args(&[how, most, rank]);
        let said = job.finish();
        assert!(said.code.is_some_and(|code| code != 0), "{}", said.words);
        assert!(
            said.words.contains(message),
            "{how} on {rank}: {}",
            said.words
        );
        if *how == "err" && *rank == "1" {
            assert!(said.words.contains("(rank 1)"), "{}", said.words);
        }
    }
}

#[test]
fn a_disk_that_is_full_on_one_rank_ends_all_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    on_threads(&whole, "20000");
    let script =
        "if [ $OMPI_COMM_WORLD_RANK = 2 ]; then trap '' XFSZ; ulimit -f 600; fi; exec \"$@\"";
    let said = ranks(4, Path::new("sh"))
        .args(&["-c", script, "sh"])
        .on(&cargo_bin("towline-mpi"))
        .args(&NEAL1)
        .args(&["4", "--draws", "20000", "--out"])
        .on(&broken)
        .finish();
    assert_eq!(said.code, Some(1), "{}", said.words);
    assert!(
        said.words.contains("cannot write") && said.words.contains("towline resume"),
        "{}",
        said.words
    );
    well(mpi(4).args(&["resume"]).on(&broken).finish());
    assert!(draws(&whole) == draws(&broken));
}

#[test]
fn what_is_refused_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    for (args, message, code) in [
        (vec!["resume", "nowhere"], "no such directory", 1),
        (vec!["run", "neal3"], "there is no built-in example", 2),
        (vec!["run", "neal1", "--draws"], "a value is required", 2),
        (vec!["run", "neal1", "--draws", "0"], "at least 1", 2),
    ] {
        let mut job = mpi(3).args(&args);
        job.command.current_dir(folder.path());
        let said = job.finish();
        assert_eq!(said.code, Some(code), "{}", said.words);
        assert_eq!(said.words.matches(message).count(), 1, "{}", said.words);
    }
    let said = well(mpi(3).args(&["run", "list"]).finish());
    assert_eq!(said.matches("neal2").count(), 1, "{said}");
}
