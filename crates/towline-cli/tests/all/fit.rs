//! `towline fit`, `predict` and `map` from outside, on small data.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn towline(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("towline").unwrap();
    command.current_dir(folder);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Forty rows in eight groups at forty places.
fn write_data(folder: &Path) {
    let mut data = String::from("y,x,g,u,v\n");
    for k in 0..40 {
        let y = (7 * k + 3) % 5;
        data += &format!(
            "{y},{},g{},{},{}\n",
            f64::from(k).sin(),
            k % 8,
            k % 7,
            k / 7
        );
    }
    fs::write(folder.join("d.csv"), data).unwrap();
    let test = "x,g,u,v,y\n0.5,g1,2.5,1.5,2\n-0.5,new,3.5,2.5,1\n";
    fs::write(folder.join("new.csv"), test).unwrap();
}

#[test]
fn a_model_of_flags_is_shown_with_its_priors_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    let out = towline(folder.path())
        .args(["fit", "--data", "d.csv", "--family", "poisson", "--show"])
        .args([
            "--formula",
            "y ~ x + (1 | g)",
            "--prior",
            "sd_g=exponential(2)",
        ])
        .assert()
        .success();
    let out = text(&out.get_output().stdout);
    assert!(
        out.contains("exponential(2)") && out.contains("given"),
        "{out}"
    );
    assert!(out.contains("1 slow parameter, 10 fast"), "{out}");
    assert!(!folder.path().join("d").exists());
}

#[test]
fn a_mistake_in_a_formula_ends_with_code_two_and_a_caret() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    let out = towline(folder.path())
        .args([
            "fit",
            "--data",
            "d.csv",
            "--family",
            "poisson",
            "--formula",
            "y ~ x + (1 | gg)",
        ])
        .assert()
        .code(2);
    let out = text(&out.get_output().stderr);
    assert!(
        out.contains("did you mean `g`?") && out.contains("  ^^"),
        "{out}"
    );
}

#[test]
fn a_mixed_model_is_fitted_resumed_and_predicted_from() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    let model = "family = \"poisson\"\nformula = \"y ~ x + (1 | g)\"\n[data]\nfile = \"d.csv\"\n";
    fs::write(folder.path().join("m.toml"), model).unwrap();
    towline(folder.path())
        .args([
            "fit",
            "m.toml",
            "--chains",
            "2",
            "--draws",
            "60",
            "--warmup",
            "200",
            "--cost-ratio",
            "10",
            "--quiet",
        ])
        .assert()
        .success();
    towline(folder.path())
        .args(["resume", "m", "--draws", "80", "--quiet"])
        .assert()
        .success();
    let out = towline(folder.path())
        .args(["predict", "m", "--at", "new.csv", "--out", "p.csv"])
        .assert()
        .success();
    let said = text(&out.get_output().stdout) + &text(&out.get_output().stderr);
    assert!(said.contains("root mean square error"), "{said}");
    assert!(said.contains("1 row is of a group of `g`"), "{said}");
    let csv = fs::read_to_string(folder.path().join("p.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3, "{csv}");
    assert!(
        lines[0].ends_with(
            "predictive_mean,predictive_sd,predictive_q2.5,predictive_q50,predictive_q97.5"
        ),
        "{csv}"
    );
    let value = |line: &str, k: usize| line.split(',').nth(k).unwrap().parse::<f64>().unwrap();
    // A group that was not fitted is less certain.
    assert!(value(lines[2], 6) > value(lines[1], 6), "{csv}");
    // The intensity is that of the data: about two.
    assert!((0.5..6.0).contains(&value(lines[1], 10)), "{csv}");

    // Other data are noticed.
    let data = fs::read_to_string(folder.path().join("d.csv")).unwrap();
    fs::write(folder.path().join("d.csv"), data.replace("g7", "g6")).unwrap();
    let out = towline(folder.path())
        .args(["resume", "m", "--draws", "90", "--quiet"])
        .assert()
        .failure();
    assert!(text(&out.get_output().stderr).contains("has changed since the run began"));
}

#[test]
fn a_surface_is_fitted_and_mapped() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path());
    towline(folder.path())
        .args([
            "fit",
            "--data",
            "d.csv",
            "--response",
            "y",
            "--family",
            "poisson",
            "--gp",
            "u,v",
            "--out",
            "run",
        ])
        .args([
            "--covariance",
            "exponential",
            "--chains",
            "2",
            "--draws",
            "40",
            "--warmup",
            "200",
        ])
        .args(["--cost-ratio", "10", "--quiet"])
        .assert()
        .success();
    towline(folder.path())
        .args(["map", "run", "--cells", "8", "--draws", "10"])
        .assert()
        .success();
    let svg = fs::read_to_string(folder.path().join("run/map.svg")).unwrap();
    assert!(svg.contains("standard deviation"));
    assert!(folder.path().join("run/map.png").exists());
}

#[test]
fn a_product_that_memory_cannot_hold_is_refused_at_once_with_a_figure() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = String::from("y,a,b\n");
    for k in 0..6000 {
        data += &format!("{},{k},{}\n", k % 3, (7 * k) % 6000);
    }
    fs::write(folder.path().join("d.csv"), data).unwrap();
    let begun = std::time::Instant::now();
    let out = towline(folder.path())
        .args(["fit", "--data", "d.csv", "--family", "poisson"])
        .args(["--formula", "y ~ rw1(a):rw1(b)"])
        .timeout(std::time::Duration::from_secs(60))
        .assert()
        .failure();
    let said = text(&out.get_output().stderr);
    assert!(
        said.contains("35988001 nodes") && said.contains(" GB") && said.contains("fewer nodes"),
        "{said}"
    );
    println!("refused after {:?}", begun.elapsed());
}
