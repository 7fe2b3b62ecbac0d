//! Bad input is refused with a typed error that names what was wrong; nothing panics.

use std::ops::ControlFlow;
use towline::erased::{AnyTarget, Erased};
use towline::fast::{Coordinate, CrankNicolson, Hmc, Slice};
use towline::frame::Linear;
use towline::kernel::{Joint, Single};
use towline::{
    Chain, Drag, Draw, Error, Factor, FastMove, FastOnly, FrameRule, Kernel, ModelError,
    RandomWalk, Rng, SlowProposal, Target,
};

/// A Gaussian that answers something else at some points.
#[derive(Default)]
struct Model {
    /// Answered beyond y₀ = 1.
    beyond: Option<f64>,
    /// Answered by `prepare` below x = 0: no mass, or a failure.
    below: Option<Below>,
    /// Answered for x other than the start's.
    elsewhere: Option<f64>,
}

#[derive(Clone, Copy)]
enum Below {
    Empty,
    Fails,
}

impl Target for Model {
    type Cache = f64;

    fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
        match self.below {
            Some(Below::Empty) if x[0] < 0.0 => Ok(None),
            Some(Below::Fails) if x[0] < 0.0 => Err("the solver did not converge".into()),
            _ => Ok(Some(x[0])),
        }
    }

    fn log_density(&self, &x: &f64, y: &[f64]) -> f64 {
        match (self.beyond, self.elsewhere) {
            (Some(value), _) if y.first().is_some_and(|&y| y > 1.0) => value,
            (_, Some(value)) if x != 0.5 => value,
            _ => -0.5 * (x * x + y.iter().map(|v| (v - x).powi(2)).sum::<f64>()),
        }
    }
}

fn unit(dim: usize) -> Factor {
    Factor::diagonal(&vec![1.0; dim], "test").unwrap()
}

fn slow() -> SlowProposal {
    SlowProposal::random_walk(&[1.0]).unwrap()
}

fn walk(dim: usize) -> FastMove {
    FastMove::RandomWalk(RandomWalk::new(unit(dim)))
}

fn drag(n: usize) -> Kernel {
    Drag::new(n, slow(), walk(2)).unwrap().into()
}

/// What a chain with one slow and two fast variables says to a kernel.
fn refusal(kernel: impl Into<Kernel>) -> Error {
    start(Model::default(), kernel, &[0.5], &[0.0, 0.0])
}

fn start(model: Model, kernel: impl Into<Kernel>, x: &[f64], y: &[f64]) -> Error {
    match Chain::new(
        &Erased(&model) as &AnyTarget,
        kernel,
        x,
        y,
        Rng::stream(1, 0),
    ) {
        Ok(_) => panic!("was accepted"),
        Err(error) => error,
    }
}

/// The error that ends a chain from (0.5, 0, 0).
fn end(model: Model, kernel: impl Into<Kernel>) -> Error {
    let erased = Erased(&model);
    let mut chain = Chain::new(
        &erased as &AnyTarget,
        kernel,
        &[0.5],
        &[0.0, 0.0],
        Rng::stream(1, 0),
    )
    .unwrap();
    let error = (0..10_000).find_map(|_| chain.advance().err());
    let error = error.expect("the chain never met the bad point");
    // The chain is still at a point of its target, with the density there.
    let density = model.log_density(&chain.x()[0], chain.y());
    assert!(density.is_finite());
    assert_eq!(chain.log_density().to_bits(), density.to_bits());
    error
}

/// Asserts that the message names these.
fn names(error: &Error, words: &[&str]) {
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "no {word:?} in {message:?}");
    }
}

#[test]
fn a_drag_of_no_intervals_is_refused() {
    let error = Drag::new(0, slow(), walk(1)).unwrap_err();
    assert!(matches!(error, Error::ZeroIntervals));
    names(&error, &["n = 0", "at least one"]);
}

