//! A second mode to the side of the first must be found by warm-up: with `error` no chain shows what it has not seen, and chains that begin together agree.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use towline::run::{Ended, Run, Settings};
use towline::store::RunDir;
use towline::{Column, Cost, Model, ModelError, Rng, Role, RunSummary, Target};

const SLOW: usize = 5;
/// Where the second mode is, twelve standard deviations from the first and along no variable.
const THERE: [f64; SLOW] = [7.236, -3.618, 6.030, 2.412, -6.030];

/// Two normal modes of the same mass, and a fast variable that winds with the first slow one.
struct Pair;

impl Target for Pair {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        let own: f64 = x.iter().map(|v| -0.5 * v * v).sum();
        let both = x.iter().zip(THERE);
        let other: f64 = both.map(|(v, t)| -0.5 * (v - t).powi(2)).sum();
        let top = own.max(other);
        let value = top + (0.5 * ((own - top).exp() + (other - top).exp())).ln();
        Ok(Some([value, (0.3 * x[0]).sin()]))
    }

    fn log_density(&self, &[value, centre]: &[f64; 2], y: &[f64]) -> f64 {
        value - 0.5 * (y[0] - centre).powi(2)
    }
}

impl Model for Pair {
    fn columns(&self) -> Vec<Column> {
        let slow = (0..SLOW).map(|k| Column::new(format!("x{k}"), Role::Slow));
        slow.chain([Column::new("y", Role::Fast)]).collect()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row[..SLOW].copy_from_slice(x);
        row[SLOW] = y[0];
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok(((0..SLOW).map(|_| rng.normal()).collect(), vec![0.0]))
    }
}

#[test]
fn a_second_mode_to_the_side_is_found_before_points_are_weighed() {
    const SEEDS: u64 = 8;
    let ln_z = 0.5 * (SLOW + 1) as f64 * std::f64::consts::TAU.ln();
    let mut found = 0;
    for seed in 1..=SEEDS {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            chains: 1,
            seed,
            cost: Cost::Ratio(1e5),
            error: Some(0.1),
            ..Settings::default()
        };
        let path = folder.path().join("run");
        let run = Run::create(&path, Arc::new(Pair), "pair".into(), settings).unwrap();
        let ended = run.go(Arc::new(AtomicBool::new(false)), &mut |_| ());
        assert_eq!(ended.unwrap(), Ended::TargetReached);
        let estimates = RunDir::open(&path).unwrap().estimates().unwrap();
        let estimates = estimates.expect("estimates").estimates;
        let evidence = estimates.evidence.expect("ln Z");

        // One mode alone has half of the mass, and is a unit wide.
        if estimates.columns[0].sd < 2.0 {
            continue;
        }
        found += 1;
        for (column, there) in estimates.columns.iter().zip(THERE) {
            let z = (column.mean - 0.5 * there) / column.se;
            assert!(z.abs() < 4.5, "seed {seed}: {column:?}");
        }
        let z = (evidence.ln_z - ln_z) / evidence.se;
        assert!(z.abs() < 4.5, "seed {seed}: {evidence:?} against {ln_z}");
    }
    // Probes go along four directions both ways: from none of them may the other mode be seen. (Before a soft flank was looked at, none found it.)
    assert!(found >= SEEDS - 2, "{found} of {SEEDS}");
}

#[test]
fn chains_draw_from_both_modes() {
    for seed in 1..=4 {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            chains: 4,
            draws: 500,
            seed,
            cost: Cost::Ratio(1e5),
            ..Settings::default()
        };
        let path = folder.path().join("run");
        let run = Run::create(&path, Arc::new(Pair), "pair".into(), settings).unwrap();
        run.go(Arc::new(AtomicBool::new(false)), &mut |_| ())
            .unwrap();
        let summary = RunSummary::of(&RunDir::open(&path).unwrap(), None).unwrap();
        let parameters = summary.parameters[..SLOW].iter().zip(THERE);
        for (parameter, there) in parameters {
            let one = &parameter.summary;
            let z = (one.mean - 0.5 * there) / one.mcse_mean;
            assert!(z.abs() < 4.5, "seed {seed}: {one:?}");
            let sd = (1.0 + 0.25 * there * there).sqrt();
            assert!((one.sd / sd - 1.0).abs() < 0.1, "seed {seed}: {one:?}");
        }
    }
}
