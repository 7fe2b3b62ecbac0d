//! Predictions against exact answers, and their coverage by simulation.

mod classes;

use super::*;
use crate::{
    Builder, Covariance, DEFAULT_JITTER, Data, Distance, Family, Fixed, Grouping, Process, Shape,
    Value,
};
use towline::{Model, Prior, Rng, Target};

fn y(model: &LatentGaussian) -> Vec<f64> {
    (0..model.fast_dim())
        .map(|k| (k as f64 * 1.9).sin())
        .collect()
}

#[test]
fn a_process_predicts_itself_where_it_is_known_and_its_prior_far_away() {
    let places = Places::new(vec![vec![0.0, 1.0, 2.5, 4.0]]);
    let covariance = Covariance::Stationary {
        shape: Shape::Matern32,
        inputs: vec![0],
        distance: Distance::Euclidean,
        sd: Value::Fixed(1.4),
        ranges: vec![Value::Fixed(0.9)],
    };
    let fixed = Fixed::default().with("Intercept", vec![1.0; 4], 0.5, 2.0);
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
        .fixed(fixed)
        .process(Process {
            jitter: 1e-12,
            ..Process::new(covariance, places)
        })
        .build()
        .unwrap();
    let y = y(&model);
    let cache = model.prepare(&[]).unwrap().unwrap();
    let mut row = vec![0.0; model.columns().len()];
    model.report(&[], &y, &cache, &mut row);
    let new = New {
        rows: 3,
        fixed: vec![vec![1.0; 3]],
        places: Places::new(vec![vec![1.0, 4.0, 1e6]]),
        ..New::default()
    };
    let seen = model.predict(&cache, &y, &new, What::Row).unwrap();
    assert!((seen.mean[0] - row[0] - row[2]).abs() < 1e-9);
    assert!((seen.mean[1] - row[0] - row[4]).abs() < 1e-9);
    assert!((seen.mean[2] - row[0]).abs() < 1e-9);
    assert!(seen.variance[0] == 0.0 && (seen.variance[2] - 1.96).abs() < 1e-9);
    assert!(
        model
            .predict(&cache, &y, &New { rows: 2, ..new }, What::Row)
            .is_err()
    );
}

fn smooth(inputs: Vec<usize>) -> Covariance {
    Covariance::Stationary {
        shape: Shape::Matern32,
        inputs,
        distance: Distance::Euclidean,
        sd: Value::Fixed(1.4),
        ranges: vec![Value::Fixed(0.9)],
    }
}

#[test]
fn a_fitted_place_keeps_its_nugget_and_a_new_one_draws_its_own() {
    let nugget = Covariance::Nugget {
        sd: Value::Fixed(0.7),
        inputs: vec![0],
    };
    let places = Places::new(vec![vec![0.0, 1.0, 2.5, 4.0]]);
    let covariance = Covariance::Sum(vec![smooth(vec![0]), nugget]);
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
        .process(Process::new(covariance, places))
        .build()
        .unwrap();
    let (y, cache) = (y(&model), model.prepare(&[]).unwrap().unwrap());
    let mut row = vec![0.0; model.columns().len()];
    model.report(&[], &y, &cache, &mut row);
    let new = New {
        rows: 2,
        places: Places::new(vec![vec![1.0, 1e6]]),
        ..New::default()
    };
    let seen = model.predict(&cache, &y, &new, What::Row).unwrap();
    assert!(
        (seen.mean[0] - row[1]).abs() < 1e-9,
        "{} {}",
        seen.mean[0],
        row[1]
    );
    assert_eq!(seen.variance[0], 0.0);
    assert!((seen.variance[1] - 1.96 - 0.49 - DEFAULT_JITTER).abs() < 1e-9);
    // The surface has no nugget, and is not known where the data are.
    let seen = model.predict(&cache, &y, &new, What::Surface).unwrap();
    assert!((seen.mean[0] - row[1]).abs() > 1e-3 && seen.variance[0] > 0.1);
    assert!((seen.variance[1] - 1.96).abs() < 1e-9);
}

