//! What is made of a fit: predictions, checks, comparisons, effects, maps and exports, from outside, on small data.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn towline(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("towline").unwrap();
    command.current_dir(folder);
    command
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let out = towline(folder).args(arguments).assert().success();
    String::from_utf8_lossy(&out.get_output().stdout).into_owned()
}

/// Overdispersed counts in eight groups with an exposure, fitted as Poisson (`poisson`) and as negative binomial (`nb`),
/// and a surface (`gp`): a copy for the tests of this process.
fn fits() -> &'static Path {
    static FITS: OnceLock<PathBuf> = OnceLock::new();
    FITS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap().keep();
        copy(&fitted_once(), &folder);
        folder
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let there = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &there);
        } else {
            fs::copy(entry.path(), there).unwrap();
        }
    }
}

/// The same, made once for all processes: cargo-nextest runs each test in one of its own. Another build of the command or of these tests fits
/// again.
fn fitted_once() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers");
    fs::create_dir_all(&place).unwrap();
    let lock = fs::File::create(place.join("lock")).unwrap();
    lock.lock().unwrap();
    let built = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let builds = [
        built(&std::env::current_exe().unwrap()),
        built(Path::new(env!("CARGO_BIN_EXE_towline"))),
    ];
    let (folder, stamp) = (place.join("fits"), place.join("builds"));
    let builds = format!("{builds:?}");
    if fs::read_to_string(&stamp).ok().as_ref() != Some(&builds) {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fit_all(&folder);
        fs::write(stamp, builds).unwrap();
    }
    folder
}

fn fit_all(folder: &Path) {
    let mut data = String::from("y,x,g,kind,t,u,v\n");
    for k in 0..80 {
        // Every seventh count is far out.
        let y = if k % 7 == 0 {
            20 + k % 13
        } else {
            (7 * k + 3) % 4
        };
        let kind = ["drug", "placebo"][k % 2];
        data += &format!(
            "{y},{:.3},g{},{kind},{},{},{}\n",
            (k as f64).sin(),
            k % 8,
            1 + k % 3,
            k % 9,
            k / 9
        );
    }
    fs::write(folder.join("d.csv"), data).unwrap();
    for (name, family, formula) in [
        (
            "poisson",
            "poisson",
            "y ~ x + kind + offset(log(t)) + (1 | g)",
        ),
        (
            "nb",
            "negative_binomial",
            "y ~ x + kind + offset(log(t)) + (1 | g)",
        ),
    ] {
        said(
            folder,
            &[
                "fit",
                "--data",
                "d.csv",
                "--family",
                family,
                "--formula",
                formula,
                "--out",
                name,
                "--chains",
                "2",
                "--draws",
                "300",
                "--quiet",
            ],
        );
    }
    said(
        folder,
        &[
            "fit",
            "--data",
            "d.csv",
            "--family",
            "poisson",
            "--formula",
            "y ~ x",
            "--gp",
            "u,v",
            "--out",
            "gp",
            "--chains",
            "2",
            "--draws",
            "200",
            "--quiet",
        ],
    );
}

fn table(path: &Path) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn predictions_have_three_kinds_of_columns_and_offsets_count() {
    let folder = fits();
    let new = "x,g,kind,t\n0,g1,drug,1\n0,g1,drug,3\n0,nobody,drug,1\n";
    fs::write(folder.join("new.csv"), new).unwrap();
    said(
        folder,
        &[
            "predict",
            "poisson",
            "--at",
            "new.csv",
            "--out",
            "p95.csv",
            "--draws-to",
            "joint.csv",
        ],
    );
    said(
        folder,
        &[
            "predict", "poisson", "--at", "new.csv", "--out", "p99.csv", "--level", "0.99",
        ],
    );
    let (a, b) = (
        table(&folder.join("p95.csv")),
        table(&folder.join("p99.csv")),
    );
    let number = |row: &std::collections::HashMap<String, String>, name: &str| -> f64 {
        row.get(name)
            .unwrap_or_else(|| panic!("no {name}"))
            .parse()
            .unwrap()
    };
    for row in 0..3 {
        let narrow = number(&a[row], "latent_q97.5") - number(&a[row], "latent_q2.5");
        let wide = number(&b[row], "latent_q99.5") - number(&b[row], "latent_q0.5");
        assert!(wide > 1.2 * narrow, "{row}: {narrow} {wide}");
        // A new response is less certain than what is expected of it, by the noise of a count.
        assert!(number(&a[row], "predictive_sd") > number(&a[row], "mean_sd"));
        let (mean, noise) = (
            number(&a[row], "mean_mean"),
            number(&a[row], "predictive_sd").powi(2),
        );
        let sd = number(&a[row], "mean_sd");
        assert!(
            (noise - sd * sd - mean).abs() < 1e-3 * noise,
            "{noise} {sd} {mean}"
        );
    }
    let ratio = number(&a[1], "mean_mean") / number(&a[0], "mean_mean");
    assert!(
        (ratio - 3.0).abs() < 1e-4,
        "an offset of ln 3 multiplies by 3, not {ratio}"
    );
    let shift = number(&a[1], "latent_mean") - number(&a[0], "latent_mean");
    assert!((shift - 3f64.ln()).abs() < 1e-5, "{shift}");
    let joint = table(&folder.join("joint.csv"));
    assert_eq!(joint.len(), 3 * 600);
    assert!(
        joint
            .iter()
            .all(|row| row["response"].parse::<f64>().unwrap() >= 0.0)
    );
}

