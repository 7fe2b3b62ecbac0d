//! Names that other programs accept, each once.

use std::collections::HashSet;

/// Every name as `plain` makes it; where two become the same, later ones get a number.
pub fn unique(names: &[String], plain: impl Fn(&str) -> String) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    // Names that need no change keep theirs, whoever comes first.
    let kept: HashSet<&String> = names.iter().filter(|name| plain(name) == **name).collect();
    let mut one = |name: &String| {
        let base = plain(name);
        let mut candidate = base.clone();
        let mut number = 2;
        let other = |candidate: &String| candidate != name && kept.contains(candidate);
        while candidate.is_empty() || other(&candidate) || taken.contains(&candidate) {
            candidate = format!("{base}_{number}");
            number += 1;
        }
        taken.insert(candidate.clone());
        candidate
    };
    names.iter().map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        let names = ["a/b", "a_b", "a b"].map(String::from);
        let made = unique(&names, |name| name.replace(['/', ' '], "_"));
        assert_eq!(made, ["a_b_2", "a_b", "a_b_3"]);
    }
}
