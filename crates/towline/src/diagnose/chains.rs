//! What every diagnostic of several chains needs first: are they usable, and their halves.

/// The fewest draws per chain from which anything is computed (ArviZ's limit: each half needs two).
pub const MIN_DRAWS: usize = 4;

/// Whether the chains can be compared: enough of them, long enough, equally long, and no NaN.
pub(super) fn are_usable(chains: &[&[f64]], min_chains: usize) -> bool {
    let Some(first) = chains.first() else {
        return false;
    };
    chains.len() >= min_chains
        && first.len() >= MIN_DRAWS
        && chains.iter().all(|chain| chain.len() == first.len())
        && !has_nan(chains)
}

/// Whether any draw is NaN.
pub(super) fn has_nan(chains: &[&[f64]]) -> bool {
    chains.iter().any(|chain| chain.iter().any(|x| x.is_nan()))
}

/// Both halves of every chain, so that a chain that drifts disagrees with itself.
///
/// With an odd number of draws the middle one is left out. First all the first halves, then all
/// the second ones.
pub(super) fn halves<T>(chains: &[impl AsRef<[T]>]) -> Vec<&[T]> {
    let half = |chain: &[T]| chain.len() / 2;
    let first = chains.iter().map(|c| {
        let c = c.as_ref();
        &c[..half(c)]
    });
    let second = chains.iter().map(|c| {
        let c = c.as_ref();
        &c[c.len() - half(c)..]
    });
    first.chain(second).collect()
}

/// Every chain with each draw replaced by a function of it.
pub(super) fn map(chains: &[&[f64]], f: impl Fn(f64) -> f64) -> Vec<Vec<f64>> {
    chains
        .iter()
        .map(|chain| chain.iter().map(|&x| f(x)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_chain_is_halved_without_its_middle_draw() {
        let chains: [&[f64]; 2] = [&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]];
        let expected: Vec<&[f64]> = vec![&[1.0, 2.0], &[6.0, 7.0], &[4.0, 5.0], &[9.0, 10.0]];
        assert_eq!(halves(&chains), expected);
    }

    #[test]
    fn ragged_short_or_nan_chains_are_refused() {
        assert!(!are_usable(&[], 1));
        assert!(!are_usable(&[&[1.0, 2.0, 3.0]], 1));
        assert!(!are_usable(&[&[1.0; 5], &[1.0; 6]], 1));
        assert!(!are_usable(&[&[1.0, 2.0, f64::NAN, 4.0]], 1));
        assert!(!are_usable(&[&[1.0; 5]], 2));
        assert!(are_usable(&[&[1.0; 5], &[2.0; 5]], 2));
    }
}
