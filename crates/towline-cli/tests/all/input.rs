//! `towline fit` on input that would mislead, hang or puzzle: what it says, once, and what it does instead.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn towline(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("towline").unwrap();
    command.current_dir(folder).timeout(Duration::from_secs(60));
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn rows() -> Vec<String> {
    let row = |k: u32| {
        let t = f64::from(k);
        format!(
            "{},{:.4},s{},{},s{}_{},{:.3},{:.3},{}",
            (7 * k + 3) % 5,
            (t * 1.3).sin(),
            k % 8,
            k % 5,
            k % 8,
            k % 5,
            (t * 37.0) % 360.0 - 180.0,
            (t * 17.0) % 170.0 - 85.0,
            ["a", "b", "c"][k as usize % 3]
        )
    };
    let header = "count,x,site,year,site_year,lon,lat,f".to_string();
    [header].into_iter().chain((0..120).map(row)).collect()
}

fn with_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("d.csv"), rows().join("\n") + "\n").unwrap();
    folder
}

/// What is said on both ways of a command that fails with this code, or succeeds with 0.
fn said(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let mut command = towline(folder);
    command.args(["fit", "--data", "d.csv"]);
    if !arguments.contains(&"--family") {
        command.args(["--family", "poisson"]);
    }
    let out = command.args(arguments).assert().code(code);
    text(&out.get_output().stdout) + &text(&out.get_output().stderr)
}

#[test]
fn a_prior_without_mass_ends_at_once_with_its_name() {
    let folder = with_data();
    for prior in ["gp_power=uniform(3,4)", "gp_length=log_normal(800,1)"] {
        let out = said(
            folder.path(),
            2,
            &[
                "--response",
                "count",
                "--gp",
                "lon,lat",
                "--covariance",
                "powered_exponential",
                "--prior",
                prior,
                "--show",
            ],
        );
        assert!(
            out.contains("the prior of gp_") && out.contains("no mass"),
            "{out}"
        );
    }
}

#[test]
fn scales_of_one_name_are_refused_and_lme4s_textbook_form_is_not() {
    let folder = with_data();
    let out = said(
        folder.path(),
        2,
        &[
            "--formula",
            "count ~ x + (year || site) + (1 | site_year)",
            "--show",
        ],
    );
    assert!(
        out.contains("--formula: two parameters would be called `sd_site_year`"),
        "{out}"
    );
    let out = said(
        folder.path(),
        0,
        &["--formula", "count ~ x + (1|site) + (0+x|site)", "--show"],
    );
    assert!(
        out.contains("2 slow parameters") && out.contains("sd_site_x"),
        "{out}"
    );
}

#[test]
fn a_slip_in_a_number_is_named_by_its_line_in_files_from_any_system() {
    for end in ["\n", "\r\n"] {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = rows();
        rows[101] = rows[101]
            .replacen(",0.", ",O.", 1)
            .replacen(",-0.", ",-O.", 1);
        fs::write(folder.path().join("d.csv"), rows.join(end) + end).unwrap();
        let out = said(
            folder.path(),
            2,
            &["--formula", "count ~ x + (1|site)", "--show"],
        );
        assert!(out.contains("d.csv, line 102: `x` is `"), "{out}");
        assert_eq!(out.matches("O.").count(), 1, "{out}");
    }
}

#[test]
fn families_of_other_names_come_with_a_suggestion() {
    let folder = with_data();
    for (name, meant) in [("negbin", "negative_binomial"), ("poison", "poisson")] {
        let out = said(
            folder.path(),
            2,
            &["--family", name, "--formula", "count ~ x", "--show"],
        );
        assert!(out.contains(&format!("did you mean `{meant}`?")), "{out}");
    }
    let out = said(
        folder.path(),
        0,
        &["--family", "normal", "--formula", "count ~ x", "--show"],
    );
    assert!(out.starts_with("gaussian response"), "{out}");
}

