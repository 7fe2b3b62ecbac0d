//! What a newcomer types first: demo, doctor, completions, man, watch.

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;

fn towline(arguments: &[&str], here: &Path) -> (bool, String, String) {
    let mut command = Command::cargo_bin("towline").unwrap();
    let done = command.args(arguments).current_dir(here).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (done.status.success(), text(done.stdout), text(done.stderr))
}

#[test]
fn demo_leaves_data_a_run_a_map_and_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let (fine, said, error) = towline(&["demo", "--draws", "60", "--quiet"], here);
    assert!(fine, "{error}");
    for part in [
        "$ towline fit",
        "$ towline map demo",
        "$ towline report demo",
        "open demo/report.html",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    for file in [
        "model.toml",
        "ncsids.csv",
        "manifest.json",
        "map.png",
        "map.svg",
        "report.html",
    ] {
        assert!(here.join("demo").join(file).is_file(), "{file}");
    }
    // What is there is not written over unasked, and the message says what to do.
    let (fine, _, error) = towline(&["demo"], here);
    assert!(
        !fine && error.contains("--force") && error.contains("--out"),
        "{error}"
    );
    let (fine, _, error) = towline(&["demo", "--draws", "50", "--quiet", "--force"], here);
    assert!(fine, "{error}");
    // It is a run like any other, with its data beside it: it can be moved, and continued.
    std::fs::rename(here.join("demo"), here.join("moved")).unwrap();
    let (fine, _, error) = towline(&["resume", "moved", "--draws", "60", "--quiet"], here);
    assert!(fine, "{error}");
}

#[test]
fn doctor_says_what_is_here_and_that_sampling_works() {
    let folder = tempfile::tempdir().unwrap();
    let (fine, said, error) = towline(&["doctor"], folder.path());
    assert!(fine, "{said}{error}");
    for part in [
        env!("CARGO_PKG_VERSION"),
        "cores",
        "MPI",
        "Python",
        "exactly 0.319",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let (_, said, _) = towline(&["doctor", "--json"], folder.path());
    let findings: Value = serde_json::from_str(&said).unwrap();
    let states = findings
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["state"].as_str().unwrap());
    assert!(
        states.clone().count() >= 7 && states.clone().all(|s| s != "bad"),
        "{said}"
    );
}

#[test]
#[cfg(unix)]
fn doctor_fails_where_nothing_can_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    // Whoever may write anywhere (root) cannot be shown this.
    if tempfile::NamedTempFile::new_in(folder.path()).is_ok() {
        return;
    }
    let (fine, said, error) = towline(&["doctor"], folder.path());
    assert!(
        !fine && said.contains("BAD") && error.contains("BAD"),
        "{said}{error}"
    );
}

#[test]
fn shells_complete_commands_runs_and_their_parameters() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (fine, script, error) = towline(&["completions", shell], here);
        assert!(fine && script.contains("towline"), "{shell}: {error}");
    }
    let (fine, _, error) = towline(&["completions", "sh"], here);
    assert!(!fine && error.contains("bash, "), "{error}");
    let quick = [
        "--chains",
        "1",
        "--draws",
        "20",
        "--cost-ratio",
        "100",
        "--quiet",
    ];
    let (fine, _, error) = towline(&[&["run", "neal2"][..], &quick].concat(), here);
    assert!(fine, "{error}");
    std::fs::create_dir(here.join("nothing")).unwrap();
    let complete = |line: &[&str]| {
        let mut command = Command::cargo_bin("towline").unwrap();
        command
            .env("COMPLETE", "bash")
            .env("_CLAP_IFS", "\n")
            .current_dir(here);
        command
            .env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string())
            .arg("--");
        String::from_utf8(command.args(line).output().unwrap().stdout).unwrap()
    };
    assert_eq!(complete(&["towline", "summ"]).trim(), "summary");
    assert!(complete(&["towline", "summary", "ne"]).contains("neal2"));
    assert!(complete(&["towline", "compare", "neal2", "ne"]).contains("neal2"));
    let folders = complete(&["towline", "summary", ""]);
    // Runs first; the present folder is none.
    assert!(
        folders.starts_with("neal2") && folders.contains("nothing"),
        "{folders}"
    );
    assert!(folders.lines().all(|line| line.trim() != "."), "{folders}");
    assert_eq!(
        complete(&["towline", "fit", "--family", "po"]).trim(),
        "poisson"
    );
    assert_eq!(complete(&["towline", "run", "neal1"]).trim(), "neal1");
    let names = complete(&["towline", "summary", "neal2", "--params", ""]);
    assert_eq!(
        names.split_whitespace().collect::<Vec<_>>(),
        ["x", "y", "z"]
    );
    assert_eq!(
        complete(&["towline", "summary", "neal2", "--params", "x,z"]).trim(),
        "x,z"
    );
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let (fine, page, _) = towline(&["man"], folder.path());
    assert!(fine && page.contains(".TH towline"), "{page}");
    let (fine, _, error) = towline(&["man", "--out", "man1"], folder.path());
    assert!(fine, "{error}");
    for name in ["towline.1", "towline-fit.1", "towline-watch.1"] {
        assert!(folder.path().join("man1").join(name).is_file(), "{name}");
    }
}

