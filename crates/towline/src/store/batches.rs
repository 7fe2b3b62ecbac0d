//! A digest of a chain's draws in memory that does not grow: for each column, the means and squares of at most
//! [`MOST`] batches, merged in pairs whenever there are as many.
//!
//! R-hat of split chains comes from it exactly (without ranks); the effective sample size is estimated from the
//! batch means, and is exact as long as batches hold one draw. Good for progress and for stopping;
//! a summary reads all the draws.

use crate::diagnose::{ess_mean, sd};
use serde::{Deserialize, Serialize};

/// The most batches that are kept. An even number; with 64 to 128 batches of each of four chains the estimate of the
/// variance of their means is good to some 10 per cent.
const MOST: usize = 128;

/// Batches of the draws of several columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batches {
    columns: usize,
    /// Draws in a full batch.
    size: u64,
    /// Draws in the batch that is being filled.
    filled: u64,
    /// Its sums and sums of squares about the first draw, column by column.
    sums: Vec<[f64; 2]>,
    /// The first draw: sums about it lose fewer digits.
    origin: Vec<f64>,
    /// The means, about the origin, and mean squares of full batches: batch by batch, column by column.
    full: Vec<[f64; 2]>,
}

/// What batches say of one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// R-hat of the halves of all chains.
    pub rhat: f64,
    /// The effective sample size of the mean.
    pub ess: f64,
}

impl Batches {
    /// Of so many columns.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            size: 1,
            filled: 0,
            sums: vec![[0.0; 2]; columns],
            origin: Vec::new(),
            full: Vec::new(),
        }
    }

    /// Adds a row; numbers beyond the columns are left out.
    #[inline]
    pub fn add(&mut self, row: &[f64]) {
        if self.origin.is_empty() {
            self.origin = row[..self.columns].to_vec();
        }
        for ((sums, &value), &origin) in self.sums.iter_mut().zip(row).zip(&self.origin) {
            let off = value - origin;
            sums[0] += off;
            sums[1] += off * off;
        }
        self.filled += 1;
        if self.filled == self.size {
            self.close();
        }
    }

    /// Ends a batch, and merges batches in pairs when there are too many.
    fn close(&mut self) {
        let weight = 1.0 / self.size as f64;
        let means = self.sums.iter().map(|s| [s[0] * weight, s[1] * weight]);
        self.full.extend(means);
        self.sums.fill([0.0; 2]);
        self.filled = 0;
        if self.full.len() == MOST * self.columns {
            for batch in 0..MOST / 2 {
                for column in 0..self.columns {
                    let a = self.full[2 * batch * self.columns + column];
                    let b = self.full[(2 * batch + 1) * self.columns + column];
                    self.full[batch * self.columns + column] =
                        [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
                }
            }
            self.full.truncate(MOST / 2 * self.columns);
            self.size *= 2;
        }
    }

    /// Everything, as numbers for an exchange between chains.
    pub fn numbers(&self) -> Vec<f64> {
        let head = [self.columns as f64, self.size as f64];
        let batches = self.full.iter().flatten().copied();
        head.into_iter()
            .chain(self.origin.iter().copied())
            .chain(batches)
            .collect()
    }

    /// What [`numbers`](Self::numbers) returned, the batch being filled apart; `None` where it cannot be that.
    pub fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let (&[columns, size], rest) = numbers.split_first_chunk::<2>()?;
        let mut batches = Self::new(columns as usize);
        batches.size = size as u64;
        if rest.is_empty() {
            return Some(batches);
        }
        let (origin, rest) = rest.split_at_checked(batches.columns)?;
        batches.origin = origin.to_vec();
        batches.full = rest
            .as_chunks::<2>()
            .0
            .iter()
            .take(MOST * batches.columns)
            .copied()
            .collect();
        Some(batches)
    }

    fn count(&self) -> usize {
        self.full.len().checked_div(self.columns).unwrap_or(0)
    }

    /// What several chains say together of each column. Chains that are ahead are cut to the draws that all have.
    pub fn estimates(chains: &[&Self]) -> Vec<Estimate> {
        let Some(first) = chains.first() else {
            return Vec::new();
        };
        // All chains with batches of the same size, the largest; the same number of them, even for the halves.
        let size = chains.iter().map(|c| c.size).max().unwrap_or(1);
        let merged: Vec<Self> = chains.iter().map(|c| c.merged_to(size)).collect();
        let count = merged.iter().map(Self::count).min().unwrap_or(0) / 2 * 2;
        (0..first.columns)
            .map(|column| estimate(&merged, column, count, size))
            .collect()
    }

    /// Larger batches.
    fn merged_to(&self, size: u64) -> Self {
        let mut out = self.clone();
        while out.size < size && out.size > 0 {
            let pairs = out.count() / 2;
            out.full = (0..pairs * out.columns)
                .map(|at| {
                    let (batch, column) = (at / out.columns, at % out.columns);
                    let a = out.full[2 * batch * out.columns + column];
                    let b = out.full[(2 * batch + 1) * out.columns + column];
                    [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]
                })
                .collect();
            out.size *= 2;
        }
        out
    }
}

