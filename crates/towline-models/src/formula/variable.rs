//! A variable of a formula: a number, several columns made of one, or a factor.

use super::arguments::{Bound, bind};
use super::contrast::Contrast;
use super::expression::{Context, Expression};
use super::factor::{Factor, Made, makes_factor};
use super::parser::{Argument, Kind, Node};
use super::polynomial::Orthogonal;
use super::spline::{Knots, Spline, quantile};
use crate::error::Error;
use crate::table::Table;
use std::collections::HashSet;

/// The most columns that one variable becomes: a basis of more is a slip.
const MOST: usize = 100;

/// Functions that make several columns of one.
pub(crate) const BASES: [&str; 3] = ["poly", "ns", "bs"];

/// A variable, as the data of the fit define it.
#[derive(Debug, Clone)]
pub(crate) enum Variable {
    Number(Expression),
    Basis(Expression, Basis),
    Factor(Factor, Contrast),
}

/// Columns that are functions of one column.
#[derive(Debug, Clone)]
pub(crate) enum Basis {
    Powers(usize),
    Orthogonal(Orthogonal),
    Spline(Spline),
}

impl Variable {
    pub fn compile(node: &Node, context: Context) -> Result<Self, Error> {
        let factor = || -> Result<Self, Error> {
            let factor = Factor::compile(std::slice::from_ref(node), context)?;
            Ok(Self::Factor(factor, Made::of(node, context)?.contrast))
        };
        if let Kind::Name(name) = &node.kind
            && context.table.has(name)
            && !context.standardise.contains(name)
            && (context.levels.contains_key(name) || !context.table.is_numeric(name)?)
        {
            return factor();
        }
        match &node.kind {
            _ if makes_factor(node) => return factor(),
            Kind::Call(name, arguments) if BASES.contains(&name.as_str()) => {
                return basis(name, arguments, node, context);
            }
            Kind::Call(name, _) if name == "row" => {
                return Err(context.error("row() can only be a group: (1 | row())", node));
            }
            _ => {}
        }
        Ok(Self::Number(Expression::compile(node, context)?))
    }

    /// Whether it is a factor.
    pub fn is_factor(&self) -> bool {
        matches!(self, Self::Factor(..))
    }

    /// What its columns are called after it; `full` asks for a column for each level of a factor.
    pub fn labels(&self, full: bool) -> Vec<String> {
        match self {
            Self::Number(_) => vec![String::new()],
            Self::Basis(_, basis) => {
                let width = basis.columns(&[0.0]).len();
                (1..=width).map(|k| k.to_string()).collect()
            }
            Self::Factor(factor, _) if full => factor.levels.clone(),
            Self::Factor(factor, contrast) => contrast.labels(&factor.levels),
        }
    }

    /// Whether its columns are 0 and 1.
    pub fn is_indicator(&self, full: bool) -> bool {
        match self {
            Self::Factor(_, contrast) => full || matches!(contrast, Contrast::Treatment { .. }),
            _ => false,
        }
    }

    /// What its columns are compared with: a level, or all of them in a way that has a name.
    pub fn reference(&self) -> Option<(String, String)> {
        let Self::Factor(factor, contrast) = self else {
            return None;
        };
        let what = match contrast {
            Contrast::Treatment { base } => factor.levels[*base].clone(),
            Contrast::Sum => "the mean of all levels".into(),
            Contrast::Helmert => "the mean of the levels before".into(),
            Contrast::Polynomial => "polynomials in the order of levels".into(),
        };
        Some((factor.name.clone(), what))
    }

    /// Its columns in the rows of a table.
    pub fn columns(&self, table: &Table, full: bool) -> Result<Vec<Vec<f64>>, Error> {
        Ok(match self {
            Self::Number(expression) => vec![expression.values(table)?],
            Self::Basis(expression, basis) => basis.columns(&expression.values(table)?),
            Self::Factor(factor, contrast) => {
                let codes = factor.known_codes(table)?;
                let count = factor.levels.len();
                let values = if full {
                    let is = |yes: bool| f64::from(u8::from(yes));
                    let one = |k| (0..count).map(|level| is(level == k)).collect();
                    (0..count).map(one).collect()
                } else {
                    contrast.columns(count)
                };
                let column =
                    |of_level: &Vec<f64>| codes.iter().map(|code| of_level[*code]).collect();
                values.iter().map(column).collect()
            }
        })
    }
}

