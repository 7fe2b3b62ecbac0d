//! The report opens in a browser without errors, shows its plots, and its controls work.
//!
//! The page is loaded by headless Chromium with two scripts of ours in it: one that catches errors before
//! anything else runs, and one that works the controls and writes down what it saw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Catches what a person would see in the console.
const CATCH: &str = "<script>window.caught = [];
addEventListener('error', (e) => caught.push(String(e.message)));
addEventListener('unhandledrejection', (e) => caught.push(String(e.reason)));
for (const kind of ['error', 'warn']) console[kind] = (...all) => caught.push(kind + ': ' + all.join(' '));
</script>";

/// Works the controls, as a person would.
const WORK: &str = r#"<script>
const seen = {};
const canvases = (id) => document.querySelectorAll('#' + id + ' canvas').length;
seen.ready = document.documentElement.dataset.ready;
seen.plots = ['trace', 'density', 'lags', 'rhat', 'ess'].map(canvases).join(' ');
seen.ranks = document.querySelectorAll('#ranks rect').length;
seen.rows = document.querySelectorAll('#table tbody tr').length;
const cells = () => document.querySelectorAll('#corner g').length;
seen.corner = cells();
document.querySelector('#choose button').click();
seen.cornerAfter = cells();
const theme = () => document.documentElement.dataset.theme;
const before = theme();
document.getElementById('theme').click();
seen.themeChanged = before !== theme();
document.querySelectorAll('#table tbody tr')[1].click();
seen.chosen = document.getElementById('parameter').selectedOptions[0].textContent;
const select = document.getElementById('parameter');
select.value = 0;
select.dispatchEvent(new Event('change'));
seen.on = document.querySelector('#table tr.on td').firstChild.textContent;
document.querySelector('#legend button').click();
seen.ranksAfter = document.querySelectorAll('#ranks rect').length;
seen.plotsAfter = ['trace', 'density', 'lags', 'rhat', 'ess'].map(canvases).join(' ');
seen.fetched = performance.getEntriesByType('resource').filter((r) => !r.name.startsWith('data:')).length;
seen.caught = window.caught;
document.body.innerHTML = '<pre id="seen">SEEN' + JSON.stringify(seen) + 'NEES</pre>';
</script>"#;

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

fn towline(arguments: &[&str]) -> String {
    let output = assert_cmd::Command::cargo_bin("towline")
        .unwrap()
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// A short run of the paper's first example and its report.
fn report(folder: &Path) -> PathBuf {
    let (run, page) = (folder.join("run"), folder.join("report.html"));
    let (dir, out) = (run.to_str().unwrap(), page.to_str().unwrap());
    let quick = [
        "--chains",
        "3",
        "--draws",
        "400",
        "--seed",
        "2",
        "--cost-ratio",
        "100",
        "--quiet",
    ];
    towline(&[&["run", "neal1", "--out", dir][..], &quick].concat());
    towline(&["report", dir, "--out", out, "--open", "no"]);
    page
}

#[test]
fn the_report_is_one_small_file_that_fetches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(report(folder.path())).unwrap();
    assert!(text.len() < 2_000_000, "{} bytes", text.len());
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!text.contains(outside), "{outside}");
    }
}

#[test]
fn the_report_opens_without_errors_and_its_controls_work() {
    let Some(chromium) = chromium() else {
        let said = "there is no Chromium to open the report with: apt-get install chromium";
        assert!(std::env::var_os("CI").is_none(), "{said}");
        eprintln!("not tested: {said}");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = report(folder.path());
    let text = fs::read_to_string(&page).unwrap();
    let text = text.replacen("<head>", &format!("<head>{CATCH}"), 1);
    fs::write(
        &page,
        text.replacen("</body>", &format!("{WORK}</body>"), 1),
    )
    .unwrap();
    let output = Command::new(chromium)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--window-size=1200,1000",
        ])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let seen = dom
        .rsplit_once("SEEN")
        .and_then(|(_, rest)| rest.split_once("NEES"));
    let (seen, _) = seen.unwrap_or_else(|| panic!("the page did not load: {dom:.500}"));
    let seen: serde_json::Value = serde_json::from_str(seen).unwrap();
    let expected = serde_json::json!({
        "ready": "yes",
        "plots": "1 1 1 1 1", "ranks": 60, "rows": 2,
        "corner": 3, "cornerAfter": 1,
        "themeChanged": true,
        "chosen": "y", "on": "x",
        "ranksAfter": 40, "plotsAfter": "1 1 1 1 1",
        "fetched": 0, "caught": [],
    });
    assert_eq!(seen, expected);
}