/// Where intercept and process trade off, the surface less its mean is known, whatever the two are.
#[test]
fn a_centred_surface_does_not_trade_off_with_the_intercept() {
    let at = vec![0.0, 1.0, 2.5, 4.0];
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
        .fixed(Fixed::default().with("Intercept", vec![1.0; 4], 0.0, 10.0))
        .process(Process::new(smooth(vec![0]), Places::new(vec![at.clone()])))
        .build()
        .unwrap();
    let bumps = [0.3, -0.2, 0.4, -0.1];
    let draws = [-1.5, -0.4, 0.2, 1.7]
        .iter()
        .map(|shift| {
            // Intercept and process, which sum to the same at every place.
            let process = bumps.iter().map(|f| f + shift);
            std::iter::once(2.0 - shift).chain(process).collect()
        })
        .collect();
    let predictor = Predictor::new(model, draws);
    let new = |value: f64| New {
        rows: 4,
        fixed: vec![vec![value; 4]],
        places: Places::new(vec![at.clone()]),
        ..New::default()
    };
    let sds = |what: What, value: f64| -> Vec<f64> {
        let surface = predictor.surface(&new(value), what, &|_| {}).unwrap();
        surface.cells.iter().map(Mixture::sd).collect()
    };
    let alone = sds(What::Surface, 0.0);
    assert!(alone.iter().all(|sd| *sd > 1.0), "{alone:?}");
    for known in [sds(What::Centred, 0.0), sds(What::Surface, 1.0)] {
        assert!(known.iter().all(|sd| *sd < 1e-3), "{known:?}");
    }
}

#[test]
fn a_nugget_belongs_to_its_process() {
    // Two sites at three times; the nugget is the sites' process's, the smooth one is over time.
    let sites = vec![0.0, 0.0, 0.0, 5.0, 5.0, 5.0];
    let times = vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
    let nugget = Covariance::Nugget {
        sd: Value::Fixed(0.7),
        inputs: vec![0],
    };
    let covariance = Covariance::Sum(vec![nugget, smooth(vec![1])]);
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 6]))
        .process(Process::new(covariance, Places::new(vec![sites, times])))
        .build()
        .unwrap();
    let (y, cache) = (y(&model), model.prepare(&[]).unwrap().unwrap());
    // A fitted site at a time far away: its nugget is nearly known, the smooth process there is not at all.
    let new = New {
        rows: 2,
        places: Places::new(vec![vec![5.0, 9.0], vec![1e6, 1e6]]),
        ..New::default()
    };
    let seen = model.predict(&cache, &y, &new, What::Row).unwrap();
    assert!(
        seen.variance[1] > 1.96 + 0.48,
        "a new site: {}",
        seen.variance[1]
    );
    let left = seen.variance[0] - 1.96;
    assert!(left > 0.0 && left < 0.4, "a fitted site: {left}");
    assert!(seen.mean[0].abs() > 1e-3 && seen.mean[1].abs() < 1e-9);
}

#[test]
fn known_groups_have_their_effects_and_new_ones_their_variance() {
    let grouping = Grouping {
        name: "g".into(),
        levels: vec!["a".into(), "b".into()],
        group: vec![0, 1, 1],
        effects: vec!["Intercept".into(), "t".into()],
        columns: vec![vec![1.0; 3], vec![0.0, 1.0, 2.0]],
        sds: vec![Value::Fixed(0.7), Value::Fixed(0.4)],
        correlation: None,
    };
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 3]))
        .grouping(grouping)
        .build()
        .unwrap();
    let y = y(&model);
    let cache = model.prepare(&[]).unwrap().unwrap();
    let new = New {
        rows: 2,
        groups: vec![vec![Some(1), None]],
        columns: vec![vec![vec![1.0; 2], vec![3.0; 2]]],
        ..New::default()
    };
    let seen = model.predict(&cache, &y, &new, What::Row).unwrap();
    assert!((seen.mean[0] - (0.7 * y[2] + 3.0 * 0.4 * y[3])).abs() < 1e-12);
    assert_eq!((seen.variance[0], seen.mean[1]), (0.0, 0.0));
    assert!((seen.variance[1] - (0.49 + 9.0 * 0.16)).abs() < 1e-12);
}

/// Draws of the prior that predictions are made of.
const DRAWS: usize = 100;
const LEVELS: [f64; 4] = [0.5, 0.9, 0.95, 0.99];

