//! What warm-up promises, measured on targets whose marginals are known.

use super::*;
use crate::diagnose::pooled_autocorrelation_time;
use crate::erased::{AnyTarget, Erased};
use crate::testing::{Neal1, Neal2};
use crate::{Chain, Draw};
use std::ops::ControlFlow;

/// Draws of each slow variable after a warm-up, chains side by side.
struct Sampled {
    xs: Vec<Vec<Vec<f64>>>,
    totals: Info,
    warm: Vec<Warm>,
}

fn sample<T: Target>(
    target: &T,
    x: &[f64],
    y: &[f64],
    warmup: Warmup,
    chains: u64,
    draws: u64,
) -> Sampled {
    let mut sampled = Sampled {
        xs: vec![Vec::new(); x.len()],
        totals: Info::default(),
        warm: Vec::new(),
    };
    for k in 0..chains {
        let mut rng = Rng::stream(11, k);
        let warm = warmup.run(target, x, y, &mut rng).unwrap();
        let kernel = warm.tuning.kernel().unwrap();
        let erased = Erased(target);
        let mut chain = Chain::new(&erased as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
        let mut columns = vec![Vec::with_capacity(draws as usize); x.len()];
        let before = chain.totals();
        chain
            .run(draws, |draw: &Draw<'_>| {
                for (column, value) in columns.iter_mut().zip(draw.x) {
                    column.push(*value);
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        for (all, column) in sampled.xs.iter_mut().zip(columns) {
            all.push(column);
        }
        let _ = before;
        sampled.totals += chain.totals();
        sampled.warm.push(warm);
    }
    sampled
}

impl Sampled {
    fn slices(&self, k: usize) -> Vec<&[f64]> {
        self.xs[k].iter().map(Vec::as_slice).collect()
    }

    /// Slow evaluations per effective draw of the worst slow variable, and fast ones per slow one.
    fn cost(&self) -> (f64, f64) {
        let steps: usize = self.xs[0].iter().map(Vec::len).sum();
        let slow = self.totals.slow_evaluations as f64;
        let worst = (0..self.xs.len())
            .map(|k| pooled_autocorrelation_time(&self.slices(k), None).value)
            .fold(0.0, f64::max);
        (
            worst * slow / steps as f64,
            self.totals.fast_evaluations as f64 / slow,
        )
    }
}

#[test]
fn with_nothing_set_by_hand_the_papers_tests_are_sampled_better_than_by_the_marginal_ideal() {
    let warmup = Warmup {
        cost: Cost::Ratio(1000.0),
        ..Warmup::default()
    };
    for fast in [1, 2] {
        let y = vec![1.0; fast];
        let sampled = if fast == 1 {
            sample(&Neal1, &[2.0], &y, warmup, 4, 20_000)
        } else {
            sample(&Neal2, &[2.0], &y, warmup, 4, 20_000)
        };
        for warm in &sampled.warm {
            println!(
                "{:?} {:?} scale {} extra {} spent {:?}",
                warm.tuning.main,
                warm.tuning.shares,
                warm.tuning.scale,
                warm.tuning.extra,
                warm.spent
            );
            for t in &warm.tuning.trials {
                println!("   {t:?} worth {}", t.worth());
            }
            println!("{:?}", warm.tuning.surrogate.as_ref().map(|s| s.quality()));
        }
        let (slow, fast_per_slow) = sampled.cost();
        println!(
            "{fast}: {slow} slow evaluations per effective draw, {fast_per_slow} fast per slow"
        );
        let squares: Vec<Vec<f64>> = sampled.xs[0]
            .iter()
            .map(|c| c.iter().map(|x| x * x).collect())
            .collect();
        let slices: Vec<&[f64]> = squares.iter().map(Vec::as_slice).collect();
        let z = (crate::diagnose::mean(&slices) - 0.3194838) / crate::diagnose::mcse_mean(&slices);
        println!("variance z {z}");
        for c in &sampled.xs[0] {
            println!("act {:?}", crate::diagnose::autocorrelation_time(c));
        }
        assert!(slow <= 3.0 && fast_per_slow <= 40.0);
        assert!(z.abs() < 4.0);
    }
}
