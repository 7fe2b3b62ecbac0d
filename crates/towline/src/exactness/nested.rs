//! Drags inside drags leave their target invariant, and compute no more than they must.

use super::continuous::Skewed;
use super::lattice::Lattice;
use super::moves::{sheared, walk};
use super::space::{Choices, Matrix, Space};
use super::zscores::assert_exact;
use crate::erased::{AnyTarget, Erased};
use crate::error::Error;
use crate::fast::between::Between;
use crate::fast::conditional::Conditional;
use crate::fast::density::{FastDensity, Nested, Spread, Way};
use crate::fast::ends::Ends;
use crate::fast::path;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::fast::{Hmc, NestedDrag, Slice};
use crate::frame::Frame;
use crate::frame::view::Plain;
use crate::frame::{Curvature, Laplace, Linear};
use crate::kernel::state::{State, Workspace, prepare};
use crate::{
    Chain, Drag, Factor, FastMove, FastOnly, FrameRule, Info, Kernel, ModelError, RandomWalk, Rng,
    Scratch, SlowProposal, Target,
};
use std::cell::Cell;

/// A target with blocks: its refined caches know what they are for, and complain when asked about
/// anything else.
struct Speeds<T> {
    target: T,
    blocks: Vec<usize>,
    /// Calls of `prepare`, of `refine`, of `log_density` with a cache that is not fully refined, and
    /// with one that is.
    slow: Cell<u64>,
    medium: Cell<u64>,
    unrefined: Cell<u64>,
    fast: Cell<u64>,
    /// `refine` fails where the first fast variable is above this.
    fails_above: f64,
}

/// The slow cache and the leading values of y that it is refined for.
struct Held<C> {
    cache: C,
    head: Vec<f64>,
}

impl<T> Speeds<T> {
    fn new(target: T, blocks: &[usize]) -> Self {
        Self {
            target,
            blocks: blocks.to_vec(),
            slow: Cell::new(0),
            medium: Cell::new(0),
            unrefined: Cell::new(0),
            fast: Cell::new(0),
            fails_above: f64::INFINITY,
        }
    }

    /// The counts since they were last asked for.
    fn counts(&self) -> [u64; 4] {
        [&self.slow, &self.medium, &self.unrefined, &self.fast].map(|count| count.replace(0))
    }

    fn check(&self, head: &[f64], y: &[f64]) {
        assert!(y.starts_with(head), "refined for {head:?}, asked at {y:?}");
        let refined = head.len() == self.blocks.iter().sum::<usize>();
        let count = if refined { &self.fast } else { &self.unrefined };
        count.set(count.get() + 1);
    }
}

impl<T: Target<Cache: Clone>> Target for Speeds<T> {
    type Cache = Held<T::Cache>;

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        self.slow.set(self.slow.get() + 1);
        let cache = self.target.prepare(x)?;
        Ok(cache.map(|cache| Held {
            cache,
            head: Vec::new(),
        }))
    }

    fn log_density(&self, held: &Self::Cache, y: &[f64]) -> f64 {
        self.check(&held.head, y);
        self.target.log_density(&held.cache, y)
    }

    fn gradient(
        &self,
        held: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        self.check(&held.head, y);
        self.target.gradient(&held.cache, y, gradient, scratch)
    }

    fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    fn refine(&self, held: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        self.medium.set(self.medium.get() + 1);
        assert!(head.starts_with(&held.head) && head.len() > held.head.len());
        if head[0] > self.fails_above {
            return Err("no spectrum".into());
        }
        Ok(Some(Held {
            cache: held.cache.clone(),
            head: head.to_vec(),
        }))
    }
}

fn unit(dim: usize) -> Factor {
    Factor::diagonal(&vec![1.0; dim], "test").unwrap()
}

fn slow() -> SlowProposal {
    SlowProposal::RandomWalk(unit(1))
}

fn nested(n: usize, block: Factor, inner: FastMove) -> FastMove {
    FastMove::Nested(NestedDrag::new(n, block, inner).unwrap())
}

fn drag(n: usize, inner: FastMove) -> Drag {
    Drag::new(n, slow(), inner).unwrap()
}

