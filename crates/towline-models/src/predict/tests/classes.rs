//! Responses of several classes: their predictors, probabilities and draws cover, and their probabilities are unbiased.

use super::*;

/// As `covers`, for a response of several classes: predictors, probabilities, and how often each class is drawn.
fn covers_classes(model: &LatentGaussian, new: &New, what: &str, truths: usize) {
    let classes = model.likelihood.classes();
    let mut rng = Rng::stream(12, 0);
    let draws: Vec<Vec<f64>> = (0..DRAWS)
        .map(|_| {
            let (x, y, _) = model.simulate(&mut rng).unwrap();
            let cache = model.prepare(&x).unwrap().unwrap();
            let mut row = vec![0.0; model.columns().len()];
            model.report(&x, &y, &cache, &mut row);
            row
        })
        .collect();
    let predictor = Predictor::new(model.clone(), draws.clone());
    let surface = predictor.surface(new, What::Row, &|_| {}).unwrap();
    // By row and class: intervals of the predictor and of the probability.
    let mut latent_of = Vec::new();
    let mut share_of = Vec::new();
    for row in 0..new.rows {
        let sample = surface.probabilities(row);
        for (class, values) in sample.iter().enumerate() {
            let eta = &surface.cells[class * new.rows + row];
            latent_of.push(LEVELS.map(|level| {
                let of = surface.latent(class, row, level);
                let p = eta.cdf(of.upper) - eta.cdf(of.lower - 1e-9);
                assert!((p - level).abs() < 1e-6 + 2.0 / DRAWS as f64, "{level} {p}");
                (of.lower, of.upper, p)
            }));
            share_of.push(LEVELS.map(|level| {
                let of = surface.classes_of(row, level)[class];
                // Joint draws at a known place are off by the root of their jitter, 1e-10 of the variance.
                let (low, high) = (of.lower - 1e-4, of.upper + 1e-4);
                let held = values.iter().filter(|p| **p >= low && **p <= high);
                let p = held.count() as f64 / values.len() as f64;
                assert!((p - level).abs() < 2.0 / DRAWS as f64, "{level} {p}");
                (low, high, p)
            }));
        }
    }
    let (mut latent, mut share) = (Tally::default(), Tally::default());
    let means: Vec<Vec<Interval>> = (0..new.rows)
        .map(|row| surface.classes_of(row, 0.5))
        .collect();
    // How often each class was drawn, beside how often it should have been.
    let mut counts = vec![(0.0, 0.0, 0.0); classes];
    for seed in 0..truths as u64 {
        let one = vec![draws[rng.index(draws.len())].clone()];
        let joint = Predictor::new(model.clone(), one).joint(new, seed).unwrap();
        let (joint, row, class) = (&joint[0], rng.index(new.rows), rng.index(classes));
        let eta = |c: usize| joint.eta[c * new.rows + row];
        let scale: f64 = (0..classes).map(|c| eta(c).exp()).sum();
        latent.add(&latent_of[row * classes + class], eta(class));
        share.add(&share_of[row * classes + class], eta(class).exp() / scale);
        for (c, of) in means[row].iter().enumerate() {
            counts[c].0 += of.mean;
            counts[c].1 += of.mean * (1.0 - of.mean);
            counts[c].2 += f64::from(u8::from(joint.response[row] == c as f64));
        }
    }
    latent.check(&format!("{what}, latent"));
    share.check(&format!("{what}, probability"));
    for (expected, variance, seen) in counts {
        let z = (seen - expected) / f64::sqrt(variance);
        assert!(z.abs() < 4.0, "{what}: {seen} of {expected}, z = {z}");
    }
}

fn free(name: &str, scale: f64) -> Value {
    Value::free(name, Prior::HalfNormal { scale })
}

#[test]
fn classes_cover_at_fitted_and_new_groups() {
    let rows = 6;
    let grouping = Grouping {
        name: "g".into(),
        levels: vec!["a".into(), "b".into()],
        group: vec![0, 1, 0, 1, 0, 1],
        effects: vec!["Intercept".into(), "t".into()],
        columns: vec![vec![1.0; rows], vec![0.0, 1.0, 2.0, 3.0, 1.0, 0.5]],
        sds: vec![free("s0", 1.0), free("s1", 0.5)],
        correlation: Some(2.0),
    };
    let response = vec![0.0, 1.0, 2.0, 0.0, 2.0, 1.0];
    let model = Builder::new(Data::new(Family::Softmax, response))
        .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.7, 0.5))
        .grouping(grouping)
        .build()
        .unwrap();
    for (what, groups) in [
        ("softmax, fitted group", [Some(0), Some(1)]),
        ("softmax, new group", [None, None]),
    ] {
        let new = New {
            rows: 2,
            fixed: vec![vec![1.0; 2]],
            groups: vec![groups.to_vec()],
            newcomers: vec![vec![0, 0]],
            columns: vec![vec![vec![1.0; 2], vec![0.5, -1.0]]],
            ..New::default()
        };
        covers_classes(&model, &new, what, 600);
    }
}

#[test]
fn classes_cover_at_fitted_and_new_places() {
    let rows = 5;
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
    let response = vec![0.0, 1.0, 2.0, 0.0, 2.0];
    let model = Builder::new(Data::new(Family::Softmax, response))
        .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.7, 0.5))
        .process(Process::new(covariance, places))
        .build()
        .unwrap();
    for (what, at) in [
        ("softmax, fitted place", [0.7, 4.0]),
        ("softmax, new place", [0.9, 9.0]),
    ] {
        let new = New {
            rows: 2,
            fixed: vec![vec![1.0; 2]],
            places: Places::new(vec![at.to_vec()]),
            ..New::default()
        };
        covers_classes(&model, &new, what, 600);
    }
}
