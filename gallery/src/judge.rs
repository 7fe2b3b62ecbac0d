//! Whether estimates from several seeds are right: z-scores of moments and tail masses against independent draws.

use crate::known::Known;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use towline::Rng;
use towline::diagnose::pooled_autocorrelation_time;

/// Independent draws from which true values come; their own error is part of every z-score.
pub const TRUTH_DRAWS: usize = 1_000_000;
/// The seed of those draws.
const TRUTH_SEED: u64 = 20_040_901;
/// Tail masses that are judged, on either side together.
const TAILS: [f64; 2] = [0.01, 0.001];
/// Functions of each variable: mean, square, fourth power, and the tails.
const FUNCTIONS: usize = 3 + TAILS.len();

/// What is true of each variable.
#[derive(Debug, Clone)]
pub struct Truth {
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// Quantiles of |x − centre| beyond which the tails lie, for each variable.
    edges: Vec<[f64; TAILS.len()]>,
    /// The means of all functions, and their standard errors.
    means: Vec<f64>,
    errors: Vec<f64>,
}

/// The means of all functions over one seed's draws, and how many effective draws each rests on.
#[derive(Debug, Clone)]
pub struct Own {
    means: Vec<f64>,
    effective: Vec<f64>,
}

impl Own {
    /// The means of all functions.
    pub fn means(&self) -> &[f64] {
        &self.means
    }
}

