//! Every fast move, alone and inside a drag, leaves its target invariant by detailed balance.

use super::lattice::Lattice;
use super::space::Choices;
use crate::fast::{Coordinate, CrankNicolson, EllipticalSlice, Hmc, NestedDrag, Slice, Tempered};
use crate::{Drag, Factor, FastMove, FastOnly, Kernel, RandomWalk, SlowProposal};
use std::f64::consts::FRAC_PI_2;

/// A move, what stands for its random numbers, and the longest drag that can be enumerated.
struct Case {
    name: &'static str,
    inner: FastMove,
    choices: Choices,
    most_n: usize,
}

fn case(name: &'static str, inner: FastMove, choices: Choices, most_n: usize) -> Case {
    Case {
        name,
        inner,
        choices,
        most_n,
    }
}

pub(super) fn walk(sds: &[f64]) -> FastMove {
    FastMove::RandomWalk(RandomWalk::new(Factor::diagonal(sds, "test").unwrap()))
}

/// The covariance whose root is [[1, 0], [1, 1]]: it maps whole numbers to whole numbers, and back.
pub(super) fn sheared() -> Factor {
    Factor::from_covariance(&[1.0, 1.0, 1.0, 2.0], "test").unwrap()
}

fn coordinate(sds: &[f64]) -> FastMove {
    FastMove::Coordinate(Coordinate::new(sds.to_vec()))
}

fn slice(widths: &[f64], most_steps: usize) -> FastMove {
    FastMove::Slice(Slice::new(widths.to_vec()).with_most_steps(most_steps))
}

fn hmc(leapfrogs: usize, factor: Factor) -> FastMove {
    FastMove::Hmc(Hmc::new(1.0, leapfrogs, factor))
}

/// A quarter turn: sines and tangents that are whole numbers.
fn turning(leapfrogs: usize) -> FastMove {
    FastMove::Hmc(Hmc::turning(FRAC_PI_2, leapfrogs, unit(1)))
}

fn nested(n: usize, inner: FastMove) -> FastMove {
    FastMove::Nested(NestedDrag::new(n, unit(1), inner).unwrap())
}

/// Along the first variable or in all of them; steps of whole numbers for heats that are squares.
fn tempered(heats: &[f64], dim: usize) -> FastMove {
    let mut first = vec![0.0; dim];
    first[0] = 1.0;
    FastMove::Tempered(Tempered::new(heats.to_vec(), [1.0, 1.0], vec![first]))
}

fn unit(dim: usize) -> Factor {
    Factor::diagonal(&vec![1.0; dim], "test").unwrap()
}

/// Normal numbers −8 … 8: HMC's momenta leave this range with probability e⁻⁴⁰, far below rounding.
const MOMENTA: i32 = 8;

fn one_fast() -> Vec<Case> {
    let steps = Choices::steps;
    vec![
        case("random walk", walk(&[1.0]), steps(), 4),
        case("random walk, long steps", walk(&[2.0]), steps(), 4),
        case("coordinate", coordinate(&[1.0]), steps(), 4),
        case("slice, width 1, 2 steps", slice(&[1.0], 2), steps(), 3),
        case("slice, width 1, 4 steps", slice(&[1.0], 4), steps(), 2),
        case("slice, width 2, 1 step", slice(&[2.0], 1), steps(), 4),
        case("slice, width 2, 3 steps", slice(&[2.0], 3), steps(), 3),
        case("slice, width 3, 2 steps", slice(&[3.0], 2), steps(), 3),
        case("Crank–Nicolson", pcn(), Choices::gaussian(2), 4),
        case("elliptical slice", ess(), Choices::quarter_turns(2), 3),
        case("Langevin", hmc(1, unit(1)), Choices::gaussian(MOMENTA), 3),
        case("HMC", hmc(2, unit(1)), Choices::gaussian(MOMENTA), 3),
        case("HMC, turning", turning(1), Choices::gaussian(MOMENTA), 3),
        case("tempered, two heats", tempered(&[4.0, 16.0], 1), steps(), 2),
        case("tempered, one heat", tempered(&[4.0], 1), steps(), 3),
        case(
            "mixture",
            FastMove::Mixture(vec![
                (1.0, walk(&[1.0])),
                (2.5, slice(&[2.0], 1)),
                (0.5, coordinate(&[2.0])),
            ]),
            steps(),
            3,
        ),
        case(
            "mixture with an elliptical slice",
            FastMove::Mixture(vec![(1.0, ess()), (2.0, pcn()), (3.0, walk(&[1.0]))]),
            Choices::quarter_turns(2),
            3,
        ),
        case(
            "mixture of mixtures",
            FastMove::Mixture(vec![
                (1.0, walk(&[2.0])),
                (
                    2.0,
                    FastMove::Mixture(vec![(1.0, walk(&[1.0])), (2.0, coordinate(&[1.0]))]),
                ),
            ]),
            steps(),
            2,
        ),
    ]
}

