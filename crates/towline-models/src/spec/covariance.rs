//! Covariances as text: sums and products of functions by name, `constant(2) + squared_exponential_ard`.
//!
//! A number in brackets fixes the standard deviation, a named one (`length = 100`) another parameter, names of inputs
//! say which of them the function looks at; whatever is not fixed is sampled. In a product only the first function has a
//! standard deviation of its own, since only the product of them could be learned.

use crate::error::Error;
use crate::formula::{Kind, Node, Operator, SyntaxError, parse};
use crate::nearest::did_you_mean;

/// A covariance function by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KernelKind {
    /// exp(−d²/2ℓ²).
    SquaredExponential,
    /// exp(−d/ℓ), the exponential.
    Matern12,
    /// (1 + √3 d/ℓ) exp(−√3 d/ℓ).
    Matern32,
    /// (1 + √5 d/ℓ + 5d²/3ℓ²) exp(−√5 d/ℓ).
    Matern52,
    /// exp(−(d/ℓ)^power).
    PoweredExponential,
    /// (1 + d²/(2 mix ℓ²))^−mix.
    RationalQuadratic,
    /// The inner product of the inputs.
    Linear,
    /// 1 everywhere.
    Constant,
    /// 1 where the two points are the same, 0 elsewhere.
    Nugget,
}

/// What is known of a parameter before data are seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Given {
    Fixed(f64),
    Free,
}

/// A covariance function with what is known of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KernelSpec {
    /// Which.
    pub kind: KernelKind,
    /// Whether every input has a length scale of its own.
    pub ard: bool,
    /// The inputs it looks at, by their places among the process's.
    pub inputs: Vec<usize>,
    /// `sd`, `length`, `mix`, `power`, in this order, those that the function has.
    pub(crate) parameters: Vec<(&'static str, Given)>,
}

/// Sums and products of covariance functions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CovarianceTree {
    /// One function.
    Kernel(KernelSpec),
    /// A sum.
    Sum(Vec<CovarianceTree>),
    /// A product.
    Product(Vec<CovarianceTree>),
}

/// Every name, and what it stands for; those that end in `_ard` are added when they are looked up.
const NAMES: [(&str, KernelKind); 14] = [
    ("squared_exponential", KernelKind::SquaredExponential),
    ("gaussian", KernelKind::SquaredExponential),
    ("rbf", KernelKind::SquaredExponential),
    ("exponential", KernelKind::Matern12),
    ("matern12", KernelKind::Matern12),
    ("matern32", KernelKind::Matern32),
    ("matern52", KernelKind::Matern52),
    ("powered_exponential", KernelKind::PoweredExponential),
    ("rational_quadratic", KernelKind::RationalQuadratic),
    ("linear", KernelKind::Linear),
    ("constant", KernelKind::Constant),
    ("nugget", KernelKind::Nugget),
    ("white", KernelKind::Nugget),
    ("matern", KernelKind::Matern32),
];

impl KernelKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Matern12 => "exponential",
            kind => {
                let known = NAMES.iter().find(|(_, other)| *other == kind);
                known.map_or("", |(name, _)| name)
            }
        }
    }

    pub(crate) fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Constant | Self::Nugget | Self::Linear => &["sd"],
            Self::PoweredExponential => &["sd", "length", "power"],
            Self::RationalQuadratic => &["sd", "length", "mix"],
            _ => &["sd", "length"],
        }
    }
}

/// The names of all functions.
pub(crate) fn covariance_names() -> Vec<&'static str> {
    NAMES.iter().map(|(name, _)| *name).collect()
}

/// Reads a covariance over inputs of these names.
pub(crate) fn parse_covariance(text: &str, inputs: &[String]) -> Result<CovarianceTree, Error> {
    let node = parse(text)?;
    let reader = Reader { text, inputs };
    let mut tree = reader.tree(&node)?;
    settle_products(&mut tree, true);
    Ok(tree)
}

struct Reader<'a> {
    text: &'a str,
    inputs: &'a [String],
}

