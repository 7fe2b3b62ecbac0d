//! Run directories with random damage to one of their files: no panic, no case over ten seconds, and nothing that is read
//! from them but what was written, or an error with words in it.
//!
//! 500 cases in normal tests, 20,000 with TOWLINE_LONG=1.

use assert_cmd::Command;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use towline::Rng;
use towline_models::Table;

/// What one case may take.
const LONGEST: Duration = Duration::from_secs(10);
/// Any: fixed, so that a failure comes again.
const SEED: u64 = 15;

fn towline(folder: &Path, arguments: &[&str]) {
    let mut command = Command::cargo_bin("towline").unwrap();
    command
        .current_dir(folder)
        .args(arguments)
        .assert()
        .success();
}

fn below(rng: &mut Rng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n.saturating_sub(1))
}

/// Bytes with one to three pieces of damage.
fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=below(rng, 3) {
        let at = below(rng, bytes.len());
        let to = (at + 1 + below(rng, 12)).min(bytes.len());
        match below(rng, 7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(rng, 8),
            // Another digit or letter, which a reader of text does not notice by itself.
            1 if !bytes.is_empty() => bytes[at] = b"0123456789abcxyz,:\"-"[below(rng, 20)],
            2 => drop(bytes.drain(at..to)),
            3 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            4 => bytes.truncate(at),
            5 => bytes.resize(bytes.len() + 8 * (1 + below(rng, 40)), 0),
            _ => bytes[at..to].reverse(),
        }
    }
    bytes
}

/// What is read from a run: its draws in numbers, and predictions.
fn read(dir: &Path, new: &Table) -> Result<String, String> {
    let words = |error: anyhow::Error| format!("{error:#}");
    let (summary, _) = towline_cli::summary::of(dir, &[]).map_err(words)?;
    let predicted = towline_cli::predict::predictions(dir, new, 0.9, 20).map_err(words)?;
    let effects = towline_cli::effects::of(
        dir,
        &towline_cli::effects::Asked {
            name: "g",
            contrast: None,
            level: 0.9,
            draws: 20,
        },
    );
    Ok(format!(
        "{:?} {:?} {:?}",
        summary.parameters,
        predicted.columns,
        effects.map_err(words)?.entries
    ))
}

#[test]
fn damaged_run_directories_neither_panic_nor_hang_nor_pass_silently() {
    let cases: u64 = if std::env::var_os("TOWLINE_LONG").is_some() {
        20_000
    } else {
        500
    };
    let folder = tempfile::tempdir().unwrap();
    let mut data = String::from("y,x,g\n");
    for k in 0..24 {
        data += &format!("{},{:.3},g{}\n", (7 * k + 3) % 5, f64::from(k).sin(), k % 4);
    }
    fs::write(folder.path().join("d.csv"), data).unwrap();
    let formula = "y ~ x + (1 | g)";
    let settings = ["--chains", "2", "--draws", "30", "--warmup", "100"];
    let model = [
        "--data",
        "d.csv",
        "--family",
        "poisson",
        "--formula",
        formula,
    ];
    let rest = ["--out", "run", "--cost-ratio", "10", "--quiet"];
    towline(
        folder.path(),
        &[&["fit"][..], &model, &settings, &rest].concat(),
    );
    let run = folder.path().join("run");
    let mut files: Vec<PathBuf> = fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // A lock has nothing in it, and the summary is nobody's source.
            !name.starts_with("lock") && name != "summary.json"
        })
        .collect();
    files.push(folder.path().join("d.csv"));
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    let originals: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let new = Table::parse("new.csv", "x,g\n0,g1\n1,nobody\n").unwrap();
    let whole = read(&run, &new).unwrap();
    let (send, receive) = mpsc::channel();
    // In a thread of its own, so that a case without end is noticed.
    std::thread::spawn(move || {
        for k in 0..cases {
            let mut rng = Rng::stream(SEED, k);
            let which = below(&mut rng, files.len());
            let bytes = damaged(&originals[which], &mut rng);
            let changed = bytes != originals[which];
            fs::write(&files[which], &bytes).unwrap();
            let seen = catch_unwind(AssertUnwindSafe(|| read(&run, &new)));
            fs::write(&files[which], &originals[which]).unwrap();
            let name = files[which].file_name().unwrap().to_string_lossy();
            let told = match seen {
                Err(_) => Err(format!("{name} makes it panic")),
                Ok(Ok(found)) if found == whole => Ok(false),
                Ok(Ok(_)) => Err(format!("other numbers are read from {name}, silently")),
                Ok(Err(said)) if !changed || said.len() < 15 => Err(format!("{name}: {said}")),
                Ok(Err(_)) => Ok(true),
            };
            let shown = String::from_utf8_lossy(&bytes).into_owned();
            if send.send((told, shown)).is_err() {
                return;
            }
        }
    });
    let mut refused = 0;
    for k in 0..cases {
        match receive.recv_timeout(LONGEST) {
            Ok((Ok(was), _)) => refused += u64::from(was),
            Ok((Err(what), shown)) => panic!("case {k}: {what}:\n{shown}"),
            Err(_) => panic!("case {k} takes more than ten seconds"),
        }
    }
    // Damage that is never noticed, or always, would test nothing: what follows the rows is nobody's.
    assert!(
        refused > cases / 2 && refused < cases,
        "{refused} of {cases} were refused"
    );
}
