//! `towline run --error` and `towline evidence` from outside.

use assert_cmd::cargo::cargo_bin;
use std::path::Path;
use std::process::{Command, Output};

fn towline(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(cargo_bin("towline"));
    command
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn an_error_is_asked_for_and_evidence_exports_and_a_smaller_error_follow() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |arguments: &[&str]| towline(arguments, folder.path());
    let run = [
        "run",
        "neal1",
        "--error",
        "0.05",
        "--cost-ratio",
        "1000",
        "--seed",
        "3",
        "--workers",
        "3",
    ];
    let said = text(&ask(&run));
    assert!(said.contains("slow points weighed in neal1"), "{said}");
    assert!(
        said.contains("worth draws") && said.contains("towline evidence neal1"),
        "{said}"
    );
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&text(&ask(arguments))).unwrap()
    };
    let summary = json(&["summary", "neal1", "--json"]);
    let x = &summary["parameters"][0]["estimate"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(number(&x["se"]) <= 0.05 * number(&x["sd"]), "{x}");
    let worth = (number(&x["sd"]) / number(&x["se"])).powi(2);
    assert!((number(&x["equivalent_draws"]) / worth - 1.0).abs() < 1e-9);
    let slow = number(&summary["run"]["slow_evals"]);
    // ½ ln(π/50) + ln(π e erfc 1).
    let evidence = json(&["evidence", "neal1", "--json"]);
    let off = number(&evidence["ln_z"]) + 1.088_5;
    assert!(
        off.abs() < 4.0 * number(&evidence["se"]) + 1e-4,
        "{evidence}"
    );
    assert!(text(&ask(&["evidence", "neal1"])).contains("normalised priors"));
    let csv = text(&ask(&["export", "neal1", "--to", "csv"]));
    assert!(csv.contains("weighted draws written"), "{csv}");
    let table = std::fs::read_to_string(folder.path().join("neal1/draws.csv")).unwrap();
    assert!(
        table.starts_with("x,y,log_density,weight\n"),
        "{}",
        &table[..60]
    );
    text(&ask(&["export", "neal1", "--to", "getdist"]));
    let first = std::fs::read_to_string(folder.path().join("neal1/getdist/run_1.txt")).unwrap();
    assert_eq!(first.lines().next().unwrap().split(' ').count(), 4);
    // A smaller error: points are added to those there are.
    text(&ask(&["resume", "neal1", "--error", "0.01"]));
    let after = json(&["summary", "neal1", "--json"]);
    let x = &after["parameters"][0]["estimate"];
    assert!(number(&x["se"]) <= 0.01 * number(&x["sd"]), "{x}");
    assert!(number(&after["run"]["slow_evals"]) >= slow);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = towline(&["run", "neal1", "--error", "3"], folder.path());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(2) && said.contains("such as 0.03"),
        "{said}"
    );
    let plain = [
        "run",
        "neal1",
        "--draws",
        "50",
        "--chains",
        "1",
        "--cost-ratio",
        "100",
        "--quiet",
    ];
    text(&towline(&plain, folder.path()));
    let none = towline(&["evidence", "neal1"], folder.path());
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(
        none.status.code() == Some(1) && said.contains("--error"),
        "{said}"
    );
}
