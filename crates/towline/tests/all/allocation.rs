//! The inner loop of a drag allocates nothing: a step of 500 intervals allocates as often as one of 2.

// A global allocator cannot be written without `unsafe`; this one only counts and hands on.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use towline::posterior::two_stages;
use towline::{
    Chain, Coordinate, CrankNicolson, Drag, EllipticalSlice, Factor, FastMove, FastOnly, FrameRule,
    Hmc, Linear, ModelError, Parameter, Posterior, RandomWalk, Rng, Scratch, Slice, SlowProposal,
    Target,
};

struct Counting;

thread_local! {
    // Tests run on threads of their own, and each counts its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and nobody asks for it.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A Gaussian about x that uses the engine's scratch space.
struct Model;

impl Target for Model {
    type Cache = f64;

    fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
        Ok(Some(x[0]))
    }

    fn log_density(&self, cache: &f64, y: &[f64]) -> f64 {
        self.log_density_in(cache, y, &mut Scratch::default())
    }

    fn log_density_in(&self, &x: &f64, y: &[f64], scratch: &mut Scratch) -> f64 {
        let [rest] = scratch.slices([y.len()]);
        for (r, v) in rest.iter_mut().zip(y) {
            *r = v - x;
        }
        -0.5 * (x * x + rest.iter().map(|r| r * r).sum::<f64>())
    }

    fn gradient(
        &self,
        cache: &f64,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        for (g, v) in gradient.iter_mut().zip(y) {
            *g = cache - v;
        }
        Some(self.log_density_in(cache, y, scratch))
    }
}

fn moves(dim: usize) -> Vec<(&'static str, FastMove)> {
    let mut covariance = vec![0.1; dim * dim];
    (0..dim).for_each(|k| covariance[k * dim + k] = 0.5);
    let full = Factor::from_covariance(&covariance, "test").unwrap();
    let diagonal = Factor::diagonal(&vec![0.5; dim], "test").unwrap();
    let walk = || FastMove::RandomWalk(RandomWalk::new(diagonal.clone()));
    let slice = || FastMove::Slice(Slice::new(vec![1.0; dim]));
    let ellipse = || FastMove::EllipticalSlice(EllipticalSlice);
    vec![
        ("random walk", walk()),
        (
            "random walk, full covariance",
            FastMove::RandomWalk(RandomWalk::new(full.clone())),
        ),
        (
            "coordinate",
            FastMove::Coordinate(Coordinate::new(vec![0.5; dim])),
        ),
        ("slice", slice()),
        (
            "Crank–Nicolson",
            FastMove::CrankNicolson(CrankNicolson::new(0.5)),
        ),
        ("elliptical slice", ellipse()),
        ("HMC", FastMove::Hmc(Hmc::new(0.3, 3, full))),
        (
            "mixture",
            FastMove::Mixture(vec![(1.0, walk()), (1.0, slice())]),
        ),
    ]
}

/// Allocations in so many steps, after a few that fill scratch space.
fn allocations(kernel: impl Into<towline::Kernel>, dim: usize, steps: u64) -> u64 {
    allocations_of(Model, kernel, dim, steps)
}

fn allocations_of(
    target: impl Target,
    kernel: impl Into<towline::Kernel>,
    dim: usize,
    steps: u64,
) -> u64 {
    let mut chain = Chain::new(target, kernel, &[0.3], &vec![0.1; dim], Rng::stream(2, 0)).unwrap();
    for _ in 0..5 {
        chain.advance().unwrap();
    }
    let before = ALLOCATIONS.get();
    for _ in 0..steps {
        chain.advance().unwrap();
    }
    ALLOCATIONS.get() - before
}

fn linear(dim: usize) -> FrameRule {
    let root = Factor::diagonal(&vec![0.7; dim], "test").unwrap();
    let linear = Linear::new(vec![0.0], vec![0.0; dim], vec![0.9; dim], root);
    FrameRule::Linear(linear.unwrap())
}

#[test]
fn a_drag_allocates_as_often_whatever_its_length() {
    let steps = 200;
    for dim in [1, 2, 10] {
        for (name, inner) in moves(dim) {
            for frame in [FrameRule::Identity, linear(dim)] {
                let drag = |n| {
                    let proposal = SlowProposal::random_walk(&[0.5]).unwrap();
                    let drag = Drag::new(n, proposal, inner.clone()).unwrap();
                    drag.in_frame(frame.clone())
                };
                let (short, long) = (
                    allocations(drag(2), dim, steps),
                    allocations(drag(500), dim, steps),
                );
                assert_eq!(short, long, "{name}, {dim} fast variables, {frame:?}");
                // The new x, and what belongs to it: a handful for each step.
                assert!(short <= 8 * steps, "{name}: {short} in {steps} steps");
            }
        }
    }
}

#[test]
fn fast_moves_at_fixed_x_allocate_nothing() {
    for dim in [1, 2, 10] {
        for (name, inner) in moves(dim) {
            let count = allocations(FastOnly::new(inner, 50), dim, 20);
            assert_eq!(count, 0, "{name}, {dim} fast variables");
        }
    }
}

/// The coordinates of the fast parameters below: an angle is a point in the plane.
const FAST: usize = 5;

/// Parameters of every kind: free, above zero, between bounds, and an angle.
fn posterior() -> impl Target {
    let prior = |text: &str| text.parse().unwrap();
    let parameters = vec![
        Parameter::slow("x", prior("normal(0, 1)")),
        Parameter::fast("free", prior("normal(0, 1)")),
        Parameter::fast("above", prior("half_normal(1)")),
        Parameter::fast("between", prior("uniform(-2, 2)")),
        Parameter::fast("angle", prior("uniform_periodic(-pi, pi)")),
    ];
    let likelihood = two_stages(
        |slow: &[f64]| Ok(Some(slow[0])),
        |x: &f64, fast: &[f64]| -fast.iter().map(|v| (v - x).powi(2)).sum::<f64>(),
    );
    Posterior::new(parameters, likelihood).unwrap()
}

#[test]
fn a_posterior_of_named_parameters_allocates_nothing_in_its_fast_stage() {
    for (name, inner) in moves(FAST).into_iter().filter(|m| m.0 != "HMC") {
        let fast_only = FastOnly::new(inner.clone(), 50);
        let count = allocations_of(posterior(), fast_only, FAST, 20);
        assert_eq!(count, 0, "{name}");
        let drag = |n| {
            let proposal = SlowProposal::random_walk(&[0.5]).unwrap();
            Drag::new(n, proposal, inner.clone()).unwrap()
        };
        let (short, long) = (
            allocations_of(posterior(), drag(2), FAST, 100),
            allocations_of(posterior(), drag(200), FAST, 100),
        );
        assert_eq!(short, long, "{name}");
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let room: Vec<u64> = Vec::with_capacity(std::hint::black_box(10));
    assert_eq!(ALLOCATIONS.get() - before, 1);
    drop(room);
}
