//! Arithmetic is done row by row, with the constants of the fit.

use super::super::parser::parse;
use super::*;

fn evaluate(text: &str) -> Result<Vec<f64>, Error> {
    let table = Table::parse("d.csv", "x,trt,lat\n1,a,10\n2,b,20\n6,b,60\n")?;
    let context = Context {
        text,
        table: &table,
        standardise: &["lat".to_string()],
        levels: &BTreeMap::new(),
    };
    let node = parse(text)?;
    Expression::compile(&node, context)?.values(&table)
}

#[test]
fn arithmetic_is_done_row_by_row() {
    assert_eq!(evaluate("x^2 - 1").unwrap(), [0.0, 3.0, 35.0]);
    assert_eq!(evaluate("max(x - 2, 0) / 4").unwrap(), [0.0, 0.0, 1.0]);
    assert_eq!(evaluate("(trt == \"b\") * x").unwrap(), [0.0, 2.0, 6.0]);
    assert_eq!(evaluate("x >= 2").unwrap(), [0.0, 1.0, 1.0]);
    assert_eq!(evaluate("log(2*x, 2)").unwrap()[..2], [1.0, 2.0]);
    assert_eq!(evaluate("log(x, base = 10)").unwrap()[2], 6.0f64.log10());
    assert_eq!(evaluate("-x + 2*pi - 2*pi").unwrap(), [-1.0, -2.0, -6.0]);
}

#[test]
fn whole_columns_give_their_constants() {
    assert_eq!(evaluate("center(x)").unwrap(), [-2.0, -1.0, 3.0]);
    assert_eq!(evaluate("x - mean(x)").unwrap(), [-2.0, -1.0, 3.0]);
    let scaled = evaluate("scale(x)").unwrap();
    assert!((scaled.iter().map(|z| z * z).sum::<f64>() - 2.0).abs() < 1e-12);
    let standardised = evaluate("standardise(x)").unwrap();
    assert!((standardised.iter().map(|z| z * z).sum::<f64>() - 3.0).abs() < 1e-12);
    // `lat` is to be standardised wherever it is used.
    assert!((evaluate("lat").unwrap()[0] - standardised[0]).abs() < 1e-12);
}

#[test]
fn constants_of_the_fit_serve_new_rows() {
    let table = Table::parse("d.csv", "x\n1\n3\n").unwrap();
    let text = "scale(x)";
    let context = Context {
        text,
        table: &table,
        standardise: &[],
        levels: &BTreeMap::new(),
    };
    let expression = Expression::compile(&parse(text).unwrap(), context).unwrap();
    let new = Table::parse("n.csv", "x\n2\n").unwrap();
    assert_eq!(expression.values(&new).unwrap(), [0.0]);
}

#[test]
fn mistakes_are_pointed_at() {
    let at = |text: &str| match evaluate(text) {
        Err(Error::Syntax(error)) => (error.position(), error.message().to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(at("log(y)").0, 4);
    assert!(at("lag(x)").1.contains("did you mean `log`?"));
    assert!(at("trt == \"bb\"").1.contains("did you mean `b`?"));
    assert_eq!(at("x + \"a\"").0, 4);
    assert!(at("max(x)").1.contains("two or more"));
    assert!(at("exp(x, 2)").1.contains("one argument"));
    assert!(at("log(x, 1)").1.contains("base"));
    assert!(at("1 + poly(x, 2)").1.contains("several columns"));
}

#[test]
fn a_logarithm_of_zero_is_named_by_its_line() {
    let error = evaluate("log(x - 2)").unwrap_err().to_string();
    assert!(
        error.contains("line 2") && error.contains("log(x-2)"),
        "{error}"
    );
    let error = evaluate("log(trt)").unwrap_err().to_string();
    assert!(
        error.contains("`trt` is `a`, which is not a number"),
        "{error}"
    );
}
