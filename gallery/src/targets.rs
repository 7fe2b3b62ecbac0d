//! All targets of the gallery, one file for each kind.

mod fast_shapes;
mod many;
mod modes;
mod named;
mod others;
mod report;
mod sizes;
mod slow_shapes;
mod strangers;

use crate::known::Known;
use towline::Rng;

/// Every target, in the order of the docs' page.
pub fn all() -> Vec<Known> {
    let mut all = report::all();
    all.extend(named::all());
    all.extend(slow_shapes::all());
    all.extend(modes::all());
    all.extend(fast_shapes::all());
    all.extend(sizes::all());
    all.extend(others::all());
    all.extend(strangers::all());
    all.extend(many::all());
    all
}

/// A rotation of as many dimensions, the same every time: Gram and Schmidt on fixed normals.
fn rotation(size: usize) -> Vec<Vec<f64>> {
    let mut rng = Rng::stream(77, 0);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while rows.len() < size {
        let mut row: Vec<f64> = (0..size).map(|_| rng.normal()).collect();
        for other in &rows {
            let along: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            for (v, o) in row.iter_mut().zip(other) {
                *v -= along * o;
            }
        }
        let length = row.iter().map(|v| v * v).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v /= length);
        rows.push(row);
    }
    rows
}

/// A Gamma(2, 1) draw.
fn gamma2(rng: &mut Rng) -> f64 {
    rng.exponential() + rng.exponential()
}

/// A draw of Student's t with an even number of degrees of freedom.
fn student(freedom: usize, rng: &mut Rng) -> f64 {
    let square: f64 = (0..freedom / 2).map(|_| 2.0 * rng.exponential()).sum();
    rng.normal() / (square / freedom as f64).sqrt()
}

/// The unnormalised log density of Student's t.
fn log_student(t: f64, freedom: f64) -> f64 {
    -0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p()
}

/// ln(Σ wᵢ eᵃⁱ).
fn log_sum(terms: &[(f64, f64)]) -> f64 {
    let top = terms.iter().map(|t| t.1).fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + terms
        .iter()
        .map(|(w, a)| w * (a - top).exp())
        .sum::<f64>()
        .ln()
}

/// A centre that moves by many widths as x does.
fn winding(x: &[f64], k: usize) -> f64 {
    3.0 * (x[k % x.len()] + 0.5 * k as f64).sin()
}

/// A width that changes by a factor of a few.
fn breathing(x: &[f64], k: usize) -> f64 {
    0.2 * (0.5 * (x[k % x.len()] + k as f64).sin()).exp()
}
