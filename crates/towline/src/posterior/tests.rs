//! The posterior's parts fit together: densities, circles without a seam, gradients, starts.

use super::*;
use crate::erased::{AnyTarget, Erased};
use crate::{
    Chain, Drag, Factor, FastMove, Model, Prior, RandomWalk, Scratch, SlowProposal, Target, Warmup,
};

fn prior(text: &str) -> Prior {
    text.parse().unwrap()
}

/// A density on the circle around 3, just before the seam at ±π, with E cos(φ − 3) = 0.7 (κ = 2.0135).
const KAPPA: f64 = 2.013_63;

/// I₁(κ)/I₀(κ) by the trapezoidal rule, which is exact here.
fn mean_cosine() -> f64 {
    let angles = (0..200).map(|k| std::f64::consts::TAU * f64::from(k) / 200.0);
    let (mut above, mut below) = (0.0, 0.0);
    for angle in angles {
        let weight = (KAPPA * angle.cos()).exp();
        above += weight * angle.cos();
        below += weight;
    }
    above / below
}

/// Means of cos(φ − 3), and how often φ lay on either side of the seam.
fn follow(
    posterior: &Posterior<impl Likelihood>,
    column: usize,
    tuned: bool,
) -> (f64, f64, [u32; 2]) {
    let mut rng = Rng::stream(31, 0);
    let (x, y) = posterior.start(&mut rng).unwrap();
    let (kernel, x, y) = if tuned {
        let warmup = Warmup {
            cost: crate::warmup::Cost::Ratio(10.0),
            ..Warmup::default()
        };
        let warm = warmup.run(posterior, &x, &y, &mut rng).unwrap();
        (warm.tuning.kernel().unwrap(), warm.x, warm.y)
    } else {
        let inner = RandomWalk::new(Factor::diagonal(&vec![0.7; y.len()], "steps").unwrap());
        let slow = SlowProposal::random_walk(&vec![0.7; x.len()]).unwrap();
        let drag = Drag::new(4, slow, FastMove::RandomWalk(inner)).unwrap();
        (drag.into(), x, y)
    };
    let posterior = Erased(posterior);
    let mut chain = Chain::new(&posterior as &AnyTarget, kernel, &x, &y, rng).unwrap();
    let mut row = vec![0.0; posterior.columns().len()];
    let (mut cosines, mut sides) = (Vec::new(), [0, 0]);
    for _ in 0..60_000 {
        chain.advance().unwrap();
        posterior.report(chain.x(), chain.y(), chain.cache(), &mut row);
        cosines.push((row[column] - 3.0).cos());
        sides[usize::from(row[column] < 0.0)] += 1;
    }
    let error = crate::diagnose::mcse_mean(&[&cosines]);
    (crate::diagnose::mean(&[&cosines]), error, sides)
}

#[test]
fn circles_have_no_seam_whether_slow_or_fast() {
    assert!((mean_cosine() - 0.7).abs() < 1e-4, "{}", mean_cosine());
    let circle = || prior("uniform_periodic(-pi, pi)");
    let slow = || {
        Posterior::new(
            vec![
                Parameter::slow("phi", circle()),
                Parameter::fast("other", prior("normal(0, 1)")),
            ],
            two_stages(
                |x: &[f64]| Ok(Some(KAPPA * (x[0] - 3.0).cos())),
                |l: &f64, _: &[f64]| *l,
            ),
        )
        .unwrap()
    };
    let fast = || {
        Posterior::new(
            vec![
                Parameter::slow("other", prior("normal(0, 1)")),
                Parameter::fast("phi", circle()),
            ],
            two_stages(
                |_: &[f64]| Ok(Some(())),
                |(), y: &[f64]| KAPPA * (y[0] - 3.0).cos(),
            ),
        )
        .unwrap()
    };
    for tuned in [false, true] {
        for (what, (mean, error, sides)) in [
            ("slow", follow(&slow(), 0, tuned)),
            ("fast", follow(&fast(), 1, tuned)),
        ] {
            let z = (mean - mean_cosine()) / error;
            assert!(error < 0.02, "{what}, {tuned}: {error}");
            assert!(z.abs() < 4.0, "{what}, {tuned}: {mean} ± {error}, z = {z}");
            assert!(sides[0] > 10_000 && sides[1] > 10_000, "{sides:?}");
        }
    }
}

