//! What is made of a fit: predictions, maps, checks, effects and comparisons, as arrays, words and pictures.

use crate::refused;
use crate::table::{dictionary, table};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::PathBuf;
use towline_cli::export::arviz::{self, Axis, Dimension, Sink};
use towline_cli::failure::said_once;
use towline_cli::runs::Drawn;
use towline_cli::{check as checks, compare as comparisons, effects as of_effects, map as maps};
use towline_models::Cells;

/// A picture as SVG and as PNG.
type Picture<'py> = (String, Bound<'py, PyBytes>);

/// An array of doubles.
type Numbers<'py> = Bound<'py, PyArray1<f64>>;

fn words(error: anyhow::Error) -> PyErr {
    refused(said_once(&error))
}

fn picture(py: Python<'_>, drawn: Drawn) -> Picture<'_> {
    (drawn.svg, PyBytes::new(py, &drawn.png))
}

/// Predictions of a fit at new rows, as columns; with notes, and with scores where the response is known.
#[pyfunction]
pub fn predict<'py>(
    py: Python<'py>,
    folder: PathBuf,
    at: &Bound<'py, PyAny>,
    level: f64,
    draws: usize,
) -> PyResult<(Bound<'py, PyDict>, Vec<String>, Option<String>)> {
    let at = table(at)?;
    let predicted = py
        .detach(|| towline_cli::predict::predictions(&folder, &at, level, draws))
        .map_err(words)?;
    let columns = dictionary(py, predicted.columns)?;
    Ok((columns, predicted.notes, predicted.scores))
}

/// Joint draws at new rows: the predictor (draw by draw, class by class, row by row) and a new response (draw by draw, row by
/// row), how many draws there are, and the names of classes.
#[pyfunction]
pub fn predict_draws<'py>(
    py: Python<'py>,
    folder: PathBuf,
    at: &Bound<'py, PyAny>,
    draws: usize,
) -> PyResult<(Numbers<'py>, Numbers<'py>, usize, Vec<String>)> {
    let at = table(at)?;
    let joint = py
        .detach(|| towline_cli::predict::joint(&folder, &at, draws))
        .map_err(words)?;
    let count = joint.draws.len();
    let eta = joint.draws.iter().flat_map(|draw| draw.eta.iter().copied());
    let response = joint
        .draws
        .iter()
        .flat_map(|draw| draw.response.iter().copied());
    Ok((
        PyArray1::from_vec(py, eta.collect()),
        PyArray1::from_vec(py, response.collect()),
        count,
        joint.classes,
    ))
}

/// A map: columns, what it is, what should be known of it, and a picture.
#[pyfunction]
#[pyo3(signature = (folder, with_intercept, response, above, cells, at, inside, draws))]
#[allow(clippy::too_many_arguments)]
pub fn map<'py>(
    py: Python<'py>,
    folder: PathBuf,
    with_intercept: bool,
    response: bool,
    above: Option<f64>,
    cells: usize,
    at: Option<&Bound<'py, PyAny>>,
    inside: Option<&Bound<'py, PyAny>>,
    draws: usize,
) -> PyResult<(Bound<'py, PyDict>, String, String, Picture<'py>)> {
    let wanted = maps::Wanted {
        with_intercept,
        response,
        above,
        cells,
        at: at.map(table).transpose()?,
        inside: inside.map(table).transpose()?,
        draws,
    };
    let (mapped, drawn) = py
        .detach(|| {
            let mapped = maps::mapped(&folder, &wanted, &|_, _| {})?;
            let drawn = mapped.drawn()?;
            Ok((mapped, drawn))
        })
        .map_err(words)?;
    let (title, about) = (mapped.title().to_owned(), mapped.about().to_owned());
    let columns = dictionary(py, mapped.columns)?;
    Ok((columns, title, about, picture(py, drawn)))
}

/// A check of a fit, or of its priors alone: as JSON, in words, and a picture.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    folder: PathBuf,
    draws: usize,
    prior_only: bool,
) -> PyResult<(String, String, Picture<'_>)> {
    let (report, drawn) = py
        .detach(|| {
            let report = if prior_only {
                checks::prior(&folder, draws)?
            } else {
                checks::posterior(&folder, draws)?
            };
            let drawn = report.drawn()?;
            Ok((report, drawn))
        })
        .map_err(words)?;
    Ok((report.numbers.to_string(), report.text, picture(py, drawn)))
}

