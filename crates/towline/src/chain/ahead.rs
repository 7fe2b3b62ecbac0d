//! Which slow evaluations a chain will most likely ask for next, so that others can make them ready (prefetching: Brockwell 2006).
//!
//! Every step has random numbers of its own, and draws its proposal first. So the proposal of the next step is known as soon as one knows
//! where it begins: at x* or, after a rejection, at x. Each guess that turns out wrong costs an evaluation in vain, and no bit of the draws.

use crate::kernel::Kernel;
use crate::random::Rng;

/// What sets the random numbers of steps apart from all others.
const STEPS: u64 = 0x73_74_65_70;

/// The random numbers of each step of one chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepStreams {
    seed: u64,
    chain: u64,
}

impl StepStreams {
    /// Of this chain of a run with this seed.
    pub fn new(seed: u64, chain: usize) -> Self {
        let chain = chain as u64;
        Self { seed, chain }
    }

    /// Those of the step after so many.
    pub fn of(self, steps: u64) -> Rng {
        Rng::apart(self.seed, STEPS ^ self.chain << 32, steps)
    }

    /// The `count` places whose slow evaluation is most likely asked for by the steps after `steps`, which begin at x, if proposals are
    /// accepted with such a probability; the first is certain.
    pub fn likely(
        self,
        kernel: &Kernel,
        x: &[f64],
        steps: u64,
        acceptance: f64,
        count: usize,
    ) -> Vec<Vec<f64>> {
        let mut places = Vec::new();
        let mut open = vec![Branch {
            from: x.to_vec(),
            steps,
            probability: 1.0,
        }];
        while places.len() < count {
            let by = |a: &&Branch, b: &&Branch| a.probability.total_cmp(&b.probability);
            let Some(most) = open.iter().max_by(by) else {
                break;
            };
            let most = most.clone();
            open.retain(|branch| *branch != most);
            let Branch {
                from,
                steps,
                probability,
            } = most;
            let Some(new) = kernel.first_proposal(&from, &mut self.of(steps)) else {
                break;
            };
            let next = |from: Vec<f64>, share: f64| Branch {
                from,
                steps: steps + 1,
                probability: share * probability,
            };
            open.push(next(new.clone(), acceptance));
            open.push(next(from, 1.0 - acceptance));
            places.push(new);
        }
        places
    }
}

/// Where a step may begin.
#[derive(Debug, Clone, PartialEq)]
struct Branch {
    from: Vec<f64>,
    steps: u64,
    probability: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chain, Kernel, ModelError, SlowProposal, Target};

    struct Normal;

    impl Target for Normal {
        type Cache = f64;

        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some(-0.5 * x[0] * x[0]))
        }

        fn log_density(&self, cache: &f64, _: &[f64]) -> f64 {
            *cache
        }
    }

    fn kernel() -> Kernel {
        let walk = |sd: f64| Kernel::metropolis(SlowProposal::random_walk(&[sd]).unwrap());
        Kernel::Mix(vec![(1.0, walk(2.0)), (0.5, walk(0.3))])
    }

    #[test]
    fn what_a_chain_asks_for_was_foreseen() {
        let streams = StepStreams::new(4, 1);
        let mut chain = Chain::new(Normal, kernel(), &[0.3], &[], Rng::stream(4, 1))
            .unwrap()
            .with_steps(streams);
        let mut expected: Vec<Vec<f64>> = Vec::new();
        let (mut second, steps) = (0, 400);
        for step in 0..steps {
            let from = chain.x().to_vec();
            let places = streams.likely(chain.kernel(), &from, step, 0.6, 7);
            assert_eq!(places.len(), 7);
            // Both ways on from the last step were foreseen by then.
            assert!(step == 0 || expected.contains(&places[0]));
            let info = chain.advance().unwrap();
            if info.outer_accepted == 1 {
                assert_eq!(chain.x(), places[0]);
                second += u32::from(
                    places[1] == streams.likely(chain.kernel(), chain.x(), step + 1, 0.6, 1)[0],
                );
            }
            expected = places;
        }
        // The likelier way comes first.
        assert!(second > 100, "{second}");
    }

    #[test]
    fn steps_have_numbers_of_their_own() {
        let all: Vec<f64> = [(1, 0, 0), (1, 0, 1), (1, 1, 0), (2, 0, 0)]
            .map(|(seed, chain, step)| StepStreams::new(seed, chain).of(step).uniform())
            .to_vec();
        for (k, one) in all.iter().enumerate() {
            assert!(!all[..k].contains(one));
        }
    }
}
