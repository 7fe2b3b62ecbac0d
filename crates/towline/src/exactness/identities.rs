//! The paper's equations hold along the engine's own paths, and exchanging the ends changes no bit.

use super::continuous::Skewed;
use super::moves::walk;
use super::reference::{Defect, Memory, Reference, identity};
use crate::fast::between::Between;
use crate::fast::density::FastDensity;
use crate::fast::ends::Ends;
use crate::fast::ledger::Buffers;
use crate::frame::Frame;
use crate::frame::view::Plain;
use crate::kernel::state::{State, Workspace, prepare};
use crate::random::Rng;
use crate::{Drag, Factor, Info, SlowProposal, Target};

/// A production step and the path it took (recorded by the reference, which draws the same numbers).
struct Recorded {
    info: Info,
    x: f64,
    x_proposed: f64,
    log_s: f64,
    path: Vec<Vec<f64>>,
}

fn record(target: &Skewed, n: usize, seed: u64) -> Recorded {
    let mut rng = Rng::stream(seed, 0);
    let (x, y) = target.draw(&mut rng);
    let mut again = rng.clone();
    let factor = Factor::diagonal(&[0.4], "test").unwrap();
    let proposal = SlowProposal::LogNormal(factor);
    let inner = walk(&vec![0.3; y.len()]);
    let mut work = Workspace::new(1, y.len());

    let mut state = State::new(target, x.clone(), y.clone(), &mut work.buffers).unwrap();
    let drag = Drag::new(n, proposal.clone(), inner.clone()).unwrap();
    let mut info = Info::default();
    drag.step(target, &mut state, &mut work, &mut info, &mut rng)
        .unwrap();

    let reference = Reference {
        n,
        proposal,
        inner,
        scale: 1.0,
        frame: identity,
        defect: Defect::None,
    };
    let mut twin = State::new(target, x.clone(), y, &mut work.buffers).unwrap();
    let memory = &mut Memory::FRESH.clone();
    let trace = reference.step(target, &mut twin, memory, &mut work, &mut again);
    assert_eq!((&state.slow.x, &state.y), (&twin.slow.x, &twin.y));
    assert_eq!(
        rng, again,
        "the reference drew other numbers than the engine"
    );
    Recorded {
        info,
        x: x[0],
        x_proposed: trace.x_proposed[0],
        log_s: trace.log_s,
        path: trace.path,
    }
}

/// ℓ(x, y) by the target itself, with nothing of the engine in between.
fn log_density(target: &Skewed, x: f64, y: &[f64]) -> f64 {
    let cache = target.prepare(&[x]).unwrap().unwrap();
    target.log_density(&cache, y)
}

#[test]
fn the_averaged_form_is_the_papers_product_form_along_every_path() {
    let mut accepted = 0;
    for fast in [1, 2, 5] {
        let target = Skewed { fast };
        for n in [1, 2, 3, 7, 50] {
            for seed in 0..40 {
                let seen = record(&target, n, seed + 1000 * n as u64);
                accepted += seen.info.outer_accepted;
                assert_eq!(seen.path.len(), n);
                let at = |x: f64, i: usize| log_density(&target, x, &seen.path[i]);
                let (x, to) = (seen.x, seen.x_proposed);

                // Equation 14: π(x*, y*)/π(x, y) Πᵢ ρᵢ(yᵢ₋₁)/ρᵢ(yᵢ), ρᵢ by equation 11 as it is written.
                let rho = |i: usize, k: usize| {
                    let share = i as f64 / n as f64;
                    (1.0 - share) * at(x, k) + share * at(to, k)
                };
                let mut product = seen.log_s + at(to, n - 1) - at(x, 0);
                for i in 1..n {
                    product += rho(i, i - 1) - rho(i, i);
                }
                // Equation 15: the mean of differences.
                let mean = (0..n).map(|i| at(to, i) - at(x, i)).sum::<f64>() / n as f64;
                let averaged = seen.log_s + mean;

                let size = 1.0 + product.abs();
                assert!((product - averaged).abs() < 1e-10 * size);
                assert!((seen.info.log_ratio - product).abs() < 1e-10 * size);
                if n == 2 {
                    // Section 2: (E(x,y) + E(x,y*))/2 − (E(x*,y) + E(x*,y*))/2.
                    let halves = (at(to, 0) + at(to, 1)) / 2.0 - (at(x, 0) + at(x, 1)) / 2.0;
                    assert!((seen.info.log_ratio - seen.log_s - halves).abs() < 1e-10 * size);
                }
            }
        }
    }
    assert!(
        accepted > 100,
        "paths that are worth looking at: {accepted}"
    );
}

#[test]
fn the_interpolation_gives_the_same_bits_when_the_ends_are_exchanged() {
    let target = Skewed { fast: 2 };
    let mut rng = Rng::stream(17, 0);
    let (mut buffers, mut others) = (Buffers::new(2), Buffers::new(2));
    let mut looked_at = 0;
    for _ in 0..400 {
        let (a, y) = target.draw(&mut rng);
        let (b, _) = target.draw(&mut rng);
        let a = prepare(&target, &a).unwrap().unwrap();
        let b = prepare(&target, &b).unwrap().unwrap();
        let mut forth = Between::new(
            a.end(&target, &Frame::Identity),
            b.end(&target, &Frame::Identity),
            [Plain; 2],
            &mut buffers,
        );
        let mut back = Between::new(
            b.end(&target, &Frame::Identity),
            a.end(&target, &Frame::Identity),
            [Plain; 2],
            &mut others,
        );
        for _ in 0..50 {
            let n = 1 + rng.index(1000);
            let i = rng.index(n + 1);
            forth.set(i, n);
            back.set(n - i, n);
            // At a point, and for any two numbers whatever their sizes.
            let (from, to) = (forth.value(&y), back.value(&y));
            assert_eq!(forth.log(from).to_bits(), back.log(to).to_bits());
            let scale = 10f64.powi(rng.index(12) as i32 - 3);
            let (p, q) = (scale * rng.normal(), rng.normal());
            let forwards = forth.log(Ends { from: p, to: q });
            let backwards = back.log(Ends { from: q, to: p });
            assert_eq!(forwards.to_bits(), backwards.to_bits());
            let (mut g, mut h) = ([0.0; 2], [0.0; 2]);
            forth.gradient(&y, &mut g).unwrap();
            back.gradient(&y, &mut h).unwrap();
            assert_eq!(g.map(f64::to_bits), h.map(f64::to_bits));
            looked_at += 1;
        }
    }
    assert_eq!(looked_at, 20_000);
}
