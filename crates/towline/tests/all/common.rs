//! Shared by the statistical tests: targets with a known marginal, exact draws from them, and z-scores.

#![allow(dead_code)]

use rand_distr::Distribution;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ops::ControlFlow;
use towline::diagnose::{mcse_mean, mean, pooled_autocorrelation_time};
use towline::erased::{AnyTarget, Erased};
use towline::run::Together;
use towline::warmup::Warm;
use towline::{Chain, Draw, Info, Kernel, ModelError, Rng, Target, Tuning, Warmup};

/// What one fast variable looks like around its centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// The logarithm of a gamma variable whose shape depends on x: skewed one way, more or less.
    Skewed,
    /// Student's t with four degrees of freedom.
    Heavy,
    /// Two normal humps of width 0.6 at ±2.
    TwoModes,
}

/// One slow variable (the logarithm of a gamma variable with shape 2) and fast ones whose centres move by fifty
/// of their widths, and whose widths and skewness depend on x too; each leans on the one before.
#[derive(Debug, Clone, Copy)]
pub struct Moving {
    pub fast: usize,
    pub shape: Shape,
}

/// How strongly a fast variable leans on the one before it.
const LEAN: f64 = 0.6;

/// The log density of the logarithm of a gamma variable of mean 1 and shape k.
pub fn log_gamma_density(t: f64, k: f64) -> f64 {
    k * k.ln() - libm::lgamma(k) + k * (t - t.exp())
}

/// A draw from it.
pub fn log_gamma_draw(k: f64, rng: &mut Xoshiro256PlusPlus) -> f64 {
    let gamma = rand_distr::Gamma::new(k, 1.0 / k).unwrap();
    let draw: f64 = gamma.sample(rng);
    draw.max(1e-300).ln()
}

/// What a slow evaluation leaves behind.
pub struct Ready {
    log_x: f64,
    centre: Vec<f64>,
    width: Vec<f64>,
    skew: Vec<f64>,
}

impl Moving {
    pub fn log_marginal(&self, x: f64) -> f64 {
        log_gamma_density(x, 2.0)
    }

    fn ready(&self, x: f64) -> Ready {
        let each = |f: &dyn Fn(f64) -> f64| (0..self.fast).map(|k| f(k as f64)).collect();
        // Fifty standard deviations from one side to the other; a skewed variable's is about half its width.
        let amplitude = if self.shape == Shape::Skewed {
            14.0
        } else {
            25.0
        };
        Ready {
            log_x: self.log_marginal(x),
            centre: each(&|k| amplitude * (0.9 * x + 0.4 * k).sin()),
            width: each(&|k| (0.6 * (1.3 * x + k).sin()).exp()),
            skew: each(&|k| (1.0 + 0.8 * (x + 0.7 * k).sin()).exp()),
        }
    }

    /// An exact draw of (x, y).
    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> (f64, Vec<f64>) {
        use rand_distr::{StandardNormal, StudentT};
        let x = log_gamma_draw(2.0, rng);
        let ready = self.ready(x);
        let mut y = Vec::new();
        let mut before = 0.0;
        for k in 0..self.fast {
            let t: f64 = match self.shape {
                Shape::Skewed => log_gamma_draw(ready.skew[k], rng),
                Shape::Heavy => StudentT::new(4.0).unwrap().sample(rng),
                Shape::TwoModes => {
                    let side: f64 = StandardNormal.sample(rng);
                    let normal: f64 = StandardNormal.sample(rng);
                    2.0 * side.signum() + 0.6 * normal
                }
            };
            let u = t + LEAN * before;
            y.push(ready.centre[k] + ready.width[k] * u);
            before = u;
        }
        (x, y)
    }

    /// E f(x), by quadrature of the known marginal.
    pub fn expectation(&self, f: impl Fn(f64) -> f64) -> f64 {
        let (low, high, cells) = (-25.0, 4.0, 200_000);
        let h = (high - low) / f64::from(cells);
        (0..cells)
            .map(|i| low + (f64::from(i) + 0.5) * h)
            .map(|x| f(x) * self.log_marginal(x).exp() * h)
            .sum()
    }
}

impl Target for Moving {
    type Cache = Ready;

    fn prepare(&self, x: &[f64]) -> Result<Option<Ready>, ModelError> {
        Ok(Some(self.ready(x[0])))
    }

