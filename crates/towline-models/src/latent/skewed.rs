//! Claims about frames where the conditional is skewed: binary data with large scales.

use super::*;
use crate::family::Sites;
use crate::newton::{Centre, System};
use crate::vector::square;
use crate::{Builder, Data, Grouping, Value};
use towline::linalg::{Root, RootMap};
use towline::{Prior, Rng, Scratch};

/// Groups with their zeros and ones, and their scale as the only parameter; with coefficients or without.
fn groups(sizes: &[usize], family: Family, coefficient: bool, levels: usize) -> LatentGaussian {
    let group: Vec<usize> = sizes
        .iter()
        .enumerate()
        .flat_map(|(g, n)| vec![g; *n])
        .collect();
    let rows = group.len();
    let names = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let sd = |name: &str| Value::free(name, Prior::HalfNormal { scale: 3.0 });
    let response = (0..rows).map(|i| f64::from(u8::from(i * 7 % 10 < 6)));
    let mut builder = Builder::new(Data::new(family, response.collect()));
    if coefficient {
        let wave = (0..rows).map(|i| (i as f64 * 0.7).sin()).collect();
        let fixed = Fixed::default().with("Intercept", vec![1.0; rows], 0.0, 2.0);
        builder = builder.fixed(fixed.with("x", wave, 0.0, 1.0));
    }
    if levels > 1 {
        let outer = group.iter().map(|g| g % levels).collect();
        builder = builder.grouping(Grouping::intercept(
            "outer",
            names(levels),
            outer,
            sd("sd_outer"),
        ));
    }
    builder
        .grouping(Grouping::intercept(
            "g",
            names(sizes.len()),
            group,
            sd("sd"),
        ))
        .build()
        .unwrap()
        .corrected(true)
}

/// ln ∫, mean and variance of one whitened effect given its own data, on a fine grid.
fn one_group(response: &[f64], sd: f64) -> (f64, f64, f64) {
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    let step = 0.002;
    for k in -5000..=5000 {
        let u = step * f64::from(k);
        let eta = sd * u;
        let log: f64 = response
            .iter()
            .map(|y| y * eta - eta.max(0.0) - (-eta.abs()).exp().ln_1p())
            .sum();
        let p = step * (log - 0.5 * u * u).exp();
        total += p;
        first += p * u;
        second += p * u * u;
    }
    let mean = first / total;
    // The model's convention leaves out the normal's constant.
    (
        total.ln() - 0.5 * std::f64::consts::TAU.ln(),
        mean,
        second / total - mean * mean,
    )
}

fn width(own: &OwnFrame, k: usize) -> f64 {
    let Root::Own(map) = &own.root else { panic!() };
    let mut unit = vec![0.0; own.centre.len()];
    unit[k] = 1.0;
    let mut out = unit.clone();
    map.apply_transposed(&mut unit, &mut out);
    square(&out)
}

#[test]
fn frames_of_binary_groups_have_the_means_variances_and_marginal_of_the_conditional() {
    let sizes = [1, 2, 3, 1, 4, 2, 1, 3];
    let model = groups(&sizes, Family::BernoulliLogit, false, 1);
    let sd: f64 = 2.6;
    let cache = model.prepare(&[sd.ln()]).unwrap().unwrap();
    let zero = vec![0.0; sizes.len()];
    let mode = model.mode_frame(&cache, &zero).unwrap();
    let own = model
        .own_frame(&cache, &zero, &mut Scratch::default())
        .unwrap();
    let (mut exact, mut from) = (cache.base, 0);
    let (mut alone, mut off, mut off_at_mode): (f64, f64, f64) = (0.0, 0.0, 0.0);
    for (g, n) in sizes.iter().enumerate() {
        let (log, mean, variance) = one_group(&model.response[from..from + n], sd);
        from += n;
        exact += log;
        let error = |own: &OwnFrame| {
            let shift = (own.centre[g] - mean).abs() / variance.sqrt();
            shift.max((width(own, g) / variance - 1.0).abs())
        };
        off = off.max(error(&own));
        if *n == 1 {
            alone = alone.max(error(&own));
        }
        off_at_mode = off_at_mode.max(error(&mode));
    }
    // Exact for one observation, but for the quadrature; several of one group are each taken for normal by the others.
    assert!(alone < 0.02, "off by {alone}");
    assert!(off < 0.08, "off by {off}");
    assert!(off_at_mode > 0.15, "the test cannot fail: {off_at_mode}");
    let (gap, at_mode) = (own.log_marginal - exact, mode.log_marginal - exact);
    assert!(gap.abs() < 0.02, "the marginal is off by {gap}");
    assert!(at_mode.abs() > 0.3, "the test cannot fail: {at_mode}");
}

