//! Columns are coded and named as in R, for new rows as for the fitted ones.

use super::super::terms::Formula;
use super::*;
use std::collections::BTreeMap;

const DATA: &str = "x,a,b,n\n1,u,p,1\n2,v,q,2\n3,w,p,1\n4,u,q,3\n";

fn matrix(text: &str) -> Result<(Vec<String>, Vec<Vec<f64>>), Error> {
    let table = Table::parse("d.csv", DATA)?;
    let formula = Formula::parse(text)?;
    let context = Context {
        text,
        table: &table,
        standardise: &[],
        levels: &BTreeMap::new(),
    };
    let matrix = Matrix::compile(&formula.fixed, context)?;
    let names = matrix.names().map(String::from).collect();
    Ok((names, matrix.values(&table)?))
}

#[test]
fn factors_are_coded_and_named_as_in_r() {
    let (names, values) = matrix("~ x + a").unwrap();
    assert_eq!(names, ["Intercept", "x", "av", "aw"]);
    assert_eq!(values[2], [0.0, 1.0, 0.0, 0.0]);
    let (names, _) = matrix("~ 0 + a").unwrap();
    assert_eq!(names, ["au", "av", "aw"]);
    let (names, _) = matrix("~ a*b").unwrap();
    assert_eq!(names, ["Intercept", "av", "aw", "bq", "av:bq", "aw:bq"]);
    let (names, _) = matrix("~ factor(n)").unwrap();
    assert_eq!(names, ["Intercept", "factor(n)2", "factor(n)3"]);
    let (names, _) = matrix("~ 0 + a + b").unwrap();
    assert_eq!(names, ["au", "av", "aw", "bq"]);
    let (names, _) = matrix("~ 0 + x + a").unwrap();
    assert_eq!(names, ["x", "au", "av", "aw"]);
    let (names, _) = matrix("~ a:x").unwrap();
    assert_eq!(names, ["Intercept", "au:x", "av:x", "aw:x"]);
}

#[test]
fn interactions_multiply() {
    let (names, values) = matrix("~ x*b").unwrap();
    assert_eq!(names, ["Intercept", "x", "bq", "x:bq"]);
    assert_eq!(values[3], [0.0, 2.0, 0.0, 4.0]);
}

#[test]
fn a_factor_with_one_level_is_refused() {
    let table = Table::parse("d.csv", "x,a\n1,u\n2,u\n").unwrap();
    let formula = Formula::parse("~ x + a").unwrap();
    let context = Context {
        text: "~ x + a",
        table: &table,
        standardise: &[],
        levels: &BTreeMap::new(),
    };
    let error = Matrix::compile(&formula.fixed, context).unwrap_err();
    assert!(
        error.to_string().contains("`a` has one level only, `u`"),
        "{error}"
    );
}

#[test]
fn new_rows_are_coded_as_the_fitted_ones_and_new_levels_refused() {
    let table = Table::parse("d.csv", DATA).unwrap();
    let formula = Formula::parse("~ a").unwrap();
    let context = Context {
        text: "~ a",
        table: &table,
        standardise: &[],
        levels: &BTreeMap::new(),
    };
    let matrix = Matrix::compile(&formula.fixed, context).unwrap();
    let new = Table::parse("n.csv", "a\nw\n").unwrap();
    assert_eq!(matrix.values(&new).unwrap(), [[1.0], [0.0], [1.0]]);
    let new = Table::parse("n.csv", "a\nz\n").unwrap();
    let error = matrix.values(&new).unwrap_err().to_string();
    assert!(error.contains("n.csv, line 2: `a` is `z`"), "{error}");
}
