//! `.` in a formula: all columns that the formula does not use otherwise.

use super::expression::names;
use super::parser::{Kind, Node, Operator};
use super::reader::Reader;
use super::span::SyntaxError;
use crate::component::is_component;

/// The most columns that `.` stands for: it bounds the depth of the tree, and so of the stack.
const MOST: usize = 200;

/// Puts the sum of the unused columns where `.` stands, and returns them; nothing where there is no `.`.
///
/// Left out are the columns of the response, of offsets and of groups: R keeps the last two, which makes a group's column a
/// fixed effect too.
pub(super) fn expand(
    tree: &mut Node,
    columns: Option<&[String]>,
    reader: &Reader,
) -> Result<Option<Vec<String>>, SyntaxError> {
    let Some(at) = find(tree) else {
        return Ok(None);
    };
    let Some(columns) = columns else {
        return Ok(None);
    };
    let mut used = Vec::new();
    elsewhere(tree, true, &mut used);
    let free: Vec<String> = columns
        .iter()
        .filter(|column| !used.contains(column))
        .cloned()
        .collect();
    let place = at.clone();
    if free.len() > MOST {
        let count = free.len();
        return Err(reader.error(
            format!("`.` would stand for {count} columns, more than {MOST}: name the covariates"),
            &place,
        ));
    }
    let Some((first, rest)) = free.split_first() else {
        return Err(reader.error("no column is left for `.` to stand for", &place));
    };
    let name = |name: &String| Node {
        kind: Kind::Name(name.clone()),
        span: place.span,
    };
    let sum = rest.iter().fold(name(first), |sum, next| Node {
        kind: Kind::Binary(Operator::Plus, Box::new(sum), Box::new(name(next))),
        span: place.span,
    });
    let sum = Node {
        kind: Kind::Bracketed(Box::new(sum)),
        span: place.span,
    };
    replace(tree, &sum);
    Ok(Some(free))
}

fn is_dot(node: &Node) -> bool {
    matches!(&node.kind, Kind::Name(name) if name == ".")
}

fn find(node: &Node) -> Option<&Node> {
    match &node.kind {
        Kind::Name(_) if is_dot(node) => Some(node),
        Kind::Binary(_, a, b) => find(a).or_else(|| find(b)),
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => find(inside),
        _ => None,
    }
}

fn replace(node: &mut Node, sum: &Node) {
    if is_dot(node) {
        *node = sum.clone();
        return;
    }
    match &mut node.kind {
        Kind::Binary(_, a, b) => {
            replace(a, sum);
            replace(b, sum);
        }
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => {
            replace(inside, sum);
        }
        _ => {}
    }
}

/// The columns of the response, of offsets and of groups.
fn elsewhere(node: &Node, top: bool, out: &mut Vec<String>) {
    match &node.kind {
        Kind::Binary(Operator::Tilde, left, right) if top => {
            names(left, out);
            elsewhere(right, false, out);
        }
        Kind::Binary(Operator::Bar | Operator::DoubleBar, _, by) => names(by, out),
        Kind::Call(name, _) if name == "offset" || is_component(name) => names(node, out),
        Kind::Binary(_, a, b) => {
            elsewhere(a, false, out);
            elsewhere(b, false, out);
        }
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => {
            elsewhere(inside, false, out);
        }
        _ => {}
    }
}