/// Every family with one predictor, with a value of its parameter and trials.
const FAMILIES: [(Family, f64, f64); 7] = [
    (Family::BernoulliLogit, 1.0, 1.0),
    (Family::BernoulliProbit, 1.0, 1.0),
    (Family::BinomialLogit, 1.0, 40.0),
    (Family::BinomialProbit, 1.0, 12.0),
    (Family::Poisson, 1.0, 1.0),
    (Family::NegativeBinomial, 2.5, 1.0),
    (Family::Gaussian, 0.6, 1.0),
];

fn data(family: Family, rows: usize, trials: f64) -> Data {
    let data = Data::new(family, vec![0.0; rows]);
    match family {
        Family::BinomialLogit | Family::BinomialProbit => data.trials(vec![trials; rows]),
        _ => data,
    }
}

fn with_parameter(builder: Builder, family: Family, value: f64) -> Builder {
    match family.parameter() {
        // It varies from draw to draw, as in a posterior.
        Some(name) => {
            let (lower, upper) = (0.6 * value, 1.6 * value);
            builder.parameter(Value::free(name, Prior::Uniform { lower, upper }))
        }
        None => builder,
    }
}

/// Intervals at every level, with the probability that each holds.
fn intervals(one: &RowPrediction, response: bool) -> [(f64, f64, f64); LEVELS.len()] {
    let discrete = response && one.observation(0).is_discrete();
    LEVELS.map(|level| {
        let tail = 0.5 * (1.0 - level);
        if !response {
            let interval = one.latent(level);
            // Of points, an interval holds as many as it can: all but one in so many.
            let below = interval.lower - 1e-9;
            let p = one.eta.cdf(interval.upper) - one.eta.cdf(below);
            assert!((p - level).abs() < 1e-6 + 2.0 / DRAWS as f64, "{level} {p}");
            return (interval.lower, interval.upper, p);
        }
        let [low, high] = one.quantiles([tail, 1.0 - tail]);
        let p = if discrete {
            one.cdf(high) - one.cdf(low - 1.0)
        } else {
            level
        };
        assert!(p > level - 1e-9, "an interval of {level} holds {p}");
        (low, high, p)
    })
}

/// How often intervals held a truth, beside how often they should.
#[derive(Default)]
struct Tally([(f64, f64, f64); LEVELS.len()]);

impl Tally {
    fn add(&mut self, intervals: &[(f64, f64, f64); LEVELS.len()], truth: f64) {
        for ((expected, variance, seen), (low, high, p)) in self.0.iter_mut().zip(intervals) {
            *expected += p;
            *variance += p * (1.0 - p);
            *seen += f64::from(u8::from(truth >= *low && truth <= *high));
        }
    }

    fn check(&self, what: &str) {
        for ((expected, variance, seen), level) in self.0.iter().zip(LEVELS) {
            let z = (seen - expected) / variance.max(1e-9).sqrt();
            assert!(
                z.abs() < 4.0,
                "{what}, {level}: {seen} of {expected}, z = {z}"
            );
        }
    }
}

/// Predictions of a model from draws of its prior, which are exact draws of a posterior without data: the truth is
/// one of them with its own noise. Half of the rows are at what was fitted, half are new.
fn covers(model: &LatentGaussian, new: &New, what: &str, truths: usize) {
    let mut rng = Rng::stream(11, 0);
    let mut draws = Vec::new();
    for _ in 0..DRAWS {
        let (x, y, _) = model.simulate(&mut rng).unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let mut row = vec![0.0; model.columns().len()];
        model.report(&x, &y, &cache, &mut row);
        draws.push(row);
    }
    let predictor = Predictor::new(model.clone(), draws.clone());
    let surface = predictor.surface(new, What::Row, &|_| {}).unwrap();
    let (mut latent, mut response) = (Tally::default(), Tally::default());
    let rows: Vec<RowPrediction> = (0..new.rows).map(|row| surface.row(row)).collect();
    let of_eta: Vec<_> = rows.iter().map(|one| intervals(one, false)).collect();
    let of_response: Vec<_> = rows.iter().map(|one| intervals(one, true)).collect();
    // Truths are joint draws: another path through the code than the marginal predictions. One row of each, and one
    // draw at random of all, so that they are independent.
    for seed in 0..truths as u64 {
        let one = vec![draws[rng.index(draws.len())].clone()];
        let joint = Predictor::new(model.clone(), one).joint(new, seed).unwrap();
        let (joint, row) = (&joint[0], rng.index(new.rows));
        latent.add(&of_eta[row], joint.eta[row]);
        response.add(&of_response[row], joint.response[row]);
    }
    latent.check(&format!("{what}, latent"));
    response.check(&format!("{what}, response"));
}

