//! Whether the kernels of a mix agree with each other, and where the learned proposal is refused.
//!
//! Which kernel of a mix makes a step does not depend on where the chain stands, and every one of them leaves the target
//! invariant. In a chain that has settled, the draws after one kernel's moves are therefore distributed as those before them:
//! each kernel changes the mean of any function of x by nothing. Where one brings the chain up on average and another down, the
//! chain has not settled, or one of them samples something else.

use super::health::{REGIONS, region_of};
use crate::kernel::info::Info;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::erf::erfc_inv;

/// Functions of each slow variable that are watched: itself and its square, in standard deviations from the mean and up to `FURTHEST`
/// of them. What is bounded has sums that are normal soon, whatever the tails.
const FUNCTIONS: usize = 2;
const FURTHEST: f64 = 3.0;
/// Sums are kept by batches of steps, whose spread tells the error, autocorrelation included: at most so many, which are
/// then added in pairs, and of so many steps at first.
const MOST_BATCHES: usize = 16;
const FIRST_LENGTH: u64 = 16;
/// Batches with fewer than so many of all chains tell no error, nor do kernels that moved less often.
const ENOUGH_BATCHES: usize = 8;
const ENOUGH_MOVES: f64 = 20.0;
/// Runs of refused moves are counted one by one up to here, and so many classes for each factor of two beyond.
const EXACT: usize = 16;
const EACH_OCTAVE: usize = 4;
const CLASSES: usize = EXACT + 20 * EACH_OCTAVE;
/// A run of refused moves is long where it is so many times the longest that the usual acceptance explains, and at least so many moves.
const TIMES: f64 = 4.0;
const LONG: f64 = 30.0;
/// Accepted moves of the learned proposal before their runs tell anything.
const ENOUGH_RUNS: f64 = 200.0;
/// From regions with less than this share of the usual acceptance, and so many moves made there, the learned proposal is refused.
const REFUSED: f64 = 0.1;
const ENOUGH_HERE: f64 = 30.0;

/// What each kernel of a mix did to the slow variables, in one chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixRecord {
    centre: Vec<f64>,
    sds: Vec<f64>,
    /// Kernels in the mix.
    parts: usize,
    /// Whether the first of them has the learned proposal.
    learned: bool,
    /// For each batch and kernel: steps, moves, and what they changed of each function.
    sums: Vec<f64>,
    /// Steps of a batch, and those of the last one so far.
    length: u64,
    filled: u64,
    /// The functions where the chain stands.
    last: Vec<f64>,
    /// Moves of the learned proposal from each region of each variable, and the sums of their acceptance probabilities.
    tried: Vec<[f64; 2]>,
    /// How many runs of refused moves of the learned proposal there were, by their length.
    runs: Vec<f64>,
    /// The length of the run that has not ended.
    open: u64,
}

/// How one kernel of a mix moves a slow variable on average, where it should not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Which kernel of the mix, from 0.
    pub part: usize,
    /// Which slow variable.
    pub variable: usize,
    /// Whether it is about the variable's distance from its mean, not the variable itself.
    pub of_spread: bool,
    /// By how much a step changes the mean, in standard deviations (or their squares).
    pub change: f64,
    /// The same in standard errors, as if normal.
    pub z: f64,
}

/// How far the learned proposal covers the draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Coverage {
    /// The share of draws where its moves were refused far longer than its acceptance explains.
    pub uncovered: f64,
    /// The logarithms of the lengths of runs of refused moves. An independent proposal is refused for about as long as the
    /// ratio of the target to it is large where the chain stands, so that both have the same tail, and the same Pareto index.
    pub log_runs: Vec<f64>,
    /// Regions in the tails of a slow variable from which it is hardly ever accepted: variable, whether above, share of the draws.
    pub tails: Vec<(usize, bool, f64)>,
}

impl MixRecord {
    /// A record of a mix of so many kernels, the first of which may have the learned proposal.
    pub(crate) fn new(centre: &[f64], sds: &[f64], parts: usize, learned: bool) -> Self {
        Self {
            centre: centre.to_vec(),
            sds: sds.to_vec(),
            parts,
            learned,
            sums: Vec::new(),
            length: FIRST_LENGTH,
            filled: FIRST_LENGTH,
            last: Vec::new(),
            tried: vec![[0.0; 2]; REGIONS * centre.len()],
            runs: vec![0.0; CLASSES],
            open: 0,
        }
    }

    /// Numbers of a kernel in a batch.
    fn each(&self) -> usize {
        2 + FUNCTIONS * self.centre.len()
    }

