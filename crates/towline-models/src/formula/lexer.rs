//! Cuts a formula into words.

use super::span::{Span, SyntaxError};

/// More words than any formula written by a person; it bounds the depth of the tree, and so of the stack.
const MOST: usize = 1000;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Text(String),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 20] = [
    "||", "==", "!=", "<=", ">=", "~", "+", "-", "*", "/", "^", ":", "|", "(", ")", ",", "<", ">",
    "=", "&",
];

/// The words of a text with their places, and at last an [`Token::End`].
pub(super) fn words(text: &str) -> Result<Vec<(Token, Span)>, SyntaxError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = word(text, at, first)?;
        words.push((token, Span::new(at, at + length)));
        at += length;
        if words.len() > MOST {
            return Err(SyntaxError::new(
                format!("this formula is too long: at most {MOST} words"),
                text,
                Span::new(at, at),
            ));
        }
    }
    words.push((Token::End, Span::new(text.len(), text.len())));
    Ok(words)
}

fn word(text: &str, at: usize, first: char) -> Result<(Token, usize), SyntaxError> {
    let rest = &text[at..];
    let error =
        |message: String, length| SyntaxError::new(message, text, Span::new(at, at + length));
    let digit_next = rest[first.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
    if first.is_ascii_digit() || (first == '.' && digit_next) {
        let length = number_length(rest);
        let number = rest[..length]
            .parse()
            .map_err(|_| error(format!("`{}` is not a number", &rest[..length]), length))?;
        return Ok((Token::Number(number), length));
    }
    if first.is_alphabetic() || first == '.' || first == '_' {
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_'))
            .unwrap_or(rest.len());
        return Ok((Token::Name(rest[..length].into()), length));
    }
    if let Some(quote @ ('"' | '\'' | '`')) = Some(first) {
        let Some(length) = rest[1..].find(quote) else {
            return Err(error(format!("this {quote} is never closed"), 1));
        };
        let inside = rest[1..=length].to_string();
        let token = match quote {
            '`' if inside.is_empty() => return Err(error("a name is missing here".into(), 2)),
            '`' => Token::Name(inside),
            _ => Token::Text(inside),
        };
        return Ok((token, length + 2));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(error(
            format!("`{first}` has no meaning in a formula"),
            first.len_utf8(),
        )),
    }
}

/// How far a number goes: digits, a point, an exponent.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let digits = |mut k: usize| {
        while bytes.get(k).is_some_and(u8::is_ascii_digit) {
            k += 1;
        }
        k
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    end
}
