//! The full curvature of a conditional of many variables, found once for the axes of frames.

use super::Laplace;
use crate::frame::climb::Room;
use crate::frame::slope::{Origin, Slope};
use crate::linalg::Factor;
use crate::optimise::axes;
use crate::target::{Scratch, Target};

/// How many variables are coupled in the conditional at one x.
pub(crate) struct Coupled {
    /// How far the axes are from those of the conditional: squared correlations, added up.
    pub coupling: f64,
    /// The root of y's covariance given x.
    pub root: Factor,
}

impl Laplace {
    /// The full curvature of the conditional at x, as a root of y's covariance there, and how far that is from the axes of the root in whose
    /// units the search is made. `None` where there is no mode.
    pub(crate) fn coupled_root<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        cache: &T::Cache,
        scratch: &mut Scratch,
    ) -> (Option<Coupled>, u64) {
        let mut room = Room::default();
        self.linear.centre_into(x, &mut room.centre);
        room.fit(self.linear.fast_dim());
        let (centre, root) = (&room.centre[..], &**self.root());
        let begin = Origin { centre, root };
        let mut slope = Slope::new((target, cache, begin), begin, scratch, &mut room.y);
        let coupled = axes::climb(&mut slope, &room.origin).and_then(|top| {
            let curvature = axes::curvature(&mut slope, &top)?;
            Some(Coupled {
                coupling: axes::coupling(&curvature, top.at.len()),
                root: self.root().within(&curvature)?,
            })
        });
        (coupled, slope.evaluations)
    }
}
