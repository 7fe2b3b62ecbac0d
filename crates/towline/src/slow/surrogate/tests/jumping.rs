//! Jumps: the chain with them is reversible from exact starts, a version without Hastings' ratio is not, and they do pay.

use super::{Pair, reversibility_scores, worst};
use crate::random::Rng;
use crate::slow::surrogate::jump::Jumps;
use crate::slow::surrogate::wander::Wander;

const WIDTH: f64 = 0.4;
const PAIRS: usize = 20_000;

/// A banana.
fn bent(w: &[f64]) -> f64 {
    -0.5 * w[0] * w[0] - 0.5 * ((w[1] - w[0] * w[0] + 1.0) / WIDTH).powi(2)
}

/// An exact draw of it.
fn draw(rng: &mut Rng) -> Vec<f64> {
    let a = rng.normal();
    vec![a, a * a - 1.0 + WIDTH * rng.normal()]
}

/// A mixture fitted to a few hundred draws: far from exact, as it should be here.
fn jumps(rng: &mut Rng) -> Jumps {
    let draws: Vec<Vec<f64>> = (0..300).map(|_| draw(rng)).collect();
    Jumps::fit(&draws).unwrap()
}

/// Starts and ends of so many moves of the chain.
fn pairs(moves: usize, jumps: Option<&Jumps>, rng: &mut Rng) -> Vec<Pair> {
    (0..PAIRS)
        .map(|_| {
            let start = draw(rng);
            let mut chain = Wander::new(&bent, start.clone(), jumps);
            chain.run(moves, rng);
            (start, chain.w)
        })
        .collect()
}

/// The correlation of start and end in the first variable.
fn memory(pairs: &[Pair]) -> f64 {
    // Both ends have variance one.
    pairs.iter().map(|(a, b)| a[0] * b[0]).sum::<f64>() / pairs.len() as f64
}

#[test]
fn a_chain_with_jumps_is_reversible_and_forgets_sooner() {
    let mut rng = Rng::stream(31, 0);
    let jumps = jumps(&mut rng);
    for moves in [3, 9] {
        let with = pairs(moves, Some(&jumps), &mut rng);
        let scores = reversibility_scores(&with);
        assert!(worst(&scores) < 4.5, "{moves} moves: {scores:?}");
        let without = pairs(moves, None, &mut rng);
        assert!(worst(&reversibility_scores(&without)) < 4.5);
        let (with, without) = (memory(&with), memory(&without));
        assert!(with < without, "{moves} moves: {with} and {without}");
    }
}

#[test]
fn a_mixture_used_without_its_density_is_found_out() {
    let mut rng = Rng::stream(32, 0);
    let jumps = jumps(&mut rng);
    let broken: Vec<Pair> = (0..PAIRS)
        .map(|_| {
            let start = draw(&mut rng);
            let mut end = start.clone();
            jumps.draw(&mut end, &mut rng);
            // As if the proposal were symmetric.
            if !rng.accept(bent(&end) - bent(&start)) {
                end.clone_from(&start);
            }
            (start, end)
        })
        .collect();
    assert!(worst(&reversibility_scores(&broken)) > 8.0);
}

#[test]
fn heating_left_on_is_found_out() {
    let mut rng = Rng::stream(33, 0);
    let hot = |w: &[f64]| bent(w) / 3.0;
    let broken: Vec<Pair> = (0..PAIRS)
        .map(|_| {
            let start = draw(&mut rng);
            let mut chain = Wander::new(&hot, start.clone(), None);
            chain.run(5, &mut rng);
            (start, chain.w)
        })
        .collect();
    assert!(worst(&reversibility_scores(&broken)) > 8.0);
}