#[test]
fn watching_ends_with_the_run_and_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let quick = [
        "--chains",
        "2",
        "--draws",
        "400",
        "--cost-ratio",
        "100",
        "--quiet",
    ];
    let (fine, _, error) = towline(&[&["run", "neal1"][..], &quick].concat(), here);
    assert!(fine, "{error}");
    // Without a terminal, lines; the run has ended, so there is one.
    let (fine, said, error) = towline(&["watch", "neal1"], here);
    assert!(fine, "{error}");
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in [
        "finished",
        "draws 400, 400 of 400",
        "largest R-hat",
        "least ESS",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let (fine, picture, error) = towline(&["watch", "neal1", "--once", "--params", "y"], here);
    assert!(fine, "{error}");
    assert!(
        picture.contains("R-hat") && picture.contains('⣿') || picture.contains('⡇'),
        "{picture}"
    );
    assert!(!picture.contains("\nx "), "{picture}");
    // What it says is what the summary says, roughly: there R-hat and ESS come from all draws, here from batches.
    let (_, summary, _) = towline(&["summary", "neal1", "--json"], here);
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let mean = summary["parameters"][1]["mean"].as_f64().unwrap();
    let shown = picture.lines().find(|l| l.starts_with("y ")).unwrap();
    let figure: f64 = shown.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!(
        (figure - mean).abs() < 1e-3 * mean.abs().max(1e-3),
        "{figure} {mean}"
    );
    // A run that was interrupted is said to be so.
    let manifest = std::fs::read_to_string(here.join("neal1/manifest.json")).unwrap();
    let more = manifest.replacen("\"draws\": 400", "\"draws\": 800", 1);
    assert_ne!(more, manifest);
    std::fs::write(here.join("neal1/manifest.json"), more).unwrap();
    let (_, said, _) = towline(&["watch", "neal1"], here);
    assert!(
        said.contains("stopped") && said.contains("towline resume neal1"),
        "{said}"
    );
    let (fine, _, error) = towline(&["watch", "nowhere"], here);
    assert!(!fine && error.contains("nowhere"), "{error}");
}

#[test]
fn a_run_of_version_0_1_is_summarised_reported_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../towline/tests/data/run-0.1");
    std::fs::create_dir(here.join("old")).unwrap();
    for file in std::fs::read_dir(&kept).unwrap().flatten() {
        std::fs::copy(file.path(), here.join("old").join(file.file_name())).unwrap();
    }
    for command in [
        &["summary", "old"][..],
        &["report", "old"],
        &["watch", "old", "--once"],
        &["export", "old", "--to", "csv", "--out", "new.csv"],
    ] {
        let (fine, _, error) = towline(command, here);
        assert!(fine, "{command:?}: {error}");
    }
    let read = |path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(here.join("new.csv")), read(kept.join("draws.csv")));
    let (fine, _, error) = towline(&["resume", "old", "--draws", "100"], here);
    assert!(!fine && error.contains("earlier version"), "{error}");
}
