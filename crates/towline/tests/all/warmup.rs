//! What warm-up promises, on targets whose answers are known: few slow evaluations, starts far away, and
//! models that leave it little to work with.

use crate::common::{SixByTen, draws, sample};
use towline::erased::{AnyTarget, Erased};
use towline::warmup::FrameKind;
use towline::{Chain, Cost, Error, FastMove, ModelError, Rng, Target, Warmup};

const WARMUP: Warmup = Warmup {
    slow_evaluations: None,
    cost: Cost::Ratio(1000.0),
    error: None,
};

#[test]
fn six_slow_variables_cost_at_most_six_slow_evaluations_per_effective_draw() {
    // Slow variables that are slow: seconds beside some ten microseconds.
    let warmup = Warmup {
        cost: Cost::Ratio(1e5),
        ..WARMUP
    };
    let sampled = sample(
        &SixByTen,
        (&[0.0; 6], &[0.0; 10]),
        warmup,
        (2, 1, draws(8_000, 18_000)),
        |_| {},
    );
    let (slow, fast) = sampled.cost();
    println!("{slow:.2} slow evaluations per effective draw, {fast:.0} fast per slow");
    for warm in &sampled.warm {
        println!(
            "{:?} {:?} {:?}",
            warm.tuning.main, warm.tuning.shares, warm.spent
        );
        println!("{:?}", warm.tuning.surrogate.as_ref().map(|s| s.quality()));
        for trial in &warm.tuning.trials {
            println!("   {trial:?}");
        }
        assert!(warm.spent.slow_evaluations <= 2000, "{:?}", warm.spent);
    }
    assert!(slow <= 6.0, "{slow}");
    let (means, variances) = SixByTen::moments();
    for k in 0..6 {
        let z = sampled.z(k, |x| x, means[k]);
        let z2 = sampled.z(k, |x| (x - means[k]).powi(2), variances[k]);
        println!("x{k}: mean z = {z:.2}, variance z = {z2:.2}");
        assert!(z.abs() < 4.0 && z2.abs() < 4.0);
    }

    // The same with the random walk alone needs more than twenty.
    let walk = sample(
        &SixByTen,
        (&[0.0; 6], &[0.0; 10]),
        warmup,
        (2, 1, 8_000),
        |tuning| {
            tuning.shares = [0.0, 1.0, 0.0];
        },
    );
    println!("random walk: {:.1}", walk.cost().0);
    assert!(walk.cost().0 > 20.0);
}

/// Two slow and two fast variables whose scales are a million apart.
struct Uneven;

const SCALES: [f64; 2] = [1e-3, 1e3];

impl Target for Uneven {
    type Cache = [f64; 2];
    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        Ok(Some([(x[0] - 7.0) / SCALES[0], (x[1] + 3.0) / SCALES[1]]))
    }
    fn log_density(&self, w: &[f64; 2], y: &[f64]) -> f64 {
        let (a, b) = (w[0], w[1] - 0.5 * w[0]);
        let slow = -0.5 * (a * a + b * b);
        let (c, d) = (y[0] / 1e3 - 3.0 * a, y[1] / 1e-3 - 2.0 * b - a);
        slow - 0.5 * (c * c + d * d / 0.25)
    }
}

#[test]
fn a_start_fifty_deviations_away_with_scales_a_million_apart_is_no_obstacle_on_ten_seeds() {
    // Fifty standard deviations in every coordinate, on either side.
    for seed in 0..10u64 {
        let side = if seed % 2 == 0 { 1.0 } else { -1.0 };
        let x = [
            7.0 + 50.0 * side * SCALES[0],
            -3.0 - 50.0 * side * SCALES[1],
        ];
        let y = [-50.0e3 * side, 50.0e-3 * side];
        let mut rng = Rng::stream(100 + seed, 0);
        let warm = WARMUP.run(&Uneven, &x, &y, &mut rng).unwrap();
        let spent = warm.spent.slow_evaluations;
        let kernel = warm.tuning.kernel().unwrap();
        let mut chain = Chain::new(
            &Erased(&Uneven) as &AnyTarget,
            kernel,
            &warm.x,
            &warm.y,
            rng,
        )
        .unwrap();
        let columns = crate::common::record(&mut chain, 2_000);
        for (k, (mean, sd)) in [(7.0, SCALES[0]), (-3.0, SCALES[1] * 1.25f64.sqrt())]
            .iter()
            .enumerate()
        {
            let chains = [&columns[k][..]];
            let z =
                (towline::diagnose::mean(&chains) - mean) / towline::diagnose::mcse_mean(&chains);
            let width = towline::diagnose::sd(&chains) / sd;
            assert!(
                z.abs() < 4.5 && (0.85..1.15).contains(&width),
                "seed {seed}: z {z}, width {width}"
            );
        }
        println!("seed {seed}: {spent} slow evaluations");
        assert!(spent <= 1000, "seed {seed} took {spent} slow evaluations");
    }
}

