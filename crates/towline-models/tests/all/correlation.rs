//! The correlation that a model reports is that of the effects it draws, and of those its density sees.

use towline::{Model, Prior, Target};
use towline_models::{Builder, Data, Family, Grouping, LatentGaussian, Value};

const ROWS: usize = 18;
const GROUPS: usize = 3;
const SIGMA: f64 = 0.8;

fn columns() -> Vec<Vec<f64>> {
    let wave = |speed: f64| (0..ROWS).map(|k| (k as f64 * speed).sin()).collect();
    vec![vec![1.0; ROWS], wave(1.7), wave(0.6)]
}

fn model() -> LatentGaussian {
    let scale = |name: &str| Value::free(name, Prior::HalfNormal { scale: 1.0 });
    let grouping = Grouping {
        name: "g".into(),
        levels: ["a", "b", "c"].map(String::from).to_vec(),
        group: (0..ROWS).map(|k| k % GROUPS).collect(),
        effects: ["Intercept", "x", "z"].map(String::from).to_vec(),
        columns: columns(),
        sds: vec![scale("s0"), scale("s1"), scale("s2")],
        correlation: Some(1.5),
    };
    let response = (0..ROWS).map(|k| (k as f64 * 0.9).cos()).collect();
    Builder::new(Data::new(Family::Gaussian, response))
        .grouping(grouping)
        .parameter(Value::Fixed(SIGMA))
        .build()
        .unwrap()
}

/// What is reported at x for these fast variables.
fn report(model: &LatentGaussian, x: &[f64], y: &[f64]) -> Vec<f64> {
    let cache = model.prepare(x).unwrap().unwrap();
    let mut row = vec![0.0; model.columns().len()];
    model.report(x, y, &cache, &mut row);
    row
}

/// Neither symmetric nor small, so that no sign or place can be mistaken for another.
const X: [f64; 6] = [0.3, -0.5, 0.1, 0.9, -0.6, -0.7];

#[test]
fn reported_correlations_are_those_of_the_effects() {
    let model = model();
    let names: Vec<String> = model.columns().into_iter().map(|c| c.name).collect();
    let slow = model.slow_dim();
    let zero = vec![0.0; model.fast_dim()];
    let reported = report(&model, &X, &zero);
    // Effects are linear in standard normal variables: their covariance is the sum over unit vectors.
    let units: Vec<Vec<f64>> = (0..zero.len())
        .map(|k| {
            let mut unit = zero.clone();
            unit[k] = 1.0;
            report(&model, &X, &unit)[slow..].to_vec()
        })
        .collect();
    let covariance = |a: usize, b: usize| units.iter().map(|u| u[a] * u[b]).sum::<f64>();
    let effects = ["Intercept", "x", "z"];
    let mut compared = 0;
    for group in 0..GROUPS {
        for i in 0..3 {
            let own = 3 * group + i;
            let sd = reported[names.iter().position(|n| *n == format!("s{i}")).unwrap()];
            assert!((covariance(own, own).sqrt() - sd).abs() < 1e-12);
            for j in 0..i {
                let other = 3 * group + j;
                let name = format!("cor_g_{}_{}", effects[j], effects[i]);
                let said = reported[names.iter().position(|n| *n == name).unwrap()];
                let is = covariance(own, other)
                    / (covariance(own, own) * covariance(other, other)).sqrt();
                assert!(
                    said.abs() > 0.1,
                    "{name}: {said} could not show a wrong sign"
                );
                assert!(
                    (said - is).abs() < 1e-12,
                    "{name}: reported {said}, drawn {is}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 9);
}

#[test]
fn the_density_is_that_of_the_reported_effects() {
    let model = model();
    let cache = model.prepare(&X).unwrap().unwrap();
    let slow = model.slow_dim();
    let columns = columns();
    // Up to a constant: the log density from the effects that are reported, by hand.
    let by_hand = |y: &[f64]| {
        let row = report(&model, &X, y);
        let misfit: f64 = (0..ROWS)
            .map(|k| {
                let effect = |e: usize| columns[e][k] * row[slow + 3 * (k % GROUPS) + e];
                let eta: f64 = (0..3).map(effect).sum();
                ((model.response()[k] - eta) / SIGMA).powi(2)
            })
            .sum();
        -0.5 * (misfit + y.iter().map(|v| v * v).sum::<f64>())
    };
    let zero = vec![0.0; model.fast_dim()];
    let some: Vec<f64> = (0..zero.len()).map(|k| (k as f64 * 2.3).sin()).collect();
    let seen = model.log_density(&cache, &some) - model.log_density(&cache, &zero);
    let expected = by_hand(&some) - by_hand(&zero);
    assert!((seen - expected).abs() < 1e-10, "{seen} {expected}");
}
