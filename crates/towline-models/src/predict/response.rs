//! The response at a new row: its expected value and a new response, over all draws, by closed forms and quadrature.

#[cfg(test)]
mod tests;
mod tolerance;

use super::mixture::{Mixture, sample_quantile};
use crate::family::{Family, Observation};
use crate::special::{normal_cdf, normal_density};
use crate::vector::{logistic, logistic_slope};
use tolerance::Tolerance;
use towline::Rng;

/// Steps of quadrature in units of the narrower of the two functions whose product is summed: the error of the
/// trapezoidal rule falls exponentially in the inverse, and is some 1e-9 here.
const STEP: f64 = 0.5;
/// Beyond so many standard deviations a normal density has nothing left to add.
const REACH: f64 = 8.0;
/// What is so much below the highest value is left out.
const NOTHING: f64 = 1e-15;
/// A function of η this smooth everywhere (the logistic) needs no finer steps.
const SMOOTH: f64 = 1.0;
/// So far from 0 the slope of the logistic is below [`NOTHING`].
const STEPS_END: f64 = 40.0;

/// What is predicted at one row, from every draw: the predictor's distribution and the family's parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPrediction {
    /// The linear predictor η.
    pub eta: Mixture,
    /// The family's parameter in each draw; one number where it is the same in all.
    pub parameters: Vec<f64>,
    /// The family.
    pub family: Family,
    /// Trials of a binomial response; else 1.
    pub trials: f64,
}

/// A distribution in five numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Lower quantile.
    pub lower: f64,
    /// Median.
    pub median: f64,
    /// Upper quantile.
    pub upper: f64,
}

impl RowPrediction {
    /// The response's distribution in draw k, but for η.
    pub fn observation(&self, k: usize) -> Observation {
        let parameter = self.parameters.get(k).or(self.parameters.first());
        Observation {
            family: self.family,
            parameter: parameter.copied().unwrap_or(1.0),
            trials: self.trials,
        }
    }

    fn shared(&self) -> bool {
        self.parameters.len() <= 1
    }

    /// The linear predictor; intervals hold with probability `level`.
    pub fn latent(&self, level: f64) -> Interval {
        let tail = 0.5 * (1.0 - level);
        Interval {
            mean: self.eta.mean(),
            sd: self.eta.sd(),
            lower: self.eta.quantile(tail),
            median: self.eta.quantile(0.5),
            upper: self.eta.quantile(1.0 - tail),
        }
    }

    /// E μ and E μ² over η and draws, μ the expected response at η.
    fn moments(&self) -> (f64, f64) {
        let n = self.trials;
        match self.family {
            Family::Poisson | Family::NegativeBinomial => (
                self.eta.average(|m, s| (m + 0.5 * s * s).exp()),
                self.eta.average(|m, s| (2.0 * (m + s * s)).exp()),
            ),
            Family::BernoulliProbit | Family::BinomialProbit => (
                n * self
                    .eta
                    .average(|m, s| normal_cdf(m / (1.0 + s * s).sqrt())),
                n * n
                    * self.eta.average(|m, s| {
                        let slope = |e| 2.0 * normal_cdf(e) * normal_density(e);
                        of_probability(m, s, |e| normal_cdf(e).powi(2), slope)
                    }),
            ),
            Family::BernoulliLogit | Family::BinomialLogit => (
                n * self
                    .eta
                    .average(|m, s| of_probability(m, s, logistic, logistic_slope)),
                n * n
                    * self.eta.average(|m, s| {
                        let slope = |e| 2.0 * logistic(e) * logistic_slope(e);
                        of_probability(m, s, |e| logistic(e).powi(2), slope)
                    }),
            ),
            Family::Gaussian | Family::Softmax => {
                (self.eta.mean(), self.eta.average(|m, s| m * m + s * s))
            }
        }
    }

    /// The mean and standard deviation of the expected response.
    pub fn expected_moments(&self) -> (f64, f64) {
        let (mean, second) = self.moments();
        (mean, (second - mean * mean).max(0.0).sqrt())
    }

    /// The expected response: what the mean of many responses at this row would be.
    pub fn expected(&self, level: f64) -> Interval {
        if self.family == Family::Gaussian {
            return self.latent(level);
        }
        let (mean, second) = self.moments();
        let one = self.observation(0);
        let tail = 0.5 * (1.0 - level);
        // The link is monotone: quantiles go through it.
        let at = |p: f64| one.mean(self.eta.quantile(p));
        Interval {
            mean,
            sd: (second - mean * mean).max(0.0).sqrt(),
            lower: at(tail),
            median: at(0.5),
            upper: at(1.0 - tail),
        }
    }

