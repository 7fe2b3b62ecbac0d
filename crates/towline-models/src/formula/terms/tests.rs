//! Formulas are read as R and lme4 read them.

use super::*;

fn fixed(text: &str) -> String {
    let formula = Formula::parse(text).unwrap();
    let terms = formula.fixed.terms.iter().map(|term| {
        let names: Vec<String> = term.variables.iter().map(ToString::to_string).collect();
        names.join(":")
    });
    let intercept = formula.fixed.intercept.then(|| "1".to_string());
    intercept
        .into_iter()
        .chain(terms)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn products_expand_as_in_r() {
    assert_eq!(fixed("y ~ a*b"), "1 a b a:b");
    assert_eq!(fixed("y ~ a:b + a"), "1 a a:b");
    assert_eq!(fixed("y ~ a/b"), "1 a a:b");
    assert_eq!(fixed("y ~ (a+b+c)^2"), "1 a b c a:b a:c b:c");
    assert_eq!(fixed("y ~ a*b*c - a:b:c"), "1 a b c a:b a:c b:c");
    assert_eq!(fixed("y ~ a + a"), "1 a");
    assert_eq!(fixed("y ~ (a+b):c"), "1 a:c b:c");
}

#[test]
fn the_intercept_can_be_left_out() {
    assert_eq!(fixed("y ~ 0 + a"), "a");
    assert_eq!(fixed("y ~ a - 1"), "a");
    assert_eq!(fixed("y ~ -1 + a"), "a");
    assert_eq!(fixed("y ~ 1"), "1");
    assert_eq!(fixed("y ~ 0"), "");
}

fn groups(text: &str) -> Vec<String> {
    let formula = Formula::parse(text).unwrap();
    let show = |group: &Grouping| {
        let by: Vec<String> = group.by.iter().map(ToString::to_string).collect();
        format!(
            "{}{}|{}",
            if group.effects.intercept { "1" } else { "0" },
            group.effects.terms.len(),
            by.join(":")
        )
    };
    formula.groups.iter().map(show).collect()
}

#[test]
fn random_effects_are_read_as_by_lme4() {
    assert_eq!(
        groups("y ~ (1 + age | district) + (1 | village)"),
        ["11|district", "10|village"]
    );
    assert_eq!(groups("y ~ (1 | a/b)"), ["10|a", "10|a:b"]);
    assert_eq!(groups("y ~ (1 | a/b/c)"), ["10|a", "10|a:b", "10|a:b:c"]);
    assert_eq!(
        groups("y ~ (x || g) + (0 + x | h)"),
        ["10|g", "01|g", "01|h"]
    );
    assert_eq!(groups("y ~ x + (1 | row())"), ["10|row()"]);
}

#[test]
fn responses_of_two_numbers_are_read() {
    let response = |text| Formula::parse(text).unwrap().response;
    assert!(matches!(
        response("cbind(s, n - s) ~ x"),
        Some(Response::Counts(..))
    ));
    assert!(matches!(response("s | n ~ x"), Some(Response::Trials(..))));
    assert!(response("~ x").is_none());
}

#[test]
fn offsets_are_kept_apart() {
    let formula = Formula::parse("y ~ x + offset(log(e))").unwrap();
    assert_eq!(formula.offsets[0].to_string(), "log(e)");
    assert_eq!(formula.fixed.terms.len(), 1);
}

#[test]
fn mistakes_of_meaning_point_at_their_character() {
    let at = |text: &str| {
        let error = Formula::parse(text).unwrap_err();
        (error.position(), error.message().to_string())
    };
    assert!(at("y ~ age^2").1.contains("I(age^2)"));
    assert_eq!(at("y ~ age^2").0, 4);
    assert!(at("y ~ x + 1 | g").1.contains("in brackets"));
    assert!(at("y ~ 2*x").1.contains("I(2*x)"));
    assert!(at("y + x").1.contains('~'));
    assert!(at("y ~ x ~ z").1.contains("one `~`"));
    assert!(at("y ~ (0 | g)").1.contains("nothing that varies"));
    assert_eq!(at("y ~ x + (1 | g + h)").0, 13);
    assert_eq!(at("y ~ a - b").0, 8);
    assert!(
        at("y ~ (a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t)^9")
            .1
            .contains("2000")
    );
}
