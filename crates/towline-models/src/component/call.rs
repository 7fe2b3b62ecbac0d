//! A function of formulas that makes a component: its arguments, and what it may ask of the model around it.

use super::{
    Component, ComponentRows, Input, Labelled, Point, Replicated, Rows, Structure, product,
};
use crate::defaults::{self, Unit};
use crate::error::Error;
use crate::formula::{Bound, Context, Expression, Factor, Kind, Node, bind};
use crate::nearest::did_you_mean;
use crate::parameter::Value;
use crate::resolve::{Chooser, Natural};
use crate::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A function by its name.
pub(crate) struct Function {
    pub name: &'static str,
    /// The names of its arguments; `by` is added to all that may be replicated.
    pub arguments: &'static [&'static str],
    /// The arguments whose columns are among the fixed effects too: what the component leaves open. Products of several are
    /// written as lists.
    pub fixed: &'static [&'static [&'static str]],
    pub build: fn(&mut Call) -> Result<Built, Error>,
}

/// What a function makes.
pub(crate) struct Built {
    pub structure: Arc<dyn Structure>,
    pub inputs: Inputs,
    /// The names of what is reported.
    pub levels: Vec<String>,
    pub effects: Vec<String>,
}

/// What a component looks at in a row.
#[derive(Debug, Clone)]
pub(crate) enum Inputs {
    Numbers(Vec<Expression>),
    /// A column of names.
    Level(String),
    /// What the factors of a product look at.
    Pair(Box<[Inputs; 2]>),
}

impl Inputs {
    /// The names of what is looked at.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Numbers(inputs) => inputs.iter().map(|i| i.name().to_string()).collect(),
            Self::Level(column) => vec![column.clone()],
            Self::Pair(both) => both.iter().flat_map(Self::names).collect(),
        }
    }

    /// What every row of a table has of them.
    fn values<'a>(&self, table: &'a Table) -> Result<Values<'a>, Error> {
        Ok(match self {
            Self::Numbers(inputs) => {
                let columns = inputs
                    .iter()
                    .map(|one| one.values(table))
                    .collect::<Result<Vec<_>, _>>()?;
                let row = |row: usize| columns.iter().map(|c| c[row]).collect();
                Values::Numbers((0..table.rows()).map(row).collect())
            }
            Self::Level(column) => Values::Levels(table.complete(column)?),
            Self::Pair(both) => {
                Values::Pair(Box::new([both[0].values(table)?, both[1].values(table)?]))
            }
        })
    }
}

/// What every row has of a component's inputs.
enum Values<'a> {
    Numbers(Vec<Vec<f64>>),
    Levels(&'a [String]),
    Pair(Box<[Values<'a>; 2]>),
}

impl Values<'_> {
    /// Hands a row to `f`.
    fn with<T>(&self, row: usize, f: &dyn Fn(Input) -> T) -> T {
        match self {
            Self::Numbers(rows) => f(Input::Numbers(&rows[row])),
            Self::Levels(names) => f(Input::Level(&names[row])),
            Self::Pair(both) => both[0].with(row, &|first| {
                both[1].with(row, &|second| f(Input::Pair(&first, &second)))
            }),
        }
    }
}

/// A call in a formula, as it is made into a component.
pub(crate) struct Call<'a, 'b, 'c> {
    pub bound: Bound<'a>,
    pub node: &'a Node,
    pub context: Context<'a>,
    /// What its parameters are called after.
    pub name: String,
    pub unit: Unit,
    pub chooser: &'b mut Chooser<'c>,
    pub notes: &'b mut Vec<String>,
    /// Where files are looked for that are not here.
    pub folder: PathBuf,
    /// Whether it is a factor of a product, which has the standard deviation: its own is one.
    pub factor: bool,
}