#[test]
fn what_is_no_covariance_is_refused_with_its_name_and_row() {
    let error = Factor::from_covariance(&[1.0, 2.0, 2.0, 1.0], "the slow covariance").unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, .. }));
    names(
        &error,
        &["the slow covariance", "positive definite", "row 1"],
    );
    for sds in [
        [1.0, 0.0],
        [1.0, -2.0],
        [1.0, f64::NAN],
        [1.0, f64::INFINITY],
    ] {
        let error = SlowProposal::random_walk(&sds).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { pivot: 1, .. }));
    }
    let error = Factor::from_covariance(&[1.0, 0.0, 0.0], "the fast covariance").unwrap_err();
    assert!(matches!(error, Error::Dimension { found: 3, .. }));
    names(&error, &["the fast covariance"]);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let inner = |inner| Drag::new(3, slow(), inner).unwrap();
    let two = || SlowProposal::random_walk(&[1.0, 1.0]).unwrap();
    let linear = |x: usize, fast: usize| {
        FrameRule::Linear(
            Linear::new(
                vec![0.0; x],
                vec![0.0; fast],
                vec![0.0; x * fast],
                unit(fast),
            )
            .unwrap(),
        )
    };
    let cases: Vec<(Kernel, &str)> = vec![
        (inner(walk(3)).into(), "covariance of the fast"),
        (
            inner(FastMove::Coordinate(Coordinate::new(vec![1.0]))).into(),
            "coordinate steps",
        ),
        (
            inner(FastMove::Slice(Slice::new(vec![1.0; 3]))).into(),
            "slice widths",
        ),
        (
            inner(FastMove::Hmc(Hmc::new(0.1, 1, unit(1)))).into(),
            "HMC",
        ),
        (
            inner(FastMove::Mixture(vec![(1.0, walk(2)), (1.0, walk(1))])).into(),
            "covariance of the fast",
        ),
        (
            Drag::new(3, two(), walk(2)).unwrap().into(),
            "slow proposal",
        ),
        (inner(walk(2)).in_frame(linear(2, 2)).into(), "origin"),
        (inner(walk(2)).in_frame(linear(1, 3)).into(), "centre"),
        (FastOnly::new(walk(1), 1).into(), "covariance of the fast"),
        (Joint::new(unit(2)).into(), "joint"),
        (Single::new(vec![1.0], vec![1.0]).into(), "fast steps"),
        (Single::new(vec![], vec![1.0, 1.0]).into(), "slow steps"),
        (
            Kernel::Cycle(vec![drag(2), Joint::new(unit(9)).into()]),
            "joint",
        ),
        (
            Kernel::Mix(vec![(1.0, Joint::new(unit(9)).into())]),
            "joint",
        ),
    ];
    for (kernel, word) in cases {
        let error = refusal(kernel);
        assert!(matches!(error, Error::Dimension { .. }), "{error}");
        names(&error, &[word]);
    }
    let error = Linear::new(vec![0.0], vec![0.0], vec![0.0; 2], unit(1)).unwrap_err();
    assert!(matches!(error, Error::Dimension { found: 2, .. }));
    names(&error, &["slope"]);
}

#[test]
fn settings_out_of_range_are_refused() {
    let inner = |inner| Kernel::from(Drag::new(3, slow(), inner).unwrap());
    let slice = |width: f64| Slice::new(vec![1.0, width]);
    let cases: Vec<(Kernel, &str)> = vec![
        (Kernel::Cycle(vec![]), "cycle"),
        (Kernel::Mix(vec![]), "mix"),
        (Kernel::Mix(vec![(-1.0, drag(2))]), "weight"),
        (Kernel::Mix(vec![(0.0, drag(2))]), "weight"),
        (Kernel::Mix(vec![(f64::NAN, drag(2))]), "weight"),
        (Kernel::Mix(vec![(f64::INFINITY, drag(2))]), "weight"),
        (inner(FastMove::Mixture(vec![])), "mixture"),
        (inner(FastMove::Mixture(vec![(-1.0, walk(2))])), "weight"),
        (
            inner(FastMove::Coordinate(Coordinate::new(vec![1.0, -1.0]))),
            "coordinate step",
        ),
        (inner(FastMove::Slice(slice(0.0))), "slice width"),
        (inner(FastMove::Slice(slice(f64::INFINITY))), "slice width"),
        (
            inner(FastMove::Slice(slice(1.0).with_most_steps(0))),
            "steps of a slice",
        ),
        (
            inner(FastMove::CrankNicolson(CrankNicolson::new(0.0))),
            "Crank",
        ),
        (
            inner(FastMove::CrankNicolson(CrankNicolson::new(1.1))),
            "Crank",
        ),
        (
            inner(FastMove::CrankNicolson(CrankNicolson::new(f64::NAN))),
            "Crank",
        ),
        (inner(FastMove::Hmc(Hmc::new(-0.1, 1, unit(2)))), "HMC"),
        (inner(FastMove::Hmc(Hmc::new(0.1, 0, unit(2)))), "leapfrog"),
        (FastOnly::new(walk(2), 0).into(), "fast-only"),
        (
            Single::new(vec![0.0], vec![1.0, 1.0]).into(),
            "single-variable",
        ),
    ];
    for (kernel, word) in cases {
        let error = refusal(kernel);
        assert!(matches!(error, Error::Setting { .. }), "{error}");
        names(&error, &[word]);
    }
}

