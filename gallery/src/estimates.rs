//! Whether estimates by weights are as good as they say: replicated runs on targets whose moments and constants are known.

use crate::known::{Known, following};
use crate::targets;
use statrs::function::gamma::ln_gamma;
use std::f64::consts::{E, PI, TAU};
use std::sync::Mutex;
use towline::chain::Solo;
use towline::estimate::{Estimates, Estimator, Scale};
use towline::{Column, Cost, Model, ModelError, Rng, Role, Target, Warmup};

/// Independent draws from which true moments come.
const TRUTH: usize = 2_000_000;

/// The standard error that is asked for, by which learning ends.
const ERROR: f64 = 0.03;

/// A target with the logarithm of its integral.
#[derive(Debug)]
pub struct Constant {
    /// The target.
    pub target: Known,
    /// ln Z.
    pub ln_z: f64,
}

/// Every target whose constant is known, by name.
pub fn all() -> Vec<Constant> {
    let normal = |d: f64| 0.5 * d * TAU.ln();
    // erfc(1).
    let neal1 = 0.5 * (PI / 50.0).ln() + (PI * E * 0.157_299_207_050_285_13_f64).ln();
    let named = |name: &str| targets::all().into_iter().find(|t| t.name == name);
    let mut list = Vec::new();
    let mut add = |target: Option<Known>, ln_z: f64| {
        list.extend(target.map(|target| Constant { target, ln_z }));
    };
    add(named("neal1"), neal1);
    add(named("neal2"), neal1 + 0.5 * (PI / 12.5).ln());
    // Four fast variables of width s = 0.1/(1 + x²): each integrates to s Γ(h) h^(−h), or all of them to s⁴ times the constant of
    // Student's t with four degrees of freedom in four dimensions, (4π)² Γ(2)/Γ(4).
    let width = |x: f64| (0.1 / (1.0 + x * x)).ln();
    let skewed = |x: f64| {
        let h = 1.0 + 0.5 * x * x;
        -x * x + 4.0 * (width(x) + ln_gamma(h) - h * h.ln())
    };
    add(named("skew4"), log_integral(skewed));
    let heavy = |x: f64| -x * x + 4.0 * width(x);
    add(
        named("student4"),
        log_integral(heavy) + ((4.0 * PI).powi(2) / 6.0).ln(),
    );
    add(named("banana"), (TAU * 0.3).ln() + normal(4.0));
    // Two milder ones, of width 0.6; and three variables whose exponentials are exponential, each of which integrates to one.
    add(named("banana4"), 2.0 * (TAU * 0.6).ln() + normal(3.0));
    add(named("loggamma3"), normal(3.0));
    // Two modes with weights that add up to one, and two fast variables: √2π for each of the three.
    add(named("near2"), 3.0 / 2.0 * TAU.ln());
    for slow in [2, 6, 12, 20] {
        add(Some(correlated(slow)), normal(slow as f64 + 3.0));
    }
    list
}

/// ln ∫ exp of a function of one variable that is gone beyond 10, by the trapezium rule.
fn log_integral(log: impl Fn(f64) -> f64) -> f64 {
    const STEP: f64 = 1e-3;
    let terms = (-10_000..=10_000).map(|k| log(STEP * f64::from(k)).exp());
    (STEP * terms.sum::<f64>()).ln()
}

/// Correlated normal slow variables (each leans on the one before by 0.8), and three fast ones that wind with them.
fn correlated(slow: usize) -> Known {
    const LEAN: f64 = 0.8;
    following(
        &format!("normal{slow}"),
        "correlated normal slow variables",
        vec![0.3; slow],
        3,
        |x| {
            let mut before = 0.0;
            let rest = x.iter().map(|v| {
                let rest = v - LEAN * before;
                before = *v;
                rest * rest
            });
            -0.5 * rest.sum::<f64>()
        },
        move |rng| {
            let mut before = 0.0;
            let mut next = |rng: &mut Rng| {
                before = LEAN * before + rng.normal();
                before
            };
            (0..slow).map(|_| next(rng)).collect()
        },
        |x, k| (x[0] + 0.3 * k as f64).sin() + 0.2 * x[x.len() - 1].powi(2),
        |x, k| 0.1 * (0.3 * (x[0] + k as f64).sin()).exp(),
    )
}

