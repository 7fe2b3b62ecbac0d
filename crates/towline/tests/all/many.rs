//! Twenty thousand fast variables, each a little off its frame: warm-up has to bring y to its own energy, and to learn what
//! Laplace's estimate of the marginal misses.

use std::sync::Arc;
use towline::erased::{AnyTarget, Erased};
use towline::linalg::{Root, RootMap};
use towline::{Chain, Cost, ModelError, OwnFrame, Rng, Scratch, Target, Warmup};

const GROUPS: usize = 20_000;
const LOG_RATE: f64 = 0.2;
const TRUE_SD: f64 = 0.9;
/// Most counts are below this; larger ones are taken as this.
const MOST: usize = 60;

/// Poisson counts of groups with normal effects: x is the log of their standard deviation, y the effects divided by it.
struct Groups {
    counts: Vec<f64>,
}

/// A diagonal root.
#[derive(Debug)]
struct Widths(Vec<f64>);

impl RootMap for Widths {
    fn apply(&self, z: &[f64], out: &mut [f64]) {
        for ((out, z), w) in out.iter_mut().zip(z).zip(&self.0) {
            *out = z * w;
        }
    }

    fn solve(&self, v: &mut [f64], out: &mut [f64]) {
        for ((out, v), w) in out.iter_mut().zip(v).zip(&self.0) {
            *out = *v / w;
        }
    }

    fn apply_transposed(&self, v: &mut [f64], out: &mut [f64]) {
        self.apply(v, out);
    }

    fn log_det(&self) -> f64 {
        self.0.iter().map(|w| w.ln()).sum()
    }
}

impl Groups {
    fn new() -> Self {
        let mut rng = Rng::stream(20, 0);
        let mut count = || {
            let mean = (LOG_RATE + TRUE_SD * rng.normal()).exp();
            let mut left = mean;
            let mut count = 0;
            loop {
                left -= rng.exponential();
                if left < 0.0 || count == MOST {
                    return count as f64;
                }
                count += 1;
            }
        };
        let counts = (0..GROUPS).map(|_| count()).collect();
        Self { counts }
    }

    /// ln ∫ N(y; 0, 1) Poisson(k; e^{a + sd y}) dy up to k!, by the trapezoidal rule, which is exact to rounding here.
    fn log_one(sd: f64, count: f64) -> f64 {
        let steps = 1200;
        let at = |k: usize| -12.0 + 24.0 * k as f64 / steps as f64;
        let log = |y: f64| -0.5 * y * y + count * (LOG_RATE + sd * y) - (LOG_RATE + sd * y).exp();
        let logs: Vec<f64> = (0..=steps).map(|k| log(at(k))).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + logs.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
    }

    /// The exact posterior mean and standard deviation of x.
    fn moments(&self) -> (f64, f64) {
        let mut numbers = [0.0; MOST + 1];
        for count in &self.counts {
            numbers[*count as usize] += 1.0;
        }
        let middle = TRUE_SD.ln();
        let grid: Vec<f64> = (-80..=80).map(|k| middle + 0.001 * f64::from(k)).collect();
        let log = |x: &f64| -> f64 {
            let counted = numbers.iter().enumerate().filter(|(_, n)| **n > 0.0);
            let likelihood = counted.map(|(k, n)| n * Self::log_one(x.exp(), k as f64));
            likelihood.sum::<f64>() - 0.5 * x * x
        };
        let logs: Vec<f64> = grid.iter().map(log).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|v| (v - top).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mean = grid.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() / total;
        let square = grid
            .iter()
            .zip(&weights)
            .map(|(x, w)| (x - mean).powi(2) * w);
        (mean, (square.sum::<f64>() / total).sqrt())
    }
}

