//! Settings compared on the same proposals: what each accepts, and what it costs.

use super::limits::trials::{FIRST_ROUNDS, HOPELESS, PRICED_N, PRICING_ROUNDS};
use super::tilt::Crossing;
use super::walker::{Comparison, Walker};
use super::{Prices, start};
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::fast::moves::FastMove;
use crate::kernel::info::Info;
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::target::Target;
use crate::warmup::tuning::{FrameKind, Setting, Trial, Tuning};

/// Every setting on the same proposals, so that what differs is the setting and not the luck; and what each crossed.
pub(super) fn compare<T: Target>(
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