#[test]
fn intervals_cover_in_every_family_at_fitted_and_new_groups() {
    for (family, parameter, trials) in FAMILIES {
        let rows = 4;
        let grouping = Grouping {
            name: "g".into(),
            levels: vec!["a".into(), "b".into()],
            group: vec![0, 1, 0, 1],
            effects: vec!["Intercept".into(), "t".into()],
            columns: vec![vec![1.0; rows], vec![0.0, 1.0, 2.0, 3.0]],
            sds: vec![
                Value::free("s0", Prior::HalfNormal { scale: 1.0 }),
                Value::free("s1", Prior::HalfNormal { scale: 0.5 }),
            ],
            correlation: Some(2.0),
        };
        let builder = Builder::new(data(family, rows, trials))
            .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.7, 0.5))
            .grouping(grouping);
        let model = with_parameter(builder, family, parameter).build().unwrap();
        for (what, groups) in [
            ("fitted group", [Some(0), Some(1)]),
            ("new group", [None, None]),
        ] {
            let new = New {
                rows: 2,
                fixed: vec![vec![1.0; 2]],
                offset: vec![0.0, 0.4],
                trials: vec![trials; 2],
                groups: vec![groups.to_vec()],
                newcomers: vec![vec![0, 0]],
                columns: vec![vec![vec![1.0; 2], vec![0.5, -1.0]]],
                ..New::default()
            };
            covers(&model, &new, &format!("{family:?}, {what}"), 600);
        }
    }
}

#[test]
fn intervals_cover_in_every_family_at_fitted_and_new_places() {
    for (family, parameter, trials) in FAMILIES {
        let rows = 5;
        let free = |name: &str, scale: f64| Value::free(name, Prior::HalfNormal { scale });
        let covariance = Covariance::Sum(vec![
            Covariance::Stationary {
                shape: Shape::Matern32,
                inputs: vec![0],
                distance: Distance::Euclidean,
                sd: free("sd", 1.0),
                ranges: vec![free("length", 1.0)],
            },
            Covariance::Nugget {
                sd: free("nugget", 0.5),
                inputs: vec![0],
            },
        ]);
        let places = Places::new(vec![vec![0.0, 0.7, 1.1, 2.0, 4.0]]);
        let builder = Builder::new(data(family, rows, trials))
            .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.7, 0.5))
            .process(Process::new(covariance, places));
        let model = with_parameter(builder, family, parameter).build().unwrap();
        for (what, at) in [("fitted place", [0.7, 4.0]), ("new place", [0.9, 9.0])] {
            let new = New {
                rows: 2,
                fixed: vec![vec![1.0; 2]],
                offset: vec![0.0, 0.4],
                trials: vec![trials; 2],
                places: Places::new(vec![at.to_vec()]),
                ..New::default()
            };
            covers(&model, &new, &format!("{family:?}, {what}"), 600);
        }
    }
}

/// The same places in a larger model, of which the smaller one has a part: what it makes of the rest must cover it.
#[test]
fn predictions_of_a_process_cover_the_process_itself() {
    let model = |at: Vec<f64>| {
        let places = Places::new(vec![at.clone()]);
        let covariance = Covariance::Sum(vec![
            smooth(vec![0]),
            Covariance::Nugget {
                sd: Value::Fixed(0.5),
                inputs: vec![0],
            },
        ]);
        Builder::new(Data::new(Family::Poisson, vec![1.0; at.len()]))
            .process(Process::new(covariance, places))
            .build()
            .unwrap()
    };
    let fitted = vec![0.0, 0.4, 1.0, 1.7, 3.0];
    let fresh = [0.2, 0.6, 2.2, 3.3, 9.0];
    let (small, large) = (
        model(fitted.clone()),
        model([&fitted[..], &fresh[..]].concat()),
    );
    let (mut rng, mut tally) = (Rng::stream(3, 0), Tally::default());
    let cache = large.prepare(&[]).unwrap().unwrap();
    let mut row = vec![0.0; 10];
    let new = New {
        rows: 5,
        places: Places::new(vec![fresh.to_vec()]),
        ..New::default()
    };
    for _ in 0..400 {
        let y: Vec<f64> = (0..10).map(|_| rng.normal()).collect();
        large.report(&[], &y, &cache, &mut row);
        let predictor = Predictor::new(small.clone(), vec![row[..5].to_vec()]);
        let surface = predictor.surface(&new, What::Row, &|_| {}).unwrap();
        // One place of each draw, so that they are independent.
        let k = rng.index(5);
        tally.add(&intervals(&surface.row(k), false), row[5 + k]);
    }
    tally.check("process");
}

