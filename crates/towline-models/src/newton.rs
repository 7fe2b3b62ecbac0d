//! The mode of the latent variables at one x, by Newton's method, and the frame there or at the mean.
//!
//! The surface −½ yᵀPy + log p(data | A y) is concave for every family here, so Newton's method with steps that are halved
//! where they do not climb finds its top from anywhere. Close to it, a factorisation serves for several steps. Where the mode is foretold
//! (`latent/forecast.rs`), the curvature at another x serves for all of them, and the only factorisation is that of the frame.

use crate::expectation::{self, Found, Frozen};
use crate::family::{Likelihood, Settled, Sites};
use crate::vector::{inner, square};
use crate::warp::Warp;
use std::sync::Arc;
use towline::OwnFrame;
use towline::linalg::{Root, RootMap};

/// A linear predictor η = A y, and systems with H = P + AᵀWA, where P is the prior precision of y: nearly always the identity.
pub(crate) trait System {
    /// The factor with which a step is solved for: whatever is cheapest to make.
    type Step;
    /// The factor R of H = R Rᵀ.
    type Root: RootMap + 'static;

    /// The number of y.
    fn dim(&self) -> usize;

    /// eta = A y.
    fn push(&self, y: &[f64], eta: &mut [f64], spare: &mut [f64]);

    /// out = Aᵀ g.
    fn pull(&self, g: &[f64], out: &mut [f64], spare: &mut [f64]);

    /// aᵀPb.
    fn prior_inner(&self, a: &[f64], b: &[f64]) -> f64 {
        inner(a, b)
    }

    /// Takes Py from g, and returns yᵀPy.
    fn take_prior(&self, y: &[f64], g: &mut [f64]) -> f64 {
        take(y, g)
    }

    /// The latent values themselves, on a scale that does not depend on x.
    fn natural(&self, y: &[f64]) -> Vec<f64>;

    /// The y that stand for these latent values at this x.
    fn whitened(&self, natural: &[f64]) -> Vec<f64>;

    /// How much working space push and pull need.
    fn spare(&self) -> usize;

    /// Prepares to solve with H.
    fn step(&self, weights: &[f64]) -> Option<Self::Step>;

    /// v becomes H⁻¹ v.
    fn solve_step(&self, step: &Self::Step, v: &mut [f64], work: &mut Work);

    /// R.
    fn root(&self, weights: &[f64]) -> Option<Self::Root>;

    /// The variances of η where y is normal with precision R Rᵀ; whether they are had at a price that is worth it.
    fn variances(&self, root: &Self::Root, out: &mut [f64]) -> bool {
        let _ = (root, out);
        false
    }

    /// Variances and third cumulants of the last y, as many as there are, from the variances of η and the skewness that each
    /// observation gives its own.
    fn cumulants(&self, root: &Self::Root, eta: &[f64], skew: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let _ = (root, eta, skew);
        Default::default()
    }
}

/// Takes y from g, and returns |y|².
pub(crate) fn take(y: &[f64], g: &mut [f64]) -> f64 {
    g.iter_mut().zip(y).for_each(|(g, y)| *g -= y);
    square(y)
}

/// Working space of a search.
pub(crate) struct Work {
    pub eta: Vec<f64>,
    pub slope: Vec<f64>,
    pub spare: Vec<f64>,
    pub trial: Vec<f64>,
}

/// Steps of a search before it gives up; concave surfaces need ten.
const MOST_STEPS: usize = 100;
/// Halvings of one step before the search gives up.
const MOST_HALVINGS: usize = 40;
/// The squared length of a step (in conditional standard deviations) that is short enough to stop.
const CLOSE: f64 = 1e-10;
/// A step with an old factorisation must shorten the next to less than this, squared, for another to be worth trying.
const SHRINKS: f64 = 0.09;
/// Where the height does not rise any more along a step whose squared length, in standard deviations, is below this, its own
/// rounding is to blame: large counts make it a small difference of large numbers.
const NEAR: f64 = 1e-6;
/// Rounding of the height, relative to its size: what a climb may lose by it.
const ROUNDING: f64 = 1e-13;