/// One column of batches of one size.
fn estimate(chains: &[Batches], column: usize, count: usize, size: u64) -> Estimate {
    let nothing = Estimate {
        rhat: f64::NAN,
        ess: f64::NAN,
    };
    if count < 4 {
        return nothing;
    }
    let base = chains[0].origin.get(column).copied().unwrap_or(0.0);
    let half_draws = (count / 2) as f64 * size as f64;
    let mut halves = Vec::new();
    let mut means: Vec<Vec<f64>> = Vec::new();
    for chain in chains {
        let shift = chain.origin.get(column).copied().unwrap_or(0.0) - base;
        let of = |batch: usize| chain.full[batch * chain.columns + column];
        means.push((0..count).map(|b| of(b)[0] + shift).collect());
        for half in [0..count / 2, count / 2..count] {
            let (mut mean, mut square) = (0.0, 0.0);
            for [m, s] in half.map(of) {
                mean += m;
                square += s;
            }
            let number = (count / 2) as f64;
            let (mean, square) = (mean / number, square / number);
            let variance =
                (square - mean * mean).max(0.0) * half_draws / (half_draws - 1.0).max(1.0);
            halves.push((mean + shift, variance));
        }
    }
    let m = halves.len() as f64;
    let within = halves.iter().map(|h| h.1).sum::<f64>() / m;
    let centre = halves.iter().map(|h| h.0).sum::<f64>() / m;
    let between = halves.iter().map(|h| (h.0 - centre).powi(2)).sum::<f64>() / (m - 1.0);
    let total = within * (half_draws - 1.0) / half_draws + between;
    let means: Vec<&[f64]> = means.iter().map(Vec::as_slice).collect();
    let spread = sd(&means).powi(2);
    // Where every draw is the same there is nothing to tell chains apart by.
    if !(total > 0.0 && spread > 0.0) {
        return nothing;
    }
    Estimate {
        rhat: (total / within).sqrt(),
        ess: ess_mean(&means) * total / spread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::rhat;
    use crate::random::Rng;

    fn chain(stream: u64, draws: usize, shift: f64) -> Vec<f64> {
        let mut rng = Rng::stream(5, stream);
        let mut x = 0.0;
        (0..draws)
            .map(|_| {
                x = 0.8 * x + 0.6 * rng.normal();
                1e3 + shift + x
            })
            .collect()
    }

    fn digest(draws: &[f64]) -> Batches {
        let mut batches = Batches::new(1);
        draws.iter().for_each(|&x| batches.add(&[x]));
        batches
    }

    #[test]
    fn batches_agree_with_all_the_draws() {
        for (draws, shift) in [(100, 0.0), (20_000, 0.0), (20_000, 1.5)] {
            let chains: Vec<Vec<f64>> = (0..4)
                .map(|k| chain(k, draws, shift * (k % 2) as f64))
                .collect();
            let whole: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let digests: Vec<Batches> = whole.iter().map(|c| digest(c)).collect();
            let found = Batches::estimates(&digests.iter().collect::<Vec<_>>())[0];
            let (ess, plain) = (ess_mean(&whole), rhat(&whole));
            assert!((found.rhat - plain).abs() < 0.03, "{} {plain}", found.rhat);
            assert!(
                found.ess > 0.6 * ess && found.ess < 1.6 * ess,
                "{} {ess}",
                found.ess
            );
        }
    }

    #[test]
    fn batches_survive_an_exchange() {
        let ahead = digest(&chain(0, 5000, 0.0));
        let behind = digest(&chain(1, 1000, 0.0));
        let numbers = [&ahead, &behind].map(Batches::numbers);
        let back = numbers.map(|n| Batches::from_numbers(&n).unwrap());
        let (a, b) = (
            Batches::estimates(&[&ahead, &behind]),
            Batches::estimates(&[&back[0], &back[1]]),
        );
        assert_eq!(a, b);
        assert!(a[0].ess > 50.0, "{a:?}");
        assert!(Batches::from_numbers(&[1.0]).is_none());
    }
}
