//! The rows that `--frames` adds: plain drags of other lengths, drags in the Laplace frame, and warm-up's own choice.

use super::spec::{Method, Spec};
use towline::frame::{Curvature, Laplace, Linear};
use towline::{
    Cost, Drag, Error, Factor, FastMove, FrameRule, Kernel, RandomWalk, SlowProposal, Warmup,
};

/// The paper's proposals in its drags: for x, and for the fast variables of a plain drag.
const SLOW_SD: f64 = 1.0;
const FAST_SD: f64 = 0.2;

/// Plain drags beside the paper's 20, 100 and 500. With n = 1 y never changes, so that x has no autocorrelation time.
const PLAIN: [usize; 7] = [1, 2, 5, 10, 50, 200, 1000];

/// Drags in the Laplace frame. n = 1 holds z still, which is enough for x where the conditional is normal, as here.
const FRAMED: [usize; 3] = [1, 2, 3];

/// Standard deviation of the inner moves in the frame, where the fast variables have unit scale: 2.4 over the root
/// of their number is best for a normal density (Gelman, Roberts and Gilks 1996).
fn framed_sd(test: u8) -> f64 {
    if test == 1 { 2.4 } else { 1.7 }
}

/// What a slow evaluation costs in fast ones, as warm-up is told: so expensive that slow ones are what counts.
const COST_RATIO: f64 = 1000.0;

/// The rows, test by test.
pub fn specs() -> Vec<Spec> {
    let drag = |test, method, n, fast_sd| Spec {
        test,
        method,
        n: Some(n),
        slow_sd: Some(SLOW_SD),
        fast_sd: Some(fast_sd),
    };
    let of_test = |test: u8| {
        let plain = PLAIN.map(|n| drag(test, Method::Drag, n, FAST_SD));
        let framed = FRAMED.map(|n| drag(test, Method::DragFramed, n, framed_sd(test)));
        let auto = Spec {
            test,
            method: Method::Auto,
            n: None,
            slow_sd: None,
            fast_sd: None,
        };
        plain.into_iter().chain(framed).chain([auto])
    };
    [1, 2].into_iter().flat_map(of_test).collect()
}

/// Iterations of a row, seconds each: errors of one to three per cent, as many as a figure shows.
pub fn iterations(spec: &Spec) -> u64 {
    let length = match (spec.method, spec.n) {
        (Method::Drag, Some(1)) => 1 << 15,
        (Method::Drag, Some(n)) if n <= 10 => 1 << 17,
        (Method::Drag, Some(n)) if n <= 50 => 1 << 15,
        (Method::Drag, Some(n)) if n <= 200 => 1 << 13,
        (Method::Drag, _) => 1 << 11,
        _ => 1 << 14,
    };
    super::plan::MOST_CHAINS * length
}

/// A drag in the Laplace frame, with the paper's proposal for x and nothing else: the search for the mode begins
/// at y = 0 with unit steps, so that nothing is known beforehand.
///
/// # Errors
/// What the engine refuses.
pub fn drag(n: usize, slow_sd: f64, fast_sds: &[f64]) -> Result<Kernel, Error> {
    let d = fast_sds.len();
    let unit = Factor::diagonal(&vec![1.0; d], "the frame's unit")?;
    let origin = Linear::new(vec![0.0], vec![0.0; d], vec![0.0; d], unit)?;
    let frame = FrameRule::Laplace(Box::new(Laplace::new(origin, Curvature::Local)));
    let inner = RandomWalk::new(Factor::diagonal(fast_sds, "the inner moves' covariance")?);
    let proposal = SlowProposal::random_walk(&[slow_sd])?;
    let drag = Drag::new(n, proposal, FastMove::RandomWalk(inner))?;
    Ok(drag.in_frame(frame).into())
}

/// The warm-up that chooses everything, by counts of evaluations.
pub fn warmup() -> Warmup {
    Warmup {
        cost: Cost::Ratio(COST_RATIO),
        ..Warmup::default()
    }
}