/// Steps with the curvature of another x before Newton's own are made: each costs a gradient and two triangular solves.
const MOST_CHORDS: usize = 5;
/// Each of them must shorten the next to less than this, squared.
const CHORD_SHRINKS: f64 = 0.3;
/// The squared length of such a step that is short enough: it is still taken, and what is left after it, about a tenth, is a distance of a
/// thousandth of a standard deviation.
const CHORD_CLOSE: f64 = 1e-5;

/// Where the mode is thought to be, and L of the curvature (L Lᵀ)⁻¹ near there.
#[derive(Debug)]
pub(crate) struct Foretold<'a> {
    pub y: Vec<f64>,
    pub root: &'a dyn RootMap,
}

/// Where a frame is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Centre<'a> {
    /// At the mode.
    Mode,
    /// At the mean, by way of the mode.
    Mean,
    /// At the mean, from factors that were found elsewhere; by way of the mode where they lead nowhere.
    MeanFrom(&'a Frozen),
}

/// The mode of the conditional at one x, with the curvature there, or where data leave it skewed its mean and covariance;
/// and then what straightens the fast variables. `centre` says which is asked for.
#[allow(clippy::too_many_arguments)]
pub(crate) fn frame<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    offset: &[f64],
    base: f64,
    hint: &[f64],
    reference: Option<&[f64]>,
    centre: Centre,
) -> Option<(OwnFrame, Option<Warp>)> {
    if let Centre::MeanFrom(frozen) = centre
        && let Some((found, warp, evaluations)) =
            expectation::from_frozen(system, likelihood, settled, offset, base, frozen)
    {
        return Some((own(found, evaluations), warp));
    }
    let (mut found, eta, mut evaluations) = mode(
        system, likelihood, settled, offset, base, hint, reference, None,
    )?;
    let mut warp = None;
    if !matches!(centre, Centre::Mode) {
        let sites = Sites::at(likelihood, settled, eta);
        let spent;
        (found, warp, spent) =
            expectation::correct(system, likelihood, settled, base, found, sites);
        evaluations += spent;
    }
    Some((own(found, evaluations), warp))
}

pub(crate) fn own<R: RootMap + 'static>(found: Found<R>, evaluations: u64) -> OwnFrame {
    OwnFrame {
        centre: found.centre,
        root: Root::Own(Arc::new(found.root)),
        log_marginal: found.log_marginal,
        evaluations,
    }
}

