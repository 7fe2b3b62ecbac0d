//! Claims about the model as a target: its frames, its two paths, its marginal where that is known.

use super::*;
use crate::triangle::Triangle;
use crate::vector::square;
use crate::{Builder, Covariance, Data, Distance, Grouping, Places, Process, Shape, Value};
use towline::linalg::Root;
use towline::{Model, Prior, Rng, Scratch};

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

fn positive(name: &str) -> Value {
    Value::free(
        name,
        Prior::LogNormal {
            log_mean: -0.3,
            log_sd: 0.5,
        },
    )
}

const ROWS: usize = 18;

fn wave(step: f64) -> Vec<f64> {
    (0..ROWS).map(|i| (i as f64 * step).sin() * 1.5).collect()
}

fn data(family: Family) -> Data {
    let response = match family {
        Family::Gaussian => wave(0.9),
        Family::Softmax => (0..ROWS).map(|i| ((i * 7) % 3) as f64).collect(),
        Family::BernoulliLogit | Family::BernoulliProbit => {
            (0..ROWS).map(|i| ((i * 5) % 2) as f64).collect()
        }
        _ => (0..ROWS).map(|i| ((i * 7) % 5) as f64).collect(),
    };
    let data = Data::new(family, response).offset(wave(0.2));
    match family {
        Family::BinomialLogit | Family::BinomialProbit => data.trials(vec![5.0; ROWS]),
        _ => data,
    }
}

fn start(family: Family) -> Builder {
    let builder = Builder::new(data(family)).fixed(
        Fixed::default()
            .with("Intercept", vec![1.0; ROWS], 0.2, 2.0)
            .with("slope", wave(1.3), 0.0, 1.5),
    );
    match family.parameter() {
        Some(name) => builder.parameter(positive(name)),
        None => builder,
    }
}

fn process(place_of: bool) -> Process {
    let (count, place_of) = if place_of {
        (6, Some((0..ROWS).map(|i| (i * 5) % 6).collect()))
    } else {
        (ROWS, None)
    };
    let covariance = Covariance::Sum(vec![
        Covariance::Stationary {
            shape: Shape::Matern32,
            inputs: vec![0, 1],
            distance: Distance::Euclidean,
            sd: positive("sigma"),
            ranges: vec![positive("range")],
        },
        Covariance::Nugget {
            sd: positive("tau"),
            inputs: vec![],
        },
    ]);
    let axis = |step: f64| wave(step)[..count].to_vec();
    Process {
        place_of,
        ..Process::new(covariance, Places::new(vec![axis(1.1), axis(2.3)]))
    }
}

fn groupings() -> [Grouping; 2] {
    let names = |n: usize| (0..n).map(|k| format!("g{k}")).collect::<Vec<_>>();
    let slopes = Grouping {
        name: "site".into(),
        levels: names(4),
        group: (0..ROWS).map(|i| i % 4).collect(),
        effects: vec!["Intercept".into(), "a".into(), "b".into()],
        columns: vec![vec![1.0; ROWS], wave(0.4), wave(2.9)],
        sds: vec![positive("sd_0"), positive("sd_a"), positive("sd_b")],
        correlation: Some(2.0),
    };
    let group = (0..ROWS).map(|i| (i * i) % 5).collect();
    [
        slopes,
        Grouping::intercept("day", names(5), group, positive("sd_day")),
    ]
}

/// Every family on both paths, with repeated places, crossed groups, correlated slopes.
pub(super) fn all() -> Vec<LatentGaussian> {
    let mut all = Vec::new();
    for family in FAMILIES {
        let [slopes, day] = groupings();
        all.push(start(family).process(process(false)).build().unwrap());
        all.push(start(family).process(process(true)).build().unwrap());
        all.push(start(family).grouping(day.clone()).build().unwrap());
        all.push(
            start(family)
                .grouping(slopes.clone())
                .grouping(day)
                .build()
                .unwrap(),
        );
        all.push(start(family).grouping(slopes).build().unwrap());
        all.push(start(family).build().unwrap());
    }
    all
}

fn point(model: &LatentGaussian, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Rng::stream(seed, 0);
    let x = (0..model.slow_dim()).map(|_| 0.6 * rng.normal()).collect();
    (x, (0..model.fast_dim()).map(|_| rng.normal()).collect())
}