#[test]
fn a_frame_is_a_function_of_x_alone() {
    let sizes: Vec<usize> = (0..60).map(|k| 1 + k % 3).collect();
    let model = groups(&sizes, Family::BernoulliLogit, true, 7);
    let mut rng = Rng::stream(4, 0);
    let mut scratch = Scratch::default();
    let dim = model.fast_dim();
    let x = [0.3, 0.9];
    let here = model.prepare(&x).unwrap().unwrap();
    let hint = vec![0.1; dim];
    let first = model.own_frame(&here, &hint, &mut scratch).unwrap();
    assert!(
        here.warp.is_some(),
        "nothing is skewed: the test cannot fail"
    );
    for _ in 0..5 {
        // Frames elsewhere, from wherever, leave nothing behind.
        let other = [rng.normal(), rng.normal()];
        let there = model.prepare(&other).unwrap().unwrap();
        let far: Vec<f64> = (0..dim).map(|_| rng.normal()).collect();
        model.own_frame(&there, &far, &mut scratch).unwrap();
        let clone = model.with_response(model.response.clone());
        let cache = clone.prepare(&x).unwrap().unwrap();
        let again = clone.own_frame(&cache, &hint, &mut scratch).unwrap();
        assert_eq!(first.centre, again.centre);
        assert_eq!(first.log_marginal, again.log_marginal);
        assert_eq!(first.evaluations, again.evaluations);
        // What y stand for is the same as well.
        assert_eq!(here.straight(&hint), cache.straight(&hint));
        // Where the search begins matters as little as for the mode.
        let from = model.own_frame(&here, &far, &mut scratch).unwrap();
        let pairs = first.centre.iter().zip(&from.centre);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
        assert!((first.log_marginal - from.log_marginal).abs() < 1e-7);
    }
}

#[test]
fn variances_of_predictors_are_those_of_the_root() {
    fn check<S: System>(system: &S, model: &LatentGaussian, cache: &Cache) -> usize {
        let rows = model.offset.len();
        let eta: Vec<f64> = (0..rows).map(|i| (i as f64 * 0.3).sin()).collect();
        let sites = Sites::at(&model.likelihood, cache.settled, eta);
        let root = system.root(&sites.weight).unwrap();
        let mut out = vec![0.0; rows];
        if !system.variances(&root, &mut out) {
            return 0;
        }
        let mut spare = vec![0.0; system.spare()];
        for (i, variance) in out.iter().enumerate() {
            let mut unit = vec![0.0; rows];
            unit[i] = 1.0;
            let (mut a, mut v) = (vec![0.0; system.dim()], vec![0.0; system.dim()]);
            system.pull(&unit, &mut a, &mut spare);
            root.apply_transposed(&mut a, &mut v);
            let wanted = square(&v);
            assert!((variance - wanted).abs() < 1e-10 * (1.0 + wanted), "{i}");
        }
        1
    }
    let mut checked = 0;
    for model in super::tests::all() {
        let x: Vec<f64> = (0..model.slow_dim())
            .map(|k| 0.2 * k as f64 - 0.3)
            .collect();
        let cache = model.prepare(&x).unwrap().unwrap();
        if model.likelihood.classes() == 1 {
            checked += with_system!(model, cache, system => check(&system, &model, &cache));
        }
    }
    assert!(checked >= 21, "{checked}");
}

