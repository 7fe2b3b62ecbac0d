//! What a formula means for a model: response, terms, offsets, random effects.

use super::parser::{Kind, Node, Operator, parse};
use super::span::SyntaxError;

/// More terms than any design written by a person; `(a+b+…)^9` reaches it before memory ends.
const MOST: usize = 2000;

/// A formula, taken apart.
#[derive(Debug, Clone)]
pub(crate) struct Formula {
    pub text: String,
    pub response: Option<Response>,
    pub fixed: Terms,
    pub offsets: Vec<Node>,
    pub groups: Vec<Grouping>,
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

/// `(effects | by)`.
#[derive(Debug, Clone)]
pub(crate) struct Grouping {
    pub effects: Terms,
    /// The columns whose combinations are the groups.
    pub by: Vec<Node>,
    pub correlated: bool,
}

impl Formula {
    /// Reads a formula, with or without a response.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let tree = parse(text)?;
        let reader = Reader { text };
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
        let mut formula = Self {
            text: text.into(),
            response: left.map(|node| reader.response(node)).transpose()?,
            fixed: Terms::default(),
            offsets: Vec::new(),
            groups: Vec::new(),
        };
        let mut sum = Sum::default();
        reader.sum(right, true, &mut sum, Some(&mut formula))?;
        formula.fixed = sum.finish();
        Ok(formula)
    }

    /// The names of all columns it uses.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        // It was parsed before, so it parses.
        if let Ok(tree) = parse(&self.text) {
            super::expression::names(&tree, &mut names);
        }
        names
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
    fn times(&self, other: &Self) -> Self {
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

/// Terms as they are added up and taken away.
struct Sum {
    intercept: bool,
    terms: Vec<Term>,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            intercept: true,
            terms: Vec::new(),
        }
    }
}

