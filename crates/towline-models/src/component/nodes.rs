//! The nodes of a component: which are free, where its precision has entries, what it leaves open.

use std::collections::BTreeMap;

/// The nodes of a component.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Nodes {
    /// How many there are.
    pub count: usize,
    /// The free ones; the others are zero in w.
    pub free: Vec<u32>,
    /// Entries of the precision of the free ones: (row, column) with row ≥ column, each once, the diagonal among them.
    pub entries: Vec<[u32; 2]>,
    /// What the precision leaves open: vectors over all nodes, as lists of (node, value).
    pub null: Vec<Vec<(u32, f64)>>,
}

impl Nodes {
    /// Independent nodes.
    pub fn independent(count: usize) -> Self {
        let all = 0..count as u32;
        Self {
            count,
            free: all.clone().collect(),
            entries: all.map(|k| [k, k]).collect(),
            null: Vec::new(),
        }
    }

    /// Whether the precision is diagonal.
    pub fn is_diagonal(&self) -> bool {
        self.entries.iter().all(|[i, j]| i == j)
    }

    /// The place of each node among the free ones.
    pub fn among_free(&self) -> Vec<Option<u32>> {
        let mut places = vec![None; self.count];
        for (k, node) in self.free.iter().enumerate() {
            places[*node as usize] = Some(k as u32);
        }
        places
    }

    /// (NᵀN)⁻¹Nᵀ over the free nodes: vector by vector, lists of (free node, value). Null vectors that share no node are
    /// treated apart, so that many of them stay cheap.
    pub fn takers(&self) -> Vec<Vec<(u32, f64)>> {
        let free = self.among_free();
        let mut takers = vec![Vec::new(); self.null.len()];
        for members in self.blocks() {
            let maps: Vec<BTreeMap<u32, f64>> = members
                .iter()
                .map(|v| self.null[*v].iter().copied().collect())
                .collect();
            let m = members.len();
            let mut gram = vec![0.0; m * m];
            for a in 0..m {
                for b in 0..m {
                    gram[a * m + b] = maps[a]
                        .iter()
                        .filter_map(|(node, v)| maps[b].get(node).map(|w| v * w))
                        .sum();
                }
            }
            let inverse = inverse(&gram, m);
            let nodes: std::collections::BTreeSet<u32> =
                maps.iter().flat_map(|map| map.keys().copied()).collect();
            for (a, v) in members.iter().enumerate() {
                for node in &nodes {
                    let Some(place) = free[*node as usize] else {
                        continue;
                    };
                    let value: f64 = (0..m)
                        .map(|b| inverse[a * m + b] * maps[b].get(node).copied().unwrap_or(0.0))
                        .sum();
                    if value != 0.0 {
                        takers[*v].push((place, value));
                    }
                }
            }
        }
        takers
    }
}

impl Nodes {
    /// Null vectors that share nodes, together.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let k = self.null.len();
        let mut owner: BTreeMap<u32, usize> = BTreeMap::new();
        let mut block: Vec<usize> = (0..k).collect();
        for (v, vector) in self.null.iter().enumerate() {
            for (node, _) in vector {
                match owner.get(node) {
                    Some(first) => block[v] = block[v].min(block[*first]),
                    None => {
                        owner.insert(*node, v);
                    }
                }
            }
        }
        let mut blocks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (v, of) in block.into_iter().enumerate() {
            blocks.entry(of).or_default().push(v);
        }
        blocks.into_values().collect()
    }

    /// Moves a vector along what is left open until the nodes that are not free are zero.
    pub fn hold(&self, v: &mut [f64]) {
        if self.null.is_empty() {
            return;
        }
        let free = self.among_free();
        for members in self.blocks() {
            let m = members.len();
            let (mut gram, mut right) = (vec![0.0; m * m], vec![0.0; m]);
            let held: Vec<BTreeMap<u32, f64>> = members
                .iter()
                .map(|one| {
                    let vector = self.null[*one].iter().copied();
                    vector
                        .filter(|(node, _)| free[*node as usize].is_none())
                        .collect()
                })
                .collect();
            for a in 0..m {
                for (node, value) in &held[a] {
                    right[a] -= value * v[*node as usize];
                    for b in 0..m {
                        let other = held[b].get(node).copied().unwrap_or(0.0);
                        gram[a * m + b] += value * other;
                    }
                }
            }
            let inverse = inverse(&gram, m);
            for (a, one) in members.iter().enumerate() {
                let level: f64 = (0..m).map(|b| inverse[a * m + b] * right[b]).sum();
                for (node, value) in &self.null[*one] {
                    v[*node as usize] += level * value;
                }
            }
        }
    }
}

/// The inverse of a small positive definite matrix, row by row.
pub(crate) fn inverse(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut a = matrix.to_vec();
    let mut out: Vec<f64> = (0..n * n)
        .map(|k| f64::from(u8::from(k / n == k % n)))
        .collect();
    for c in 0..n {
        let pivot = (c..n)
            .max_by(|i, j| a[i * n + c].abs().total_cmp(&a[j * n + c].abs()))
            .unwrap_or(c);
        for k in 0..n {
            a.swap(c * n + k, pivot * n + k);
            out.swap(c * n + k, pivot * n + k);
        }
        let by = a[c * n + c];
        for k in 0..n {
            a[c * n + k] /= by;
            out[c * n + k] /= by;
        }
        for i in (0..n).filter(|i| *i != c) {
            let times = a[i * n + c];
            for k in 0..n {
                a[i * n + k] -= times * a[c * n + k];
                out[i * n + k] -= times * out[c * n + k];
            }
        }
    }
    out
}

/// A sparse symmetric matrix as it is put together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Symmetric(BTreeMap<(u32, u32), f64>);

impl Symmetric {
    /// Adds to the entry (i, j), which is the entry (j, i).
    pub fn add(&mut self, i: usize, j: usize, value: f64) {
        let (i, j) = (i.max(j) as u32, i.min(j) as u32);
        *self.0.entry((i, j)).or_insert(0.0) += value;
    }

    /// Adds value · v vᵀ.
    pub fn add_square(&mut self, v: &[(usize, f64)], value: f64) {
        for (a, (i, x)) in v.iter().enumerate() {
            for (j, y) in &v[..=a] {
                self.add(*i, *j, value * x * y);
            }
        }
    }

    /// The entries in order.
    pub fn entries(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.0.iter().map(|((i, j), value)| (*i, *j, *value))
    }

    /// Nodes of which some are held at zero, and the values of the entries among the others.
    pub fn without(
        &self,
        count: usize,
        held: &[usize],
        null: Vec<Vec<(u32, f64)>>,
    ) -> (Nodes, Vec<f64>) {
        let free: Vec<u32> = (0..count as u32)
            .filter(|k| !held.contains(&(*k as usize)))
            .collect();
        let mut nodes = Nodes {
            count,
            free,
            entries: Vec::new(),
            null,
        };
        let places = nodes.among_free();
        let mut values = Vec::new();
        for (i, j, value) in self.entries() {
            if let (Some(i), Some(j)) = (places[i as usize], places[j as usize]) {
                nodes.entries.push([i.max(j), i.min(j)]);
                values.push(value);
            }
        }
        (nodes, values)
    }
}