#[test]
fn a_frame_that_is_no_number_is_refused() {
    for (centre, slope) in [(f64::NAN, 0.0), (0.0, f64::INFINITY)] {
        let frame = Linear::new(vec![0.0], vec![centre], vec![slope], unit(1));
        let error = frame.expect_err("was accepted");
        assert!(matches!(error, Error::Setting { .. }), "{error}");
        names(&error, &["linear frame", "finite"]);
    }
}

#[test]
fn a_start_outside_the_support_is_refused() {
    let empty = Model {
        below: Some(Below::Empty),
        ..Model::default()
    };
    let error = start(empty, drag(2), &[-0.5], &[0.25, 0.0]);
    assert!(matches!(error, Error::OutsideSupport { .. }));
    names(&error, &["outside the support", "[-0.5]", "[0.25, 0.0]"]);

    let cut = Model {
        beyond: Some(f64::NEG_INFINITY),
        ..Model::default()
    };
    let error = start(cut, drag(2), &[0.5], &[1.5, 0.0]);
    assert!(matches!(error, Error::OutsideSupport { .. }));
    names(&error, &["outside the support", "[1.5, 0.0]"]);

    // What is no number is not shown to the model's slow computation.
    let error = start(Model::default(), drag(2), &[f64::NAN], &[0.0, 0.0]);
    assert!(matches!(error, Error::OutsideSupport { .. }));
}

#[test]
fn a_density_that_is_no_number_is_refused_at_the_start() {
    for value in [f64::NAN, f64::INFINITY] {
        let model = Model {
            beyond: Some(value),
            ..Model::default()
        };
        let error = start(model, drag(2), &[0.5], &[1.5, 0.0]);
        assert!(matches!(error, Error::NotANumber { .. }));
        names(&error, &["log density", "[0.5]", "[1.5, 0.0]"]);
    }
}

/// Every kernel meets a bad density sooner or later, and says where.
#[test]
fn a_density_that_is_no_number_ends_the_chain_with_the_point() {
    let inner = |inner: FastMove| Kernel::from(Drag::new(4, slow(), inner).unwrap());
    let kernels = || {
        vec![
            drag(1),
            drag(4),
            inner(FastMove::Coordinate(Coordinate::new(vec![1.0; 2]))),
            inner(FastMove::Slice(Slice::new(vec![1.0; 2]))),
            inner(FastMove::CrankNicolson(CrankNicolson::new(0.5))),
            inner(FastMove::EllipticalSlice(towline::fast::EllipticalSlice)),
            FastOnly::new(walk(2), 3).into(),
            Joint::new(unit(3)).into(),
            Single::new(vec![1.0], vec![1.0; 2]).into(),
            Kernel::Cycle(vec![drag(2), Joint::new(unit(3)).into()]),
        ]
    };
    for value in [f64::NAN, f64::INFINITY] {
        // In a move of y; a drag that holds y still never goes there.
        for kernel in kernels().into_iter().skip(1) {
            let model = Model {
                beyond: Some(value),
                ..Model::default()
            };
            let error = end(model, kernel);
            let Error::NotANumber { y, value: seen, .. } = &error else {
                panic!("{error}");
            };
            assert!(y[0] > 1.0 && seen.to_bits() == value.to_bits(), "{error}");
        }
        // At a proposed x; a kernel that holds x still never goes there.
        for kernel in kernels() {
            if matches!(kernel, Kernel::FastOnly(_)) {
                continue;
            }
            let model = Model {
                elsewhere: Some(value),
                ..Model::default()
            };
            let error = end(model, kernel);
            assert!(
                matches!(&error, Error::NotANumber { x, .. } if x[0] != 0.5),
                "{error}"
            );
        }
    }
}

