//! README and the crate's own documentation show the same first example, and it is short.

/// The lines of the first fenced block that shows Rust.
fn first_block(text: &str) -> Vec<&str> {
    text.lines()
        .skip_while(|line| !line.starts_with("```rust") && *line != "```")
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect()
}

#[test]
fn readme_shows_the_example_of_the_library() {
    let readme = include_str!("../../../../README.md");
    let readme = &readme[readme.find("```rust").expect("README has a Rust example")..];
    let library: String = include_str!("../../src/lib.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned() + "\n")
        .collect();
    let shown = first_block(readme);
    assert_eq!(shown, first_block(&library));
    assert!(shown.len() < 25, "{} lines", shown.len());
}
