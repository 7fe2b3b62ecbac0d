//! Elliptical slice sampling (Murray, Adams and MacKay 2010): no step size, never rejects.

use super::pcn::half_square;
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// A slice along an ellipse through y and a standard normal draw.
///
/// For fast variables with a standard normal base; see
/// [`CrankNicolson`](super::CrankNicolson), whose remarks apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct EllipticalSlice;

impl Move for EllipticalSlice {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let (noise, proposal) = (work.noise.as_mut(), work.proposal.as_mut());
        for nu in noise.iter_mut() {
            *nu = rng.normal();
        }
        let current = point.at.as_ref();
        let mut height = rng.height(density.log(point.value) + half_square(current));
        let mut angle = rng.between(0.0, TAU);
        let (mut low, mut high) = (angle - TAU, angle);
        let (mut trials, mut moved) = (0, false);
        loop {
            // At angle 0 the ellipse is at y itself: shrunk so far, staying is right.
            let open = low < high;
            if angle == 0.0 || !open {
                break;
            }
            let (sin, cos) = angle.sin_cos();
            for ((new, old), nu) in proposal.iter_mut().zip(current).zip(&*noise) {
                *new = old * cos + nu * sin;
            }
            let value = density.value(proposal);
            trials += 1;
            if rng.above(&mut height, density.log(value) + half_square(proposal)) {
                point.at.as_mut().copy_from_slice(proposal);
                point.value = value;
                moved = true;
                break;
            }
            if angle < 0.0 {
                low = angle;
            } else {
                high = angle;
            }
            angle = rng.between(low, high);
        }
        Tally {
            proposed: trials.max(1),
            accepted: u64::from(moved),
        }
    }

    fn validate(&self, _: usize) -> Result<(), Error> {
        Ok(())
    }
}
