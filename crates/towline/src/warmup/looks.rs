//! Slow evaluations of warm-up that somebody beside the chain makes ready, or remembers from before an interruption.

use crate::target::Target;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// These x will be looked at next by this rule, in this order; and these others after them, if all goes as it seems to.
pub(super) fn prefetch<T: Target>(target: &T, rule: u64, xs: &[&[f64]], likely: &[&[f64]]) {
    if let Some(helper) = target.helper() {
        let unknown = |x: &&&[f64]| helper.recall(rule, x).is_none();
        let xs: Vec<&[f64]> = xs.iter().filter(unknown).copied().collect();
        let unseen = |x: &&&[f64]| !helper.has_seen(x);
        let likely: Vec<&[f64]> = likely.iter().filter(unseen).copied().collect();
        helper.prefetch(&xs, &likely);
    }
}

/// The first x will be looked at now, and the others after it, by a rule that is yet to be found.
pub(super) fn prefetch_first<T: Target>(target: &T, xs: &[&[f64]]) {
    if let Some(helper) = target.helper() {
        let (first, others) = xs.split_at(xs.len().min(1));
        let unseen = others.iter().filter(|x| !helper.has_seen(x));
        let xs: Vec<&[f64]> = first.iter().chain(unseen).copied().collect();
        helper.prefetch(&xs, &[]);
    }
}

/// Whether x is ready or under way, when nothing more of what was foreseen is to be begun.
pub(super) fn is_under_way<T: Target>(target: &T, x: &[f64]) -> bool {
    target.helper().is_some_and(|helper| helper.is_under_way(x))
}

/// What a look at x by this rule found, made now or before the run was interrupted.
///
/// What is found must be a function of target, rule and x.
pub(super) fn look<T: Target, L: Serialize + DeserializeOwned, E>(
    target: &T,
    rule: u64,
    x: &[f64],
    make: impl FnOnce() -> Result<L, E>,
) -> Result<L, E> {
    let Some(helper) = target.helper() else {
        return make();
    };
    let known = helper.recall(rule, x);
    if let Some(known) = known.and_then(|bytes| postcard::from_bytes(&bytes).ok()) {
        return Ok(known);
    }
    let found = make()?;
    if helper.remembers()
        && let Ok(bytes) = postcard::to_stdvec(&found)
    {
        helper.note(rule, x, bytes);
    }
    Ok(found)
}
