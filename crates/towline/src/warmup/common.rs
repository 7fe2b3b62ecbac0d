//! What all chains of a run do alike in warm-up: share the points of a batch, and draw the same random numbers.

use super::looks;
use super::walker::Walker;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::FrameRule;
use crate::random::Rng;
use crate::slow::surrogate::Visit;
use crate::target::Target;

/// A chain's place among the chains, and a generator that all of them have.
pub(super) struct Common {
    pub index: usize,
    pub chains: usize,
    /// The same in every chain: whatever is drawn from it is decided alike everywhere.
    pub rng: Rng,
}

impl Common {
    /// All chains call this at the same time, each with its own generator.
    pub fn new(rng: &mut Rng, exchange: &mut impl Exchange) -> Result<Self, Error> {
        let all = exchange.gather(&[rng.uniform()])?;
        Ok(Self {
            index: exchange.chain(),
            chains: all.len(),
            rng: Rng::stream(all[0][0].to_bits(), 0),
        })
    }

    /// The estimated log marginal at many x, each found by one of the chains: −∞ where there is no mass, nothing where there is
    /// no mode.
    pub fn visit<T: Target>(
        &self,
        walker: &mut Walker<'_, T>,
        rule: &FrameRule,
        points: &[Vec<f64>],
        exchange: &mut impl Exchange,
    ) -> Result<Vec<Option<f64>>, Error> {
        let mut mine = Vec::new();
        let own = || points.iter().skip(self.index).step_by(self.chains);
        let ahead: Vec<&[f64]> = own().map(|x| &x[..]).collect();
        looks::prefetch(walker.target, rule.key(), &ahead, &[]);
        let mut failure = None;
        for (k, x) in own().enumerate() {
            // A fit whose draws repeat themselves names a place twice: what was found there is known.
            if let Some(same) = ahead[..k].iter().position(|before| before == x) {
                let same = mine.get(same).copied();
                walker.visit_again(x);
                mine.extend(same);
                continue;
            }
            // Where one has failed, those that were made beside it are not lost: a run that is resumed finds them noted.
            if failure.is_some() && !looks::is_under_way(walker.target, x) {
                break;
            }
            match walker.visit(rule, x) {
                Ok(value) => mine.push(value.unwrap_or(f64::NAN)),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let all = exchange.gather(&mine)?;
        Ok((0..points.len())
            .map(|i| {
                let theirs = all.get(i % self.chains)?.get(i / self.chains)?;
                Some(*theirs).filter(|value| !value.is_nan())
            })
            .collect())
    }
}

/// Adds to a list of visits what a batch found.
pub(super) fn note(visits: &mut Vec<Visit>, points: &[Vec<f64>], found: &[Option<f64>]) {
    for (x, value) in points.iter().zip(found) {
        if let Some(log_marginal) = *value {
            visits.push(Visit {
                x: x.clone(),
                log_marginal,
            });
        }
    }
}