#[test]
fn a_failing_model_ends_the_chain_with_the_point_and_its_own_words() {
    let failing = || Model {
        below: Some(Below::Fails),
        ..Model::default()
    };
    let error = start(failing(), drag(2), &[-0.5], &[0.0, 0.0]);
    names(&error, &["[-0.5]", "the solver did not converge"]);
    for kernel in [
        drag(1),
        drag(5),
        Joint::new(unit(3)).into(),
        Single::new(vec![1.0], vec![1.0; 2]).into(),
        Kernel::metropolis(slow()),
    ] {
        let error = end(failing(), kernel);
        let Error::Model { x, .. } = &error else {
            panic!("{error}");
        };
        assert!(x[0] < 0.0);
        names(&error, &["the solver did not converge"]);
    }
}

#[test]
fn zero_iterations_are_refused() {
    let model = Model::default();
    let erased = Erased(&model);
    let mut chain = Chain::new(
        &erased as &AnyTarget,
        drag(2),
        &[0.5],
        &[0.0; 2],
        Rng::stream(1, 0),
    )
    .unwrap();
    let error = chain
        .run(0, |_: &Draw| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(matches!(error, Error::ZeroIterations));
    names(&error, &["zero iterations"]);
    assert_eq!(chain.steps(), 0);
}

#[test]
fn moves_that_need_gradients_are_refused_where_there_are_none() {
    let hmc = || FastMove::Hmc(Hmc::new(0.1, 3, unit(2)));
    for kernel in [
        Kernel::from(Drag::new(3, slow(), hmc()).unwrap()),
        FastOnly::new(FastMove::Mixture(vec![(1.0, walk(2)), (1.0, hmc())]), 1).into(),
        Kernel::Cycle(vec![
            drag(2),
            Kernel::Mix(vec![(
                1.0,
                FastOnly::new(FastMove::Mixture(vec![(1.0, hmc())]), 1).into(),
            )]),
        ]),
    ] {
        let error = refusal(kernel);
        assert!(matches!(error, Error::NoGradient { .. }));
        names(&error, &["HMC", "gradient"]);
    }
}

/// Plain data can be read from a file, past every constructor.
#[test]
fn kernels_read_from_a_file_are_checked_all_the_same() {
    let good = serde_json::to_value(drag(3)).unwrap();
    let chain = |json: serde_json::Value| -> Result<(), String> {
        let kernel: Kernel = serde_json::from_value(json).map_err(|e| e.to_string())?;
        Chain::new(
            &Erased(&Model::default()) as &AnyTarget,
            kernel,
            &[0.5],
            &[0.0; 2],
            Rng::stream(1, 0),
        )
        .map(|mut chain| {
            for _ in 0..50 {
                chain.advance().unwrap();
            }
        })
        .map_err(|e| e.to_string())
    };
    chain(good.clone()).unwrap();

    let with = |pointer: &str, value: serde_json::Value| {
        let mut json = good.clone();
        *json
            .pointer_mut(pointer)
            .unwrap_or_else(|| panic!("{good}")) = value;
        chain(json).expect_err("was accepted")
    };
    let factor =
        |rows: &[f64], dim: usize| serde_json::json!({"Lower": {"dim": dim, "rows": rows}});
    let inner = "/Drag/inner/RandomWalk/factor";
    for (pointer, value, word) in [
        ("/Drag/n", 0.into(), "n = 0"),
        (
            inner,
            serde_json::json!({"Diagonal": [1.0, -1.0]}),
            "positive definite",
        ),
        (
            inner,
            serde_json::json!({"Diagonal": [1.0, 0.0]}),
            "positive definite",
        ),
        (inner, serde_json::json!({"Diagonal": [1.0]}), "size 1"),
        // A triangle with a row missing must not be indexed.
        (inner, factor(&[1.0], 2), "size 1"),
        (inner, factor(&[1.0, 0.5, -1.0], 2), "positive definite"),
        (
            "/Drag/proposal/RandomWalk",
            factor(&[0.0], 1),
            "positive definite",
        ),
        ("/Drag/inner", serde_json::json!({"Mixture": []}), "mixture"),
        (
            "/Drag/inner",
            serde_json::json!({"Mixture": [[-1.0, {"Slice": {"widths": [1.0, 1.0], "most_steps": 3}}]]}),
            "weight",
        ),
        (
            "/Drag/inner",
            serde_json::json!({"Slice": {"widths": [1.0, 1.0], "most_steps": 0}}),
            "steps of a slice",
        ),
    ] {
        let message = with(pointer, value);
        assert!(message.contains(word), "no {word:?} in {message:?}");
    }
}