/// A target from two closures.
struct Two<P, L>(P, L);
impl<P: Fn(&[f64]) -> Option<Vec<f64>>, L: Fn(&[f64], &[f64]) -> f64> Target for Two<P, L> {
    type Cache = Vec<f64>;
    fn prepare(&self, x: &[f64]) -> Result<Option<Vec<f64>>, ModelError> {
        Ok((self.0)(x))
    }
    fn log_density(&self, cache: &Vec<f64>, y: &[f64]) -> f64 {
        (self.1)(cache, y)
    }
}

fn keep(x: &[f64]) -> Option<Vec<f64>> {
    Some(x.to_vec())
}

/// Warms up and runs a little; answers the mean of the first slow variable (or fast, without slow ones).
#[track_caller]
fn works<T: Target>(target: &T, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut rng = Rng::stream(8, 0);
    let warm = WARMUP.run(target, x, y, &mut rng).unwrap();
    let kernel = warm.tuning.kernel().unwrap();
    let erased = Erased(target);
    let mut chain = Chain::new(&erased as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
    let mut first = Vec::new();
    for _ in 0..4_000 {
        chain.advance().unwrap();
        first.push(if x.is_empty() {
            chain.y()[0]
        } else {
            chain.x()[0]
        });
    }
    first
}

#[track_caller]
fn standard_normal(draws: &[f64]) {
    let chains = [draws];
    let z = towline::diagnose::mean(&chains) / towline::diagnose::mcse_mean(&chains);
    let sd = towline::diagnose::sd(&chains);
    assert!(z.abs() < 4.5 && (sd - 1.0).abs() < 0.25, "z {z}, sd {sd}");
}

#[test]
fn a_fast_variable_that_the_density_ignores_does_no_harm() {
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        -0.5 * x[0] * x[0]
            - 0.5 * (y[0] - x[0]).powi(2)
            - if y[1].abs() < 1e3 { 0.0 } else { f64::INFINITY }
    });
    standard_normal(&works(&target, &[1.0], &[1.0, 2.0]));
}

#[test]
fn a_conditional_without_a_mode_falls_back_on_the_linear_frame() {
    // y is uniform on an interval that depends on x: flat, with walls.
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        if (y[0] - x[0]).abs() < 1.0 {
            -0.5 * x[0] * x[0]
        } else {
            f64::NEG_INFINITY
        }
    });
    standard_normal(&works(&target, &[0.3], &[0.4]));
    // A density that rises towards a wall and has its top there.
    let edge = Two(keep, |x: &[f64], y: &[f64]| {
        if y[0] < x[0] {
            -0.5 * x[0] * x[0] + 3.0 * (y[0] - x[0])
        } else {
            f64::NEG_INFINITY
        }
    });
    standard_normal(&works(&edge, &[0.3], &[-0.4]));
}

#[test]
fn no_mass_nearby_is_no_obstacle() {
    // x must be positive, y above x.
    let target = Two(
        |x: &[f64]| (x[0] > 0.0).then(|| x.to_vec()),
        |x: &[f64], y: &[f64]| {
            if y[0] <= x[0] {
                f64::NEG_INFINITY
            } else {
                -x[0] - 2.0 * (y[0] - x[0]).ln().powi(2) - (y[0] - x[0]).ln()
            }
        },
    );
    let draws = works(&target, &[0.01], &[0.02]);
    let chains = [&draws[..]];
    let z = (towline::diagnose::mean(&chains) - 1.0) / towline::diagnose::mcse_mean(&chains);
    assert!(z.abs() < 4.5, "{z}");
}