/// Effects: columns, what they are, in words, and a picture where they are those of groups.
#[pyfunction]
#[pyo3(signature = (folder, name, contrast, level, draws))]
pub fn effects<'py>(
    py: Python<'py>,
    folder: PathBuf,
    name: &str,
    contrast: Option<&str>,
    level: f64,
    draws: usize,
) -> PyResult<(Bound<'py, PyDict>, String, String, Option<Picture<'py>>)> {
    let asked = of_effects::Asked {
        name,
        contrast,
        level,
        draws,
    };
    let (effects, drawn) = py
        .detach(|| {
            let effects = of_effects::of(&folder, &asked)?;
            let drawn = effects.drawn()?;
            Ok((effects, drawn))
        })
        .map_err(words)?;
    let of = |value: fn(&of_effects::Entry) -> f64| {
        Cells::Numbers(effects.entries.iter().map(value).collect())
    };
    let names = effects.entries.iter().map(|e| e.name.clone()).collect();
    let [lower, upper] = effects.quantiles();
    let columns = vec![
        ("name".to_owned(), Cells::Words(names)),
        ("mean".to_owned(), of(|e| e.mean)),
        ("sd".to_owned(), of(|e| e.sd)),
        (lower, of(|e| e.lower)),
        (upper, of(|e| e.upper)),
    ];
    let columns = dictionary(py, columns)?;
    let text = effects.text();
    let drawn = drawn.map(|drawn| picture(py, drawn));
    Ok((columns, effects.title, text, drawn))
}

/// Fits of the same observations beside each other: as JSON, the best first, and in words.
#[pyfunction]
pub fn compare(py: Python<'_>, folders: Vec<PathBuf>, draws: usize) -> PyResult<(String, String)> {
    let (numbers, text) = py
        .detach(|| comparisons::of(&folders, draws))
        .map_err(words)?;
    Ok((numbers.to_string(), text))
}

/// An array with its dimensions, those of chains and draws first where it has them.
struct Array {
    name: String,
    shape: Vec<usize>,
    values: Vec<f64>,
    dimensions: Vec<Dimension>,
}

/// Groups that stay in memory.
#[derive(Default)]
struct Kept(Vec<(String, Option<Axis>, Vec<Array>)>);

impl Kept {
    fn keep(&mut self, group: &str, array: Array) {
        if let Some(found) = self.0.iter_mut().find(|g| g.0 == group) {
            found.2.push(array);
        }
    }
}

impl Sink for Kept {
    fn group(&mut self, name: &str, axis: Option<&Axis>) -> anyhow::Result<()> {
        self.0.push((name.to_owned(), axis.cloned(), Vec::new()));
        Ok(())
    }

    fn array(
        &mut self,
        group: &str,
        name: &str,
        chains: &[Vec<f64>],
        axis: &Axis,
        dimensions: &[Dimension],
    ) -> anyhow::Result<()> {
        let sizes = dimensions.iter().map(|d| d.labels.len());
        let shape: Vec<usize> = [axis.chains, axis.steps.len()]
            .into_iter()
            .chain(sizes)
            .collect();
        let each: usize = shape[1..].iter().product();
        let values = chains
            .iter()
            .flat_map(|chain| chain[..each].iter().copied())
            .collect();
        let dimensions = dimensions.to_vec();
        let name = name.to_owned();
        self.keep(
            group,
            Array {
                name,
                shape,
                values,
                dimensions,
            },
        );
        Ok(())
    }

    fn plain(
        &mut self,
        group: &str,
        name: &str,
        values: &[f64],
        dimension: &Dimension,
    ) -> anyhow::Result<()> {
        let array = Array {
            name: name.to_owned(),
            shape: vec![values.len()],
            values: values.to_vec(),
            dimensions: vec![dimension.clone()],
        };
        self.keep(group, array);
        Ok(())
    }
}

/// The groups of a run that are wanted, as ArviZ has them: of each its name, the numbers of its draws (none for observed data)
/// and its arrays; of each of those its name, shape, values in C's order, and the names and labels of its own dimensions.
#[pyfunction]
pub fn inference<'py>(
    py: Python<'py>,
    folder: PathBuf,
    groups: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    let wanted: Vec<&str> = groups.iter().map(String::as_str).collect();
    let kept = py
        .detach(|| {
            let mut kept = Kept::default();
            let run = towline_cli::runs::open(&folder)?;
            arviz::groups(&run, &wanted, &mut kept)?;
            Ok(kept)
        })
        .map_err(words)?;
    let out = PyList::empty(py);
    for (name, axis, arrays) in kept.0 {
        let inside = PyList::empty(py);
        for array in arrays {
            let dimensions: Vec<(String, Vec<String>)> = array
                .dimensions
                .into_iter()
                .map(|d| (d.name, d.labels))
                .collect();
            let values = PyArray1::from_vec(py, array.values);
            inside.append((array.name, array.shape, values, dimensions))?;
        }
        out.append((name, axis.map(|axis| axis.steps), inside))?;
    }
    Ok(out)
}
