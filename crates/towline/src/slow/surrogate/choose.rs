//! The choice among candidates: by cross-validation, and by whether the folds agree where proposals would go.

use super::jump::Jumps;
use super::limits::{
    DEGREES, FOLDS, HOT_DRAWS, JUMP_HEAT, JUMP_MOST_SLOW, JUMPLESS_MOVES, LOOK_PLACES, LOOK_STARTS,
    MIXED_ABOVE, MOST_COEFFICIENTS, POINTS_PER_COEFFICIENT, PROCESS_FEWEST, RIDGES, ROUGH_STARTS,
    TOLERANCE, TRIAL_SEED, TRIAL_STARTS, WORST_ERROR,
};
use super::mixture::{Folded, Mixture};
use super::polynomial::{NormalEquations, Polynomial, count};
use super::process::{Hyper, Process};
use super::radial::{self, Radial};
use super::shape::{Correction, Guard, Shape};
use super::visits::{Extent, Sample, Samples};
use super::wander::{Trial, hot_draws};
use super::{Kind, Quality};
use crate::linalg::farthest;
use crate::random::Rng;

/// A correction fitted to all points, and the same fitted without each fold in turn.
struct Candidate {
    kind: Kind,
    whole: Correction,
    folds: Vec<Correction>,
}

/// What was chosen, ready for use.
pub(super) struct Choice {
    pub shape: Shape,
    pub jumps: Option<Jumps>,
    pub moves: usize,
    pub quality: Quality,
    /// Its own draws, whitened.
    pub draws: Vec<Vec<f64>>,
    /// The errors of all that was tried and is in one piece, in their order.
    pub others: Vec<f64>,
}

/// The cheapest candidate that is about as good as the best. Where the errors of the `others`, in one piece, are known, only mixtures are
/// tried, and nothing is chosen where none of them would be.
pub(super) fn choose(
    samples: &Samples,
    Extent {
        mixed, thorough, ..
    }: Extent,
    others: Option<&[f64]>,
) -> Option<Choice> {
    let guard = Guard::new(samples);
    let looks = if thorough { LOOK_STARTS } else { ROUGH_STARTS };
    let start = samples
        .inside()
        .map(|(_, sample)| sample)
        .max_by(|a, b| log_density_of(a).total_cmp(&log_density_of(b)))?;
    let (factor, units) = TOLERANCE;
    let try_out = |candidate| try_out(candidate, samples, guard, &start.w, looks);
    let known = others.is_some();
    let mut tried = if known {
        Vec::new()
    } else {
        in_one_piece(samples, &guard, try_out)
    };
    let others = others.map_or_else(|| tried.iter().map(Tried::error).collect(), <[f64]>::to_vec);
    let mut best = others.iter().copied().fold(f64::INFINITY, f64::min);
    if mixed && best > MIXED_ABOVE {
        tried.extend(mixtures(samples).into_iter().map(try_out));
        best = least(&tried).min(best);
    }
    let enough = |error: f64| error <= factor * best + units;
    if known && others.iter().any(|error| enough(*error)) {
        return None;
    }
    let mut chosen = tried.into_iter().find(|tried| enough(tried.error()))?;
    chosen.shape.follow_tails(samples);
    let starts = if thorough { TRIAL_STARTS } else { LOOK_STARTS };
    let mut trial = Trial::new(&chosen.shape, &start.w, starts, None);
    let (mut moves, mut memory) = trial.moves();
    let mut jumps = None;
    if thorough && moves > JUMPLESS_MOVES && samples.dim <= JUMP_MOST_SLOW {
        // Wider than the surrogate itself, so that no tail of it is hard to leave or to find.
        let mut rng = Rng::stream(TRIAL_SEED, 1);
        let hot = hot_draws(
            &chosen.shape,
            JUMP_HEAT,
            &places(samples),
            HOT_DRAWS,
            &mut rng,
        );
        let with_hot = |draws: &[Vec<f64>]| {
            let stride = draws.len().div_ceil(hot.len().max(1)).max(1);
            let own = draws.iter().step_by(stride);
            own.chain(&hot).cloned().collect::<Vec<_>>()
        };
        if let Some(found) = Jumps::fit(&with_hot(&trial.draws)) {
            let with = Trial::new(&chosen.shape, &start.w, TRIAL_STARTS, Some(&found));
            // Its parts again, by a chain that goes everywhere: then they have their masses.
            let found = Jumps::fit(&with_hot(&with.draws)).unwrap_or(found);
            trial = Trial::new(&chosen.shape, &start.w, TRIAL_STARTS, Some(&found));
            (moves, memory) = trial.moves();
            jumps = Some(found);
        }
    }
    Some(Choice {
        shape: chosen.shape,
        jumps,
        moves,
        quality: Quality {
            kind: chosen.kind,
            cv_error: chosen.cv_error,
            spread: chosen.spread,
            memory,
            points: samples.list.len(),
        },
        draws: trial.draws,
        others,
    })
}

