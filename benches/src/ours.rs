//! Towline's side, by its public interface: a chain that drags.

use crate::{N, Program, STEPS, TURNS, Timing, callgrind};
use std::error::Error;
use std::time::Instant;
use towline::{Chain, Drag, Factor, FastMove, Info, RandomWalk, Rng, SlowProposal, Target};

/// A chain with the paper's settings: slow steps of 1, fast steps of 0.2.
pub struct Ours<T: Target> {
    name: &'static str,
    chain: Chain<T>,
}

impl<T: Target> Ours<T> {
    /// With this many fast variables.
    pub fn new(name: &'static str, target: T, dim: usize) -> Result<Self, towline::Error> {
        let walk = RandomWalk::new(Factor::diagonal(&vec![0.2; dim], "the fast steps")?);
        Self::with(name, target, dim, FastMove::RandomWalk(walk))
    }

    /// The same by the path that any move takes, in vectors, chosen anew at each step.
    pub fn general(name: &'static str, target: T, dim: usize) -> Result<Self, towline::Error> {
        let walk = RandomWalk::new(Factor::diagonal(&vec![0.2; dim], "the fast steps")?);
        let one = FastMove::Mixture(vec![(1.0, FastMove::RandomWalk(walk))]);
        Self::with(name, target, dim, one)
    }

    fn with(
        name: &'static str,
        target: T,
        dim: usize,
        inner: FastMove,
    ) -> Result<Self, towline::Error> {
        let drag = Drag::new(N, SlowProposal::random_walk(&[1.0])?, inner)?;
        let start = vec![0.0; dim];
        let chain = Chain::new(target, drag, &[0.0], &start, Rng::stream(1, 0))?;
        Ok(Self { name, chain })
    }

    pub fn advance(&mut self, steps: u64) -> Result<(), towline::Error> {
        for _ in 0..steps {
            self.chain.advance()?;
        }
        Ok(())
    }
}

impl<T: Target> Program for Ours<T> {
    fn name(&self) -> &str {
        self.name
    }

    fn run(&mut self, _: u64) -> Result<Timing, Box<dyn Error>> {
        self.advance(STEPS)?; // warms the caches, as the C program does
        let before = self.chain.totals();
        let mut best = f64::INFINITY;
        for _ in 0..TURNS {
            let start = Instant::now();
            self.advance(STEPS)?;
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        let after = self.chain.totals();
        let rejection = |proposed: fn(&Info) -> u64, accepted: fn(&Info) -> u64| {
            let accepted = accepted(&after) - accepted(&before);
            1.0 - accepted as f64 / (proposed(&after) - proposed(&before)) as f64
        };
        Ok(Timing {
            ns: best / (STEPS * (N as u64 - 1)) as f64,
            outer_rejection: rejection(|i| i.outer_proposed, |i| i.outer_accepted),
            inner_rejection: rejection(|i| i.inner_proposed, |i| i.inner_accepted),
        })
    }

    fn instructions(&self) -> Option<f64> {
        let myself = std::env::current_exe().ok()?;
        callgrind::per_inner_step(|steps| {
            let arguments = [callgrind::FLAG, self.name, &steps.to_string()].map(String::from);
            (myself.clone(), arguments.to_vec())
        })
    }
}
