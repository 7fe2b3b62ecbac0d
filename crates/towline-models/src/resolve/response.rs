//! The response: which columns it is made of, and whether its values are what the family can produce.

use crate::error::Error;
use crate::family::Family;
use crate::formula::{Context, Expression, Formula, Kind, Node, Response, parse};
use crate::spec::{FamilyKind, Link, ModelFile};
use crate::table::{Table, list};

/// How a response is read from a table.
#[derive(Debug, Clone)]
pub(super) struct Design {
    name: String,
    family: FamilyKind,
    source: Source,
    trials: Option<Trials>,
}

#[derive(Debug, Clone)]
enum Source {
    Number(Expression),
    /// A column of text (or of classes) and its levels in order.
    Levels(String, Vec<String>),
    /// Whether a column has this value; the other value, for reports.
    Success {
        column: String,
        success: String,
        other: String,
    },
}

#[derive(Debug, Clone)]
enum Trials {
    Number(Expression),
    /// Successes and failures: the trials are their sum.
    Failures(Expression),
}

/// A response as it was observed.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub values: Vec<f64>,
    pub trials: Option<Vec<f64>>,
    pub classes: Vec<String>,
}

/// The family with its link.
pub(super) fn family(model: &ModelFile) -> Result<Family, Error> {
    let link = model.link;
    Ok(match (model.family, link.unwrap_or(Link::Logit)) {
        (FamilyKind::Bernoulli, Link::Logit) => Family::BernoulliLogit,
        (FamilyKind::Bernoulli, Link::Probit) => Family::BernoulliProbit,
        (FamilyKind::Binomial, Link::Logit) => Family::BinomialLogit,
        (FamilyKind::Binomial, Link::Probit) => Family::BinomialProbit,
        (other, _) if link.is_some() => {
            return Err(Error::setting(
                "link",
                format!("only bernoulli and binomial have a choice of links, {other} has none"),
            ));
        }
        (FamilyKind::Poisson, _) => Family::Poisson,
        (FamilyKind::NegativeBinomial, _) => Family::NegativeBinomial,
        (FamilyKind::Gaussian, _) => Family::Gaussian,
        (FamilyKind::Softmax, _) => Family::Softmax,
    })
}