/// A target that reports its variables and their squares.
#[derive(Debug)]
struct Squared<'a>(&'a Known);

impl Target for Squared<'_> {
    type Cache = Vec<f64>;

    fn prepare(&self, x: &[f64]) -> Result<Option<Vec<f64>>, ModelError> {
        self.0.prepare(x)
    }

    fn log_density(&self, x: &Vec<f64>, y: &[f64]) -> f64 {
        self.0.density(x, y)
    }
}

impl Model for Squared<'_> {
    fn columns(&self) -> Vec<Column> {
        let squares = |c: Column| {
            [
                c.clone(),
                Column::new(format!("{}²", c.name), Role::Derived),
            ]
        };
        self.0.columns().into_iter().flat_map(squares).collect()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &Vec<f64>, row: &mut [f64]) {
        for (pair, v) in row.chunks_exact_mut(2).zip(x.iter().chain(y)) {
            pair.copy_from_slice(&[*v, v * v]);
        }
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        self.0.start(rng)
    }
}

/// What was found with so many points.
#[derive(Debug, Clone)]
pub struct Replicated {
    /// Points.
    pub points: usize,
    /// Root mean square of the z-scores of means of variables, of their squares, of their standard deviations, and of ln Z.
    pub rms: [f64; 4],
    /// The largest z-score.
    pub worst: f64,
    /// Slow evaluations that learning took, in the mean.
    pub learned: f64,
    /// The standard deviation of the log weights, in the mean.
    pub spread: f64,
    /// Equivalent draws of the worst slow mean, by slow evaluations in all.
    pub worth: f64,
    /// How often the weights' tail was called poor.
    pub poor: usize,
    /// Mean and root mean square of the z-scores of each column's mean, of the variables' standard deviations, and of ln Z.
    pub scores: Vec<(String, f64, f64)>,
}

/// Runs a target so many times with each number of points, on all cores.
///
/// # Errors
/// A model's failure.
pub fn replicate(
    known: &Constant,
    replicates: u64,
    counts: &[usize],
) -> Result<Vec<Replicated>, towline::Error> {
    let truth = truth(&known.target);
    let queue = Mutex::new(0..replicates);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = std::thread::scope(|scope| {
        let one = || {
            let mut done = Vec::new();
            loop {
                let next = queue.lock().expect("no worker panics").next();
                let Some(seed) = next else { break Ok(done) };
                done.push((seed, once(known, seed, counts)?));
            }
        };
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().expect("no worker panics")?);
        }
        Ok::<_, towline::Error>(all)
    })?;
    all.sort_by_key(|(seed, _)| *seed);
    let of = |(k, points): (usize, &usize)| {
        let now = all
            .iter()
            .filter_map(|(_, (learned, found))| Some((*learned, found.get(k)?.as_ref()?)));
        Replicated::new(known, *points, &truth, &now.collect::<Vec<_>>())
    };
    Ok(counts.iter().enumerate().map(of).collect())
}

/// Slow evaluations that learning took, and what each number of points says.
type Once = (f64, Vec<Option<Estimates>>);

/// One replicate: learned anew, and weighed.
fn once(known: &Constant, seed: u64, counts: &[usize]) -> Result<Once, towline::Error> {
    let model = Squared(&known.target);
    let names: Vec<String> = model.columns().into_iter().map(|c| c.name).collect();
    let mut rng = Rng::stream(500 + seed, 0);
    let warmup = Warmup {
        cost: Cost::Ratio(1000.0),
        error: Some(ERROR),
        ..Warmup::default()
    };
    let failed = |source| towline::Error::Model {
        x: Vec::new(),
        y: Vec::new(),
        source,
    };
    let (x, y) = known.target.start(&mut rng).map_err(failed)?;
    let warming = warmup.begin(&model, &x, &y, rng, &mut Solo)?;
    let warming = warmup.advance(&model, warming, &mut Solo)?;
    let learned = warming.spent().slow_evaluations as f64;
    let Some(scale) = Scale::new(warming.tuning(), 700 + seed) else {
        return Ok((learned, Vec::new()));
    };
    let most = counts.iter().copied().max().unwrap_or(0);
    let places = scale.points(most);
    let weigh = |(k, x): (usize, &Vec<f64>)| scale.weigh(&model, k, x);
    let points = places.iter().enumerate().map(weigh);
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let estimator = Estimator::new(scale, names, ERROR, 1);
    let found = counts
        .iter()
        .map(|&count| estimator.estimates(&points[..count]));
    Ok((learned, found.collect()))
}

