//! Every kernel and every slow proposal leaves its target invariant.

use super::lattice::Lattice;
use super::moves::{sheared, walk};
use super::space::Choices;
use crate::kernel::{Joint, Single};
use crate::{Drag, Factor, FastMove, FastOnly, Kernel, SlowProposal};

fn small() -> Lattice {
    Lattice::new(&[(0, 4)], &[(-1, 4)])
}

fn unit(dim: usize) -> Factor {
    Factor::diagonal(&vec![1.0; dim], "test").unwrap()
}

fn drag(n: usize, proposal: SlowProposal, inner: FastMove) -> Kernel {
    Drag::new(n, proposal, inner).unwrap().into()
}

fn plain_drag(n: usize) -> Kernel {
    drag(n, SlowProposal::RandomWalk(unit(1)), walk(&[1.0]))
}

#[test]
fn drags_by_a_log_normal_proposal_are_reversible() {
    // Steps of ln 2 on powers of two; a cell at x is as wide as x.
    let step = Factor::diagonal(&[std::f64::consts::LN_2], "test").unwrap();
    let space = small().doubling().space();
    for n in 1..=4 {
        let kernel = drag(n, SlowProposal::LogNormal(step.clone()), walk(&[1.0]));
        let matrix = space.kernel(&Choices::steps(), &kernel);
        space.assert_reversible(&format!("log-normal, n = {n}"), &matrix);
    }
}

#[test]
fn drags_by_an_independence_proposal_are_reversible() {
    let space = small().space();
    for n in 1..=3 {
        let proposal = SlowProposal::Independence {
            centre: vec![1.0],
            factor: unit(1),
        };
        let matrix = space.kernel(&Choices::gaussian(4), &drag(n, proposal, walk(&[1.0])));
        space.assert_reversible(&format!("independence, n = {n}"), &matrix);
    }
}

#[test]
fn proposals_of_two_slow_variables_are_reversible() {
    let lattice = || Lattice::new(&[(0, 3), (0, 2)], &[(0, 3)]);
    let space = lattice().space();
    for n in 1..=3 {
        let walked = SlowProposal::RandomWalk(sheared());
        let matrix = space.kernel(&Choices::steps(), &drag(n, walked, walk(&[1.0])));
        space.assert_reversible(&format!("full covariance, n = {n}"), &matrix);

        let independent = SlowProposal::Independence {
            centre: vec![1.0, 0.0],
            factor: sheared(),
        };
        // x* − centre = L ξ must be within reach of ξ for every x: ξ₂ = (x − c)₂ − (x − c)₁.
        let matrix = space.kernel(&Choices::gaussian(2), &drag(n, independent, walk(&[1.0])));
        space.assert_reversible(&format!("independence, n = {n}"), &matrix);
    }
    // (L ξ)ₖ ln 2 with L = [[1, 0], [1, 1]].
    let step = sheared().scaled(std::f64::consts::LN_2);
    let space = lattice().doubling().space();
    for n in 1..=3 {
        let kernel = drag(n, SlowProposal::LogNormal(step.clone()), walk(&[1.0]));
        let matrix = space.kernel(&Choices::steps(), &kernel);
        space.assert_reversible(&format!("log-normal, n = {n}"), &matrix);
    }
}

#[test]
fn joint_metropolis_is_reversible() {
    for (name, factor) in [("diagonal", unit(2)), ("full", sheared())] {
        let space = small().space();
        let matrix = space.kernel(&Choices::steps(), &Joint::new(factor).into());
        space.assert_reversible(name, &matrix);
    }
    let space = Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)]).space();
    let matrix = space.kernel(&Choices::steps(), &Joint::new(unit(3)).into());
    space.assert_reversible("two fast variables", &matrix);
}

#[test]
fn single_variable_metropolis_is_invariant_though_not_reversible() {
    let space = small().space();
    let kernel = Single::new(vec![1.0], vec![1.0]).into();
    let matrix = space.kernel(&Choices::steps(), &kernel);
    space.assert_invariant("1 + 1", &matrix);
    let imbalance = space.imbalance(&matrix);
    assert!(imbalance > 1e-5, "{imbalance:e}");

    let space = Lattice::new(&[(0, 2), (0, 3)], &[(-1, 2), (-1, 3)]).space();
    let kernel = Single::new(vec![1.0, 2.0], vec![1.0, 1.0]).into();
    let matrix = space.kernel(&Choices::steps(), &kernel);
    space.assert_invariant("2 + 2", &matrix);
}

#[test]
fn metropolis_without_fast_variables_is_reversible() {
    let space = Lattice::new(&[(0, 7)], &[]).space();
    let proposal = || SlowProposal::RandomWalk(unit(1));
    for kernel in [
        Kernel::metropolis(proposal()),
        // A drag of nothing, however long, is Metropolis too.
        drag(5, proposal(), walk(&[1.0])),
        Joint::new(unit(1)).into(),
    ] {
        let matrix = space.kernel(&Choices::steps(), &kernel);
        space.assert_reversible("no fast variables", &matrix);
    }
    let space = small().space();
    let matrix = space.kernel(&Choices::steps(), &Kernel::metropolis(proposal()));
    space.assert_reversible("fast variables held still", &matrix);
}

#[test]
fn several_fast_moves_in_one_step_are_reversible() {
    let space = small().space();
    for times in 1..=4 {
        let kernel = FastOnly::new(walk(&[1.0]), times).into();
        let matrix = space.kernel(&Choices::steps(), &kernel);
        space.assert_reversible("one move, several times", &matrix);
    }
}

#[test]
fn cycles_are_invariant() {
    let space = small().space();
    for (name, parts) in [
        ("a drag twice", vec![plain_drag(2), plain_drag(2)]),
        (
            "different drags and fast moves",
            vec![
                plain_drag(3),
                FastOnly::new(walk(&[2.0]), 1).into(),
                plain_drag(1),
            ],
        ),
        (
            "joint, single and a drag",
            vec![
                Joint::new(unit(2)).into(),
                Single::new(vec![1.0], vec![2.0]).into(),
                plain_drag(2),
            ],
        ),
    ] {
        let matrix = space.kernel(&Choices::steps(), &Kernel::Cycle(parts));
        space.assert_invariant(name, &matrix);
    }
}

#[test]
fn mixes_of_reversible_kernels_are_reversible() {
    let space = small().space();
    let mix = Kernel::Mix(vec![
        (0.3, plain_drag(1)),
        (1.7, plain_drag(4)),
        (1.0, Joint::new(sheared()).into()),
        (0.5, FastOnly::new(walk(&[1.0]), 2).into()),
    ]);
    let matrix = space.kernel(&Choices::steps(), &mix);
    space.assert_reversible("mix", &matrix);

    let nested = Kernel::Cycle(vec![mix.clone(), Kernel::Mix(vec![(1.0, mix)])]);
    let matrix = space.kernel(&Choices::steps(), &nested);
    space.assert_invariant("a cycle of mixes", &matrix);
}
