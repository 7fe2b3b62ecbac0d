//! Our model matrices are lme4's: fixed effects X and random effects Z of many formulas, to 1e-12.
//!
//! The references were made once with R: see scripts/lme4_matrices.R, and `about` in the file for the versions.

use serde_json::Value as Json;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use towline_models::{ModelFile, Resolved, Table};

/// Of numbers of size one: rounding, and no more.
const TOLERANCE: f64 = 1e-12;

fn texts(value: &Json) -> Vec<String> {
    let list = value.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_string())
        .collect()
}

fn numbers(value: &Json) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|number| number.as_f64().unwrap()).collect()
}

fn assert_same(ours: &[f64], theirs: &[f64], what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (row, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (a - b).abs() <= TOLERANCE * b.abs().max(1.0),
            "{what}, row {row}: ours {a}, lme4's {b}"
        );
    }
}

/// `s:h` as `h:s`: lme4 names nested groups from the inside.
fn turned(name: &str) -> String {
    let mut parts: Vec<&str> = name.split(':').collect();
    parts.reverse();
    parts.join(":")
}

/// Group, level and effect, with the column of Z that belongs to them.
type Columns = HashMap<(String, String, String), Vec<f64>>;

fn our_z(resolved: &Resolved) -> Columns {
    let mut columns = Columns::new();
    for grouping in &resolved.parts.groupings {
        for (code, level) in grouping.levels.iter().enumerate() {
            for (effect, values) in grouping.effects.iter().zip(&grouping.columns) {
                let of_row =
                    |(group, value): (&usize, &f64)| if *group == code { *value } else { 0.0 };
                let column = grouping.group.iter().zip(values).map(of_row).collect();
                let key = (grouping.name.clone(), level.clone(), effect.clone());
                assert!(
                    columns.insert(key.clone(), column).is_none(),
                    "{key:?} twice"
                );
            }
        }
    }
    columns
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lme4")
}

fn reference() -> Json {
    let text = fs::read_to_string(folder().join("matrices.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn resolve(formula: &str) -> Resolved {
    let file =
        format!("family = \"gaussian\"\nformula = '{formula}'\n[data]\nfile = \"table.csv\"\n");
    let file = ModelFile::parse("m.toml", &file).unwrap();
    let table = Table::read(&folder().join("table.csv")).unwrap();
    Resolved::new(&file, &table).unwrap_or_else(|e| panic!("{formula}: {e}"))
}

#[test]
fn new_rows_are_coded_as_r_codes_them_inside_and_beyond_the_data() {
    let reference = reference();
    let new = Table::read(&folder().join("new.csv")).unwrap();
    let cases = reference["new"].as_array().unwrap();
    assert!(cases.len() >= 10);
    for case in cases {
        let formula = case["formula"].as_str().unwrap();
        let ours = resolve(formula).rows(&new).unwrap().0.fixed;
        let theirs = case["x"].as_array().unwrap();
        assert_eq!(ours.len(), theirs.len(), "{formula}");
        for (k, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            assert_same(ours, &numbers(theirs), &format!("{formula}: column {k}"));
        }
    }
}

#[test]
fn model_matrices_are_those_of_lme4() {
    let reference = reference();
    let models = reference["models"].as_array().unwrap();
    assert!(models.len() >= 30, "{}", models.len());
    for model in models {
        let formula = model["formula"].as_str().unwrap();
        let resolved = resolve(formula);
        let fixed = &resolved.parts.fixed;
        // contr.treatment with a base is the one coding whose columns R calls by number, not by level.
        if !formula.contains("base") {
            assert_eq!(fixed.names, texts(&model["names"]), "{formula}");
        }
        let theirs = model["x"].as_array().unwrap();
        assert_eq!(fixed.columns.len(), theirs.len(), "{formula}");
        for ((name, ours), theirs) in fixed.names.iter().zip(&fixed.columns).zip(theirs) {
            assert_same(ours, &numbers(theirs), &format!("{formula}: {name}"));
        }
        let mut ours = our_z(&resolved);
        for term in model["terms"].as_array().unwrap() {
            let group = term["group"].as_str().unwrap();
            let straight = resolved.parts.groupings.iter().any(|g| g.name == group);
            let ours_of = |name: &str| {
                if straight {
                    name.to_string()
                } else {
                    turned(name)
                }
            };
            let (effects, levels) = (texts(&term["effects"]), texts(&term["levels"]));
            let rows = term["zt"].as_array().unwrap();
            assert_eq!(rows.len(), effects.len() * levels.len(), "{formula}");
            for (k, row) in rows.iter().enumerate() {
                let (level, effect) = (&levels[k / effects.len()], &effects[k % effects.len()]);
                let key = (ours_of(group), ours_of(level), effect.clone());
                let column = ours
                    .remove(&key)
                    .unwrap_or_else(|| panic!("{formula}: no {key:?}"));
                assert_same(&column, &numbers(row), &format!("{formula}: {key:?}"));
            }
        }
        assert!(ours.is_empty(), "{formula}: lme4 has no {:?}", ours.keys());
    }
}
