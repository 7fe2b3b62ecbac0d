//! The sparse path: effects of groups, η = X β + Z Λ(x) u, in the manner of lme4.
//!
//! y holds the coefficients first (class by class), then u in the order of elimination, so that the frame works in place.
//! ZᵀWZ is kept as small blocks, one for each group and for each pair of groups that meet in an observation; Λ is
//! applied to blocks. The coefficients are a dense border, outside the sparse factor.

mod blocks;
mod correlation;
mod curvature;
pub(crate) mod factor;
mod grouping;
mod root;
mod runs;
mod selected;
mod system;
mod term;
mod variances;

pub(crate) use correlation::{correlation_root, partials_of};
pub use grouping::Grouping;
pub(crate) use system::SparseSystem;
pub(crate) use term::Term;

use crate::fixed::Scaled;
use crate::parameter::Register;
use blocks::{Blocks, Meetings, NOWHERE, blocks_of, entries_of};
use factor::Pattern;
use std::collections::HashMap;
use std::sync::Arc;

/// What does not depend on x.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    pub fixed: Scaled,
    pub classes: usize,
    pub terms: Vec<Term>,
    /// The number of u.
    pub effects: usize,
    blocks: Vec<Blocks>,
    pattern: Arc<Pattern>,
}

/// What is computed at each x: Λ of each term, row by row.
#[derive(Debug, Clone)]
pub(crate) struct SparseAt {
    pub lambda: Vec<Vec<f64>>,
}

impl Sparse {
    pub fn new(
        groupings: &[Grouping],
        fixed: Scaled,
        classes: usize,
        register: &mut Register,
    ) -> Self {
        let mut terms: Vec<Term> = groupings.iter().map(|g| Term::new(g, register)).collect();
        // First in their natural order: term by term, class by class.
        let mut effects = 0;
        for term in &mut terms {
            let len = classes * term.groups * term.width;
            term.places = (effects..effects + len).map(|k| k as u32).collect();
            effects += len;
        }
        let rows = fixed.rows;
        let mut meetings: HashMap<(usize, usize), Arc<Meetings>> = HashMap::new();
        for a in 0..terms.len() {
            for b in 0..a {
                meetings.insert((a, b), Arc::new(Meetings::new(&terms[a], &terms[b], rows)));
            }
        }
        let blocks = |terms: &[Term]| blocks_of(terms, classes, &meetings);
        let mut made = blocks(&terms);
        // Effects of one grouping are eliminated group by group; of several, in the order of least fill.
        if terms.len() > 1 {
            let entries = entries_of(&terms, &made);
            let order = Pattern::least_fill(effects, &entries);
            for term in &mut terms {
                for place in &mut term.places {
                    *place = order[*place as usize];
                }
            }
            made = blocks(&terms);
        } else if classes > 1 {
            // Classes of one group belong together.
            for term in &mut terms {
                let len = term.groups * term.width;
                for class in 0..classes {
                    for k in 0..len {
                        let place =
                            (k / term.width * classes + class) * term.width + k % term.width;
                        term.places[class * len + k] = place as u32;
                    }
                }
            }
            made = blocks(&terms);
        }
        let entries = entries_of(&terms, &made);
        let (pattern, slots) = Pattern::new(effects, entries);
        let mut slots = slots.into_iter();
        for blocks in &mut made {
            for slot in &mut blocks.slots {
                if *slot != NOWHERE {
                    *slot = slots.next().unwrap_or(NOWHERE);
                }
            }
        }
        Self {
            fixed,
            classes,
            terms,
            effects,
            blocks: made,
            pattern: Arc::new(pattern),
        }
    }

    pub fn prepare(&self, values: &[f64]) -> SparseAt {
        SparseAt {
            lambda: self.terms.iter().map(|t| t.lambda(values)).collect(),
        }
    }

    /// The number of coefficients of all classes.
    pub fn border(&self) -> usize {
        self.fixed.width * self.classes
    }

    /// b = Λ u of one term and class, group by group.
    pub fn effects_of(&self, at: &SparseAt, term: usize, class: usize, u: &[f64], out: &mut [f64]) {
        let lambda = &at.lambda[term];
        let term = &self.terms[term];
        let (k, places) = (term.width, term.places(class));
        if k == 1 {
            for (b, place) in out.iter_mut().zip(places) {
                *b = lambda[0] * u[*place as usize];
            }
            return;
        }
        for (b, places) in out.chunks_exact_mut(k).zip(places.chunks_exact(k)) {
            for i in 0..k {
                b[i] = (0..=i)
                    .map(|j| lambda[i * k + j] * u[places[j] as usize])
                    .sum();
            }
        }
    }

    /// u from b = Λ u of one term and class: the inverse of [`effects_of`](Self::effects_of).
    pub fn effects_from(&self, at: &SparseAt, term: usize, class: usize, b: &[f64], u: &mut [f64]) {
        let lambda = &at.lambda[term];
        let term = &self.terms[term];
        let (k, places) = (term.width, term.places(class));
        for (b, places) in b.chunks_exact(k).zip(places.chunks_exact(k)) {
            for i in 0..k {
                let known: f64 = (0..i)
                    .map(|j| lambda[i * k + j] * u[places[j] as usize])
                    .sum();
                u[places[i] as usize] = (b[i] - known) / lambda[i * k + i];
            }
        }
    }
}
