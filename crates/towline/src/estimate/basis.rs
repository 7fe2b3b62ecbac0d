//! What all averages over one set of points share: the weights, the regression on the controls, and how errors follow.

use super::control::{Average, Controls, Regression};
use super::estimates::ColumnEstimate;
use super::variance::variance;

/// The probabilities of the quantiles.
const PROBABILITIES: [f64; 3] = [0.05, 0.5, 0.95];

/// What all averages of one set of points share.
pub(super) struct Basis {
    regression: Regression,
    controls: Controls,
    /// Weights, the largest being one.
    weights: Vec<f64>,
    /// The average of them.
    total: Average,
}

impl Basis {
    /// By controls, where no point decides alone what they take away.
    pub fn new(
        controls: Controls,
        whitened: &[Vec<f64>],
        ratios: &[f64],
        weights: &[f64],
    ) -> Option<Self> {
        // Under the density that points are drawn from the ratio itself has mean one, and its products with the controls mean zero.
        let mixed = ratios.iter().any(|ratio| *ratio != 1.0);
        let row = |(w, ratio): (&Vec<f64>, &f64)| {
            let controls = controls.at(w).into_iter().map(|c| ratio * c);
            controls.chain(mixed.then_some(ratio - 1.0)).collect()
        };
        let rows: Vec<Vec<f64>> = whitened.iter().zip(ratios).map(row).collect();
        let regression = Regression::new(&rows, &controls.penalties())
            .filter(|regression| regression.is_even(controls.most_leverage()))?;
        Self::with(controls, regression, weights)
    }

    /// By the weights alone.
    pub fn plain(none: Controls, weights: &[f64]) -> Option<Self> {
        let regression = Regression::new(&vec![Vec::new(); weights.len()], &[])?;
        Self::with(none, regression, weights)
    }

    fn with(controls: Controls, regression: Regression, weights: &[f64]) -> Option<Self> {
        let total = regression.of(weights);
        let sound = total.value > 0.0 && total.left_out.iter().all(|t| *t > 0.0);
        sound.then(|| Self {
            regression,
            controls,
            weights: weights.to_vec(),
            total,
        })
    }

    /// How many controls take part.
    pub fn controls(&self) -> usize {
        self.controls.len()
    }

    /// The average of weight times something.
    fn weighted(&self, values: &[f64]) -> Average {
        let products: Vec<f64> = self
            .weights
            .iter()
            .zip(values)
            .map(|(w, v)| w * v)
            .collect();
        self.regression.of(&products)
    }

    /// The standard error of a function of averages: of the points by a jackknife, of the free draws by its slopes.
    fn error(&self, left_out: &[f64], slopes: &[f64]) -> f64 {
        (variance(left_out) + self.controls.free_variance(slopes)).sqrt()
    }

    /// The logarithm of the mean weight, by the largest one, and its standard error.
    pub fn log_total(&self) -> (f64, f64) {
        let by_total = |v: &f64| v / self.total.value;
        let left: Vec<f64> = self.total.left_out.iter().map(|t| t.ln()).collect();
        let slopes: Vec<f64> = self.total.slopes.iter().map(by_total).collect();
        (self.total.value.ln(), self.error(&left, &slopes))
    }

    /// A mean, and its standard error.
    fn mean(&self, values: &[f64]) -> (f64, f64, Vec<f64>) {
        let average = self.weighted(values);
        let mean = average.value / self.total.value;
        let left_out: Vec<f64> = average
            .left_out
            .iter()
            .zip(&self.total.left_out)
            .map(|(a, t)| a / t)
            .collect();
        let slopes = average.slopes.iter().zip(&self.total.slopes);
        let slopes: Vec<f64> = slopes
            .map(|(a, t)| (a - mean * t) / self.total.value)
            .collect();
        let error = self.error(&left_out, &slopes);
        (mean, error, left_out)
    }
}

impl Basis {
    /// The share of each point in every mean.
    pub fn shares(&self) -> Vec<f64> {
        let shares = self.weights.iter().zip(&self.regression.shares);
        shares.map(|(w, s)| w * s / self.total.value).collect()
    }

