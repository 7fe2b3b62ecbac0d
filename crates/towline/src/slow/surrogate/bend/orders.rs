//! In which order variables are bent: those first that others follow.

use super::super::limits::BEND_ORDERS;
use crate::linalg::{Factor, dot};

/// Weighted least squares with a small ridge.
pub(super) fn regress(
    rows: &[Vec<f64>],
    wanted: &[f64],
    shares: &[f64],
    size: usize,
) -> Option<Vec<f64>> {
    let mut normal = vec![0.0; size * size];
    let mut right = vec![0.0; size];
    let total: f64 = shares.iter().sum();
    for ((row, wanted), share) in rows.iter().zip(wanted).zip(shares) {
        for i in 0..size {
            right[i] += share * row[i] * wanted;
            for j in 0..size {
                normal[i * size + j] += share * row[i] * row[j];
            }
        }
    }
    for i in 0..size {
        normal[i * size + i] += 1e-6 * total;
    }
    let factor = Factor::from_covariance(&normal, "a bend's regression").ok()?;
    factor.solve(&mut right);
    factor.solve_transposed(&mut right);
    Some(right)
}

/// Orders worth a try: all of them for few variables; else as they come, the other way round, and those first that others follow.
pub(in super::super) fn orders(white: &[Vec<f64>], shares: &[f64], p: usize) -> Vec<Vec<usize>> {
    let plain: Vec<usize> = (0..p).collect();
    if p <= BEND_ORDERS {
        let mut all = vec![Vec::new()];
        for _ in 0..p {
            all = all
                .into_iter()
                .flat_map(|so_far: Vec<usize>| {
                    (0..p)
                        .filter(|k| !so_far.contains(k))
                        .map(|k| [so_far.clone(), vec![k]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        return all;
    }
    let mut scores = vec![0.0; p];
    for j in 0..p {
        for k in (0..p).filter(|&k| k != j) {
            let gain = follows(white, shares, j, k);
            scores[j] += gain;
            scores[k] -= gain;
        }
    }
    let mut led = plain.clone();
    led.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let back = plain.iter().rev().copied().collect();
    let mut all = vec![plain];
    for order in [led, back] {
        if !all.contains(&order) {
            all.push(order);
        }
    }
    all
}

/// How much variable k follows the square of variable j, or has a spread that follows it: shares of its variance.
fn follows(white: &[Vec<f64>], shares: &[f64], j: usize, k: usize) -> f64 {
    let line = |size: usize| {
        let rows: Vec<Vec<f64>> = white
            .iter()
            .map(|t| vec![1.0, t[j], t[j] * t[j]][..size].to_vec())
            .collect();
        let wanted: Vec<f64> = white.iter().map(|t| t[k]).collect();
        let numbers = regress(&rows, &wanted, shares, size)?;
        let left: Vec<f64> = rows
            .iter()
            .zip(&wanted)
            .map(|(row, wanted)| (wanted - dot(row, &numbers)).powi(2))
            .collect();
        Some(left)
    };
    let (Some(straight), Some(bent)) = (line(2), line(3)) else {
        return 0.0;
    };
    let total: f64 = shares.iter().sum();
    let mean = |values: &[f64]| dot(values, shares) / total;
    let bends = 1.0 - mean(&bent) / mean(&straight).max(1e-300);
    // The correlation of what is left, squared, with the other variable.
    let first: Vec<f64> = white.iter().map(|t| t[j]).collect();
    let (a, b) = (mean(&first), mean(&bent));
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for ((t, left), share) in first.iter().zip(&bent).zip(shares) {
        ab += share * (t - a) * (left - b);
        aa += share * (t - a).powi(2);
        bb += share * (left - b).powi(2);
    }
    bends + ab * ab / (aa * bb).max(1e-300)
}
