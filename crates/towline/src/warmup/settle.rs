//! From a typical place of the frame to a typical place of the target: with thousands of fast variables these differ.

use super::limits::settle::{ENOUGH, FIRST, LONGER, MOST, QUARTER, SHORTER, SHORTEST, SLICES};
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::{EllipticalSlice, FastMove, Hmc};
use crate::kernel::{FastOnly, Kernel};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Tuning};

/// A quarter turn in so many steps.
pub(super) fn quarter_turn(steps: usize, d: usize) -> Result<FastMove, Error> {
    let root = Factor::diagonal(&vec![1.0; d], "inner steps")?;
    let angle = QUARTER / steps as f64;
    Ok(FastMove::Hmc(Hmc::turning(angle, steps, root)))
}

/// The same in steps of at most this size.
fn steps_of(size: f64) -> usize {
    (QUARTER / size).ceil().max(1.0) as usize
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
    let mut size = FIRST;
    let mut accepted = 0;
    // Without a frame of its own to move in, nothing would be learned of one.
    for _ in 0..if scattered { MOST } else { 0 } {
        let taken = walker.step(&alone(quarter_turn(steps_of(size), d)?), rng)?;
        if taken.info.inner_accepted > 0 {
            accepted += 1;
            size = (size * LONGER).min(FIRST);
        } else {
            size *= SHORTER;
        }
        if accepted == ENOUGH || size < SHORTEST {
            break;
        }
    }
    let sizes = exchange.gather(&[size])?;
    let least = sizes.iter().map(|s| s[0]).fold(size, f64::min);
    tuning.main.inner = quarter_turn(steps_of(least), d)?;
    Ok(())
}
