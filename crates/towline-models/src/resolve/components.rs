//! Components of a formula: its calls of `rw1(t)`, `gp(x, y)` and the like, as parts of the model.

use super::design::Design;
use super::prior::Chooser;
use super::products;
use crate::component::{Call, Entered, FUNCTIONS, Function, PROCESS, bind_call, name_of};
use crate::defaults::Unit;
use crate::error::Error;
use crate::formula::{
    Argument, Context, Formula, Kind, Node, Operator, SyntaxError, Term, constant,
};
use crate::spec::{GpSpec, ModelFile};
use std::path::Path;

/// The function of a call; `None` for a dense process.
pub(super) fn function(node: &Node) -> Option<&'static Function> {
    let Kind::Call(name, _) = &node.kind else {
        return None;
    };
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The model with the processes that its formula asks for.
pub(super) fn with_processes(model: &ModelFile, formula: &Formula) -> Result<ModelFile, Error> {
    let mut model = model.clone();
    for node in &formula.components {
        if let Kind::Call(name, arguments) = &node.kind
            && name == PROCESS
        {
            model.gp.push(process(arguments, node, &formula.text)?);
        }
    }
    Ok(model)
}

fn process(arguments: &[Argument], node: &Node, text: &str) -> Result<GpSpec, Error> {
    let wrong =
        |message: String, node: &Node| Error::from(SyntaxError::new(message, text, node.span));
    let mut spec = GpSpec::new(Vec::new());
    for Argument { name, value } in arguments {
        let quoted = || match &value.bare().kind {
            Kind::Text(text) => Ok(text.clone()),
            _ => Err(wrong("this argument is text, in quotes".into(), value)),
        };
        match name.as_deref() {
            None => spec.inputs.push(value.to_string()),
            Some("covariance") => spec.covariance = quoted()?,
            Some("name") => spec.name = Some(quoted()?),
            Some("distance") => {
                let name = quoted()?;
                let known = crate::distance::Distance::ALL;
                let found = known.into_iter().find(|distance| distance.name() == name);
                spec.distance = found.ok_or_else(|| {
                    let names = known.map(|distance| format!("\"{}\"", distance.name()));
                    wrong(format!("distances are {}", names.join(", ")), value)
                })?;
            }
            Some("jitter") => {
                let number = constant(value);
                spec.jitter = number.ok_or_else(|| wrong("jitter is a number".into(), value))?;
            }
            Some("standardise" | "standardize") => {
                spec.standardise = matches!(&value.bare().kind, Kind::Name(word) if word == "TRUE" || word == "true");
            }
            Some(other) => {
                return Err(wrong(
                    format!(
                        "gp has no argument `{other}`; it has covariance, distance, jitter, name, standardise beside its inputs"
                    ),
                    value,
                ));
            }
        }
    }
    if spec.inputs.is_empty() {
        return Err(wrong(
            "a process needs at least one input: gp(x, y)".into(),
            node,
        ));
    }
    Ok(spec)
}

/// Adds to the fixed effects what components leave open: the line of a random walk of the second order.
pub(super) fn left_open(formula: &mut Formula, context: Context) -> Result<(), Error> {
    let mut terms: Vec<Term> = Vec::new();
    for node in &formula.components {
        let Some(function) = function(node) else {
            continue;
        };
        let bound = bind_call(function, node, context)?;
        for product in function.fixed {
            let mut variables = product
                .iter()
                .map(|argument| bound.needed(argument).map(plain))
                .collect::<Result<Vec<_>, _>>()?;
            if let Some(by) = bound.get("by") {
                // Each group has a line of its own, whatever its groups are called.
                let factor = Argument {
                    name: None,
                    value: by.clone(),
                };
                variables.push(Node {
                    kind: Kind::Call("factor".into(), vec![factor]),
                    span: by.span,
                });
            }
            terms.push(Term { variables });
        }
    }
    for term in terms {
        let known = formula.fixed.terms.iter().any(|t| t.key() == term.key());
        if !known {
            formula.fixed.terms.push(term);
        }
    }
    formula.fixed.terms.sort_by_key(|term| term.variables.len());
    Ok(())
}

/// A term of a formula: arithmetic goes inside I().
fn plain(node: &Node) -> Node {
    match &node.bare().kind {
        Kind::Name(_) | Kind::Call(..) => node.bare().clone(),
        _ => Node {
            kind: Kind::Call(
                "I".into(),
                vec![Argument {
                    name: None,
                    value: node.bare().clone(),
                }],
            ),
            span: node.span,
        },
    }
}

/// The components of a formula, dense processes left out.
pub(super) fn compile(
    model: &ModelFile,
    formula: &Formula,
    context: Context,
    unit: Unit,
    chooser: &mut Chooser,
    notes: &mut Vec<String>,
) -> Result<Vec<Entered>, Error> {
    let folder = model.data.file.parent().unwrap_or(Path::new(""));
    let mut all = Vec::new();
    for node in &formula.components {
        if let Kind::Binary(Operator::Colon, a, b) = &node.kind {
            let sides = [a.bare(), b.bare()];
            all.push(products::compile(
                node, sides, context, unit, chooser, notes, folder,
            )?);
            continue;
        }
        let Some(function) = function(node) else {
            continue;
        };
        let bound = bind_call(function, node, context)?;
        let call = Call {
            name: name_of(function, &bound),
            bound,
            node,
            context,
            unit,
            chooser: &mut *chooser,
            notes: &mut *notes,
            folder: folder.to_path_buf(),
            factor: false,
        };
        all.push(Entered::compile(function, call)?);
    }
    Ok(all)
}

/// Says which components look at the same columns as others, so that data tell of their sum alone.
pub(super) fn note_twins(design: &Design, formula: &Formula, notes: &mut Vec<String>) {
    for (k, one) in design.components.iter().enumerate() {
        let looks_at = one.looks_at();
        for other in &design.components[..k] {
            if other.looks_at() == looks_at {
                notes.push(format!(
                    "`{}` and `{}` are both of {}: the data tell of their sum, and only the priors of their scales tell them apart; \
                     leave one of them out, or fix its scale by a prior",
                    other.name(),
                    one.name(),
                    looks_at.join(", ")
                ));
            }
        }
        let factor = formula.fixed.terms.iter().find(|term| {
            let [variable] = term.variables.as_slice() else {
                return false;
            };
            match &variable.kind {
                Kind::Call(name, arguments) if name.ends_with("factor") => arguments
                    .first()
                    .is_some_and(|a| looks_at == [a.value.to_string()]),
                _ => false,
            }
        });
        if let Some(term) = factor {
            notes.push(format!(
                "`{}` and the fixed effects of `{}` stand for the same values: the component is not identified beside them; \
                 leave the factor out, since the component sums to zero beside the intercept",
                one.name(),
                term.variables[0]
            ));
        }
    }
}
