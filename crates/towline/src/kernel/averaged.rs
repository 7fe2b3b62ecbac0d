//! The drag with several paths for each slow proposal, whose acceptance ratios are averaged.

use super::Drag;
use super::crossing::{Crossing, Proposed};
use crate::error::Error;
use crate::fast::density::Ends;
use crate::kernel::info::Info;
use crate::kernel::state::{State, Workspace, evaluate};
use crate::random::Rng;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A [`Drag`] with M paths for each proposed x*.
///
/// The scheme of Andrieu, Doucet, Yıldırım and Chopin (arXiv 1803.09527). Averaging the ratios of
/// M paths and moving to one of them would be wrong: the way back must be as likely. So in half of the
/// steps, M paths run from (x, y) to x* and one is chosen in proportion to its ratio; in the other
/// half one path runs there, and from where it ends M − 1 paths run back. As M grows the update
/// approaches Metropolis on the marginal of x, as it does when n grows; but paths are independent, so
/// that a vectorised target (see [`Target::log_density_batch`]) or threads (see
/// [`Threaded`](crate::Threaded)) run them together.
///
/// A step costs one slow evaluation and 1 + 2M(n − 1) fast ones, plus 1 where the chosen path had
/// been evaluated in a batch and is accepted: its density is then computed once more, singly, since a
/// vectorised form may round otherwise. (Only 1 where y has no mass at x*.) Paths run in lockstep
/// where the inner move is a [`RandomWalk`](crate::RandomWalk) or
/// [`CrankNicolson`](crate::CrankNicolson), one after another where it is not.
///
/// ```
/// use towline::{AveragedDrag, Drag, Factor, FastMove, RandomWalk, SlowProposal};
/// let inner = RandomWalk::new(Factor::diagonal(&[0.2], "inner")?);
/// let drag = Drag::new(100, SlowProposal::random_walk(&[1.0])?, FastMove::RandomWalk(inner))?;
/// let averaged = AveragedDrag::new(16, drag)?;
/// # Ok::<(), towline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AveragedDrag {
    paths: usize,
    pub(super) drag: Drag,
}

impl AveragedDrag {
    /// This drag, in its frame, with M = `paths` paths; 1 is the drag itself.
    ///
    /// # Errors
    /// [`Error::Setting`] for no paths.
    pub fn new(paths: usize, drag: Drag) -> Result<Self, Error> {
        let averaged = Self { paths, drag };
        averaged.check_paths()?;
        Ok(averaged)
    }

