//! Simulation-based calibration of every family on both paths.
//!
//! Parameters, latent values and data are drawn from the model; a chain then runs from the truth, some steps forwards and
//! some backwards in time, the truth being at a random position among them. With a reversible kernel that leaves the posterior
//! invariant, the rank of the truth among the draws is uniform *exactly*, however slowly the chain mixes (Gandy and Scott,
//! 2020, "Unit testing for MCMC and other Monte Carlo methods"): a deviation is a mistake in the density, the frames, the
//! draws or the kernel, never a short run.
//!
//! `TOWLINE_LONG=1` runs many more replications.

#[path = "sbc/components.rs"]
mod components;

use towline::fast::CrankNicolson;
use towline::frame::{Curvature, Laplace, Linear};
use towline::{
    Chain, Drag, Factor, FastMove, FastOnly, FrameRule, Kernel, Model, Prior, Rng, SlowProposal,
};
use towline_models::{
    Builder, Covariance, Data, Distance, Family, Fixed, Grouping, LatentGaussian, Places, Process,
    Shape, Value,
};

const FAMILIES: [Family; 8] = [
    Family::BernoulliLogit,
    Family::BernoulliProbit,
    Family::BinomialLogit,
    Family::BinomialProbit,
    Family::Poisson,
    Family::NegativeBinomial,
    Family::Gaussian,
    Family::Softmax,
];

const ROWS: usize = 12;
/// Draws besides the truth, and steps between them.
const DRAWS: usize = 15;
const THIN: usize = 3;
/// Data with a larger count than this are left out.
const MOST_COUNTED: f64 = 1e12;
/// Standard deviations from uniform that are a mistake: of some 500 normal numbers, the largest is about 3.1.
const MISTAKE: f64 = 4.2;

fn replications() -> usize {
    if std::env::var_os("TOWLINE_LONG").is_some() {
        4000
    } else {
        150
    }
}

fn log_normal(name: &str, log_mean: f64) -> Value {
    Value::free(
        name,
        Prior::LogNormal {
            log_mean,
            log_sd: 0.5,
        },
    )
}

fn wave(step: f64) -> Vec<f64> {
    (0..ROWS).map(|i| (i as f64 * step).sin()).collect()
}

fn start(family: Family) -> Builder {
    let response = match family {
        Family::Softmax => (0..ROWS).map(|i| (i % 3) as f64).collect(),
        _ => vec![0.0; ROWS],
    };
    let data = Data::new(family, response).offset(wave(0.3));
    let data = match family {
        Family::BinomialLogit | Family::BinomialProbit => data.trials(vec![4.0; ROWS]),
        _ => data,
    };
    let fixed = Fixed::default()
        .with("Intercept", vec![1.0; ROWS], 0.3, 0.8)
        .with("slope", wave(1.1), 0.0, 0.7);
    let builder = Builder::new(data).fixed(fixed);
    match family.parameter() {
        Some(name) => builder.parameter(log_normal(name, 0.2)),
        None => builder,
    }
}

fn dense(family: Family, sigma: Value) -> LatentGaussian {
    let covariance = Covariance::Stationary {
        shape: Shape::Matern52,
        inputs: vec![0],
        distance: Distance::Euclidean,
        sd: sigma,
        ranges: vec![log_normal("range", -0.5)],
    };
    start(family)
        .process(Process::new(covariance, Places::new(vec![wave(0.7)])))
        .build()
        .unwrap()
}

fn sparse(family: Family) -> LatentGaussian {
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect();
    let slopes = Grouping {
        name: "site".into(),
        levels: levels(3),
        group: (0..ROWS).map(|i| i % 3).collect(),
        effects: vec!["Intercept".into(), "slope".into()],
        columns: vec![vec![1.0; ROWS], wave(1.1)],
        sds: vec![log_normal("sd_site", -0.2), log_normal("sd_slope", -0.5)],
        correlation: Some(1.5),
    };
    let day = (0..ROWS).map(|i| (i * i) % 4).collect();
    start(family)
        .grouping(slopes)
        .grouping(Grouping::intercept(
            "day",
            levels(4),
            day,
            log_normal("sd_day", -0.4),
        ))
        .build()
        .unwrap()
}

