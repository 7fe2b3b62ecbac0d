//! From a typical place of the frame to a typical place of the target: with thousands of fast variables these differ.

use super::limits::settle::{ENOUGH, LONGER, MOST, QUARTER, SHORTER, SHORTEST, SLICES};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::{EllipticalSlice, FastMove, Hmc};
use crate::kernel::{FastOnly, Kernel};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Tuning};

/// A quarter turn in steps of at most this size.
pub(super) fn quarter_turn(size: f64, d: usize) -> Result<FastMove, Error> {
    let leapfrogs = (QUARTER / size).ceil().max(1.0);
    let root = Factor::diagonal(&vec![1.0; d], "inner steps")?;
    Ok(FastMove::Hmc(Hmc::new(
        QUARTER / leapfrogs,
        leapfrogs as usize,
        root,
    )))
}

/// The step that suits many variables at a typical place.
pub(super) fn usual_step(d: usize) -> f64 {
    1.2 / (d as f64).powf(1.0 / 6.0)
}

/// Leaves the mode, and lets y find its own energy; the inner move of the first windows follows from what that took.
///
/// Each of d variables is a little off its frame, so that the energies of the two differ by a multiple of d: a draw from the
/// frame is as untypical of the target as the mode is of the frame. Moves tuned to typical places are never accepted there, and a chain
/// would stay for good where it began.
pub(super) fn settle<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let rule = tuning.rule(FrameKind::Own);
    let scattered = walker.scatter(&rule, rng);
    let d = walker.y().len();
    let alone = |inner| Kernel::FastOnly(FastOnly::new(inner, 1).in_frame(rule.clone()));
    if !walker.has_gradient() {
        let kernel = alone(FastMove::EllipticalSlice(EllipticalSlice));
        for _ in 0..SLICES {
            walker.step(&kernel, rng)?;
        }
        tuning.main.inner = FastMove::EllipticalSlice(EllipticalSlice);
        return Ok(());
    }
    let mut size = usual_step(d);
    let mut accepted = 0;
    // Without a frame of its own to move in, nothing would be learned of one.
    for _ in 0..if scattered { MOST } else { 0 } {
        let taken = walker.step(&alone(quarter_turn(size, d)?), rng)?;
        if taken.info.inner_accepted > 0 {
            accepted += 1;
            size = (size * LONGER).min(usual_step(d));
        } else {
            size *= SHORTER;
        }
        if accepted == ENOUGH || size < SHORTEST {
            break;
        }
    }
    let sizes = exchange.gather(&[size])?;
    let least = sizes.iter().map(|s| s[0]).fold(size, f64::min);
    tuning.main.inner = quarter_turn(least, d)?;
    Ok(())
}
