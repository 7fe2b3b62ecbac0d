//! The blocks of ZᵀWZ: which groups meet in an observation, and where their entries go.

use super::term::Term;
use std::collections::HashMap;
use std::sync::Arc;

/// The blocks of ZᵀWZ for one pair of terms and one pair of classes.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    pub terms: [usize; 2],
    pub classes: [usize; 2],
    /// Which weights, in the order of [`crate::family::Likelihood::weight`].
    pub weight: usize,
    /// The pairs of groups that meet; `None` for each group with itself.
    pub pairs: Option<Arc<Meetings>>,
    /// Where each entry of each block goes in the matrix; [`NOWHERE`] for those above the diagonal.
    pub slots: Vec<u32>,
    /// Whether the diagonal runs through them.
    pub diagonal: bool,
}

/// Which groups of two terms meet, and where.
#[derive(Debug)]
pub(super) struct Meetings {
    pub pairs: Vec<[u32; 2]>,
    pub of_row: Vec<u32>,
}

/// The slot of an entry above the diagonal.
pub(super) const NOWHERE: u32 = u32::MAX;

impl Meetings {
    pub fn new(a: &Term, b: &Term, rows: usize) -> Self {
        let mut numbers: HashMap<[u32; 2], u32> = HashMap::new();
        let mut pairs = Vec::new();
        let of_row = (0..rows)
            .map(|i| {
                let pair = [a.group[i], b.group[i]];
                *numbers.entry(pair).or_insert_with(|| {
                    pairs.push(pair);
                    pairs.len() as u32 - 1
                })
            })
            .collect();
        Self { pairs, of_row }
    }
}

/// All blocks; their slots marked where the matrix has no such entry.
pub(super) fn blocks_of(
    terms: &[Term],
    classes: usize,
    meetings: &HashMap<(usize, usize), Arc<Meetings>>,
) -> Vec<Blocks> {
    let mut all = Vec::new();
    for a in 0..terms.len() {
        for b in 0..=a {
            for c in 0..classes {
                for other in 0..classes {
                    if a == b && other > c {
                        continue;
                    }
                    let (high, low) = (c.max(other), c.min(other));
                    let mut blocks = Blocks {
                        terms: [a, b],
                        classes: [c, other],
                        weight: high * (high + 1) / 2 + low,
                        pairs: (a != b).then(|| meetings[&(a, b)].clone()),
                        slots: Vec::new(),
                        diagonal: a == b && c == other,
                    };
                    let (k, l) = (terms[a].width, terms[b].width);
                    let (from, to) = (terms[a].places(c), terms[b].places(other));
                    let mut add = |g: usize, h: usize| {
                        for i in 0..k {
                            for j in 0..l {
                                let above = blocks.diagonal && from[g * k + i] < to[h * l + j];
                                blocks.slots.push(if above { NOWHERE } else { 0 });
                            }
                        }
                    };
                    match meetings.get(&(a, b)) {
                        None => (0..terms[a].groups).for_each(|g| add(g, g)),
                        Some(met) => {
                            met.pairs
                                .iter()
                                .for_each(|[g, h]| add(*g as usize, *h as usize));
                        }
                    }
                    all.push(blocks);
                }
            }
        }
    }
    all
}

impl Blocks {
    pub fn len(&self, terms: &[Term]) -> usize {
        self.pairs
            .as_ref()
            .map_or(terms[self.terms[0]].groups, |m| m.pairs.len())
    }

    /// The groups of a block.
    pub fn groups(&self, block: usize) -> [usize; 2] {
        match &self.pairs {
            None => [block, block],
            Some(met) => met.pairs[block].map(|g| g as usize),
        }
    }
}

/// The entries (row, column) of all blocks that are in the lower triangle, in the order of their slots.
pub(super) fn entries_of(terms: &[Term], all: &[Blocks]) -> Vec<[u32; 2]> {
    let mut entries = Vec::new();
    for blocks in all {
        let [a, b] = blocks.terms;
        let [c, other] = blocks.classes;
        let (k, l) = (terms[a].width, terms[b].width);
        let (from, to) = (terms[a].places(c), terms[b].places(other));
        for block in 0..blocks.len(terms) {
            let [g, h] = blocks.groups(block);
            for i in 0..k {
                for j in 0..l {
                    if blocks.slots[(block * k + i) * l + j] != NOWHERE {
                        let (p, q) = (from[g * k + i], to[h * l + j]);
                        entries.push([p.max(q), p.min(q)]);
                    }
                }
            }
        }
    }
    entries
}
