//! `towline paper` as its users meet it: the binary, in temporary folders.

use assert_cmd::Command;
use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

fn towline(folder: &Path, arguments: &str) -> Command {
    let mut command = cargo_bin_cmd!("towline");
    command
        .current_dir(folder)
        .args(arguments.split_whitespace());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_short_run_writes_six_figures_and_every_row() {
    let folder = TempDir::new().unwrap();
    let arguments = "paper --iterations 2000 --out figures --json rows.json";
    let output = towline(folder.path(), arguments).assert().success();

    for name in ["figure1", "figure2", "figure3"] {
        for ending in ["svg", "png"] {
            let file = folder
                .path()
                .join("figures")
                .join(format!("{name}.{ending}"));
            assert!(fs::metadata(file).unwrap().len() > 10_000);
        }
    }
    let table = text(&output.get_output().stdout);
    assert!(table.contains("1 drag 500") && table.contains("figure3.png"));

    let json: Value =
        serde_json::from_slice(&fs::read(folder.path().join("rows.json")).unwrap()).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {} {}", row["test"], row["method"], row["n"]))
        .collect();
    let methods = [
        "\"joint\" null",
        "\"single\" null",
        "\"marginal\" null",
        "\"drag\" 20",
        "\"drag\" 100",
        "\"drag\" 500",
    ];
    let expected: Vec<String> = [1, 2]
        .iter()
        .flat_map(|test| methods.iter().map(move |method| format!("{test} {method}")))
        .collect();
    assert_eq!(names, expected);
    for row in rows {
        check_row(row);
    }
}

#[test]
fn frames_come_after_the_papers_rows_and_reach_the_ideal() {
    let folder = TempDir::new().unwrap();
    let run = |flags: &str| {
        let arguments =
            format!("paper -q --iterations 8000 --out figures --json rows.json {flags}");
        let output = towline(folder.path(), &arguments).assert().success();
        let json = fs::read(folder.path().join("rows.json")).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let rows = json["rows"].as_array().unwrap().clone();
        (rows, text(&output.get_output().stdout))
    };
    let (plain, _) = run("");
    assert!(!folder.path().join("figures/frames.svg").exists());
    let (rows, table) = run("--frames");
    assert_eq!(rows[..plain.len()], plain, "the paper's rows are the same");
    for ending in ["svg", "png"] {
        let file = folder.path().join(format!("figures/frames.{ending}"));
        assert!(fs::metadata(file).unwrap().len() > 10_000);
    }
    for test in [1, 2] {
        let of = |method: &str| {
            let is = |row: &&Value| row["test"] == test && row["method"] == method;
            rows.iter().filter(is).collect::<Vec<_>>()
        };
        let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
        let per_slow = |row: &Value| number(row, "fast_evals") / number(row, "slow_evals");
        let framed = of("drag-framed");
        let intervals: Vec<_> = framed.iter().map(|row| row["n"].clone()).collect();
        assert_eq!(intervals, [1, 2, 3]);
        for row in framed {
            assert_eq!(row["frame"], "laplace");
            // Four standard errors; a drag with y held still would never be done.
            let bound = 5.038 + 4.0 * number(row, "act_se");
            assert!(number(row, "act") < bound, "{row}");
            assert!(per_slow(row) <= 30.5, "{row}");
        }
        let [auto] = of("auto")[..] else {
            panic!("one row of warm-up's choice in test {test}");
        };
        let each = number(auto, "slow_evals") / number(auto, "iterations");
        // 1.3 in long runs, within four standard errors of this short one.
        let bound = 1.35 + 4.0 * each * number(auto, "act_se");
        assert!(number(auto, "act") * each <= bound, "{auto}");
        assert!(number(auto, "act_se") < 0.25, "{auto}");
        assert!(per_slow(auto) <= 41.0, "{auto}");
        assert!(auto["n"].is_null() && auto["frame"].is_null());
        let lengths: Vec<_> = of("drag").iter().map(|row| row["n"].clone()).collect();
        assert_eq!(lengths, [20, 100, 500, 1, 2, 5, 10, 50, 200, 1000]);
        assert!(table.contains(&format!("{test} drag-framed 1")), "{table}");
        assert!(table.contains(&format!("{test} auto")), "{table}");
    }
}

/// The keys promised in issue 2, and values that can be so.
fn check_row(row: &Value) {
    for key in ["outer_rejection", "outer_rejection_se", "act"] {
        assert!(row[key].is_number(), "{key} of {row}");
    }
    let is_fast = row["method"] == "drag" || row["method"] == "single";
    assert_eq!(row["inner_rejection"].is_number(), is_fast, "{row}");
    assert!(row.get("act_se").is_some());
    let iterations = row["iterations"].as_u64().unwrap();
    assert!((2000..2100).contains(&iterations), "{row}");
    assert!(row["slow_evals"].as_u64().unwrap() >= iterations);
    assert!(row["fast_evals"].as_u64().unwrap() >= iterations);
    let paper = row["paper"].as_object().unwrap();
    for key in ["outer_rejection", "inner_rejection", "act"] {
        assert!(paper.contains_key(key), "paper's {key} of {row}");
    }
    // 2000 iterations suffice for one digit of a rate.
    let precise = row["reference"]["outer_rejection"].as_f64().unwrap();
    assert!((row["outer_rejection"].as_f64().unwrap() - precise).abs() < 0.1);
}

#[test]
fn the_number_of_threads_does_not_change_a_bit() {
    let folder = TempDir::new().unwrap();
    let run = |threads: u32| {
        let arguments =
            format!("paper -q --frames --iterations 1000 --json rows.json --threads {threads}");
        towline(folder.path(), &arguments).assert().success();
        fs::read(folder.path().join("rows.json")).unwrap()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn another_seed_gives_other_numbers() {
    let folder = TempDir::new().unwrap();
    let run = |seed: u32| {
        let arguments = format!("paper -q --iterations 100 --json rows.json --seed {seed}");
        towline(folder.path(), &arguments).assert().success();
        fs::read(folder.path().join("rows.json")).unwrap()
    };
    assert_ne!(run(1), run(2));
}

#[test]
fn options_that_make_no_sense_are_refused_with_a_sentence_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (arguments, sentence) in [
        ("paper --iterations 0", "ask for at least 1"),
        ("paper --threads 0", "ask for at least 1"),
        ("paper --out file", "is a file"),
        ("paper --json missing/rows.json", "create it first"),
        ("paper --iterations many", "invalid value 'many'"),
        ("paper --seed -1", "invalid value '-1' for '--seed <N>'"),
        ("paper --speed 3", "unexpected argument '--speed'"),
        ("papers", "unrecognized subcommand 'papers'"),
        ("", "Usage"),
    ] {
        let output = towline(folder.path(), arguments).assert().code(2);
        let error = text(&output.get_output().stderr);
        assert!(error.contains(sentence), "{arguments}: {error}");
        assert!(!error.contains("panicked"), "{arguments}: {error}");
    }
    assert!(!folder.path().join("paper").exists());
}

#[test]
fn help_shows_an_example_and_version_a_number() {
    let folder = TempDir::new().unwrap();
    for arguments in ["--help", "paper --help", "paper -h"] {
        let output = towline(folder.path(), arguments).assert().success();
        let help = text(&output.get_output().stdout);
        assert!(help.contains("Example") && help.contains("towline paper"));
    }
    let output = towline(folder.path(), "--version").assert().success();
    let version = text(&output.get_output().stdout);
    assert_eq!(
        version.trim(),
        concat!("towline ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn off_a_terminal_stderr_has_plain_lines_and_none_when_quiet() {
    let folder = TempDir::new().unwrap();
    let output = towline(folder.path(), "paper --iterations 100").assert();
    let lines = text(&output.success().get_output().stderr);
    assert_eq!(lines.lines().count(), 13, "{lines}");
    let is_plain = |c: char| c == '\n' || !c.is_control();
    assert!(lines.chars().all(is_plain), "{lines:?}");

    let output = towline(folder.path(), "paper --iterations 100 --quiet").assert();
    assert!(output.success().get_output().stderr.is_empty());
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let folder = TempDir::new().unwrap();
    let mut child = std::process::Command::new(cargo_bin!("towline"))
        .current_dir(folder.path())
        .args(["paper", "--iterations", "100"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!text(&output.stderr).contains("panicked"));
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let output = towline(folder.path(), "paper -q --iterations 100 --out file/below").assert();
    let error = text(&output.code(1).get_output().stderr);
    assert!(error.contains("file/below"), "{error}");
}