impl Sum {
    fn finish(mut self) -> Terms {
        self.terms.sort_by_key(|term| term.variables.len());
        Terms {
            intercept: self.intercept,
            terms: self.terms,
        }
    }
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, message: impl Into<String>, node: &Node) -> SyntaxError {
        SyntaxError::new(message, self.text, node.span)
    }

    fn response(&self, node: &Node) -> Result<Response, SyntaxError> {
        match &node.kind {
            Kind::Call(name, arguments) if name == "cbind" => match arguments.as_slice() {
                [successes, failures] => Ok(Response::Counts(
                    successes.value.clone(),
                    failures.value.clone(),
                )),
                _ => Err(self.error(
                    "cbind takes successes and failures: cbind(died, survived)",
                    node,
                )),
            },
            Kind::Binary(Operator::Bar, successes, trials) => Ok(Response::Trials(
                successes.as_ref().clone(),
                trials.as_ref().clone(),
            )),
            Kind::Binary(Operator::Tilde, ..) | Kind::OneSided(_) => {
                Err(self.error("a formula has one `~`", node))
            }
            _ => Ok(Response::One(node.clone())),
        }
    }

    /// Adds the terms of a sum (or takes them away); random effects and offsets are allowed where `formula` is given.
    fn sum(
        &self,
        node: &Node,
        add: bool,
        sum: &mut Sum,
        mut formula: Option<&mut Formula>,
    ) -> Result<(), SyntaxError> {
        match &node.kind {
            Kind::Binary(Operator::Plus, a, b) => {
                self.sum(a, add, sum, formula.as_deref_mut())?;
                self.sum(b, add, sum, formula)
            }
            Kind::Binary(Operator::Minus, a, b) => {
                self.sum(a, add, sum, formula.as_deref_mut())?;
                self.sum(b, !add, sum, formula)
            }
            Kind::Minus(inside) => self.sum(inside, !add, sum, formula),
            Kind::Number(number) if *number == 1.0 => {
                sum.intercept = add;
                Ok(())
            }
            Kind::Number(number) if *number == 0.0 => {
                sum.intercept = !add;
                Ok(())
            }
            Kind::Binary(Operator::Bar | Operator::DoubleBar, ..) => {
                Err(self.error("a random effect stands in brackets: (1 | group)", node))
            }
            Kind::Bracketed(inside) => match &inside.kind {
                Kind::Binary(operator @ (Operator::Bar | Operator::DoubleBar), effects, by) => {
                    let Some(formula) = formula else {
                        return Err(self.error("a random effect cannot stand inside another", node));
                    };
                    if !add {
                        return Err(self.error("a random effect cannot be taken away", node));
                    }
                    self.grouping(*operator, effects, by, node, formula)
                }
                _ => self.sum(inside, add, sum, formula),
            },
            Kind::Call(name, arguments) if name == "offset" => {
                let ([argument], Some(formula), true) = (arguments.as_slice(), formula, add) else {
                    return Err(
                        self.error("an offset is one expression, added: offset(log(e))", node)
                    );
                };
                formula.offsets.push(argument.value.clone());
                Ok(())
            }
            _ => {
                for term in self.product(node)? {
                    let key = term.key();
                    let known = sum.terms.iter().position(|other| other.key() == key);
                    match (known, add) {
                        (None, true) => sum.terms.push(term),
                        (Some(at), false) => {
                            sum.terms.remove(at);
                        }
                        (None, false) => {
                            return Err(self.error("this term is not there to be taken away", node));
                        }
                        (Some(_), true) => {}
                    }
                }
                if sum.terms.len() > MOST {
                    return Err(self.error(format!("more than {MOST} terms"), node));
                }
                Ok(())
            }
        }
    }

    /// The terms that a product stands for: `a*b` is a, b and a:b.
    fn product(&self, node: &Node) -> Result<Vec<Term>, SyntaxError> {
        let terms = match &node.kind {
            Kind::Name(name) if name == "." => {
                return Err(self.error("`.` is not known here: name the covariates", node));
            }
            Kind::Call(name, _) if name == "offset" => {
                return Err(self.error("an offset can only be added: y ~ x + offset(log(e))", node));
            }
            Kind::Name(_) | Kind::Call(..) => vec![Term {
                variables: vec![node.clone()],
            }],
            Kind::Bracketed(inside) => {
                if let Kind::Binary(Operator::Bar | Operator::DoubleBar, ..) = inside.kind {
                    return Err(self.error("a random effect can only be added", node));
                }
                let mut sum = Sum {
                    intercept: false,
                    terms: Vec::new(),
                };
                self.sum(inside, true, &mut sum, None)?;
                if sum.intercept {
                    return Err(self.error("the intercept cannot stand inside a product", node));
                }
                sum.terms
            }
            Kind::Binary(Operator::Colon, a, b) => {
                self.cross(&self.product(a)?, &self.product(b)?, node)?
            }
            Kind::Binary(Operator::Times, a, b) => {
                let (a, b) = (self.product(a)?, self.product(b)?);
                let both = self.cross(&a, &b, node)?;
                a.into_iter().chain(b).chain(both).collect()
            }
            Kind::Binary(Operator::Over, a, b) => {
                let (a, b) = (self.product(a)?, self.product(b)?);
                let all = a.iter().fold(
                    Term {
                        variables: Vec::new(),
                    },
                    |all, term| all.times(term),
                );
                let both = self.cross(&[all], &b, node)?;
                a.into_iter().chain(both).collect()
            }
            Kind::Binary(Operator::Power, base, exponent) => match (&base.kind, &exponent.kind) {
                (Kind::Bracketed(_), Kind::Number(power))
                    if power.fract() == 0.0 && (1.0..=9.0).contains(power) =>
                {
                    let single = self.product(base)?;
                    let mut all = single.clone();
                    for _ in 1..*power as usize {
                        let crossed = self.cross(&all, &single, node)?;
                        all.extend(crossed);
                        all = distinct(all);
                    }
                    all
                }
                _ => {
                    return Err(self.error(
                        format!("in a formula `^` crosses terms, as in (a + b)^2; for a power write I({node})"),
                        node,
                    ));
                }
            },
            Kind::Binary(Operator::Plus | Operator::Minus, ..) => {
                let mut sum = Sum {
                    intercept: false,
                    terms: Vec::new(),
                };
                self.sum(node, true, &mut sum, None)?;
                sum.terms
            }
            Kind::Number(number) => {
                return Err(self.error(
                    format!(
                        "the number {number} is no term; arithmetic goes inside I(), as in I(2*x)"
                    ),
                    node,
                ));
            }
            Kind::Text(_) => return Err(self.error("text is no term", node)),
            Kind::Binary(Operator::Tilde, ..) | Kind::OneSided(_) => {
                return Err(self.error("a formula has one `~`", node));
            }
            Kind::Binary(Operator::Bar | Operator::DoubleBar, ..) => {
                return Err(self.error("a random effect stands in brackets: (1 | group)", node));
            }
            Kind::Binary(..) | Kind::Minus(_) => {
                return Err(self.error(format!("arithmetic goes inside I(): I({node})"), node));
            }
        };
        Ok(distinct(terms))
    }

    fn cross(&self, a: &[Term], b: &[Term], node: &Node) -> Result<Vec<Term>, SyntaxError> {
        if a.len() * b.len() > MOST {
            return Err(self.error(format!("this stands for more than {MOST} terms"), node));
        }
        Ok(a.iter()
            .flat_map(|a| b.iter().map(|b| a.times(b)))
            .collect())
    }

    fn grouping(
        &self,
        operator: Operator,
        effects: &Node,
        by: &Node,
        node: &Node,
        formula: &mut Formula,
    ) -> Result<(), SyntaxError> {
        let mut sum = Sum::default();
        self.sum(effects, true, &mut sum, None)?;
        let effects = sum.finish();
        if !effects.intercept && effects.terms.is_empty() {
            return Err(self.error(
                "this random effect has nothing that varies: (1 | group)",
                node,
            ));
        }
        for by in self.groups(by)? {
            formula.groups.push(Grouping {
                effects: effects.clone(),
                by,
                correlated: operator == Operator::Bar,
            });
        }
        Ok(())
    }

    /// The groupings right of a bar: `a/b` is `a` and `a:b`.
    fn groups(&self, by: &Node) -> Result<Vec<Vec<Node>>, SyntaxError> {
        match &by.kind {
            Kind::Name(_) => Ok(vec![vec![by.clone()]]),
            Kind::Call(name, _) if ["factor", "as.factor", "row"].contains(&name.as_str()) => {
                Ok(vec![vec![by.clone()]])
            }
            Kind::Bracketed(inside) => self.groups(inside),
            Kind::Binary(Operator::Colon, a, b) => {
                let (a, b) = (self.groups(a)?, self.groups(b)?);
                match (a.as_slice(), b.as_slice()) {
                    ([a], [b]) => Ok(vec![a.iter().chain(b).cloned().collect()]),
                    _ => Err(self.error("`:` joins single columns here", by)),
                }
            }
            Kind::Binary(Operator::Over, a, b) => {
                let (a, b) = (self.groups(a)?, self.groups(b)?);
                let (Some(inner), [b]) = (a.last().cloned(), b.as_slice()) else {
                    return Err(self.error("`/` nests single columns here", by));
                };
                let nested = inner.into_iter().chain(b.iter().cloned()).collect();
                Ok(a.into_iter().chain([nested]).collect())
            }
            _ => Err(self.error("groups are columns: (1 | a), (1 | a:b) or (1 | a/b)", by)),
        }
    }
}