fn alone(family: Family, parameter: f64, trials: f64, parts: &[(f64, f64)]) -> RowPrediction {
    let mut eta = Mixture::default();
    parts.iter().for_each(|(m, s)| eta.push(*m, s * s));
    RowPrediction {
        eta,
        parameters: vec![parameter],
        family,
        trials,
    }
}

#[test]
fn expected_responses_are_unbiased_at_latent_sd_two() {
    let mut rng = Rng::stream(8, 0);
    for (family, parameter, trials) in FAMILIES {
        for sd in [1.0, 1.5, 2.0] {
            let one = alone(family, parameter, trials, &[(0.3, sd), (-0.8, 0.5 * sd)]);
            let (mean, predictive) = (one.expected(0.95), one.predictive(0.95));
            let observation = one.observation(0);
            let n = 200_000;
            let (mut sum, mut square, mut of_y) = (0.0, 0.0, 0.0);
            for k in 0..n {
                let (m, s) = [(0.3, sd), (-0.8, 0.5 * sd)][k % 2];
                // In pairs of opposite signs, which halves the noise.
                let mu = observation.mean(m + s * rng.normal());
                sum += mu;
                square += mu * mu;
                of_y += observation.draw(m + s * rng.normal(), &mut rng);
            }
            let n = n as f64;
            let error = ((square / n - (sum / n).powi(2)) / n).sqrt();
            let z = (sum / n - mean.mean) / error;
            assert!(
                z.abs() < 4.0,
                "{family:?} {sd}: {} {}, z = {z}",
                sum / n,
                mean.mean
            );
            let z = (of_y / n - predictive.mean) / (predictive.sd / n.sqrt());
            assert!(
                z.abs() < 4.0,
                "{family:?} {sd}: {} {}",
                of_y / n,
                predictive.mean
            );
            assert_eq!(mean.mean, predictive.mean);
            assert!(predictive.sd > mean.sd);
        }
    }
}

#[test]
fn cumulated_probabilities_of_a_mixture_are_sums_of_its_single_ones() {
    for (family, parameter, trials) in FAMILIES {
        if family == Family::Gaussian {
            continue;
        }
        for parts in [
            &[(0.4, 0.0)][..],
            &[(1.1, 0.05)],
            &[(0.4, 0.6), (2.0, 0.0)],
            &[(1.0, 2.0)],
            &[(3.0, 1.0)],
        ] {
            let one = alone(family, parameter, trials, parts);
            let mut sum = 0.0;
            for k in 0..30 {
                let k = f64::from(k);
                if k > one.observation(0).most() {
                    break;
                }
                sum += one.ln_p(k).exp();
                let cdf = one.cdf(k);
                assert!(
                    (cdf - sum).abs() < 1e-7,
                    "{family:?} {parts:?} {k}: {cdf} {sum}"
                );
                if one.ln_p(k) > -12.0 {
                    let [quantile] = one.quantiles([cdf - 1e-9]);
                    assert_eq!(quantile, k, "{family:?} {parts:?}");
                }
            }
        }
    }
}

#[test]
fn scores_of_a_normal_prediction_are_the_known_ones() {
    let one = alone(Family::Gaussian, 0.8, 1.0, &[(1.0, 0.6); 500]);
    // Standard deviation 1 about 1: ln φ and the closed form of the CRPS.
    let z: f64 = 1.3;
    let log = -0.5 * z * z - 0.5 * std::f64::consts::TAU.ln();
    assert!((one.ln_p(1.0 + z) - log).abs() < 1e-12);
    let phi = crate::special::normal_cdf(z);
    let exact = z * (2.0 * phi - 1.0) + 2.0 * crate::special::normal_density(z)
        - 1.0 / std::f64::consts::PI.sqrt();
    let crps = one.crps(1.0 + z, 40, &mut Rng::stream(1, 1));
    assert!((crps - exact).abs() < 0.02, "{crps} {exact}");
}

