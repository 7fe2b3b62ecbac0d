//! Products of two components in a formula: `areal(district, graph = "edges.csv"):rw1(year)`.

use super::components::function;
use super::design::Design;
use super::prior::{Chooser, Natural};
use crate::component::{Built, Call, Entered, Side, bind_call, name_of};
use crate::defaults::{self, Unit};
use crate::error::Error;
use crate::formula::{Context, Factor, Formula, Node, names};
use std::path::Path;

/// Makes a product of two calls.
pub(super) fn compile(
    node: &Node,
    calls: [&Node; 2],
    context: Context,
    unit: Unit,
    chooser: &mut Chooser,
    notes: &mut Vec<String>,
    folder: &Path,
) -> Result<Entered, Error> {
    let mut called = Vec::new();
    let mut by: Option<&Node> = None;
    for call in calls {
        let Some(function) = function(call) else {
            return Err(context.error("this is no factor of a product", call));
        };
        let bound = bind_call(function, call, context)?;
        called.push(name_of(function, &bound));
        if let Some(other) = bound.get("by") {
            let twice = by.filter(|by| by.to_string() != other.to_string());
            if twice.is_some() {
                return Err(context.error(
                    "a product is replicated as a whole: give `by` once, or the same on both sides",
                    other,
                ));
            }
            by = Some(other);
        }
    }
    let name = called.join("_");
    let sd = chooser.value(
        &format!("sd_{name}"),
        &["sd"],
        defaults::component(unit),
        Natural::Positive,
    )?;
    let mut sides: Vec<(Built, Side)> = Vec::new();
    for (k, call) in calls.into_iter().enumerate() {
        let Some(function) = function(call) else {
            continue;
        };
        let mut own = Vec::new();
        let mut made = Call {
            bound: bind_call(function, call, context)?,
            node: call,
            context,
            // Its own name first: both factors may have a parameter of one name.
            name: format!("{}_{}", called[k], called[1 - k]),
            unit: Unit {
                unit: 1.0,
                centre: 0.0,
            },
            chooser: &mut *chooser,
            notes: &mut own,
            folder: folder.to_path_buf(),
            factor: true,
        };
        let built = (function.build)(&mut made)?;
        // A graph has been spoken of where it is a main effect too.
        own.retain(|note| !notes.contains(note));
        notes.append(&mut own);
        let side = Side {
            call: call.to_string(),
            looks_at: built.inputs.names(),
            intrinsic: !built.structure.nodes().null.is_empty(),
        };
        sides.push((built, side));
    }
    let Ok([(first, one), (second, other)]) = <[(Built, Side); 2]>::try_from(sides) else {
        return Err(context.error("a product has two factors", node));
    };
    if let Some(shared) = one.looks_at.iter().find(|n| other.looks_at.contains(n)) {
        return Err(context.error(
            format!(
                "both factors look at `{shared}`: a product is of two different things, such as areas and times; by itself, \
                 {} is added without the other",
                one.call
            ),
            node,
        ));
    }
    let by = by
        .map(|by| Factor::compile(std::slice::from_ref(by), context))
        .transpose()?;
    Entered::product(name, sd, [(first, one), (second, other)], by)
}

/// Says where a product lacks what its factors hold at zero: nothing else in the model stands for it.
pub(super) fn note_levels(design: &Design, formula: &Formula, notes: &mut Vec<String>) {
    for product in &design.components {
        let Some(sides) = &product.sides else {
            continue;
        };
        for (side, other) in [(&sides[0], &sides[1]), (&sides[1], &sides[0])] {
            if !other.intrinsic {
                continue;
            }
            let wanted = &side.looks_at;
            let others = design.components.iter().filter(|c| c.sides.is_none());
            let known = others.map(Entered::looks_at).any(|l| l == *wanted)
                || design
                    .inputs
                    .iter()
                    .map(|i| i.name())
                    .eq(wanted.iter().map(String::as_str))
                || design
                    .groups
                    .iter()
                    .any(|g| *wanted == [g.factor.name.clone()])
                || formula.fixed.terms.iter().any(|term| {
                    let mut columns = term.key();
                    term.variables.iter().for_each(|v| names(v, &mut columns));
                    wanted.iter().all(|name| columns.contains(name))
                });
            if !known {
                notes.push(format!(
                    "`{}` sums to zero along {}: effects of {} that stay the same there are not part of it; add {} beside the \
                     product unless there are none",
                    product.name(),
                    other.looks_at.join(", "),
                    wanted.join(", "),
                    side.call
                ));
            }
        }
    }
}