#[test]
fn the_gradient_is_that_of_the_log_density() {
    for model in all() {
        let (x, y) = point(&model, 3);
        let cache = model.prepare(&x).unwrap().unwrap();
        let mut scratch = Scratch::default();
        let mut gradient = vec![0.0; y.len()];
        let value = model
            .gradient(&cache, &y, &mut gradient, &mut scratch)
            .unwrap();
        assert_eq!(value, model.log_density(&cache, &y));
        for k in 0..y.len() {
            let shifted = |h: f64| {
                let mut y = y.clone();
                y[k] += h;
                model.log_density(&cache, &y)
            };
            let numeric = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            assert!((numeric - gradient[k]).abs() < 1e-5 * (1.0 + numeric.abs()));
        }
    }
}

#[test]
fn the_frame_of_the_mode_has_a_root_of_the_inverse_curvature_wherever_the_search_begins() {
    for model in all() {
        let (x, far) = point(&model, 5);
        let cache = model.plain(&x).unwrap().unwrap();
        let mut scratch = Scratch::default();
        let zero = vec![0.0; far.len()];
        let own = model.mode_frame(&cache, &zero).unwrap();
        let other = model.mode_frame(&cache, &far).unwrap();
        let dim = far.len();
        let (centre, again) = (&own.centre, &other.centre);
        let Root::Own(map) = &own.root else { panic!() };
        assert!(centre.iter().zip(again).all(|(a, b)| (a - b).abs() < 1e-5));
        assert!((own.log_marginal - other.log_marginal).abs() < 1e-9);
        let mut slope = |y: &[f64]| {
            let mut g = vec![0.0; dim];
            model.gradient(&cache, y, &mut g, &mut scratch);
            g
        };
        let top = slope(centre);
        assert!(top.iter().all(|g| g.abs() < 1e-5), "{:?}", model.family());
        let mut covariance = vec![0.0; dim * dim];
        for k in 0..dim {
            let mut unit = vec![0.0; dim];
            unit[k] = 1.0;
            let mut v = vec![0.0; dim];
            map.apply(&unit, &mut v);
            let h = 1e-4;
            let shifted = |h: f64| {
                centre
                    .iter()
                    .zip(&v)
                    .map(|(m, v)| m + h * v)
                    .collect::<Vec<_>>()
            };
            let (up, down) = (slope(&shifted(h)), slope(&shifted(-h)));
            let mut bend: Vec<f64> = up
                .iter()
                .zip(&down)
                .map(|(a, b)| (b - a) / (2.0 * h))
                .collect();
            let mut whitened = vec![0.0; dim];
            map.apply_transposed(&mut bend, &mut whitened);
            for (w, u) in whitened.iter().zip(&unit) {
                assert!(
                    (w - u).abs() < 1e-5,
                    "{:?}: LᵀHL is not the identity",
                    model.family()
                );
            }
            for (i, vi) in v.iter().enumerate() {
                for (j, vj) in v.iter().enumerate() {
                    covariance[i * dim + j] += vi * vj;
                }
            }
            let mut back = vec![0.0; dim];
            map.solve(&mut v, &mut back);
            assert!(back.iter().zip(&unit).all(|(a, b)| (a - b).abs() < 1e-10));
        }
        let log_det = Triangle::root_of(covariance, dim).unwrap().log_det();
        assert!((log_det - map.log_det()).abs() < 1e-7);
        let height = model.log_density(&cache, centre);
        assert!((height + log_det - own.log_marginal).abs() < 1e-7);
    }
}

/// ln N(data | offset, V) from the matrix itself.
fn exact(model: &LatentGaussian, cache: &Cache) -> f64 {
    let (dim, n) = (model.fast_dim(), ROWS);
    let mut v = vec![0.0; n * n];
    let mut unit = vec![0.0; dim];
    let (mut spare, mut eta) = (vec![0.0; model.spare()], vec![0.0; n]);
    for k in 0..dim {
        unit[k] = 1.0;
        model.eta(cache, &unit, &mut eta, &mut spare);
        unit[k] = 0.0;
        for (e, o) in eta.iter_mut().zip(&model.offset) {
            *e -= o;
        }
        for i in 0..n {
            for j in 0..n {
                v[j * n + i] += eta[i] * eta[j];
            }
        }
    }
    for i in 0..n {
        v[i * n + i] += cache.settled.value.powi(2);
    }
    let root = Triangle::root_of(v, n).unwrap();
    let mut r: Vec<f64> = model
        .response
        .iter()
        .zip(&model.offset)
        .map(|(y, o)| y - o)
        .collect();
    root.solve(&mut r);
    -0.5 * square(&r) - root.log_det() - 0.5 * n as f64 * std::f64::consts::TAU.ln()
}