    /// Where the chain stands before its first step.
    pub(crate) fn begin(&mut self, x: &[f64]) {
        if self.last.is_empty() {
            self.last = vec![0.0; FUNCTIONS * x.len()];
            self.place(x, |_, _| {});
        }
    }

    /// Brings the functions up to date, and hands on what changed of each.
    #[inline]
    fn place(&mut self, x: &[f64], mut changed: impl FnMut(usize, f64)) {
        for (k, ((x, centre), sd)) in x.iter().zip(&self.centre).zip(&self.sds).enumerate() {
            let u = ((x - centre) / sd).clamp(-FURTHEST, FURTHEST);
            for (i, value) in [u, u * u].into_iter().enumerate() {
                let last = &mut self.last[FUNCTIONS * k + i];
                changed(FUNCTIONS * k + i, value - *last);
                *last = value;
            }
        }
    }

    /// Notes a step that ended at x.
    #[inline]
    pub(crate) fn note(&mut self, x: &[f64], info: &Info) {
        let part = info.part as usize;
        if part == 0 || part > self.parts || self.last.len() != FUNCTIONS * x.len() {
            return;
        }
        if self.learned && part == 1 {
            self.note_learned(info);
        }
        let (each, batch) = (self.each(), self.each() * self.parts);
        if self.filled == self.length {
            if self.sums.len() == MOST_BATCHES * batch {
                self.halve(batch);
            }
            self.sums.resize(self.sums.len() + batch, 0.0);
            self.filled = 0;
        }
        self.filled += 1;
        let place = self.sums.len() - batch + (part - 1) * each;
        self.sums[place] += 1.0;
        if info.outer_accepted > 0 {
            let mut sums = std::mem::take(&mut self.sums);
            sums[place + 1] += 1.0;
            self.place(x, |k, change| sums[place + 2 + k] += change);
            self.sums = sums;
        }
    }

    /// Adds batches in pairs.
    fn halve(&mut self, batch: usize) {
        for pair in 0..MOST_BATCHES / 2 {
            for i in 0..batch {
                let from = 2 * pair * batch + i;
                self.sums[pair * batch + i] = self.sums[from] + self.sums[from + batch];
            }
        }
        self.sums.truncate(MOST_BATCHES / 2 * batch);
        self.length *= 2;
        self.filled = self.length;
    }

    /// Notes how a move of the learned proposal fared, before the chain's place is brought up to date.
    #[inline]
    fn note_learned(&mut self, info: &Info) {
        let acceptance = info.log_ratio.min(0.0).exp();
        for k in 0..self.centre.len() {
            // Beyond the furthest edge all is one region, so that what is clamped serves.
            let tried = &mut self.tried[k * REGIONS + region_of(self.last[FUNCTIONS * k])];
            tried[0] += 1.0;
            tried[1] += acceptance;
        }
        if info.outer_accepted > 0 {
            self.runs[class(self.open)] += 1.0;
            self.open = 0;
        } else {
            self.open += 1;
        }
    }

    /// How often each kernel was drawn, and moved.
    pub fn moves(records: &[&Self]) -> Vec<[f64; 2]> {
        let Some(first) = records.first() else {
            return Vec::new();
        };
        let mut all = vec![[0.0; 2]; first.parts];
        for record in records.iter().filter(|r| r.parts == first.parts) {
            let each = record.each();
            for (i, sums) in record.sums.chunks_exact(each).enumerate() {
                let part = &mut all[i % record.parts];
                part[0] += sums[0];
                part[1] += sums[1];
            }
        }
        all
    }

    /// What each kernel does to each function of each variable on average, over the chains of a run; empty where too little is known.
    pub fn drifts(records: &[&Self]) -> Vec<Drift> {
        let Some(first) = records.first().filter(|r| r.parts > 1) else {
            return Vec::new();
        };
        let (each, parts) = (first.each(), first.parts);
        let same = records
            .iter()
            .filter(|r| r.parts == parts && r.each() == each);
        let batches: Vec<&[f64]> = same
            .flat_map(|r| r.sums.chunks_exact(each * parts))
            .collect();
        if batches.len() < ENOUGH_BATCHES {
            return Vec::new();
        }
        let count = batches.len() as f64;
        let mut found = Vec::new();
        for part in 0..parts {
            let sum = |i: usize| batches.iter().map(|b| b[part * each + i]).sum::<f64>();
            let (steps, moves) = (sum(0), sum(1));
            if moves < ENOUGH_MOVES {
                continue;
            }
            for function in 0..each - 2 {
                let total = sum(2 + function);
                let change = total / steps;
                let spread: f64 = batches
                    .iter()
                    .map(|b| (b[part * each + 2 + function] - change * b[part * each]).powi(2))
                    .sum();
                let error = (spread * count / (count - 1.0)).sqrt();
                if error > 0.0 {
                    found.push(Drift {
                        part,
                        variable: function / FUNCTIONS,
                        of_spread: function % FUNCTIONS == 1,
                        change,
                        z: as_normal(total / error, count - 1.0),
                    });
                }
            }
        }
        found
    }