impl Replicated {
    /// From what each replicate learned from and found with so many points.
    fn new(
        known: &Constant,
        points: usize,
        truth: &[(f64, f64)],
        all: &[(f64, &Estimates)],
    ) -> Self {
        let mut scores: Vec<(String, Vec<f64>)> = Vec::new();
        let mut note = |name: &str, z: f64| match scores.iter_mut().find(|(n, _)| n == name) {
            Some((_, list)) => list.push(z),
            None => scores.push((name.to_owned(), vec![z])),
        };
        for (_, now) in all {
            for (column, (mean, error)) in now.columns.iter().zip(truth) {
                note(&column.name, (column.mean - mean) / column.se.hypot(*error));
            }
            // Each variable is followed by its square.
            for (k, column) in now.columns.iter().enumerate().step_by(2) {
                let sd = (truth[k + 1].0 - truth[k].0.powi(2)).sqrt();
                let z = (column.sd - sd) / column.se_sd.hypot(truth[k + 1].1 / (2.0 * sd));
                note(&format!("sd of {}", column.name), z);
            }
            if let Some(evidence) = now.evidence {
                note("ln Z", (evidence.ln_z - known.ln_z) / evidence.se);
            }
        }
        let rms = |lists: &[(String, Vec<f64>)]| {
            let squares = lists.iter().flat_map(|(_, z)| z).map(|z| z * z);
            let count = lists.iter().map(|(_, z)| z.len()).sum::<usize>();
            (squares.sum::<f64>() / count as f64).sqrt()
        };
        let every_second = |from: usize| -> Vec<_> {
            let columns = scores.iter().take(truth.len());
            columns.skip(from).step_by(2).cloned().collect()
        };
        let (sds, evidence) = scores[truth.len()..].split_at(truth.len() / 2);
        let share = 1.0 / all.len() as f64;
        let mean = |of: &dyn Fn(&(f64, &Estimates)) -> f64| share * all.iter().map(of).sum::<f64>();
        let worth = |(learned, now): &(f64, &Estimates)| {
            let slow = now.columns[..2 * known.target.slow].iter().step_by(2);
            let least = slow.map(|c| c.equivalent_draws);
            least.fold(f64::INFINITY, f64::min) / (learned + points as f64)
        };
        let all_scores = scores.iter().flat_map(|(_, z)| z);
        Self {
            points,
            rms: [
                rms(&every_second(0)),
                rms(&every_second(1)),
                rms(sds),
                rms(evidence),
            ],
            worst: all_scores.fold(0.0, |most: f64, z| most.max(z.abs())),
            learned: mean(&|(learned, _)| *learned),
            spread: mean(&|(_, now)| now.spread),
            worth: mean(&worth),
            poor: all.iter().filter(|(_, now)| now.is_poor()).count(),
            scores: scores
                .iter()
                .map(|one| {
                    let (name, z) = one;
                    let mean = z.iter().sum::<f64>() / z.len() as f64;
                    (name.clone(), mean, rms(std::slice::from_ref(one)))
                })
                .collect(),
        }
    }
}

/// The means of all columns with their errors, by independent draws.
fn truth(target: &Known) -> Vec<(f64, f64)> {
    let mut rng = Rng::stream(31, 0);
    let width = 2 * (target.slow + target.judged_fast);
    let (mut sums, mut squares) = (vec![0.0; width], vec![0.0; width]);
    for _ in 0..TRUTH {
        let (x, y) = target.draw(&mut rng);
        let all = x.iter().chain(&y).flat_map(|v| [*v, v * v]);
        for ((sum, square), v) in sums.iter_mut().zip(&mut squares).zip(all) {
            *sum += v;
            *square += v * v;
        }
    }
    let count = TRUTH as f64;
    let one = |(sum, square): (&f64, &f64)| {
        let mean = sum / count;
        (mean, ((square / count - mean * mean) / count).sqrt())
    };
    sums.iter().zip(&squares).map(one).collect()
}
