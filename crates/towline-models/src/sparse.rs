//! The sparse path: effects of groups, η = X β + Z Λ(x) u, in the manner of lme4.
//!
//! y holds the coefficients first (class by class), then u in the order of elimination, so that the frame works in place.
//! ZᵀWZ is kept as small blocks, one for each group and for each pair of groups that meet in an observation; Λ is
//! applied to blocks. The coefficients are a dense border, outside the sparse factor.

pub(crate) mod factor;

use crate::fixed::Scaled;
use crate::newton::{System, Work};
use crate::parameter::{Register, Source, Value};
use crate::triangle::Triangle;
use crate::vector::wide;
use factor::{Pattern, SparseFactor};
use std::collections::HashMap;
use std::sync::Arc;
use towline::linalg::RootMap;

/// Effects of groups: one or more columns of covariates whose coefficients differ from group to group.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// Its name.
    pub name: String,
    /// The names of the groups.
    pub levels: Vec<String>,
    /// The group of each observation.
    pub group: Vec<usize>,
    /// The names of the effects: `Intercept`, or a covariate.
    pub effects: Vec<String>,
    /// Effect by effect, what it multiplies in each observation.
    pub columns: Vec<Vec<f64>>,
    /// The standard deviation of each effect between groups.
    pub sds: Vec<Value>,
    /// Whether effects of a group are correlated, and then the shape of the LKJ prior of their correlations (1:
    /// uniform over correlation matrices; 2: prefers weak ones).
    pub correlation: Option<f64>,
}

impl Grouping {
    /// A single level for each group: `(1 | name)`.
    pub fn intercept(
        name: impl Into<String>,
        levels: Vec<String>,
        group: Vec<usize>,
        sd: Value,
    ) -> Self {
        Self {
            columns: vec![vec![1.0; group.len()]],
            name: name.into(),
            levels,
            group,
            effects: vec!["Intercept".into()],
            sds: vec![sd],
            correlation: None,
        }
    }

    /// Numbers its slow parameters: standard deviations, and partial correlations row by row below the diagonal.
    pub(crate) fn register(&self, register: &mut Register) -> (Vec<Source>, Vec<usize>) {
        let width = self.effects.len();
        let sds = self
            .sds
            .iter()
            .map(|sd| register.add(sd, 0.0, f64::INFINITY))
            .collect();
        let mut partials = Vec::new();
        if let Some(shape) = self.correlation.filter(|_| width > 1) {
            for i in 1..width {
                for j in 0..i {
                    let name = format!("cor_{}_{}_{}", self.name, self.effects[j], self.effects[i]);
                    let power = shape + 0.5 * (width - 2 - j) as f64;
                    partials.push(register.add_partial(name, power));
                }
            }
        }
        (sds, partials)
    }
}

/// One grouping, ready for use.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub groups: usize,
    pub group: Vec<u32>,
    /// The number of effects.
    pub width: usize,
    /// Observation by observation; empty where the only effect is an intercept.
    z: Vec<f64>,
    sds: Vec<Source>,
    /// The partial correlations, row by row below the diagonal; empty where there are none.
    pub partials: Vec<usize>,
    /// Class by class, group by group: where each effect's u stands among all u.
    places: Vec<u32>,
}

/// The blocks of ZᵀWZ for one pair of terms and one pair of classes.
#[derive(Debug, Clone)]
struct Blocks {
    terms: [usize; 2],
    classes: [usize; 2],
    /// Which weights, in the order of [`crate::family::Likelihood::weight`].
    weight: usize,
    /// The pairs of groups that meet; `None` for each group with itself.
    pairs: Option<Arc<Meetings>>,
    /// Where each entry of each block goes in the matrix; [`NOWHERE`] for those above the diagonal.
    slots: Vec<u32>,
    /// Whether the diagonal runs through them.
    diagonal: bool,
}

