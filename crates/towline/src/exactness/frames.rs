//! Kernels in moving frames leave their target invariant, whatever the frame.

use super::lattice::Lattice;
use super::moves::{sheared, walk};
use super::space::Choices;
use crate::fast::{CrankNicolson, EllipticalSlice};
use crate::frame::Linear;
use crate::{Drag, Factor, FastMove, FastOnly, FrameRule, Kernel, SlowProposal};

/// A centre that moves by whole numbers, so that the lattice of y stays the lattice of y.
fn linear(slope: &[f64], root: Factor) -> FrameRule {
    let centre = vec![1.0; slope.len()];
    FrameRule::Linear(Linear::new(vec![1.0], centre, slope.to_vec(), root).unwrap())
}

fn diagonal(entries: &[f64]) -> Factor {
    Factor::diagonal(entries, "test").unwrap()
}

fn drag(n: usize, inner: FastMove, frame: &FrameRule) -> Kernel {
    let proposal = SlowProposal::random_walk(&[1.0]).unwrap();
    let drag = Drag::new(n, proposal, inner).unwrap();
    drag.in_frame(frame.clone()).into()
}

#[test]
fn drags_in_a_linear_frame_are_reversible() {
    let space = Lattice::new(&[(0, 4)], &[(-1, 4)]).space();
    for (slope, root) in [(1.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, 2.0), (-1.0, 3.0)] {
        let frame = linear(&[slope], diagonal(&[root]));
        for n in 1..=4 {
            let matrix = space.kernel(&Choices::steps(), &drag(n, walk(&[1.0]), &frame));
            space.assert_reversible(&format!("slope {slope}, root {root}, n {n}"), &matrix);
        }
    }
    let space = Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)]).space();
    for root in [diagonal(&[1.0, 2.0]), sheared()] {
        let frame = linear(&[1.0, -1.0], root);
        for n in 1..=3 {
            let matrix = space.kernel(&Choices::steps(), &drag(n, walk(&[1.0, 1.0]), &frame));
            space.assert_reversible(&format!("two fast variables, n {n}"), &matrix);
        }
    }
}

#[test]
fn moves_with_a_normal_base_are_reversible_in_a_linear_frame() {
    let space = Lattice::new(&[(0, 3)], &[(-1, 4)]).space();
    let frame = linear(&[1.0], diagonal(&[1.0]));
    // z = y − m(x) lies in −3 … 2, and ξ must reach as far.
    for (name, inner, choices) in [
        (
            "Crank–Nicolson",
            FastMove::CrankNicolson(CrankNicolson::new(1.0)),
            Choices::gaussian(3),
        ),
        (
            "elliptical slice",
            FastMove::EllipticalSlice(EllipticalSlice),
            Choices::quarter_turns(3),
        ),
    ] {
        let alone = FastOnly::new(inner.clone(), 1).in_frame(frame.clone());
        let matrix = space.kernel(&choices, &alone.into());
        space.assert_reversible(name, &matrix);
        for n in 2..=3 {
            let matrix = space.kernel(&choices, &drag(n, inner.clone(), &frame));
            space.assert_reversible(&format!("drag by {name}, n = {n}"), &matrix);
        }
    }
}

#[test]
fn kernels_with_different_frames_can_be_mixed() {
    let space = Lattice::new(&[(0, 4)], &[(-1, 4)]).space();
    let up = linear(&[1.0], diagonal(&[1.0]));
    let down = linear(&[-1.0], diagonal(&[1.0]));
    let parts = [
        drag(2, walk(&[1.0]), &FrameRule::Identity),
        drag(2, walk(&[1.0]), &up),
        drag(3, walk(&[1.0]), &down),
    ];
    // Two steps, since what one kernel leaves in the state is met by the next.
    let mix = Kernel::Mix(parts.iter().map(|k| (1.0, k.clone())).collect());
    let twice = Kernel::Cycle(vec![mix.clone(), mix]);
    let matrix = space.kernel(&Choices::steps(), &twice);
    space.assert_reversible("a mix of three frames, twice", &matrix);

    let cycle = Kernel::Cycle(parts.to_vec());
    let matrix = space.kernel(&Choices::steps(), &cycle);
    space.assert_invariant("a cycle of three frames", &matrix);

    // Frames that differ in little are still different frames.
    let space = Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)]).space();
    let unit = || diagonal(&[1.0, 1.0]);
    for (name, one, other) in [
        (
            "signs of the slope",
            linear(&[1.0, -1.0], unit()),
            linear(&[-1.0, 1.0], unit()),
        ),
        (
            "the root off its diagonal",
            linear(&[1.0, 1.0], unit()),
            linear(&[1.0, 1.0], sheared()),
        ),
    ] {
        let inner = walk(&[1.0, 1.0]);
        let cycle = Kernel::Cycle(vec![drag(2, inner.clone(), &one), drag(2, inner, &other)]);
        let matrix = space.kernel(&Choices::steps(), &cycle);
        space.assert_invariant(name, &matrix);
    }
}
