//! With a tuning that was given there is no warm-up to find the bulk of the target: the chain walks there before its draws begin.

use crate::chain::Chain;
use crate::error::Error;
use crate::target::Target;
use std::collections::VecDeque;

/// Steps that changed the state, of which the newest tell whether the chain still climbs.
const RECENT: usize = 16;
/// On the way up nearly every accepted step gains. Where a chain has arrived, as many lose: at most so many of the recent ones
/// gain, three times in four.
const GAINS: usize = 9;
/// No more steps than this: a chain that is stuck shows in its diagnostics.
const MOST: usize = 2000;

/// Walks until the log density no longer rises. None of these steps is a draw.
///
/// # Errors
/// Whatever fails in the model.
pub(super) fn approach<T: Target>(chain: &mut Chain<T>) -> Result<(), Error> {
    let mut gains: VecDeque<bool> = VecDeque::with_capacity(RECENT + 1);
    for _ in 0..MOST {
        let before = chain.log_density();
        chain.advance()?;
        let after = chain.log_density();
        if after == before {
            continue;
        }
        gains.push_back(after > before);
        if gains.len() > RECENT {
            gains.pop_front();
        }
        if gains.len() == RECENT && gains.iter().filter(|&&gain| gain).count() <= GAINS {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ModelError;
    use crate::kernel::Drag;
    use crate::linalg::Factor;
    use crate::random::Rng;
    use crate::slow::proposal::SlowProposal;

    /// A normal of six slow variables.
    struct Six;
    impl Target for Six {
        type Cache = f64;
        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(-0.5 * x.iter().map(|v| v * v).sum::<f64>()))
        }
        fn log_density(&self, cache: &f64, _: &[f64]) -> f64 {
            *cache
        }
    }

    fn walked_from(far: f64, seed: u64) -> Chain<Six> {
        let walk = Factor::diagonal(&[1.0; 6], "steps").unwrap();
        let kernel = Drag::without_fast(SlowProposal::RandomWalk(walk));
        let mut chain = Chain::new(Six, kernel, &[far; 6], &[], Rng::stream(seed, 0)).unwrap();
        approach(&mut chain).unwrap();
        chain
    }

    #[test]
    fn a_chain_from_afar_arrives_and_one_at_home_soon_stays() {
        let (mut worst, mut at_home) = (f64::INFINITY, 0);
        for seed in 0..40 {
            // 24 standard deviations away, where the log density is -300: in the bulk it is -3 with sd 1.7.
            worst = worst.min(walked_from(10.0, seed).log_density());
            at_home += walked_from(0.5, seed).steps();
        }
        assert!(worst > -14.0, "{worst}");
        assert!(at_home / 40 < 120, "{at_home}");
    }
}