    /// One column from its draws at each point.
    pub fn column(&self, name: &str, draws: &[Vec<f64>]) -> ColumnEstimate {
        // Seen from near the mean, in units near the standard deviation: squares must not lose digits.
        let (centre, unit) = rough(&self.weights, draws);
        let mean_of = |power: i32| -> Vec<f64> {
            let of = |draws: &Vec<f64>| {
                let sum: f64 = draws
                    .iter()
                    .map(|v| ((v - centre) / unit).powi(power))
                    .sum();
                sum / draws.len().max(1) as f64
            };
            draws.iter().map(of).collect()
        };
        let (mean, se, left) = self.mean(&mean_of(1));
        let (square, _, left_square) = self.mean(&mean_of(2));
        let variance = square - mean * mean;
        let left_sd: Vec<f64> = left_square
            .iter()
            .zip(&left)
            .map(|(s, m)| (s - m * m).max(0.0).sqrt())
            .collect();
        // The free draws' part: (u − mean)² has the slopes of u² − 2 mean u.
        let centred: Vec<f64> = draws
            .iter()
            .map(|draws| {
                let sum: f64 = draws
                    .iter()
                    .map(|v| ((v - centre) / unit - mean).powi(2))
                    .sum();
                sum / draws.len().max(1) as f64
            })
            .collect();
        let sd = variance.max(0.0).sqrt();
        let se_sd = {
            let average = self.weighted(&centred);
            let slopes = average.slopes.iter().zip(&self.total.slopes);
            let slopes: Vec<f64> = slopes
                .map(|(a, t)| (a - variance * t) / self.total.value / (2.0 * sd))
                .collect();
            self.error(&left_sd, &slopes)
        };
        let (quantiles, se_quantiles) = self.quantiles(draws);
        ColumnEstimate {
            name: name.to_owned(),
            mean: centre + unit * mean,
            sd: unit * sd,
            se: unit * se,
            se_sd: unit * se_sd,
            equivalent_draws: (sd / se).powi(2),
            quantiles,
            se_quantiles,
        }
    }

    /// Quantiles by the points' shares; their errors by that of the probability below them.
    fn quantiles(&self, draws: &[Vec<f64>]) -> ([f64; 3], [f64; 3]) {
        let shares = self.shares();
        let mut all: Vec<(f64, f64)> = draws
            .iter()
            .zip(&shares)
            .flat_map(|(draws, share)| {
                let each = share / draws.len().max(1) as f64;
                draws.iter().map(move |v| (*v, each))
            })
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |p: f64| {
            let mut sum = 0.0;
            let beyond = all.iter().find(|(_, share)| {
                sum += share;
                sum >= p
            });
            beyond.or(all.last()).map_or(f64::NAN, |(v, _)| *v)
        };
        let quantiles = PROBABILITIES.map(at);
        let mut errors = [0.0; 3];
        for (k, p) in PROBABILITIES.into_iter().enumerate() {
            let below: Vec<f64> = draws
                .iter()
                .map(|draws| {
                    let below = draws.iter().filter(|v| **v <= quantiles[k]).count();
                    below as f64 / draws.len().max(1) as f64
                })
                .collect();
            let (_, error, _) = self.mean(&below);
            errors[k] = 0.5 * (at((p + error).min(1.0)) - at((p - error).max(0.0)));
        }
        (quantiles, errors)
    }
}

/// A mean and a standard deviation by plain weights.
fn rough(weights: &[f64], draws: &[Vec<f64>]) -> (f64, f64) {
    let total: f64 = weights
        .iter()
        .zip(draws)
        .filter(|(_, d)| !d.is_empty())
        .map(|(w, _)| w)
        .sum();
    let mean_of = |of: &dyn Fn(f64) -> f64| {
        let one = |(w, draws): (&f64, &Vec<f64>)| {
            w * draws.iter().map(|v| of(*v)).sum::<f64>() / draws.len().max(1) as f64
        };
        weights.iter().zip(draws).map(one).sum::<f64>() / total
    };
    let centre = mean_of(&|v| v);
    let unit = mean_of(&|v| (v - centre).powi(2)).sqrt();
    (centre, if unit > 0.0 { unit } else { 1.0 })
}