    fn log_density(&self, ready: &Ready, y: &[f64]) -> f64 {
        let mut sum = ready.log_x;
        let mut before = 0.0;
        for k in 0..self.fast {
            let u = (y[k] - ready.centre[k]) / ready.width[k];
            let t = u - LEAN * before;
            before = u;
            sum += match self.shape {
                Shape::Skewed => log_gamma_density(t, ready.skew[k]),
                Shape::Heavy => -2.5 * (1.0 + t * t / 4.0).ln(),
                Shape::TwoModes => {
                    let (a, b) = ((t - 2.0) / 0.6, (t + 2.0) / 0.6);
                    let (a, b) = (-0.5 * a * a, -0.5 * b * b);
                    a.max(b) + (-(a - b).abs()).exp().ln_1p()
                }
            } - ready.width[k].ln();
        }
        sum
    }
}

/// Six correlated, mildly skewed slow variables, and ten fast ones that follow them.
#[derive(Debug, Clone, Copy)]
pub struct SixByTen;

/// Shape of the gamma variables behind the slow ones: skewness about −0.36.
const SIX_SHAPE: f64 = 8.0;

/// x = M s: every x leans on all before it.
fn mixing(i: usize, j: usize) -> f64 {
    match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => 0.8 * if (i + j).is_multiple_of(2) { 1.0 } else { -1.0 },
    }
}

impl SixByTen {
    fn sources(x: &[f64]) -> [f64; 6] {
        let mut s = [0.0; 6];
        for i in 0..6 {
            s[i] = x[i] - (0..i).map(|j| mixing(i, j) * s[j]).sum::<f64>();
        }
        s
    }

    pub fn log_marginal(x: &[f64]) -> f64 {
        Self::sources(x)
            .iter()
            .map(|s| log_gamma_density(*s, SIX_SHAPE))
            .sum()
    }

    /// The exact mean and variance of each x, by quadrature of one source.
    pub fn moments() -> ([f64; 6], [f64; 6]) {
        let (low, high, cells) = (-6.0, 3.0, 100_000);
        let h = (high - low) / f64::from(cells);
        let (mut m1, mut m2) = (0.0, 0.0);
        for i in 0..cells {
            let s = low + (f64::from(i) + 0.5) * h;
            let p = log_gamma_density(s, SIX_SHAPE).exp() * h;
            m1 += s * p;
            m2 += s * s * p;
        }
        let variance = m2 - m1 * m1;
        let mut moments = ([0.0; 6], [0.0; 6]);
        for i in 0..6 {
            for j in 0..=i {
                moments.0[i] += mixing(i, j) * m1;
                moments.1[i] += mixing(i, j).powi(2) * variance;
            }
        }
        moments
    }
}

impl Target for SixByTen {
    type Cache = (f64, [f64; 10], [f64; 10]);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let (mut centre, mut width) = ([0.0; 10], [0.0; 10]);
        for k in 0..10 {
            let (a, b) = (x[k % 6], x[(k + 2) % 6]);
            centre[k] = 5.0 * a + 2.0 * (a * b).sin() + 3.0 * (b + k as f64).cos();
            width[k] = 0.3 * (0.5 * (a - b)).tanh().exp();
        }
        Ok(Some((Self::log_marginal(x), centre, width)))
    }

    fn log_density(&self, (log_x, centre, width): &Self::Cache, y: &[f64]) -> f64 {
        let mut sum = *log_x;
        let mut before = 0.0;
        for k in 0..10 {
            let u = (y[k] - centre[k]) / width[k];
            sum += log_gamma_density(u - 0.5 * before, 6.0) - width[k].ln();
            before = u;
        }
        sum
    }
}

/// Chains after a warm-up each.
pub struct Sampled {
    /// For each slow variable, its draws in each chain.
    pub xs: Vec<Vec<Vec<f64>>>,
    pub warm: Vec<Warm>,
    pub totals: Info,
    pub health: Option<towline::chain::FrameHealth>,
}

impl Sampled {
    pub fn slices(&self, k: usize) -> Vec<&[f64]> {
        self.xs[k].iter().map(Vec::as_slice).collect()
    }

    pub fn autocorrelation_time(&self, k: usize) -> f64 {
        pooled_autocorrelation_time(&self.slices(k), None).value
    }

