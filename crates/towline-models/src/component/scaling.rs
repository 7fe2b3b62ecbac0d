//! The typical variance of an intrinsic component: what makes its standard deviation comparable (Sørbye and Rue 2014).

use super::Nodes;
use crate::additive::Ordered;

/// The geometric mean of the marginal variances of u = (I − N M) w, for w with this precision. `None` where that is not
/// positive definite.
pub(crate) fn typical_variance(nodes: &Nodes, values: &[f64]) -> Option<f64> {
    let variances = marginal_variances(nodes, values)?;
    let sum: f64 = variances.iter().map(|v| v.ln()).sum();
    Some((sum / variances.len() as f64).exp())
}

fn marginal_variances(nodes: &Nodes, values: &[f64]) -> Option<Vec<f64>> {
    let ordered = Ordered::new(nodes.free.len(), &nodes.entries);
    let factor = ordered.factor(values)?;
    let free = nodes.free.len();
    let takers = nodes.takers();
    let k = takers.len();
    // Σ M, vector by vector.
    let images: Vec<Vec<f64>> = takers
        .iter()
        .map(|taker| {
            let mut v = vec![0.0; free];
            for (node, value) in taker {
                v[ordered.place[*node as usize] as usize] = *value;
            }
            factor.solve(&mut v);
            factor.solve_transposed(&mut v);
            let pick = |node: usize| v[ordered.place[node] as usize];
            (0..free).map(pick).collect()
        })
        .collect();
    let between = |a: usize, b: usize| -> f64 {
        let parts = takers[a].iter();
        parts.map(|(node, v)| v * images[b][*node as usize]).sum()
    };
    let inner: Vec<f64> = (0..k * k).map(|c| between(c / k, c % k)).collect();
    let mut at = vec![vec![0.0; k]; nodes.count];
    for (v, vector) in nodes.null.iter().enumerate() {
        for (node, value) in vector {
            at[*node as usize][v] = *value;
        }
    }
    let places = nodes.among_free();
    let mut unit = vec![0.0; free];
    let one = |node: usize| {
        let n = &at[node];
        let mut variance: f64 = (0..k * k).map(|c| n[c / k] * n[c % k] * inner[c]).sum();
        if let Some(place) = places[node] {
            unit.fill(0.0);
            unit[ordered.place[place as usize] as usize] = 1.0;
            factor.solve(&mut unit);
            variance += crate::vector::square(&unit);
            variance -= 2.0
                * (0..k)
                    .map(|v| n[v] * images[v][place as usize])
                    .sum::<f64>();
        }
        variance
    };
    Some((0..nodes.count).map(one).collect())
}
