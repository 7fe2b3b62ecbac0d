//! From the tree of a text to arithmetic on columns: which functions there are, and what they need.

use super::arguments::{bind, constant};
use super::expression::{Context, Tree, affine, deviation, mean};
use super::factor::FACTORS;
use super::parser::{Argument, Kind, Node, Operator};
use super::variable::BASES;
use crate::component::{component_names, is_component};
use crate::error::Error;
use crate::nearest::did_you_mean;

/// Compiles a tree.
pub(super) fn compile(node: &Node, context: Context) -> Result<Tree, Error> {
    match &node.kind {
        Kind::Number(number) => Ok(Tree::Constant(*number)),
        Kind::Bracketed(inside) => compile(inside, context),
        Kind::Minus(inside) => Ok(Tree::Apply(|a| -a, Box::new(compile(inside, context)?))),
        Kind::Name(name) if context.table.has(name) => {
            let column = Tree::Column(name.clone());
            if !context.standardise.contains(name) {
                return Ok(column);
            }
            let values = column.values(context.table)?;
            let (shift, scale) = (mean(&values), deviation(&values, 0.0));
            if scale <= 0.0 {
                return Err(context.error(
                    format!("`{name}` cannot be standardised: all its values are the same"),
                    node,
                ));
            }
            Ok(affine(column, shift, scale))
        }
        Kind::Name(name) if name == "pi" => Ok(Tree::Constant(std::f64::consts::PI)),
        Kind::Name(name) => Err(context.unknown(name, node)),
        Kind::Text(_) => Err(context.error(
            "text can only be compared with a column, as in `trt == \"placebo\"`",
            node,
        )),
        Kind::Binary(operator, a, b) => binary(*operator, a, b, node, context),
        Kind::Call(name, arguments) => call(name, arguments, node, context),
        Kind::OneSided(_) => Err(context.error("`~` has no place in arithmetic", node)),
    }
}

fn binary(
    operator: Operator,
    a: &Node,
    b: &Node,
    node: &Node,
    context: Context,
) -> Result<Tree, Error> {
    if let (Operator::Equal | Operator::NotEqual, Kind::Name(name), Kind::Text(text)) =
        (operator, &a.bare().kind, &b.bare().kind)
    {
        if !context.table.has(name) {
            return Err(context.unknown(name, a));
        }
        let levels = context.table.levels(name)?;
        // Compared with a text that no row has, a column would be constant: a slip, nearly always.
        if !levels.contains(text) {
            let mut message = format!("no row has `{name}` equal to \"{text}\"");
            if let Some(hint) = did_you_mean(text, levels.iter().map(String::as_str)) {
                message += &format!("; {hint}");
            }
            return Err(context.error(message, b));
        }
        return Ok(Tree::Is {
            column: name.clone(),
            text: text.clone(),
            same: operator == Operator::Equal,
        });
    }
    let function: fn(f64, f64) -> f64 = match operator {
        Operator::Plus => |a, b| a + b,
        Operator::Minus => |a, b| a - b,
        Operator::Times => |a, b| a * b,
        Operator::Over => |a, b| a / b,
        Operator::Power => power,
        Operator::Equal => |a, b| f64::from(u8::from(a == b)),
        Operator::NotEqual => |a, b| f64::from(u8::from(a != b)),
        Operator::Less => |a, b| f64::from(u8::from(a < b)),
        Operator::LessEqual => |a, b| f64::from(u8::from(a <= b)),
        Operator::More => |a, b| f64::from(u8::from(a > b)),
        Operator::MoreEqual => |a, b| f64::from(u8::from(a >= b)),
        Operator::Tilde | Operator::Bar | Operator::DoubleBar | Operator::Colon => {
            return Err(context.error(
                format!("`{}` has no meaning in arithmetic", operator.sign()),
                node,
            ));
        }
    };
    Ok(Tree::Fold(
        function,
        vec![compile(a, context)?, compile(b, context)?],
    ))
}

/// Whole powers by multiplication, so that squares of numbers are exact.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent.fract() == 0.0 && exponent.abs() <= 32.0 {
        base.powi(exponent as i32)
    } else {
        base.powf(exponent)
    }
}

type Plain = fn(f64) -> f64;
type Fold = fn(f64, f64) -> f64;

