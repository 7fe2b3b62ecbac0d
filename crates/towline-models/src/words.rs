//! The words that model files and formulas may use, so that the reference page can be checked against them.

use crate::component::component_names;
use crate::distance::Distance;
use crate::formula::{BASES, CONTRASTS, FACTORS, functions};
use crate::spec::{ALIASES, FamilyKind, covariance_names};

/// The words of one kind, and what the kind is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What they are.
    pub kind: &'static str,
    /// All of them.
    pub words: Vec<&'static str>,
}

/// Every word that is known, kind by kind.
///
/// ```
/// let words = towline_models::known_words();
/// let families = words.iter().find(|words| words.kind == "families").unwrap();
/// assert!(families.words.contains(&"poisson"));
/// ```
pub fn known_words() -> Vec<Words> {
    let families = FamilyKind::ALL.map(FamilyKind::name).into_iter();
    let aliases = ALIASES.map(|(name, _)| name);
    let own = ["offset", "cbind", "row"];
    let of = |kind, words| Words { kind, words };
    vec![
        of("families", families.chain(aliases).collect()),
        of("functions of numbers", functions()),
        of("functions that make several columns", BASES.to_vec()),
        of("functions that make factors", FACTORS.to_vec()),
        of("components", component_names().collect()),
        of("contrasts", CONTRASTS.to_vec()),
        of("parts of formulas", own.to_vec()),
        of("covariances", covariance_names()),
        of("distances", Distance::ALL.map(Distance::name).to_vec()),
    ]
}