#[test]
fn known_responses_are_scored_with_coverage_and_crps() {
    let folder = fits();
    let out = said(
        folder,
        &["predict", "nb", "--at", "d.csv", "--out", "scored.csv"],
    );
    for part in ["mean log score", "CRPS", "coverage", "calibration"] {
        assert!(out.contains(part), "{out}");
    }
}

#[test]
fn checks_and_comparisons_see_a_wrong_model() {
    let folder = fits();
    let out = said(folder, &["check", "poisson"]);
    assert!(out.contains("PSIS-LOO") && out.contains("WAIC"), "{out}");
    // Poisson counts do not spread as these do.
    assert!(
        out.lines()
            .any(|l| l.starts_with("standard deviation") && l.ends_with('!')),
        "{out}"
    );
    assert!(folder.join("poisson/check.png").exists() && folder.join("poisson/check.svg").exists());
    said(folder, &["report", "poisson", "--open", "no"]);
    let report = fs::read_to_string(folder.join("poisson/report.html")).unwrap();
    assert!(report.contains("<h2>Checks</h2>") && report.contains("replicated data sets"));
    let prior = said(folder, &["check", "poisson", "--prior-only"]);
    assert!(prior.contains("the priors alone"), "{prior}");
    let out = said(folder, &["compare", "poisson", "nb"]);
    assert!(out.contains("nb predicts better than poisson"), "{out}");
    let rows: Vec<serde_json::Value> =
        serde_json::from_str(&said(folder, &["compare", "poisson", "nb", "--json"])).unwrap();
    assert_eq!(rows[0]["run"], "nb");
    assert!(rows[1]["elpd_diff"].as_f64().unwrap() < -10.0, "{rows:?}");
    for line in out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn effects_of_groups_and_covariates_have_intervals() {
    let folder = fits();
    let out = said(folder, &["effects", "nb", "g", "--csv"]);
    assert_eq!(out.lines().count(), 9, "{out}");
    assert!(folder.join("nb/effects-g.svg").exists());
    let out = said(folder, &["effects", "nb", "x"]);
    assert!(out.contains("per unit of x"), "{out}");
    let out = said(
        folder,
        &[
            "effects",
            "nb",
            "kind",
            "--contrast",
            "drug-placebo",
            "--csv",
        ],
    );
    let mean = |name: &str| -> f64 {
        let line = out
            .lines()
            .find(|l| l.starts_with(name))
            .unwrap_or_else(|| panic!("{out}"));
        line.split(',').nth(1).unwrap().parse().unwrap()
    };
    let difference = mean("kind = drug") - mean("kind = placebo");
    assert!((mean("drug - placebo") - difference).abs() < 1e-9, "{out}");
    let refused = towline(folder)
        .args(["effects", "nb", "nothing"])
        .assert()
        .failure();
    let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        error.contains("neither a grouping") && error.contains("kind"),
        "{error}"
    );
}

/// Holes in a covariate, the response and a grouping leave rows out of the fit; holes in a column that it does not use leave all in. The
/// effects are those of the same data without these rows.
#[test]
fn effects_are_those_of_the_rows_that_were_fitted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = fs::read_to_string(fits().join("d.csv")).unwrap();
    let (mut holes, mut without) = (String::new(), String::new());
    for (k, line) in whole.lines().enumerate() {
        let mut cells: Vec<&str> = line.split(',').collect();
        match k {
            5 => cells[1] = "NA",
            11 => cells[0] = "",
            20 => cells[2] = "NA",
            30 => cells[5] = "NA",
            _ => {}
        }
        let line = cells.join(",") + "\n";
        holes += &line;
        if ![5, 11, 20].contains(&k) {
            without += &line;
        }
    }
    let shown = |text: &str, name: &str| {
        fs::write(folder.join(format!("{name}.csv")), text).unwrap();
        let model = format!(
            "family = \"poisson\"\nformula = \"y ~ x + kind + (1 | g)\"\n[data]\nfile = \"{name}.csv\"\nmissing = \"drop\"\n"
        );
        fs::write(folder.join(format!("{name}.toml")), model).unwrap();
        let file = format!("{name}.toml");
        let short = [
            "--chains", "2", "--draws", "60", "--warmup", "150", "--quiet",
        ];
        said(
            folder,
            &[&["fit", &file, "--out", name], &short[..]].concat(),
        );
        ["x", "kind"].map(|column| said(folder, &["effects", name, column, "--csv"]))
    };
    assert_eq!(shown(&holes, "holes"), shown(&without, "without"));
}

