//! The placing of frames: found once at each x, and kept there with what the slow computation left.

use super::info::Info;
use super::state::{Placed, Slow, Workspace};
use crate::frame::{Curvature, Frame, FrameRule};
use crate::target::Target;

impl FrameRule {
    /// Makes sure that the frame at this x is there, and counts what that cost.
    pub(crate) fn place<T: Target>(
        &self,
        target: &T,
        slow: &mut Slow<T::Cache>,
        work: &mut Workspace,
        info: &mut Info,
    ) {
        let key = self.key();
        if slow.frames.iter().any(|placed| placed.key == key) {
            return;
        }
        let placed = match self {
            Self::Identity => return,
            Self::Linear(linear) => Placed {
                key,
                frame: linear.frame_in(&slow.x, work.left.frame(false)),
            },
            Self::Laplace(laplace) => {
                let scratch = &mut work.buffers.scratch;
                let used = work.left.frame(laplace.curvature() == Curvature::Local);
                let room = &mut work.room;
                let found = laplace.find_in(target, &slow.x, &slow.cache, scratch, room, used);
                info.fast_evaluations += found.evaluations;
                info.frame_searches += 1;
                info.frame_failures += u64::from(found.log_marginal.is_none());
                work.note_sighting(&slow.x, &found);
                Placed {
                    key,
                    frame: found.frame,
                }
            }
        };
        slow.frames.push(placed);
    }

    /// The frame placed at this x; without one, the identity.
    pub(crate) fn of<'a, C>(&self, slow: &'a Slow<C>) -> &'a Frame {
        let key = self.key();
        let placed = slow.frames.iter().find(|placed| placed.key == key);
        placed.map_or(&Frame::Identity, |placed| &placed.frame)
    }
}
