//! Short trials that choose the frame, n and the slow proposal (and, by `inner`, the inner move): effective draws per cost.

use super::compare::{compare, unsticking};
use super::limits::trials::{
    ALONG_SHARE, AS_FAST_AS_X, CORRECTING_N, EXTRA_SHARE, FEWEST_ALONG, HARDLY_ANY, LAPLACE_N,
    LEARNED_MARGIN, LINEAR_MARGIN, LINEAR_N, MOST_EXTRA_SHARE, NEARLY_AS_GOOD, NEXT_TO_NOTHING,
    OWN_N, OWN_WITH_LEARNED, OWN_WITHOUT_LEARNED, SAFE_N, SEARCHED_SHARES, SIMPLER_MARGIN,
    SLICE_EVALUATIONS, WALK_CEILING, WELL_LEARNED, WITH_LEARNED, WITH_WELL_LEARNED, WITHIN_NOISE,
    WITHOUT_LEARNED,
};
use super::walker::Walker;
use super::{extra, inner, persistence, start};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::random::Rng;
use crate::slow::surrogate::Surrogate;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Setting, Trial, Tuning};

/// Tries and chooses; everything is pooled, so that all chains choose the same.
pub(super) fn choose<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    budget: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let (p, d) = (walker.x().len(), walker.y().len());
    let mut inner_worth = 1.0;
    let mut frames = vec![FrameKind::Linear];
    if d > 0 {
        let main = tuning.main.frame;
        frames.insert(0, main);
        match main {
            // A full curvature by differences is dear where axes that stay as they are would do. (Of many variables it is known whether they stay.)
            FrameKind::Laplace if d > 3 && d <= start::MOST_FAST => {
                frames.insert(1, FrameKind::Axes);
            }
            // Where widths do not change, only the mode need be found.
            FrameKind::Axes => frames.insert(1, FrameKind::Mode),
            _ => {}
        }
        let best;
        (best, inner_worth) = inner::choose(walker, tuning, main, rng, exchange)?;
        tuning.main.inner = inner::robust(best, d, main)?;
        let safe = inner::choose(walker, tuning, FrameKind::Linear, rng, exchange)?.0;
        tuning.safe.inner = inner::robust(safe, d, FrameKind::Linear)?;
    }
    tuning.alone = inner::alone(&tuning.main.inner, d, tuning.main.frame);
    if p == 0 {
        tuning.extra = (2.0 / inner_worth).ceil().clamp(1.0, 100.0) as usize;
        return Ok(());
    }

    let settings = ladder(tuning, &frames, d);
    let rounds = (budget / 4).max(20);
    let (mut trials, crossings) = compare(walker, tuning, &settings, rounds, rng, exchange)?;
    check_linear(walker, tuning, &mut trials, rounds, rng, exchange)?;
    let Some(winner) = preferred(&trials) else {
        return Ok(());
    };
    let winner = correcting(&trials, winner);
    if winner.acceptance < HARDLY_ANY {
        tuning.notes.push(format!(
            "no setting was found whose slow moves are accepted more than {:.2} % of the time: warm-up has probably not reached the bulk of the target. Do not use these draws; give another start, or more slow evaluations",
            100.0 * winner.acceptance
        ));
    }
    // They are there for safety: the longest would cost more than their share.
    let safe = |trial: &Trial| trial.frame == FrameKind::Linear && trial.n <= SAFE_N;
    if let Some(safe) = best(&trials, safe) {
        tuning.safe.n = safe.n;
    }
    let searched = best_searched(&trials);
    if winner.frame == FrameKind::Linear {
        let inner = std::mem::replace(&mut tuning.main.inner, tuning.safe.inner.clone());
        if let Some(Trial { frame, n, .. }) = searched {
            tuning.safe = Setting { frame, n, inner };
        }
    }
    (tuning.main.frame, tuning.main.n) = (winner.frame, winner.n);
    tuning.alone = inner::alone(&tuning.main.inner, d, tuning.main.frame);
    tuning.trials = trials;
    tuning.shares = if winner.frame == FrameKind::Own {
        OWN_WITHOUT_LEARNED
    } else {
        WITHOUT_LEARNED
    };
    if d > start::MOST_FAST {
        let same = |setting: &Setting| (setting.frame, setting.n) == (winner.frame, winner.n);
        let of_winner = settings
            .iter()
            .position(same)
            .map(|k| crossings[k].iter().cloned());
        walker.crossings.extend(of_winner.into_iter().flatten());
    }
    learned_proposal(walker, tuning, &winner, budget / 2, rng, exchange)?;
    if let Some(searched) = searched.filter(|_| winner.frame == FrameKind::Linear) {
        let [least, most] = SEARCHED_SHARES;
        let share = (winner.cost / searched.cost).clamp(least, most);
        let others = (1.0 - share) / (tuning.shares[0] + tuning.shares[1]);
        tuning.shares = [tuning.shares[0] * others, tuning.shares[1] * others, share];
    }
    if d > 0 {
        if winner.n == 1 && winner.frame == FrameKind::Linear {
            tuning.remarks.push(
                "Fast evaluations are not cheap enough here for dragging to pay: slow moves carry y along the linear frame without inner moves".into(),
            );
        }
        let price = inner::price_alone(walker, tuning, rng, exchange)?;
        let steps_for = |share: f64| (share * winner.cost / price).floor();
        let worth = inner_worth.max(1e-3);
        let extra = if d > start::MOST_FAST {
            // Fixed effects are among the fast variables, and users look at them as at x.
            let learned = tuning.trials.last().filter(|_| tuning.surrogate.is_some());
            let x = learned.unwrap_or(&winner).effective;
            let balanced = (AS_FAST_AS_X * x / worth).ceil();
            let allowed = balanced
                .min(steps_for(MOST_EXTRA_SHARE))
                .max(steps_for(EXTRA_SHARE));
            (2.0 / worth).ceil().min(allowed)
        } else {
            // Slices go along one coordinate at a time, so each coordinate should get its turn.
            let turns = 2.0 * d as f64;
            (2.0 / worth).max(turns).ceil().min(steps_for(EXTRA_SHARE))
        };
        tuning.extra = extra.clamp(1.0, 1000.0) as usize;
        if tuning.main.frame != FrameKind::Own {
            let learned = tuning.trials.last().filter(|_| tuning.surrogate.is_some());
            let (x, cost) = (learned.unwrap_or(&winner).effective, winner.cost);
            let forgotten = extra::choose(walker, tuning, x, cost, rng, exchange)?;
            tuning.extra = tuning.extra.max(forgotten);
            // (Along a variable of a leading block each look would make the medium computation anew.)
            if d >= FEWEST_ALONG && walker.blocks().is_empty() {
                let affordable = (ALONG_SHARE * cost / SLICE_EVALUATIONS) as usize;
                tuning.along = affordable.min(d.div_ceil(2));
            }
        }
    }
    Ok(())
}