    /// A new response.
    pub fn predictive(&self, level: f64) -> Interval {
        let (mean, second) = self.moments();
        let noise = match self.family {
            Family::Gaussian | Family::Softmax => {
                let squares = self.parameters.iter().map(|s| s * s).sum::<f64>();
                squares / self.parameters.len().max(1) as f64
            }
            Family::Poisson => mean,
            // μ²/size, draw by draw.
            Family::NegativeBinomial => {
                let mut k = 0;
                mean + self.eta.average(|m, s| {
                    let size = self.observation(k).parameter;
                    k += 1;
                    (2.0 * (m + s * s)).exp() / size
                })
            }
            _ => mean - second / self.trials,
        };
        let tail = 0.5 * (1.0 - level);
        let [lower, median, upper] = self.quantiles([tail, 0.5, 1.0 - tail]);
        Interval {
            mean,
            sd: (second - mean * mean + noise).max(0.0).sqrt(),
            lower,
            median,
            upper,
        }
    }

    /// Quantiles of a new response: for whole numbers, the least with at least that probability.
    pub fn quantiles<const N: usize>(&self, levels: [f64; N]) -> [f64; N] {
        if self.family == Family::Gaussian {
            let count = self.eta.len();
            let noisy = self
                .eta
                .widened((0..count).map(|k| self.observation(k).parameter));
            return levels.map(|p| noisy.quantile(p));
        }
        let one = self.observation(0);
        levels.map(|p| {
            let guess = one.mean(self.eta.quantile(p)).round();
            // A count that no double can hold has infinity for its quantile; nothing is there to search.
            if guess.is_finite() {
                self.search(p, guess)
            } else {
                guess
            }
        })
    }

    /// The least whole number with cumulated probability at least p, looked for from a guess.
    fn search(&self, p: f64, guess: f64) -> f64 {
        let most = self.observation(0).most();
        let enough = |k: f64| k >= most || self.cdf(k) >= p - 1e-12;
        let (mut low, mut high) = (-1.0, guess.clamp(0.0, most));
        let mut step = (0.25 * high.sqrt()).ceil().max(1.0);
        while !enough(high) {
            low = high;
            high = (high + step).min(most);
            step *= 2.0;
        }
        // Down again from where it holds.
        let mut step = (0.25 * high.sqrt()).ceil().max(1.0);
        while high - low > step {
            let k = high - step;
            if !enough(k) {
                low = low.max(k);
                break;
            }
            high = k;
            step *= 2.0;
        }
        while high - low > 1.0 {
            let k = (0.5 * (low + high)).floor();
            // Beyond 2⁵³ there may be no whole number between them that a double can hold.
            if k <= low || k >= high {
                break;
            }
            if enough(k) {
                high = k;
            } else {
                low = k;
            }
        }
        high
    }

    /// P(Y ≤ y) of a new response.
    pub fn cdf(&self, y: f64) -> f64 {
        let one = self.observation(0);
        if one.is_discrete() {
            if y < 0.0 {
                return 0.0;
            }
            if y >= one.most() {
                return 1.0;
            }
        }
        let mut tolerance = Tolerance::new(one, y.floor());
        let mut k = 0;
        self.eta.average(|m, s| {
            let observation = self.observation(k);
            k += 1;
            if s == 0.0 || self.family == Family::Gaussian {
                let noise = if s > 0.0 {
                    Observation {
                        parameter: observation.parameter.hypot(s),
                        ..observation
                    }
                } else {
                    observation
                };
                return noise.cdf(y, m);
            }
            if !self.shared() {
                tolerance = Tolerance::new(observation, y.floor());
            }
            tolerance.probability(m, s)
        })
    }

    /// ln p(y) of a new response: the log score.
    pub fn ln_p(&self, y: f64) -> f64 {
        let logs: Vec<f64> = self
            .eta
            .parts()
            .enumerate()
            .map(|(k, (m, s))| ln_marginal(&self.observation(k), y, m, s))
            .collect();
        ln_sum(&logs) - (logs.len() as f64).ln()
    }

    /// New responses, so many from each draw.
    pub fn draws(&self, each: usize, rng: &mut Rng) -> Vec<f64> {
        let mut out = Vec::with_capacity(each * self.eta.len());
        for (k, (m, s)) in self.eta.parts().enumerate() {
            for _ in 0..each {
                out.push(self.observation(k).draw(m + s * rng.normal(), rng));
            }
        }
        out
    }