impl Call<'_, '_, '_> {
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.context.error(message, self.node)
    }

    /// The columns of numbers that some arguments are.
    pub fn numbers(&self, arguments: &[&str]) -> Result<Vec<Expression>, Error> {
        arguments
            .iter()
            .map(|name| Expression::compile(self.bound.needed(name)?, self.context))
            .collect()
    }

    /// The column of names that an argument is.
    pub fn column(&self, argument: &str) -> Result<String, Error> {
        let node = self.bound.needed(argument)?;
        match &node.bare().kind {
            Kind::Name(name) if self.context.table.has(name) => Ok(name.clone()),
            Kind::Name(name) => Err(self.context.unknown(name, node)),
            _ => Err(self
                .context
                .error("this must be the name of a column", node)),
        }
    }

    /// Text in quotes, one of a few words; the first of them where it is not given.
    pub fn word(&self, argument: &str, words: &[&'static str]) -> Result<&'static str, Error> {
        let Some(node) = self.bound.get(argument) else {
            return Ok(words[0]);
        };
        let text = match &node.bare().kind {
            Kind::Text(text) => text.as_str(),
            _ => "",
        };
        let known = words.iter().find(|word| **word == text);
        known.copied().ok_or_else(|| {
            let quoted: Vec<String> = words.iter().map(|w| format!("\"{w}\"")).collect();
            let hint = did_you_mean(text, words.iter().copied())
                .map_or(String::new(), |hint| format!("; {hint}"));
            let message = format!("`{argument}` is {}{hint}", quoted.join(" or "));
            self.context.error(message, node)
        })
    }

    /// The path of a file: as it is given, or from the data's folder.
    pub fn file(&self, argument: &str) -> Result<PathBuf, Error> {
        let node = self.bound.needed(argument)?;
        let Kind::Text(text) = &node.bare().kind else {
            let message = format!("`{argument}` is the name of a file, in quotes");
            return Err(self.context.error(message, node));
        };
        let beside = self.folder.join(text);
        Ok(if !Path::new(text).exists() && beside.exists() {
            beside
        } else {
            PathBuf::from(text)
        })
    }

    /// A slow parameter called `what_name`.
    pub fn parameter(
        &mut self,
        what: &str,
        default: defaults::Reasoned,
        natural: Natural,
    ) -> Result<Value, Error> {
        let name = format!("{what}_{}", self.name);
        self.chooser.value(&name, &[what], default, natural)
    }

    /// The standard deviation of a component whose typical variance is one at sd = 1.
    pub fn sd(&mut self) -> Result<Value, Error> {
        if self.factor {
            return Ok(Value::Fixed(1.0));
        }
        self.parameter("sd", defaults::component(self.unit), Natural::Positive)
    }
}

/// A component of a formula: how rows of a table enter it, the same for new rows as for the fitted.
#[derive(Debug, Clone)]
pub(crate) struct Entered {
    name: String,
    structure: Arc<dyn Structure>,
    inputs: Inputs,
    by: Option<Factor>,
    labels: Labelled,
    /// The factors, where it is a product.
    pub sides: Option<[Side; 2]>,
}

/// A factor of a product, for what should be known of the product.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    /// As it was written.
    pub call: String,
    pub looks_at: Vec<String>,
    pub intrinsic: bool,
}

impl Entered {
    /// Makes the component of a call.
    pub fn compile(function: &Function, mut call: Call) -> Result<Self, Error> {
        let by = call
            .bound
            .get("by")
            .map(|node| Factor::compile(std::slice::from_ref(node), call.context))
            .transpose()?;
        let built = (function.build)(&mut call)?;
        Ok(Self::of(call.name, built, by))
    }

    /// Makes the product of what two calls made, with a standard deviation of its own.
    pub fn product(
        name: String,
        sd: Value,
        [(first, one), (second, other)]: [(Built, Side); 2],
        by: Option<Factor>,
    ) -> Result<Self, Error> {
        let product = product::build(&name, first, second, sd)?;
        Ok(Self {
            sides: Some([one, other]),
            ..Self::of(name, product, by)
        })
    }

    fn of(name: String, built: Built, by: Option<Factor>) -> Self {
        let mut labels = Labelled {
            levels: built.levels,
            effects: built.effects,
        };
        let structure = match &by {
            None => built.structure,
            Some(factor) => {
                let of = |group: &String| {
                    let levels = labels.levels.iter();
                    levels
                        .map(|level| format!("{level},{group}"))
                        .collect::<Vec<_>>()
                };
                let levels = factor.levels.iter().flat_map(of).collect();
                labels.levels = levels;
                Arc::new(Replicated::new(built.structure, factor.levels.len()))
            }
        };
        Self {
            name,
            structure,
            inputs: built.inputs,
            by,
            labels,
            sides: None,
        }
    }

