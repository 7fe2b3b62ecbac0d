//! Kernels with real random numbers: started from exact draws they stay exact, by z-scores.

use super::continuous::{NAMES, Skewed};
use super::moves::walk;
use crate::fast::{Coordinate, CrankNicolson, EllipticalSlice, Hmc, Slice};
use crate::frame::{Curvature, Laplace};
use crate::kernel::state::{State, Workspace};
use crate::kernel::{Joint, Single};
use crate::random::Rng;
use crate::{
    Drag, Factor, FastMove, FastOnly, FrameRule, Kernel, RandomWalk, SlowProposal, Target,
};

/// The largest z-score: some 1400 are looked at in all, of which one beyond 4.5 is expected in a hundred
/// suites. Seeds are fixed and nothing is tried twice, so a pass stays a pass.
const MOST: f64 = 4.5;

/// Independent replicates for each kernel.
const REPLICATES: u64 = 60_000;

/// Sums of a function and its square.
#[derive(Clone, Copy, Default)]
struct Moments(f64, f64);

impl Moments {
    fn add(&mut self, value: f64) {
        self.0 += value;
        self.1 += value * value;
    }

    /// The z-score of the mean against a value; 0 for a function that never varied from it.
    fn z(&self, count: u64, exact: f64) -> f64 {
        let count = count as f64;
        let mean = self.0 / count;
        let variance = (self.1 / count - mean * mean).max(0.0) / (count - 1.0);
        if variance == 0.0 && mean == exact {
            0.0
        } else {
            (mean - exact) / variance.sqrt()
        }
    }
}

/// The largest |z| over all functions, with its name: the mean after `advance` against the exact mean,
/// and the mean change against zero.
pub(super) fn largest_z(
    target: &Skewed,
    replicates: u64,
    seed: u64,
    mut advance: impl FnMut(&mut State<<Skewed as Target>::Cache>, &mut Workspace, &mut Rng),
) -> (f64, String) {
    let mut rng = Rng::stream(seed, 0);
    let mut work = Workspace::new(1, target.fast);
    let mut after = [Moments::default(); NAMES.len()];
    let mut change = [Moments::default(); NAMES.len()];
    for _ in 0..replicates {
        let (x, y) = target.draw(&mut rng);
        let before = Skewed::functions(&x, &y);
        let mut state = State::new(target, x, y, &mut work.buffers).unwrap();
        advance(&mut state, &mut work, &mut rng);
        let values = Skewed::functions(&state.slow.x, &state.y);
        for k in 0..NAMES.len() {
            after[k].add(values[k]);
            change[k].add(values[k] - before[k]);
        }
    }
    let exact = target.means();
    let mut worst = (0.0, String::new());
    let mut look = |z: f64, name: String| {
        // A z that is no number must not pass.
        if z.abs() > worst.0 || z.is_nan() {
            worst = (if z.is_nan() { f64::INFINITY } else { z.abs() }, name);
        }
    };
    for k in 0..NAMES.len() {
        if let Some(&mean) = exact.get(k) {
            look(after[k].z(replicates, mean), NAMES[k].to_string());
        }
        look(
            change[k].z(replicates, 0.0),
            format!("change of {}", NAMES[k]),
        );
    }
    worst
}

pub(super) fn assert_exact(fast: usize, cases: Vec<(&str, Kernel)>, seed: u64) {
    let target = Skewed { fast };
    for (k, (name, kernel)) in cases.into_iter().enumerate() {
        kernel.validate(&[1.0], &vec![0.0; fast]).unwrap();
        let seed = seed + k as u64;
        let mut accepted = 0;
        let (z, of) = largest_z(&target, REPLICATES, seed, |state, work, rng| {
            for _ in 0..3 {
                let info = kernel.step(&target, state, work, rng).unwrap();
                accepted += info.outer_accepted + info.inner_accepted;
            }
        });
        println!("{name:44} {fast} fast: largest |z| {z:.2} ({of})");
        assert!(z < MOST, "{name}, {fast} fast: z = {z} for {of}");
        assert!(accepted > REPLICATES / 2, "{name} hardly moves: {accepted}");
    }
}

fn diagonal(sds: &[f64]) -> Factor {
    Factor::diagonal(sds, "test").unwrap()
}

