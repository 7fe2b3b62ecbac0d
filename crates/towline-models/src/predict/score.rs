//! How good predictions are where the response is known: log score, CRPS, coverage and calibration.

use super::parallel;
use super::predictor::Surface;
use super::response::RowPrediction;
use crate::error::Error;
use towline::Rng;

/// The levels at which coverage is told.
pub const LEVELS: [f64; 4] = [0.5, 0.9, 0.95, 0.99];
/// Bins of the probability integral transform.
pub const BINS: usize = 10;
/// At least so many draws of a new response at every row, for its CRPS.
const SAMPLE: usize = 2000;

/// How good predictions of known responses are.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// ln p(y) of each row.
    pub log: Vec<f64>,
    /// The continuous ranked probability score of each row; for classes, the Brier score over all of them.
    pub crps: Vec<f64>,
    /// The expected response of each row (of classes: the probability of the one that was seen).
    pub expected: Vec<f64>,
    /// How often intervals held what was seen. Nothing for classes.
    pub coverage: Vec<Coverage>,
    /// The share of rows in each tenth of the probability integral transform: even where predictions are calibrated
    /// (of whole numbers: without randomisation, after Czado, Gneiting and Held 2009). Nothing for classes.
    pub pit: Vec<f64>,
}

/// How often an interval held what was seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    /// The level that was asked for.
    pub level: f64,
    /// How often it should: more than the level, where the response is whole numbers.
    pub expected: f64,
    /// How often it did.
    pub observed: f64,
}

/// What is known of one row.
struct One {
    log: f64,
    crps: f64,
    expected: f64,
    /// The cumulated probability below what was seen, and up to it.
    ends: (f64, f64),
    /// At each level: the probability that the interval holds, and whether it did.
    held: [(f64, bool); LEVELS.len()],
}

impl One {
    fn of(one: &RowPrediction, y: f64, row: usize, each: usize) -> Self {
        let discrete = one.observation(0).is_discrete();
        let above = one.cdf(y);
        Self {
            log: one.ln_p(y),
            crps: one.crps(y, each, &mut Rng::stream(row as u64, 3)),
            expected: one.expected_moments().0,
            ends: (if discrete { one.cdf(y - 1.0) } else { above }, above),
            held: LEVELS.map(|level| {
                let tail = 0.5 * (1.0 - level);
                let [low, high] = one.quantiles([tail, 1.0 - tail]);
                let p = if discrete {
                    one.cdf(high) - one.cdf(low - 1.0)
                } else {
                    level
                };
                (p, y >= low && y <= high)
            }),
        }
    }

    /// The part of the row that lies in a bin of the probability integral transform.
    fn in_bin(&self, bin: usize) -> f64 {
        let (below, above) = self.ends;
        let part = |u: f64| {
            if above > below {
                ((u - below) / (above - below)).clamp(0.0, 1.0)
            } else {
                f64::from(u8::from(u >= above))
            }
        };
        // The outer bins have their ends.
        let at = |bin: usize| match bin {
            0 => 0.0,
            BINS => 1.0,
            _ => part(bin as f64 / BINS as f64),
        };
        at(bin + 1) - at(bin)
    }
}

impl Surface {
    /// Scores the responses of all rows.
    ///
    /// # Errors
    /// Where there is not one response for each row.
    pub fn score(&self, observed: &[f64]) -> Result<Scores, Error> {
        if observed.len() != self.rows {
            return Err(Error::model(format!(
                "{} responses for {} predictions",
                observed.len(),
                self.rows
            )));
        }
        if self.classes > 1 {
            return Ok(self.score_classes(observed));
        }
        let each = SAMPLE.div_ceil(self.draws().max(1));
        let mut scores = Scores {
            log: Vec::new(),
            crps: Vec::new(),
            expected: Vec::new(),
            coverage: Vec::new(),
            pit: vec![0.0; BINS],
        };
        let mut held = [(0.0, 0.0); LEVELS.len()];
        let rows = parallel::map(self.rows, |row| {
            One::of(&self.row(row), observed[row], row, each)
        });
        for one in rows {
            scores.log.push(one.log);
            scores.crps.push(one.crps);
            scores.expected.push(one.expected);
            for (bin, share) in scores.pit.iter_mut().enumerate() {
                *share += one.in_bin(bin) / self.rows as f64;
            }
            for (sums, (p, inside)) in held.iter_mut().zip(one.held) {
                sums.0 += p;
                sums.1 += f64::from(u8::from(inside));
            }
        }
        let count = self.rows as f64;
        scores.coverage = LEVELS
            .iter()
            .zip(held)
            .map(|(level, (expected, seen))| Coverage {
                level: *level,
                expected: expected / count,
                observed: seen / count,
            })
            .collect();
        Ok(scores)
    }

    fn score_classes(&self, observed: &[f64]) -> Scores {
        let mut scores = Scores {
            log: Vec::new(),
            crps: Vec::new(),
            expected: Vec::new(),
            coverage: Vec::new(),
            pit: Vec::new(),
        };
        for (row, y) in observed.iter().enumerate() {
            let means: Vec<f64> = self.classes_of(row, 0.5).iter().map(|c| c.mean).collect();
            let p = means[*y as usize];
            scores.log.push(p.ln());
            scores.expected.push(p);
            let seen = |class: usize| f64::from(u8::from(class == *y as usize));
            let squares = means.iter().enumerate().map(|(c, p)| (p - seen(c)).powi(2));
            scores.crps.push(squares.sum());
        }
        scores
    }
}
