//! From the chains of a row to its estimates and their standard errors.

use super::memory::{self, Memory};
use super::plan::RowPlan;
use super::replicate::Replicate;
use super::result::{Estimate, Row};
use super::spec::{Method, Spec};

/// The last lag of the paper's figures.
const LAST_LAG: usize = 30;

/// A chain reduced to what the estimates need.
#[derive(Debug)]
pub struct Part {
    outer: f64,
    inner: Option<f64>,
    z: Option<f64>,
    slow_evals: u64,
    fast_evals: u64,
    memory: Memory,
}

impl Part {
    /// Of a chain of this row.
    pub fn new(spec: &Spec, chain: &Replicate) -> Self {
        let still = |k: usize| 1.0 - chain.moved[k] as f64 / chain.x.len() as f64;
        let (inner, z) = match spec.method {
            Method::Joint | Method::Marginal => (None, None),
            Method::Single => (Some(still(0)), (spec.test == 2).then(|| still(1))),
            // A drag of one interval has no inner moves.
            _ if chain.totals.inner_proposed == 0 => (None, None),
            Method::Drag | Method::DragFramed | Method::Auto => {
                (Some(1.0 - chain.totals.inner_acceptance()), None)
            }
        };
        Self {
            outer: 1.0 - chain.totals.outer_acceptance(),
            inner,
            z,
            slow_evals: chain.totals.slow_evaluations,
            fast_evals: chain.totals.fast_evaluations,
            memory: Memory::of(&chain.x),
        }
    }
}

/// The row of a table from all its chains.
pub fn row(plan: &RowPlan, parts: &[Part]) -> Row {
    let memories: Vec<&Memory> = parts.iter().map(|part| &part.memory).collect();
    let mut autocorrelations = memory::autocorrelations(&memories);
    autocorrelations.truncate(LAST_LAG + 1);
    Row {
        spec: plan.spec,
        outer_rejection: Estimate::of_mean(&parts.iter().map(|p| p.outer).collect::<Vec<_>>()),
        inner_rejection: mean_if_any(parts, |part| part.inner),
        z_rejection: mean_if_any(parts, |part| part.z),
        act: memory::time(&memories),
        autocorrelations,
        iterations: plan.iterations(),
        slow_evals: parts.iter().map(|part| part.slow_evals).sum(),
        fast_evals: parts.iter().map(|part| part.fast_evals).sum(),
    }
}

/// The mean over chains of what a method either has in all of them or in none.
fn mean_if_any(parts: &[Part], rate: impl Fn(&Part) -> Option<f64>) -> Option<Estimate> {
    let rates: Option<Vec<f64>> = parts.iter().map(rate).collect();
    rates.map(|rates| Estimate::of_mean(&rates))
}
