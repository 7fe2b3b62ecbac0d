//! Every covariance is symmetric, positive definite (with duplicates too) and what its formula says.

use super::*;
use crate::triangle::Triangle;

fn places() -> Places {
    let n = 40;
    let mut coordinates: Vec<Vec<f64>> = (0..3)
        .map(|k| {
            (0..n)
                .map(|i| ((i * (k + 3)) as f64 * 1.37).sin() * 2.0)
                .collect()
        })
        .collect();
    for c in &mut coordinates {
        c[7] = c[3]; // the same place twice
    }
    Places::new(coordinates)
}

fn shapes() -> Vec<Shape> {
    vec![
        Shape::SquaredExponential,
        Shape::Exponential,
        Shape::Matern32,
        Shape::Matern52,
        Shape::PoweredExponential {
            power: Value::Fixed(1.3),
        },
        Shape::RationalQuadratic {
            mix: Value::Fixed(0.8),
        },
    ]
}

fn stationary(shape: Shape, ranges: &[f64], distance: Distance) -> Covariance {
    Covariance::Stationary {
        shape,
        inputs: if distance != Distance::Euclidean {
            vec![0, 1]
        } else {
            vec![0, 1, 2]
        },
        distance,
        sd: Value::Fixed(1.5),
        ranges: ranges.iter().map(|r| Value::Fixed(*r)).collect(),
    }
}

fn all() -> Vec<Covariance> {
    let mut all: Vec<Covariance> = shapes()
        .into_iter()
        .flat_map(|s| {
            [
                stationary(s.clone(), &[0.9], Distance::Euclidean),
                stationary(s.clone(), &[0.9, 2.0, 5.0], Distance::Euclidean),
                stationary(s, &[150.0], Distance::Chord),
            ]
        })
        .collect();
    let linear = Covariance::Linear {
        inputs: vec![0, 2],
        sd: Value::Fixed(0.7),
    };
    let constant = Covariance::Constant {
        sd: Value::Fixed(2.0),
    };
    let nugget = Covariance::Nugget {
        sd: Value::Fixed(0.1),
        inputs: vec![],
    };
    all.push(Covariance::Sum(vec![
        linear.clone(),
        constant.clone(),
        nugget.clone(),
    ]));
    all.push(Covariance::Product(vec![linear.clone(), all[0].clone()]));
    all.push(Covariance::Sum(vec![
        constant,
        Covariance::Product(vec![all[1].clone(), linear]),
        nugget,
        all[4].clone(),
    ]));
    all
}

#[test]
fn every_covariance_is_positive_definite_with_its_jitter_even_where_places_coincide() {
    let places = places();
    for covariance in all() {
        let node = covariance.number(&mut Register::default(), &places);
        let matrix = node.matrix(&places, &[], 1e-6);
        assert!(
            Triangle::root_of(matrix, places.len).is_some(),
            "{covariance:?}"
        );
    }
}

#[test]
fn a_column_for_another_place_is_the_column_of_the_same_place_without_its_nugget() {
    let places = places();
    for covariance in all() {
        let node = covariance.number(&mut Register::default(), &places);
        let matrix = node.matrix(&places, &[], 0.0);
        let j = 11;
        let mut column = vec![0.0; places.len];
        let place = places.place(j);
        node.column(
            &places,
            &[],
            Column::Other(&place),
            &mut column,
            &mut Vec::new(),
        );
        for i in 0..places.len {
            let own = matrix[i.min(j) * places.len + i.max(j)];
            if i == j {
                assert!((node.variance(&[], &place, true) - own).abs() < 1e-12);
                assert!((node.variance(&[], &place, false) - column[i]).abs() < 1e-12);
            } else {
                assert!((column[i] - own).abs() < 1e-12, "{covariance:?}");
            }
        }
    }
}

