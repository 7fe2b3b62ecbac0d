//! Memory, foreseen before a factorisation is tried.

use crate::error::Error;

/// Bytes of a factor beyond which a fit is refused: several are held at a time, by each chain.
const MOST_BYTES: usize = 2_000_000_000;

/// Bytes for each entry of a precision, and each product of two nodes of one row, while patterns are found: its place and its
/// slots several times over.
const ENTRY_BYTES: usize = 40;

/// Refuses a precision of so many nodes and entries where memory could not hold it: before anything is laid out.
pub(crate) fn refuse_too_many_entries(
    nodes: usize,
    entries: usize,
    what: &str,
) -> Result<(), Error> {
    let bytes = entries.saturating_mul(ENTRY_BYTES);
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the precision of `{what}` would have {nodes} nodes and {entries} entries, {:.1} GB while its pattern is found: at most \
         {:.1} GB are accepted. Take fewer nodes: a coarser mesh or fewer neighbours, rounded times or places, fewer levels of \
         `by`; of a product, a smaller factor",
        bytes as f64 / 1e9,
        MOST_BYTES as f64 / 1e9
    )))
}

/// Refuses a factor of so many values where memory could not hold it: before it is made.
pub(super) fn refuse_too_large(values: usize, what: &str) -> Result<(), Error> {
    let bytes = values.saturating_mul(8);
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    Err(Error::TooLarge(format!(
        "the factor of `{what}` would hold {values} numbers, {:.1} GB, for each chain and several at a time: at most {:.1} GB \
         are accepted. Take fewer nodes: a coarser mesh or fewer neighbours, rounded times or places, fewer levels of `by`",
        bytes as f64 / 1e9,
        MOST_BYTES as f64 / 1e9
    )))
}
