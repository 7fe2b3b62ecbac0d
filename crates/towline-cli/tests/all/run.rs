//! `towline run` and `towline resume` from outside: killed, stopped, out of disk, asked for nonsense.

use assert_cmd::cargo::cargo_bin;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use towline::Rng;
use towline::store::{Checkpoint, RunDir};

const CHAINS: usize = 4;

fn towline() -> Command {
    Command::new(cargo_bin("towline"))
}

fn run(folder: &Path, more: &[&str]) -> Command {
    let mut command = towline();
    command
        .args(["run", "neal1", "--cost-ratio", "100", "--quiet", "--out"])
        .arg(folder)
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn resume(folder: &Path, more: &[&str]) -> Command {
    let mut command = towline();
    command.arg("resume").arg(folder).args(more);
    command
}

fn draws(folder: &Path) -> Vec<Vec<u8>> {
    (0..CHAINS)
        .map(|k| fs::read(folder.join(format!("chain-{k}.f64"))).unwrap())
        .collect()
}

fn words(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

fn is_long() -> bool {
    std::env::var_os("TOWLINE_LONG").is_some()
}

/// Whether some chain has stored draws, and not all of them.
fn is_under_way(folder: &Path, draws: &str) -> bool {
    let rows = |k| Checkpoint::read(folder, k).unwrap().map_or(0, |c| c.rows);
    let all: u64 = draws.parse().unwrap();
    (0..CHAINS).any(|k| rows(k) > 0 && rows(k) < all)
}

/// Killed at random moments, in warm-up and in production, and resumed each time.
fn killed_again_and_again(threads: &str, seed: u64) {
    let kills = if is_long() { 50 } else { 8 };
    let number = if is_long() { "400000" } else { "100000" };
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let settings = ["--draws", number, "--threads", threads];
    assert!(run(&whole, &settings).status().unwrap().success());

    let mut rng = Rng::stream(seed, 0);
    let mut hit = 0;
    let checkpoint = |k: usize| fs::read(broken.join(format!("checkpoint-{k}.bin"))).ok();
    for kill in 0..kills {
        let mut command = if broken.join("manifest.json").exists() {
            resume(&broken, &["--quiet", "--threads", threads])
        } else {
            run(&broken, &settings)
        };
        command.args(["--checkpoint-every", "0.005s"]);
        let mut child = command.stdout(Stdio::null()).spawn().unwrap();
        // A quarter at any time after the start, mostly in warm-up; the others while draws are made, some time
        // after a checkpoint was written, so that there is something to go on from.
        if kill >= kills / 4 {
            let before = checkpoint(kill % CHAINS);
            while checkpoint(kill % CHAINS) == before && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_secs_f64(rng.between(0.0, 0.02)));
        let at_work = child.try_wait().unwrap().is_none();
        hit += usize::from(at_work && (kill < kills / 4 || is_under_way(&broken, number)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let missing = !broken.join("manifest.json").exists();
    let mut last = if missing {
        run(&broken, &settings)
    } else {
        resume(&broken, &["--quiet"])
    };
    let output = last.output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(2 * hit > kills, "only {hit} of {kills} were killed at work");
    assert!(draws(&whole) == draws(&broken), "the draws differ");
    let names = fs::read_dir(&broken).unwrap();
    for name in names.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        assert!(!name.starts_with("warmup-"), "{name} was left behind");
    }
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes_on_1_thread() {
    killed_again_and_again("1", 1);
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes_on_2_threads() {
    killed_again_and_again("2", 2);
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes_on_4_threads() {
    killed_again_and_again("4", 3);
}

#[test]
fn resuming_with_more_draws_is_a_longer_run() {
    let folder = tempfile::tempdir().unwrap();
    let (long, short) = (folder.path().join("long"), folder.path().join("short"));
    assert!(run(&long, &["--draws", "900"]).status().unwrap().success());
    assert!(run(&short, &["--draws", "300"]).status().unwrap().success());
    let output = resume(&short, &["--draws", "900", "--threads", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(
        words(&output).contains("4 chains of 900 draws"),
        "{}",
        words(&output)
    );
    assert!(draws(&long) == draws(&short));
    // What the run left is what the command says.
    let said = towline()
        .args(["summary", "--json"])
        .arg(&short)
        .output()
        .unwrap();
    let stored = fs::read_to_string(short.join("summary.json")).unwrap();
    assert_eq!(stored, String::from_utf8(said.stdout).unwrap());
    assert!(stored.contains("\"draws\": 900"), "{stored}");
    let fewer = resume(&short, &["--draws", "10"]).output().unwrap();
    assert!(
        words(&fewer).contains("has 900 already"),
        "{}",
        words(&fewer)
    );
}

#[test]
fn resume_refuses_other_settings_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let output = resume(folder.path(), &["--seed", "7", "--chains", "3"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = words(&output);
    assert!(
        words.contains("--chains and --seed cannot be given"),
        "{words}"
    );
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let output = resume(folder.path(), &[]).output().unwrap();
    assert!(
        words(&output).contains("not a run directory"),
        "{}",
        words(&output)
    );
    let output = resume(&folder.path().join("nothing"), &[])
        .output()
        .unwrap();
    assert!(
        words(&output).contains("no such directory"),
        "{}",
        words(&output)
    );
    assert!(!folder.path().join("nothing").exists());
    let output = towline().args(["run", "neal3"]).output().unwrap();
    assert!(
        words(&output).contains("neal1, neal2"),
        "{}",
        words(&output)
    );
}

#[test]
fn a_second_run_in_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    assert!(run(&place, &["--draws", "10"]).status().unwrap().success());
    let output = run(&place, &[]).stderr(Stdio::piped()).output().unwrap();
    assert!(
        words(&output).contains("holds a run already"),
        "{}",
        words(&output)
    );
}

#[test]
fn ctrl_c_and_the_time_limit_leave_a_run_that_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    assert!(
        run(&whole, &["--draws", "120000"])
            .status()
            .unwrap()
            .success()
    );
    let settings = ["--draws", "120000", "--time-limit", "0.1s"];
    assert!(run(&broken, &settings).status().unwrap().success());
    let made = RunDir::open(&broken).unwrap().common_rows();
    assert!(made < 120_000, "the time limit did not stop it");

    let mut child = resume(&broken, &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let code = child.wait().unwrap().code();
    let made = RunDir::open(&broken).unwrap().common_rows();
    assert_eq!(code, Some(130), "stopped at {made} draws");
    let output = resume(&broken, &[]).output().unwrap();
    assert!(
        words(&output).contains("finished: 4 chains of 120000 draws"),
        "{}",
        words(&output)
    );
    assert!(draws(&whole) == draws(&broken));
}

/// A limit on the size of files stands for a full disk: the system refuses to write more.
#[test]
#[cfg(unix)]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let settings = ["--draws", "20000"];
    assert!(run(&whole, &settings).status().unwrap().success());
    let script = "trap '' XFSZ; ulimit -f 600; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(cargo_bin("towline"))
        .args(["run", "neal1", "--cost-ratio", "100", "--quiet", "--out"])
        .arg(&broken)
        .args(settings)
        .output()
        .unwrap();
    let said = words(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot write") && said.contains("make room"),
        "{said}"
    );
    let output = resume(&broken, &[]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert!(draws(&whole) == draws(&broken));
}

#[test]
fn a_run_can_be_given_the_tuning_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    assert!(run(&first, &["--draws", "10"]).status().unwrap().success());
    let manifest = first.join("manifest.json");
    let status = run(&second, &["--draws", "10", "--tuning"])
        .arg(&manifest)
        .status();
    assert!(status.unwrap().success());
    let (first, second) = (
        RunDir::open(&first).unwrap(),
        RunDir::open(&second).unwrap(),
    );
    assert_eq!(first.manifest().tuning, second.manifest().tuning);
    // Nothing is learned: only the way from the start to the posterior is walked.
    let warmup = second.checkpoints().unwrap()[0].as_ref().unwrap().warmup;
    assert!(warmup.slow_evaluations < 100);
}