    /// How far the learned proposal covers the draws of these chains; nothing where there is none, or too little is known of it.
    pub fn coverage(records: &[&Self]) -> Option<Coverage> {
        let first = records.first().filter(|r| r.learned)?;
        let (mut runs, mut tried) = (vec![0.0; CLASSES], vec![[0.0; 2]; first.tried.len()]);
        let same = |r: &&&Self| r.tried.len() == tried.len() && r.runs.len() == CLASSES;
        let same: Vec<_> = records.iter().filter(same).collect();
        for record in &same {
            for (sum, count) in runs.iter_mut().zip(&record.runs) {
                *sum += count;
            }
            for (sum, theirs) in tried.iter_mut().zip(&record.tried) {
                sum[0] += theirs[0];
                sum[1] += theirs[1];
            }
        }
        let accepted: f64 = runs.iter().sum();
        let moves: f64 = tried[..REGIONS.min(tried.len())].iter().map(|t| t[0]).sum();
        if accepted < ENOUGH_RUNS || moves == 0.0 {
            return None;
        }
        let refusal = (1.0 - accepted / moves).max(1e-6);
        let long = (TIMES * accepted.ln() / -refusal.ln()).max(LONG);
        let closed: f64 = (0..CLASSES)
            .filter(|&c| lowest(c) >= long)
            .map(|c| runs[c] * 0.5 * (lowest(c) + lowest(c + 1)))
            .sum();
        let open = same.iter().map(|r| r.open as f64).filter(|o| *o >= long);
        let mut log_runs = Vec::with_capacity(accepted as usize);
        for (class, count) in runs.iter().enumerate() {
            let (low, high) = (lowest(class), lowest(class + 1));
            // Spread over their class: lengths are whole numbers, and ties have no tail.
            let spread = |i: usize| low + (high - low) * (i as f64 + 0.5) / count;
            log_runs.extend((0..*count as usize).map(|i| spread(i).ln()));
        }
        Some(Coverage {
            uncovered: ((closed + open.sum::<f64>()) / moves).min(1.0),
            log_runs,
            tails: refused_tails(&tried),
        })
    }
}

/// The tails, below and above, of each variable from which hardly any move is accepted.
fn refused_tails(tried: &[[f64; 2]]) -> Vec<(usize, bool, f64)> {
    let mut found = Vec::new();
    for (variable, regions) in tried.chunks_exact(REGIONS).enumerate() {
        let sum = |i: usize| regions.iter().map(|r| r[i]).sum::<f64>();
        let (moves, usual) = (sum(0), sum(1) / sum(0).max(1.0));
        for above in [false, true] {
            let (mut here, mut widest) = ([0.0; 2], None);
            for i in 0..REGIONS / 2 {
                let region = regions[if above { REGIONS - 1 - i } else { i }];
                here = [here[0] + region[0], here[1] + region[1]];
                if here[0] >= ENOUGH_HERE && here[1] < REFUSED * usual * here[0] {
                    widest = Some(here[0] / moves);
                }
            }
            found.extend(widest.map(|share| (variable, above, share)));
        }
    }
    found
}

/// The class of a run of this length, and the shortest of a class.
fn class(length: u64) -> usize {
    match length {
        short if short < EXACT as u64 => short as usize,
        long => {
            let octaves = (long as f64 / EXACT as f64).log2();
            (EXACT + (octaves * EACH_OCTAVE as f64) as usize).min(CLASSES - 1)
        }
    }
}

fn lowest(class: usize) -> f64 {
    match class.checked_sub(EXACT) {
        None => class as f64,
        Some(beyond) => EXACT as f64 * (beyond as f64 / EACH_OCTAVE as f64).exp2(),
    }
}

/// A Student's t of so many degrees of freedom as a normal number of the same probability.
fn as_normal(t: f64, freedom: f64) -> f64 {
    let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else {
        return 0.0;
    };
    let both = 2.0 * student.sf(t.abs());
    // Far out both are the same for whoever reads them.
    let z = if both > 1e-280 {
        std::f64::consts::SQRT_2 * erfc_inv(both)
    } else {
        t.abs()
    };
    z.copysign(t)
}

#[cfg(test)]
mod tests;