#[test]
fn every_kind_of_prior_is_sampled_through_its_transform() {
    // No data: what comes out must be the priors. Several speeds, declared in a mixed order.
    let texts = [
        "gamma(3, 2)",
        "uniform(-1, 4)",
        "beta(2, 3)",
        "student_t(8, 1, 2)",
        "half_normal(2)",
    ];
    let parameters = vec![
        Parameter::fast("a", prior(texts[0])).at_level(1),
        Parameter::slow("b", prior(texts[1])),
        Parameter::fast("c", prior(texts[2])),
        Parameter::fast("d", prior(texts[3])).at_level(1),
        Parameter::slow("e", prior(texts[4])),
    ];
    let posterior = Posterior::new(
        parameters,
        two_stages(|_: &[f64]| Ok(Some(())), |(), _: &[f64]| 0.0),
    )
    .unwrap()
    .deriving(&["sum"], |(), slow, fast, out| {
        out[0] = slow.iter().sum::<f64>() + fast.iter().sum::<f64>();
    })
    .unwrap();
    assert_eq!(posterior.blocks(), [1]);
    let exact = [
        1.5,
        1.5,
        0.4,
        1.0,
        2.0 * (2.0 / std::f64::consts::PI).sqrt(),
    ];
    let mut rng = Rng::stream(5, 0);
    let (x, y) = posterior.start(&mut rng).unwrap();
    let warm = Warmup::default().run(&posterior, &x, &y, &mut rng).unwrap();
    let kernel = warm.tuning.kernel().unwrap();
    let posterior = Erased(&posterior);
    let mut chain = Chain::new(&posterior as &AnyTarget, kernel, &warm.x, &warm.y, rng).unwrap();
    let mut columns = vec![Vec::new(); 6];
    let mut row = [0.0; 6];
    for _ in 0..40_000 {
        chain.advance().unwrap();
        posterior.report(chain.x(), chain.y(), chain.cache(), &mut row);
        columns.iter_mut().zip(row).for_each(|(c, v)| c.push(v));
    }
    for (k, exact) in exact.into_iter().enumerate() {
        let mean = crate::diagnose::mean(&[&columns[k]]);
        let z = (mean - exact) / crate::diagnose::mcse_mean(&[&columns[k]]);
        assert!(
            z.abs() < 4.0,
            "{}: {mean} is not {exact}, z = {z}",
            texts[k]
        );
    }
    for k in 0..100 {
        let sum: f64 = (0..5).map(|c| columns[c][k]).sum();
        assert!((sum - columns[5][k]).abs() < 1e-12);
    }
}

/// A likelihood with a gradient.
struct Sloped;

impl Likelihood for Sloped {
    type Cache = f64;
    fn prepare(&self, slow: &[f64]) -> Result<Option<f64>, ModelError> {
        Ok(Some(slow[0]))
    }
    fn log_likelihood(&self, cache: &f64, fast: &[f64]) -> f64 {
        -cache * fast.iter().map(|f| f * f.sin()).sum::<f64>()
    }
    fn gradient(&self, cache: &f64, fast: &[f64], gradient: &mut [f64]) -> Option<f64> {
        for (g, f) in gradient.iter_mut().zip(fast) {
            *g = -cache * (f.sin() + f * f.cos());
        }
        Some(self.log_likelihood(cache, fast))
    }
}

#[test]
fn gradients_pass_through_the_transforms() {
    let posterior = Posterior::new(
        vec![
            Parameter::slow("s", prior("exponential(1)")),
            Parameter::fast("a", prior("normal(1, 2)")),
            Parameter::fast("b", prior("gamma(2, 3)")),
            Parameter::fast("c", prior("beta(2, 3)")),
            Parameter::fast("d", prior("uniform_periodic(-1, 4)")),
        ],
        Sloped,
    )
    .unwrap();
    let cache = posterior.prepare(&[0.3]).unwrap().unwrap();
    let y = [0.4, -0.3, 0.8, -0.9, 0.7];
    let mut gradient = [0.0; 5];
    let scratch = &mut Scratch::default();
    let log = posterior
        .gradient(&cache, &y, &mut gradient, scratch)
        .unwrap();
    assert_eq!(log, posterior.log_density(&cache, &y));
    for k in 0..5 {
        let at = |h: f64| {
            let mut y = y;
            y[k] += h;
            posterior.log_density(&cache, &y)
        };
        let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!(
            (numeric - gradient[k]).abs() < 1e-7,
            "{k}: {numeric}, {gradient:?}"
        );
    }
}

#[test]
fn names_and_starts_that_cannot_be_are_refused() {
    let nothing = || two_stages(|_: &[f64]| Ok(Some(())), |(), _: &[f64]| 0.0);
    let one = || Parameter::fast("a", prior("normal(0, 1)"));
    assert!(Posterior::new(vec![], nothing()).is_err());
    assert!(Posterior::new(vec![one(), one()], nothing()).is_err());
    let posterior = Posterior::new(vec![one()], nothing()).unwrap();
    assert!(posterior.deriving(&["a"], |(), _, _, _| {}).is_err());
    let impossible = two_stages(|_: &[f64]| Ok(Some(())), |(), _: &[f64]| f64::NEG_INFINITY);
    let posterior = Posterior::new(vec![one()], impossible).unwrap();
    let said = posterior.start(&mut Rng::stream(1, 0)).unwrap_err();
    assert!(said.to_string().contains("positive density"), "{said}");
    assert!(posterior.locate(&[f64::NAN]).is_err());
}

