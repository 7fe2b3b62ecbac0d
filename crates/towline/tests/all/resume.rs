//! A chain that was interrupted goes on to the same bits; observers stop it; streams are independent.

use std::ops::ControlFlow;
use towline::{
    Chain, Coordinate, CrankNicolson, Drag, Draw, EllipticalSlice, Error, Factor, FastMove,
    FastOnly, FrameRule, Hmc, Joint, Kernel, Linear, ModelError, RandomWalk, Rng, Scratch, Single,
    Slice, SlowProposal, Snapshot, Target,
};

/// One slow and two fast variables, nothing symmetric.
#[derive(Clone, Copy)]
struct Model {
    width: f64,
}

const MODEL: Model = Model { width: 0.37 };

impl Target for Model {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
        Ok((x[0] > 0.0).then(|| (x[0].ln(), self.width * (1.0 + x[0]).sqrt())))
    }

    fn log_density(&self, &(log_x, width): &(f64, f64), y: &[f64]) -> f64 {
        let u = (y[0] - log_x.sin()) / width;
        let v = (y[1] - 0.3 * y[0] * y[0]) / 0.7;
        -log_x * log_x - 2.0 * width.ln() - 0.5 * u * u + 0.2 * u.tanh() - 0.5 * v * v
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        let &(log_x, width) = cache;
        let u = (y[0] - log_x.sin()) / width;
        let v = (y[1] - 0.3 * y[0] * y[0]) / 0.7;
        gradient[1] = -v / 0.7;
        gradient[0] = (-u + 0.2 / u.cosh().powi(2)) / width + v * 0.6 * y[0] / 0.7;
        Some(self.log_density(cache, y))
    }
}

fn kernels() -> Vec<(&'static str, Kernel)> {
    let full = Factor::from_covariance(&[0.3, 0.1, 0.1, 0.4], "test").unwrap();
    let walk = || FastMove::RandomWalk(RandomWalk::new(full.clone()));
    let slice = || FastMove::Slice(Slice::new(vec![0.7, 0.9]));
    let slow = || SlowProposal::random_walk(&[0.6]).unwrap();
    let drag = |inner| Drag::new(5, slow(), inner).unwrap();
    let linear = || {
        let root = Factor::from_covariance(&[0.31, 0.07, 0.07, 0.53], "test").unwrap();
        let linear = Linear::new(vec![1.1], vec![0.1, 0.3], vec![0.63, 0.17], root);
        FrameRule::Linear(linear.unwrap())
    };
    let joint = || Kernel::from(Joint::new(Factor::diagonal(&[0.3; 3], "test").unwrap()));
    let single = || Kernel::from(Single::new(vec![0.4], vec![0.5, 0.5]));
    let mixture = FastMove::Mixture(vec![
        (0.4, slice()),
        (1.6, FastMove::Coordinate(Coordinate::new(vec![0.5, 0.6]))),
        (0.7, FastMove::CrankNicolson(CrankNicolson::new(0.4))),
    ]);
    vec![
        ("drag", drag(walk()).into()),
        ("drag by slice", drag(slice()).into()),
        ("drag by a mixture", drag(mixture).into()),
        (
            "drag by HMC",
            drag(FastMove::Hmc(Hmc::new(0.5, 3, full.clone()))).into(),
        ),
        (
            "drag in a linear frame",
            drag(walk()).in_frame(linear()).into(),
        ),
        (
            "fast moves in a linear frame",
            FastOnly::new(FastMove::EllipticalSlice(EllipticalSlice), 3)
                .in_frame(linear())
                .into(),
        ),
        (
            "slices in a linear frame",
            FastOnly::new(slice(), 2).in_frame(linear()).into(),
        ),
        ("joint", joint()),
        ("single", single()),
        (
            "cycle",
            Kernel::Cycle(vec![drag(walk()).into(), joint(), single()]),
        ),
        (
            "mix",
            Kernel::Mix(vec![
                (0.7, drag(walk()).in_frame(linear()).into()),
                (0.2, Kernel::Cycle(vec![single(), drag(slice()).into()])),
                (0.1, joint()),
            ]),
        ),
    ]
}

fn chain(kernel: Kernel, stream: u64) -> Chain<Model> {
    Chain::new(MODEL, kernel, &[0.9], &[0.2, 0.1], Rng::stream(11, stream)).unwrap()
}

/// The bits of everything a chain shows in so many steps.
fn bits(chain: &mut Chain<Model>, steps: u64) -> Vec<u64> {
    let mut seen = Vec::new();
    let taken = chain.run(steps, |draw: &Draw| {
        seen.push(draw.step);
        let numbers = draw.x.iter().chain(draw.y).chain([&draw.log_density]);
        seen.extend(numbers.map(|v| v.to_bits()));
        seen.extend([draw.info.log_ratio.to_bits(), draw.info.fast_evaluations]);
        ControlFlow::Continue(())
    });
    assert_eq!(taken.unwrap(), steps);
    seen
}