impl Reader<'_> {
    fn error(&self, message: impl Into<String>, node: &Node) -> Error {
        SyntaxError::new(message, self.text, node.span).into()
    }

    fn tree(&self, node: &Node) -> Result<CovarianceTree, Error> {
        match &node.kind {
            Kind::Bracketed(inside) => self.tree(inside),
            Kind::Binary(Operator::Plus, a, b) => {
                let parts = [self.tree(a)?, self.tree(b)?];
                Ok(CovarianceTree::Sum(joined(parts, |tree| match tree {
                    CovarianceTree::Sum(parts) => Ok(parts),
                    other => Err(other),
                })))
            }
            Kind::Binary(Operator::Times, a, b) => {
                let parts = [self.tree(a)?, self.tree(b)?];
                Ok(CovarianceTree::Product(joined(parts, |tree| match tree {
                    CovarianceTree::Product(parts) => Ok(parts),
                    other => Err(other),
                })))
            }
            Kind::Name(name) => self.kernel(name, &[], node),
            Kind::Call(name, arguments) => {
                let arguments: Vec<(Option<&str>, &Node)> = arguments
                    .iter()
                    .map(|argument| (argument.name.as_deref(), &argument.value))
                    .collect();
                self.kernel(name, &arguments, node)
            }
            _ => Err(self.error(
                "a covariance is a sum or product of covariance functions",
                node,
            )),
        }
    }

    fn kernel(
        &self,
        name: &str,
        arguments: &[(Option<&str>, &Node)],
        node: &Node,
    ) -> Result<CovarianceTree, Error> {
        let plain = name.to_lowercase();
        let (stem, ard) = match plain.strip_suffix("_ard") {
            Some(stem) => (stem, true),
            None => (plain.as_str(), false),
        };
        let Some((_, kind)) = NAMES.iter().find(|(known, _)| *known == stem) else {
            let known = NAMES.iter().map(|(known, _)| *known);
            let hint = did_you_mean(stem, known.clone())
                .unwrap_or_else(|| format!("known are {}", known.collect::<Vec<_>>().join(", ")));
            return Err(self.error(format!("`{name}` is no covariance function; {hint}"), node));
        };
        let kind = *kind;
        let names = kind.parameters();
        if ard && !names.contains(&"length") {
            return Err(self.error(format!("{stem} has no length scales to tell apart"), node));
        }
        let mut spec = KernelSpec {
            kind,
            ard,
            inputs: Vec::new(),
            parameters: names.iter().map(|name| (*name, Given::Free)).collect(),
        };
        for (argument, value) in arguments {
            match (argument, &value.bare().kind) {
                (None, Kind::Name(input)) => {
                    let at = self.inputs.iter().position(|known| known == input);
                    let Some(at) = at else {
                        let inputs = self.inputs.iter().map(String::as_str);
                        let hint = did_you_mean(input, inputs)
                            .unwrap_or_else(|| format!("they are {}", self.inputs.join(", ")));
                        return Err(
                            self.error(format!("`{input}` is none of the inputs; {hint}"), value)
                        );
                    };
                    spec.inputs.push(at);
                }
                (None, Kind::Number(number)) => self.fix(&mut spec, "sd", *number, value)?,
                (Some(parameter), Kind::Number(number)) => {
                    self.fix(&mut spec, parameter, *number, value)?;
                }
                _ => {
                    return Err(
                        self.error("a number or the name of an input is needed here", value)
                    );
                }
            }
        }
        if spec.inputs.is_empty() {
            spec.inputs = (0..self.inputs.len()).collect();
        }
        Ok(CovarianceTree::Kernel(spec))
    }

    fn fix(&self, spec: &mut KernelSpec, name: &str, value: f64, node: &Node) -> Result<(), Error> {
        let kind = spec.kind;
        let Some((_, given)) = spec.parameters.iter_mut().find(|(known, _)| *known == name) else {
            return Err(self.error(
                format!(
                    "{} has no `{name}`; it has {}",
                    kind.name(),
                    kind.parameters().join(", ")
                ),
                node,
            ));
        };
        let fits = value > 0.0 && value.is_finite() && (name != "power" || value <= 2.0);
        if !fits {
            let range = if name == "power" {
                "above 0, at most 2"
            } else {
                "above 0"
            };
            return Err(self.error(format!("`{name}` must be {range}"), node));
        }
        *given = Given::Fixed(value);
        Ok(())
    }
}

/// The parts of two trees in one list, where they are of the kind that `take` takes apart.
fn joined(
    parts: [CovarianceTree; 2],
    take: impl Fn(CovarianceTree) -> Result<Vec<CovarianceTree>, CovarianceTree>,
) -> Vec<CovarianceTree> {
    parts
        .into_iter()
        .flat_map(|part| take(part).unwrap_or_else(|other| vec![other]))
        .collect()
}

/// Fixes at 1 the standard deviations that only occur multiplied with another.
fn settle_products(tree: &mut CovarianceTree, free: bool) {
    match tree {
        CovarianceTree::Kernel(spec) => {
            for (name, given) in &mut spec.parameters {
                if *name == "sd" && *given == Given::Free && !free {
                    *given = Given::Fixed(1.0);
                }
            }
        }
        CovarianceTree::Sum(parts) => parts
            .iter_mut()
            .for_each(|part| settle_products(part, free)),
        CovarianceTree::Product(parts) => {
            for (k, part) in parts.iter_mut().enumerate() {
                settle_products(part, free && k == 0);
            }
        }
    }
}

impl CovarianceTree {
    /// All functions in it, from left to right.
    pub fn kernels(&self) -> Vec<&KernelSpec> {
        match self {
            Self::Kernel(spec) => vec![spec],
            Self::Sum(parts) | Self::Product(parts) => {
                parts.iter().flat_map(Self::kernels).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<CovarianceTree, Error> {
        parse_covariance(text, &["x".into(), "time".into()])
    }

    #[test]
    fn sums_and_products_are_read_with_what_is_fixed() {
        let tree = read("constant(2) + squared_exponential_ard").unwrap();
        let kernels = tree.kernels();
        assert_eq!(kernels[0].parameters, [("sd", Given::Fixed(2.0))]);
        assert!(kernels[1].ard);
        assert_eq!(
            kernels[1].parameters,
            [("sd", Given::Free), ("length", Given::Free)]
        );
        let tree = read("matern32(x) * exponential(time, length = 3) + nugget").unwrap();
        let kernels = tree.kernels();
        assert_eq!(kernels[0].inputs, [0]);
        assert_eq!(kernels[1].inputs, [1]);
        assert_eq!(
            kernels[1].parameters,
            [("sd", Given::Fixed(1.0)), ("length", Given::Fixed(3.0))]
        );
        assert!(matches!(tree, CovarianceTree::Sum(parts) if parts.len() == 2));
    }

    #[test]
    fn mistakes_point_at_their_character() {
        let at = |text: &str| match read(text).unwrap_err() {
            Error::Syntax(error) => (error.position(), error.message().to_string()),
            other => panic!("{other}"),
        };
        assert!(at("exponentail").1.contains("did you mean `exponential`?"));
        assert_eq!(at("nugget + matern32(z)").0, 18);
        assert!(at("constant(length = 1)").1.contains("it has sd"));
        assert!(at("powered_exponential(power = 3)").1.contains("at most 2"));
        assert!(at("matern32 - nugget").1.contains("sum or product"));
        assert!(at("linear_ard").1.contains("no length scales"));
    }
}