fn alone(inner: &FastMove) -> Kernel {
    FastOnly::new(inner.clone(), 1).into()
}

/// The same lattice, with blocks.
fn with_blocks(space: Space<Lattice>, blocks: &[usize]) -> Space<Speeds<Lattice>> {
    Space {
        target: Speeds::new(space.target, blocks),
        states: space.states,
        mass: space.mass,
    }
}

/// One slow, one medium, one fast variable.
fn three_speeds() -> Lattice {
    Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)])
}

/// Asserts detailed balance with refined caches, and that these change nothing.
fn prove(name: &str, lattice: impl Fn() -> Lattice, blocks: &[usize], kernel: &Kernel) {
    let choices = Choices::steps();
    let space = with_blocks(lattice().space(), blocks);
    let matrix = space.kernel(&choices, kernel);
    space.assert_reversible(name, &matrix);
    let plain = lattice().space().kernel(&choices, kernel);
    assert_eq!(matrix.distance(&plain), 0.0, "{name}: refined or not");
}

#[test]
fn nested_drags_at_fixed_x_are_reversible() {
    for n in 1..=4 {
        let inner = nested(n, unit(1), walk(&[1.0]));
        prove(&format!("n = {n}"), three_speeds, &[1], &alone(&inner));
        // What one move keeps is met by the next.
        let thrice = FastOnly::new(inner, if n < 3 { 3 } else { 2 }).into();
        if n < 4 {
            prove(&format!("several, n = {n}"), three_speeds, &[1], &thrice);
        }
    }
    let slice = FastMove::Slice(Slice::new(vec![2.0]).with_most_steps(1));
    let by_slice = nested(3, unit(1), slice);
    prove("by slice", three_speeds, &[1], &alone(&by_slice));
}

#[test]
fn nested_drags_inside_a_drag_are_reversible() {
    for (outer, n) in [(1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2)] {
        let inner = nested(n, unit(1), walk(&[1.0]));
        let kernel = drag(outer, inner).into();
        prove(&format!("{outer}, {n}"), three_speeds, &[1], &kernel);
    }
}

#[test]
fn nested_drags_combine_with_other_moves() {
    let nested = || nested(2, unit(1), walk(&[1.0]));
    let small = || Lattice::new(&[(0, 2)], &[(-1, 3), (-1, 2)]);
    let mixture = FastMove::Mixture(vec![(2.0, nested()), (1.0, walk(&[1.0, 1.0]))]);
    prove("mixture", small, &[1], &alone(&mixture));
    prove("drag by a mixture", small, &[1], &drag(2, mixture).into());
    // Two steps, since what one kernel keeps is met by the next.
    let cycle = |second: Kernel| Kernel::Cycle(vec![drag(2, nested()).into(), second]);
    let space = with_blocks(small().space(), &[1]);
    for second in [alone(&nested()), drag(2, nested()).into()] {
        let matrix = space.kernel(&Choices::steps(), &cycle(second));
        space.assert_invariant("cycle", &matrix);
    }
}

#[test]
fn drags_inside_drags_inside_drags_are_reversible() {
    let four_speeds = || Lattice::new(&[(0, 2)], &[(0, 2), (0, 2), (0, 2)]);
    let deepest = nested(2, unit(1), walk(&[1.0]));
    let deep = nested(2, unit(1), deepest.clone());
    for blocks in [&[1, 1][..], &[1], &[2], &[]] {
        let name = format!("blocks {blocks:?}");
        prove(&name, four_speeds, blocks, &alone(&deep));
        let dragged = drag(2, deep.clone()).into();
        prove(&name, four_speeds, blocks, &dragged);
    }
    let thrice = FastOnly::new(deep, 2).into();
    prove("twice", four_speeds, &[1, 1], &thrice);

    let five_speeds = || Lattice::new(&[(0, 1)], &[(0, 2); 4]);
    let deeper = nested(2, unit(1), nested(2, unit(1), deepest));
    prove("five speeds", five_speeds, &[1, 1, 1], &alone(&deeper));
}

