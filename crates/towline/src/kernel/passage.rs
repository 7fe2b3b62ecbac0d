//! From x to x*: what every kernel that drags has in common.

use super::Drag;
use crate::error::Error;
use crate::fast::between::Between;
use crate::fast::end::End;
use crate::fast::ends::Ends;
use crate::fast::ledger::{Ledger, Spent};
use crate::fast::moves::{FastMove, Mixture};
use crate::fast::nested::refine::{Kept, Refined, keeps_blocks, refine};
use crate::fast::path::{self, Noted, Path};
use crate::fast::step::{Move, Tally, Work};
use crate::frame::Frame;
use crate::frame::view::{Few, Framed, Plain, View};
use crate::kernel::info::Info;
use crate::kernel::state::{Slow, State, Workspace, prepare_in};
use crate::random::Rng;
use crate::target::Target;
use std::cell::RefCell;

/// x* with its slow cache and frame.
pub(crate) struct Proposed<C> {
    pub slow: Slow<C>,
    /// ln S(x|x*)/S(x*|x).
    pub log_s: f64,
}

impl<C> Proposed<C> {
    /// Draws x*, does the slow computation there and places the frames; `None` where it has no mass.
    pub fn draw<T: Target<Cache = C>>(
        drag: &Drag,
        target: &T,
        state: &mut State<C>,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<Option<Self>, Error> {
        info.outer_proposed += 1;
        info.slow_evaluations += 1;
        info.framed_proposed += u64::from(drag.frame.is_searched());
        info.log_ratio = f64::NEG_INFINITY;
        let log_s = drag.proposal.propose(&state.slow.x, &mut work.x, rng);
        let Some(mut slow) = prepare_in(target, &work.x, &mut work.left)? else {
            return Ok(None);
        };
        drag.frame.place(target, &mut state.slow, work, info);
        drag.frame.place(target, &mut slow, work, info);
        Ok(Some(Self { slow, log_s }))
    }

    /// Leaves the start of the paths, seen in the frame, in `work.z`, and makes what nested moves need there.
    pub fn see<T: Target<Cache = C>>(
        &mut self,
        drag: &Drag,
        target: &T,
        state: &mut State<C>,
        work: &mut Workspace,
        info: &mut Info,
    ) -> Result<(), Error> {
        let frame = drag.frame.of(&state.slow);
        frame.to_z(&state.y, &mut work.z, &mut work.spare);
        let nested = drag.inner.as_ref().and_then(Move::nested_block);
        if let Some(size) = nested.filter(|_| !work.z.is_empty()) {
            keep(drag, target, &mut state.slow, size, work, info)?;
            keep(drag, target, &mut self.slow, size, work, info)?;
        }
        Ok(())
    }

    /// Makes x* and z the chain's state; what was there may be used again.
    pub fn arrive(
        self,
        drag: &Drag,
        state: &mut State<C>,
        log_density: f64,
        kept: Kept<C>,
        work: &mut Workspace,
    ) {
        drag.frame.of(&self.slow).to_y(&work.z, &mut state.y);
        state.log_density = log_density;
        work.left
            .take(std::mem::replace(&mut state.slow, self.slow));
        // Without a new one, the block never moved and the start's refined cache still serves.
        if kept.is_some() {
            state.slow.kept = kept;
        }
    }
}

/// Makes sure that the start's refined cache is there: every path needs it, and the density at x* can
/// then be had from it too.
fn keep<T: Target>(
    drag: &Drag,
    target: &T,
    slow: &mut Slow<T::Cache>,
    size: usize,
    work: &mut Workspace,
    info: &mut Info,
) -> Result<(), Error> {
    let frame = drag.frame.of(slow);
    if !keeps_blocks(frame) {
        return Ok(());
    }
    frame.to_y(&work.z, &mut work.spare);
    let head = &work.spare[..size];
    if slow.kept.as_ref().is_some_and(|kept| kept.serves(head)) {
        return Ok(());
    }
    let mut ledger = Ledger::default();
    slow.kept = refine(target, &slow.x, &slow.cache, head, &mut ledger);
    info.medium_evaluations += ledger.close()?.medium;
    Ok(())
}

/// One end: x or x*.
struct Side<'a, C> {
    slow: &'a Slow<C>,
    frame: &'a Frame,
    /// The refined cache of where paths start.
    kept: Option<&'a Refined<C>>,
}