impl Target for Groups {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let sd = x[0].exp();
        Ok((sd > 0.01 && sd < 20.0).then_some((sd, -0.5 * x[0] * x[0])))
    }

    fn log_density(&self, (sd, prior): &Self::Cache, y: &[f64]) -> f64 {
        let one = |(y, count): (&f64, &f64)| {
            let eta = LOG_RATE + sd * y;
            count * eta - eta.exp() - 0.5 * y * y
        };
        let sum: f64 = y.iter().zip(&self.counts).map(one).sum();
        if sum.is_nan() {
            f64::NEG_INFINITY
        } else {
            prior + sum
        }
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        let sd = cache.0;
        for ((g, y), count) in gradient.iter_mut().zip(y).zip(&self.counts) {
            *g = sd * (count - (LOG_RATE + sd * y).exp()) - y;
        }
        Some(self.log_density(cache, y))
    }

    fn has_own_frame(&self) -> bool {
        true
    }

    fn own_frame(&self, cache: &Self::Cache, _: &[f64], _: &mut Scratch) -> Option<OwnFrame> {
        let sd = cache.0;
        let mode = |count: usize| {
            let mut y = 0.0;
            for _ in 0..60 {
                let rate = (LOG_RATE + sd * y).exp();
                let step: f64 = (sd * (count as f64 - rate) - y) / (1.0 + sd * sd * rate);
                y += step.clamp(-1.0, 1.0);
            }
            let rate = (LOG_RATE + sd * y).exp();
            (y, (1.0 + sd * sd * rate).sqrt().recip())
        };
        let modes: Vec<(f64, f64)> = (0..=MOST).map(mode).collect();
        let of = |count: &f64| modes[*count as usize];
        let centre: Vec<f64> = self.counts.iter().map(|k| of(k).0).collect();
        let root = Widths(self.counts.iter().map(|k| of(k).1).collect());
        let log_marginal = self.log_density(cache, &centre) + root.log_det();
        Some(OwnFrame {
            centre,
            root: Root::Own(Arc::new(root)),
            log_marginal,
            evaluations: 2,
        })
    }
}

#[test]
fn twenty_thousand_fast_variables_are_forgotten_as_fast_as_a_slow_one() {
    let groups = Groups::new();
    let (mean, sd) = groups.moments();
    let warmup = Warmup {
        slow_evaluations: Some(150),
        cost: Cost::Ratio(20.0),
        error: None,
    };
    let mut rng = Rng::stream(1, 0);
    let start = vec![0.0; GROUPS];
    let warm = warmup.run(&groups, &[0.3], &start, &mut rng).unwrap();
    let learned = warm.tuning.trials.iter().find(|t| t.learned_proposal);
    println!(
        "{:?} {:?} {learned:?}",
        warm.tuning.main.n, warm.tuning.shares
    );
    let kernel = warm.tuning.kernel().unwrap();
    let erased = Erased(&groups);
    let mut chain = Chain::new(&erased as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
    let draws = 240;
    let (mut x, mut first) = (Vec::new(), Vec::new());
    for _ in 0..draws {
        chain.advance().unwrap();
        x.push((chain.x()[0] - mean) / sd);
        first.push(chain.log_density());
    }
    // A learned proposal that missed the slope of the marginal would be refused most of the time.
    let moved = x.windows(2).filter(|w| w[0] != w[1]).count() as f64 / draws as f64;
    println!("x moved in {:.0} % of the steps", 100.0 * moved);
    assert!(moved > 0.7, "{moved}");
    // Were y frozen, the density would follow from x alone: what x does not explain must vary as y's energy does.
    let rest = unexplained(&x, &first);
    println!("unexplained standard deviation of the log density: {rest:.1}");
    assert!(rest > 0.5 * (GROUPS as f64 / 2.0).sqrt(), "{rest}");
    let average = x.iter().sum::<f64>() / draws as f64;
    // Some two draws for each effective one.
    let z = average / (2.0 / draws as f64).sqrt();
    println!("mean of x: z = {z:.2}");
    assert!(z.abs() < 4.0);
}

/// The standard deviation that is left of b after regression on a.
fn unexplained(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (ma, mb) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let of = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| f(a - ma, b - mb)).sum::<f64>() / n
    };
    let (aa, ab, bb) = (of(&|a, _| a * a), of(&|a, b| a * b), of(&|_, b| b * b));
    (bb - ab * ab / aa).sqrt()
}