fn through_json(snapshot: &Snapshot) -> Snapshot {
    let text = serde_json::to_string(snapshot).unwrap();
    let back: Snapshot = serde_json::from_str(&text).unwrap();
    assert_eq!(snapshot, &back);
    back
}

#[test]
fn an_interrupted_chain_goes_on_to_the_same_bits() {
    for (name, kernel) in kernels() {
        let mut whole = chain(kernel.clone(), 3);
        let expected = bits(&mut whole, 400);

        let mut first = chain(kernel, 3);
        let mut seen = bits(&mut first, 150);
        let mut second = Chain::resume(MODEL, through_json(&first.snapshot())).unwrap();
        seen.extend(bits(&mut second, 1));
        let mut third = Chain::resume(MODEL, through_json(&second.snapshot())).unwrap();
        seen.extend(bits(&mut third, 249));

        assert_eq!(seen, expected, "{name}");
        assert_eq!(third.snapshot(), whole.snapshot(), "{name}");
        assert_eq!(third.steps(), 400);
        assert!(
            expected.windows(7).any(|w| w[1] != expected[1]),
            "{name} never moved"
        );
    }
}

/// Whatever the step, the recorded density is the one that a fresh computation gives.
#[test]
fn a_chain_can_be_resumed_after_every_step() {
    for (name, kernel) in kernels() {
        let mut chain = chain(kernel, 5);
        for _ in 0..300 {
            chain.advance().unwrap();
            if let Err(error) = Chain::resume(MODEL, chain.snapshot()) {
                panic!("{name}, step {}: {error}", chain.steps());
            }
        }
    }
}

#[test]
fn a_model_that_changed_is_told() {
    let (_, kernel) = kernels().swap_remove(0);
    let mut chain = chain(kernel, 0);
    bits(&mut chain, 20);
    let other = Model { width: 0.37 + 1e-6 };
    let error = Chain::resume(other, chain.snapshot()).err().unwrap();
    assert!(
        matches!(error, Error::ModelChanged { recorded, .. } if recorded == chain.log_density())
    );
    assert!(error.to_string().contains("the model changed"));
}

#[test]
fn a_model_that_rounds_differently_continues_and_says_so() {
    let (_, kernel) = kernels().swap_remove(0);
    let mut chain = chain(kernel, 0);
    bits(&mut chain, 20);
    let same = Chain::resume(MODEL, chain.snapshot()).unwrap();
    assert_eq!(same.recomputed(), None);
    let rounded = Model {
        width: 0.37 * (1.0 + 1e-13),
    };
    let mut other = Chain::resume(rounded, chain.snapshot()).unwrap();
    let [recorded, computed] = other.recomputed().unwrap();
    assert_eq!(recorded, chain.log_density());
    assert!(computed != recorded && computed == other.log_density());
    assert!((computed / recorded - 1.0).abs() < 1e-9);
    other.advance().unwrap();
}

#[test]
fn an_observer_stops_the_chain_after_the_step_it_saw() {
    let (_, kernel) = kernels().swap_remove(0);
    let mut stopped = chain(kernel.clone(), 0);
    let mut seen = 0;
    let taken = stopped.run(100, |draw: &Draw| {
        seen = draw.step;
        if draw.step == 7 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!((taken.unwrap(), seen, stopped.steps()), (7, 7, 7));
    // It can go on, and has lost nothing.
    let rest = bits(&mut stopped, 13);
    let mut whole = chain(kernel, 0);
    assert_eq!(rest, bits(&mut whole, 20).split_off(7 * 7));
}

#[test]
fn chains_of_different_streams_are_independent_and_reproducible() {
    let (_, kernel) = kernels().swap_remove(0);
    let seen: Vec<_> = (0..4)
        .map(|k| bits(&mut chain(kernel.clone(), k), 50))
        .collect();
    for (k, one) in seen.iter().enumerate() {
        assert_eq!(one, &bits(&mut chain(kernel.clone(), k as u64), 50));
        for other in &seen[..k] {
            assert_ne!(one, other);
        }
    }
    // Uncorrelated, pair by pair: 4/√N is four standard errors.
    let draws = 100_000;
    let mut streams: Vec<Rng> = (0..4).map(|k| Rng::stream(11, k)).collect();
    let numbers: Vec<Vec<f64>> = streams
        .iter_mut()
        .map(|rng| (0..draws).map(|_| rng.normal()).collect())
        .collect();
    for a in 0..4 {
        for b in 0..a {
            let product = numbers[a].iter().zip(&numbers[b]).map(|(p, q)| p * q);
            let correlation = product.sum::<f64>() / f64::from(draws);
            assert!(correlation.abs() < 4.0 / f64::from(draws).sqrt());
        }
    }
}
