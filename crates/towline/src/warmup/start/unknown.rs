//! A search from a surprising place, for what is not known: it ends at a top, or where it has come to what is known.

use super::{Marginal, climbs};
use crate::error::Error;
use crate::kernel::info::Info;
use crate::kernel::state::Sighting;
use crate::optimise::widths::first_places;
use crate::target::Target;
use crate::warmup::limits::start::RETURNED;

/// Whether a place of such a height is known.
pub(in crate::warmup) type Known<'a> = dyn Fn(&[f64], f64) -> bool + 'a;

/// What it met, and what it took.
pub(in crate::warmup) fn search_the_unknown<T: Target>(
    target: &T,
    x: &[f64],
    y: &[f64],
    budget: usize,
    is_known: &Known<'_>,
) -> Result<(Vec<Sighting>, Info), Error> {
    let mut marginal = Marginal::new(target, x, y, budget, &first_places(x))?;
    marginal.is_known = Some(is_known);
    climbs(&mut marginal, x, budget);
    match marginal.failure {
        Some(failure) => Err(failure),
        None => Ok((marginal.visits, marginal.spent)),
    }
}

impl<T: Target> Marginal<'_, T> {
    /// Whether the climb has come to what was known before it began. (One place alone may have been met by a step that was too long.)
    pub(super) fn has_returned(&self) -> bool {
        self.returned >= RETURNED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ModelError;

    /// A normal about zero, and one about a place twenty away that is as high, of four slow variables.
    struct Two;
    const THERE: [f64; 4] = [16.0, -12.0, 0.0, 0.0];

    impl Target for Two {
        type Cache = f64;

        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            let about = |centre: &[f64; 4]| -> f64 {
                let both = x.iter().zip(centre);
                both.map(|(v, c)| -0.5 * (v - c).powi(2)).sum()
            };
            Ok(Some(about(&[0.0; 4]).max(about(&THERE))))
        }

        fn log_density(&self, cache: &f64, _: &[f64]) -> f64 {
            *cache
        }
    }

    /// Slow evaluations, and the highest place that was met.
    fn searched(from: &[f64], is_known: &Known<'_>) -> (u64, Vec<f64>, f64) {
        let (visits, spent) = search_the_unknown(&Two, from, &[], 80, is_known).unwrap();
        let heights = visits.into_iter().map(|v| (v.log_marginal.unwrap(), v.x));
        let (height, x) = heights.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        (spent.slow_evaluations, x, height)
    }

    #[test]
    fn a_search_ends_at_what_is_known_and_goes_on_to_what_is_not() {
        // The first of the two is known, ten log units deep.
        let near_zero = |x: &[f64], height: f64| height > -10.0 && x[0] < 8.0;
        let nothing = |_: &[f64], _: f64| false;
        let home = [-9.0, 9.0, -6.0, 6.0];
        let (all, _, height) = searched(&home, &nothing);
        assert!(height > -0.01, "{height}");
        let (until, _, height) = searched(&home, &near_zero);
        assert!(height > -10.0 && until + 15 < all, "{until} of {all}");
        // From beside the other it comes to its top, whatever is known of the first.
        let (_, x, height) = searched(&[21.0, -10.0, 5.0, -4.0], &near_zero);
        assert!(height > -0.01 && x[0] > 8.0, "{height} at {x:?}");
    }
}
