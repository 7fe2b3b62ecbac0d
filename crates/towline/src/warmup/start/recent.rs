//! What the last few slow evaluations of a search left behind: it looks again where it was a moment ago.

use super::super::limits::start::MOST_SLOW;
use std::collections::VecDeque;

/// The last places that were looked at, but for the best. What is left behind there is no longer to be had where the look was remembered from before an
/// interruption; the place counts as seen all the same, so that a resumed run counts as the other would.
pub(super) struct Recent<C> {
    places: VecDeque<(Vec<f64>, Option<C>)>,
    most: usize,
}

impl<C> Recent<C> {
    /// Of a search for the top of so many variables: two for each, unless they are many, whose caches may be large.
    pub fn new(p: usize) -> Self {
        Self {
            places: VecDeque::new(),
            most: if p > MOST_SLOW { 0 } else { 2 * p },
        }
    }

    /// Whether x is among them with all that is needed to look again.
    pub fn has(&self, x: &[f64]) -> bool {
        let mut kept = self.places.iter().filter(|(_, cache)| cache.is_some());
        kept.any(|(place, _)| place == x)
    }

    /// These will be looked at again: they are the last to be forgotten.
    pub fn hold(&mut self, xs: &[f64], p: usize) {
        for x in xs.chunks_exact(p) {
            if let (true, cache) = self.take(x) {
                self.put(x.to_vec(), cache);
            }
        }
    }

    /// Whether x is among them, and what was left behind there, which whoever takes it puts back.
    pub fn take(&mut self, x: &[f64]) -> (bool, Option<C>) {
        match self.places.iter().position(|(place, _)| place == x) {
            Some(k) => (true, self.places.remove(k).and_then(|(_, cache)| cache)),
            None => (false, None),
        }
    }

    /// The newest; the oldest is forgotten where there are too many.
    pub fn put(&mut self, x: Vec<f64>, cache: Option<C>) {
        self.places.push_back((x, cache));
        if self.places.len() > self.most {
            self.places.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_but_for_those_that_are_expected() {
        let mut recent = Recent::new(1);
        recent.put(vec![1.0], Some('a'));
        recent.put(vec![2.0], None);
        recent.hold(&[1.0, 7.0], 1);
        recent.put(vec![3.0], Some('c'));
        // A look that was remembered counts as seen, without what it left behind.
        assert!(recent.has(&[1.0]) && !recent.has(&[2.0]));
        assert_eq!(recent.take(&[1.0]), (true, Some('a')));
        assert_eq!(recent.take(&[1.0]), (false, None));
        let mut many = Recent::new(MOST_SLOW + 1);
        many.put(vec![1.0], Some('a'));
        assert!(!many.has(&[1.0]));
    }
}