/// Every move, at sizes at which it is accepted and refused.
fn moves(fast: usize) -> Vec<(&'static str, FastMove)> {
    let mut covariance = vec![0.05; fast * fast];
    (0..fast).for_each(|k| covariance[k * fast + k] = 0.2);
    let full = Factor::from_covariance(&covariance, "test").unwrap();
    let slice = || FastMove::Slice(Slice::new(vec![0.8; fast]));
    let coordinate = || FastMove::Coordinate(Coordinate::new(vec![0.7; fast]));
    vec![
        ("random walk", walk(&vec![0.4; fast])),
        (
            "random walk, full covariance",
            FastMove::RandomWalk(RandomWalk::new(full.clone())),
        ),
        ("coordinate", coordinate()),
        ("slice", slice()),
        (
            "slice, at most 2 steps",
            FastMove::Slice(Slice::new(vec![0.8; fast]).with_most_steps(2)),
        ),
        (
            "Crank–Nicolson",
            FastMove::CrankNicolson(CrankNicolson::new(0.5)),
        ),
        (
            "elliptical slice",
            FastMove::EllipticalSlice(EllipticalSlice),
        ),
        ("Langevin", FastMove::Hmc(Hmc::langevin(0.9, full.clone()))),
        ("HMC", FastMove::Hmc(Hmc::new(0.7, 3, full.clone()))),
        ("HMC, turning", FastMove::Hmc(Hmc::turning(1.2, 2, full))),
        (
            "mixture",
            FastMove::Mixture(vec![(1.0, slice()), (2.0, coordinate())]),
        ),
    ]
}

fn log_normal() -> SlowProposal {
    SlowProposal::LogNormal(diagonal(&[0.5]))
}

#[test]
fn exact_draws_stay_exact_under_every_move_alone() {
    let cases = moves(2)
        .into_iter()
        .map(|(name, inner)| (name, FastOnly::new(inner, 1).into()))
        .collect();
    assert_exact(2, cases, 100);
}

#[test]
fn exact_draws_stay_exact_under_drags_by_every_move() {
    for (fast, seed) in [(1, 200), (2, 300), (5, 400)] {
        let cases = moves(fast)
            .into_iter()
            .map(|(name, inner)| (name, Drag::new(4, log_normal(), inner).unwrap().into()))
            .collect();
        assert_exact(fast, cases, seed);
    }
}

#[test]
fn exact_draws_stay_exact_under_every_kernel() {
    let target = Skewed { fast: 2 };
    let inner = || walk(&[0.4, 0.4]);
    let drag = |n, proposal| Drag::new(n, proposal, inner()).unwrap();
    let walked = || SlowProposal::random_walk(&[0.6]).unwrap();
    let independent = || SlowProposal::Independence {
        centre: vec![1.6],
        factor: diagonal(&[0.9]),
    };
    let linear = || FrameRule::Linear(target.linear());
    let laplace =
        |curvature| FrameRule::Laplace(Box::new(Laplace::new(target.linear(), curvature)));
    let joint = || Kernel::from(Joint::new(diagonal(&[0.3, 0.4, 0.4])));
    let single = || Kernel::from(Single::new(vec![0.5], vec![0.7, 0.7]));
    let cases = vec![
        ("drag, n = 1", drag(1, walked()).into()),
        ("drag, n = 2", drag(2, walked()).into()),
        ("drag, n = 30", drag(30, walked()).into()),
        ("drag, log-normal", drag(5, log_normal()).into()),
        ("drag, independence", drag(5, independent()).into()),
        (
            "drag, linear frame",
            drag(5, walked()).in_frame(linear()).into(),
        ),
        (
            "drag by HMC, linear frame",
            Drag::new(
                3,
                walked(),
                FastMove::Hmc(Hmc::new(0.6, 2, diagonal(&[1.0, 1.0]))),
            )
            .unwrap()
            .in_frame(linear())
            .into(),
        ),
        (
            "drag, Laplace frame",
            drag(3, walked()).in_frame(laplace(Curvature::Local)).into(),
        ),
        (
            "drag, Laplace frame, learned curvature",
            drag(3, walked())
                .in_frame(laplace(Curvature::Learned))
                .into(),
        ),
        (
            "drag, Laplace frame along learned axes",
            drag(3, walked()).in_frame(laplace(Curvature::Axes)).into(),
        ),
        ("metropolis", Kernel::metropolis(walked())),
        ("joint", joint()),
        ("single", single()),
        (
            "cycle",
            Kernel::Cycle(vec![
                drag(4, log_normal()).into(),
                FastOnly::new(inner(), 2).in_frame(linear()).into(),
                single(),
            ]),
        ),
        (
            "mix",
            Kernel::Mix(vec![
                (0.5, drag(6, walked()).in_frame(linear()).into()),
                (0.3, drag(6, independent()).into()),
                (0.2, joint()),
                (
                    0.4,
                    drag(2, walked()).in_frame(laplace(Curvature::Local)).into(),
                ),
            ]),
        ),
    ];
    assert_exact(2, cases, 500);
}
