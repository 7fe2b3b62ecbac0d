//! Coordinate search: up along one axis after another, with nothing but heights.

use super::surface::{STRAYED, Surface, clean};

/// How often the axes are felt along.
const MOST_SWEEPS: usize = 40;

/// Goes up along one axis after another, with steps that double while they gain: slow, but nothing that
/// has a way up defeats it. Answers where no axis gains much any more.
pub(crate) fn feel(surface: &mut impl Surface, start: &[f64], steps: &[f64]) -> Option<Vec<f64>> {
    let mut at = start.to_vec();
    let mut height = clean(surface.height(&at));
    if height == f64::NEG_INFINITY {
        return None;
    }
    let mut steps = steps.to_vec();
    for _ in 0..MOST_SWEEPS {
        let before = height;
        for k in 0..at.len() {
            let mut tries = 0;
            while tries < 12 {
                tries += 1;
                let origin = at[k];
                let mut gained = false;
                for sign in [1.0, -1.0] {
                    let mut h = sign * steps[k];
                    loop {
                        at[k] = origin + h;
                        let trial = clean(surface.height(&at));
                        if trial <= height || (at[k] - start[k]).abs() > STRAYED {
                            break;
                        }
                        (height, gained) = (trial, true);
                        steps[k] = h.abs();
                        h *= 2.0;
                    }
                    at[k] = if gained {
                        origin + sign * steps[k]
                    } else {
                        origin
                    };
                    if gained {
                        break;
                    }
                }
                if !gained {
                    steps[k] *= 0.125;
                }
                if steps[k] < 1e-13 * at[k].abs().max(1e-13) {
                    break;
                }
            }
            // The next sweep need not begin with the last, smallest step.
            steps[k] *= 8.0;
        }
        if height - before < 1.0 {
            break;
        }
    }
    Some(at)
}
