//! What ArviZ checks a fit with: log likelihoods, replicated and observed data, and draws of the prior.

use super::{Axis, Dimension, Sink};
use crate::posterior::Posterior;
use anyhow::{Result, bail};
use towline::Rng;
use towline::store::RunDir;

/// Numbers in a group of replicated data; beyond, every so many draws are left out.
const MOST: usize = 20_000_000;
/// Draws of the prior.
const PRIOR: usize = 1000;
/// The seed of replicated data and of the prior's draws.
const SEED: u64 = 21;

/// Adds the groups of a fit that are wanted.
pub(super) fn add(sink: &mut dyn Sink, run: &RunDir, wants: &dyn Fn(&str) -> bool) -> Result<()> {
    let all = Posterior::open(run.path(), usize::MAX)?;
    let observations = all.predictor.model().response().len();
    let most = (MOST / observations.max(1)).max(run.chains() * 100);
    let posterior = if all.len() > most {
        Posterior::open(run.path(), most)?
    } else {
        all
    };
    let model = posterior.predictor.model();
    let name = super::safe(&posterior.resolved.response_name());
    let dimension = Dimension {
        name: super::apart("observation", std::slice::from_ref(&name)),
        labels: (0..observations).map(|row| row.to_string()).collect(),
    };
    for group in ["log_likelihood", "posterior_predictive"] {
        if !wants(group) {
            continue;
        }
        let draws = if group == "log_likelihood" {
            posterior.predictor.log_likelihood()?
        } else {
            posterior.predictor.replicated(SEED)?
        };
        if draws.len() != posterior.places.len() {
            bail!("some draws lie outside the support of the model: was it changed?");
        }
        let (chains, axis) = by_chain(run.chains(), &posterior.places, draws);
        sink.group(group, Some(&axis))?;
        sink.array(
            group,
            &name,
            &chains,
            &axis,
            std::slice::from_ref(&dimension),
        )?;
    }
    if wants("observed_data") {
        sink.group("observed_data", None)?;
        sink.plain("observed_data", &name, model.response(), &dimension)?;
    }
    if wants("prior") || wants("prior_predictive") {
        prior(sink, run, &posterior, wants, &name, dimension)?;
    }
    Ok(())
}

/// Draws of the prior, and of data there.
fn prior(
    sink: &mut dyn Sink,
    run: &RunDir,
    posterior: &Posterior,
    wants: &dyn Fn(&str) -> bool,
    response: &str,
    dimension: Dimension,
) -> Result<()> {
    let mut rng = Rng::stream(SEED, 1);
    let mut columns = vec![Vec::with_capacity(PRIOR); run.manifest().columns.len()];
    let mut data = Vec::new();
    for _ in 0..PRIOR {
        let drawn = posterior.predictor.model().prior_draw(&mut rng);
        let (row, response) = drawn.map_err(|error| anyhow::anyhow!("{error}"))?;
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(value);
        }
        data.extend(response);
    }
    let axis = Axis::new(1, 1, PRIOR);
    if wants("prior") {
        sink.group("prior", Some(&axis))?;
        let names: Vec<String> = run.names().map(str::to_owned).collect();
        for (name, values) in super::unique(&names, super::safe).iter().zip(columns) {
            sink.array("prior", name, &[values], &axis, &[])?;
        }
    }
    if wants("prior_predictive") {
        let group = "prior_predictive";
        sink.group(group, Some(&axis))?;
        sink.array(group, response, &[data], &axis, &[dimension])?;
    }
    Ok(())
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
    (out, Axis { chains, steps })
}
