//! Kernels that agree are not told apart, and one that samples something else is.

use super::*;
use crate::erased::{AnyTarget, Erased};
use crate::kernel::{Drag, Kernel};
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::target::Target;
use crate::{Chain, Factor, ModelError};

/// A step of Metropolis' on N(mean, sd²).
fn metropolis(x: f64, width: f64, mean: f64, sd: f64, rng: &mut Rng) -> (f64, Info) {
    let there = x + width * rng.normal();
    let height = |x: f64| -0.5 * ((x - mean) / sd).powi(2);
    let mut info = Info {
        outer_proposed: 1,
        log_ratio: height(there) - height(x),
        ..Info::default()
    };
    if rng.accept(info.log_ratio) {
        info.outer_accepted = 1;
        return (there, info);
    }
    (x, info)
}

/// Four chains of a mix of two kernels, the second of which samples N(mean, sd²) instead of N(0, 1).
fn mixed(mean: f64, sd: f64, seed: u64, steps: usize) -> Vec<MixRecord> {
    let chain = |k: u64| {
        let mut rng = Rng::stream(seed, k);
        let mut record = MixRecord::new(&[0.0], &[1.0], 2, false);
        let mut x = 0.0;
        record.begin(&[x]);
        for _ in 0..steps {
            let part = 1 + rng.pick([0.7, 0.3].into_iter());
            let (mean, sd, width) = if part == 1 {
                (0.0, 1.0, 2.4)
            } else {
                (mean, sd, 1.0)
            };
            let (there, info) = metropolis(x, width, mean, sd, &mut rng);
            x = there;
            record.note(
                &[x],
                &Info {
                    part: part as u32,
                    ..info
                },
            );
        }
        record
    };
    (0..4).map(chain).collect()
}

fn largest(records: &[MixRecord]) -> f64 {
    let all: Vec<&MixRecord> = records.iter().collect();
    let drifts = MixRecord::drifts(&all);
    assert!(!drifts.is_empty());
    drifts.iter().map(|d| d.z.abs()).fold(0.0, f64::max)
}

#[test]
fn kernels_that_agree_are_not_told_apart() {
    let mut squares = 0.0;
    for seed in 0..40 {
        let records = mixed(0.0, 1.0, 100 + seed, 2000);
        assert!(largest(&records) < 4.5, "seed {seed}");
        let all: Vec<&MixRecord> = records.iter().collect();
        squares += MixRecord::drifts(&all)[0].z.powi(2);
    }
    // Forty squared normal numbers: 40 ± 4 standard deviations of √80.
    assert!((4.2..75.8).contains(&squares), "{squares}");
}

#[test]
fn a_kernel_that_samples_something_else_is_told() {
    for seed in 0..4 {
        // Off by 0.3 of a standard deviation, and too wide by 30 %.
        assert!(largest(&mixed(0.3, 1.0, seed, 8000)) > 4.5, "seed {seed}");
        assert!(largest(&mixed(0.0, 1.3, seed, 8000)) > 4.5, "seed {seed}");
    }
}

#[test]
fn a_kernel_that_hardly_moves_tells_nothing() {
    let mut rng = Rng::stream(5, 0);
    let mut record = MixRecord::new(&[0.0], &[1.0], 2, false);
    record.begin(&[0.0]);
    let mut x = 0.0;
    for k in 0..2000 {
        // Every other step by a kernel that is refused always but ten times, and then goes up.
        let stuck = k % 2 == 1;
        let (there, mut info) = metropolis(x, 2.4, 0.0, 1.0, &mut rng);
        if stuck {
            info.outer_accepted = u64::from(k % 200 == 1);
        }
        info.part = if stuck { 2 } else { 1 };
        x = match (stuck, info.outer_accepted) {
            (true, 0) => x,
            (true, _) => x + 1.0,
            (false, _) => there,
        };
        record.note(&[x], &info);
    }
    let drifts = MixRecord::drifts(&[&record]);
    assert!(!drifts.is_empty() && drifts.iter().all(|d| d.part == 0));
    assert_eq!(MixRecord::moves(&[&record])[1], [1000.0, 10.0]);
}

/// A normal density that is another one wherever it is asked far from the last place: as a cache that is not renewed would make it.
struct Stale(std::cell::Cell<f64>);

impl Target for Stale {
    type Cache = f64;

    fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
        let far = (x[0] - self.0.replace(x[0])).abs() > 2.0;
        Ok(Some(-0.5 * (x[0] - if far { 1.5 } else { 0.0 }).powi(2)))
    }

    fn log_density(&self, height: &f64, _: &[f64]) -> f64 {
        *height
    }
}