#[test]
fn nested_drags_in_a_linear_frame_are_reversible() {
    let frame = |root| {
        FrameRule::Linear(Linear::new(vec![1.0], vec![1.0, 0.0], vec![1.0, -1.0], root).unwrap())
    };
    for root in [
        unit(2),
        sheared(),
        Factor::diagonal(&[1.0, 2.0], "test").unwrap(),
    ] {
        let inner = nested(2, unit(1), walk(&[1.0]));
        let kernel = drag(2, inner.clone()).in_frame(frame(root.clone())).into();
        prove("drag in a frame", three_speeds, &[1], &kernel);
        let kernel = FastOnly::new(inner, 2).in_frame(frame(root)).into();
        prove("fixed x in a frame", three_speeds, &[1], &kernel);
    }
}

/// A nested drag written a second time, with a switch for each way of getting it wrong.
struct Twin {
    n: usize,
    defect: Option<Defect>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Defect {
    /// n terms divided by n − 1.
    WrongDivisor,
    /// The term of the last point is left out.
    LastDropped,
    /// The densities kept are those of the start, not of where the path arrived.
    StartValueKept,
    /// The fast variables stay where they were, with the densities of where they arrived.
    RestNotMoved,
    /// Dragged from the new block to the old.
    EndsSwapped,
    /// Of the outer density only the present end is looked at.
    OneEnd,
}

impl Move for Twin {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        _: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let defect = self.defect;
        let at = point.at.as_ref().to_vec();
        let mut head = [0.0];
        RandomWalk::new(unit(1)).propose(&at[..1], &mut [0.0], &mut head, rng);
        let mut way = density.nest(&at, &head);
        let mut rest = at[1..].to_vec();
        let start = way.start(point.value.spread(), &rest);
        way.open();
        let mut inside = Point {
            at: &mut rest,
            value: start,
        };
        let mut terms = vec![way.difference(start)];
        if terms[0] > f64::NEG_INFINITY {
            let (inner, mut room) = (walk(&[1.0]), Work::new(1));
            for i in 1..self.n {
                let turned = defect == Some(Defect::EndsSwapped);
                way.set(if turned { self.n - i } else { i }, self.n);
                inner.step(&mut way, &mut inside, &mut room, rng);
                terms.push(way.difference(inside.value));
            }
        }
        let (mut sum, mut count) = (terms.iter().sum::<f64>(), self.n);
        match defect {
            Some(Defect::WrongDivisor) => count -= 1,
            Some(Defect::LastDropped) => sum -= terms[terms.len() - 1],
            Some(Defect::OneEnd) => {
                let (new, old) = (way.arrived(inside.value)[0], inside.value[0]);
                sum = if sum.is_finite() {
                    (new - old) * self.n as f64
                } else {
                    sum
                };
            }
            _ => {}
        }
        let accepted = terms[0] > f64::NEG_INFINITY && rng.accept(sum / count as f64);
        let kept = match defect {
            Some(Defect::StartValueKept) => start,
            _ => inside.value,
        };
        let arrived = way.arrived(kept);
        way.settle(accepted);
        if accepted {
            point.at.as_mut()[0] = head[0];
            if defect != Some(Defect::RestNotMoved) {
                point.at.as_mut()[1..].copy_from_slice(&rest);
            }
            point.value = D::Value::gather(arrived);
        }
        Tally::one(accepted)
    }