#[test]
fn maps_are_drawn_of_process_predictor_response_and_exceedance() {
    let folder = fits();
    fs::write(folder.join("corners.csv"), "u,v\n0,0\n8,0\n0,8\n").unwrap();
    for extra in [
        &["--cells", "12"][..],
        &["--cells", "12", "--with-intercept"],
        &["--cells", "12", "--response", "--above", "3"],
        &["--cells", "12", "--inside", "corners.csv"],
        &["--at", "d.csv"],
    ] {
        let _ = fs::remove_file(folder.join("gp/map.svg"));
        said(folder, &[&["map", "gp"], extra].concat());
        let svg = fs::read_to_string(folder.join("gp/map.svg")).unwrap();
        assert!(svg.contains("Monte Carlo error"), "{extra:?}");
    }
}

#[test]
fn rows_after_the_checkpoint_are_not_draws() {
    let folder = tempfile::tempdir().unwrap();
    said(
        folder.path(),
        &[
            "run", "neal1", "--chains", "2", "--draws", "300", "--out", "r", "--quiet",
        ],
    );
    let before = said(folder.path(), &["summary", "r", "--json"]);
    for chain in 0..2 {
        let path = folder.path().join(format!("r/chain-{chain}.f64"));
        let mut bytes = fs::read(&path).unwrap();
        bytes.resize(2 * bytes.len(), 0);
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(said(folder.path(), &["summary", "r", "--json"]), before);
    // As long as a disk can be: nobody allocates for that.
    let file = fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("r/chain-0.f64"))
        .unwrap();
    file.set_len(1 << 42).unwrap();
    assert_eq!(said(folder.path(), &["summary", "r", "--json"]), before);
}

#[test]
fn what_fails_leaves_the_earlier_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fit = "run neal1 --chains 2 --draws 40 --warmup 150 --cost-ratio 10 --out r --quiet";
    said(folder.path(), &fit.split(' ').collect::<Vec<_>>());
    let commands = [
        ("export r --to csv --out draws.csv", "draws.csv"),
        ("export r --to zarr --out z", "z/posterior/x/0.0"),
        ("export r --to getdist --out c/run", "c/run_1.txt"),
        ("report r --out report.html --open no", "report.html"),
    ];
    let run = |line: &str| {
        let mut command = towline(folder.path());
        command.args(line.split(' ')).assert()
    };
    let before: Vec<Vec<u8>> = commands
        .iter()
        .map(|(line, file)| {
            run(line).success();
            fs::read(at(file)).unwrap()
        })
        .collect();
    // A number of the last row is changed: every reader comes to its end before it notices.
    let mut rows = fs::read(at("r/chain-1.f64")).unwrap();
    let last = rows.len() - 9;
    rows[last] ^= 1;
    fs::write(at("r/chain-1.f64"), rows).unwrap();
    for ((line, file), before) in commands.iter().zip(&before) {
        let out = run(line).failure();
        let said = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(said.contains("checksum"), "{line}: {said}");
        assert_eq!(&fs::read(at(file)).unwrap(), before, "{line}");
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 5, "nothing half-written is left behind");
}

#[test]
fn exports_have_dimensions_and_replace_links() {
    let folder = fits();
    let zarr = folder.join("nb/draws.zarr");
    said(folder, &["export", "nb", "--to", "zarr"]);
    for group in [
        "posterior",
        "log_likelihood",
        "posterior_predictive",
        "observed_data",
        "prior",
    ] {
        assert!(zarr.join(group).join(".zgroup").exists(), "{group}");
    }
    // Again, in place of the earlier one.
    said(folder, &["export", "nb", "--to", "zarr"]);
    let described = fs::read_to_string(zarr.join("posterior/effect_g/.zattrs")).unwrap();
    assert!(described.contains("\"g\""), "{described}");
    #[cfg(unix)]
    {
        let victim = folder.join("victim.txt");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("link.csv")).unwrap();
        said(
            folder,
            &["export", "nb", "--to", "csv", "--out", "link.csv"],
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert!(
            fs::read_to_string(folder.join("link.csv"))
                .unwrap()
                .starts_with("chain,draw")
        );
    }
}