    /// The continuous ranked probability score of y (lower is better), by so many draws of a new response from
    /// each draw: E|Y − y| − ½ E|Y − Y′|.
    pub fn crps(&self, y: f64, each: usize, rng: &mut Rng) -> f64 {
        crps(&mut self.draws(each, rng), y)
    }
}

/// The score of a sample, without the bias that a sample's own spread would bring (Ferro 2014).
pub(crate) fn crps(sample: &mut [f64], y: f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let off = sample.iter().map(|v| (v - y).abs()).sum::<f64>() / n;
    let spread: f64 = sample
        .iter()
        .enumerate()
        .map(|(i, v)| (2.0 * i as f64 - (n - 1.0)) * v)
        .sum();
    off - spread / (n * (n - 1.0).max(1.0))
}

/// E g(η) over a normal η, for a g that goes from 0 to 1 over a few units, as a probability or its square does. Where η is
/// more uncertain than that, g is a step, and it is the mean of P(η > t) over the t at which it steps: as smooth as η is wide.
fn of_probability(m: f64, s: f64, g: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> f64 {
    if s <= SMOOTH {
        return over_normal(m, s, SMOOTH, g);
    }
    let reach = (STEPS_END / STEP) as i32;
    let sum: f64 = (-reach..=reach)
        .map(|j| STEP * f64::from(j))
        .map(|t| slope(t) * normal_cdf((m - t) / s))
        .sum();
    STEP * sum
}

/// E g(η) over a normal η, for a g that is smooth on the scale `smooth`.
pub(crate) fn over_normal(m: f64, s: f64, smooth: f64, g: impl Fn(f64) -> f64) -> f64 {
    if s == 0.0 {
        return g(m);
    }
    let step = STEP * (smooth / s).min(1.0);
    let reach = (REACH / step).ceil() as i64;
    let (mut sum, mut total) = (0.0, 0.0);
    for j in -reach..=reach {
        let z = j as f64 * step;
        let weight = (-0.5 * z * z).exp();
        sum += weight * g(m + s * z);
        total += weight;
    }
    sum / total
}

/// ln ∫ p(y | η) N(η; m, s²) dη: about the highest point of the integrand, which is log-concave.
pub(crate) fn ln_marginal(observation: &Observation, y: f64, m: f64, s: f64) -> f64 {
    if s == 0.0 {
        return observation.ln_p(y, m);
    }
    if observation.family == Family::Gaussian {
        let parameter = observation.parameter.hypot(s);
        return Observation {
            parameter,
            ..*observation
        }
        .ln_p(y, m);
    }
    let height = |eta: f64| observation.ln_p(y, eta) - 0.5 * ((eta - m) / s).powi(2);
    let mut at = m;
    let mut best = height(at);
    for _ in 0..60 {
        let (slope, weight) = observation.derivatives(y, at);
        let slope = slope - (at - m) / (s * s);
        let mut step = slope / (weight + 1.0 / (s * s));
        // Halved until it climbs: Newton's step overshoots where the curvature is not that of the top.
        let mut next = height(at + step);
        for _ in 0..60 {
            if next >= best || !step.is_normal() {
                break;
            }
            step *= 0.5;
            next = height(at + step);
        }
        if next < best || !next.is_finite() {
            break;
        }
        (at, best) = (at + step, next);
        if step.abs() < 1e-3 * s {
            break;
        }
    }
    let (_, weight) = observation.derivatives(y, at);
    let width = 1.0 / (weight + 1.0 / (s * s)).sqrt();
    let h = STEP * width.min(s);
    let mut sum = 1.0;
    for side in [-1.0, 1.0] {
        for j in 1..20_000 {
            let value = (height(at + side * f64::from(j) * h) - best).exp();
            sum += value;
            if value < NOTHING {
                break;
            }
        }
    }
    best + (sum * h / s).ln() - 0.918_938_533_204_672_8
}

/// ln Σ e^x.
pub(crate) fn ln_sum(logs: &[f64]) -> f64 {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
}

/// A sample in five numbers.
pub(crate) fn of_sample(values: &[f64], level: f64) -> Interval {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let tail = 0.5 * (1.0 - level);
    Interval {
        mean,
        sd: (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt(),
        lower: sample_quantile(values, tail),
        median: sample_quantile(values, 0.5),
        upper: sample_quantile(values, 1.0 - tail),
    }
}