    /// Where each row of a table lies.
    pub fn points(&self, table: &Table) -> Result<Vec<Point>, Error> {
        let replicates = match &self.by {
            None => None,
            Some(factor) => Some((
                factor.codes(table)?,
                self.structure.nodes().count / factor.levels.len().max(1),
            )),
        };
        let at = |row: usize, input: Input| -> Result<Point, Error> {
            let at_row = |error: Error| {
                let place = format!("{}, line {}", table.name(), table.line(row));
                Error::setting(place, error.to_string())
            };
            let point = self.structure.locate(input).map_err(at_row)?;
            let Some((codes, size)) = &replicates else {
                return Ok(point);
            };
            let Some(group) = codes[row] else {
                return Err(at_row(Error::model(format!(
                    "`{}` has nothing to say of a level of its `by` that was not fitted",
                    self.name
                ))));
            };
            Ok(Replicated::moved(point, group, *size))
        };
        let values = self.inputs.values(table)?;
        (0..table.rows())
            .map(|row| values.with(row, &|input| at(row, input)))
            .collect()
    }

    /// The component with the rows of the fitted table.
    pub fn component(&self, table: &Table) -> Result<Component, Error> {
        let mut rows = Rows::default();
        for point in self.points(table)? {
            match point {
                Point::Nodes(nodes) => rows.push(nodes),
                Point::Fresh(_) => {
                    return Err(Error::model(format!(
                        "a fitted row lies beside the nodes of `{}`",
                        self.name
                    )));
                }
            }
        }
        Ok(Component {
            name: self.name.clone(),
            structure: self.structure.clone(),
            rows,
            labels: self.labels.clone(),
        })
    }

    /// What two components have in common if they cannot be told apart: their inputs.
    pub fn looks_at(&self) -> Vec<String> {
        let mut names = self.inputs.names();
        if self.sides.is_some() {
            // A product is the same in either order.
            names.sort();
        }
        names.extend(self.by.iter().map(|by| by.name.clone()));
        names
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of two inputs in a plane and their values, where the component has a surface there.
    pub fn plane(&self, table: &Table) -> Result<Option<Plane>, Error> {
        let (Inputs::Numbers(inputs), None) = (&self.inputs, &self.by) else {
            return Ok(None);
        };
        let [x, y] = inputs.as_slice() else {
            return Ok(None);
        };
        let names = [x, y].map(|input| input.name().to_string());
        Ok(Some((names, [x.values(table)?, y.values(table)?])))
    }

    /// Where places in that plane lie.
    pub fn at_places(&self, places: &[(f64, f64)]) -> Result<ComponentRows, Error> {
        let at = |(x, y): &(f64, f64)| self.structure.locate(Input::Numbers(&[*x, *y]));
        let points = places.iter().map(at).collect::<Result<_, _>>()?;
        Ok(ComponentRows { points })
    }
}

/// The names of two inputs, and the values of both.
type Plane = ([String; 2], [Vec<f64>; 2]);

/// Matches the arguments of a call of a component.
pub(crate) fn bind_call<'a>(
    function: &'static Function,
    node: &'a Node,
    context: Context<'a>,
) -> Result<Bound<'a>, Error> {
    let Kind::Call(_, arguments) = &node.kind else {
        return Err(context.error("a component is a function", node));
    };
    bind(function.name, function.arguments, arguments, node, context)
}

/// What a call's parameters are called after: `rw1_t`, `ar1_t_g`.
pub(crate) fn name_of(function: &Function, bound: &Bound) -> String {
    let mut name = function.name.to_string();
    for argument in function.arguments {
        if ["x", "y", "t", "id", "by"].contains(argument)
            && let Some(node) = bound.get(argument)
        {
            name += &format!("_{}", node.bare());
        }
    }
    name
}
