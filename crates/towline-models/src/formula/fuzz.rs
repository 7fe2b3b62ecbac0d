//! No text makes the formula code panic, and what it reads it can read again.

use super::*;
use crate::table::Table;
use proptest::prelude::*;
use std::collections::BTreeMap;

const PIECES: [&str; 30] = [
    "y", "x", "g", "~", "+", "-", "*", "/", "^", ":", "|", "||", "(", ")", "1", "0", "2", "I(",
    "log(", "factor(", "offset(", "cbind(", ",", "==", "\"a\"", "row()", "scale(", " ", "`x`", "ü",
];

fn through_everything(text: &str) {
    let table = Table::parse("d.csv", "y,x,g\n1,2,a\n0,3,b\n1,5,a\n").unwrap();
    let levels = BTreeMap::new();
    let context = Context {
        text,
        table: &table,
        standardise: &[],
        levels: &levels,
    };
    if let Ok(node) = parse(text) {
        let _ = Expression::compile(&node, context).and_then(|e| e.values(&table));
    }
    match Formula::parse(text) {
        Err(error) => {
            assert!(error.position() <= text.chars().count());
            assert!(error.to_string().contains('^'));
        }
        Ok(formula) => {
            let _ = Matrix::compile(&formula.fixed, context).and_then(|m| m.values(&table));
            for group in &formula.groups {
                let _ = Factor::compile(&group.by, context);
                let _ = Matrix::compile(&group.effects, context);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        through_everything(&text);
    }

    #[test]
    fn text_that_looks_like_a_formula_never_panics(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24)
    ) {
        through_everything(&pieces.concat());
        through_everything(&format!("y ~ {}", pieces.concat()));
    }

    #[test]
    fn a_tree_that_is_printed_parses_to_the_same_tree(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24)
    ) {
        if let Ok(node) = parse(&pieces.concat()) {
            let printed = node.to_string();
            let again = parse(&printed).map(|node| node.to_string());
            prop_assert_eq!(again, Ok(printed));
        }
    }
}