#[test]
fn errors_are_said_once_and_in_the_words_of_flags() {
    let folder = with_data();
    let out = towline(folder.path())
        .args([
            "fit",
            "--data",
            "nowhere.csv",
            "--family",
            "poisson",
            "--formula",
            "y ~ x",
        ])
        .assert()
        .code(2);
    let out = text(&out.get_output().stderr);
    assert_eq!(out.matches("o such file").count(), 1, "{out}");
    let out = said(
        folder.path(),
        2,
        &["--formula", "count ~ x + (1 | site", "--show"],
    );
    assert_eq!(out.matches("never closed").count(), 1, "{out}");
    let mut gaps = rows();
    gaps[7] = "1,NA,s1,1,s1_1,0,0,a".into();
    fs::write(folder.path().join("gaps.csv"), gaps.join("\n")).unwrap();
    for arguments in [
        &[
            "--data",
            "gaps.csv",
            "--family",
            "poisson",
            "--formula",
            "count ~ x",
        ][..],
        &["--data", "d.csv", "--family", "poisson"],
        &["--data", "d.csv", "--family", "poisson", "--formula", "~ x"],
        &[
            "--data",
            "d.csv",
            "--family",
            "poisson",
            "--formula",
            "count ~ x",
            "--response",
            "year",
        ],
        &[
            "--data",
            "d.csv",
            "--family",
            "binomial",
            "--formula",
            "count ~ x",
        ],
    ] {
        let out = towline(folder.path())
            .arg("fit")
            .args(arguments)
            .assert()
            .code(2);
        let out = text(&out.get_output().stderr);
        assert!(!out.contains("[data]") && out.contains("--"), "{out}");
    }
}

#[test]
fn what_levels_are_compared_with_and_chords_are_shown() {
    let folder = with_data();
    let out = said(
        folder.path(),
        0,
        &[
            "--formula",
            "count ~ f + relevel(factor(year), 2)",
            "--show",
        ],
    );
    assert!(out.contains("f is compared with a"), "{out}");
    assert!(
        out.contains("relevel(factor(year),2) is compared with 1"),
        "{out}"
    );
    for covariance in ["squared_exponential", "matern32"] {
        let arguments = [
            "--response",
            "count",
            "--gp",
            "lon,lat",
            "--great-circle",
            "--show",
            "--covariance",
        ];
        let out = said(folder.path(), 0, &[&arguments[..], &[covariance]].concat());
        assert!(out.contains("its distances are chords"), "{out}");
    }
    let out = said(
        folder.path(),
        2,
        &[
            "--response",
            "count",
            "--gp",
            "lon,lat",
            "--great-circle",
            "--show",
            "--covariance",
            "exponential(lon)",
        ],
    );
    assert!(out.contains("--covariance: exponential(lon)"), "{out}");
}

const SHORT: [&str; 8] = [
    "--chains",
    "2",
    "--draws",
    "40",
    "--warmup",
    "150",
    "--cost-ratio",
    "10",
];

#[test]
fn models_of_one_table_have_runs_of_their_own_and_force_replaces_one() {
    let folder = with_data();
    let fit = |formula: &str, code: i32, more: &[&str]| {
        let arguments = [&["--formula", formula][..], &SHORT, more].concat();
        said(folder.path(), code, &arguments)
    };
    let out = fit("count ~ x", 0, &[]);
    assert!(
        out.contains("R-hat") && out.contains("finished: 2 chains of 40 draws in d\n"),
        "{out}"
    );
    let out = fit("count ~ x + f", 0, &["--quiet"]);
    assert_eq!(out, "");
    let other = folder.path().join("d-poisson-count-x-f");
    assert!(other.join("manifest.json").exists());
    // The same model again: refused, with every way out.
    let out = fit("count ~ x", 1, &["--quiet"]);
    for way in ["towline resume d", "--force", "--out DIR"] {
        assert!(out.contains(way), "{out}");
    }
    let run = folder.path().join("d");
    fs::write(run.join("notes.txt"), "mine").unwrap();
    let before = fs::read(run.join("chain-0.f64")).unwrap();
    // Nonsense costs nobody a run.
    fit("count ~ x", 2, &["--force", "--thin-latents", "0"]);
    assert_eq!(fs::read(run.join("chain-0.f64")).unwrap(), before);
    fit("count ~ x", 0, &["--force", "--quiet", "--seed", "9"]);
    assert_ne!(fs::read(run.join("chain-0.f64")).unwrap(), before);
    assert_eq!(fs::read_to_string(run.join("notes.txt")).unwrap(), "mine");
    towline(folder.path())
        .args(["summary", "d"])
        .assert()
        .success();
}
