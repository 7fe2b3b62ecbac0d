//! Made-up results near the precise values, for the tests of the presentation.

use super::published::{LAGS, Published, TABLE, rate};
use super::result::{Estimate, Row};
use super::spec::{Method, Spec};

/// One row for each of the paper's, a standard error or so away from the precise values.
pub fn rows() -> Vec<Row> {
    TABLE
        .iter()
        .enumerate()
        .map(|(i, known)| row(known, (i as f64).sin()))
        .collect()
}

/// The rows of `--frames`, made up: framed drags and warm-up's choice near the ideal, plain ones far above it.
pub fn frames() -> Vec<Row> {
    let of_spec = |spec: Spec| {
        let n = spec.n.unwrap_or(1);
        let (time, per) = match spec.method {
            Method::Drag => (1200.0 / n as f64 + 5.0, 2 * n as u64 - 1),
            Method::DragFramed => (5.04, 10 + 2 * n as u64),
            _ => (1.3, 30),
        };
        // A plain drag of one interval never changes y.
        let se = if spec.method == Method::Drag && n == 1 {
            f64::NAN
        } else {
            0.01 * time
        };
        Row {
            spec,
            act: Estimate { value: time, se },
            fast_evals: 1_000_000 * per,
            ..row(&TABLE[0], 0.0)
        }
    };
    super::frames::specs().into_iter().map(of_spec).collect()
}

/// A sample that looks like the first test distribution.
pub fn points() -> Vec<(f64, f64)> {
    // A plain congruential generator: the picture needs only to look right.
    let mut state = 12345u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((state >> 33) as f64 + 0.5) / (1u64 << 31) as f64
    };
    let mut normal = move || {
        let (u, v) = (uniform(), uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    (0..1000)
        .map(|_| {
            let x = 0.565 * normal();
            (x, x.sin() + 0.1 / (1.0 + x * x) * normal())
        })
        .collect()
}

fn row(known: &Published, shift: f64) -> Row {
    let near = |precise: Estimate| Estimate {
        value: precise.value + shift * precise.se,
        se: precise.se,
    };
    let precise = &known.reference;
    let n = known.spec.n.unwrap_or(1) as u64;
    Row {
        spec: known.spec,
        outer_rejection: near(rate(precise.outer_rejection)),
        inner_rejection: precise.inner_rejection.map(|r| near(rate(r))),
        z_rejection: precise.z_rejection.map(|r| near(rate(r))),
        act: near(precise.act),
        autocorrelations: (0..=30).map(|lag| autocorrelation(known, lag)).collect(),
        iterations: 1_000_000,
        slow_evals: 1_000_000,
        fast_evals: 2_000_000 * n,
    }
}

/// Geometric between the lags where the value is known; geometric with the right time elsewhere.
fn autocorrelation(known: &Published, lag: usize) -> f64 {
    let time = known.reference.act.value;
    let Some(values) = known.reference.autocorrelations else {
        return ((time - 1.0) / (time + 1.0)).powi(lag as i32);
    };
    let (mut from, mut start) = (0, 1.0);
    for (to, end) in LAGS.into_iter().zip(values) {
        let end = end.max(1e-5);
        if lag <= to {
            let part = (lag - from) as f64 / (to - from) as f64;
            return start * (end / start).powf(part);
        }
        (from, start) = (to, end);
    }
    start
}