#[test]
fn without_fast_variables_it_is_metropolis_and_without_slow_ones_fast_moves() {
    let no_fast = Two(keep, |x: &[f64], _: &[f64]| -0.5 * x[0] * x[0]);
    standard_normal(&works(&no_fast, &[5.0], &[]));
    let no_slow = Two(keep, |_: &[f64], y: &[f64]| {
        -0.5 * y[0] * y[0] - 0.5 * (y[1] - y[0]).powi(2)
    });
    standard_normal(&works(&no_slow, &[], &[5.0, 1.0]));
    let neither = WARMUP.run(&no_fast, &[], &[], &mut Rng::stream(1, 0));
    assert!(
        matches!(neither, Err(Error::Dimension { .. })),
        "{neither:?}"
    );
}

#[test]
fn a_flat_slow_direction_within_bounds_is_walked_across() {
    let target = Two(
        |x: &[f64]| (x[0].abs() < 1.0).then(|| x.to_vec()),
        |x: &[f64], y: &[f64]| -0.5 * (y[0] - 3.0 * x[0]).powi(2),
    );
    let draws = works(&target, &[0.5], &[0.0]);
    let chains = [&draws[..]];
    let sd = towline::diagnose::sd(&chains);
    assert!((sd - (1.0f64 / 3.0).sqrt()).abs() < 0.08, "{sd}");
}

#[test]
fn curvature_that_overflows_is_survived() {
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        -0.5 * x[0] * x[0] - (200.0 * (y[0] - x[0])).cosh().ln().min(1e300)
    });
    standard_normal(&works(&target, &[0.5], &[0.4]));
    let walls = Two(keep, |x: &[f64], y: &[f64]| {
        let u = y[0] - x[0];
        -0.5 * x[0] * x[0] - (40.0 * u).exp() - (-40.0 * u).exp()
    });
    standard_normal(&works(&walls, &[0.5], &[9.0]));
}

#[test]
fn bad_starts_and_settings_are_refused_by_name() {
    let normal = Two(keep, |x: &[f64], y: &[f64]| -x[0] * x[0] - y[0] * y[0]);
    let run = |warmup: Warmup, x: f64| warmup.run(&normal, &[x], &[0.0], &mut Rng::stream(1, 0));
    let few = Warmup {
        slow_evaluations: Some(3),
        ..WARMUP
    };
    assert!(matches!(run(few, 0.0), Err(Error::Setting { value, .. }) if value == 3.0));
    let free = Warmup {
        cost: Cost::Ratio(0.0),
        ..WARMUP
    };
    assert!(matches!(run(free, 0.0), Err(Error::Setting { .. })));
    let outside = Two(|_: &[f64]| None, |_: &[f64], _: &[f64]| 0.0);
    let outside = WARMUP.run(&outside, &[0.0], &[0.0], &mut Rng::stream(1, 0));
    assert!(matches!(outside, Err(Error::OutsideSupport { .. })));
    let nan = Two(keep, |_: &[f64], _: &[f64]| f64::NAN);
    let nan = WARMUP.run(&nan, &[0.0], &[0.0], &mut Rng::stream(1, 0));
    assert!(matches!(nan, Err(Error::NotANumber { .. })));
}

#[test]
fn with_a_cost_ratio_the_same_seed_gives_the_same_tuning() {
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        -0.5 * x[0] * x[0] - 5.0 * (y[0] - x[0].sin()).powi(2)
    });
    let run = || {
        WARMUP
            .run(&target, &[1.0], &[0.0], &mut Rng::stream(6, 0))
            .unwrap()
    };
    let (a, b) = (run(), run());
    assert_eq!(a.tuning, b.tuning);
    assert_eq!((a.x, a.y), (b.x, b.y));
    // Plain data: saved and read, it builds the same kernel.
    let text = serde_json::to_string(&a.tuning).unwrap();
    let read: towline::Tuning = serde_json::from_str(&text).unwrap();
    assert_eq!(read.kernel().unwrap(), b.tuning.kernel().unwrap());
}

