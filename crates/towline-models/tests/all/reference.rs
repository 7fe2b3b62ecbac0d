//! The reference page of the model file has every word that the code knows, and no prior or key that it does not.

use std::fs;
use std::path::Path;
use towline::Prior;
use towline_models::{ModelFile, known_words};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/model-file.md");
    fs::read_to_string(path).unwrap()
}

/// The lines of one section.
fn section(title: &str) -> String {
    let page = page();
    let start = format!("\n## {title}\n");
    let rest = page
        .split_once(&start)
        .unwrap_or_else(|| panic!("no section {title}"))
        .1;
    rest.split("\n## ").next().unwrap().to_string()
}

/// Whether a text has a word as code: after a backtick, and not the beginning of a longer one.
fn has(text: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.match_indices(&format!("`{word}"))
        .any(|(at, found)| !text[at + found.len()..].starts_with(goes_on))
}

/// The keys that a table of a model file may have, from what is said about one that it may not.
fn keys(before: &str, after: &str) -> Vec<String> {
    let text = format!("{before}no_such_key = 1\n{after}");
    let error = ModelFile::parse("m.toml", &text).unwrap_err().to_string();
    let expected = error
        .split("expected one of ")
        .nth(1)
        .unwrap_or_else(|| panic!("{error}"));
    let line = expected.lines().next().unwrap();
    line.split('`')
        .skip(1)
        .step_by(2)
        .map(String::from)
        .collect()
}

#[test]
fn every_word_is_on_the_page() {
    let page = page();
    for words in known_words() {
        assert!(!words.words.is_empty());
        for word in words.words {
            assert!(has(&page, word), "{}: the page lacks `{word}`", words.kind);
        }
    }
}

#[test]
fn every_key_is_on_the_page_and_no_other() {
    let data = "[data]\nfile = \"d.csv\"\n";
    let head = "family = \"poisson\"\n";
    let mut known: Vec<String> = keys("", &format!("{head}{data}"))
        .into_iter()
        .filter(|key| !["data", "gp"].contains(&key.as_str()))
        .collect();
    for (prefix, found) in [
        ("data", keys(&format!("{head}{data}"), "")),
        (
            "gp",
            keys(&format!("{head}{data}[[gp]]\ninputs = [\"x\"]\n"), ""),
        ),
    ] {
        known.extend(found.iter().map(|key| format!("{prefix}.{key}")));
    }
    // Spellings of the other side of the ocean are accepted, not taught.
    known.retain(|key| !key.ends_with("standardize") && key != "center");
    let documented: Vec<String> = section("Keys")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(String::from)
        .collect();
    let sorted = |mut list: Vec<String>| {
        list.sort();
        list
    };
    assert_eq!(sorted(documented), sorted(known));
}

#[test]
fn the_priors_of_the_page_are_those_that_are_read() {
    let section = section("Priors");
    let error = "no_such_prior".parse::<Prior>().unwrap_err().to_string();
    let forms = error.split("write one of ").nth(1).unwrap();
    let forms: Vec<String> = forms
        .split("), ")
        .map(|form| format!("{})", form.trim_end_matches(')')))
        .collect();
    assert!(forms.len() >= 17, "{forms:?}");
    for form in &forms {
        assert!(
            section.contains(&format!("`{form}`")),
            "the page lacks `{form}`"
        );
    }
    let table = section
        .split("\n\n")
        .find(|part| part.contains("| prior |"))
        .unwrap();
    for code in table
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|code| code.contains('('))
    {
        assert!(
            code.starts_with("lkj(") || forms.iter().any(|form| form == code),
            "`{code}` is not read"
        );
    }
}

#[test]
fn defaults_are_those_of_the_page() {
    let text = "family = \"poisson\"\n[data]\nfile = \"d.csv\"\n[[gp]]\ninputs = [\"x\"]\n";
    let gp = ModelFile::parse("m.toml", text).unwrap().gp.remove(0);
    let keys = section("Keys");
    let row = |key: &str| {
        keys.lines()
            .find(|line| line.contains(key))
            .unwrap()
            .to_string()
    };
    assert!(row("`gp.covariance`").ends_with(&format!("| `\"{}\"` |", gp.covariance)));
    assert!(row("`gp.distance`").ends_with(&format!("| `\"{}\"` |", gp.distance.name())));
    assert!(row("`gp.jitter`").ends_with(&format!("| `{:e}` |", gp.jitter)));
}