/// Zeros and ones of groups of one or two with a large spread, within larger groups: skewed conditionals, whose frames are
/// centred at the mean and whose effects are straightened.
fn skewed() -> LatentGaussian {
    let levels = |n: usize| (0..n).map(|k| k.to_string()).collect();
    let inner: Vec<usize> = (0..36).map(|i| i * 2 / 3).collect();
    let outer = inner.iter().map(|g| g % 4).collect();
    let fixed = Fixed::default().with("Intercept", vec![1.0; 36], 0.3, 0.8);
    Builder::new(Data::new(Family::BernoulliLogit, vec![0.0; 36]))
        .fixed(fixed)
        .grouping(Grouping::intercept(
            "inner",
            levels(24),
            inner,
            log_normal("sd_inner", 1.0),
        ))
        .grouping(Grouping::intercept(
            "outer",
            levels(4),
            outer,
            log_normal("sd_outer", 0.0),
        ))
        .build()
        .unwrap()
}

/// A kernel that is its own reverse: fast, slow, fast.
fn kernel(model: &LatentGaussian) -> Kernel {
    let (p, d) = (model.slow_dim(), model.fast_dim());
    let root = Factor::diagonal(&vec![1.0; d], "the frame").unwrap();
    let linear = Linear::new(vec![0.0; p], vec![0.0; d], vec![0.0; p * d], root).unwrap();
    let frame = FrameRule::Laplace(Box::new(Laplace::new(linear, Curvature::Own)));
    let inner = FastMove::CrankNicolson(CrankNicolson::new(0.7));
    let walk = SlowProposal::random_walk(&vec![0.5; p]).unwrap();
    let drag = Drag::new(3, walk, inner.clone())
        .unwrap()
        .in_frame(frame.clone());
    let fast = FastOnly::new(inner, 1).in_frame(frame);
    Kernel::Cycle(vec![fast.clone().into(), drag.into(), fast.into()])
}

/// The ranks of the truth: for every quantity that is watched, one for each replication.
fn ranks(truth: &LatentGaussian, fitted: &LatentGaussian, seed: u64) -> Vec<(String, Vec<f64>)> {
    let mut rng = Rng::stream(seed, 0);
    let columns = truth.columns();
    // Slow parameters, coefficients and the first latent values; and the log density.
    let watched = (truth.slow_dim() + 3).min(columns.len());
    let mut all: Vec<(String, Vec<f64>)> = columns[..watched]
        .iter()
        .map(|c| (c.name.clone(), Vec::new()))
        .collect();
    all.push(("log density".into(), Vec::new()));
    for replication in 0..replications() {
        let (x, y, simulated) = truth.simulate(&mut rng).unwrap();
        // A range far beyond the mesh makes its level astronomical, and counts that no number holds. What is left out by its data alone leaves
        // the others' ranks uniform: given the data, the truth is a draw of the posterior.
        if simulated
            .response()
            .iter()
            .any(|count| *count > MOST_COUNTED)
        {
            continue;
        }
        let model = fitted.with_response(simulated.response().to_vec());
        let kernel = kernel(&model);
        let before = rng.index(DRAWS + 1);
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for (leg, steps) in [before, DRAWS - before].into_iter().enumerate() {
            let stream = Rng::stream(seed + 1 + replication as u64, leg as u64 + 1);
            let mut chain = Chain::new(&model, kernel.clone(), &x, &y, stream).unwrap();
            let mut note = |chain: &Chain<&LatentGaussian>| {
                let mut row = vec![0.0; columns.len()];
                model.report(chain.x(), chain.y(), chain.cache(), &mut row);
                row.truncate(watched);
                row.push(chain.log_density());
                rows.push(row);
            };
            if leg == 0 {
                note(&chain);
            }
            for _ in 0..steps {
                for _ in 0..THIN {
                    chain.advance().unwrap();
                }
                note(&chain);
            }
        }
        let (first, others) = rows.split_first().unwrap();
        for (k, (_, ranks)) in all.iter_mut().enumerate() {
            let below = others.iter().filter(|row| row[k] < first[k]).count();
            let same = others.iter().filter(|row| row[k] == first[k]).count();
            ranks.push((below + rng.index(same + 1)) as f64);
        }
    }
    all
}