#[test]
fn a_model_that_is_not_one_function_is_told_by_a_chain_of_the_engine() {
    let walk = |width: f64| {
        let root = Factor::diagonal(&[width], "walk").unwrap();
        Kernel::from(Drag::without_fast(SlowProposal::RandomWalk(root)))
    };
    let run = |spoilt: bool, k: u64| {
        let target = Stale(std::cell::Cell::new(if spoilt { 0.0 } else { f64::NAN }));
        let erased = Erased(&target);
        let kernel = Kernel::Mix(vec![(0.5, walk(0.5)), (0.5, walk(6.0))]);
        let record = MixRecord::new(&[0.0], &[1.0], 2, false);
        let chain = Chain::new(
            &erased as &AnyTarget,
            kernel,
            &[0.0],
            &[],
            Rng::stream(8, k),
        )
        .unwrap();
        let mut chain = chain.comparing(record);
        for _ in 0..16_000 {
            if !spoilt {
                // A place that is no number is far from nothing.
                target.0.set(f64::NAN);
            }
            chain.advance().unwrap();
        }
        chain.parts().unwrap().clone()
    };
    let z = |spoilt: bool| largest(&(0..4).map(|k| run(spoilt, k)).collect::<Vec<_>>());
    assert!(z(false) < 4.5, "{}", z(false));
    assert!(z(true) > 4.5, "{}", z(true));
}

/// Chains of an independent proposal N(0, sd²) on N(0, 1), with a short walk beside it.
fn covered(sd: f64, seed: u64) -> Coverage {
    let chain = |k: u64| {
        let mut rng = Rng::stream(seed, k);
        let mut record = MixRecord::new(&[0.0], &[1.0], 2, true);
        let mut x = 0.0;
        record.begin(&[x]);
        for _ in 0..5000 {
            if rng.pick([0.8, 0.2].into_iter()) == 0 {
                let there = sd * rng.normal();
                let w = |x: f64| -0.5 * x * x + 0.5 * (x / sd).powi(2);
                let mut info = Info {
                    part: 1,
                    outer_proposed: 1,
                    log_ratio: w(there) - w(x),
                    ..Info::default()
                };
                if rng.accept(info.log_ratio) {
                    x = there;
                    info.outer_accepted = 1;
                }
                record.note(&[x], &info);
            } else {
                let (there, info) = metropolis(x, 0.3, 0.0, 1.0, &mut rng);
                x = there;
                record.note(&[x], &Info { part: 2, ..info });
            }
        }
        record
    };
    let records: Vec<MixRecord> = (0..4).map(chain).collect();
    MixRecord::coverage(&records.iter().collect::<Vec<_>>()).unwrap()
}

fn index(coverage: &Coverage) -> f64 {
    crate::diagnose::pareto_shape(&coverage.log_runs)
}

#[test]
fn a_proposal_that_is_too_narrow_leaves_the_tails_uncovered() {
    let wide = covered(1.3, 1);
    assert!(
        wide.uncovered == 0.0 && index(&wide) < 0.5,
        "{} {}",
        wide.uncovered,
        index(&wide)
    );
    assert!(wide.tails.is_empty(), "{} {}", wide.uncovered, index(&wide));
    // The index of N(0, 1) beside N(0, s²) is 1 − s²: 0.88, and somewhat less with a walk that shortens the stays.
    let narrow = covered(0.35, 2);
    assert!(
        narrow.uncovered > 0.05 && index(&narrow) > 0.6,
        "{} {}",
        narrow.uncovered,
        index(&narrow)
    );
    assert!(narrow.tails.iter().any(|t| t.1) && narrow.tails.iter().any(|t| !t.1));
}

#[test]
fn classes_of_lengths_meet() {
    for length in [0, 1, 15, 16, 17, 100, 12_345, 1 << 40] {
        let class = class(length);
        assert!(lowest(class) <= length as f64);
        assert!(class == CLASSES - 1 || lowest(class + 1) > length as f64);
    }
}

#[test]
fn batches_are_added_in_pairs_and_lose_nothing() {
    let records = mixed(0.0, 1.0, 3, 5000);
    let all: Vec<&MixRecord> = records.iter().collect();
    let moves = MixRecord::moves(&all);
    assert_eq!(moves[0][0] + moves[1][0], 20_000.0);
    assert!(records[0].sums.len() <= MOST_BATCHES * 2 * records[0].each());
}
