//! The choice of the inner move: how far each takes z for what it costs, and what is mixed in for safety.

use super::compare::{effective, unsticking};
use super::limits::inner::{INNER_MOVES, NESTED_N, OWN_SLICES, SLICE_SHARE, TURNS, WALK_SHARE};
use super::settle::quarter_turn;
use super::start;
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::{CrankNicolson, EllipticalSlice, FastMove, NestedDrag, RandomWalk, Slice};
use crate::kernel::{FastOnly, Kernel};
use crate::linalg::Factor;
use crate::random::Rng;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Tuning};

/// The best move, with others that go where it does not: the fastest moves in a frame rely on tails no heavier
/// than normal, and may come to heavier ones seldom, which a short trial cannot show.
///
/// In a target's own frame, which has many variables and knows its tails, these would change few or all by little. There moves of
/// a fixed size are all refused from where the target's energy is untypical, and slices, which find their size, go on.
pub(super) fn robust(best: FastMove, d: usize, frame: FrameKind) -> Result<FastMove, Error> {
    let slices = FastMove::EllipticalSlice(EllipticalSlice);
    if frame == FrameKind::Own && best != slices {
        return Ok(FastMove::Mixture(vec![
            (1.0 - OWN_SLICES, best),
            (OWN_SLICES, slices),
        ]));
    }
    // A nested drag moves in as many ways inside, and others would make the medium computation at every step.
    let nested = matches!(best, FastMove::Nested(_));
    if frame == FrameKind::Own || d > start::MOST_FAST || nested {
        return Ok(best);
    }
    Ok(FastMove::Mixture(vec![
        (1.0 - WALK_SHARE, best),
        (
            WALK_SHARE,
            FastMove::RandomWalk(RandomWalk::new(unit(2.38 / (d as f64).sqrt(), d)?)),
        ),
    ]))
}

/// The fast-only move that goes with a drag's inner move, where it is another: with slices, which find their size.
pub(super) fn alone(inner: &FastMove, d: usize, frame: FrameKind) -> Option<FastMove> {
    let nested = matches!(inner, FastMove::Nested(_));
    if d == 0 || frame == FrameKind::Own || d > start::MOST_FAST || nested {
        return None;
    }
    // Flat, so that one draw chooses among all of them.
    let parts = match inner {
        FastMove::Mixture(parts) => parts.clone(),
        other => vec![(1.0, other.clone())],
    };
    let total: f64 = parts.iter().map(|part| part.0).sum();
    let mut all: Vec<_> = parts
        .into_iter()
        .map(|(weight, part)| ((1.0 - SLICE_SHARE) * weight / total, part))
        .collect();
    all.push((SLICE_SHARE, FastMove::Slice(Slice::new(vec![2.0; d]))));
    Some(FastMove::Mixture(all))
}

/// What one fast-only move of this tuning costs.
pub(super) fn price_alone<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<f64, Error> {
    let one = Tuning {
        extra: 1,
        ..tuning.clone()
    };
    let (kernel, nested) = (
        one.extra_moves(),
        matches!(one.main.inner, FastMove::Nested(_)),
    );
    let mut spent = 0.0;
    for _ in 0..INNER_MOVES {
        let info = walker.step(&kernel, rng)?.info;
        spent += match nested {
            true => tuning.prices.of_nested(&info),
            false => tuning.prices.of(&info),
        };
    }
    let all = exchange.gather(&[spent])?;
    let sum: f64 = all.iter().map(|v| v[0]).sum();
    Ok((sum / (all.len() * INNER_MOVES) as f64).max(1e-12))
}

fn unit(size: f64, d: usize) -> Result<Factor, Error> {
    Factor::diagonal(&vec![size; d], "inner steps")
}