impl Design {
    pub fn compile(model: &ModelFile, formula: &Formula, context: Context) -> Result<Self, Error> {
        let data = &model.data;
        let node = match (&formula.response, &data.response) {
            (Some(Response::One(node)), Some(given)) if node.bare().to_string() != *given => {
                return Err(Error::setting(
                    "response",
                    format!(
                        "the formula's response is `{node}`, [data] says `{given}`: give it once"
                    ),
                ));
            }
            (Some(response), _) => response.clone(),
            (None, Some(given)) => Response::One(parse(given)?),
            (None, None) => {
                return Err(Error::setting(
                    "formula",
                    "nothing stands left of `~`: write the response there, or give `response` under [data]",
                ));
            }
        };
        // The response is taken as it is, whatever is standardised.
        let context = Context {
            standardise: &[],
            ..context
        };
        let number = |node: &Node| Expression::compile(node, context);
        let (node, trials) = match node {
            Response::One(node) => {
                let trials = match &data.trials {
                    None => None,
                    Some(text) => {
                        let context = Context { text, ..context };
                        Some(Trials::Number(Expression::compile(&parse(text)?, context)?))
                    }
                };
                (node, trials)
            }
            Response::Counts(successes, failures) => {
                let failures = number(&failures)?;
                (successes, Some(Trials::Failures(failures)))
            }
            Response::Trials(successes, trials) => {
                let trials = number(&trials)?;
                (successes, Some(Trials::Number(trials)))
            }
        };
        match (model.family, &trials) {
            (FamilyKind::Binomial, None) => {
                return Err(Error::setting(
                    "trials",
                    "a binomial response needs its numbers of trials: `trials` under [data], or `successes | trials ~ …`; \
                     for a response of 0 and 1 say bernoulli",
                ));
            }
            (FamilyKind::Binomial, Some(_)) | (_, None) => {}
            (other, Some(_)) => {
                return Err(Error::setting(
                    "trials",
                    format!("only a binomial response has trials, not {other}"),
                ));
            }
        }
        let source = source(model, &node, context)?;
        Ok(Self {
            name: node.bare().to_string(),
            family: model.family,
            source,
            trials,
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a table has the response's columns.
    pub fn is_in(&self, table: &Table) -> bool {
        let response = match &self.source {
            Source::Number(expression) => expression.is_in(table),
            Source::Levels(column, _) | Source::Success { column, .. } => table.has(column),
        };
        let trials = match &self.trials {
            Some(Trials::Number(expression) | Trials::Failures(expression)) => {
                expression.is_in(table)
            }
            None => true,
        };
        response && trials
    }

    /// The trials of every row of a table; empty for a response without any, or where the table does not say (then 1).
    pub fn trials_of(&self, table: &Table, notes: &mut Vec<String>) -> Result<Vec<f64>, Error> {
        let (Some(trials), Source::Number(successes)) = (&self.trials, &self.source) else {
            return Ok(Vec::new());
        };
        match trials {
            Trials::Number(expression) if expression.is_in(table) => {
                super::design::positive(expression, table, "a number of trials")
            }
            Trials::Failures(failures) if failures.is_in(table) && successes.is_in(table) => {
                let (a, b) = (successes.values(table)?, failures.values(table)?);
                Ok(a.iter().zip(&b).map(|(a, b)| a + b).collect())
            }
            _ => {
                notes.push(format!(
                    "{} does not have the numbers of trials: expected and new responses are of one trial",
                    table.name()
                ));
                Ok(Vec::new())
            }
        }
    }

    /// The response of every row of a table, checked.
    pub fn observe(&self, table: &Table, notes: &mut Vec<String>) -> Result<Observed, Error> {
        let mut classes = Vec::new();
        let values = match &self.source {
            Source::Number(expression) => expression.values(table)?,
            Source::Levels(column, levels) => {
                classes = levels.clone();
                let texts = table.complete(column)?;
                let code = |(row, text): (usize, &String)| {
                    let at = levels.iter().position(|level| level == text);
                    at.map(|at| at as f64).ok_or_else(|| {
                        self.refuse(table, row, text, format!("one of {}", list(levels)))
                    })
                };
                texts
                    .iter()
                    .enumerate()
                    .map(code)
                    .collect::<Result<_, _>>()?
            }
            Source::Success {
                column,
                success,
                other,
            } => {
                notes.push(format!(
                    "`{column}` is 1 where it is `{success}`, 0 otherwise"
                ));
                classes = vec![other.clone(), success.clone()];
                let texts = table.complete(column)?;
                texts
                    .iter()
                    .map(|text| f64::from(u8::from(text == success)))
                    .collect()
            }
        };
        let trials = match &self.trials {
            None => None,
            Some(Trials::Number(expression)) => Some(expression.values(table)?),
            Some(Trials::Failures(expression)) => {
                let failures = expression.values(table)?;
                Some(values.iter().zip(&failures).map(|(a, b)| a + b).collect())
            }
        };
        for (row, value) in values.iter().enumerate() {
            let most = trials.as_ref().map_or(1.0, |trials: &Vec<f64>| trials[row]);
            if self.family == FamilyKind::Binomial && !(most >= 1.0 && most.fract() == 0.0) {
                return Err(self.refuse(
                    table,
                    row,
                    &format!("{value} of {most}"),
                    "a whole number of trials, 1 or more".into(),
                ));
            }
            if !self.family.accepts_value(*value, most) {
                let shown = match self.family {
                    FamilyKind::Binomial => format!("{value} of {most}"),
                    _ => value.to_string(),
                };
                return Err(self.refuse(table, row, &shown, self.family.accepts().into()));
            }
        }
        Ok(Observed {
            values,
            trials,
            classes,
        })
    }

    fn refuse(&self, table: &Table, row: usize, value: &str, accepted: String) -> Error {
        Error::Response {
            name: table.name().into(),
            line: table.line(row),
            response: self.name.clone(),
            value: value.into(),
            family: self.family.name(),
            accepted,
        }
    }
}

/// Text is made into classes, numbers are taken as they are.
fn source(model: &ModelFile, node: &Node, context: Context) -> Result<Source, Error> {
    let (table, family) = (context.table, model.family);
    let column = match &node.bare().kind {
        Kind::Name(name) if table.has(name) => Some(name.clone()),
        _ => None,
    };
    let success = model.data.success.as_ref();
    if success.is_some() && (family != FamilyKind::Bernoulli || column.is_none()) {
        return Err(Error::setting(
            "success",
            "it says which value of a bernoulli response's column counts as 1",
        ));
    }
    let Some(column) = column else {
        if family == FamilyKind::Softmax {
            return Err(context.error("the classes must be a column", node));
        }
        return Ok(Source::Number(Expression::compile(node, context)?));
    };
    let levels = match model.data.levels.get(&column) {
        Some(levels) => levels.clone(),
        None if success.is_some() => table.levels(&column)?,
        // Asked in any case: numbers with a slip among them are no classes.
        None if !table.is_numeric(&column)? || family == FamilyKind::Softmax => {
            table.levels(&column)?
        }
        None => return Ok(Source::Number(Expression::compile(node, context)?)),
    };
    match family {
        FamilyKind::Softmax | FamilyKind::Bernoulli if levels.len() < 2 => Err(Error::OneLevel {
            factor: column,
            level: levels.join(""),
        }),
        FamilyKind::Softmax => Ok(Source::Levels(column, levels)),
        FamilyKind::Bernoulli => {
            let success = match success {
                Some(given) if levels.contains(given) => given.clone(),
                Some(given) => {
                    return Err(Error::setting(
                        "success",
                        format!(
                            "no row has `{column}` equal to `{given}`: it has {}",
                            list(&levels)
                        ),
                    ));
                }
                // As in R: the first level is a failure.
                None if levels.len() == 2 => levels[1].clone(),
                None => {
                    return Err(Error::setting(
                        "success",
                        format!(
                            "`{column}` has {} values ({}): say which counts as 1, or use the family softmax",
                            levels.len(),
                            list(&levels)
                        ),
                    ));
                }
            };
            let others: Vec<String> = levels
                .into_iter()
                .filter(|level| *level != success)
                .collect();
            Ok(Source::Success {
                column,
                success,
                other: others.join(" or "),
            })
        }
        // Text where a number is needed: named by its line.
        _ => table
            .numbers(&column)
            .map(|_| unreachable_number(node, context))?,
    }
}

/// A column with levels given for it but numbers in it.
fn unreachable_number(node: &Node, context: Context) -> Result<Source, Error> {
    Ok(Source::Number(Expression::compile(node, context)?))
}