#[test]
fn probabilities_of_classes_are_those_of_many_draws() {
    let surface = Surface::of_classes(vec![
        Mixture {
            means: vec![0.3; 50],
            sds: vec![1.2; 50],
        },
        Mixture {
            means: vec![-0.4; 50],
            sds: vec![2.0; 50],
        },
        Mixture {
            means: vec![0.0; 50],
            sds: vec![0.0; 50],
        },
    ]);
    let found = surface.classes_of(0, 0.9);
    let mut rng = Rng::stream(2, 2);
    let n = 100_000;
    let mut sums = [0.0; 3];
    for _ in 0..n {
        let eta = [0.3 + 1.2 * rng.normal(), -0.4 + 2.0 * rng.normal(), 0.0];
        let total: f64 = eta.iter().map(|e| e.exp()).sum();
        for (sum, e) in sums.iter_mut().zip(eta) {
            *sum += e.exp() / total / f64::from(n);
        }
    }
    for (interval, p) in found.iter().zip(sums) {
        let error = interval.sd / f64::from(n).sqrt();
        assert!(
            (interval.mean - p).abs() < 4.0 * error + 5e-4,
            "{} {p}",
            interval.mean
        );
    }
}

/// Predictions at the fitted rows are the rows' own predictors, offset and exposure included.
#[test]
fn fitted_rows_are_predicted_as_they_were_fitted() {
    use crate::{ModelFile, Resolved, Table};
    let data = "y,x,g,t,e,n,u,v\n1,0.5,a,1,2,3,0,0\n0,1.5,b,3,1,2,1,0\n4,2.5,a,2,4,9,0,2\n2,4.5,c,5,3,4,3,1\n\
                3,-1,c,2,2,7,3,3\n";
    let table = Table::parse("d.csv", data).unwrap();
    for text in [
        "family = \"poisson\"\nformula = \"y ~ x + offset(log(t)) + (x | g)\"\n[data]\nfile = \"d.csv\"\nexposure = \"e\"",
        "family = \"binomial\"\nformula = \"y | n ~ x + offset(t) + (1 | g)\"\n[data]\nfile = \"d.csv\"",
        "family = \"gaussian\"\nformula = \"y ~ x + offset(t)\"\n[data]\nfile = \"d.csv\"\n[[gp]]\ninputs = [\"u\", \"v\"]\n\
         covariance = \"matern32 + nugget\"",
    ] {
        let resolved = Resolved::new(&ModelFile::parse("m.toml", text).unwrap(), &table).unwrap();
        let model = resolved.parts.build().unwrap();
        let (new, _) = resolved.rows(&table).unwrap();
        let (x, y, _) = model.simulate(&mut Rng::stream(6, 0)).unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let seen = model.predict(&cache, &y, &new, What::Row).unwrap();
        for (a, b) in seen.mean.iter().zip(model.predictor_at(&cache, &y)) {
            assert!((a - b).abs() < 1e-8 * b.abs().max(1.0), "{text}: {a} {b}");
        }
        assert!(seen.variance.iter().all(|v| *v == 0.0), "{text}: {seen:?}");
        if text.contains("binomial") {
            assert_eq!(new.trials, [3.0, 2.0, 9.0, 4.0, 7.0]);
        }
    }
}

/// A table of as many rows as were fitted has no more to do with them than another.
#[test]
fn new_rows_do_not_take_the_effects_of_fitted_ones() {
    use crate::{ModelFile, Resolved, Table};
    let table = Table::parse("d.csv", "y,x\n1,0.5\n0,1.5\n4,2.5\n").unwrap();
    let text = "family = \"poisson\"\nformula = \"y ~ x + (1 | row())\"\n[data]\nfile = \"d.csv\"";
    let resolved = Resolved::new(&ModelFile::parse("m.toml", text).unwrap(), &table).unwrap();
    let other = Table::parse("n.csv", "x\n0.5\n1.5\n2.5\n").unwrap();
    let (new, notes) = resolved.rows(&other).unwrap();
    assert_eq!(new.groups, [[None, None, None]]);
    assert!(
        notes.iter().any(|note| note.contains("drawn anew")),
        "{notes:?}"
    );
}
