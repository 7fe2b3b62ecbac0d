//! Makes a tree of a formula. It says nothing of meaning: the same tree serves formulas, arithmetic and covariances.

use super::lexer::{Token, words};
use super::span::{Span, SyntaxError};
use std::fmt;

/// Brackets within brackets, at most: beyond it the stack would not hold.
const DEEPEST: usize = 60;

/// A piece of a formula, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub kind: Kind,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Number(f64),
    Text(String),
    Name(String),
    Call(String, Vec<Argument>),
    Binary(Operator, Box<Node>, Box<Node>),
    Minus(Box<Node>),
    /// In brackets, which matter: `(1 | g)` is a random effect, `1 | g` is not.
    Bracketed(Box<Node>),
    /// `~ x`: a formula without a response.
    OneSided(Box<Node>),
}

/// An argument of a call, perhaps with its name: `sd = 2`.
#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub name: Option<String>,
    pub value: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Tilde,
    Bar,
    DoubleBar,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    More,
    MoreEqual,
    Plus,
    Minus,
    Times,
    Over,
    Colon,
    Power,
}

impl Operator {
    fn of(sign: &str) -> Option<Self> {
        Some(match sign {
            "~" => Self::Tilde,
            "|" => Self::Bar,
            "||" => Self::DoubleBar,
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::More,
            ">=" => Self::MoreEqual,
            "+" => Self::Plus,
            "-" => Self::Minus,
            "*" => Self::Times,
            "/" => Self::Over,
            ":" => Self::Colon,
            "^" => Self::Power,
            _ => return None,
        })
    }

    pub fn sign(self) -> &'static str {
        match self {
            Self::Tilde => "~",
            Self::Bar => "|",
            Self::DoubleBar => "||",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::More => ">",
            Self::MoreEqual => ">=",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Colon => ":",
            Self::Power => "^",
        }
    }

    /// How tightly it binds: R's order.
    fn strength(self) -> u8 {
        match self {
            Self::Tilde => 1,
            Self::Bar | Self::DoubleBar => 2,
            Self::Equal | Self::NotEqual => 3,
            Self::Less | Self::LessEqual | Self::More | Self::MoreEqual => 3,
            Self::Plus | Self::Minus => 4,
            Self::Times | Self::Over => 5,
            Self::Colon => 6,
            Self::Power => 8,
        }
    }
}

/// A leading minus binds more tightly than `:` and less than `^`: −2^2 is −4.
const MINUS: u8 = 7;

