//! What intrinsic components leave open, and what takes it away.

use super::Part;

/// One direction that a component leaves open, and what takes it away.
#[derive(Debug, Clone)]
pub(super) struct Constraint {
    pub part: usize,
    /// A node where the direction is not zero, whose scale is that of all of them.
    pub node: usize,
    /// A N, without the scale: (row, value).
    pub rows: Vec<(u32, f64)>,
    /// M: (free node among all, value).
    pub taker: Vec<(u32, f64)>,
}

/// All directions that components leave open.
pub(super) fn constraints(parts: &[Part]) -> Vec<Constraint> {
    let mut all = Vec::new();
    for (p, part) in parts.iter().enumerate() {
        let nodes = part.component.structure.nodes();
        if nodes.null.is_empty() {
            continue;
        }
        let mut at: Vec<Vec<(usize, f64)>> = vec![Vec::new(); nodes.count];
        let first = all.len();
        for ((v, vector), taker) in nodes.null.iter().enumerate().zip(part.takers.iter()) {
            for (node, value) in vector {
                at[*node as usize].push((first + v, *value));
            }
            let place = |node: u32| (part.from as u32) + part.ordered.place[node as usize];
            all.push(Constraint {
                part: p,
                node: vector.first().map_or(0, |(node, _)| *node as usize),
                rows: Vec::new(),
                taker: taker.iter().map(|(node, v)| (place(*node), *v)).collect(),
            });
        }
        for row in 0..part.component.rows.len() {
            let mut sums: Vec<(usize, f64)> = Vec::new();
            for (node, weight) in part.component.rows.row(row) {
                for (constraint, value) in &at[node as usize] {
                    match sums.iter_mut().find(|(c, _)| c == constraint) {
                        Some((_, sum)) => *sum += weight * value,
                        None => sums.push((*constraint, weight * value)),
                    }
                }
            }
            for (constraint, value) in sums {
                all[constraint].rows.push((row as u32, value));
            }
        }
    }
    all
}
