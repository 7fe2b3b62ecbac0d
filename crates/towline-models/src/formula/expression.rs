//! Arithmetic on columns: `log(base/4)`, `scale(x)`, `trt == "progabide"`.
//!
//! Functions of a whole column (`scale`, `center`, `mean`) take their constants from the data of the fit and keep
//! them, so that a prediction at new rows uses the same.

use super::parser::{Argument, Kind, Node, Operator};
use super::span::SyntaxError;
use crate::error::Error;
use crate::nearest::did_you_mean;
use crate::table::Table;
use std::collections::BTreeMap;

/// What an expression is compiled in: its text, for messages, and the data of the fit.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub text: &'a str,
    pub table: &'a Table,
    /// Columns that are standardised wherever they are used.
    pub standardise: &'a [String],
    /// The levels of factors for which an order was given.
    pub levels: &'a BTreeMap<String, Vec<String>>,
}

impl Context<'_> {
    /// A mistake at a node.
    pub fn error(&self, message: impl Into<String>, node: &Node) -> Error {
        SyntaxError::new(message, self.text, node.span).into()
    }

    /// A name that is no column: with the nearest that is.
    pub fn unknown(&self, name: &str, node: &Node) -> Error {
        let columns = self.table.headers().iter().map(String::as_str);
        let mut message = format!("{} has no column `{name}`", self.table.name());
        if let Some(hint) = did_you_mean(name, columns) {
            message += &format!("; {hint}");
        } else {
            message += &format!(": it has {}", crate::table::list(self.table.headers()));
        }
        self.error(message, node)
    }
}

/// Something that has a number for every row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    name: String,
    tree: Tree,
}

#[derive(Debug, Clone)]
enum Tree {
    Constant(f64),
    Column(String),
    /// Whether a column holds this text.
    Is {
        column: String,
        text: String,
        same: bool,
    },
    /// (a − shift) / scale.
    Affine {
        inside: Box<Tree>,
        shift: f64,
        scale: f64,
    },
    Apply(fn(f64) -> f64, Box<Tree>),
    Fold(fn(f64, f64) -> f64, Vec<Tree>),
}

impl Expression {
    /// Compiles a tree; constants of whole columns are taken from the context's table.
    pub fn compile(node: &Node, context: Context) -> Result<Self, Error> {
        Ok(Self {
            name: node.bare().to_string(),
            tree: compile(node, context)?,
        })
    }

    /// The expression as it is written, without spaces.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a table has all its columns.
    pub fn is_in(&self, table: &Table) -> bool {
        self.tree.is_in(table)
    }

    /// Its value in every row; each is a finite number.
    pub fn values(&self, table: &Table) -> Result<Vec<f64>, Error> {
        let values = self.tree.values(table)?;
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(row) => Err(Error::NotFinite {
                name: table.name().into(),
                line: table.line(row),
                expression: self.name.clone(),
                value: values[row],
            }),
        }
    }

    /// The same, standardised by the mean and standard deviation that it has in this table.
    pub fn standardised(self, table: &Table) -> Result<Self, Error> {
        let values = self.values(table)?;
        let (shift, scale) = (mean(&values), deviation(&values, 0.0));
        if scale <= 0.0 {
            return Err(Error::setting(
                self.name,
                "cannot be standardised: all its values are the same",
            ));
        }
        Ok(Self {
            tree: affine(self.tree, shift, scale),
            name: self.name,
        })
    }
}

impl Tree {
    fn is_in(&self, table: &Table) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Column(column) | Self::Is { column, .. } => table.has(column),
            Self::Affine { inside, .. } | Self::Apply(_, inside) => inside.is_in(table),
            Self::Fold(_, parts) => parts.iter().all(|part| part.is_in(table)),
        }
    }

    fn values(&self, table: &Table) -> Result<Vec<f64>, Error> {
        Ok(match self {
            Self::Constant(value) => vec![*value; table.rows()],
            Self::Column(name) => table.numbers(name)?,
            Self::Is { column, text, same } => table
                .complete(column)?
                .iter()
                .map(|value| f64::from(u8::from((value == text) == *same)))
                .collect(),
            Self::Affine {
                inside,
                shift,
                scale,
            } => {
                let mut values = inside.values(table)?;
                for value in &mut values {
                    *value = (*value - shift) / scale;
                }
                values
            }
            Self::Apply(function, inside) => {
                let mut values = inside.values(table)?;
                for value in &mut values {
                    *value = function(*value);
                }
                values
            }
            Self::Fold(function, parts) => {
                let mut parts = parts.iter();
                let mut values = match parts.next() {
                    Some(first) => first.values(table)?,
                    None => vec![0.0; table.rows()],
                };
                for part in parts {
                    for (value, other) in values.iter_mut().zip(part.values(table)?) {
                        *value = function(*value, other);
                    }
                }
                values
            }
        })
    }
}