/// How far ranks are from uniform, in standard deviations: of their mean, of their spread, and of chi-square in four bins.
fn deviation(ranks: &[f64]) -> f64 {
    let n = ranks.len() as f64;
    let m = DRAWS as f64;
    let (centre, variance) = (m / 2.0, ((m + 1.0) * (m + 1.0) - 1.0) / 12.0);
    let mean = ranks.iter().sum::<f64>() / n;
    let location = (mean - centre) / (variance / n).sqrt();
    // The squared distance from the centre has mean `variance`; its own variance by enumeration.
    let squares: Vec<f64> = (0..=DRAWS).map(|r| (r as f64 - centre).powi(2)).collect();
    let second = squares.iter().map(|s| (s - variance).powi(2)).sum::<f64>() / (m + 1.0);
    let spread = ranks.iter().map(|r| (r - centre).powi(2)).sum::<f64>() / n;
    let spread = (spread - variance) / (second / n).sqrt();
    let mut bins = [0.0; 4];
    for rank in ranks {
        bins[(*rank * 4.0 / (m + 1.0)) as usize] += 1.0;
    }
    let chi2: f64 = bins.iter().map(|b| (b - n / 4.0).powi(2) / (n / 4.0)).sum();
    // Wilson and Hilferty: chi-square with three degrees of freedom as a normal number.
    let chi = ((chi2 / 3.0).cbrt() - (1.0 - 2.0 / 27.0)) / (2.0f64 / 27.0).sqrt();
    location.abs().max(spread.abs()).max(chi)
}

fn worst(ranks: &[(String, Vec<f64>)]) -> (f64, String) {
    ranks
        .iter()
        .map(|(name, ranks)| (deviation(ranks), name.clone()))
        .fold((0.0, String::new()), |a, b| if b.0 > a.0 { b } else { a })
}

#[test]
fn every_family_is_calibrated_on_the_dense_path() {
    for (k, family) in FAMILIES.into_iter().enumerate() {
        let model = dense(family, log_normal("sigma", -0.1));
        let (deviation, name) = worst(&ranks(&model, &model, 10_000 * k as u64));
        println!("dense {family:?}: at most {deviation:.2} ({name})");
        assert!(
            deviation < MISTAKE,
            "{family:?}: {name} is off by {deviation:.1} sd"
        );
    }
}

#[test]
fn every_family_is_calibrated_on_the_sparse_path() {
    for (k, family) in FAMILIES.into_iter().enumerate() {
        // Twelve rows would not be thought worth it.
        let model = sparse(family).corrected(true);
        let (deviation, name) = worst(&ranks(&model, &model, 200_000 + 10_000 * k as u64));
        println!("sparse {family:?}: at most {deviation:.2} ({name})");
        assert!(
            deviation < MISTAKE,
            "{family:?}: {name} is off by {deviation:.1} sd"
        );
    }
}

#[test]
fn binary_groups_with_a_large_spread_are_calibrated() {
    let model = skewed().corrected(true);
    let (deviation, name) = worst(&ranks(&model, &model, 400_000));
    println!("skewed: at most {deviation:.2} ({name})");
    assert!(deviation < MISTAKE, "{name} is off by {deviation:.1} sd");
}

#[test]
fn a_model_with_another_prior_than_the_data_came_from_is_caught() {
    let truth = dense(Family::Poisson, log_normal("sigma", -0.1));
    let wrong = dense(Family::Poisson, log_normal("sigma", 0.9));
    let (deviation, name) = worst(&ranks(&truth, &wrong, 77));
    assert!(
        deviation > MISTAKE,
        "not caught: {name} is off by {deviation:.1} sd only"
    );
}
