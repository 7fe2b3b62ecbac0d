//! A run as ArviZ has it: groups of arrays with named dimensions, given to whoever stores or returns them.

mod fitted;
mod terms;

use super::names::unique;
use anyhow::Result;
use serde_json::Value;
use terms::Term;
use towline::store::RunDir;

/// The groups that there can be; those after the third are a fit's.
pub const GROUPS: [&str; 8] = [
    "posterior",
    "sample_stats",
    "latents",
    "log_likelihood",
    "posterior_predictive",
    "observed_data",
    "prior",
    "prior_predictive",
];

/// Chains, and the numbers of their draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// How many chains.
    pub chains: usize,
    /// The number of each draw in its chain.
    pub steps: Vec<i64>,
}

impl Axis {
    /// The last of every so many steps.
    fn new(chains: usize, every: u64, length: usize) -> Self {
        let steps = (1..=length as i64).map(|k| k * every as i64 - 1).collect();
        Self { chains, steps }
    }
}

/// A dimension of an array beside chain and draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// What each of its places is called.
    pub labels: Vec<String>,
}

/// Who takes the arrays, group by group.
pub trait Sink {
    /// A group begins; the observed data have neither chains nor draws.
    ///
    /// # Errors
    /// Where it cannot be stored.
    fn group(&mut self, name: &str, axis: Option<&Axis>) -> Result<()>;

    /// An array of a group: chain by chain, draw after draw, dimension after dimension.
    ///
    /// # Errors
    /// Where it cannot be stored.
    fn array(
        &mut self,
        group: &str,
        name: &str,
        chains: &[Vec<f64>],
        axis: &Axis,
        dimensions: &[Dimension],
    ) -> Result<()>;

    /// An array without chains and draws.
    ///
    /// # Errors
    /// Where it cannot be stored.
    fn plain(
        &mut self,
        group: &str,
        name: &str,
        values: &[f64],
        dimension: &Dimension,
    ) -> Result<()>;
}

/// Hands over those of a run's groups that are wanted.
///
/// # Errors
/// Where the run cannot be read, or the sink refuses.
pub fn groups(run: &RunDir, wanted: &[&str], sink: &mut dyn Sink) -> Result<()> {
    let wants = |name: &str| wanted.contains(&name);
    let manifest = run.manifest();
    let axis = Axis::new(run.chains(), 1, run.common_rows());
    let mut terms = Term::all(&manifest.latents);
    let mut names: Vec<String> = run.names().map(str::to_owned).collect();
    names.extend(terms.iter().map(|term| term.name.clone()));
    let names = unique(&names, safe);
    for dimension in terms.iter_mut().flat_map(|term| &mut term.dimensions) {
        dimension.name = apart(&safe(&dimension.name), &names);
    }
    let (columns, arrays) = names.split_at(manifest.columns.len());
    if wants("posterior") {
        sink.group("posterior", Some(&axis))?;
        for (name, chains) in columns.iter().zip(run.columns()?) {
            sink.array("posterior", name, &chains, &axis, &[])?;
        }
    }
    // Thinned, latents have a group of their own: theirs are other draws than the rest's.
    let thinned = manifest.latent_every != 1;
    if wants("latents") && !terms.is_empty() && (thinned || wants("posterior")) {
        let lengths = (0..run.chains()).map(|k| run.latents(k).rows());
        let length = lengths.min().unwrap_or(0);
        let axis = Axis::new(run.chains(), manifest.latent_every, length);
        let group = if thinned { "latents" } else { "posterior" };
        if thinned {
            sink.group(group, Some(&axis))?;
        }
        for (term, name) in terms.iter().zip(arrays) {
            let values = (0..run.chains())
                .map(|chain| term.values(run.latents(chain), length))
                .collect::<Result<Vec<_>>>()?;
            sink.array(group, name, &values, &axis, &term.dimensions)?;
        }
    }
    if wants("sample_stats") {
        sink.group("sample_stats", Some(&axis))?;
        for name in &manifest.statistics {
            let ours = run.statistics(name)?;
            let theirs = if name == "log_density" { "lp" } else { name };
            sink.array("sample_stats", theirs, &ours, &axis, &[])?;
        }
    }
    let fitted = manifest.model.get("kind").and_then(Value::as_str) == Some("fit");
    if fitted && GROUPS[3..].iter().any(|name| wants(name)) {
        fitted::add(sink, run, &wants)?;
    }
    Ok(())
}

/// A dimension's name that no variable has: a slope of `year` beside groups of years.
fn apart(name: &str, variables: &[String]) -> String {
    if variables.iter().any(|variable| variable == name) {
        format!("{name}_level")
    } else {
        name.to_owned()
    }
}

/// A slash would be a folder of its own in Zarr, and a leading dot one of its own files.
fn safe(name: &str) -> String {
    let plain = name.replace(['/', '\\'], "_");
    let plain = plain.trim_start_matches('.');
    // What every array's first dimensions are called.
    match plain {
        "chain" | "draw" => format!("{plain}_"),
        _ => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimension_has_no_variables_name() {
        assert_eq!(safe("a/b"), "a_b");
        assert_eq!(safe("draw"), "draw_");
        assert_eq!(apart("year", &["x".into(), "year".into()]), "year_level");
        assert_eq!(apart("site", &["x".into(), "year".into()]), "site");
    }
}
