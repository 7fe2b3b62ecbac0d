//! Simulation-based calibration of every component of formulas, and of ten combinations of them.

use super::{MISTAKE, ranks, worst};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use towline_models::{LatentGaussian, ModelFile, Resolved, Table};

const COMPONENTS: [&str; 14] = [
    "rw1(t)",
    "rw2(t)",
    "ar1(t)",
    "seasonal(month, 4)",
    "seasonal(t, 3)",
    "s(a, k = 6)",
    "te(a, b, k = 5)",
    "areal(area, graph = \"edges.csv\", model = \"icar\")",
    "areal(area, graph = \"edges.csv\", model = \"car\")",
    "areal(area, graph = \"edges.csv\", model = \"bym2\")",
    "spde(a, b, edge = 0.5)",
    "nngp(a, b, m = 3)",
    "known(area, precision = \"precision.csv\")",
    "rw1(t, by = g)",
];

const COMBINATIONS: [&str; 10] = [
    "gp(a, b) + (1 | g)",
    "gp(a) + rw1(t) + (a | g)",
    "rw2(t) + s(a, k = 6) + gp(a, b) + (1 | g)",
    "ar1(t, by = g) + areal(area, graph = \"edges.csv\", model = \"icar\")",
    "0 + rw1(t) + areal(area, graph = \"edges.csv\")",
    "seasonal(month, 4) + rw1(t) + (1 | g)",
    "spde(a, b, edge = 0.5) + (1 | g) + s(a, k = 6)",
    "nngp(a, b, m = 3) + rw2(t)",
    "te(a, b, k = 5) + known(area, precision = \"precision.csv\")",
    "areal(area, graph = \"edges.csv\") + ar1(t) + gp(a) + (1 + b | g)",
];

/// Products of two components: both intrinsic, none, one; with what they leave out.
const PRODUCTS: [&str; 4] = [
    "areal(area, graph = \"edges.csv\"):rw1(t)",
    "spde(a, b, edge = 0.5):ar1(month)",
    "known(area, precision = \"precision.csv\"):rw2(month, by = g)",
    "areal(area, graph = \"edges.csv\") + rw1(t) + areal(area, graph = \"edges.csv\"):rw1(t)",
];

/// A folder with the files that components read, made once.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("towline-sbc-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let graph = "area,neighbour\np,q\nq,r\ns,u\n";
        std::fs::write(folder.join("edges.csv"), graph).unwrap();
        let precision = "a,b,value\np,p,2\nq,q,2\nr,r,1\ns,s,1\nu,u,1.5\nv,v,1\np,q,-1\nq,r,-0.5\n";
        std::fs::write(folder.join("precision.csv"), precision).unwrap();
        folder
    })
}

fn model(terms: &str, family: &str) -> LatentGaussian {
    let mut data = String::from("y,t,g,a,b,month,area\n");
    for i in 0..18u32 {
        let a = f64::from(i * 7 % 18) / 18.0;
        let b = f64::from(i * 5 % 18) / 18.0 + 0.01 * f64::from(i % 3);
        let area = ["p", "q", "r", "s", "u", "v"][(i % 6) as usize];
        let (t, g, month) = (i % 7, i % 3, i % 4 + 1);
        data += &format!("{},{t},g{g},{a},{b},{month},{area}\n", i % 2);
    }
    let text = format!(
        "family = \"{family}\"\nformula = '''y ~ {terms}'''\n[data]\nfile = \"{}\"\n[priors]\n{}",
        folder().join("d.csv").display(),
        // Data that are neither all zero nor astronomical; a process may stand for nothing where it is not there.
        if terms.starts_with("0 +") {
            "sd = \"half_normal(0.7)\"\n"
        } else {
            "sd = \"half_normal(0.7)\"\nbeta = \"normal(0.2, 0.6)\"\n"
        }
    );
    let file = ModelFile::parse("m.toml", &text).unwrap();
    let resolved = Resolved::new(&file, &Table::parse("d.csv", &data).unwrap());
    let resolved = resolved.unwrap_or_else(|error| panic!("{terms}: {error}"));
    resolved.parts.build().unwrap()
}

fn calibrated(all: &[&str], seed: u64) {
    for (k, terms) in all.iter().enumerate() {
        // Counts and binary data in turn.
        let family = ["poisson", "bernoulli"][k % 2];
        let model = model(terms, family);
        let (deviation, name) = worst(&ranks(&model, &model, seed + 10_000 * k as u64));
        println!("{family} ~ {terms}: at most {deviation:.2} ({name})");
        assert!(
            deviation < MISTAKE,
            "{terms}: {name} is off by {deviation:.1} sd"
        );
    }
}

#[test]
fn every_component_is_calibrated() {
    calibrated(&COMPONENTS, 1_000_000);
}

#[test]
fn ten_combinations_of_components_are_calibrated() {
    calibrated(&COMBINATIONS, 2_000_000);
}

#[test]
fn products_of_components_are_calibrated() {
    calibrated(&PRODUCTS, 3_000_000);
}