/// Which groups of two terms meet, and where.
#[derive(Debug)]
struct Meetings {
    pairs: Vec<[u32; 2]>,
    of_row: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

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

impl Term {
    fn new(grouping: &Grouping, register: &mut Register) -> Self {
        let width = grouping.effects.len();
        let rows = grouping.group.len();
        let ones = width == 1 && grouping.columns[0].iter().all(|z| *z == 1.0);
        let z = if ones {
            Vec::new()
        } else {
            (0..rows * width)
                .map(|k| grouping.columns[k % width][k / width])
                .collect()
        };
        let (sds, partials) = grouping.register(register);
        Self {
            groups: grouping.levels.len(),
            group: grouping.group.iter().map(|g| *g as u32).collect(),
            width,
            z,
            sds,
            partials,
            places: Vec::new(),
        }
    }

    /// Λ: the standard deviations times the Cholesky root of the correlations.
    pub fn lambda(&self, values: &[f64]) -> Vec<f64> {
        let k = self.width;
        let mut lambda = self.correlation_root(values);
        for i in 0..k {
            let sd = self.sds[i].get(values);
            for value in &mut lambda[i * k..(i + 1) * k] {
                *value *= sd;
            }
        }
        lambda
    }

    /// The Cholesky root of the correlation matrix, row by row.
    pub fn correlation_root(&self, values: &[f64]) -> Vec<f64> {
        let partials: Vec<f64> = self.partials.iter().map(|p| values[*p]).collect();
        correlation_root(&partials, self.width)
    }

    #[inline(always)]
    fn z(&self, row: usize) -> &[f64] {
        if self.z.is_empty() {
            &[1.0]
        } else {
            &self.z[row * self.width..(row + 1) * self.width]
        }
    }

