//! Reads the tree of a formula as a sum of terms, offsets and random effects.

use super::parser::{Kind, Node, Operator};
use super::span::SyntaxError;
use super::terms::{Formula, Grouping, Response, Term, Terms};
use crate::component::{PROCESS, is_component};

/// More terms than any design written by a person; `(a+b+…)^9` reaches it before memory ends.
const MOST: usize = 2000;

/// Terms as they are added up and taken away.
pub(super) struct Sum {
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
    /// The terms in R's order: by their number of variables, and variables as they first occur in the text.
    pub fn finish(mut self, node: &Node) -> Terms {
        let mut order = Vec::new();
        variables(node, &mut order);
        let place = |variable: &Node| {
            let name = variable.to_string();
            order.iter().position(|known| *known == name)
        };
        for term in &mut self.terms {
            term.variables.sort_by_key(place);
        }
        self.terms.sort_by_key(|term| term.variables.len());
        Terms {
            intercept: self.intercept,
            terms: self.terms,
        }
    }
}

/// The variables of a sum of products in the order in which they occur, random effects and offsets left out.
fn variables(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        Kind::Binary(Operator::Bar | Operator::DoubleBar, ..) => {}
        Kind::Binary(_, a, b) => {
            variables(a, out);
            variables(b, out);
        }
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => {
            variables(inside, out);
        }
        Kind::Name(_) | Kind::Call(..) => out.push(node.to_string()),
        Kind::Number(_) | Kind::Text(_) => {}
    }
}

pub(super) struct Reader<'a> {
    pub text: &'a str,
}

impl Reader<'_> {
    pub fn error(&self, message: impl Into<String>, node: &Node) -> SyntaxError {
        SyntaxError::new(message, self.text, node.span)
    }

    fn only_added(&self, name: &str, node: &Node) -> SyntaxError {
        let message = format!("{name}() is a component: it can only be added, y ~ x + {node}");
        self.error(message, node)
    }

    /// A product of two components, where it is one: `areal(…):rw1(t)`.
    fn components(&self, node: &Node) -> Result<bool, SyntaxError> {
        let Kind::Binary(Operator::Colon, a, b) = &node.kind else {
            return Ok(false);
        };
        let called = |node: &Node| match &node.bare().kind {
            Kind::Call(name, _) if is_component(name) => Some(name.clone()),
            _ => None,
        };
        let both = match (called(a), called(b)) {
            (None, None) => {
                let nested = [a, b].map(|side| self.components(side.bare()));
                let [first, second] = nested;
                return match first? || second? {
                    true => Err(self.three(node)),
                    false => Ok(false),
                };
            }
            (Some(_), None) | (None, Some(_)) => {
                let other = if called(a).is_some() { b } else { a };
                return match self.components(other.bare())? {
                    true => Err(self.three(node)),
                    false => Ok(false),
                };
            }
            (Some(first), Some(second)) => [first, second],
        };
        if both.iter().any(|name| name == PROCESS) {
            let message = format!(
                "{PROCESS}() is dense and no factor of a product, whose precision is sparse: take spde(x, y) or nngp(x, y) over \
                 places, rw2(t) or ar1(t) over times"
            );
            return Err(self.error(message, node));
        }
        Ok(true)
    }

    fn three(&self, node: &Node) -> SyntaxError {
        let message = "a product has two components; replicate it by the levels of a third with `by`: areal(…):rw1(t, by = g)";
        self.error(message, node)
    }

    /// The left side.
    pub fn response(&self, node: &Node) -> Result<Response, SyntaxError> {
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
    pub fn sum(
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
            Kind::Call(name, _) if is_component(name) => {
                let (Some(formula), true) = (formula, add) else {
                    return Err(self.only_added(name, node));
                };
                formula.components.push(node.clone());
                Ok(())
            }
            // As for other terms, `a*b` is a, b and a:b.
            Kind::Binary(Operator::Times, a, b)
                if self.components(&times(node, a, b))? && formula.is_some() =>
            {
                self.sum(a, add, sum, formula.as_deref_mut())?;
                self.sum(b, add, sum, formula.as_deref_mut())?;
                self.sum(&times(node, a, b), add, sum, formula)
            }
            Kind::Binary(Operator::Colon, ..) if self.components(node)? => {
                let (Some(formula), true) = (formula, add) else {
                    return Err(self.error("a product of components can only be added", node));
                };
                formula.components.push(node.clone());
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
            Kind::Call(name, _) if name == "offset" => {
                return Err(self.error("an offset can only be added: y ~ x + offset(log(e))", node));
            }
            Kind::Call(name, _) if is_component(name) => return Err(self.only_added(name, node)),
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
        let all = sum.finish(effects);
        if !all.intercept && all.terms.is_empty() {
            return Err(self.error(
                "this random effect has nothing that varies: (1 | group)",
                node,
            ));
        }
        // lme4's meaning of `||`: every term by itself, a factor's levels together.
        let parts = if operator == Operator::Bar {
            vec![all]
        } else {
            let alone = Terms {
                intercept: true,
                terms: Vec::new(),
            };
            let each = all.terms.into_iter().map(|term| Terms {
                intercept: false,
                terms: vec![term],
            });
            all.intercept
                .then_some(alone)
                .into_iter()
                .chain(each)
                .collect()
        };
        for by in self.groups(by)? {
            for effects in &parts {
                formula.groups.push(Grouping {
                    effects: effects.clone(),
                    by: by.clone(),
                });
            }
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

/// `a:b`, for the part of `a*b` that is.
fn times(node: &Node, a: &Node, b: &Node) -> Node {
    Node {
        kind: Kind::Binary(
            Operator::Colon,
            Box::new(a.bare().clone()),
            Box::new(b.bare().clone()),
        ),
        span: node.span,
    }
}

fn distinct(terms: Vec<Term>) -> Vec<Term> {
    let mut seen = std::collections::HashSet::new();
    terms
        .into_iter()
        .filter(|term| seen.insert(term.key()))
        .collect()
}
