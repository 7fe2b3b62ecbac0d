//! Arguments of functions in formulas, matched to their names as R does: named ones first, the others by position.

use super::expression::Context;
use super::parser::{Argument, Kind, Node, Operator};
use crate::error::Error;
use crate::nearest::did_you_mean;

/// The arguments of one call.
pub(crate) struct Bound<'a> {
    function: &'a str,
    node: &'a Node,
    names: &'static [&'static str],
    values: Vec<Option<&'a Node>>,
    context: Context<'a>,
}

/// Matches the arguments of a call to the names that the function knows.
pub(crate) fn bind<'a>(
    function: &'a str,
    names: &'static [&'static str],
    arguments: &'a [Argument],
    node: &'a Node,
    context: Context<'a>,
) -> Result<Bound<'a>, Error> {
    let mut values: Vec<Option<&Node>> = vec![None; names.len()];
    for argument in arguments {
        let Some(name) = &argument.name else { continue };
        let Some(at) = names.iter().position(|known| known == name) else {
            let hint = did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| format!("it has {}", names.join(", ")));
            return Err(context.error(
                format!("{function} has no argument `{name}`; {hint}"),
                &argument.value,
            ));
        };
        if values[at].replace(&argument.value).is_some() {
            return Err(context.error(format!("`{name}` is given twice"), &argument.value));
        }
    }
    for argument in arguments.iter().filter(|argument| argument.name.is_none()) {
        let Some(free) = values.iter_mut().find(|value| value.is_none()) else {
            return Err(context.error(
                format!(
                    "{function} takes at most {}: {}",
                    crate::nearest::plural(names.len(), "argument"),
                    names.join(", ")
                ),
                &argument.value,
            ));
        };
        *free = Some(&argument.value);
    }
    Ok(Bound {
        function,
        node,
        names,
        values,
        context,
    })
}

impl<'a> Bound<'a> {
    /// The argument of a name, where it is given.
    pub fn get(&self, name: &str) -> Option<&'a Node> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.values[at]
    }

    /// The argument of a name, which must be given.
    pub fn needed(&self, name: &str) -> Result<&'a Node, Error> {
        self.get(name).ok_or_else(|| {
            let message = format!("{} needs its argument `{name}`", self.function);
            self.context.error(message, self.node)
        })
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&self, name: &str, least: usize, most: usize) -> Result<Option<usize>, Error> {
        let Some(node) = self.get(name) else {
            return Ok(None);
        };
        match constant(node) {
            Some(n) if n.fract() == 0.0 && n >= least as f64 && n <= most as f64 => {
                Ok(Some(n as usize))
            }
            _ => Err(self.context.error(
                format!("`{name}` must be a whole number from {least} to {most}"),
                node,
            )),
        }
    }

    /// TRUE or FALSE.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        let Some(node) = self.get(name) else {
            return Ok(false);
        };
        match &node.bare().kind {
            Kind::Name(text) if ["TRUE", "T", "true"].contains(&text.as_str()) => Ok(true),
            Kind::Name(text) if ["FALSE", "F", "false"].contains(&text.as_str()) => Ok(false),
            _ => Err(self
                .context
                .error(format!("`{name}` must be TRUE or FALSE"), node)),
        }
    }

    /// A number, or several in `c(…)`.
    pub fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, Error> {
        let Some(node) = self.get(name) else {
            return Ok(None);
        };
        let numbers: Option<Vec<f64>> = several(node).into_iter().map(constant).collect();
        match numbers {
            Some(numbers) if !numbers.is_empty() && numbers.iter().all(|n| n.is_finite()) => {
                Ok(Some(numbers))
            }
            _ => Err(self
                .context
                .error(format!("`{name}` must be numbers: {name} = c(1, 2)"), node)),
        }
    }
}

/// The parts of `c(…)`, or the node alone.
pub(super) fn several(node: &Node) -> Vec<&Node> {
    match &node.bare().kind {
        Kind::Call(name, arguments) if name == "c" => {
            arguments.iter().map(|argument| &argument.value).collect()
        }
        _ => vec![node.bare()],
    }
}

/// A number that does not depend on data: 2, −2, 1/3.
pub(crate) fn constant(node: &Node) -> Option<f64> {
    match &node.bare().kind {
        Kind::Number(number) => Some(*number),
        Kind::Minus(inside) => constant(inside).map(|number| -number),
        Kind::Binary(Operator::Over, a, b) => Some(constant(a)? / constant(b)?),
        _ => None,
    }
}