    /// The places of a class's u.
    pub fn places(&self, class: usize) -> &[u32] {
        let len = self.groups * self.width;
        &self.places[class * len..(class + 1) * len]
    }
}

/// The Cholesky root of the correlation matrix of partial correlations (row by row below the diagonal), row by row.
pub(crate) fn correlation_root(partials: &[f64], k: usize) -> Vec<f64> {
    let mut root = vec![0.0; k * k];
    let mut next = partials.iter();
    for i in 0..k {
        let mut left: f64 = 1.0;
        for j in 0..i {
            let partial = next.next().copied().unwrap_or(0.0);
            root[i * k + j] = partial * left.sqrt();
            left *= 1.0 - partial * partial;
        }
        root[i * k + i] = left.sqrt();
    }
    root
}

/// Partial correlations instead of correlations, in place: the inverse of what is done for reports.
pub(crate) fn partials_of(at: &[usize], k: usize, values: &mut [f64]) {
    let mut next = at.iter();
    let mut root = vec![0.0; k * k];
    for i in 0..k {
        let mut left: f64 = 1.0;
        for j in 0..i {
            let Some(&at) = next.next() else { return };
            let known: f64 = (0..j).map(|m| root[i * k + m] * root[j * k + m]).sum();
            let entry = (values[at] - known) / root[j * k + j];
            // Rounding must not put a correlation beyond one.
            let partial = (entry / left.sqrt()).clamp(-1.0 + 1e-15, 1.0 - 1e-15);
            root[i * k + j] = entry;
            left *= 1.0 - partial * partial;
            values[at] = partial;
        }
        root[i * k + i] = left.sqrt();
    }
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

impl Meetings {
    fn new(a: &Term, b: &Term, rows: usize) -> Self {
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
fn blocks_of(
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
    fn len(&self, terms: &[Term]) -> usize {
        self.pairs
            .as_ref()
            .map_or(terms[self.terms[0]].groups, |m| m.pairs.len())
    }

    /// The groups of a block.
    fn groups(&self, block: usize) -> [usize; 2] {
        match &self.pairs {
            None => [block, block],
            Some(met) => met.pairs[block].map(|g| g as usize),
        }
    }
}

/// The entries (row, column) of all blocks that are in the lower triangle, in the order of their slots.
fn entries_of(terms: &[Term], all: &[Blocks]) -> Vec<[u32; 2]> {
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

/// The sparse system at one x.
pub(crate) struct SparseSystem<'a> {
    pub sparse: &'a Sparse,
    pub at: &'a SparseAt,
}

impl System for SparseSystem<'_> {
    type Step = SparseRoot;
    type Root = SparseRoot;

    fn dim(&self) -> usize {
        self.sparse.border() + self.sparse.effects
    }

    fn spare(&self) -> usize {
        let sizes = self.sparse.terms.iter().map(|t| t.groups * t.width);
        sizes.max().unwrap_or(0)
    }

    fn push(&self, y: &[f64], eta: &mut [f64], spare: &mut [f64]) {
        let sparse = self.sparse;
        let (width, rows) = (sparse.fixed.width, sparse.fixed.rows);
        let (beta, u) = y.split_at(sparse.border());
        eta.fill(0.0);
        for class in 0..sparse.classes {
            let eta = &mut eta[class * rows..(class + 1) * rows];
            wide(
                #[inline(always)]
                || {
                    sparse
                        .fixed
                        .push(&beta[class * width..(class + 1) * width], eta)
                },
            );
            for (t, term) in sparse.terms.iter().enumerate() {
                let k = term.width;
                let b = &mut spare[..term.groups * k];
                sparse.effects_of(self.at, t, class, u, b);
                if term.z.is_empty() {
                    for (e, g) in eta.iter_mut().zip(&term.group) {
                        *e += b[*g as usize];
                    }
                } else {
                    let rows = term.group.iter().zip(term.z.chunks_exact(k));
                    for (e, (g, z)) in eta.iter_mut().zip(rows) {
                        let b = &b[*g as usize * k..(*g as usize + 1) * k];
                        for (z, b) in z.iter().zip(b) {
                            *e += z * b;
                        }
                    }
                }
            }
        }
    }

    fn pull(&self, g: &[f64], out: &mut [f64], spare: &mut [f64]) {
        let sparse = self.sparse;
        let (width, rows) = (sparse.fixed.width, sparse.fixed.rows);
        let (beta, u) = out.split_at_mut(sparse.border());
        for class in 0..sparse.classes {
            let g = &g[class * rows..(class + 1) * rows];
            wide(
                #[inline(always)]
                || {
                    sparse
                        .fixed
                        .pull(g, &mut beta[class * width..(class + 1) * width])
                },
            );
            for (term, lambda) in sparse.terms.iter().zip(&self.at.lambda) {
                let k = term.width;
                let b = &mut spare[..term.groups * k];
                b.fill(0.0);
                if term.z.is_empty() {
                    for (g, group) in g.iter().zip(&term.group) {
                        b[*group as usize] += g;
                    }
                } else {
                    for ((g, group), z) in g.iter().zip(&term.group).zip(term.z.chunks_exact(k)) {
                        let b = &mut b[*group as usize * k..(*group as usize + 1) * k];
                        for (b, z) in b.iter_mut().zip(z) {
                            *b += g * z;
                        }
                    }
                }
                let places = term.places(class);
                for (b, places) in b.chunks_exact(k).zip(places.chunks_exact(k)) {
                    for j in 0..k {
                        u[places[j] as usize] = (j..k).map(|i| lambda[i * k + j] * b[i]).sum();
                    }
                }
            }
        }
    }

    fn natural(&self, y: &[f64]) -> Vec<f64> {
        let border = self.sparse.border();
        let mut natural = y.to_vec();
        for (term, lambda) in self.sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            for places in term.places.chunks_exact(k) {
                for i in 0..k {
                    let value = (0..=i).map(|j| lambda[i * k + j] * y[border + places[j] as usize]);
                    natural[border + places[i] as usize] = value.sum();
                }
            }
        }
        natural
    }

    fn whitened(&self, natural: &[f64]) -> Vec<f64> {
        let border = self.sparse.border();
        let mut y = natural.to_vec();
        for (term, lambda) in self.sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            for places in term.places.chunks_exact(k) {
                for i in 0..k {
                    let before = (0..i).map(|j| lambda[i * k + j] * y[border + places[j] as usize]);
                    let rest = natural[border + places[i] as usize] - before.sum::<f64>();
                    y[border + places[i] as usize] = rest / lambda[i * k + i];
                }
            }
        }
        y
    }

    fn step(&self, weights: &[f64]) -> Option<SparseRoot> {
        self.root(weights)
    }

    fn solve_step(&self, step: &SparseRoot, v: &mut [f64], _: &mut Work) {
        // R⁻ᵀ R⁻¹ v, both in place.
        step.solve_root(v);
        step.solve_root_transposed(v);
    }

    fn root(&self, weights: &[f64]) -> Option<SparseRoot> {
        let values = self.curvature(weights);
        let factor = SparseFactor::new(self.sparse.pattern.clone(), &values)?;
        let mut mixed = self.mixed(weights);
        let border = self.sparse.border();
        factor.solve_many(&mut mixed, border);
        // What is left of the coefficients' own block.
        let (width, rows) = (self.sparse.fixed.width, self.sparse.fixed.rows);
        let mut own = vec![0.0; border * border];
        let mut spare = vec![0.0; rows];
        let mut pair = 0;
        for c in 0..self.sparse.classes {
            for other in 0..=c {
                let w = &weights[pair * rows..(pair + 1) * rows];
                pair += 1;
                self.sparse.fixed.gram(w, &mut spare, |a, b, value| {
                    own[(other * width + b) * border + c * width + a] = value;
                });
            }
        }
        for k in 0..border {
            own[k * border + k] += 1.0;
        }
        wide(
            #[inline(always)]
            || {
                for row in mixed.chunks_exact(border.max(1)) {
                    for (b, v) in row.iter().enumerate() {
                        for (out, a) in own[b * border..(b + 1) * border].iter_mut().zip(row) {
                            *out -= a * v;
                        }
                    }
                }
            },
        );
        let own = Triangle::root_of(own, border)?;
        Some(SparseRoot { factor, mixed, own })
    }
}

impl SparseSystem<'_> {
    /// The values of I + ΛᵀZᵀWZΛ.
    fn curvature(&self, weights: &[f64]) -> Vec<f64> {
        let sparse = self.sparse;
        let rows = sparse.fixed.rows;
        let mut values = vec![0.0; sparse.pattern.len()];
        let mut sums = Vec::new();
        for blocks in &sparse.blocks {
            let [a, b] = blocks.terms.map(|t| &sparse.terms[t]);
            let (k, l) = (a.width, b.width);
            let w = &weights[blocks.weight * rows..(blocks.weight + 1) * rows];
            sums.clear();
            sums.resize(blocks.len(&sparse.terms) * k * l, 0.0);
            let of_row: &[u32] = blocks.pairs.as_ref().map_or(&a.group, |met| &met.of_row);
            if k * l == 1 && a.z.is_empty() && b.z.is_empty() {
                for (block, w) in of_row.iter().zip(w) {
                    sums[*block as usize] += w;
                }
            } else {
                for (i, (block, w)) in of_row.iter().zip(w).enumerate() {
                    let sums = &mut sums[*block as usize * k * l..(*block as usize + 1) * k * l];
                    let (za, zb) = (a.z(i), b.z(i));
                    for (row, za) in sums.chunks_exact_mut(l).zip(za) {
                        for (sum, zb) in row.iter_mut().zip(zb) {
                            *sum += w * za * zb;
                        }
                    }
                }
            }
            let [left, right] = blocks.terms.map(|t| &self.at.lambda[t]);
            let one = f64::from(u8::from(blocks.diagonal));
            if k * l == 1 {
                let scale = left[0] * right[0];
                for (sum, slot) in sums.iter().zip(&blocks.slots) {
                    values[*slot as usize] = scale * sum + one;
                }
                continue;
            }
            let mut half = vec![0.0; k * l];
            let parts = sums
                .chunks_exact(k * l)
                .zip(blocks.slots.chunks_exact(k * l));
            for (sum, slots) in parts {
                // half = Λ_aᵀ S, then half Λ_b.
                for i in 0..k {
                    for j in 0..l {
                        half[i * l + j] = (i..k).map(|m| left[m * k + i] * sum[m * l + j]).sum();
                    }
                }
                for i in 0..k {
                    for j in 0..l {
                        let slot = slots[i * l + j];
                        if slot != NOWHERE {
                            let value: f64 =
                                (j..l).map(|m| half[i * l + m] * right[m * l + j]).sum();
                            let on = if i == j { one } else { 0.0 };
                            values[slot as usize] = value + on;
                        }
                    }
                }
            }
        }
        values
    }