#[test]
fn with_gaussian_data_the_estimated_marginal_is_exact_on_both_paths() {
    for model in all().iter().filter(|m| m.family() == Family::Gaussian) {
        for seed in 0..5 {
            let (x, y) = point(model, seed);
            let cache = model.prepare(&x).unwrap().unwrap();
            let own = model
                .own_frame(&cache, &y, &mut Scratch::default())
                .unwrap();
            let gap = own.log_marginal - cache.base - exact(model, &cache);
            assert!(gap.abs() < 1e-8, "{gap:e}");
        }
    }
}

#[test]
fn a_model_that_can_be_written_both_ways_is_the_same_both_ways() {
    for family in FAMILIES {
        let [_, day] = groupings();
        let sparse = start(family).grouping(day.clone()).build().unwrap();
        let process = Process {
            place_of: Some(day.group),
            jitter: 0.0,
            ..Process::new(
                Covariance::Nugget {
                    sd: positive("sd_day"),
                    inputs: vec![],
                },
                Places::new(vec![vec![0.0; 5]]),
            )
        };
        let dense = start(family).process(process).build().unwrap();
        for seed in 0..3 {
            let (x, y) = point(&sparse, seed);
            let (a, b) = (
                sparse.plain(&x).unwrap().unwrap(),
                dense.plain(&x).unwrap().unwrap(),
            );
            // The same latent values, each in its path's order.
            let row = |m: &LatentGaussian, c: &Cache, y: &[f64]| {
                let mut row = vec![0.0; m.columns().len()];
                m.report(&x, y, c, &mut row);
                row
            };
            let mut other = vec![0.0; y.len()];
            for k in 0..y.len() {
                let mut unit = vec![0.0; y.len()];
                unit[k] = 1.0;
                let changed = |m: &LatentGaussian, c: &Cache| {
                    let base = row(m, c, &vec![0.0; y.len()]);
                    row(m, c, &unit)
                        .iter()
                        .zip(base)
                        .position(|(a, b)| *a != b)
                        .unwrap()
                };
                let at = changed(&sparse, &a);
                let twin = (0..y.len()).find(|j| {
                    let mut unit = vec![0.0; y.len()];
                    unit[*j] = 1.0;
                    let base = row(&dense, &b, &vec![0.0; y.len()]);
                    row(&dense, &b, &unit)
                        .iter()
                        .zip(base)
                        .position(|(a, b)| *a != b)
                        == Some(at)
                });
                other[twin.unwrap()] = y[k];
            }
            let gap = sparse.log_density(&a, &y) - dense.log_density(&b, &other);
            assert!(gap.abs() < 1e-10, "{family:?}: {gap:e}");
            let marginal = |m: &LatentGaussian, c: &Cache| {
                m.mode_frame(c, &vec![0.0; y.len()]).unwrap().log_marginal
            };
            let gap = marginal(&sparse, &a) - marginal(&dense, &b);
            assert!(gap.abs() < 1e-9, "{family:?}: {gap:e}");
        }
    }
}

#[test]
fn many_evaluations_at_once_give_the_same_bits_as_one_at_a_time() {
    for model in all() {
        let (x, y) = point(&model, 1);
        let cache = model.prepare(&x).unwrap().unwrap();
        let ys: Vec<f64> = (0..5)
            .flat_map(|k| y.iter().map(move |v| v * f64::from(k)))
            .collect();
        let mut together = [0.0; 5];
        model.log_density_batch(&cache, &ys, &mut together, &mut Scratch::default());
        for (k, y) in ys.chunks_exact(y.len()).enumerate() {
            assert_eq!(together[k], model.log_density(&cache, y));
        }
    }
}

#[test]
fn every_model_can_be_started_and_reported() {
    for model in all() {
        let columns = model.columns();
        let mut names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        let (x, y) = model.start(&mut Rng::stream(4, 0)).unwrap();
        assert_eq!(
            (x.clone(), y.clone()),
            model.start(&mut Rng::stream(4, 0)).unwrap()
        );
        let cache = model.prepare(&x).unwrap().unwrap();
        let mut row = vec![f64::NAN; columns.len()];
        model.report(&x, &y, &cache, &mut row);
        assert!(row.iter().all(|v| v.is_finite()));
        for (value, column) in row.iter().zip(&columns) {
            assert!(
                column.lower.is_none_or(|l| *value >= l)
                    && column.upper.is_none_or(|u| *value <= u)
            );
        }
    }
}

#[test]
fn absurd_parameters_have_no_mass_and_do_no_harm() {
    for model in all() {
        for size in [-800.0, -40.0, 40.0, 800.0] {
            let x = vec![size; model.slow_dim()];
            if let Some(cache) = model.prepare(&x).unwrap() {
                let value = model.log_density(&cache, &vec![0.1; model.fast_dim()]);
                assert!(!value.is_nan() && value < f64::INFINITY);
                let _ = model.own_frame(
                    &cache,
                    &vec![1e3; model.fast_dim()],
                    &mut Scratch::default(),
                );
            }
        }
    }
}

