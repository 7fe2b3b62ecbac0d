//! Every known mistake is killed: on a finite state space, and by the z-tests.

use super::continuous::Skewed;
use super::lattice::Lattice;
use super::moves::walk;
use super::reference::{Defect, Memory, Reference, identity};
use super::space::{Choices, Space};
use super::zscores::largest_z;
use crate::frame::Frame;
use crate::linalg::Root;
use crate::{Drag, Factor, FrameRule, Linear, SlowProposal};
use std::sync::Arc;

/// The frame at each x.
type Framing = fn(&[f64]) -> Frame;

/// Every defect with the shortest experiment that shows it.
struct Experiment {
    defect: Defect,
    fast: usize,
    n: usize,
    /// Two where the mistake is made in what one step leaves to the next.
    steps: usize,
}

const fn experiment(defect: Defect, fast: usize, n: usize, steps: usize) -> Experiment {
    Experiment {
        defect,
        fast,
        n,
        steps,
    }
}

const EXPERIMENTS: [Experiment; 19] = [
    experiment(Defect::WrongDivisor, 1, 3, 1),
    experiment(Defect::LastDropped, 1, 3, 1),
    experiment(Defect::FirstDropped, 1, 3, 1),
    experiment(Defect::UndraggedDensityStored, 1, 2, 2),
    experiment(Defect::FixedOrder, 2, 3, 1),
    experiment(Defect::ScanCarriedOver, 2, 3, 1),
    experiment(Defect::FixedSign, 2, 2, 1),
    experiment(Defect::NoProposalRatio, 1, 2, 1),
    experiment(Defect::EndsSwapped, 1, 3, 1),
    experiment(Defect::StaleCache, 1, 2, 2),
    experiment(Defect::WrappedIncrement, 1, 2, 1),
    experiment(Defect::UndraggedReturned, 1, 2, 1),
    experiment(Defect::LopsidedSchedule, 1, 2, 1),
    experiment(Defect::GrowingSteps, 1, 3, 1),
    experiment(Defect::NoJacobian, 1, 2, 1),
    experiment(Defect::FrameSeesY, 1, 2, 1),
    experiment(Defect::NaiveAverage, 1, 2, 1),
    experiment(Defect::RejectedValueKept, 1, 3, 1),
    experiment(Defect::DraggedThoughRejected, 1, 2, 1),
];

/// A z-test: what is dragged how, and how often.
struct Trial {
    n: usize,
    scale: f64,
    slow: f64,
    replicates: u64,
    /// Steps of each replicate: the bias of one step adds up.
    steps: usize,
}

/// Some mistakes are small per step: they show in long drags by large inner moves, and in many of them.
fn trial(experiment: &Experiment) -> Trial {
    let long = Trial {
        n: 9,
        scale: 0.5,
        slow: 0.8,
        replicates: 50_000,
        steps: 40,
    };
    let short = Trial {
        n: experiment.n,
        scale: 0.7,
        slow: 0.6,
        replicates: 25_000,
        steps: 30,
    };
    match experiment.defect {
        Defect::LopsidedSchedule | Defect::GrowingSteps | Defect::NaiveAverage => long,
        Defect::UndraggedReturned | Defect::FrameSeesY => Trial {
            replicates: 25_000,
            ..long
        },
        Defect::EndsSwapped => Trial {
            slow: 1.4,
            replicates: 25_000,
            ..long
        },
        _ => short,
    }
}

/// A frame whose size depends on x: 1, 2, 3, 1 …, about a centre that moves.
fn stretched(x: &[f64]) -> Frame {
    let size = 1.0 + x[0].round().rem_euclid(3.0);
    Frame::Affine {
        centre: vec![x[0]],
        root: Root::Lower(Arc::new(Factor::diagonal(&[size], "test").unwrap())),
    }
}

/// The lattice on which a defect shows, the frame and the slow proposal.
fn setting(defect: Defect, fast: usize) -> (Space<Lattice>, Framing, SlowProposal) {
    let lattice = match fast {
        1 => Lattice::new(&[(0, 4)], &[(-1, 4)]),
        _ => Lattice::new(&[(0, 3)], &[(-1, 3), (-1, 3)]),
    };
    let walked = SlowProposal::random_walk(&[1.0]).unwrap();
    match defect {
        Defect::NoJacobian => (lattice.in_frame(stretched).space(), stretched, walked),
        Defect::NoProposalRatio => {
            let factor = Factor::diagonal(&[std::f64::consts::LN_2], "test").unwrap();
            let proposal = SlowProposal::LogNormal(factor);
            (lattice.doubling().space(), identity, proposal)
        }
        _ => (lattice.space(), identity, walked),
    }
}

/// max |πKˢ − π| of the reference drag in the setting of one defect, made with that defect or without.
fn drift(experiment: &Experiment, made: Defect) -> f64 {
    // A hidden counter is part of the state: πK = π must hold on pairs of both.
    let counters: &[Memory] = match made {
        Defect::ScanCarriedOver => &[Memory::at(0), Memory::at(1)],
        _ => &[Memory::FRESH],
    };
    let share = 1.0 / counters.len() as f64;
    let drifts = counters.iter().map(|m| drift_from(experiment, made, m));
    share * drifts.fold(0.0, f64::max)
}

fn drift_from(experiment: &Experiment, made: Defect, memory: &Memory) -> f64 {
    let (space, frame, proposal) = setting(experiment.defect, experiment.fast);
    let reference = Reference {
        n: experiment.n,
        proposal,
        inner: walk(&vec![1.0; experiment.fast]),
        scale: 1.0,
        frame,
        defect: made,
    };
    let matrix = space.matrix(&Choices::steps(), |target, state, work, rng| {
        let mut memory = memory.clone();
        for _ in 0..experiment.steps {
            reference.step(target, state, &mut memory, work, rng);
        }
    });
    space.drift(&matrix)
}