impl Truth {
    /// From independent draws.
    pub fn of(target: &Known) -> Self {
        let mut rng = Rng::stream(TRUTH_SEED, 0);
        let width = target.slow + target.judged_fast;
        let mut columns = vec![Vec::with_capacity(TRUTH_DRAWS); width];
        for _ in 0..TRUTH_DRAWS {
            let (x, y) = target.draw(&mut rng);
            for (column, v) in columns.iter_mut().zip(target.shown(x).iter().chain(&y)) {
                column.push(*v);
            }
        }
        let mut truth = Self {
            centre: Vec::new(),
            scale: Vec::new(),
            edges: Vec::new(),
            means: Vec::new(),
            errors: Vec::new(),
        };
        for column in &columns {
            // Median and quartiles: heavy tails have no sd to speak of.
            let mut sorted = column.clone();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64) as usize];
            truth.centre.push(at(0.5));
            truth
                .scale
                .push(((at(0.75) - at(0.25)) / 1.349).max(1e-300));
            let mut far: Vec<f64> = column.iter().map(|v| (v - at(0.5)).abs()).collect();
            far.sort_by(f64::total_cmp);
            truth
                .edges
                .push(TAILS.map(|tail| far[((1.0 - tail) * (far.len() - 1) as f64) as usize]));
        }
        let count = TRUTH_DRAWS as f64;
        for (k, column) in columns.iter().enumerate() {
            let (mut sums, mut squares) = ([0.0; FUNCTIONS], [0.0; FUNCTIONS]);
            for v in column {
                for (j, value) in truth.functions(k, *v).into_iter().enumerate() {
                    sums[j] += value;
                    squares[j] += value * value;
                }
            }
            for j in 0..FUNCTIONS {
                let mean = sums[j] / count;
                truth.means.push(mean);
                let variance = (squares[j] / count - mean * mean).max(0.0);
                truth.errors.push((variance / count).sqrt());
            }
        }
        truth
    }

    /// The functions of variable k that are judged, at a value of it. Powers are of what is within reach: in a heavy tail they
    /// would have no variance, and that mass is judged by the tails.
    pub fn functions(&self, k: usize, value: f64) -> [f64; FUNCTIONS] {
        let w = (value - self.centre[k]) / self.scale[k];
        let near = w.clamp(-REACH, REACH);
        let far = (value - self.centre[k]).abs();
        let mut all = [near, near * near, near.powi(4), 0.0, 0.0];
        for (j, edge) in self.edges[k].iter().enumerate() {
            all[3 + j] = f64::from(u8::from(far > *edge));
        }
        all
    }

    /// How many variables are judged.
    pub fn variables(&self) -> usize {
        self.centre.len()
    }

    /// z-scores of all functions from the means of independent seeds (a list of all functions' means for each seed).
    ///
    /// The spread is that over the seeds, so that nothing is taken on trust from a run's own errors; Student's t is turned
    /// into the normal score of the same probability.
    pub fn scores(&self, seeds: &[Vec<f64>]) -> Vec<f64> {
        let count = seeds.len() as f64;
        (0..self.means.len())
            .map(|j| {
                let mean = seeds.iter().map(|s| s[j]).sum::<f64>() / count;
                let variance =
                    seeds.iter().map(|s| (s[j] - mean).powi(2)).sum::<f64>() / (count - 1.0);
                let error = (variance / count + self.errors[j].powi(2)).sqrt();
                if error == 0.0 {
                    return 0.0;
                }
                normal_score((mean - self.means[j]) / error, count - 1.0)
            })
            .collect()
    }

    /// z-scores of all functions from some seeds alone, by the errors that a user of these runs would compute: the target's own spread
    /// and each run's own autocorrelation time. For a few seeds, whose spread says nothing.
    pub fn own_scores(&self, seeds: &[Own]) -> Vec<f64> {
        let count = seeds.len() as f64;
        (0..self.means.len())
            .map(|j| {
                let off: f64 = seeds.iter().map(|s| s.means[j] - self.means[j]).sum();
                let spread = self.errors[j].powi(2) * TRUTH_DRAWS as f64;
                let variance: f64 = seeds.iter().map(|s| spread / s.effective[j]).sum();
                let error = (variance + (count * self.errors[j]).powi(2)).sqrt();
                if error == 0.0 { 0.0 } else { off / error }
            })
            .collect()
    }

    /// What a seed's draws say by themselves: chains by variable.
    pub fn own(&self, columns: &[Vec<Vec<f64>>]) -> Own {
        let mut effective = Vec::new();
        for (k, chains) in columns.iter().enumerate() {
            let draws: usize = chains.iter().map(Vec::len).sum();
            effective.extend((0..FUNCTIONS).map(|j| draws as f64 / self.time(k, j, chains)));
        }
        Own {
            means: self.means_of(columns),
            effective,
        }
    }

    /// The autocorrelation time of function j of variable k, at least one.
    pub fn time(&self, k: usize, j: usize, chains: &[Vec<f64>]) -> f64 {
        let of: Vec<Vec<f64>> = chains
            .iter()
            .map(|chain| chain.iter().map(|v| self.functions(k, *v)[j]).collect())
            .collect();
        let slices: Vec<&[f64]> = of.iter().map(Vec::as_slice).collect();
        let time = pooled_autocorrelation_time(&slices, None).value;
        // Draws that never leave one side of an edge have none.
        if time.is_nan() { 1.0 } else { time.max(1.0) }
    }

    /// What a score is of.
    pub fn label(&self, score: usize, slow: usize) -> String {
        let (variable, function) = (score / FUNCTIONS, score % FUNCTIONS);
        let what = ["mean", "square", "fourth power", "1 % tail", "0.1 % tail"][function];
        match variable < slow {
            true => format!("{what} of x{}", variable + 1),
            false => format!("{what} of y{}", variable - slow + 1),
        }
    }

    /// The means of all functions over the draws of one seed: chains by variable.
    pub fn means_of(&self, columns: &[Vec<Vec<f64>>]) -> Vec<f64> {
        let mut means = Vec::new();
        for (k, chains) in columns.iter().enumerate() {
            let mut sums = [0.0; FUNCTIONS];
            let mut count = 0.0;
            for v in chains.iter().flatten() {
                for (sum, value) in sums.iter_mut().zip(self.functions(k, *v)) {
                    *sum += value;
                }
                count += 1.0;
            }
            means.extend(sums.map(|sum| sum / count));
        }
        means
    }
}

/// Powers count out to so many (robust) standard deviations.
const REACH: f64 = 8.0;

/// The normal score as improbable as this t.
fn normal_score(t: f64, freedom: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom).expect("positive degrees of freedom");
    let normal = Normal::new(0.0, 1.0).expect("a unit normal");
    let tail = student.cdf(-t.abs()).max(1e-300);
    -normal.inverse_cdf(tail) * t.signum()
}