    fn validate(&self, _: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// The matrix of a move at fixed x, twice in a row, or inside a drag.
fn matrix_of(space: &Space<Lattice>, inner: &impl Move, dragged: bool) -> Matrix {
    space.matrix(&Choices::steps(), |target, state, work, rng| {
        let mut z = state.y.clone();
        if dragged {
            let Some(proposed) = propose(target, state, work, rng) else {
                return;
            };
            let from = state.slow.end(target, &Frame::Identity);
            let to = proposed.end(target, &Frame::Identity);
            let mut between = Between::new(from, to, [Plain; 2], &mut work.buffers);
            let value = Ends {
                from: state.log_density,
                to: between.value_at_proposed_end(&z),
            };
            let mut point = Point { at: &mut z, value };
            let (mean, _) = path::walk(2, inner, &mut between, &mut point, &mut work.moves, rng);
            let arrived = point.value.to;
            if rng.accept(mean) {
                state.slow = proposed;
                state.log_density = arrived;
                state.y = z;
            }
        } else {
            let end = state.slow.end(target, &Frame::Identity);
            let mut density = Conditional::new(end, Plain, &mut work.buffers);
            let mut point = Point {
                at: &mut z,
                value: state.log_density,
            };
            for _ in 0..2 {
                inner.step(&mut density, &mut point, &mut work.moves, rng);
            }
            state.log_density = point.value;
            state.y = z;
        }
    })
}

fn propose(
    target: &Lattice,
    state: &State<<Lattice as Target>::Cache>,
    work: &mut Workspace,
    rng: &mut Rng,
) -> Option<crate::kernel::state::Slow<<Lattice as Target>::Cache>> {
    slow().propose(&state.slow.x, &mut work.x, rng);
    prepare(target, &work.x).unwrap()
}

#[test]
fn every_mistake_in_a_nested_drag_is_killed() {
    let space = Lattice::new(&[(0, 2)], &[(-1, 3), (-1, 3)]).space();
    let n = 3;
    for dragged in [false, true] {
        let right = matrix_of(&space, &Twin { n, defect: None }, dragged);
        space.assert_invariant("the twin", &right);
        let production = matrix_of(&space, &nested(n, unit(1), walk(&[1.0])), dragged);
        assert!(right.distance(&production) < 1e-14);
        for defect in [
            Defect::WrongDivisor,
            Defect::LastDropped,
            Defect::StartValueKept,
            Defect::RestNotMoved,
            Defect::EndsSwapped,
            Defect::OneEnd,
        ] {
            let twin = Twin {
                n,
                defect: Some(defect),
            };
            let drift = space.drift(&matrix_of(&space, &twin, dragged));
            println!("{defect:?}, dragged {dragged}: max |πK − π| = {drift:.1e}");
            // The right kernel is off by less than 1e-12.
            assert!(drift > 1e-5, "{defect:?}: {drift:e}");
        }
    }
}

/// Three speeds: x, one medium and one fast variable, none of them symmetric.
const THREE: Skewed = Skewed { fast: 2 };

fn medium() -> Factor {
    Factor::diagonal(&[0.6], "test").unwrap()
}

fn log_normal() -> SlowProposal {
    SlowProposal::LogNormal(Factor::diagonal(&[0.5], "test").unwrap())
}

fn continuous_cases() -> Vec<(&'static str, Kernel)> {
    let inner = || nested(5, medium(), walk(&[0.5]));
    let by_hmc = FastMove::Hmc(Hmc::new(0.4, 2, unit(1)));
    let dragged = |inner| Drag::new(4, log_normal(), inner).unwrap();
    let laplace = Laplace::new(THREE.linear(), Curvature::Local);
    vec![
        ("fixed x", FastOnly::new(inner(), 2).into()),
        ("inside a drag", dragged(inner()).into()),
        ("by HMC", dragged(nested(3, medium(), by_hmc)).into()),
        (
            "in a linear frame",
            dragged(inner())
                .in_frame(FrameRule::Linear(THREE.linear()))
                .into(),
        ),
        (
            "in a Laplace frame",
            dragged(inner())
                .in_frame(FrameRule::Laplace(Box::new(laplace)))
                .into(),
        ),
        (
            "with others",
            Kernel::Cycle(vec![
                dragged(FastMove::Mixture(vec![
                    (1.0, inner()),
                    (1.0, walk(&[0.4, 0.4])),
                ]))
                .into(),
                FastOnly::new(inner(), 1).into(),
            ]),
        ),
    ]
}

#[test]
fn exact_draws_stay_exact_under_nested_drags() {
    assert_exact(2, continuous_cases(), 800);
}

#[test]
fn refined_caches_change_no_bit_and_chains_resume() {
    for (name, kernel) in continuous_cases() {
        let start = ([1.0], [0.3, -0.2]);
        let rng = Rng::stream(12, 0);
        let mut plain = Chain::new(THREE, kernel.clone(), &start.0, &start.1, rng.clone()).unwrap();
        let speeds = Speeds::new(THREE, &[1]);
        let mut refined = Chain::new(speeds, kernel, &start.0, &start.1, rng).unwrap();
        let (mut expected, mut uninterrupted) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            let (a, b) = (plain.advance().unwrap(), refined.advance().unwrap());
            assert_eq!((plain.x(), plain.y()), (refined.x(), refined.y()), "{name}");
            let log_densities = [plain.log_density(), refined.log_density()];
            assert_eq!(log_densities[0], log_densities[1], "{name}");
            assert_eq!(a.medium_evaluations, 0);
            let fast = Info {
                medium_evaluations: 0,
                ..b
            };
            assert_eq!(a, fast, "{name}");
            uninterrupted.push(b);
            // Resumed at every step, it counts as it would have, medium evaluations included.
            let mut resumed = Chain::resume(Speeds::new(THREE, &[1]), refined.snapshot()).unwrap();
            expected.push(resumed.advance().unwrap());
        }
        for (k, pair) in uninterrupted.windows(2).enumerate() {
            assert_eq!(pair[1], expected[k], "{name}, step {k}");
        }
    }
}

#[test]
fn nothing_slower_is_computed_than_what_changed() {
    let speeds = Speeds::new(THREE, &[1]);
    let run = |kernel: Kernel, check: &dyn Fn(Info, [u64; 4])| {
        speeds.counts();
        let erased = Erased(&speeds);
        let mut chain = Chain::new(
            &erased as &AnyTarget,
            kernel,
            &[1.0],
            &[0.3, -0.2],
            Rng::stream(13, 0),
        )
        .unwrap();
        // The start knows nothing of blocks.
        assert_eq!(speeds.counts(), [1, 0, 1, 0]);
        let mut info = chain.advance().unwrap();
        speeds.counts();
        for _ in 0..500 {
            info = chain.advance().unwrap();
            let counts = speeds.counts();
            let [slow, medium, unrefined, fast] = counts;
            assert_eq!(info.slow_evaluations, slow);
            assert_eq!(info.medium_evaluations, medium);
            assert_eq!(info.fast_evaluations, unrefined + fast);
            check(info, counts);
        }
        assert!(chain.totals().inner_accepted > 100, "{info:?}");
    };
    let (times, n) = (3, 6);
    let inner = nested(n, medium(), walk(&[0.5]));
    // At fixed x: one medium computation for each proposal, none for what is there already.
    run(
        FastOnly::new(inner.clone(), times).into(),
        &|info, counts| {
            assert_eq!(info.inner_proposed, times as u64);
            let [slow, medium, unrefined, fast] = counts;
            assert_eq!([slow, medium, unrefined], [0, times as u64, 0]);
            assert!(fast <= times as u64 * (1 + 2 * (n as u64 - 1)));
        },
    );
    // In a drag: one for the start at x*, then two for each proposal, whether the last step was
    // accepted or not; and nothing is evaluated from a slow cache.
    let outer = 5;
    let dragged = Drag::new(outer, log_normal(), inner).unwrap();
    run(dragged.into(), &|info, counts| {
        let [slow, medium, unrefined, fast] = counts;
        assert_eq!([slow, unrefined], [1, 0]);
        assert_eq!(medium, 1 + 2 * info.inner_proposed);
        assert!(info.inner_proposed < outer as u64);
        assert!(fast <= 1 + info.inner_proposed * (2 + 4 * (n as u64 - 1)));
    });
}

#[test]
fn a_failing_refine_ends_the_chain_with_the_point() {
    let inner = || nested(3, medium(), walk(&[0.5]));
    let kernels: [Kernel; 2] = [
        FastOnly::new(inner(), 2).into(),
        Drag::new(4, log_normal(), inner()).unwrap().into(),
    ];
    for kernel in kernels {
        let mut speeds = Speeds::new(THREE, &[1]);
        speeds.fails_above = 0.9;
        let erased = Erased(&speeds);
        let mut chain = Chain::new(
            &erased as &AnyTarget,
            kernel,
            &[1.0],
            &[0.3, -0.2],
            Rng::stream(14, 0),
        )
        .unwrap();
        let error = loop {
            speeds.counts();
            if let Err(error) = chain.advance() {
                break error;
            }
        };
        let Error::Model { x, y, .. } = &error else {
            panic!("{error}");
        };
        assert!(x.len() == 1 && y.len() == 1 && y[0] > 0.9, "{error}");
        let message = error.to_string();
        assert!(
            message.contains("no spectrum") && message.contains("y beginning"),
            "{message}"
        );
        // The chain is still at a point of its target.
        let cache = THREE.prepare(chain.x()).unwrap().unwrap();
        assert_eq!(THREE.log_density(&cache, chain.y()), chain.log_density());
    }
}

#[test]
fn a_log_density_that_is_no_number_is_an_error_in_a_nested_drag_too() {
    struct Gap;
    impl Target for Gap {
        type Cache = ();
        fn prepare(&self, _: &[f64]) -> Result<Option<()>, ModelError> {
            Ok(Some(()))
        }
        fn log_density(&self, (): &(), y: &[f64]) -> f64 {
            if y[1] > 1.0 { f64::NAN } else { -y[0] * y[0] }
        }
    }
    let kernel = FastOnly::new(nested(4, unit(1), walk(&[1.0])), 1);
    let mut chain = Chain::new(
        &Erased(&Gap) as &AnyTarget,
        kernel,
        &[0.0],
        &[0.0, 0.0],
        Rng::stream(2, 0),
    )
    .unwrap();
    let error = std::iter::repeat_with(|| chain.advance()).find_map(Result::err);
    match error.unwrap() {
        Error::NotANumber { y, value, .. } => assert!(y[1] > 1.0 && value.is_nan()),
        other => panic!("{other}"),
    }
}

#[test]
fn a_nested_drag_of_nothing_is_metropolis() {
    let space = Lattice::new(&[(0, 6)], &[]).space();
    let kernel = drag(3, nested(2, unit(1), walk(&[1.0]))).into();
    let matrix = space.kernel(&Choices::steps(), &kernel);
    let plain = space.kernel(&Choices::steps(), &Kernel::metropolis(slow()));
    assert_eq!(matrix.distance(&plain), 0.0);
}

#[test]
fn nested_drags_that_do_not_fit_are_refused() {
    let refused = |inner: FastMove, fast: usize| {
        let kernel = Kernel::from(FastOnly::new(inner, 1));
        let error = kernel.validate(&[0.0], &vec![0.0; fast]).unwrap_err();
        error.to_string()
    };
    assert!(matches!(
        NestedDrag::new(0, unit(1), walk(&[1.0])),
        Err(Error::ZeroIntervals)
    ));
    let one = || nested(2, unit(1), walk(&[1.0]));
    assert!(refused(one(), 1).contains("nested drag's block"));
    assert!(refused(one(), 3).contains("covariance of the fast random walk"));
    let deep = (0..3).fold(one(), |inner, _| nested(2, unit(1), inner));
    assert!(refused(deep, 5).contains("depth"));

    // Other blocks than the target's.
    let start = ([1.0], [0.3, -0.2, 0.1]);
    let chain = |blocks: &[usize], inner: FastMove| {
        let target = Speeds::new(Skewed { fast: 3 }, blocks);
        let kernel = Drag::new(2, log_normal(), inner).unwrap();
        Chain::new(target, kernel, &start.0, &start.1, Rng::stream(1, 0)).map(|_| ())
    };
    let wide = || nested(2, unit(2), walk(&[1.0]));
    let deep = || nested(2, unit(1), one());
    assert!(chain(&[2], wide()).is_ok() && chain(&[], wide()).is_ok());
    assert!(chain(&[1, 1], deep()).is_ok() && chain(&[1], deep()).is_ok());
    for (blocks, inner) in [(&[1][..], wide()), (&[1, 2], deep())] {
        let error = chain(blocks, inner).unwrap_err().to_string();
        assert!(error.contains("block of a nested drag"), "{error}");
    }
}