/// The mode, the curvature's root and Laplace's estimate; η at the mode; and what it cost, in fast evaluations.
///
/// `offset` is added to the linear predictor, `base` to the log density. The search begins at `hint`, or with the latent
/// values of `reference` where those are better: strong data fix the latent values whatever x is, weak ones leave them to
/// their prior and so fix y. Where it is foretold, all of this is for the case that it was wrong.
#[allow(clippy::too_many_arguments)]
pub(crate) fn mode<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    offset: &[f64],
    base: f64,
    hint: &[f64],
    reference: Option<&[f64]>,
    foretold: Option<Foretold>,
) -> Option<(Found<S::Root>, Vec<f64>, u64)> {
    let (dim, rows) = (system.dim(), offset.len());
    let classes = likelihood.classes();
    let pairs = classes * (classes + 1) / 2;
    let mut work = Work {
        eta: vec![0.0; rows],
        slope: vec![0.0; rows],
        spare: vec![0.0; system.spare()],
        trial: vec![0.0; rows],
    };
    let mut evaluations = 0;
    let mut approached = None;
    if let Some(foretold) = foretold {
        let (y, there, spent) = by_chords(system, likelihood, settled, offset, foretold, &mut work);
        evaluations += spent;
        if there {
            let (mut found, eta) = finish(system, likelihood, settled, offset, base, y, &mut work)?;
            evaluations += 2;
            if !likelihood.is_skewed() {
                evaluations += 1;
                polish(system, likelihood, settled, &mut found, &eta, &mut work);
            }
            return Some((found, eta, evaluations));
        }
        approached = Some(y);
    }
    let hint = approached.as_deref().unwrap_or(hint);
    evaluations += 1;
    let height =
        |y: &[f64], eta: &[f64]| likelihood.log_p(eta, settled) - 0.5 * system.prior_inner(y, y);
    let place = |y: &[f64], work: &mut Work| {
        system.push(y, &mut work.eta, &mut work.spare);
        for (e, o) in work.eta.iter_mut().zip(offset) {
            *e += o;
        }
    };

    let mut y = vec![0.0; dim];
    if hint.len() == dim && hint.iter().all(|v| v.is_finite()) {
        y.copy_from_slice(hint);
    }
    place(&y, &mut work);
    let mut value = height(&y, &work.eta);
    // A hint that is far off can be worse than none.
    let zero = likelihood.log_p(offset, settled);
    if !(value.is_finite() && value >= zero) {
        y.fill(0.0);
        work.eta.copy_from_slice(offset);
        value = zero;
    }
    if let Some(natural) = reference {
        let other = system.whitened(natural);
        if other.iter().all(|v| v.is_finite()) {
            system.push(&other, &mut work.trial, &mut work.spare);
            for (e, o) in work.trial.iter_mut().zip(offset) {
                *e += o;
            }
            let there = height(&other, &work.trial);
            evaluations += 1;
            if there > value {
                (y, value) = (other, there);
                std::mem::swap(&mut work.eta, &mut work.trial);
            }
        }
    }
    if !value.is_finite() {
        return None;
    }
    let mut gradient = vec![0.0; dim];
    let mut direction = vec![0.0; dim];
    let mut along = vec![0.0; rows];
    let mut weights = vec![0.0; rows / classes * pairs];
    let climb = |y: &[f64], gradient: &mut [f64], work: &mut Work| {
        let Work {
            eta, slope, spare, ..
        } = work;
        likelihood.slope(eta, settled, slope);
        system.pull(slope, gradient, spare);
        system.take_prior(y, gradient)
    };
    let mut own = climb(&y, &mut gradient, &mut work);
    let (mut steps, mut converged) = (0, false);
    'search: while steps < MOST_STEPS {
        likelihood.weight(&work.eta, settled, &mut weights);
        let factor = system.step(&weights)?;
        let mut last = f64::INFINITY;
        loop {
            direction.copy_from_slice(&gradient);
            system.solve_step(&factor, &mut direction, &mut work);
            let squared = inner(&gradient, &direction);
            if !squared.is_finite() {
                return None;
            }
            if squared < CLOSE {
                // The step is as good as the place it leads to: it is taken without another look.
                for (v, d) in y.iter_mut().zip(&direction) {
                    *v += d;
                }
                converged = true;
                break 'search;
            }
            if squared > SHRINKS * last {
                break; // a new factorisation
            }
            last = squared;
            steps += 1;
            system.push(&direction, &mut along, &mut work.spare);
            let across = system.prior_inner(&y, &direction);
            let ahead = system.prior_inner(&direction, &direction);
            let mut length = 1.0;
            let mut climbed = false;
            for _ in 0..MOST_HALVINGS {
                for ((t, e), a) in work.trial.iter_mut().zip(&work.eta).zip(&along) {
                    *t = e + length * a;
                }
                let half: f64 = 0.5 * (own + 2.0 * length * across + length * length * ahead);
                let there = likelihood.log_p(&work.trial, settled) - half;
                evaluations += 1;
                if there >= value + 1e-4 * length * squared - ROUNDING * value.abs() {
                    value = there;
                    climbed = true;
                    break;
                }
                length *= 0.5;
            }
            if !climbed {
                // So near the top that rounding hides the slope: this is it.
                converged = squared < NEAR;
                break 'search;
            }
            for (v, d) in y.iter_mut().zip(&direction) {
                *v += length * d;
            }
            std::mem::swap(&mut work.eta, &mut work.trial);
            own = climb(&y, &mut gradient, &mut work);
            evaluations += 2;
            if length < 1.0 || steps >= MOST_STEPS {
                break;
            }
        }
    }
    if !converged {
        return None;
    }
    let end = finish(system, likelihood, settled, offset, base, y, &mut work);
    end.map(|(found, eta)| (found, eta, evaluations + 2))
}