    /// Slow evaluations per effective draw of the worst slow variable, and fast evaluations per slow one.
    pub fn cost(&self) -> (f64, f64) {
        let steps: usize = self.xs[0].iter().map(Vec::len).sum();
        let slow = self.totals.slow_evaluations as f64;
        let worst = (0..self.xs.len())
            .map(|k| self.autocorrelation_time(k))
            .fold(0.0, f64::max);
        (
            worst * slow / steps as f64,
            self.totals.fast_evaluations as f64 / slow,
        )
    }

    /// How far the mean of f(x_k) is from the truth, in standard errors.
    pub fn z(&self, k: usize, f: impl Fn(f64) -> f64, truth: f64) -> f64 {
        let values: Vec<Vec<f64>> = self.xs[k]
            .iter()
            .map(|c| c.iter().map(|x| f(*x)).collect())
            .collect();
        let slices: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        (mean(&slices) - truth) / mcse_mean(&slices)
    }
}

/// Runs chains that warm up together; `change` may change what was tuned before it is used.
pub fn sample<T: Target + Sync>(
    target: &T,
    start: (&[f64], &[f64]),
    warmup: Warmup,
    (seed, chains, draws): (u64, u64, u64),
    change: impl Fn(&mut Tuning) + Sync,
) -> Sampled {
    let together = Together::new(chains as usize, 2);
    let one = |k: u64| {
        together.member(k as usize).begin(|member| {
            let mut rng = Rng::stream(seed, k);
            let warm = warmup.run_pooled(target, start.0, start.1, &mut rng, member);
            let mut warm = warm.unwrap();
            change(&mut warm.tuning);
            let kernel = warm.tuning.kernel().unwrap();
            let target: &AnyTarget = &Erased(target);
            let chain = Chain::new(target, kernel, &warm.x, &warm.y, rng).unwrap();
            let mut chain = chain.watching(warm.tuning.frame_health());
            let columns = record(&mut chain, draws);
            (warm, columns, chain.totals(), chain.health().cloned())
        })
    };
    let ran: Vec<_> = std::thread::scope(|scope| {
        let one = &one;
        let started: Vec<_> = (0..chains).map(|k| scope.spawn(move || one(k))).collect();
        started.into_iter().map(|c| c.join().unwrap()).collect()
    });
    let mut sampled = Sampled {
        xs: vec![Vec::new(); start.0.len()],
        warm: Vec::new(),
        totals: Info::default(),
        health: None,
    };
    for (warm, columns, totals, health) in ran {
        for (all, column) in sampled.xs.iter_mut().zip(columns) {
            all.push(column);
        }
        sampled.totals += totals;
        match (&mut sampled.health, health) {
            (Some(all), Some(one)) => all.merge(&one),
            (none, one) => *none = one,
        }
        sampled.warm.push(warm);
    }
    sampled
}

/// The slow variables of so many draws, one column each.
pub fn record<T: Target>(chain: &mut Chain<T>, draws: u64) -> Vec<Vec<f64>> {
    let mut columns = vec![Vec::with_capacity(draws as usize); chain.x().len()];
    chain
        .run(draws, |draw: &Draw<'_>| {
            for (column, value) in columns.iter_mut().zip(draw.x) {
                column.push(*value);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    columns
}

/// The autocorrelation time of marginal Metropolis with the same steps: what dragging is measured against.
pub fn marginal_ideal(log_marginal: impl Fn(f64) -> f64, sd: f64, draws: u64) -> f64 {
    struct Marginal<F>(F);
    impl<F: Fn(f64) -> f64> Target for Marginal<F> {
        type Cache = f64;
        fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
            Ok(Some((self.0)(x[0])))
        }
        fn log_density(&self, value: &f64, _: &[f64]) -> f64 {
            *value
        }
    }
    let kernel = Kernel::metropolis(towline::SlowProposal::random_walk(&[sd]).unwrap());
    let target = Marginal(log_marginal);
    let erased = Erased(&target);
    let mut chain = Chain::new(
        &erased as &AnyTarget,
        kernel,
        &[0.0],
        &[],
        Rng::stream(99, 0),
    )
    .unwrap();
    let column = record(&mut chain, draws).remove(0);
    towline::diagnose::autocorrelation_time(&column).value
}

/// How many draws: enough for every day, or with `TOWLINE_LONG` (`make test-long`) so many that a tail that is not reached is seen.
pub fn draws(daily: u64, long: u64) -> u64 {
    if std::env::var_os("TOWLINE_LONG").is_some() {
        long
    } else {
        daily
    }
}