/// The settings to try.
fn ladder(tuning: &Tuning, frames: &[FrameKind], d: usize) -> Vec<Setting> {
    let mut settings = Vec::new();
    for &frame in frames {
        let (ns, inner): (&[usize], _) = match (d, frame) {
            (0, _) => (&[1], &tuning.safe.inner),
            (_, FrameKind::Linear) => (&LINEAR_N, &tuning.safe.inner),
            (_, FrameKind::Own) => (&OWN_N, &tuning.main.inner),
            _ => (&LAPLACE_N, &tuning.main.inner),
        };
        settings.extend(ns.iter().map(|&n| Setting {
            frame,
            n,
            inner: inner.clone(),
        }));
    }
    settings
}

/// The trial of most worth, or one that is nearly as good: in a target's own frame the cheapest, else the surest.
fn best(trials: &[Trial], among: impl Fn(&Trial) -> bool) -> Option<Trial> {
    let among = || trials.iter().filter(|trial| among(trial));
    let most = among().map(Trial::worth).fold(0.0, f64::max);
    if among().any(|trial| trial.frame == FrameKind::Own) {
        among()
            .filter(|trial| trial.worth() >= WITHIN_NOISE * most)
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
            .cloned()
    } else {
        let sure = |trial: &Trial| trial.effective * trial.worth();
        among()
            .filter(|trial| trial.worth() >= NEARLY_AS_GOOD * most)
            .max_by(|a, b| sure(a).total_cmp(&sure(b)).then(b.n.cmp(&a.n)))
            .cloned()
    }
}

/// The best setting in a searched frame, of two the one that takes less for granted unless the other is better by a margin.
fn best_searched(trials: &[Trial]) -> Option<Trial> {
    let searched = |trial: &Trial| trial.frame != FrameKind::Linear;
    // The ladder has the one that takes less for granted first.
    let full = trials.iter().find(|trial| searched(trial))?.frame;
    let of_full = best(trials, |trial| trial.frame == full);
    let simpler = best(trials, |trial| searched(trial) && trial.frame != full);
    match (of_full, simpler) {
        (Some(full), Some(simpler)) if simpler.worth() > SIMPLER_MARGIN * full.worth() => {
            Some(simpler)
        }
        (full, simpler) => full.or(simpler),
    }
}