fn affine(inside: Tree, shift: f64, scale: f64) -> Tree {
    Tree::Affine {
        inside: Box::new(inside),
        shift,
        scale,
    }
}

fn compile(node: &Node, context: Context) -> Result<Tree, Error> {
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
            .chain(SEVERAL.iter().map(|(known, _)| *known));
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

/// The mean of some numbers.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of some numbers, dividing by n − `less`.
pub(crate) fn deviation(values: &[f64], less: f64) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len() as f64 - less)).sqrt()
}

/// All names in a tree, functions left out.
pub(crate) fn names(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        Kind::Name(name) => out.push(name.clone()),
        Kind::Number(_) | Kind::Text(_) => {}
        Kind::Call(_, arguments) => arguments
            .iter()
            .for_each(|argument| names(&argument.value, out)),
        Kind::Binary(_, a, b) => {
            names(a, out);
            names(b, out);
        }
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => {
            names(inside, out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::parse;
    use super::*;

    fn evaluate(text: &str) -> Result<Vec<f64>, Error> {
        let table = Table::parse("d.csv", "x,trt,lat\n1,a,10\n2,b,20\n6,b,60\n")?;
        let context = Context {
            text,
            table: &table,
            standardise: &["lat".to_string()],
            levels: &BTreeMap::new(),
        };
        let node = parse(text)?;
        Expression::compile(&node, context)?.values(&table)
    }

    #[test]
    fn arithmetic_is_done_row_by_row() {
        assert_eq!(evaluate("x^2 - 1").unwrap(), [0.0, 3.0, 35.0]);
        assert_eq!(evaluate("max(x - 2, 0) / 4").unwrap(), [0.0, 0.0, 1.0]);
        assert_eq!(evaluate("(trt == \"b\") * x").unwrap(), [0.0, 2.0, 6.0]);
        assert_eq!(evaluate("x >= 2").unwrap(), [0.0, 1.0, 1.0]);
        assert_eq!(evaluate("-x + 2*pi - 2*pi").unwrap(), [-1.0, -2.0, -6.0]);
    }

    #[test]
    fn whole_columns_give_their_constants() {
        assert_eq!(evaluate("center(x)").unwrap(), [-2.0, -1.0, 3.0]);
        assert_eq!(evaluate("x - mean(x)").unwrap(), [-2.0, -1.0, 3.0]);
        let scaled = evaluate("scale(x)").unwrap();
        assert!((scaled.iter().map(|z| z * z).sum::<f64>() - 2.0).abs() < 1e-12);
        let standardised = evaluate("standardise(x)").unwrap();
        assert!((standardised.iter().map(|z| z * z).sum::<f64>() - 3.0).abs() < 1e-12);
        // `lat` is to be standardised wherever it is used.
        assert!((evaluate("lat").unwrap()[0] - standardised[0]).abs() < 1e-12);
    }

    #[test]
    fn constants_of_the_fit_serve_new_rows() {
        let table = Table::parse("d.csv", "x\n1\n3\n").unwrap();
        let text = "scale(x)";
        let context = Context {
            text,
            table: &table,
            standardise: &[],
            levels: &BTreeMap::new(),
        };
        let expression = Expression::compile(&parse(text).unwrap(), context).unwrap();
        let new = Table::parse("n.csv", "x\n2\n").unwrap();
        assert_eq!(expression.values(&new).unwrap(), [0.0]);
    }

    #[test]
    fn mistakes_are_pointed_at() {
        let at = |text: &str| match evaluate(text) {
            Err(Error::Syntax(error)) => (error.position(), error.message().to_string()),
            other => panic!("{other:?}"),
        };
        assert_eq!(at("log(y)").0, 4);
        assert!(at("lag(x)").1.contains("did you mean `log`?"));
        assert!(at("trt == \"bb\"").1.contains("did you mean `b`?"));
        assert_eq!(at("x + \"a\"").0, 4);
        assert!(at("max(x)").1.contains("two or more"));
        assert!(at("log(x, 2)").1.contains("one argument"));
    }

    #[test]
    fn a_logarithm_of_zero_is_named_by_its_line() {
        let error = evaluate("log(x - 2)").unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.contains("log(x-2)"),
            "{error}"
        );
        let error = evaluate("log(trt)").unwrap_err().to_string();
        assert!(
            error.contains("`trt` is `a`, which is not a number"),
            "{error}"
        );
    }
}
