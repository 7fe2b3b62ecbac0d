//! What a formula means for a model: response, terms, offsets, random effects.

use super::dot;
use super::parser::{Kind, Node, Operator, parse};
use super::reader::{Reader, Sum};
use super::span::SyntaxError;

/// A formula, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    pub text: String,
    pub response: Option<Response>,
    pub fixed: Terms,
    pub offsets: Vec<Node>,
    pub groups: Vec<Grouping>,
    /// Calls of functions that make components: `rw1(t)`, `gp(x, y)`.
    pub components: Vec<Node>,
    /// The names of all columns it uses.
    pub names: Vec<String>,
    /// What `.` was taken to be.
    pub dot: Option<Vec<String>>,
}

/// The left side.
#[derive(Debug, Clone)]
pub(crate) enum Response {
    One(Node),
    /// `cbind(successes, failures)`.
    Counts(Node, Node),
    /// `successes | trials`.
    Trials(Node, Node),
}

/// Whether there is an intercept, and the other terms, main effects first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub intercept: bool,
    pub terms: Vec<Term>,
}

/// A product of variables: one is a main effect, several an interaction.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub variables: Vec<Node>,
}

/// `(effects | by)`: effects of one group may be correlated. `||` is several of these.
#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    pub effects: Terms,
    /// The columns whose combinations are the groups.
    pub by: Vec<Node>,
}

impl Formula {
    /// Reads a formula, with or without a response; where it says `.`, a table is needed to know the columns.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Self::of(text, None)
    }

    /// Reads a formula in which `.` stands for those of these columns that it does not use otherwise.
    pub fn among(text: &str, columns: &[String]) -> Result<Self, SyntaxError> {
        Self::of(text, Some(columns))
    }

    fn of(text: &str, columns: Option<&[String]>) -> Result<Self, SyntaxError> {
        let mut tree = parse(text)?;
        let reader = Reader { text };
        let dot = dot::expand(&mut tree, columns, &reader)?;
        let (left, right) = match &tree.kind {
            Kind::Binary(Operator::Tilde, left, right) => (Some(left.as_ref()), right.as_ref()),
            Kind::OneSided(right) => (None, right.as_ref()),
            _ => {
                return Err(reader.error(
                    "a formula has a `~` between the response and the covariates: y ~ x",
                    &tree,
                ));
            }
        };
        let mut names = Vec::new();
        super::expression::names(&tree, &mut names);
        let mut formula = Self {
            text: text.into(),
            response: left.map(|node| reader.response(node)).transpose()?,
            fixed: Terms::default(),
            offsets: Vec::new(),
            groups: Vec::new(),
            components: Vec::new(),
            names,
            dot,
        };
        let mut sum = Sum::default();
        reader.sum(right, true, &mut sum, Some(&mut formula))?;
        formula.fixed = sum.finish(right);
        Ok(formula)
    }
}

impl Term {
    /// The same for the same set of variables, in whatever order.
    pub fn key(&self) -> Vec<String> {
        let mut key: Vec<String> = self.variables.iter().map(ToString::to_string).collect();
        key.sort();
        key
    }

    /// The product of two terms; a variable counts once.
    pub fn times(&self, other: &Self) -> Self {
        let mut variables = self.variables.clone();
        for variable in &other.variables {
            let name = variable.to_string();
            if !variables.iter().any(|known| known.to_string() == name) {
                variables.push(variable.clone());
            }
        }
        Self { variables }
    }
}

#[cfg(test)]
mod tests;