#[test]
fn frames_are_brought_to_the_mean_where_the_mode_misses_something_and_nowhere_else() {
    // Groups of one and two with a large spread, within larger ones; and few large groups, which say enough of each.
    let mut rng = Rng::stream(12, 0);
    let small: Vec<usize> = (0..1600).map(|g| 1 + g % 2).collect();
    let outer: Vec<f64> = (0..160).map(|_| rng.normal()).collect();
    for (sizes, levels, wanted) in [(&small[..], 160, true), (&[60, 40, 50, 70], 1, false)] {
        let mut model = groups(sizes, Family::BernoulliLogit, true, levels);
        if wanted {
            let mut response = Vec::new();
            for (g, size) in sizes.iter().enumerate() {
                let eta = outer[g % levels] + 2.0 * rng.normal();
                let mut one = |_| f64::from(u8::from(rng.uniform() < 1.0 / (1.0 + (-eta).exp())));
                response.extend((0..*size).map(&mut one));
            }
            model = model.with_response(response);
        }
        let x = vec![1.0; model.slow_dim()];
        (model.worth, model.frozen) = (judge::WORTH, Default::default());
        let missing = model.missing().unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let tried = model.trial();
        assert_eq!(
            cache.own.is_some(),
            wanted,
            "it misses {missing}, tried: {tried:?}"
        );
        // Whoever decides otherwise is heard.
        let other = model.clone().corrected(!wanted);
        let cache = other.prepare(&x).unwrap().unwrap();
        assert_eq!(cache.own.is_some(), !wanted);
        // A clone decides alike; other data decide anew.
        let again = model.with_response(model.response.clone());
        assert_eq!(again.missing(), Some(missing));
    }
}

/// Counts of thousands of groups: every conditional is a little skewed, but their spread is known so well that slow steps are short.
#[test]
fn frames_stay_at_the_mode_where_what_it_misses_loses_no_moves() {
    let mut rng = Rng::stream(11, 0);
    let mut counts = Vec::new();
    for _ in 0..2500 {
        let least = (-(0.2 + rng.normal()).exp()).exp();
        for _ in 0..3 {
            // Knuth's way to a Poisson number.
            let (mut count, mut product) = (0.0, rng.uniform());
            while product > least {
                (count, product) = (count + 1.0, product * rng.uniform());
            }
            counts.push(count);
        }
    }
    let mut model = groups(&[3; 2500], Family::Poisson, true, 1).with_response(counts);
    (model.worth, model.frozen) = (judge::WORTH, Default::default());
    let (missing, tried) = (model.missing().unwrap(), model.trial().unwrap());
    assert!(missing > judge::WORTH, "it misses {missing}");
    let cache = model.prepare(&[0.0]).unwrap().unwrap();
    assert!(cache.own.is_none(), "tried: {tried:?}");
}

#[test]
fn frozen_factors_lead_where_the_way_by_the_mode_leads() {
    let sizes: Vec<usize> = (0..80).map(|k| 1 + k % 3).collect();
    let model = groups(&sizes, Family::BernoulliLogit, true, 7);
    let frozen = model.frozen().unwrap();
    for x in [[0.3, 0.9], [-0.5, 0.2], [1.1, 1.4], [-2.0, -2.0]] {
        let cache = model.plain(&x).unwrap().unwrap();
        let (mean, _) = model.find(&cache, &[], Centre::Mean).unwrap();
        let (from, _) = model.find(&cache, &[], Centre::MeanFrom(frozen)).unwrap();
        // Both stop where all observations together are off by a divergence of a twentieth.
        let gap = (mean.log_marginal - from.log_marginal).abs();
        assert!(gap < 0.05, "{x:?}: the marginals differ by {gap}");
        let mut off: f64 = 0.0;
        for k in 0..model.fast_dim() {
            let shift = (mean.centre[k] - from.centre[k]).abs() / width(&mean, k).sqrt();
            off = off.max(shift);
        }
        assert!(off < 0.1, "{x:?}: a centre differs by {off} sd");
    }
}