#[test]
fn the_reference_without_a_defect_is_the_production_drag() {
    let integer_frame = |x: &[f64]| shifted().frame(x);
    for fast in [1, 2] {
        for n in 1..=3 {
            for defect in [Defect::None, Defect::NoProposalRatio] {
                let (space, frame, proposal) = setting(defect, fast);
                let inner = walk(&vec![1.0; fast]);
                let drag = Drag::new(n, proposal.clone(), inner.clone()).unwrap();
                let mut reference = Reference {
                    n,
                    proposal,
                    inner,
                    scale: 1.0,
                    frame,
                    defect: Defect::None,
                };
                let twin = |reference: &Reference| {
                    space.matrix(&Choices::steps(), |target, state, work, rng| {
                        reference.step(target, state, &mut Memory::FRESH.clone(), work, rng);
                    })
                };
                let production = space.kernel(&Choices::steps(), &drag.clone().into());
                assert!(production.distance(&twin(&reference)) < 1e-14);
                if fast == 1 && defect == Defect::None {
                    reference.frame = integer_frame;
                    let framed = drag.in_frame(FrameRule::Linear(shifted())).into();
                    let framed = space.kernel(&Choices::steps(), &framed);
                    assert!(framed.distance(&twin(&reference)) < 1e-14);
                    assert!(framed.distance(&production) > 0.01);
                }
            }
        }
    }
}

fn shifted() -> Linear {
    let root = Factor::diagonal(&[1.0], "test").unwrap();
    Linear::new(vec![0.0], vec![0.0], vec![1.0], root).unwrap()
}

#[test]
fn every_defect_is_killed_on_a_finite_state_space() {
    println!("\n{:24} steps   n  max|πK − π|   without", "defect");
    let mut survivors = Vec::new();
    for experiment in &EXPERIMENTS {
        let right = drift(experiment, Defect::None);
        let wrong = drift(experiment, experiment.defect);
        let Experiment {
            defect, n, steps, ..
        } = experiment;
        let name = format!("{defect:?}");
        println!("{name:24} {steps:5} {n:3}  {wrong:11.2e}  {right:8.1e}");
        assert!(right < 1e-12, "{name}: the right kernel drifts by {right}");
        if wrong < 1e-4 {
            survivors.push(name);
        }
    }
    assert!(survivors.is_empty(), "not killed: {survivors:?}");
}

/// Why a counter must be looked at together with the state: from a fresh one, the step is exact.
#[test]
fn a_scan_carried_over_is_exact_in_its_first_step_only() {
    let experiment = &EXPERIMENTS[5];
    assert_eq!(experiment.defect, Defect::ScanCarriedOver);
    let first = drift_from(experiment, Defect::ScanCarriedOver, &Memory::FRESH);
    assert!(first < 1e-12, "{first:e}");
}

/// A wrong stored density has a weight of 1/n in the next ratio, and only until an inner move is
/// accepted: in some sixty settings that were tried the largest z was never above 9, and mostly below 6. The
/// finite state space kills it, and so does `Space::kernel`, which compares what is stored with what
/// it should be.
const ONLY_ON_THE_LATTICE: Defect = Defect::UndraggedDensityStored;

#[test]
fn every_other_defect_is_killed_by_the_z_tests() {
    println!("\n{:24} largest |z|", "defect");
    let mut survivors = Vec::new();
    for (k, experiment) in EXPERIMENTS.iter().enumerate() {
        let defect = experiment.defect;
        let (z, of) = z_of(experiment, defect, 700 + k as u64);
        println!("{:24} {z:8.1} ({of})", format!("{defect:?}"));
        if z < 8.0 && defect != ONLY_ON_THE_LATTICE {
            survivors.push(defect);
        }
    }
    assert!(survivors.is_empty(), "not killed: {survivors:?}");
}

#[test]
fn the_reference_without_a_defect_passes_the_z_tests() {
    // One of each kind of setting.
    for (k, defect) in [
        Defect::WrongDivisor,
        Defect::UndraggedDensityStored,
        Defect::NoProposalRatio,
        Defect::NoJacobian,
        Defect::NaiveAverage,
    ]
    .into_iter()
    .enumerate()
    {
        let mut all = EXPERIMENTS.iter();
        let experiment = all.find(|e| e.defect == defect).unwrap();
        let (z, of) = z_of(experiment, Defect::None, 800 + k as u64);
        assert!(z < 4.5, "{defect:?}: z = {z} for {of}");
    }
}

/// The largest z-score after many steps with real random numbers and two fast variables.
fn z_of(experiment: &Experiment, made: Defect, seed: u64) -> (f64, String) {
    let target = Skewed { fast: 2 };
    let trial = trial(experiment);
    let factor = Factor::diagonal(&[0.5], "test").unwrap();
    let framed = experiment.defect == Defect::NoJacobian;
    let reference = Reference {
        n: trial.n,
        proposal: match experiment.defect {
            Defect::NoProposalRatio => SlowProposal::LogNormal(factor),
            _ => SlowProposal::random_walk(&[trial.slow]).unwrap(),
        },
        inner: walk(&[trial.scale; 2]),
        scale: trial.scale,
        frame: if framed { Skewed::frame } else { identity },
        defect: made,
    };
    largest_z(&target, trial.replicates, seed, |state, work, rng| {
        // Of a scan carried over, the half of the runs that began with the first coordinate: what the
        // other half does would hide it, in the mean over both.
        let mut memory = Memory::at(0);
        for _ in 0..trial.steps {
            reference.step(&target, state, &mut memory, work, rng);
        }
    })
}
