//! Drags in a Laplace frame, whose centre and determinant vary with x, are reversible.
//!
//! The frame is found numerically, so the lattice is laid out in whatever frame was found: a frame need
//! not be good to be exact, only a function of x.

use super::moves::walk;
use super::space::{Choices, Space};
use crate::fast::CrankNicolson;
use crate::fast::ledger::Buffers;
use crate::frame::{Curvature, Laplace, Linear};
use crate::kernel::state::{State, Workspace, prepare};
use crate::{
    Drag, Factor, FastMove, FastOnly, FrameRule, Info, Kernel, ModelError, SlowProposal, Target,
};

/// Skewed, with a centre and a width that depend on x, and cut off where its shape says.
struct Smooth;

fn shape(x: f64) -> (f64, f64) {
    (0.7 * x - 0.2 * x * x, 0.5 + 0.3 * x)
}

impl Target for Smooth {
    type Cache = f64;

    fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
        Ok((-0.5..2.5).contains(&x[0]).then_some(x[0]))
    }

    fn log_density(&self, &x: &f64, y: &[f64]) -> f64 {
        let (centre, width) = shape(x);
        let u = (y[0] - centre) / width;
        let v = y.get(1).map_or(0.0, |v| v - 0.8 * y[0] + 0.3 * x);
        if u.abs() > 2.2 || v.abs() > 1.9 {
            return f64::NEG_INFINITY;
        }
        -0.3 * (x - 1.0).powi(2) - u.cosh() + 0.4 * u - 0.9 * v * v + 0.3 * (v + u).sin()
    }
}

fn rule(fast: usize, curvature: Curvature) -> FrameRule {
    let root = Factor::diagonal(&[0.6, 0.7][..fast], "test").unwrap();
    let linear = Linear::new(vec![1.0], vec![0.4; fast], vec![0.3; fast], root).unwrap();
    FrameRule::Laplace(Box::new(Laplace::new(linear, curvature)))
}

/// The lattice of whole z at whole x.
fn space(fast: usize, rule: &FrameRule) -> (Space<Smooth>, Info) {
    space_of(|| Smooth, fast, rule)
}

fn space_of<T: Target>(target: impl Fn() -> T, fast: usize, rule: &FrameRule) -> (Space<T>, Info) {
    let mut info = Info::default();
    let mut cells = Vec::new();
    for x in 0..3 {
        let x = vec![f64::from(x)];
        let mut work = Workspace::new(1, fast);
        let mut slow = prepare(&target(), &x).unwrap().unwrap();
        rule.place(&target(), &mut slow, &mut work, &mut info);
        let frame = rule.of(&slow);
        for cell in 0..13i32.pow(fast as u32) {
            let z: Vec<f64> = [cell % 13 - 6, cell / 13 - 6][..fast]
                .iter()
                .map(|&k| f64::from(k))
                .collect();
            let mut y = z.clone();
            frame.to_y(&z, &mut y);
            cells.push((x.clone(), y, frame.log_det()));
        }
    }
    (Space::new(target(), cells), info)
}

fn drag(n: usize, inner: &FastMove, rule: &FrameRule) -> Kernel {
    let proposal = SlowProposal::random_walk(&[1.0]).unwrap();
    let drag = Drag::new(n, proposal, inner.clone()).unwrap();
    drag.in_frame(rule.clone()).into()
}

#[test]
fn drags_in_a_laplace_frame_are_reversible() {
    for (fast, most_n) in [(1, 4), (2, 2)] {
        for curvature in [
            Curvature::Local,
            Curvature::Learned,
            Curvature::Axes,
            Curvature::Walls,
        ] {
            let rule = rule(fast, curvature);
            let (space, info) = space(fast, &rule);
            assert_eq!(info.frame_failures, 0, "a frame was not found");
            assert!(space.states.len() >= 9 * fast, "{}", space.states.len());
            let inner = walk(&vec![1.0; fast]);
            let alone = FastOnly::new(inner.clone(), 1).in_frame(rule.clone());
            let matrix = space.kernel(&Choices::steps(), &alone.into());
            space.assert_reversible("alone", &matrix);
            for n in 1..=most_n {
                let matrix = space.kernel(&Choices::steps(), &drag(n, &inner, &rule));
                let name = format!("{fast} fast, {curvature:?}, n = {n}");
                space.assert_reversible(&name, &matrix);
            }
        }
    }
    let rule = rule(1, Curvature::Local);
    let (space, _) = space(1, &rule);
    let inner = FastMove::CrankNicolson(CrankNicolson::new(1.0));
    for n in 2..=3 {
        let matrix = space.kernel(&Choices::gaussian(6), &drag(n, &inner, &rule));
        space.assert_reversible("Crank–Nicolson", &matrix);
    }
}

/// Else the test above would pass without the determinant.
#[test]
fn the_determinant_of_that_frame_varies() {
    let rule = rule(1, Curvature::Local);
    let sizes: Vec<f64> = [0.0, 1.0, 2.0]
        .iter()
        .map(|&x| {
            let start = State::new(&Smooth, vec![x], vec![shape(x).0], &mut Buffers::new(1));
            let mut slow = start.unwrap().slow;
            let mut work = Workspace::new(1, 1);
            rule.place(&Smooth, &mut slow, &mut work, &mut Info::default());
            rule.of(&slow).log_det()
        })
        .collect();
    assert!(
        sizes[1] - sizes[0] > 0.1 && sizes[2] - sizes[1] > 0.1,
        "{sizes:?}"
    );
}

/// Between walls that depend on x, pushed at the upper one for small x and at the lower one for large x.
struct Pushed;

impl Target for Pushed {
    type Cache = f64;

    fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
        Ok((-0.5..2.5).contains(&x[0]).then_some(x[0]))
    }

    fn log_density(&self, &x: &f64, y: &[f64]) -> f64 {
        let inside = y[0] > 0.1 * x && y[0] < 4.0 - 0.3 * x;
        if !inside {
            return f64::NEG_INFINITY;
        }
        -0.2 * (x - 1.0).powi(2) + (0.9 - x) * y[0] + 0.05 * y[0].sin()
    }
}

#[test]
fn drags_in_a_frame_at_walls_are_reversible_also_where_z_counts_the_other_way() {
    let root = Factor::diagonal(&[0.8], "test").unwrap();
    let linear = Linear::new(vec![1.0], vec![2.0], vec![0.0], root).unwrap();
    let rule = FrameRule::Laplace(Box::new(Laplace::new(linear, Curvature::Walls)));
    let (space, info) = space_of(|| Pushed, 1, &rule);
    assert_eq!(info.frame_failures, 0, "a frame was not found");
    // From the walls inwards at all three x, upwards at some and downwards at others.
    assert!(space.states.len() > 8, "{}", space.states.len());
    let ways: Vec<f64> = [0.0, 2.0]
        .iter()
        .map(|&x| {
            let mut slow = prepare(&Pushed, &[x]).unwrap().unwrap();
            rule.place(
                &Pushed,
                &mut slow,
                &mut Workspace::new(1, 1),
                &mut Info::default(),
            );
            let (mut at, mut further) = ([0.0], [0.0]);
            rule.of(&slow).to_y(&[0.0], &mut at);
            rule.of(&slow).to_y(&[1.0], &mut further);
            further[0] - at[0]
        })
        .collect();
    assert!(ways[0] < 0.0 && ways[1] > 0.0, "{ways:?}");
    for n in 1..=4 {
        let matrix = space.kernel(&Choices::steps(), &drag(n, &walk(&[1.0]), &rule));
        space.assert_reversible(&format!("at walls, n = {n}"), &matrix);
    }
}
