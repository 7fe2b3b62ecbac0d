//! Frames at walls: where the density rises up to a wall, they count from it inwards.

use super::{Laplace, Searched};
use crate::frame::climb::Room;
use crate::frame::map::Frame;
use crate::frame::slope::{Origin, Slope};
use crate::linalg::{Root, Stretched};
use crate::optimise::surface::clean;
use crate::optimise::walls;
use crate::target::{Scratch, Target};
use std::sync::Arc;

/// Where a search at walls would begin without mass, it is begun so many widths to the side.
const SIDES: [f64; 8] = [1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 8.0, -8.0];

/// So many widths from a wall, and from a mode, there is mass.
const INSIDE: f64 = 0.5;

impl Laplace {
    /// The frame at a top that may lie at walls: from the wall inwards, z counts from zero up.
    pub(super) fn at_walls<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        cache: &T::Cache,
        scratch: &mut Scratch,
        room: &mut Room,
    ) -> Searched {
        let tried = self.with_mass(target, x, cache, scratch, &mut room.centre);
        let (centre, root) = (&room.centre[..], &**self.root());
        let begin = Origin { centre, root };
        let mut slope = Slope::new((target, cache, begin), begin, scratch, &mut room.y);
        let edge = walls::climb(&mut slope, &room.origin);
        let evaluations = slope.evaluations + tried;
        let found = edge.and_then(|edge| {
            slope.centre_at(&edge.at);
            let frame = Frame::Affine {
                centre: slope.y.to_vec(),
                root: Root::Stretched(Arc::new(Stretched::new(self.root().clone(), edge.widths))),
            };
            frame.usable_log_det()?;
            let mut inside = vec![0.0; centre.len()];
            frame.to_y(&vec![INSIDE; centre.len()], &mut inside);
            let log_marginal = edge.height + edge.log_volume + root.log_det();
            Some((frame, log_marginal, inside))
        });
        match found {
            Some((frame, log_marginal, inside)) => Searched {
                frame,
                log_marginal: Some(log_marginal),
                evaluations,
                inside: Some(inside),
            },
            None => Searched {
                frame: self.start_at(&room.centre),
                log_marginal: None,
                evaluations,
                inside: None,
            },
        }
    }

    /// Makes of a centre one that has mass, where one is found: along the linear frame, for walls that move with x, or to either side. Returns the
    /// evaluations that took.
    fn with_mass<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        cache: &T::Cache,
        scratch: &mut Scratch,
        centre: &mut Vec<f64>,
    ) -> u64 {
        let widths = self.root().sds();
        let beside = SIDES.iter().map(|side| {
            let each = centre.iter().zip(&widths);
            each.map(|(m, width)| m + side * width).collect()
        });
        let along = std::iter::once_with(|| self.linear.centre_at(x));
        let mut tried = 0;
        let found = std::iter::once(centre.clone())
            .chain(along)
            .chain(beside)
            .find(|y: &Vec<f64>| {
                tried += 1;
                clean(target.log_density_in(cache, y, scratch)) > f64::NEG_INFINITY
            });
        if let Some(y) = found {
            *centre = y;
        }
        tried
    }
}