    pub(crate) fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let forwards = rng.index(2) == 0;
        self.half(forwards, target, state, work, rng)
    }

    /// One half of the kernel; neither leaves the target invariant alone.
    pub(crate) fn half<T: Target>(
        &self,
        forwards: bool,
        target: &T,
        state: &mut State<T::Cache>,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Info, Error> {
        let mut info = Info::default();
        let drawn = Proposed::draw(&self.drag, target, state, work, &mut info, rng)?;
        let Some(mut proposed) = drawn else {
            return Ok(info);
        };
        let start = proposed.start(&self.drag, target, state, work, &mut info)?;
        // Without mass at x* every ratio is zero, in either half.
        if start.to == f64::NEG_INFINITY {
            return Ok(info);
        }
        if forwards {
            self.forwards(target, state, proposed, start, work, &mut info, rng)?;
        } else {
            self.backwards(target, state, proposed, start, work, &mut info, rng)?;
        }
        Ok(info)
    }

    /// M paths there, one of which is chosen in proportion to its ratio.
    #[allow(clippy::too_many_arguments)]
    fn forwards<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        proposed: Proposed<T::Cache>,
        start: Ends,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        let crossing = Crossing::new(&self.drag, target, &state.slow, &proposed.slow);
        let mut paths = crossing.drag_many(self.paths, start, work, info, rng)?;
        let log_ratios: Vec<f64> = paths
            .mean_differences
            .iter()
            .map(|mean| proposed.log_s + mean + crossing.log_jacobian())
            .collect();
        let (largest, log_mean) = log_mean_exp(&log_ratios);
        info.log_ratio = log_mean;
        if !rng.accept(log_mean) {
            return Ok(());
        }
        info.outer_accepted = 1;
        let k = rng.pick(log_ratios.iter().map(|r| (r - largest).exp()));
        let dim = work.z.len();
        work.z.copy_from_slice(&paths.zs[k * dim..(k + 1) * dim]);
        let (mut log_density, mut kept) = (paths.log_densities[k], None);
        if paths.kept.is_empty() {
            // Evaluated in a batch: a chain that is resumed must find the same bits by itself.
            let frame = self.drag.frame.of(&proposed.slow);
            frame.to_y(&work.z, &mut work.spare);
            log_density = evaluate(target, &proposed.slow, &work.spare, &mut work.buffers)?;
            info.fast_evaluations += 1;
        } else {
            kept = paths.kept.swap_remove(k);
        }
        proposed.arrive(&self.drag, state, &work.z, log_density, kept);
        Ok(())
    }

    /// One path there, and M − 1 from where it ended back to x.
    #[allow(clippy::too_many_arguments)]
    fn backwards<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        proposed: Proposed<T::Cache>,
        start: Ends,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<(), Error> {
        let crossing = Crossing::new(&self.drag, target, &state.slow, &proposed.slow);
        let path = crossing.drag(start, work, info, rng)?;
        let arrived = work.z.clone();
        // Seen from its end, the path back has the inverse ratio.
        let log_ratio = proposed.log_s + path.mean_difference + crossing.log_jacobian();
        let mut log_ratios = vec![-log_ratio];

        let back = crossing.back(&path.kept);
        let turned = Ends {
            from: path.end.to,
            to: path.end.from,
        };
        let paths = back.drag_many(self.paths - 1, turned, work, info, rng)?;
        for mean in &paths.mean_differences {
            log_ratios.push(-proposed.log_s + mean + back.log_jacobian());
        }
        info.log_ratio = -log_mean_exp(&log_ratios).1;
        if rng.accept(info.log_ratio) {
            info.outer_accepted = 1;
            let [_, kept] = path.kept;
            proposed.arrive(&self.drag, state, &arrived, path.end.to, kept);
        }
        Ok(())
    }

    /// Refuses what does not fit the start.
    pub(crate) fn validate(&self, x: &[f64], y: &[f64]) -> Result<(), Error> {
        self.check_paths()?;
        self.drag.validate(x, y)
    }

    fn check_paths(&self) -> Result<(), Error> {
        super::not_empty("the number of paths of an averaged drag", self.paths)
    }

    pub(crate) fn needs_gradient(&self) -> Option<&'static str> {
        self.drag.needs_gradient()
    }

    pub(crate) fn check_blocks(&self, blocks: &[usize]) -> Result<(), Error> {
        self.drag.check_blocks(blocks)
    }
}

/// The largest of these, and the logarithm of the mean of their exponentials.
fn log_mean_exp(logs: &[f64]) -> (f64, f64) {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return (largest, largest);
    }
    let sum: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
    (largest, largest + (sum / logs.len() as f64).ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Factor, FastMove, RandomWalk, SlowProposal};

    #[test]
    fn the_mean_of_exponentials_neither_overflows_nor_meets_nan() {
        let none = f64::NEG_INFINITY;
        assert_eq!(log_mean_exp(&[none, none]), (none, none));
        assert_eq!(log_mean_exp(&[-2000.0]), (-2000.0, -2000.0));
        assert_eq!(log_mean_exp(&[2000.0, none]).1, 2000.0 - 2f64.ln());
        let (_, mean) = log_mean_exp(&[1f64.ln(), 2f64.ln(), 6f64.ln()]);
        assert!((mean - 3f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn no_paths_and_no_intervals_are_refused() {
        let inner = RandomWalk::new(Factor::diagonal(&[1.0], "test").unwrap());
        let slow = SlowProposal::random_walk(&[1.0]).unwrap();
        let drag = Drag::new(3, slow, FastMove::RandomWalk(inner)).unwrap();
        let error = AveragedDrag::new(0, drag.clone()).unwrap_err();
        assert!(error.to_string().contains("number of paths"), "{error}");

        // Plain data can be read from a file, past the constructors.
        let good = AveragedDrag::new(2, drag).unwrap();
        good.validate(&[0.0], &[0.0]).unwrap();
        let broken = |field: &str| {
            let mut json = serde_json::to_value(&good).unwrap();
            *json.pointer_mut(field).unwrap() = 0.into();
            serde_json::from_value::<AveragedDrag>(json).unwrap()
        };
        let refused = |field| broken(field).validate(&[0.0], &[0.0]).unwrap_err();
        assert!(matches!(refused("/paths"), Error::Setting { .. }));
        assert!(matches!(refused("/drag/n"), Error::ZeroIntervals));
        assert!(good.validate(&[0.0], &[0.0, 0.0]).is_err());
    }
}
