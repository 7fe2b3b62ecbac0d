//! The width of a density along each coordinate, found from nothing: steps that change it by about one
//! log unit.

use super::surface::Surface;

/// A step that changes the height by this much has about the width of what is climbed.
const CHANGE: f64 = 0.5;
/// How many trial steps a coordinate may cost.
pub(crate) const MOST_TRIALS: usize = 24;

/// A coordinate along which a step this many times the first guess changes nothing is ignored.
const IGNORED: f64 = 1e12;

/// Steps are not made finer than this share of the first guess.
const FINEST: f64 = 1e-9;

/// For each coordinate, a step along which the height (known at `at` to be `here`) changes by a log unit
/// or so; scales may differ by many orders of magnitude.
///
/// All coordinates go in step, so that the places of a round are known before any of them is looked at.
pub(crate) fn scales(surface: &mut impl Surface, at: &[f64], here: f64) -> Vec<f64> {
    let mut all: Vec<Along> = at.iter().map(|v| Along::new(guess(*v))).collect();
    let mut probe = at.to_vec();
    for trial in 0..MOST_TRIALS {
        let open: Vec<usize> = (0..at.len()).filter(|&k| all[k].found.is_none()).collect();
        if open.is_empty() {
            break;
        }
        if surface.looks_ahead() {
            let places = open.iter().flat_map(|&k| {
                let mut place = at.to_vec();
                place[k] = at[k] + all[k].next();
                place
            });
            // The first steps are a guess from nothing; later ones are mostly those that are looked for, and differences over them come next.
            let steps: Vec<f64> = all.iter().map(|along| along.step.abs()).collect();
            let likely = match trial {
                0 => Vec::new(),
                _ => around(at, &steps),
            };
            surface.expect(&places.collect::<Vec<f64>>(), &likely);
        }
        for k in open {
            probe[k] = at[k] + all[k].next();
            let height = surface.height(&probe);
            probe[k] = at[k];
            all[k].note((height - here).abs());
        }
    }
    all.iter().map(Along::step).collect()
}

/// The places that are looked at first, known before anything is.
pub(crate) fn first_places(at: &[f64]) -> Vec<f64> {
    let place = |k: usize| {
        let mut place = at.to_vec();
        place[k] = at[k] + Along::new(guess(at[k])).next();
        place
    };
    (0..at.len()).flat_map(place).collect()
}

/// The first step that is tried from here.
fn guess(at: f64) -> f64 {
    0.1 * at.abs().max(1.0)
}

/// A step up and down along each coordinate, then along each pair of them: where differences are taken.
fn around(at: &[f64], steps: &[f64]) -> Vec<f64> {
    let place = |by: &[(usize, f64)]| {
        let mut place = at.to_vec();
        by.iter()
            .for_each(|&(k, sign)| place[k] = at[k] + sign * steps[k]);
        place
    };
    let axes = (0..at.len()).flat_map(|k| [1.0, -1.0].map(|sign| place(&[(k, sign)])));
    let pairs = (0..at.len()).flat_map(|j| (0..j).map(move |k| (j, k)));
    let corners = pairs.map(|(j, k)| place(&[(j, 1.0), (k, 1.0)]));
    axes.chain(corners).flatten().collect()
}

/// The search along one coordinate.
struct Along {
    guess: f64,
    step: f64,
    sign: f64,
    /// The longest step seen to be too short, and the shortest seen to be too long.
    short: f64,
    long: f64,
    found: Option<f64>,
}

impl Along {
    fn new(guess: f64) -> Self {
        Self {
            guess,
            step: guess,
            sign: 1.0,
            short: 0.0,
            long: f64::INFINITY,
            found: None,
        }
    }

    /// The next step to try.
    fn next(&self) -> f64 {
        self.sign * self.step
    }

    /// That step changed the height by so much.
    fn note(&mut self, change: f64) {
        let step = self.step;
        if !change.is_finite() {
            // No mass there: nearer, and to the other side, where there may be more room.
            self.long = self.long.min(step);
            self.sign = -self.sign;
        } else if change < CHANGE / 5.0 {
            self.short = self.short.max(step);
        } else if change > CHANGE * 4.0 {
            self.long = self.long.min(step);
        } else {
            self.found = Some(step);
            return;
        }
        let leap = if !change.is_finite() {
            0.1
        } else {
            // Between the square root (near the top) and proportion (far down a slope).
            (CHANGE / change.max(1e-12)).powf(0.7).clamp(1e-4, 1e3)
        };
        let (short, long, next) = (self.short, self.long, step * leap);
        self.step = if next > short && next < long {
            next
        } else if long.is_finite() && short > 0.0 {
            (short * long).sqrt()
        } else if long.is_finite() {
            0.1 * long
        } else {
            10.0 * short
        };
        if self.step < FINEST * self.guess {
            // A wall so steep that steps sink into rounding: the climb will find its own.
            self.found = Some(FINEST * self.guess);
        } else if self.step > IGNORED * self.guess && long.is_infinite() {
            // Nothing depends on this coordinate: any scale will do.
            self.found = Some(self.guess);
        }
    }

    /// What was found, or the best there is.
    fn step(&self) -> f64 {
        let best = if self.short > 0.0 {
            self.short
        } else {
            self.step
        };
        self.found.unwrap_or(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Heights<F>(F);
    impl<F: FnMut(&[f64]) -> f64> Surface for Heights<F> {
        fn height(&mut self, u: &[f64]) -> f64 {
            (self.0)(u)
        }
    }

    #[test]
    fn widths_a_million_million_apart_are_found() {
        let width = [1e-6, 1.0, 1e6];
        let centre = [3.0, -50.0, 5e7];
        let mut count = 0;
        let mut height = |u: &[f64]| {
            count += 1;
            (0..3)
                .map(|k| -0.5 * ((u[k] - centre[k]) / width[k]).powi(2))
                .sum()
        };
        // Fifty widths from the centre the slope is 50: a step of a hundredth of a width changes it by 0.5.
        let at: Vec<f64> = (0..3).map(|k| centre[k] + 50.0 * width[k]).collect();
        let here = height(&at);
        let steps = scales(&mut Heights(&mut height), &at, here);
        for k in 0..3 {
            let share = steps[k] / width[k];
            assert!((0.001..0.1).contains(&share), "{share} for {k}");
        }
        assert!(count < 45, "{count}");
    }

    #[test]
    fn walls_and_ignored_coordinates_still_give_a_step() {
        let mut height = |u: &[f64]| {
            if u[0] < 0.0 { f64::NEG_INFINITY } else { -u[0] }
        };
        let steps = scales(&mut Heights(&mut height), &[0.001, 7.0], -0.001);
        assert!(steps[0] >= 0.1 && steps[0] < 3.0, "{steps:?}");
        assert!(steps[1] > 0.0 && steps[1].is_finite());
    }
}