/// One step of Newton's method with the frame's own root: where data are normal it leads to the mode exactly, and Laplace's estimate,
/// which is then no estimate, stays exact.
fn polish<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    found: &mut Found<S::Root>,
    eta: &[f64],
    work: &mut Work,
) {
    let Work { slope, spare, .. } = work;
    let dim = found.centre.len();
    let (mut gradient, mut half, mut step) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    likelihood.slope(eta, settled, slope);
    system.pull(slope, &mut gradient, spare);
    system.take_prior(&found.centre, &mut gradient);
    found.root.apply_transposed(&mut gradient, &mut half);
    found.root.apply(&half, &mut step);
    let pairs = found.centre.iter_mut().zip(&step);
    pairs.for_each(|(y, s)| *y += s);
    found.log_marginal += 0.5 * square(&half);
}

/// The frame at a mode, and η there.
fn finish<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    offset: &[f64],
    base: f64,
    y: Vec<f64>,
    work: &mut Work,
) -> Option<(Found<S::Root>, Vec<f64>)> {
    let classes = likelihood.classes();
    system.push(&y, &mut work.eta, &mut work.spare);
    for (e, o) in work.eta.iter_mut().zip(offset) {
        *e += o;
    }
    let height = likelihood.log_p(&work.eta, settled) - 0.5 * system.prior_inner(&y, &y);
    let mut weights = vec![0.0; offset.len() / classes * (classes * (classes + 1) / 2)];
    likelihood.weight(&work.eta, settled, &mut weights);
    let root = system.root(&weights)?;
    let log_marginal = base + height + root.log_det();
    let found = Found {
        centre: y,
        root,
        log_marginal,
    };
    Some((found, std::mem::take(&mut work.eta)))
}

/// From where the mode is thought to be, by steps with the curvature of another x: where that came, whether it is the mode, and what
/// it cost.
fn by_chords<S: System>(
    system: &S,
    likelihood: &Likelihood,
    settled: Settled,
    offset: &[f64],
    foretold: Foretold,
    work: &mut Work,
) -> (Vec<f64>, bool, u64) {
    let Foretold { mut y, root } = foretold;
    let dim = y.len();
    let (mut gradient, mut half, mut step) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
    let mut last = f64::INFINITY;
    let mut evaluations = 0;
    for _ in 0..MOST_CHORDS {
        let Work {
            eta, slope, spare, ..
        } = work;
        system.push(&y, eta, spare);
        eta.iter_mut().zip(offset).for_each(|(e, o)| *e += o);
        likelihood.slope(eta, settled, slope);
        system.pull(slope, &mut gradient, spare);
        system.take_prior(&y, &mut gradient);
        evaluations += 2;
        root.apply_transposed(&mut gradient, &mut half);
        let squared = square(&half);
        // False where it is no number, too.
        let shrinks = squared < CHORD_SHRINKS * last;
        if !shrinks {
            return (y, false, evaluations);
        }
        root.apply(&half, &mut step);
        y.iter_mut().zip(&step).for_each(|(y, s)| *y += s);
        if squared < CHORD_CLOSE {
            return (y, true, evaluations);
        }
        last = squared;
    }
    (y, false, evaluations)
}
