//! Short trials that choose the frame, n and the slow proposal (and, by `inner`, the inner move): effective draws per cost.

use super::tilt::Crossing;
use super::walker::{Comparison, Walker};
use super::{Prices, extra, inner, persistence, start};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::FastMove;
use crate::kernel::info::Info;
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::slow::surrogate::Surrogate;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Setting, Trial, Tuning};

/// Intervals tried in each frame: in a moving frame little is left to mend, without one much is.
const LAPLACE_N: [usize; 4] = [1, 2, 4, 12];
/// Many latent variables leave more to mend: each is a little off, and that adds up.
const OWN_N: [usize; 6] = [1, 2, 4, 8, 16, 40];
const LINEAR_N: [usize; 5] = [1, 4, 16, 64, 256];
/// The longest drag in the linear frame where another frame does the work.
const SAFE_N: usize = 64;
/// The linear frame must be worth this much more than a searched one to be preferred.
const LINEAR_MARGIN: f64 = 1.5;
/// After this share of the rounds, settings worth less than this share of the best are tried no more.
const FIRST_ROUNDS: f64 = 0.35;
const HOPELESS: f64 = 0.4;
/// Long before that, after so many rounds, those go that cost too much even if every step were accepted. Where many variables are
/// fast, only short drags are tried until then: their prices tell those of the long ones, a single one of which may cost as much as
/// a hundred draws.
const PRICING_ROUNDS: usize = 4;
const PRICED_N: usize = 4;
/// A learned proposal must be this much better than the random walk to be worth its risk.
const LEARNED_MARGIN: f64 = 1.1;
/// What a random walk's effective draws per step cannot exceed, for one slow variable; short trials may say more.
const WALK_CEILING: f64 = 0.4;
/// Shares of the learned proposal, of the random walk in the best frame, and of the linear frame.
const WITH_LEARNED: [f64; 3] = [0.82, 0.12, 0.06];
const WITHOUT_LEARNED: [f64; 3] = [0.0, 0.85, 0.15];
/// A target that knows its own frames is trusted further, and the linear frame of many variables is a poor one. The random walk
/// has more to do than elsewhere: scales of latent variables have long tails, which the learned proposal leaves to it.
const OWN_WITH_LEARNED: [f64; 3] = [0.75, 0.22, 0.03];
const OWN_WITHOUT_LEARNED: [f64; 3] = [0.0, 0.95, 0.05];
/// Where the linear frame wins, the safe moves are in the best searched frame: far from the centre, where the linear one no longer
/// fits, a chain would stay for thousands of steps, and so hardly ever be there. They may cost as much as the
/// others together, and their share of the steps lies between these: a chain in a tail waits for one of them.
const SEARCHED_SHARES: [f64; 2] = [0.02, 0.3];
/// Trials within this share of the best are as good: the cheapest of them is taken.
const WITHIN_NOISE: f64 = 0.97;
/// A best acceptance below this says that something is wrong, not that the target is hard.
const HARDLY_ANY: f64 = 0.01;
/// Drags up to this length are taken instead of shorter ones where they cost at most this much of them.
const MENDING_N: usize = 4;
const NEXT_TO_NOTHING: f64 = 1.05;
/// The share of a step's cost that fast-only moves may add.
const EXTRA_SHARE: f64 = 0.25;
/// Where many variables are fast, so much more is allowed, until y forgets this many times as fast as x.
const MOST_EXTRA_SHARE: f64 = 1.0;
const AS_FAST_AS_X: f64 = 1.5;

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
        if main == FrameKind::Laplace && d > 3 && d <= start::MOST_FAST {
            frames.insert(1, FrameKind::Mode);
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
    let winner = mending(&trials, winner);
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
    let searched = best(&trials, |trial| trial.frame != FrameKind::Linear);
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

/// The trial of most worth; among those as good within the noise of a trial, the cheapest.
fn best(trials: &[Trial], among: impl Fn(&Trial) -> bool) -> Option<Trial> {
    let most = trials
        .iter()
        .filter(|trial| among(trial))
        .map(Trial::worth)
        .fold(0.0, f64::max);
    trials
        .iter()
        .filter(|trial| among(trial) && trial.worth() >= WITHIN_NOISE * most)
        .min_by(|a, b| a.cost.total_cmp(&b.cost))
        .cloned()
}

/// The best setting, where the linear frame has to be better by a margin: in a short trial it looks better than it is, since
/// a chain that it keeps in some region sees only how well it does there.
fn preferred(trials: &[Trial]) -> Option<Trial> {
    let linear = best(trials, |trial| trial.frame == FrameKind::Linear);
    let searched = best(trials, |trial| trial.frame != FrameKind::Linear);
    match (linear, searched) {
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
    let Some(searched) = best(trials, |trial| trial.frame != FrameKind::Linear) else {
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

/// The same frame with a few inner moves, where they cost next to nothing: they mend a y that sits where the frame
/// does not fit, in a heavier tail, which a short trial does not show.
fn mending(trials: &[Trial], winner: Trial) -> Trial {
    let few = |trial: &&Trial| {
        trial.frame == winner.frame
            && trial.n <= MENDING_N
            && trial.cost <= NEXT_TO_NOTHING * winner.cost
    };
    let longest = trials.iter().filter(few).max_by_key(|trial| trial.n);
    match longest {
        Some(trial) if trial.n > winner.n => trial.clone(),
        _ => winner,
    }
}

/// Every setting on the same proposals, so that what differs is the setting and not the luck; and what each crossed.
fn compare<T: Target>(
    walker: &mut Walker<'_, T>,
    tuning: &Tuning,
    settings: &[Setting],
    rounds: usize,
    rng: &mut Rng,
    exchange: &mut impl Exchange,
) -> Result<(Vec<Trial>, Vec<Vec<Crossing>>), Error> {
    let p = walker.x().len() as f64;
    // The proposals with which what is chosen will work.
    let proposal = match &tuning.surrogate {
        Some(surrogate) => SlowProposal::Surrogate(Box::new(surrogate.clone())),
        None => SlowProposal::RandomWalk(tuning.slow.scaled(tuning.scale)),
    };
    let drags: Vec<_> = settings
        .iter()
        .map(|setting| tuning.drag(setting, proposal.clone()))
        .collect::<Result<_, _>>()?;
    let kernel = tuning.kernel()?;
    let first = (FIRST_ROUNDS * rounds as f64).ceil() as usize;
    let learned = tuning.surrogate.is_some();
    let mut sums = Sums::new(drags.len(), learned);
    let mut crossings = vec![Vec::new(); drags.len()];
    let many = walker.y().len() > start::MOST_FAST;
    let short = |k: &usize| !many || settings[*k].n <= PRICED_N;
    let mut alive: Vec<usize> = (0..drags.len()).filter(short).collect();
    for round in 0..rounds {
        if round == PRICING_ROUNDS.min(first) {
            sums.pool(exchange)?;
            alive = sums.affordable(settings, &tuning.prices);
            if many {
                // From here on all are tried on the same proposals.
                sums = Sums::new(drags.len(), learned);
            }
        }
        if round == first {
            sums.pool(exchange)?;
            let promising = sums.worth_more_rounds(settings, &tuning.prices);
            alive.retain(|k| promising.contains(k));
        }
        walker.step(&kernel, rng)?;
        let from = walker.x().to_vec();
        let tried: Vec<_> = alive.iter().map(|&k| &drags[k]).collect();
        let comparison = walker.compare(&tried, &proposal, rng)?;
        let mut way: Vec<f64> = walker
            .proposed()
            .iter()
            .zip(&from)
            .map(|(a, b)| a - b)
            .collect();
        tuning.slow.solve(&mut way);
        let length = way.iter().map(|w| w * w).sum::<f64>() / p;
        sums.note(
            &alive,
            length,
            comparison.as_ref(),
            |k, info| match settings[k].inner {
                FastMove::Nested(_) => tuning.prices.of_nested(info),
                _ => tuning.prices.of(info),
            },
        );
        let log_s = comparison.as_ref().map_or(0.0, |c| c.log_s);
        for (&k, info) in alive.iter().zip(comparison.iter().flat_map(|c| &c.tried)) {
            crossings[k].push(Crossing {
                from: from.clone(),
                to: walker.proposed().to_vec(),
                log_ratio: info.log_ratio - log_s,
                acceptance: info.log_ratio.min(0.0).exp(),
            });
        }
    }
    sums.pool(exchange)?;
    let tried = (0..settings.len()).filter(|&k| sums.rounds(k) > 0.0);
    let prices = &tuning.prices;
    let trials = tried.map(|k| sums.trial(k, &settings[k], prices)).collect();
    Ok((trials, crossings))
}

/// Sums kept for each setting.
const EACH: usize = 4;

/// What the rounds of a comparison add up to, over all chains once pooled.
struct Sums {
    /// For each setting: rounds, jump, acceptance, and what its drags cost beyond the slow evaluation.
    each: Vec<f64>,
    /// Rounds, and squared lengths of the proposed steps.
    slow: [f64; 2],
    pooled: Vec<f64>,
    /// Whether proposals hardly depend on where they start.
    learned: bool,
}

impl Sums {
    fn new(settings: usize, learned: bool) -> Self {
        Self {
            each: vec![0.0; EACH * settings],
            slow: [0.0; 2],
            pooled: Vec::new(),
            learned,
        }
    }

    /// Adds a round; a proposal without mass is one that no setting accepts.
    fn note(
        &mut self,
        tried: &[usize],
        length: f64,
        comparison: Option<&Comparison>,
        cost: impl Fn(usize, &Info) -> f64,
    ) {
        self.slow[0] += 1.0;
        for (i, &k) in tried.iter().enumerate() {
            let sums = &mut self.each[EACH * k..EACH * (k + 1)];
            sums[0] += 1.0;
            if let Some(comparison) = comparison {
                let info = &comparison.tried[i];
                let acceptance = info.log_ratio.min(0.0).exp();
                sums[1] += acceptance * length;
                sums[2] += acceptance;
                sums[3] += cost(k, info);
            }
        }
        self.slow[1] += length;
    }

    fn pool(&mut self, exchange: &mut impl Exchange) -> Result<(), Error> {
        let mine: Vec<f64> = self.each.iter().chain(&self.slow).copied().collect();
        self.pooled = vec![0.0; mine.len()];
        for theirs in exchange.gather(&mine)? {
            for (sum, value) in self.pooled.iter_mut().zip(theirs) {
                *sum += value;
            }
        }
        Ok(())
    }

    /// In how many rounds a setting was tried.
    fn rounds(&self, k: usize) -> f64 {
        self.pooled[EACH * k]
    }

    /// What a step costs: known where it was tried, else from shorter drags in the same frame, in proportion to the intervals.
    fn price(&self, k: usize, settings: &[Setting], prices: &Prices) -> f64 {
        let known = |j: usize| self.trial(j, &settings[j], prices).cost;
        if self.rounds(k) > 0.0 {
            return known(k);
        }
        let same = |j: &usize| settings[*j].frame == settings[k].frame && self.rounds(*j) > 0.0;
        let n = |j: usize| settings[j].n as f64;
        let shortest = (0..settings.len())
            .filter(same)
            .min_by_key(|&j| settings[j].n);
        let longest = (0..settings.len())
            .filter(same)
            .max_by_key(|&j| settings[j].n);
        match (shortest, longest) {
            (Some(a), Some(b)) if n(b) > n(a) => {
                let each = (known(b) - known(a)) / (n(b) - n(a));
                known(b) + each.max(0.0) * (n(k) - n(b))
            }
            // Nothing to go by: it is tried.
            _ => 0.0,
        }
    }

    /// What is known of a setting.
    fn trial(&self, k: usize, setting: &Setting, prices: &Prices) -> Trial {
        let of = |i: usize| self.pooled[EACH * k + i] / self.pooled[EACH * k].max(1.0);
        Trial {
            frame: setting.frame,
            n: setting.n,
            learned_proposal: false,
            effective: if self.learned {
                unsticking(of(2))
            } else {
                effective(of(1))
            },
            cost: prices.slow + of(3),
            acceptance: of(2),
        }
    }

    /// The settings that would be worth more rounds if all their steps were accepted, and the cheapest drag in the linear frame.
    ///
    /// They are measured by searched frames: a step in the linear frame is so cheap that a single accepted one would
    /// make everything else look dear.
    fn affordable(&self, settings: &[Setting], prices: &Prices) -> Vec<usize> {
        let slow = &self.pooled[self.each.len()..];
        let ceiling = if self.learned {
            1.0
        } else {
            effective(slow[1] / slow[0].max(1.0))
        };
        let linear = |k: usize| settings[k].frame == FrameKind::Linear;
        let trial = |k: usize| self.trial(k, &settings[k], prices);
        let most = (0..settings.len())
            .filter(|&k| !linear(k))
            .map(|k| trial(k).worth())
            .fold(0.0, f64::max);
        let safe = (0..settings.len()).find(|&k| linear(k) && settings[k].n > 1);
        (0..settings.len())
            .filter(|&k| {
                ceiling >= HOPELESS * most * self.price(k, settings, prices) || Some(k) == safe
            })
            .collect()
    }

    /// The settings that may still turn out to be the best, and the best in the linear frame.
    fn worth_more_rounds(&self, settings: &[Setting], prices: &Prices) -> Vec<usize> {
        let worths: Vec<f64> = (0..settings.len())
            .map(|k| self.trial(k, &settings[k], prices).worth())
            .collect();
        let most = worths.iter().copied().fold(0.0, f64::max);
        let linear = |k: &usize| settings[*k].frame == FrameKind::Linear;
        let safe = (0..settings.len())
            .filter(linear)
            .max_by(|&a, &b| worths[a].total_cmp(&worths[b]));
        (0..settings.len())
            .filter(|&k| worths[k] >= HOPELESS * most || Some(k) == safe)
            .collect()
    }
}

/// Effective draws per step, from the squared jump per variance: one minus the first autocorrelation
/// is half of that.
pub(super) fn effective(jump: f64) -> f64 {
    let moved = (0.5 * jump).min(1.0);
    moved / (2.0 - moved)
}

/// Effective draws per step of an independent proposal accepted with this probability, judged by how long it stays where the
/// target exceeds the proposal most, which single steps do not show: for log-normal ratios of the two, with standard deviation s,
/// the acceptance is erfc(s/2) and the mean time that it stays e^(s²).
pub(super) fn unsticking(acceptance: f64) -> f64 {
    let s = 2.0 * statrs::function::erf::erfc_inv(acceptance.clamp(1e-6, 1.0));
    (-s * s).exp()
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
