//! Refined caches: what a medium computation leaves behind, kept with the values it was made for.

use crate::error::Error;
use crate::fast::ledger::Ledger;
use crate::frame::Frame;
use crate::linalg::Root;
use crate::target::Target;

/// A cache in which the leading fast variables are held at `head`.
#[derive(Debug, Clone)]
pub(crate) struct Refined<C> {
    /// The leading values of y (not of z).
    pub head: Vec<f64>,
    pub cache: C,
    /// The same for one more block, where a nested drag has a nested drag inside.
    pub deeper: Option<Box<Refined<C>>>,
}

/// A refined cache, if there is one.
pub(crate) type Kept<C> = Option<Box<Refined<C>>>;

impl<C> Refined<C> {
    /// Whether this cache serves where y begins with these values.
    pub fn serves(&self, head: &[f64]) -> bool {
        self.head == head
    }
}

/// The medium computation at these leading values of y, starting from a cache that serves there.
///
/// `None` where the target has no such computation, which costs time and nothing else; a failure is
/// noted in the ledger.
pub(crate) fn refine<T: Target>(
    target: &T,
    x: &[f64],
    cache: &T::Cache,
    head: &[f64],
    ledger: &mut Ledger,
) -> Option<Box<Refined<T::Cache>>> {
    // After a failure nothing matters but to come home with it.
    if ledger.failure.is_some() || !ends_a_block(target.blocks(), head.len()) {
        return None;
    }
    // Nothing that overflowed is shown to the model's medium computation.
    if head.iter().any(|v| !v.is_finite()) {
        return None;
    }
    match target.refine(cache, head) {
        Ok(None) => None,
        Ok(Some(cache)) => {
            ledger.spent.medium += 1;
            Some(Box::new(Refined {
                head: head.to_vec(),
                cache,
                deeper: None,
            }))
        }
        Err(source) => {
            ledger.failure = Some(Error::Model {
                x: x.to_vec(),
                y: head.to_vec(),
                source,
            });
            None
        }
    }
}

/// The leading values of y that these caches hold, those of fewer blocks first.
pub(crate) fn heads<C>(kept: &Kept<C>) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    let mut next = kept;
    while let Some(refined) = next {
        all.push(refined.head.clone());
        next = &refined.deeper;
    }
    all
}

/// Refined caches for these leading values, made again: what a resumed chain had before.
pub(crate) fn again<T: Target>(
    target: &T,
    x: &[f64],
    cache: &T::Cache,
    heads: &[Vec<f64>],
) -> Result<Kept<T::Cache>, Error> {
    let Some((head, deeper)) = heads.split_first() else {
        return Ok(None);
    };
    let mut ledger = Ledger::default();
    let refined = refine(target, x, cache, head, &mut ledger);
    ledger.close()?;
    let Some(mut refined) = refined else {
        return Ok(None);
    };
    refined.deeper = again(target, x, &refined.cache, deeper)?;
    Ok(Some(refined))
}

/// Whether a head of this length is made of whole blocks.
fn ends_a_block(blocks: &[usize], len: usize) -> bool {
    let mut end = 0;
    blocks.iter().any(|block| {
        end += block;
        end == len
    })
}

/// Whether the leading values of y follow from the leading values of z alone: only then can they be
/// held while the rest of z moves.
pub(crate) fn keeps_blocks(frame: &Frame) -> bool {
    match frame {
        Frame::Identity => true,
        Frame::Affine { root, .. } => matches!(root, Root::Lower(_) | Root::Stretched(_)),
    }
}

#[test]
fn only_heads_of_whole_blocks_are_refined() {
    let whole: Vec<usize> = (0..8).filter(|&k| ends_a_block(&[2, 3], k)).collect();
    assert_eq!(whole, [2, 5]);
    assert!(!ends_a_block(&[], 1));
}
