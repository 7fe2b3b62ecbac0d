//! The gallery in short: targets that version 0.1 got wrong in silence, and some that it got right, with fixed seeds.

use towline_gallery::{run, targets};

/// Judges one target with four seeds of 4 × 1,000 draws.
fn judged(name: &str) -> towline_gallery::Verdict {
    let target = targets::all().into_iter().find(|t| t.name == name);
    let verdict = run(target.expect("a target of this name"), 1..5, 1000).unwrap();
    println!("{verdict:?}");
    verdict
}

#[test]
fn the_reports_first_test_is_right_at_little_cost() {
    let verdict = judged("neal1");
    assert!(verdict.right && verdict.slow_per_effective < 1.6);
    assert_eq!(verdict.warned, 0, "{:?}", verdict.warnings);
}

#[test]
fn both_arms_of_the_banana_are_seen() {
    let verdict = judged("banana");
    assert!(verdict.right && verdict.warmup_slow <= 1200.0);
}

#[test]
fn twenty_slow_variables_are_learned() {
    let verdict = judged("twenty");
    assert!(verdict.right && verdict.slow_per_effective < 15.0);
    assert!(verdict.warmup_slow <= 3000.0);
}

#[test]
fn thirty_slow_variables_whose_mass_lies_far_from_the_mode_are_learned() {
    let verdict = judged("slow30");
    assert!(verdict.right && verdict.slow_per_effective < 5.0);
    assert_eq!(verdict.warned, 0, "{:?}", verdict.warnings);
}

#[test]
fn the_tail_of_a_scale_is_open_where_the_conditional_is_a_thousand_times_wider() {
    assert!(judged("horseshoe").right);
}

#[test]
fn a_second_mode_twenty_sd_away_is_found() {
    assert!(judged("far2").right);
}

#[test]
fn a_funnel_among_slow_variables_is_straightened() {
    let verdict = judged("slowfunnel");
    assert!(verdict.right && verdict.slow_per_effective < 2.5);
}

#[test]
fn two_modes_of_y_have_their_shares() {
    let verdict = judged("ymodes");
    assert!(verdict.right, "{verdict:?}");
}

#[test]
fn a_wall_at_the_mode_is_no_trap() {
    assert!(judged("cliff").right);
}

#[test]
fn every_target_has_a_name_of_its_own_and_mass_where_it_begins() {
    let all = targets::all();
    assert!(all.len() >= 40, "{}", all.len());
    let names: std::collections::HashSet<&str> = all.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names.len(), all.len());
    for target in &all {
        let mut rng = towline::Rng::stream(1, 0);
        let (x, y) = towline::Model::start(target, &mut rng).unwrap();
        assert!(target.density(&x, &y).is_finite(), "{}", target.name);
        // What is drawn has mass too: density and draws are of one target.
        let (x, y) = target.draw(&mut rng);
        assert!(target.density(&x, &y).is_finite(), "{}", target.name);
    }
}

#[test]
fn a_run_that_did_not_warn_is_judged_by_its_own_errors() {
    let target = targets::all().into_iter().find(|t| t.name == "slow1");
    let target = target.expect("a target of this name");
    let truth = towline_gallery::judge::Truth::of(&target);
    let largest = |shift: f64| {
        let mut rng = towline::Rng::stream(3, 0);
        let draws: Vec<f64> = (0..2000)
            .map(|_| target.draw(&mut rng).0[0] + shift)
            .collect();
        let chains: Vec<Vec<f64>> = draws.chunks(500).map(<[f64]>::to_vec).collect();
        let scores = truth.own_scores(&[truth.own(&[chains])]);
        scores.iter().fold(0.0_f64, |most, z| most.max(z.abs()))
    };
    assert!(largest(0.0) < 4.0, "{}", largest(0.0));
    // 2,000 draws know a mean to 0.022.
    assert!(largest(0.3) > 10.0, "{}", largest(0.3));
}