/// `log(x, base)`: to the bases 2 and 10 as exactly as `log2` and `log10`.
fn logarithm(arguments: &[Argument], node: &Node, context: Context) -> Result<Tree, Error> {
    let bound = bind("log", &["x", "base"], arguments, node, context)?;
    let inside = compile(bound.needed("x")?, context)?;
    let base = bound.needed("base")?;
    let function = match constant(base) {
        Some(2.0) => f64::log2,
        Some(10.0) => f64::log10,
        Some(number) if number > 0.0 && number != 1.0 => {
            let parts = vec![inside, Tree::Constant(number)];
            return Ok(Tree::Fold(|a, b| a.ln() / b.ln(), parts));
        }
        _ => {
            return Err(context.error("the base is a number above zero other than 1", base));
        }
    };
    Ok(Tree::Apply(function, Box::new(inside)))
}

/// Functions of one number.
const PLAIN: [(&str, Plain); 14] = [
    ("I", |a| a),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("log10", f64::log10),
    ("log1p", f64::ln_1p),
    ("exp", f64::exp),
    ("sqrt", f64::sqrt),
    ("abs", f64::abs),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("floor", f64::floor),
    ("logit", |p| (p / (1.0 - p)).ln()),
    ("as.numeric", |a| a),
];

/// Functions whose constants come from the whole column.
const WHOLE: [&str; 7] = [
    "center",
    "centre",
    "scale",
    "standardise",
    "standardize",
    "mean",
    "sd",
];

/// The least or the greatest of several numbers in a row.
const SEVERAL: [(&str, Fold); 4] = [
    ("min", f64::min),
    ("pmin", f64::min),
    ("max", f64::max),
    ("pmax", f64::max),
];

fn call(name: &str, arguments: &[Argument], node: &Node, context: Context) -> Result<Tree, Error> {
    if BASES.contains(&name) || FACTORS.contains(&name) {
        return Err(context.error(
            format!(
                "{name}() makes several columns: it is a term of its own, no part of arithmetic"
            ),
            node,
        ));
    }
    if is_component(name) {
        return Err(context.error(
            format!("{name}() is a component: a term of its own, no part of arithmetic"),
            node,
        ));
    }
    if name == "log" && arguments.len() > 1 {
        return logarithm(arguments, node, context);
    }
    if let Some(named) = arguments.iter().find(|argument| argument.name.is_some()) {
        return Err(context.error("arguments have no names here", &named.value));
    }
    if let Some((_, function)) = SEVERAL.iter().find(|(known, _)| *known == name) {
        if arguments.len() < 2 {
            return Err(context.error(
                format!("{name} takes the {name} of two or more numbers in each row: {name}(x, 0)"),
                node,
            ));
        }
        let parts = arguments
            .iter()
            .map(|argument| compile(&argument.value, context))
            .collect::<Result<_, _>>()?;
        return Ok(Tree::Fold(*function, parts));
    }
    let plain = PLAIN.iter().find(|(known, _)| *known == name);
    if plain.is_none() && !WHOLE.contains(&name) {
        let known = PLAIN.iter().map(|(known, _)| *known);
        let known = known
            .chain(WHOLE)
            .chain(SEVERAL.iter().map(|(known, _)| *known))
            .chain(BASES)
            .chain(FACTORS)
            .chain(component_names());
        let hint = did_you_mean(name, known).map_or(String::new(), |hint| format!("; {hint}"));
        return Err(context.error(
            format!("`{name}` is no function that is known here{hint}"),
            node,
        ));
    }
    let [argument] = arguments else {
        return Err(context.error(format!("{name} takes one argument"), node));
    };
    let inside = compile(&argument.value, context)?;
    if let Some((_, function)) = plain {
        return Ok(Tree::Apply(*function, Box::new(inside)));
    }
    let values = inside.values(context.table)?;
    let mean = mean(&values);
    // `scale` divides by n − 1 as R's does, `standardise` by n.
    let sd = deviation(
        &values,
        if name.starts_with("standardi") {
            0.0
        } else {
            1.0
        },
    );
    let sd_is_needed = !matches!(name, "center" | "centre" | "mean");
    if !mean.is_finite() || (sd_is_needed && !(sd > 0.0 && sd.is_finite())) {
        return Err(context.error(
            format!("{name} needs finite values that are not all the same"),
            node,
        ));
    }
    Ok(match name {
        "mean" => Tree::Constant(mean),
        "sd" => Tree::Constant(sd),
        "center" | "centre" => affine(inside, mean, 1.0),
        _ => affine(inside, mean, sd),
    })
}

/// The functions of numbers by name, for the reference page.
pub(crate) fn functions() -> Vec<&'static str> {
    let plain = PLAIN.iter().map(|(name, _)| *name);
    let several = SEVERAL.iter().map(|(name, _)| *name);
    plain.chain(WHOLE).chain(several).collect()
}