fn two_fast() -> Vec<Case> {
    let steps = Choices::steps;
    let sheared_walk = || FastMove::RandomWalk(RandomWalk::new(sheared()));
    vec![
        case("random walk", walk(&[1.0, 2.0]), steps(), 4),
        case("random walk, full covariance", sheared_walk(), steps(), 4),
        case("coordinate", coordinate(&[1.0, 2.0]), steps(), 4),
        case("slice, 1 step", slice(&[2.0, 3.0], 1), steps(), 3),
        case("slice, 2 steps", slice(&[1.0, 2.0], 2), steps(), 2),
        case("slice, 3 steps", slice(&[2.0, 1.0], 3), steps(), 2),
        case("Crank–Nicolson", pcn(), Choices::gaussian(1), 4),
        case("elliptical slice", ess(), Choices::quarter_turns(1), 2),
        case("Langevin", hmc(1, unit(2)), Choices::gaussian(MOMENTA), 2),
        case("HMC", hmc(2, sheared()), Choices::gaussian(MOMENTA), 2),
        case("nested drag", nested(2, walk(&[1.0])), steps(), 3),
        case("tempered", tempered(&[4.0], 2), steps(), 2),
        case(
            "nested drag by slice",
            nested(2, slice(&[2.0], 1)),
            steps(),
            2,
        ),
        case(
            "mixture of a coordinate and a slice",
            FastMove::Mixture(vec![
                (1.0, coordinate(&[1.0, 1.0])),
                (3.0, slice(&[2.0, 2.0], 1)),
            ]),
            steps(),
            3,
        ),
    ]
}

fn pcn() -> FastMove {
    FastMove::CrankNicolson(CrankNicolson::new(1.0))
}

fn ess() -> FastMove {
    FastMove::EllipticalSlice(EllipticalSlice)
}

fn drag(n: usize, inner: &FastMove) -> Kernel {
    let proposal = SlowProposal::random_walk(&[1.0]).unwrap();
    Drag::new(n, proposal, inner.clone()).unwrap().into()
}

/// Asserts detailed balance of the move at fixed x and of its drags.
fn prove(lattice: impl Fn() -> Lattice, cases: &[Case]) {
    for case in cases {
        // Moves that take no gradient never see the push.
        let space = lattice().pushed(2.0).space();
        let alone = Kernel::from(FastOnly::new(case.inner.clone(), 1));
        let matrix = space.kernel(&case.choices, &alone);
        space.assert_reversible(case.name, &matrix);
        for n in 1..=case.most_n {
            let name = format!("drag of {n} intervals by {}", case.name);
            let space = lattice().pushed(2.0 * n as f64).space();
            let matrix = space.kernel(&case.choices, &drag(n, &case.inner));
            space.assert_reversible(&name, &matrix);
        }
    }
}

#[test]
fn every_move_alone_and_in_a_drag_is_reversible_with_one_fast_variable() {
    prove(|| Lattice::new(&[(0, 4)], &[(-1, 4)]), &one_fast());
}

#[test]
fn every_move_alone_and_in_a_drag_is_reversible_with_two_fast_variables() {
    prove(|| Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)]), &two_fast());
}

/// Three fast variables are the longest path in an array, four the shortest in a vector.
#[test]
fn drags_of_three_and_of_four_fast_variables_are_reversible() {
    let steps = Choices::steps;
    // The square of the root [[1, 0, 0], [2, 1, 0], [0, −1, 1]].
    let covariance = [1.0, 2.0, 0.0, 2.0, 5.0, -1.0, 0.0, -1.0, 2.0];
    let full = Factor::from_covariance(&covariance, "test").unwrap();
    let three = [
        case("random walk", walk(&[1.0, 1.0, 1.0]), steps(), 3),
        case(
            "random walk, full covariance",
            FastMove::RandomWalk(RandomWalk::new(full)),
            steps(),
            3,
        ),
        case("coordinate", coordinate(&[1.0; 3]), steps(), 3),
    ];
    prove(
        || Lattice::new(&[(0, 2)], &[(0, 2), (0, 2), (0, 2)]),
        &three,
    );
    let four = [
        case("random walk", walk(&[1.0; 4]), steps(), 2),
        case("coordinate", coordinate(&[1.0; 4]), steps(), 3),
        case("slice", slice(&[2.0; 4], 1), steps(), 3),
        case("Crank–Nicolson", pcn(), Choices::gaussian(1), 2),
    ];
    prove(|| Lattice::new(&[(0, 2)], &[(0, 2); 4]), &four);
}

/// Every move is in the lists: a new one that is not fails to compile here.
#[test]
fn no_move_is_left_out() {
    let mut seen = [false; 9];
    for case in one_fast().iter().chain(&two_fast()) {
        seen[match case.inner {
            FastMove::RandomWalk(_) => 0,
            FastMove::Coordinate(_) => 1,
            FastMove::Slice(_) => 2,
            FastMove::CrankNicolson(_) => 3,
            FastMove::EllipticalSlice(_) => 4,
            FastMove::Hmc(_) => 5,
            FastMove::Mixture(_) => 6,
            FastMove::Nested(_) => 7,
            FastMove::Tempered(_) => 8,
        }] = true;
    }
    assert!(seen.iter().all(|&s| s), "{seen:?}");
}
