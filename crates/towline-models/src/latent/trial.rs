//! What share of slow moves would be accepted in frames at the mean and at the mode: tried near the posterior's top.
//!
//! A frame that misses the conditional's shape loses moves only if what it misses changes with x over a step: counts of six
//! thousand persons are a little skewed, but tell the persons' spread so well that steps are short. So a few draws of y are carried
//! one step in x in either frame, with z held, and the log ratios compared. Random numbers come from a stream of their own:
//! the outcome is a function of the data alone.

use super::{Cache, LatentGaussian};
use crate::expectation::Frozen;
use crate::newton::Centre;
use towline::frame::Frame;
use towline::{OwnFrame, Rng, Target};

/// Draws of y that are carried along.
const DRAWS: usize = 8;
/// Moves of the conditional by which a draw of the frame at the mean becomes one of the conditional itself, and their length.
const MOVES: usize = 8;
const LENGTH: f64 = 0.5;
/// A step of every coordinate in standard deviations of the posterior: what independent draws are apart; and how many such steps are
/// tried, there and back.
const STEP: f64 = 1.4;
const PAIRS: usize = 2;
/// The fall of the log marginal from which its curvature is read, at most; and searches for a step with such a fall.
const MOST_FALL: f64 = 2.0;
const SEARCHES: usize = 6;
/// The first step of that search, and the longest that is thought of as a posterior's standard deviation.
const WIDEST: f64 = 0.5;

/// A place: the cache with what straightens y there, the frame, and the log marginal that went with it.
struct Place {
    cache: Cache,
    frame: Frame,
    log_marginal: f64,
}

impl LatentGaussian {
    fn place(&self, x: &[f64], centre: Centre) -> Option<Place> {
        let mut cache = self.plain(x).ok()??;
        let (own, warp) = self.find(&cache, &[], centre)?;
        cache.warp = warp;
        let OwnFrame {
            centre,
            root,
            log_marginal,
            ..
        } = own;
        Some(Place {
            cache,
            frame: Frame::Affine { centre, root },
            log_marginal,
        })
    }

    /// The standard deviation of one coordinate's posterior, others held: from the curvature of the log marginal.
    fn width(&self, x: &[f64], k: usize, top: f64, frozen: &Frozen) -> Option<f64> {
        let mut step = WIDEST;
        for _ in 0..SEARCHES {
            let height = |by: f64| {
                let mut there = x.to_vec();
                there[k] += by;
                let place = self.place(&there, Centre::MeanFrom(frozen))?;
                Some(place.log_marginal)
            };
            let fall = top - 0.5 * (height(step)? + height(-step)?);
            if fall < MOST_FALL {
                // Flat: as wide as is thought of.
                return Some((step / (2.0 * fall.max(1e-9)).sqrt()).min(WIDEST));
            }
            step /= fall.sqrt();
        }
        Some(step)
    }

    /// The shares of moves of one step that frames at the mean and at the mode would have accepted, were the marginal flat.
    pub(super) fn tried(&self, x: &[f64], frozen: &Frozen) -> Option<[f64; 2]> {
        let centres = [Centre::MeanFrom(frozen), Centre::Mode];
        let here = [self.place(x, centres[0])?, self.place(x, centres[1])?];
        let top = here[0].log_marginal;
        let widths: Option<Vec<f64>> = (0..x.len())
            .map(|k| self.width(x, k, top, frozen))
            .collect();
        let widths = widths?;
        let (dim, mut rng, mut there) = (self.fast_dim(), Rng::stream(0, 0), Vec::new());
        for _ in 0..PAIRS {
            let sign = |_| if rng.index(2) == 0 { STEP } else { -STEP };
            let signs: Vec<f64> = widths.iter().map(sign).collect();
            // And back again: a slope of what is missed takes from one what it gives the other.
            for way in [1.0, -1.0] {
                let steps = widths.iter().zip(&signs).map(|(w, s)| way * w * s);
                let x: Vec<f64> = x.iter().zip(steps).map(|(x, by)| x + by).collect();
                there.push([self.place(&x, centres[0])?, self.place(&x, centres[1])?]);
            }
        }
        let (mut sums, mut spare) = ([0.0; 2], vec![0.0; dim]);
        for _ in 0..DRAWS {
            let straight = self.settled_draw(&here[0], &mut rng);
            for (kind, sum) in sums.iter_mut().enumerate() {
                let from = &here[kind];
                let y = match &from.cache.warp {
                    Some(warp) => warp.bend(&straight),
                    None => straight.clone(),
                };
                let (mut z, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
                from.frame.to_z(&y, &mut z, &mut spare);
                let before = self.log_density(&from.cache, &y) + from.frame.log_det();
                for to in &there {
                    let flat = to[0].log_marginal - top;
                    to[kind].frame.to_y(&z, &mut moved);
                    let after = self.log_density(&to[kind].cache, &moved);
                    let ratio = after + to[kind].frame.log_det() - before - flat;
                    *sum += ratio.min(0.0).exp();
                }
            }
        }
        let count = (DRAWS * there.len()) as f64;
        Some(sums.map(|sum| sum / count))
    }

    /// A draw of the conditional, straight: of the frame, and then some moves of Crank and Nicolson's kind.
    fn settled_draw(&self, place: &Place, rng: &mut Rng) -> Vec<f64> {
        let dim = self.fast_dim();
        let mut z: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        let mut y = vec![0.0; dim];
        let height = |z: &[f64], y: &mut [f64]| {
            place.frame.to_y(z, y);
            self.log_density(&place.cache, y) + 0.5 * crate::vector::square(z)
        };
        let mut now = height(&z, &mut y);
        let mut there = y.clone();
        for _ in 0..MOVES {
            let keep = (1.0 - LENGTH * LENGTH).sqrt();
            let next: Vec<f64> = z.iter().map(|z| keep * z + LENGTH * rng.normal()).collect();
            let value = height(&next, &mut there);
            if rng.accept(value - now) {
                (z, now) = (next, value);
                y.copy_from_slice(&there);
            }
        }
        place.cache.straight(&y).into_owned()
    }
}