/// Every candidate that is not a mixture, as far as dearer ones are worth a try, the cheapest first.
fn in_one_piece(
    samples: &Samples,
    guard: &Guard,
    try_out: impl Fn(Candidate) -> Tried,
) -> Vec<Tried> {
    let (_, units) = TOLERANCE;
    let cheap = polynomials(samples, guard);
    // Over the quadratic where there is one, else over the Gaussian.
    let mean = cheap.iter().take(2).next_back();
    let mean = mean.map(|mean| (mean.whole.clone(), mean.folds.clone()));
    let mean = mean.as_ref().map(|(whole, folds)| (whole, &folds[..]));
    let mut tried: Vec<Tried> = cheap.into_iter().map(&try_out).collect();
    // Where one of these is within the tolerance of any other, no process would be taken: they cost most of the time.
    if least(&tried) > units {
        tried.extend(radials(samples, guard).into_iter().map(&try_out));
    }
    if least(&tried) > units {
        let processes = mean.map(|mean| processes(samples, mean));
        tried.extend(processes.into_iter().flatten().map(&try_out));
    }
    tried
}

/// A few points of the bulk, each the furthest from those before it: a shape in several pieces is looked at in each.
fn places(samples: &Samples) -> Vec<Vec<f64>> {
    let bulk = samples.list.iter().filter(|s| s.inner);
    let bulk: Vec<&[f64]> = bulk.map(|s| &s.w[..]).collect();
    let chosen = farthest(&bulk, LOOK_PLACES);
    chosen.into_iter().map(|k| bulk[k].to_vec()).collect()
}

/// A candidate with the two errors it is judged by.
struct Tried {
    kind: Kind,
    shape: Shape,
    cv_error: f64,
    spread: f64,
}

impl Tried {
    /// The worse of the two.
    fn error(&self) -> f64 {
        self.cv_error.max(self.spread)
    }
}

/// The least error of any; one that is no number counts for nothing.
fn least(tried: &[Tried]) -> f64 {
    tried.iter().map(Tried::error).fold(f64::INFINITY, f64::min)
}

fn try_out(
    candidate: Candidate,
    samples: &Samples,
    guard: Guard,
    start: &[f64],
    looks: usize,
) -> Tried {
    let cv_error = cv_error(&candidate, samples, &guard);
    let Candidate { kind, whole, folds } = candidate;
    let shape = Shape {
        correction: whole,
        guard,
        faces: samples.faces.clone(),
    };
    let draws = Trial::new(&shape, start, looks, None).draws;
    Tried {
        kind,
        cv_error,
        spread: spread(folds, guard, &draws),
        shape,
    }
}

fn log_density_of(sample: &Sample) -> f64 {
    sample.wanted - 0.5 * sample.distance * sample.distance
}

/// The polynomials that the number of points allows, the cheapest first.
fn polynomials(samples: &Samples, guard: &Guard) -> Vec<Candidate> {
    // The learned Gaussian itself: only its height is fitted, one point sufficing.
    let mut list = vec![constant(samples)];
    for degree in DEGREES {
        let size = count(samples.dim, degree);
        let enough = POINTS_PER_COEFFICIENT * size as f64 <= samples.list.len() as f64;
        if size > MOST_COEFFICIENTS || !enough {
            break;
        }
        list.extend(polynomial(samples, guard, degree));
    }
    list
}

/// Polynomials with a function of the distance from the centre beside them: hollow and heavy-tailed shapes that are about round.
fn radials(samples: &Samples, guard: &Guard) -> Vec<Candidate> {
    if samples.dim < 2 {
        return Vec::new();
    }
    let knots = radial::knots(samples);
    let each = DEGREES.into_iter().filter(|degree| {
        let size = count(samples.dim, *degree) + knots.len() + 1;
        let enough = POINTS_PER_COEFFICIENT * size as f64 <= samples.list.len() as f64;
        size <= MOST_COEFFICIENTS && enough
    });
    each.filter_map(|degree| fitted(samples, guard, degree, &knots))
        .collect()
}

/// Gaussian processes over what another candidate leaves.
fn processes(samples: &Samples, mean: (&Correction, &[Correction])) -> Vec<Candidate> {
    if samples.list.len() < PROCESS_FEWEST {
        return Vec::new();
    }
    let each = [false, true].into_iter();
    each.filter_map(|warped| process(samples, mean, warped))
        .collect()
}

/// Mixtures of bent normals.
fn mixtures(samples: &Samples) -> Vec<Candidate> {
    let candidate = |fit: Folded| Candidate {
        kind: Kind::Mixture {
            parts: fit.whole.parts(),
        },
        whole: Correction::Mixture(fit.whole),
        folds: fit.folds.into_iter().map(Correction::Mixture).collect(),
    };
    let all = Mixture::fit_all(samples);
    all.into_iter().map(candidate).collect()
}

