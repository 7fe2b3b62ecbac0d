//! The width of a density along each coordinate, found from nothing: steps that change it by about one
//! log unit.

/// A step that changes the height by this much has about the width of what is climbed.
const CHANGE: f64 = 0.5;
/// How many trial steps a coordinate may cost.
pub(crate) const MOST_TRIALS: usize = 24;

/// A coordinate along which a step this many times the first guess changes nothing is ignored.
const IGNORED: f64 = 1e12;

/// Steps are not made finer than this share of the first guess.
const FINEST: f64 = 1e-9;

/// For each coordinate, a step along which `height` (known at `at` to be `here`) changes by a log unit
/// or so; scales may differ by many orders of magnitude.
pub(crate) fn scales(height: &mut impl FnMut(&[f64]) -> f64, at: &[f64], here: f64) -> Vec<f64> {
    let mut probe = at.to_vec();
    (0..at.len())
        .map(|k| {
            let step = scale_along(
                &mut |h| {
                    probe[k] = at[k] + h;
                    let up = height(&probe);
                    probe[k] = at[k];
                    up
                },
                here,
                0.1 * at[k].abs().max(1.0),
            );
            probe[k] = at[k];
            step
        })
        .collect()
}

fn scale_along(height: &mut impl FnMut(f64) -> f64, here: f64, guess: f64) -> f64 {
    let (mut step, mut sign) = (guess, 1.0);
    // The longest step seen to be too short, and the shortest seen to be too long.
    let (mut short, mut long) = (0.0f64, f64::INFINITY);
    for _ in 0..MOST_TRIALS {
        let change = (height(sign * step) - here).abs();
        if !change.is_finite() {
            // No mass there: nearer, and to the other side, where there may be more room.
            long = long.min(step);
            sign = -sign;
        } else if change < CHANGE / 5.0 {
            short = short.max(step);
        } else if change > CHANGE * 4.0 {
            long = long.min(step);
        } else {
            return step;
        }
        let leap = if !change.is_finite() {
            0.1
        } else {
            // Between the square root (near the top) and proportion (far down a slope).
            (CHANGE / change.max(1e-12)).powf(0.7).clamp(1e-4, 1e3)
        };
        let next = step * leap;
        step = if next > short && next < long {
            next
        } else if long.is_finite() && short > 0.0 {
            (short * long).sqrt()
        } else if long.is_finite() {
            0.1 * long
        } else {
            10.0 * short
        };
        if step < FINEST * guess {
            // A wall so steep that steps sink into rounding: the climb will find its own.
            return FINEST * guess;
        }
        if step > IGNORED * guess && long.is_infinite() {
            // Nothing depends on this coordinate: any scale will do.
            return guess;
        }
    }
    if short > 0.0 { short } else { step }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let steps = scales(&mut height, &at, here);
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
        let steps = scales(&mut height, &[0.001, 7.0], -0.001);
        assert!(steps[0] >= 0.1 && steps[0] < 3.0, "{steps:?}");
        assert!(steps[1] > 0.0 && steps[1].is_finite());
    }
}
