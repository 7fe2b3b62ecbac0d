//! A drag with its path, for those who want to see the method at work: the same step to the same bits, and slower.

use super::passage::{Passage, Proposed};
use super::{Drag, Kernel};
use crate::error::Error;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace};
use crate::random::Rng;
use crate::target::Target;
use serde::Serialize;
use std::cell::RefCell;

/// What one drag did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeenDrag {
    /// Where it began.
    pub x: Vec<f64>,
    /// The slow variables that were proposed.
    pub proposed: Vec<f64>,
    /// z₀ … zₙ₋₁: the path, seen in the drag's frame (which is y itself where there is none).
    pub path: Vec<Vec<f64>>,
    /// The same points as y at x and as y at x*.
    pub ends: Vec<[Vec<f64>; 2]>,
    /// The frame's centre, z = 0, as y at x and as y at x*.
    pub centres: [Vec<f64>; 2],
    /// What the acceptance is decided by: the logarithm of its ratio.
    pub log_ratio: f64,
    /// Whether x* and the dragged y were accepted.
    pub accepted: bool,
}

impl Drag {
    /// As [`step`](Self::step), with the path; `None` where the proposal has no mass.
    fn step_seen<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<(Info, Option<SeenDrag>), Error> {
        let mut info = Info::default();
        let Some(mut proposed) = Proposed::draw(self, target, state, work, &mut info, rng)? else {
            return Ok((info, None));
        };
        proposed.see(self, target, state, work, &mut info)?;
        let passage = Passage::new(self, target, &state.slow, &proposed.slow);
        let start = passage.start(state.log_density, work, &mut info)?;
        let seen = RefCell::new(Vec::new());
        let path = passage.drag_seen(start, work, &mut info, rng, &seen)?;
        let points: Vec<Vec<f64>> = seen
            .into_inner()
            .chunks_exact(state.y.len().max(1))
            .map(<[f64]>::to_vec)
            .collect();
        info.log_ratio = proposed.log_s + path.mean_difference + passage.log_jacobian();
        let mut shown = SeenDrag {
            x: state.slow.x.clone(),
            proposed: proposed.slow.x.clone(),
            ends: points.iter().map(|z| passage.ends_of(z)).collect(),
            centres: passage.ends_of(&vec![0.0; state.y.len()]),
            path: points,
            log_ratio: info.log_ratio,
            accepted: false,
        };
        if rng.accept(info.log_ratio) {
            info.outer_accepted = 1;
            shown.accepted = true;
            let [_, kept] = path.kept;
            proposed.arrive(self, state, path.end.to, kept, work);
        } else {
            work.left.take(proposed.slow);
        }
        Ok((info, Some(shown)))
    }
}

impl Kernel {
    /// One step, with what its drag did where it is one.
    pub(crate) fn step_seen<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<(Info, Option<SeenDrag>), Error> {
        match self {
            Self::Drag(drag) => drag.step_seen(target, state, work, rng),
            Self::Cycle(kernels) => {
                let (mut info, mut seen) = (Info::default(), None);
                for kernel in kernels {
                    let (spent, shown) = kernel.step_seen(target, state, work, rng)?;
                    info += spent;
                    info.part = info.part.max(spent.part);
                    seen = seen.or(shown);
                }
                Ok((info, seen))
            }
            Self::Mix(parts) => {
                let k = rng.pick(parts.iter().map(|part| part.0));
                let (mut info, seen) = parts[k].1.step_seen(target, state, work, rng)?;
                info.part = k as u32 + 1;
                Ok((info, seen))
            }
            other => Ok((other.step(target, state, work, rng)?, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::erased::{AnyTarget, Erased};
    use crate::testing::Neal1;
    use crate::{Chain, Drag, Factor, FastMove, RandomWalk, Rng, SlowProposal, Warmup};

    #[test]
    fn a_chain_that_is_seen_makes_the_same_draws() {
        let inner = RandomWalk::new(Factor::diagonal(&[0.2], "inner").unwrap());
        let slow = SlowProposal::random_walk(&[1.0]).unwrap();
        let drag = Drag::new(20, slow, FastMove::RandomWalk(inner)).unwrap();
        let warm = Warmup::default()
            .run(&Neal1, &[2.0], &[0.0], &mut Rng::stream(3, 0))
            .unwrap();
        for kernel in [drag.into(), warm.tuning.kernel().unwrap()] {
            let begin = || {
                Chain::new(
                    &Erased(&Neal1) as &AnyTarget,
                    kernel.clone(),
                    &[0.5],
                    &[0.4],
                    Rng::stream(1, 0),
                )
                .unwrap()
            };
            let (mut plain, mut seen) = (begin(), begin());
            let mut moved = 0;
            for _ in 0..500 {
                let before = seen.x().to_vec();
                plain.advance().unwrap();
                let (_, shown) = seen.advance_seen().unwrap();
                assert_eq!((plain.x(), plain.y()), (seen.x(), seen.y()));
                let Some(shown) = shown else { continue };
                assert_eq!(shown.x, before);
                assert_eq!(shown.path.len(), shown.ends.len());
                if shown.accepted {
                    moved += 1;
                    assert_eq!(shown.proposed, seen.x());
                }
            }
            assert!(moved > 50, "{moved}");
            assert_eq!(plain.totals(), seen.totals());
        }
    }

    #[test]
    fn the_path_ends_where_an_accepted_drag_arrives() {
        let inner = RandomWalk::new(Factor::diagonal(&[0.2], "inner").unwrap());
        let slow = SlowProposal::random_walk(&[1.0]).unwrap();
        let drag = Drag::new(7, slow, FastMove::RandomWalk(inner)).unwrap();
        let mut chain = Chain::new(
            &Erased(&Neal1) as &AnyTarget,
            drag,
            &[0.5],
            &[0.4],
            Rng::stream(1, 0),
        )
        .unwrap();
        for _ in 0..200 {
            let y = chain.y().to_vec();
            let shown = chain.advance_seen().unwrap().1.unwrap();
            assert_eq!(shown.path.len(), 7);
            assert_eq!(shown.path[0], y);
            if shown.accepted {
                assert_eq!(shown.path[6], chain.y());
                assert_eq!(shown.ends[6][1], chain.y());
            }
        }
    }
}