/// The inner move that moves z furthest per cost, with its efficiency per move.
pub(super) fn choose<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    frame: FrameKind,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(FastMove, f64), Error> {
    let d = walker.y().len();
    let rule = tuning.rule(frame);
    let mut best: Option<(FastMove, f64, f64)> = None;
    // What y settled with, in the same frame.
    let settled = (frame == tuning.main.frame).then(|| tuning.main.inner.clone());
    let mut candidates = inner_moves(walker, settled)?;
    // What a nested drag saves must be known, and only the linear frame keeps blocks of y apart.
    if frame == FrameKind::Linear && tuning.prices.nested.is_some() {
        candidates.extend(nested_moves(walker.blocks(), d)?);
    }
    for candidate in candidates {
        let kernel = Kernel::FastOnly(FastOnly::new(candidate.clone(), 1).in_frame(rule.clone()));
        let nested = matches!(candidate, FastMove::Nested(_));
        let (mut jump, mut spent, mut accepted) = (0.0, 0.0, 0.0);
        let mut before = walker.z(&rule);
        for _ in 0..INNER_MOVES {
            let taken = walker.step(&kernel, rng)?;
            let after = walker.z(&rule);
            jump += before
                .iter()
                .zip(&after)
                .map(|(a, b)| (a - b).powi(2))
                .sum::<f64>()
                / d as f64;
            spent += match nested {
                true => tuning.prices.of_nested(&taken.info),
                false => tuning.prices.of(&taken.info),
            };
            accepted += taken.info.inner_accepted as f64;
            before = after;
        }
        let all = exchange.gather(&[jump, spent, accepted])?;
        let mean =
            |k: usize| all.iter().map(|v| v[k]).sum::<f64>() / (all.len() * INNER_MOVES) as f64;
        let mut worth = effective(mean(0));
        // All of z anew, or nothing: so are quarter turns.
        let anew = match &candidate {
            FastMove::CrankNicolson(walk) => *walk == CrankNicolson::new(1.0),
            FastMove::Hmc(_) => true,
            _ => false,
        };
        if anew {
            worth *= unsticking(mean(2));
        }
        let price = mean(1).max(1e-12);
        if best.as_ref().is_none_or(|b| worth / price > b.1 / b.2) {
            best = Some((candidate, worth, price));
        }
    }
    Ok(best.map_or_else(
        || (Tuning::first_inner(), 0.1),
        |(inner, worth, _)| (inner, worth),
    ))
}

/// Drags of the leading block of y, for targets of more than two speeds: each proposal costs the medium computation once or twice,
/// and the moves inside the fastest evaluations only.
fn nested_moves(blocks: &[usize], d: usize) -> Result<Vec<FastMove>, Error> {
    let Some((&head, rest)) = blocks.split_first().filter(|(head, _)| **head < d) else {
        return Ok(Vec::new());
    };
    let left = d - head;
    let deeper = nested_moves(rest, left)?;
    NESTED_N
        .iter()
        .enumerate()
        .map(|(k, &n)| {
            let inside = match deeper.get(k) {
                Some(nested) => nested.clone(),
                None => robust(
                    FastMove::CrankNicolson(CrankNicolson::new(0.6)),
                    left,
                    FrameKind::Linear,
                )?,
            };
            let block = unit(2.38 / (head as f64).sqrt(), head)?;
            Ok(FastMove::Nested(NestedDrag::new(n, block, inside)?))
        })
        .collect()
}

/// The moves worth trying where z is nearly standard normal.
fn inner_moves<T: Target>(
    walker: &mut Walker<'_, T>,
    settled: Option<FastMove>,
) -> Result<Vec<FastMove>, Error> {
    let d = walker.y().len();
    let mut moves = vec![
        FastMove::CrankNicolson(CrankNicolson::new(1.0)),
        FastMove::CrankNicolson(CrankNicolson::new(0.6)),
        FastMove::CrankNicolson(CrankNicolson::new(0.3)),
        FastMove::EllipticalSlice(EllipticalSlice),
    ];
    let walk = unit(2.38 / (d as f64).sqrt(), d)?;
    moves.push(FastMove::RandomWalk(RandomWalk::new(walk)));
    if walker.has_gradient() {
        // A quarter of a turn makes z independent of where it was.
        for steps in TURNS {
            moves.push(quarter_turn(steps, d)?);
        }
        moves.extend(settled.filter(|inner| matches!(inner, FastMove::Hmc(_))));
    }
    Ok(moves)
}
