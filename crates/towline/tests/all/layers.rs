//! The engine's layers: nothing uses what stands above it in ARCHITECTURE.md's list.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the workspace begins.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The layers, lowest first: the first word of each line of the block that opens with ```layers.
fn layers() -> Vec<String> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let block = page
        .split("```layers\n")
        .nth(1)
        .expect("a block of layers in ARCHITECTURE.md");
    let block = block.split("```").next().unwrap_or_default();
    let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let strip = |name: String| {
        name.trim_end_matches('/')
            .trim_end_matches(".rs")
            .to_owned()
    };
    block.lines().filter_map(name).map(strip).collect()
}

/// The layer in which a module lies: the longest entry that its path begins with.
fn layer_of(layers: &[String], module: &str) -> Option<usize> {
    let inside = |layer: &str| {
        let rest = module.strip_prefix(layer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let candidates = layers.iter().enumerate().filter(|(_, name)| inside(name));
    let longest = candidates.max_by_key(|(_, name)| name.len());
    longest.map(|(place, _)| place)
}

/// Every source file, with its module's path (`fast/moves/walk`).
fn modules(folder: &Path, prefix: &str, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_str().expect("a name in UTF-8");
        let join = |name: &str| match prefix {
            "" => name.to_owned(),
            _ => format!("{prefix}/{name}"),
        };
        if path.is_dir() {
            modules(&path, &join(name), found);
        } else if let Some(stem) = name.strip_suffix(".rs") {
            let module = if stem == "mod" {
                prefix.to_owned()
            } else {
                join(stem)
            };
            found.push((path, module));
        }
    }
}

/// Whether a module is compiled for tests alone.
fn is_test(module: &str) -> bool {
    let mut parts = module.split('/');
    parts.any(|part| ["tests", "testing", "exactness", "enumerate"].contains(&part))
}

/// The text without comments and without the test modules at its end.
fn production(text: &str) -> String {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    let mut skipped = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        // The line after this attribute is for tests alone; so is what follows a free-standing test.
        let for_tests = line.trim() == "#[cfg(test)]";
        if line.starts_with("#[test]") {
            break;
        }
        if !skipped && !for_tests && !line.trim_start().starts_with("//") {
            kept.push(line);
        }
        skipped = for_tests;
    }
    kept.join("\n")
}

/// The text of a module with its `super::` written out.
fn absolute(module: &str, text: &str) -> String {
    let mut text = text.to_owned();
    for up in [2, 1] {
        let mut parts: Vec<&str> = module.split('/').collect();
        parts.truncate(parts.len().saturating_sub(up));
        let parent = parts
            .iter()
            .map(|part| format!("{part}::"))
            .collect::<String>();
        text = text.replace(&"super::".repeat(up), &format!("crate::{parent}"));
    }
    text
}

/// The paths after `crate::` in a text: each with all that its braces name, as modules.
fn uses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in text.split("crate::").skip(1) {
        let end = part
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
            .unwrap_or(part.len());
        let path = part[..end].trim_end_matches(':').replace("::", "/");
        match part[end..].strip_prefix('{') {
            // use crate::a::{b::C, d::E}: the names inside are looked at one by one.
            Some(inside) => {
                let inside = inside.split('}').next().unwrap_or_default();
                found.extend(
                    inside
                        .split(',')
                        .map(str::trim)
                        .filter(|name| !name.is_empty())
                        .map(|name| match path.as_str() {
                            "" => name.replace("::", "/"),
                            path => format!("{path}/{}", name.replace("::", "/")),
                        }),
                );
            }
            None => found.push(path),
        }
    }
    found
}

/// The steps upward among these uses, said for people.
fn upward(layers: &[String], module: &str, text: &str) -> Vec<String> {
    let Some(here) = layer_of(layers, module) else {
        return vec![format!("{module} is in no layer of ARCHITECTURE.md")];
    };
    let step = |used: String| match layer_of(layers, &used) {
        None => Some(format!("{module} uses {used} by the root of the crate")),
        Some(there) if there > here => Some(format!(
            "{module} (layer {}) uses {used} (layer {}), which comes later in the list",
            layers[here], layers[there]
        )),
        Some(_) => None,
    };
    uses(&absolute(module, &production(text)))
        .into_iter()
        .filter_map(step)
        .collect()
}

#[test]
fn nothing_uses_a_layer_above_its_own() {
    let layers = layers();
    let mut sources = Vec::new();
    let folder = root().join("crates/towline/src");
    modules(&folder, "", &mut sources);
    sources.retain(|(_, module)| module != "lib" && !is_test(module));
    assert!(sources.len() > 60, "only {} sources found", sources.len());
    let mut wrong = Vec::new();
    for (path, module) in &sources {
        let text = fs::read_to_string(path).expect("a source");
        wrong.extend(upward(&layers, module, &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Nothing in the list that is not in the tree.
    for layer in &layers {
        let there = folder.join(layer).is_dir() || folder.join(format!("{layer}.rs")).is_file();
        assert!(
            there,
            "ARCHITECTURE.md lists {layer}, which is not in the tree"
        );
    }
}

#[test]
fn a_step_upward_is_seen() {
    let layers = layers();
    let text = "use crate::kernel::Drag;\nfn f() {}\n";
    assert_eq!(upward(&layers, "linalg/factor", text).len(), 1);
    assert_eq!(upward(&layers, "warmup/inner", text).len(), 0);
    let inline = "fn f(rule: &crate::{frame::FrameRule, run::Watch}) -> crate::Info {}";
    assert_eq!(upward(&layers, "frame", inline).len(), 2);
    let test = "fn f() {}\n#[cfg(test)]\nmod tests {\n    use crate::run::Watch;\n}\n";
    assert_eq!(upward(&layers, "frame", test).len(), 0);
    let relative = "use super::moves::FastMove;\nuse super::super::run::Watch;\n";
    assert_eq!(upward(&layers, "fast/path", relative).len(), 2);
    assert_eq!(upward(&layers, "nowhere", "").len(), 1);
}