    /// ΛᵀZᵀWX: effect by effect, a row for all coefficients.
    fn mixed(&self, weights: &[f64]) -> Vec<f64> {
        let sparse = self.sparse;
        let (width, rows, border) = (sparse.fixed.width, sparse.fixed.rows, sparse.border());
        let mut mixed = vec![0.0; sparse.effects * border];
        if border == 0 {
            return mixed;
        }
        for (term, lambda) in sparse.terms.iter().zip(&self.at.lambda) {
            let k = term.width;
            let mut sums = vec![0.0; term.groups * k * width];
            for c in 0..sparse.classes {
                for other in 0..sparse.classes {
                    let (high, low) = (c.max(other), c.min(other));
                    let pair = high * (high + 1) / 2 + low;
                    let w = &weights[pair * rows..(pair + 1) * rows];
                    sums.fill(0.0);
                    for (i, (group, w)) in term.group.iter().zip(w).enumerate() {
                        let x = sparse.fixed.row(i);
                        for (a, z) in term.z(i).iter().enumerate() {
                            let from = (*group as usize * k + a) * width;
                            let wz = w * z;
                            for (sum, x) in sums[from..from + width].iter_mut().zip(x) {
                                *sum += wz * x;
                            }
                        }
                    }
                    let places = term.places(c).chunks_exact(k);
                    for (places, sums) in places.zip(sums.chunks_exact(k * width)) {
                        for j in 0..k {
                            let from = places[j] as usize * border + other * width;
                            let row = &mut mixed[from..from + width];
                            for i in j..k {
                                let sums = &sums[i * width..(i + 1) * width];
                                for (m, s) in row.iter_mut().zip(sums) {
                                    *m += lambda[i * k + j] * s;
                                }
                            }
                        }
                    }
                }
            }
        }
        mixed
    }
}