/// The report's first test beside two variables of no interest, where a slow evaluation is hardly slower than a fast one: the linear
/// frame is cheap and fits well, but not in the tails, in which a chain would stay for thousands of steps.
#[test]
fn cheap_slow_moves_visit_the_tails_too() {
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        let square = 1.0 + x[0] * x[0];
        -x[0] * x[0]
            - 50.0 * (square * (y[0] - x[0].sin())).powi(2)
            - 0.5 * (y[1] * y[1] + y[2] * y[2])
    });
    let warmup = Warmup {
        cost: Cost::Ratio(3.0),
        slow_evaluations: Some(250),
        error: None,
    };
    let marginal = |x: f64| (-x * x).exp() / (1.0 + x * x);
    let mass = |from: f64| {
        let h = 1e-4;
        (0..80_000)
            .map(|k| h * marginal(from + (f64::from(k) + 0.5) * h))
            .sum::<f64>()
    };
    let exact = mass(1.5) / mass(0.0);
    // So many that a slow chain's own error is known: of 8,000 draws some ninety are to be there, a few visits of which some are long.
    let draws = 32_000;
    let mut linear = 0;
    let shares: Vec<f64> = (0..12)
        .map(|seed| {
            let mut rng = Rng::stream(seed, 0);
            let warm = warmup.run(&target, &[0.3], &[0.2; 3], &mut rng).unwrap();
            linear += usize::from(warm.tuning.main.frame == FrameKind::Linear);
            let kernel = warm.tuning.kernel().unwrap();
            let erased = Erased(&target);
            let mut chain =
                Chain::new(&erased as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
            let mut beyond = Vec::new();
            for _ in 0..draws {
                chain.advance().unwrap();
                beyond.push(f64::from(u8::from(chain.x()[0].abs() > 1.5)));
            }
            // A chain that stays in a tail, or never comes there, is not within its own error.
            let time = towline::diagnose::autocorrelation_time(&beyond)
                .value
                .max(1.0);
            let share = beyond.iter().sum::<f64>() / f64::from(draws);
            let z = (share - exact) / (exact * (1.0 - exact) * time / f64::from(draws)).sqrt();
            println!("seed {seed}: {share:.4}, time {time:.1}, z {z:.1}");
            assert!(
                z.abs() < 4.0 && time < 50.0,
                "seed {seed}: {share}, time {time}"
            );
            share
        })
        .collect();
    println!("{linear} of 12 linear; {exact} is to be {shares:?}");
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let error = (shares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    assert!(
        ((mean - exact) / error).abs() < 4.0,
        "{mean} +- {error}, not {exact}"
    );
}

/// Fast variables in a funnel, which are slow to move, beside a slow one that is easy: fast evaluations cost next to nothing, so moves are to be made until
/// the slow one alone limits the run.
#[test]
fn fast_moves_are_made_until_fast_variables_no_longer_limit_the_run() {
    const FAST: usize = 6;
    let target = Two(keep, |x: &[f64], y: &[f64]| {
        let log_variance = y[0] - x[0];
        let square: f64 = y[1..].iter().map(|v| v * v).sum();
        let width = 0.5 * (FAST - 1) as f64 * log_variance;
        -0.5 * (x[0] * x[0] + log_variance * log_variance + square * (-log_variance).exp()) - width
    });
    let warmup = Warmup {
        cost: Cost::Ratio(1e5),
        ..WARMUP
    };
    // Steps for an effective draw of x, and of the worst of y; with as many fast-only moves as were chosen, or so many and none along the variables.
    let times = |seed: u64, moves: Option<usize>| {
        let mut rng = Rng::stream(seed, 0);
        let warm = warmup.run(&target, &[0.3], &[0.2; FAST], &mut rng);
        let mut warm = warm.unwrap();
        if let Some(moves) = moves {
            (warm.tuning.extra, warm.tuning.along) = (moves, 0);
        }
        let kernel = warm.tuning.kernel().unwrap();
        let erased = Erased(&target);
        let mut chain = Chain::new(&erased as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
        let mut columns = vec![Vec::new(); 1 + FAST];
        for _ in 0..3000 {
            chain.advance().unwrap();
            for (column, value) in columns.iter_mut().zip(chain.x().iter().chain(chain.y())) {
                column.push(*value);
            }
        }
        let time = |column: &Vec<f64>| towline::diagnose::autocorrelation_time(column).value;
        let worst = columns[1..].iter().map(time).fold(0.0, f64::max);
        let (x, extra) = (time(&columns[0]), warm.tuning.extra);
        println!("seed {seed}, {extra} moves: {x:.2} steps, {worst:.2} for the worst of y");
        (x, worst)
    };
    for seed in 0..3 {
        let (x, y) = times(seed, None);
        assert!(y < 1.5 * x, "seed {seed}: {y} beside {x}");
        let (x, y) = times(seed, Some(1));
        assert!(y > 3.0 * x, "the test cannot fail: {y} beside {x}");
    }
}

/// Three speeds: `a` leads to a computation that a busy wait stands for, `b` and `c` follow it and cost nothing.
struct ThreeSpeeds;

#[derive(Clone)]
struct Prepared {
    x: f64,
    /// a, and what was computed for it.
    refined: Option<(f64, f64)>,
}

fn medium(a: f64) -> f64 {
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_micros(100) {
        std::hint::spin_loop();
    }
    a * a
}

impl Target for ThreeSpeeds {
    type Cache = Prepared;

    fn prepare(&self, x: &[f64]) -> Result<Option<Prepared>, ModelError> {
        Ok(Some(Prepared {
            x: x[0],
            refined: None,
        }))
    }

    fn log_density(&self, cache: &Prepared, y: &[f64]) -> f64 {
        let square = match cache.refined {
            Some((a, square)) if a == y[0] => square,
            _ => medium(y[0]),
        };
        let (x, a) = (cache.x, y[0]);
        let part = |v: f64, sd: f64| -0.5 * (v / sd).powi(2);
        part(x, 1.0)
            + part(a - (2.0 * x).sin(), 0.4)
            + part(y[1] - square, 0.2)
            + part(y[2] - a, 0.3)
    }

    fn blocks(&self) -> &[usize] {
        &[1]
    }

    fn refine(&self, cache: &Prepared, head: &[f64]) -> Result<Option<Prepared>, ModelError> {
        Ok(Some(Prepared {
            x: cache.x,
            refined: Some((head[0], medium(head[0]))),
        }))
    }
}

#[test]
fn with_three_speeds_warm_up_finds_nested_drags_by_the_clock() {
    let warmup = Warmup {
        slow_evaluations: Some(300),
        cost: Cost::Measured,
        error: None,
    };
    let mut found = Vec::new();
    for seed in 1..5 {
        let mut rng = Rng::stream(seed, 0);
        let warm = warmup
            .run(&ThreeSpeeds, &[0.5], &[0.5, 0.5, 0.5], &mut rng)
            .unwrap();
        // The linear frame is the main one or the one that is mixed in.
        let mut tuning = warm.tuning.clone();
        if tuning.main.frame != FrameKind::Linear {
            tuning.main = tuning.safe.clone();
        }
        println!("seed {seed}: {:?}", tuning.main);
        if matches!(tuning.main.inner, FastMove::Nested(_)) {
            found.push((warm, tuning, rng));
        }
    }
    // Trials are few: one warm-up in some may be led astray.
    assert!(found.len() >= 3, "{} of 4", found.len());
    let (warm, mut tuning, rng) = found.swap_remove(0);
    // Alone: exact, and it needs few medium computations.
    tuning.shares = [0.0, 1.0, 0.0];
    let kernel = tuning.kernel().unwrap();
    let mut chain = Chain::new(
        &Erased(&ThreeSpeeds) as &AnyTarget,
        kernel,
        &warm.x,
        &warm.y,
        rng,
    )
    .unwrap();
    let mut draws = Vec::new();
    for _ in 0..3000 {
        chain.advance().unwrap();
        draws.push(chain.x()[0]);
    }
    let totals = chain.totals();
    println!("{totals:?}");
    assert!(totals.medium_evaluations > 0);
    assert!(totals.fast_evaluations > 2 * totals.medium_evaluations);
    standard_normal(&draws);
}
