//! What ArviZ checks a fit with: log likelihoods, replicated and observed data, and draws of the prior.

use super::{Axis, Dimension, Store};
use crate::posterior::Posterior;
use anyhow::{Result, bail};
use serde_json::Value;
use towline::Rng;
use towline::store::RunDir;

/// Numbers in a group of replicated data; beyond, every so many draws are left out.
const MOST: usize = 20_000_000;
/// Draws of the prior.
const PRIOR: usize = 1000;
/// The seed of replicated data and of the prior's draws.
const SEED: u64 = 21;

/// Adds the groups of a fit.
pub(super) fn add(store: &mut Store, run: &RunDir, about: &Value) -> Result<()> {
    let all = Posterior::open(run.path(), usize::MAX)?;
    let observations = all.predictor.model().response().len();
    let most = (MOST / observations.max(1)).max(run.chains() * 100);
    let posterior = if all.len() > most {
        Posterior::open(run.path(), most)?
    } else {
        all
    };
    let model = posterior.predictor.model();
    let name = posterior.resolved.response_name();
    let dimension = Dimension {
        name: "observation".into(),
        labels: (0..observations).map(|row| row.to_string()).collect(),
    };
    for (group, draws) in [
        ("log_likelihood", posterior.predictor.log_likelihood()?),
        (
            "posterior_predictive",
            posterior.predictor.replicated(SEED)?,
        ),
    ] {
        if draws.len() != posterior.places.len() {
            bail!("some draws lie outside the support of the model: was it changed?");
        }
        let (chains, axis) = by_chain(run.chains(), &posterior.places, draws);
        store.group(group, about.clone())?;
        store.axes(group, run.chains(), &axis)?;
        store.array(
            group,
            &name,
            &chains,
            &axis,
            std::slice::from_ref(&dimension),
        )?;
    }
    store.group("observed_data", about.clone())?;
    store.plain("observed_data", &name, model.response(), &dimension)?;

    let mut rng = Rng::stream(SEED, 1);
    let mut columns = vec![Vec::with_capacity(PRIOR); run.manifest().columns.len()];
    let mut data = Vec::new();
    for _ in 0..PRIOR {
        let drawn = model.prior_draw(&mut rng);
        let (row, response) = drawn.map_err(|error| anyhow::anyhow!("{error}"))?;
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
        data.extend(response);
    }
    let axis = Axis::new(1, PRIOR);
    store.group("prior", about.clone())?;
    store.axes("prior", 1, &axis)?;
    let names: Vec<String> = run.names().map(str::to_owned).collect();
    for (name, values) in super::unique(&names, super::safe).iter().zip(columns) {
        store.array("prior", name, &[values], &axis, &[])?;
    }
    store.group("prior_predictive", about.clone())?;
    store.axes("prior_predictive", 1, &axis)?;
    store.array("prior_predictive", &name, &[data], &axis, &[dimension])
}

/// As many draws of each chain as all have, one after another, with their numbers.
fn by_chain(
    chains: usize,
    places: &[(usize, usize)],
    draws: Vec<Vec<f64>>,
) -> (Vec<Vec<f64>>, Axis) {
    let count = |chain: usize| places.iter().filter(|p| p.0 == chain).count();
    let common = (0..chains).map(count).min().unwrap_or(0);
    let mut out = vec![Vec::new(); chains];
    let mut taken = vec![0; chains];
    for ((chain, _), draw) in places.iter().zip(draws) {
        if taken[*chain] < common {
            taken[*chain] += 1;
            out[*chain].extend(draw);
        }
    }
    let first = places.iter().filter(|p| p.0 == 0).take(common);
    let steps = first.map(|p| p.1 as i64).collect();
    (out, Axis { steps })
}