/// The best setting, where the linear frame has to be better by a margin: in a short trial it looks better than it is, since
/// a chain that it keeps in some region sees only how well it does there.
fn preferred(trials: &[Trial]) -> Option<Trial> {
    let linear = best(trials, |trial| trial.frame == FrameKind::Linear);
    match (linear, best_searched(trials)) {
        (Some(linear), Some(searched)) if linear.worth() > LINEAR_MARGIN * searched.worth() => {
            Some(linear)
        }
        (linear, searched) => searched.or(linear),
    }
}

/// Walks with linear-frame settings that would be preferred, for as much as the rounds of the best other one cost, until one
/// keeps what it promises or none is left: their single steps promise too much where the frame does not fit.
fn check_linear<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    trials: &mut [Trial],
    rounds: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    let Some(searched) = best_searched(trials) else {
        return Ok(());
    };
    for _ in 0..LINEAR_N.len() {
        let Some(linear) = preferred(trials).filter(|trial| trial.frame == FrameKind::Linear)
        else {
            break;
        };
        let steps = (rounds as f64 * (searched.cost / linear.cost).max(1.0)) as usize;
        let kept = persistence::kept(walker, tuning, &linear, steps, rng, exchange)?;
        if kept >= linear.effective {
            break;
        }
        for trial in trials.iter_mut().filter(|trial| **trial == linear) {
            trial.effective = kept;
        }
    }
    Ok(())
}

/// The same frame with a few inner moves, where they cost next to nothing: they correct a y that sits where the frame
/// does not fit, in a heavier tail, which a short trial does not show.
fn correcting(trials: &[Trial], winner: Trial) -> Trial {
    let few = |trial: &&Trial| {
        trial.frame == winner.frame
            && trial.n <= CORRECTING_N
            && trial.cost <= NEXT_TO_NOTHING * winner.cost
    };
    let longest = trials.iter().filter(few).max_by_key(|trial| trial.n);
    match longest {
        Some(trial) if trial.n > winner.n => trial.clone(),
        _ => winner,
    }
}

/// Fits a surrogate to what has been visited, and keeps it if it pays.
fn learned_proposal<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &mut Tuning,
    winner: &Trial,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(), Error> {
    // The same in every chain: all take part in every exchange.
    let Some(surrogate) = walker.surrogate(tuning, exchange)? else {
        return Ok(());
    };
    let trial = attempt(walker, tuning, &surrogate, steps, rng, exchange)?;
    let p = tuning.centre.len().max(1) as f64;
    let walk = winner.effective.min(WALK_CEILING / p) / winner.cost;
    if trial.worth() > LEARNED_MARGIN * walk {
        tuning.shares = if winner.frame == FrameKind::Own {
            OWN_WITH_LEARNED
        } else if trial.acceptance >= WELL_LEARNED && !tuning.is_unsure() {
            WITH_WELL_LEARNED
        } else {
            WITH_LEARNED
        };
        // Its shape is surer than that of the moments of a short chain; the size of the steps, which was tuned, is kept.
        let wider = (surrogate.factor().log_det() - tuning.slow.log_det()) / p;
        tuning.slow = surrogate.factor().clone();
        tuning.scale *= (-wider).exp();
        tuning.surrogate = Some(surrogate);
    }
    tuning.trials.push(trial);
    Ok(())
}

/// A few steps with the learned proposal.
fn attempt<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    surrogate: &Surrogate,
    steps: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<Trial, Error> {
    let drag = tuning.learned_drag(surrogate)?;
    let between = tuning.extra_moves();
    let (mut acceptance, mut cost) = (0.0, 0.0);
    for _ in 0..steps {
        let taken = walker.cross(surrogate, &drag, rng)?;
        acceptance += taken.acceptance;
        cost += tuning.prices.of(&taken.info);
        // With many variables a drag hardly changes y, and the same y would be judged at every step.
        if walker.y().len() > start::MOST_FAST {
            walker.step(&between, rng)?;
        }
    }
    let all = exchange.gather(&[acceptance, cost])?;
    let mean = |k: usize| all.iter().map(|v| v[k]).sum::<f64>() / (all.len() * steps) as f64;
    Ok(Trial {
        frame: tuning.main.frame,
        n: tuning.main.n,
        learned_proposal: true,
        effective: unsticking(mean(0)),
        cost: mean(1).max(1e-12),
        acceptance: mean(0),
    })
}
