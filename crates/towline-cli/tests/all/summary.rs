//! `towline summary` and `towline export` on a real run directory, and on what is none.

use assert_cmd::Command;
use serde_json::Value;

fn towline(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("towline").unwrap();
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_run_is_summarised_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let dir = run.to_str().unwrap();
    let quick = [
        "--chains",
        "2",
        "--draws",
        "200",
        "--seed",
        "2",
        "--cost-ratio",
        "100",
        "--quiet",
    ];
    let made = towline(&[&["run", "neal1", "--out", dir][..], &quick].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));

    let table = text(&towline(&["summary", dir]).stdout);
    for part in [
        "mean",
        "ESS bulk",
        "R-hat",
        "2 chains of 200 draws",
        "per slow evaluation",
    ] {
        assert!(table.contains(part), "{part} is not in\n{table}");
    }

    let json: Value = serde_json::from_slice(&towline(&["summary", dir, "--json"]).stdout).unwrap();
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(
        keys(&json),
        [
            "parameters",
            "remarks",
            "run",
            "trust",
            "verdict",
            "warnings"
        ]
    );
    assert_eq!(
        keys(&json["parameters"][0]),
        [
            "ess_bulk",
            "ess_tail",
            "mcse_mean",
            "mean",
            "median",
            "name",
            "q5",
            "q95",
            "rhat",
            "sd"
        ]
    );
    assert_eq!(
        keys(&json["run"]),
        [
            "chains",
            "cpu_seconds",
            "draws",
            "fast_evals",
            "frame",
            "inner_acceptance",
            "n",
            "outer_acceptance",
            "seconds",
            "slow_evals"
        ]
    );
    assert_eq!(
        (&json["run"]["chains"], &json["run"]["draws"]),
        (&2.into(), &200.into())
    );

    let one: Value =
        serde_json::from_slice(&towline(&["summary", dir, "--json", "--params", "y"]).stdout)
            .unwrap();
    assert_eq!(one["parameters"].as_array().unwrap().len(), 1);
    assert_eq!(one["parameters"][0], json["parameters"][1]);

    for format in ["csv", "getdist", "zarr"] {
        let out = towline(&["export", dir, "--to", format]);
        assert!(out.status.success(), "{format}: {}", text(&out.stderr));
        // An export replaces an earlier one.
        assert!(towline(&["export", dir, "--to", format]).status.success());
    }
    // But never anything else.
    let other = towline(&["export", dir, "--to", "zarr", "--out", dir]);
    assert!(
        text(&other.stderr).contains("is no Zarr store"),
        "{}",
        text(&other.stderr)
    );
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    for arguments in [
        &["summary", dir][..],
        &["report", dir, "--open", "no"],
        &["export", dir, "--to", "csv"],
    ] {
        let out = towline(arguments);
        assert_eq!(out.status.code(), Some(1));
        assert!(
            text(&out.stderr).contains("manifest.json"),
            "{}",
            text(&out.stderr)
        );
    }
}
