//! The scaling of published graphs, and what is said of odd ones.

use super::graph::Graph;
use super::scaling_factor;
use std::path::Path;

fn pairs(text: &str) -> Vec<(String, String)> {
    text.split_whitespace()
        .map(|pair| {
            let (a, b) = pair.split_once('-').unwrap();
            (a.to_string(), b.to_string())
        })
        .collect()
}

fn graph(text: &str, used: &str) -> (Result<Graph, String>, Vec<String>) {
    let mut notes = Vec::new();
    let used: Vec<String> = used.split_whitespace().map(String::from).collect();
    let line = |row: usize| format!("e.csv, line {}", row + 2);
    let graph = Graph::new(&pairs(text), &used, &line, &mut notes);
    (graph.map_err(|e| e.to_string()), notes)
}

#[test]
fn two_neighbours_have_the_variance_of_half_a_difference() {
    // u = (w/2, −w/2) with w of variance one.
    let factor = scaling_factor(&[0, 1], &[[0, 1]]).unwrap();
    assert!((factor - 0.25).abs() < 1e-12, "{factor}");
}

#[test]
fn new_york_is_scaled_as_its_authors_have_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("TOWLINE_DATA").map_or(root.join("../shared/data"), Into::into);
    let path = shared.join("areal_nyc/edges.csv");
    if !path.exists() {
        eprintln!("areal_nyc: its data are not here, so it is left out");
        return;
    }
    let used: Vec<String> = (1..=1921).map(|k| k.to_string()).collect();
    let graph = Graph::read(&path, &used, &mut Vec::new()).unwrap();
    assert_eq!(
        (graph.names.len(), graph.edges.len(), graph.parts.len()),
        (1921, 5461, 1)
    );
    let factor = scaling_factor(&graph.parts[0], &graph.edges).unwrap();
    // Exactly, by the inverse of Q + 11ᵀ/n in NumPy; the authors' 0.713657405857842 has √ε of the largest diagonal entry added
    // to Q, which gives this number to eleven digits when it is done there too.
    assert!((factor - 0.713_676_818_046_700_7).abs() < 1e-10, "{factor}");
    assert!(
        (factor / 0.713_657_405_857_842 - 1.0).abs() < 3e-5,
        "{factor}"
    );
}

#[test]
fn a_pair_of_an_area_with_itself_is_refused_by_line() {
    let (graph, _) = graph("a-b b-b", "a b");
    let text = graph.unwrap_err();
    assert!(
        text.starts_with("e.csv, line 3") && text.contains("its own neighbour"),
        "{text}"
    );
}

#[test]
fn islands_and_areas_alone_are_noted() {
    let (graph, notes) = graph("a-b c-d d-e", "a b c d e f");
    let graph = graph.unwrap();
    assert_eq!(
        graph.parts.iter().map(Vec::len).collect::<Vec<_>>(),
        [2, 3, 1]
    );
    assert!(
        notes
            .iter()
            .any(|n| n.contains("`f`") && n.contains("no neighbours")),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|n| n.contains("2 parts") && n.contains("sums to zero")),
        "{notes:?}"
    );
}

#[test]
fn areas_without_rows_are_noted_and_kept() {
    let (graph, notes) = graph("a-b b-c", "a b");
    assert_eq!(graph.unwrap().names.len(), 3);
    assert!(
        notes
            .iter()
            .any(|n| n.contains("1 area of the graph has no rows")),
        "{notes:?}"
    );
}

#[test]
fn a_graph_of_other_areas_is_refused() {
    let (graph, _) = graph("a-b b-c", "1 2 3");
    let text = graph.unwrap_err();
    assert!(
        text.contains("no area of the data is in the graph") && text.contains("`1`"),
        "{text}"
    );
}

#[test]
fn pairs_in_one_direction_are_noted_where_others_stand_in_both() {
    let (one, notes) = graph("a-b b-c", "a b c");
    assert!(one.is_ok() && notes.is_empty(), "{notes:?}");
    let (both, notes) = graph("a-b b-a b-c", "a b c");
    assert_eq!(both.unwrap().edges.len(), 2);
    assert!(
        notes[0].contains("`b` to `c`") && notes[0].contains("one direction only"),
        "{notes:?}"
    );
}