#[test]
fn shapes_are_what_their_formulas_say() {
    let places = Places::new(vec![vec![0.0, 1.2]]);
    let r = 1.2f64 / 0.8;
    let exact = [
        (-0.5 * r * r).exp(),
        (-r).exp(),
        (1.0 + 3f64.sqrt() * r) * (-(3f64.sqrt()) * r).exp(),
        (1.0 + 5f64.sqrt() * r + 5.0 / 3.0 * r * r) * (-(5f64.sqrt()) * r).exp(),
        (-r.powf(1.3)).exp(),
        (1.0 + r * r / 1.6).powf(-0.8),
    ];
    for (shape, rho) in shapes().into_iter().zip(exact) {
        let covariance = Covariance::Stationary {
            shape,
            inputs: vec![0],
            distance: Distance::Euclidean,
            sd: Value::Fixed(3.0),
            ranges: vec![Value::Fixed(0.8)],
        };
        let node = covariance.number(&mut Register::default(), &places);
        let matrix = node.matrix(&places, &[], 0.0);
        assert!((matrix[1] - 9.0 * rho).abs() < 1e-14 && matrix[0] == 9.0);
    }
}

/// Places all over the globe, as evenly as sunflower seeds.
fn globe(n: usize) -> Places {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let height = |k: usize| 1.0 - (2 * k + 1) as f64 / n as f64;
    let longitude = |k: usize| (golden * k as f64).to_degrees().rem_euclid(360.0) - 180.0;
    Places::new(vec![
        (0..n).map(longitude).collect(),
        (0..n).map(|k| height(k).asin().to_degrees()).collect(),
    ])
}

/// Whether a covariance of long range has a root on the whole globe.
fn has_root(shape: Shape, range: f64, distance: Distance) -> bool {
    let places = globe(400);
    let covariance = stationary(shape, &[range], distance);
    let node = covariance.number(&mut Register::default(), &places);
    Triangle::root_of(node.matrix(&places, &[], 1e-8), places.len).is_some()
}

#[test]
fn what_is_said_to_be_valid_on_the_globe_is_and_the_rest_is_not() {
    let powered = |power| Shape::PoweredExponential {
        power: Value::Fixed(power),
    };
    // Ranges at which four hundred places show it.
    let cases = [
        (Shape::SquaredExponential, 8000.0),
        (Shape::Exponential, 8000.0),
        (Shape::Matern32, 8000.0),
        (Shape::Matern52, 8000.0),
        (powered(0.8), 8000.0),
        (powered(1.0), 20_000.0),
        (powered(1.5), 20_000.0),
        (powered(1.9), 20_000.0),
        (
            Shape::RationalQuadratic {
                mix: Value::Fixed(0.8),
            },
            8000.0,
        ),
    ];
    for (shape, range) in cases {
        assert!(
            has_root(shape.clone(), range, Distance::Chord),
            "{shape:?} of chords"
        );
        let valid = shape.is_valid_on_great_circles();
        assert_eq!(
            has_root(shape.clone(), range, Distance::GreatCircle),
            valid,
            "{shape:?}"
        );
    }
}

#[test]
fn a_chord_is_nearly_the_arc_for_near_places_and_the_diameter_at_most() {
    let near = ([10.0, 50.0], [10.1, 50.1]);
    let [arc, chord] = [Distance::GreatCircle, Distance::Chord].map(|d| d.on_earth(near.0, near.1));
    assert!(
        chord < arc && (arc / chord - 1.0).abs() < 1e-6,
        "{arc} {chord}"
    );
    // Below 900 km the difference is less than 0.1 %.
    let far = 900.0 / crate::EARTH_RADIUS.to_radians();
    let [arc, chord] =
        [Distance::GreatCircle, Distance::Chord].map(|d| d.on_earth([0.0, 0.0], [far, 0.0]));
    assert!(
        (arc - 900.0).abs() < 1e-6 && arc / chord - 1.0 < 1e-3,
        "{arc} {chord}"
    );
    let across = Distance::Chord.on_earth([0.0, 0.0], [180.0, 0.0]);
    assert!((across - 2.0 * crate::EARTH_RADIUS).abs() < 1e-6);
}