impl Basis {
    fn columns(&self, values: &[f64]) -> Vec<Vec<f64>> {
        match self {
            Self::Powers(degree) => (1..=*degree as i32)
                .map(|power| values.iter().map(|x| x.powi(power)).collect())
                .collect(),
            Self::Orthogonal(polynomials) => polynomials.columns(values),
            Self::Spline(spline) => spline.columns(values),
        }
    }
}

fn basis(
    name: &str,
    arguments: &[Argument],
    node: &Node,
    context: Context,
) -> Result<Variable, Error> {
    let names: &'static [&'static str] = match name {
        "poly" => &["x", "degree", "raw"],
        "ns" => &["x", "df", "knots", "intercept", "Boundary.knots"],
        _ => &["x", "df", "knots", "degree", "intercept", "Boundary.knots"],
    };
    let bound = bind(name, names, arguments, node, context)?;
    let expression = Expression::compile(bound.needed("x")?, context)?;
    let mut sorted = expression.values(context.table)?;
    sorted.sort_by(f64::total_cmp);
    let different = sorted
        .iter()
        .map(|x| x.to_bits())
        .collect::<HashSet<_>>()
        .len();
    if different < 2 {
        return Err(context.error(
            format!("{name} needs values that are not all the same"),
            node,
        ));
    }
    let basis = match name {
        "poly" => {
            let most = (different - 1).min(MOST);
            let degree = bound.whole("degree", 1, most)?.unwrap_or(1);
            if bound.flag("raw")? {
                Basis::Powers(degree)
            } else {
                Basis::Orthogonal(Orthogonal::of(&sorted, degree))
            }
        }
        _ => Basis::Spline(spline(name, &bound, &sorted, node, context)?),
    };
    if basis
        .columns(&sorted)
        .iter()
        .flatten()
        .any(|x| !x.is_finite())
    {
        return Err(context.error(
            format!("{name} overflows on these values: scale them"),
            node,
        ));
    }
    Ok(Variable::Basis(expression, basis))
}

fn spline(
    name: &str,
    bound: &Bound,
    sorted: &[f64],
    node: &Node,
    context: Context,
) -> Result<Spline, Error> {
    let whole = bound.flag("intercept")?;
    let natural = name == "ns";
    let degree = if natural {
        3
    } else {
        bound.whole("degree", 1, 20)?.unwrap_or(3)
    };
    let ends = match bound.numbers("Boundary.knots")?.as_deref() {
        None => [sorted[0], sorted[sorted.len() - 1]],
        Some([a, b]) if a < b => [*a, *b],
        Some(_) => {
            return Err(context.error("Boundary.knots are two numbers, the lower first", node));
        }
    };
    // Columns without inner knots: a natural spline is then a straight line.
    let least = usize::from(whole) + if natural { 1 } else { degree };
    let df = bound.whole("df", least, MOST)?;
    let mut inner = match (bound.numbers("knots")?, df) {
        (Some(_), Some(_)) => {
            return Err(context.error(format!("{name} takes `df` or `knots`, not both"), node));
        }
        (Some(knots), None) if knots.len() <= MOST => knots,
        (Some(_), None) => return Err(context.error(format!("at most {MOST} knots"), node)),
        (None, df) => {
            let count = df.unwrap_or(least) - least;
            let inside: Vec<f64> = sorted
                .iter()
                .copied()
                .filter(|x| (ends[0]..=ends[1]).contains(x))
                .collect();
            if inside.is_empty() {
                return Err(context.error("no value lies between the Boundary.knots", node));
            }
            let share = |k: usize| (k + 1) as f64 / (count + 1) as f64;
            (0..count).map(|k| quantile(&inside, share(k))).collect()
        }
    };
    inner.sort_by(f64::total_cmp);
    let apart = inner.windows(2).all(|pair| pair[0] < pair[1]);
    if !apart
        || inner
            .iter()
            .any(|knot| *knot <= ends[0] || *knot >= ends[1])
    {
        return Err(context.error(
            "knots must differ and lie inside the ends; where many values are the same, give fewer, or give `knots`",
            node,
        ));
    }
    let knots = Knots { inner, ends };
    Ok(if natural {
        Spline::natural(&knots, whole)
    } else {
        Spline::plain(&knots, degree, whole)
    })
}
