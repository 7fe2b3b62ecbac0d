//! With a tuning that was given there is no warm-up to find the bulk of the target: the chain walks there before its draws begin.

use crate::chain::Chain;
use crate::error::Error;
use crate::target::Target;
use std::collections::VecDeque;

/// Accepted slow moves of which two windows are compared.
const WINDOW: usize = 10;
/// A chain has arrived when the log density is on average no higher in the newer window, by more than so many standard errors. (On a
/// steady way up, windows of ten are apart by nearly eight.)
const RISES: f64 = 2.0;
/// No more steps than this: a chain that is stuck shows in its diagnostics.
const MOST: usize = 2000;

/// Walks until the log density no longer rises. None of these steps is a draw.
///
/// # Errors
/// Whatever fails in the model.
pub(super) fn approach<T: Target>(chain: &mut Chain<T>) -> Result<(), Error> {
    let mut heights: VecDeque<f64> = VecDeque::with_capacity(2 * WINDOW + 1);
    for _ in 0..MOST {
        let info = chain.advance()?;
        // Fast moves go up and down wherever x is: while it stands still they tell nothing of its way.
        if info.outer_accepted == 0 && !chain.x().is_empty() {
            continue;
        }
        heights.push_back(chain.log_density());
        if heights.len() > 2 * WINDOW {
            heights.pop_front();
        }
        if heights.len() == 2 * WINDOW && has_arrived(heights.make_contiguous()) {
            break;
        }
    }
    Ok(())
}

fn has_arrived(heights: &[f64]) -> bool {
    let (before, now) = heights.split_at(heights.len() / 2);
    let moments = |window: &[f64]| {
        let count = window.len() as f64;
        let mean = window.iter().sum::<f64>() / count;
        let spread = window.iter().map(|h| (h - mean).powi(2)).sum::<f64>() / (count - 1.0);
        (mean, spread / count)
    };
    let ((mean, error), (now, its_error)) = (moments(before), moments(now));
    now - mean <= RISES * (error + its_error).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erased::{AnyTarget, Erased};
    use crate::error::ModelError;
    use crate::fast::moves::{FastMove, RandomWalk};
    use crate::kernel::{Drag, Kernel};
    use crate::linalg::Factor;
    use crate::random::Rng;
    use crate::slow::proposal::SlowProposal;

    /// A normal of six slow variables, and of as many fast ones as there are.
    struct Normal;
    impl Target for Normal {
        type Cache = f64;
        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(-0.5 * x.iter().map(|v| v * v).sum::<f64>()))
        }
        fn log_density(&self, cache: &f64, y: &[f64]) -> f64 {
            cache - 0.5 * y.iter().map(|v| v * v).sum::<f64>()
        }
    }

    fn walked_from(far: f64, fast: usize, seed: u64) -> Chain<&'static AnyTarget<'static>> {
        let unit = |size: f64, d: usize| Factor::diagonal(&vec![size; d], "steps").unwrap();
        let slow = SlowProposal::RandomWalk(unit(1.0, 6));
        let drag: Kernel = match fast {
            0 => Drag::without_fast(slow).into(),
            d => Drag::new(4, slow, FastMove::RandomWalk(RandomWalk::new(unit(0.5, d))))
                .unwrap()
                .into(),
        };
        let y = vec![0.5; fast];
        let mut chain = Chain::new(
            &Erased(&Normal) as &AnyTarget,
            drag,
            &[far; 6],
            &y,
            Rng::stream(seed, 0),
        )
        .unwrap();
        approach(&mut chain).unwrap();
        chain
    }

    #[test]
    fn a_chain_from_afar_arrives_and_one_at_home_soon_stays() {
        for fast in [0, 20] {
            let (mut furthest, mut at_home) = (0.0f64, 0);
            for seed in 0..40 {
                // From 24 standard deviations away: the squared length of six normals is above 28 once in ten thousand times.
                let far = walked_from(10.0, fast, seed);
                furthest = furthest.max(far.x().iter().map(|v| v * v).sum());
                at_home += walked_from(0.5, fast, seed).steps();
            }
            assert!(furthest < 36.0, "{furthest} with {fast} fast ones");
            assert!(at_home / 40 < 200, "{at_home} with {fast} fast ones");
        }
    }
}