fn distinct(terms: Vec<Term>) -> Vec<Term> {
    let mut seen = std::collections::HashSet::new();
    terms
        .into_iter()
        .filter(|term| seen.insert(term.key()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(text: &str) -> String {
        let formula = Formula::parse(text).unwrap();
        let terms = formula.fixed.terms.iter().map(|term| {
            let names: Vec<String> = term.variables.iter().map(ToString::to_string).collect();
            names.join(":")
        });
        let intercept = formula.fixed.intercept.then(|| "1".to_string());
        intercept
            .into_iter()
            .chain(terms)
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn products_expand_as_in_r() {
        assert_eq!(fixed("y ~ a*b"), "1 a b a:b");
        assert_eq!(fixed("y ~ a:b + a"), "1 a a:b");
        assert_eq!(fixed("y ~ a/b"), "1 a a:b");
        assert_eq!(fixed("y ~ (a+b+c)^2"), "1 a b c a:b a:c b:c");
        assert_eq!(fixed("y ~ a*b*c - a:b:c"), "1 a b c a:b a:c b:c");
        assert_eq!(fixed("y ~ a + a"), "1 a");
        assert_eq!(fixed("y ~ (a+b):c"), "1 a:c b:c");
    }

    #[test]
    fn the_intercept_can_be_left_out() {
        assert_eq!(fixed("y ~ 0 + a"), "a");
        assert_eq!(fixed("y ~ a - 1"), "a");
        assert_eq!(fixed("y ~ -1 + a"), "a");
        assert_eq!(fixed("y ~ 1"), "1");
        assert_eq!(fixed("y ~ 0"), "");
    }

    fn groups(text: &str) -> Vec<String> {
        let formula = Formula::parse(text).unwrap();
        let show = |group: &Grouping| {
            let by: Vec<String> = group.by.iter().map(ToString::to_string).collect();
            format!(
                "{}{}{}{}",
                if group.effects.intercept { "1" } else { "0" },
                group.effects.terms.len(),
                if group.correlated { "|" } else { "||" },
                by.join(":")
            )
        };
        formula.groups.iter().map(show).collect()
    }

    #[test]
    fn random_effects_are_read_as_by_lme4() {
        assert_eq!(
            groups("y ~ (1 + age | district) + (1 | village)"),
            ["11|district", "10|village"]
        );
        assert_eq!(groups("y ~ (1 | a/b)"), ["10|a", "10|a:b"]);
        assert_eq!(groups("y ~ (1 | a/b/c)"), ["10|a", "10|a:b", "10|a:b:c"]);
        assert_eq!(groups("y ~ (x || g) + (0 + x | h)"), ["11||g", "01|h"]);
        assert_eq!(groups("y ~ x + (1 | row())"), ["10|row()"]);
    }

    #[test]
    fn responses_of_two_numbers_are_read() {
        let response = |text| Formula::parse(text).unwrap().response;
        assert!(matches!(
            response("cbind(s, n - s) ~ x"),
            Some(Response::Counts(..))
        ));
        assert!(matches!(response("s | n ~ x"), Some(Response::Trials(..))));
        assert!(response("~ x").is_none());
    }

    #[test]
    fn offsets_are_kept_apart() {
        let formula = Formula::parse("y ~ x + offset(log(e))").unwrap();
        assert_eq!(formula.offsets[0].to_string(), "log(e)");
        assert_eq!(formula.fixed.terms.len(), 1);
    }

    #[test]
    fn mistakes_of_meaning_point_at_their_character() {
        let at = |text: &str| {
            let error = Formula::parse(text).unwrap_err();
            (error.position(), error.message().to_string())
        };
        assert!(at("y ~ age^2").1.contains("I(age^2)"));
        assert_eq!(at("y ~ age^2").0, 4);
        assert!(at("y ~ x + 1 | g").1.contains("in brackets"));
        assert!(at("y ~ 2*x").1.contains("I(2*x)"));
        assert!(at("y + x").1.contains('~'));
        assert!(at("y ~ x ~ z").1.contains("one `~`"));
        assert!(at("y ~ (0 | g)").1.contains("nothing that varies"));
        assert_eq!(at("y ~ x + (1 | g + h)").0, 13);
        assert_eq!(at("y ~ a - b").0, 8);
        assert!(
            at("y ~ (a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p+q+r+s+t)^9")
                .1
                .contains("2000")
        );
    }
}