/// The tree of a text.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let words = words(text)?;
    let mut parser = Parser {
        text,
        words,
        at: 0,
        depth: 0,
    };
    let node = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(node),
        Token::Sign(")") => Err(parser.error("this bracket was never opened")),
        Token::Sign("=") => Err(parser.error("`=` has no meaning here; `==` compares")),
        _ => Err(parser.error("an operator such as `+` is missing before this")),
    }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<(Token, Span)>,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.words[self.at].0
    }

    fn span(&self) -> Span {
        self.words[self.at].1
    }

    /// Takes the next word; the end is never passed.
    fn take(&mut self) -> (Token, Span) {
        let word = self.words[self.at].clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn error(&self, message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(message, self.text, self.span())
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Result<Node, SyntaxError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("brackets and signs are nested too deeply here"));
        }
        let mut left = self.operand()?;
        while let Token::Sign(sign) = *self.peek() {
            if sign == "&" {
                return Err(self.error("`&` is not known; multiply comparisons instead"));
            }
            let Some(operator) = Operator::of(sign) else {
                break;
            };
            let strength = operator.strength();
            if strength < least {
                break;
            }
            self.take();
            // Powers group from the right, everything else from the left.
            let next = if operator == Operator::Power {
                strength
            } else {
                strength + 1
            };
            let right = self.expression(next)?;
            let span = left.span.to(right.span);
            left = Node {
                kind: Kind::Binary(operator, Box::new(left), Box::new(right)),
                span,
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Result<Node, SyntaxError> {
        let here = self.span();
        let kind = match self.peek().clone() {
            Token::Number(number) => {
                self.take();
                Kind::Number(number)
            }
            Token::Text(text) => {
                self.take();
                Kind::Text(text)
            }
            Token::Name(name) => {
                self.take();
                if *self.peek() == Token::Sign("(") {
                    let (arguments, end) = self.arguments()?;
                    return Ok(Node {
                        kind: Kind::Call(name, arguments),
                        span: here.to(end),
                    });
                }
                Kind::Name(name)
            }
            Token::Sign("(") => {
                self.take();
                let inside = self.expression(0)?;
                let end = self.close(here)?;
                return Ok(Node {
                    kind: Kind::Bracketed(Box::new(inside)),
                    span: here.to(end),
                });
            }
            Token::Sign("-") => {
                self.take();
                let inside = self.expression(MINUS)?;
                let span = here.to(inside.span);
                return Ok(Node {
                    kind: Kind::Minus(Box::new(inside)),
                    span,
                });
            }
            // A leading plus says nothing.
            Token::Sign("+") => {
                self.take();
                return self.expression(MINUS);
            }
            Token::Sign("~") => {
                self.take();
                let inside = self.expression(Operator::Tilde.strength() + 1)?;
                let span = here.to(inside.span);
                return Ok(Node {
                    kind: Kind::OneSided(Box::new(inside)),
                    span,
                });
            }
            Token::Sign(")") => return Err(self.error("something is missing before this bracket")),
            Token::Sign(sign) => {
                return Err(self.error(format!("something is missing before this `{sign}`")));
            }
            Token::End if self.at == 0 => return Err(self.error("nothing is written here")),
            Token::End => return Err(self.error("something is missing at the end")),
        };
        Ok(Node { kind, span: here })
    }

    fn arguments(&mut self) -> Result<(Vec<Argument>, Span), SyntaxError> {
        let (_, open) = self.take();
        let mut arguments = Vec::new();
        if *self.peek() == Token::Sign(")") {
            return Ok((arguments, self.take().1));
        }
        loop {
            let name = match (self.peek(), self.words.get(self.at + 1)) {
                (Token::Name(name), Some((Token::Sign("="), _))) => {
                    let name = name.clone();
                    self.take();
                    self.take();
                    Some(name)
                }
                _ => None,
            };
            let value = self.expression(0)?;
            arguments.push(Argument { name, value });
            if *self.peek() != Token::Sign(",") {
                return Ok((arguments, self.close(open)?));
            }
            self.take();
        }
    }

    /// Takes the bracket that closes the one at `open`.
    fn close(&mut self, open: Span) -> Result<Span, SyntaxError> {
        match self.peek() {
            Token::Sign(")") => Ok(self.take().1),
            Token::End => Err(SyntaxError::new(
                "this bracket is never closed",
                self.text,
                open,
            )),
            _ => {
                Err(self
                    .error("an operator such as `+`, or a closing bracket, is missing before this"))
            }
        }
    }
}

impl Node {
    /// Without brackets around it.
    pub fn bare(&self) -> &Self {
        match &self.kind {
            Kind::Bracketed(inside) => inside.bare(),
            _ => self,
        }
    }
}

/// As R would print it, but without spaces: names of columns go into files in which a space separates.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Number(number) => write!(f, "{number}"),
            Kind::Text(text) => write!(f, "\"{text}\""),
            Kind::Name(name) => write!(f, "{name}"),
            Kind::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (k, argument) in arguments.iter().enumerate() {
                    let comma = if k > 0 { "," } else { "" };
                    match &argument.name {
                        Some(name) => write!(f, "{comma}{name}={}", argument.value)?,
                        None => write!(f, "{comma}{}", argument.value)?,
                    }
                }
                write!(f, ")")
            }
            Kind::Binary(operator, a, b) => write!(f, "{a}{}{b}", operator.sign()),
            Kind::Minus(inside) => write!(f, "-{inside}"),
            Kind::Bracketed(inside) => write!(f, "({inside})"),
            Kind::OneSided(inside) => write!(f, "~{inside}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree with all its brackets.
    fn shape(text: &str) -> String {
        fn walk(node: &Node) -> String {
            match &node.kind {
                Kind::Binary(op, a, b) => format!("({}{}{})", walk(a), op.sign(), walk(b)),
                Kind::Minus(a) => format!("(-{})", walk(a)),
                Kind::Bracketed(a) => walk(a),
                _ => node.to_string(),
            }
        }
        walk(&parse(text).unwrap())
    }

    #[test]
    fn operators_bind_in_the_order_of_r() {
        assert_eq!(shape("a + b * c"), "(a+(b*c))");
        assert_eq!(shape("a * b:c"), "(a*(b:c))");
        assert_eq!(shape("a - b - c"), "((a-b)-c)");
        assert_eq!(shape("2^3^4"), "(2^(3^4))");
        assert_eq!(shape("-2^2"), "(-(2^2))");
        assert_eq!(shape("a | b + c ~ d"), "((a|(b+c))~d)");
        assert_eq!(shape("a + 1 == b"), "((a+1)==b)");
    }

    #[test]
    fn a_tree_prints_without_spaces() {
        assert_eq!(parse("log( base / 4 )").unwrap().to_string(), "log(base/4)");
        assert_eq!(
            parse("I((age - 44)/10)").unwrap().to_string(),
            "I((age-44)/10)"
        );
    }

    fn position(text: &str) -> (usize, String) {
        let error = parse(text).unwrap_err();
        (error.position(), error.message().to_string())
    }

    #[test]
    fn mistakes_point_at_their_character() {
        assert_eq!(position("y ~ age + ").0, 10);
        assert_eq!(
            position("y ~ age urban"),
            (8, "an operator such as `+` is missing before this".into())
        );
        assert_eq!(
            position("y ~ (1 | g"),
            (4, "this bracket is never closed".into())
        );
        assert_eq!(
            position("y ~ a)"),
            (5, "this bracket was never opened".into())
        );
        assert_eq!(
            position("y ~ * a"),
            (4, "something is missing before this `*`".into())
        );
        assert_eq!(position("y ~ log(a,)").0, 10);
        assert_eq!(
            position("y ~ a ? b"),
            (6, "`?` has no meaning in a formula".into())
        );
        assert_eq!(position("y ~ `a"), (4, "this ` is never closed".into()));
        assert_eq!(position(""), (0, "nothing is written here".into()));
        // Counted in characters: an umlaut is one.
        assert_eq!(position("größe ~ a ? b").0, 10);
    }

    #[test]
    fn absurd_depth_and_length_are_refused() {
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"-".repeat(500)).is_err());
        assert!(parse(&"a+".repeat(100_000)).is_err());
    }
}