#[test]
fn matrices_that_cannot_be_factorised_are_counted() {
    use std::sync::atomic::Ordering;
    let covariance = Covariance::Stationary {
        shape: Shape::SquaredExponential,
        inputs: vec![0],
        distance: crate::Distance::Euclidean,
        sd: Value::Fixed(1.0),
        ranges: vec![Value::free("length", Prior::HalfNormal { scale: 1.0 })],
    };
    let places = Places::new(vec![vec![0.0, 0.0, 0.1, 0.2]]);
    let model = Builder::new(Data::new(Family::Poisson, vec![1.0; 4]))
        .process(Process {
            jitter: 0.0,
            ..Process::new(covariance, places)
        })
        .build()
        .unwrap();
    let before = model.unfactorised().load(Ordering::Relaxed);
    assert!(model.prepare(&[0.0]).unwrap().is_none());
    assert_eq!(model.unfactorised().load(Ordering::Relaxed), before + 1);
}

/// Models with slow variables.
fn with_slow() -> impl Iterator<Item = LatentGaussian> {
    all().into_iter().filter(|model| model.slow_dim() > 0)
}

/// x about the place from which modes are foretold, near and far.
fn around_the_forecast(model: &LatentGaussian) -> Vec<Vec<f64>> {
    model.foretold(&vec![0.0; model.slow_dim()]);
    let forecast = model.forecast.get().and_then(Option::as_ref);
    let (top, reach) = forecast.expect("a forecast").about();
    let mut rng = Rng::stream(8, 0);
    let one = |out: f64, rng: &mut Rng| {
        let pairs = top.iter().zip(reach);
        pairs.map(|(x, h)| x + out * h * rng.normal()).collect()
    };
    let outs = [0.0, 0.3, 0.7, 0.7, 1.5, 4.0];
    outs.iter().map(|out| one(*out, &mut rng)).collect()
}

#[test]
fn modes_that_are_foretold_are_those_that_a_search_finds() {
    for model in with_slow() {
        let mut near = 0;
        for x in around_the_forecast(&model) {
            let Some(cache) = model.plain(&x).unwrap() else {
                continue;
            };
            let zero = vec![0.0; model.fast_dim()];
            let Some(searched) = model.mode_frame(&cache, &zero) else {
                continue;
            };
            let own = model
                .mode_foretold(&cache, &zero, model.foretold(&x))
                .unwrap();
            let Root::Own(map) = &searched.root else {
                panic!()
            };
            let mut apart: Vec<f64> = own
                .centre
                .iter()
                .zip(&searched.centre)
                .map(|(a, b)| a - b)
                .collect();
            let mut z = vec![0.0; apart.len()];
            map.solve(&mut apart, &mut z);
            // In conditional standard deviations of all variables together.
            assert!(square(&z) < 1e-5, "{:?}: {}", model.family(), square(&z));
            let error = own.log_marginal - searched.log_marginal;
            assert!(error.abs() < 3e-3, "{:?}: {error}", model.family());
            near += u32::from(own.evaluations < searched.evaluations);
        }
        // The first few are found without a search; where data are normal, a search takes one step, and there is nothing to save.
        let saved = near >= 2 || model.family() == Family::Gaussian;
        assert!(saved, "{:?}: {near}", model.family());
    }
}

#[test]
fn frames_are_the_same_bits_in_whatever_order_they_are_asked_for() {
    for (model, again) in with_slow().zip(with_slow()) {
        let places = around_the_forecast(&model);
        let seen = |model: &LatentGaussian, x: &[f64]| {
            let cache = model.prepare(x).unwrap()?;
            let zero = vec![0.0; model.fast_dim()];
            let own = model.own_frame(&cache, &zero, &mut Scratch::default())?;
            let Root::Own(map) = &own.root else { panic!() };
            let mut image = vec![0.0; own.centre.len()];
            map.apply(&vec![0.7; image.len()], &mut image);
            let numbers = own.centre.iter().chain(&image).chain([&own.log_marginal]);
            Some(numbers.map(|v| v.to_bits()).collect::<Vec<_>>())
        };
        let forward: Vec<_> = places.iter().map(|x| seen(&model, x)).collect();
        let mut backward: Vec<_> = places.iter().rev().map(|x| seen(&again, x)).collect();
        backward.reverse();
        assert!(forward == backward, "{:?}", model.family());
        assert!(forward.iter().flatten().count() > 3);
    }
}