fn constant(samples: &Samples) -> Candidate {
    let height = |without: Option<usize>| {
        let kept = samples
            .list
            .iter()
            .enumerate()
            .filter(|(index, _)| Some(index % FOLDS) != without);
        let (sum, weight) = kept.fold((0.0, 0.0), |(sum, weight), (_, sample)| {
            (sum + sample.weight * sample.wanted, weight + sample.weight)
        });
        // With a fold that holds every point nothing is known, and zero is the guess.
        let mean = if weight > 0.0 { sum / weight } else { 0.0 };
        Correction::Polynomial(Polynomial::constant(mean))
    };
    Candidate {
        kind: Kind::Gaussian,
        whole: height(None),
        folds: (0..FOLDS).map(|fold| height(Some(fold))).collect(),
    }
}

/// The polynomial of one degree with the ridge that predicts best.
fn polynomial(samples: &Samples, guard: &Guard, degree: usize) -> Option<Candidate> {
    fitted(samples, guard, degree, &[])
}

/// The same, with a function of the distance where it has knots.
fn fitted(samples: &Samples, guard: &Guard, degree: usize, knots: &[f64]) -> Option<Candidate> {
    let equations = NormalEquations::new(samples, degree, knots);
    // A quadratic is not penalised: one ridge is as good as another.
    let plain = degree < 3 && knots.is_empty();
    let ridges = if plain { &RIDGES[..1] } else { &RIDGES };
    let correction = |(polynomial, heights): (Polynomial, Vec<f64>)| match knots.is_empty() {
        true => Correction::Polynomial(polynomial),
        false => Correction::Radial(Radial::new(polynomial, knots, heights)),
    };
    ridges
        .iter()
        .filter_map(|&ridge| {
            let whole = equations.solve(None, ridge)?;
            let folds = (0..FOLDS)
                .map(|fold| equations.solve(Some(fold), ridge).map(correction))
                .collect::<Option<Vec<_>>>()?;
            let candidate = Candidate {
                kind: Kind::Polynomial { degree },
                whole: correction(whole),
                folds,
            };
            Some((cv_error(&candidate, samples, guard), candidate))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// A Gaussian process over the residuals of another candidate, fold by fold.
fn process(
    samples: &Samples,
    (whole, folds): (&Correction, &[Correction]),
    warped: bool,
) -> Option<Candidate> {
    let base = |correction: &Correction| match correction {
        Correction::Polynomial(polynomial) => Some(polynomial.clone()),
        Correction::Process(_) | Correction::Radial(_) | Correction::Mixture(_) => None,
    };
    let whole = base(whole)?;
    let hyper = Hyper::choose(samples, &whole, warped)?;
    let folds = folds.iter().enumerate().map(|(fold, mean)| {
        Process::fit(samples, &base(mean)?, hyper, |index| index % FOLDS != fold)
            .map(Correction::Process)
    });
    Some(Candidate {
        kind: Kind::GaussianProcess,
        folds: folds.collect::<Option<Vec<_>>>()?,
        whole: Correction::Process(Process::fit(samples, &whole, hyper, |_| true)?),
    })
}

/// The weighted rms error of predictions at points inside the radius, each made without the point's fold.
fn cv_error(candidate: &Candidate, samples: &Samples, guard: &Guard) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (index, sample) in samples.inside() {
        let square = sample.distance * sample.distance;
        let predicted = candidate.folds[index % FOLDS].value(&sample.w);
        let error = guard.bound(predicted, square) - sample.wanted;
        sum += sample.weight * error.abs().min(WORST_ERROR).powi(2);
        weight += sample.weight;
    }
    // Mass claimed where there is none counts by how much of it is claimed.
    for sample in samples.barred.iter().filter(|s| s.distance <= guard.radius) {
        let square = sample.distance * sample.distance;
        let predicted = guard.bound(candidate.whole.value(&sample.w), square);
        let claimed = (predicted - 0.5 * square).min(0.0).exp();
        let error = (predicted - sample.wanted).clamp(0.0, WORST_ERROR);
        sum += claimed * error * error;
        weight += claimed;
    }
    (sum / weight).sqrt()
}

/// The jackknife's standard error of the log density at the surrogate's own draws, rms over them.
///
/// Cross-validation sees a candidate only where points are. One that grew a mode where there
/// are none would send its proposals there, all in vain; but its folds will not agree about it.
fn spread(folds: Vec<Correction>, guard: Guard, draws: &[Vec<f64>]) -> f64 {
    let shapes: Vec<Shape> = folds
        .into_iter()
        .map(|correction| Shape {
            correction,
            guard,
            // All folds have the same.
            faces: Vec::new(),
        })
        .collect();
    let count = FOLDS as f64;
    let sum: f64 = draws
        .iter()
        .map(|w| {
            let values: Vec<f64> = shapes.iter().map(|shape| shape.log_density(w)).collect();
            let mean = values.iter().sum::<f64>() / count;
            let square: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            (square * (count - 1.0) / count).min(WORST_ERROR * WORST_ERROR)
        })
        .sum();
    (sum / draws.len() as f64).sqrt()
}