/// A likelihood with a batch of its own, which counts how many points came by it.
struct Vectorised {
    by_batch: std::sync::atomic::AtomicUsize,
    on: bool,
}

impl Likelihood for Vectorised {
    type Cache = f64;

    fn prepare(&self, slow: &[f64]) -> Result<Option<f64>, ModelError> {
        Ok(Some(slow[0]))
    }

    fn log_likelihood(&self, x: &f64, fast: &[f64]) -> f64 {
        -0.5 * ((fast[0] - x).powi(2) + (fast[1] - fast[0]).powi(2) * (1.0 + x * x))
    }

    fn log_likelihood_batch(&self, x: &f64, fasts: &[f64], out: &mut [f64]) {
        let count = &self.by_batch;
        count.fetch_add(out.len(), std::sync::atomic::Ordering::Relaxed);
        for (fast, out) in fasts.chunks_exact(2).zip(out) {
            *out = self.log_likelihood(x, fast);
        }
    }

    fn is_vectorised(&self) -> bool {
        self.on
    }
}

fn vectorised(on: bool) -> Posterior<Vectorised> {
    let parameters = vec![
        Parameter::slow("x", prior("normal(0, 1)")),
        Parameter::fast("a", prior("normal(0, 2)")),
        Parameter::fast("b", prior("uniform(-5, 5)")),
    ];
    let by_batch = std::sync::atomic::AtomicUsize::new(0);
    Posterior::new(parameters, Vectorised { by_batch, on }).unwrap()
}

#[test]
fn a_batch_gives_what_single_evaluations_give_also_outside_the_support() {
    let posterior = vectorised(true);
    let cache = posterior.prepare(&[0.4]).unwrap().unwrap();
    let ys = [0.1, 0.2, f64::INFINITY, 0.3, -2.0, 1e3, 0.7, f64::NAN];
    let (mut out, scratch) = ([0.0; 4], &mut Scratch::default());
    posterior.log_density_batch(&cache, &ys, &mut out, scratch);
    for (y, value) in ys.chunks_exact(2).zip(out) {
        let single = posterior.log_density(&cache, y);
        assert_eq!(value.to_bits(), single.to_bits(), "{y:?}: {value}");
    }
    assert_eq!(out[1], f64::NEG_INFINITY);
}

#[test]
fn searches_go_by_batches_where_those_are_cheaper_to_the_same_bits() {
    let warmed = [true, false].map(|on| {
        let posterior = vectorised(on);
        let warmup = Warmup {
            cost: crate::warmup::Cost::Ratio(100.0),
            ..Warmup::default()
        };
        let mut rng = Rng::stream(3, 0);
        let (x, y) = posterior.start(&mut rng).unwrap();
        let warm = warmup.run(&posterior, &x, &y, &mut rng).unwrap();
        let by_batch = &posterior.likelihood().by_batch;
        (warm, by_batch.load(std::sync::atomic::Ordering::Relaxed))
    });
    let [(with, many), (without, none)] = warmed;
    assert!(many > 1000 && none == 0, "{many} and {none}");
    assert_eq!(
        (with.x, with.y, with.tuning.linear),
        (without.x, without.y, without.tuning.linear)
    );
}

#[test]
fn a_start_that_is_given_is_taken_and_the_rest_is_drawn() {
    let posterior = vectorised(false).starting(|_| Ok(vec![Some(0.5), None, Some(-4.0)]));
    for seed in 0..5 {
        let (x, y) = posterior.start(&mut Rng::stream(seed, 0)).unwrap();
        let values = posterior.values_at(&x, &y);
        assert!((values[0] - 0.5).abs() < 1e-12 && (values[2] + 4.0).abs() < 1e-12);
        assert!(posterior.values_at(&x, &[])[1].is_nan());
    }
    let outside = vectorised(false).starting(|_| Ok(vec![None, None, Some(7.0)]));
    let said = outside
        .start(&mut Rng::stream(1, 0))
        .unwrap_err()
        .to_string();
    assert!(said.contains("b = 7 lies outside its support"), "{said}");
}

#[test]
fn derived_quantities_have_labels() {
    let posterior = vectorised(false)
        .deriving(&["sum"], |_, x, y, out| out[0] = x[0] + y[0])
        .unwrap()
        .labelling("sum", r"\Sigma")
        .unwrap();
    assert_eq!(posterior.columns()[3].label.as_deref(), Some(r"\Sigma"));
    assert!(posterior.labelling("a", "A").is_err());
}