impl<C> Clone for Side<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for Side<'_, C> {}

/// The way from one prepared x to another.
pub(super) struct Passage<'a, T: Target> {
    target: &'a T,
    n: usize,
    inner: Option<&'a FastMove>,
    from: Side<'a, T::Cache>,
    to: Side<'a, T::Cache>,
}

impl<'a, T: Target> Passage<'a, T> {
    /// The way that a drag goes.
    pub fn new(
        drag: &'a Drag,
        target: &'a T,
        from: &'a Slow<T::Cache>,
        to: &'a Slow<T::Cache>,
    ) -> Self {
        let side = |slow: &'a Slow<T::Cache>| Side {
            slow,
            frame: drag.frame.of(slow),
            kept: slow.kept.as_deref(),
        };
        Self {
            target,
            n: drag.n,
            inner: drag.inner.as_ref(),
            from: side(from),
            to: side(to),
        }
    }

    /// ln |det L(x*)| / |det L(x)|.
    pub fn log_jacobian(&self) -> f64 {
        self.to.frame.log_det_from(self.from.frame)
    }

    /// The log densities at `work.z`: one fast evaluation, since that at x is known.
    pub fn start(&self, known: f64, work: &mut Workspace, info: &mut Info) -> Result<Ends, Error> {
        let mut end = self.end(self.to);
        let to = end.log_density_at_start(&work.z, &mut work.buffers);
        end.check()?;
        info.fast_evaluations += 1;
        Ok(Ends { from: known, to })
    }

    /// One path from `work.z`, which leaves its last point there.
    pub fn drag(
        &self,
        start: Ends,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
    ) -> Result<Path<T::Cache>, Error> {
        let path = self.path(start, work, rng)?;
        count(info, path.inner, path.spent);
        Ok(path)
    }

    fn path(
        &self,
        start: Ends,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Result<Path<T::Cache>, Error> {
        let few = match work.z.len() {
            1 => self.path_of_few::<1>(start, work, rng),
            2 => self.path_of_few::<2>(start, work, rng),
            _ => None,
        };
        if let Some(path) = few {
            return path;
        }
        let (from, to) = (self.end(self.from), self.end(self.to));
        let Workspace {
            z, moves, buffers, ..
        } = work;
        match self.inner {
            Some(FastMove::RandomWalk(walk)) if !self.is_framed() && !z.is_empty() => {
                let mut between = Between::new(from, to, [Plain; 2], buffers);
                let (n, way) = (self.n, &mut between);
                // With few fast variables the whole path lives in registers.
                let walked = match z.len() {
                    1 => path::in_array::<_, _, 1>(n, walk, way, start, z, rng),
                    2 => path::in_array::<_, _, 2>(n, walk, way, start, z, rng),
                    3 => path::in_array::<_, _, 3>(n, walk, way, start, z, rng),
                    _ => path::in_vector(n, walk, way, start, z, moves, rng),
                };
                finish(walked, between)
            }
            // In a frame that is none z is copied, to the same bits: not worth compiling every move for every target once more.
            inner => {
                let between = Between::new(from, to, self.framed(), buffers);
                drag(self.n, inner, between, start, z, moves, rng)
            }
        }
    }

    /// A path in frames of D variables, which lives in registers; `None` where there are no such frames, or the moves are not
    /// compiled for it.
    fn path_of_few<const D: usize>(
        &self,
        start: Ends,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Option<Result<Path<T::Cache>, Error>> {
        let inner = self.inner?.common()?;
        let views = [Few::<D>::of(self.from.frame)?, Few::of(self.to.frame)?];
        let (from, to) = (self.end(self.from), self.end(self.to));
        let mut between = Between::new(from, to, views, &mut work.buffers);
        let z = &mut work.z;
        let walked = path::in_array::<_, _, D>(self.n, &inner, &mut between, start, z, rng);
        Some(finish(walked, between))
    }

    /// The same path to the same bits, with every point of it, seen in the frame, in `seen`: slower, for those who look on.
    pub fn drag_seen(
        &self,
        start: Ends,
        work: &mut Workspace,
        info: &mut Info,
        rng: &mut Rng,
        seen: &RefCell<Vec<f64>>,
    ) -> Result<Path<T::Cache>, Error> {
        let (from, to) = (self.end(self.from), self.end(self.to));
        let Workspace {
            z, moves, buffers, ..
        } = work;
        seen.borrow_mut().extend_from_slice(z);
        // In a frame or not, as in `path`: what is unframed is computed without the identity's arithmetic.
        let path = if self.is_framed() {
            let between = Between::new(from, to, self.framed(), buffers);
            drag_noted(self.n, self.inner, between, start, z, moves, rng, seen)
        } else {
            let between = Between::new(from, to, [Plain; 2], buffers);
            drag_noted(self.n, self.inner, between, start, z, moves, rng, seen)
        }?;
        count(info, path.inner, path.spent);
        Ok(path)
    }

    /// A point in the frame as y at both ends.
    pub fn ends_of(&self, z: &[f64]) -> [Vec<f64>; 2] {
        [self.from, self.to].map(|side| {
            let mut y = vec![0.0; z.len()];
            side.frame.to_y(z, &mut y);
            y
        })
    }

    fn framed(&self) -> [Framed<'a>; 2] {
        [self.from, self.to].map(|side| Framed(side.frame))
    }

    fn is_framed(&self) -> bool {
        !(self.from.frame.is_identity() && self.to.frame.is_identity())
    }

    fn end(&self, side: Side<'a, T::Cache>) -> End<'a, T> {
        let Slow { x, cache, .. } = side.slow;
        End::new(self.target, x, cache, side.frame, side.kept)
    }
}

/// Adds to the step's record what paths proposed and spent.
fn count(info: &mut Info, inner: Tally, spent: Spent) {
    info.inner_proposed += inner.proposed;
    info.inner_accepted += inner.accepted;
    info.medium_evaluations += spent.medium;
    info.fast_evaluations += spent.fast;
}

/// Moves z along a path of n intervals, choosing the form in which that is fastest.
///
/// `start` is what the log densities are at the start.
fn drag<T: Target, V: View>(
    n: usize,
    inner: Option<&FastMove>,
    mut between: Between<'_, T, V>,
    start: Ends,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
) -> Result<Path<T::Cache>, Error> {
    let way = &mut between;
    let walked = match inner {
        // Known at compile time, the move is a fifth cheaper than chosen anew at every step.
        Some(FastMove::RandomWalk(walk)) if !z.is_empty() => {
            path::in_vector(n, walk, way, start, z, work, rng)
        }
        Some(FastMove::Mixture(parts)) if !z.is_empty() => {
            path::in_vector(n, &Mixture::new(parts), way, start, z, work, rng)
        }
        Some(inner) if !z.is_empty() => path::in_vector(n, inner, way, start, z, work, rng),
        // Nothing to drag: the path is its start.
        _ => path::in_vector(1, &path::Stay, way, start, z, work, rng),
    };
    finish(walked, between)
}

/// What a walk and what it spent make together.
fn finish<T: Target, V: View>(
    (mean_difference, inner, end): (f64, Tally, Ends),
    between: Between<'_, T, V>,
) -> Result<Path<T::Cache>, Error> {
    let left = between.finish()?;
    Ok(Path {
        mean_difference,
        end,
        inner,
        spent: left.spent,
        kept: left.kept,
    })
}

/// The same with every point noted.
#[expect(
    clippy::too_many_arguments,
    reason = "those of `drag`, and where to note"
)]
fn drag_noted<T: Target, V: View>(
    n: usize,
    inner: Option<&FastMove>,
    mut between: Between<'_, T, V>,
    start: Ends,
    z: &mut Vec<f64>,
    work: &mut Work<Vec<f64>>,
    rng: &mut Rng,
    seen: &RefCell<Vec<f64>>,
) -> Result<Path<T::Cache>, Error> {
    let way = &mut between;
    let walked = match inner {
        Some(inner) if !z.is_empty() => {
            path::in_vector(n, &Noted { inner, seen }, way, start, z, work, rng)
        }
        _ => path::in_vector(1, &path::Stay, way, start, z, work, rng),
    };
    finish(walked, between)
}