/// R of the curvature: for y in the order (coefficients, u), R = [[S, B], [0, F]] with the effects' sparse F, the border
/// B = (F⁻¹ G)ᵀ, and S a root of what is left for the coefficients. R Rᵀ is the curvature.
#[derive(Debug)]
pub(crate) struct SparseRoot {
    factor: SparseFactor,
    /// F⁻¹ G: effect by effect, a row for all coefficients.
    mixed: Vec<f64>,
    own: Triangle,
}

impl SparseRoot {
    /// v becomes R⁻¹ v: u by F, then the coefficients by S.
    fn solve_root(&self, v: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at_mut(border);
        self.factor.solve(u);
        for (row, u) in self.mixed.chunks_exact(border.max(1)).zip(&*u) {
            for (b, m) in beta.iter_mut().zip(row) {
                *b -= m * u;
            }
        }
        self.own.solve(beta);
    }

    /// v becomes R⁻ᵀ v.
    fn solve_root_transposed(&self, v: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at_mut(border);
        self.own.solve_transposed(beta);
        for (row, u) in self.mixed.chunks_exact(border.max(1)).zip(u.iter_mut()) {
            for (b, m) in beta.iter().zip(row) {
                *u -= m * b;
            }
        }
        self.factor.solve_transposed(u);
    }
}

impl RootMap for SparseRoot {
    fn apply(&self, z: &[f64], out: &mut [f64]) {
        out.copy_from_slice(z);
        self.solve_root_transposed(out);
    }

    /// Rᵀ v: Fᵀ u + Bᵀ β for the effects, Sᵀ β for the coefficients.
    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        let border = self.own.dim();
        let (beta, u) = v.split_at(border);
        let (out_beta, out_u) = out.split_at_mut(border);
        self.own.multiply_transposed(beta, out_beta);
        self.factor.multiply_transposed(u, out_u);
        for (row, out) in self.mixed.chunks_exact(border.max(1)).zip(out_u) {
            for (b, m) in beta.iter().zip(row) {
                *out += m * b;
            }
        }
    }

    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        out.copy_from_slice(v);
        self.solve_root(out);
    }

    fn log_det(&self) -> f64 {
        -self.own.log_det() - self.factor.log_det()
    }
}
