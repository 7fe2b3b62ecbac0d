//! Places in a text, and mistakes that point at them.

use std::fmt;

/// A stretch of a text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The stretch from the beginning of one to the end of the other.
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }
}

/// A mistake in a formula or an expression; its display shows the text with a caret under the place.
///
/// ```
/// # use towline_models::check_formula;
/// let error = check_formula("y ~ age + + (1 | district").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "this bracket is never closed\n  y ~ age + + (1 | district\n              ^"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    message: String,
    text: String,
    /// In characters, not bytes: that is where a caret goes.
    at: usize,
    length: usize,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, text: &str, span: Span) -> Self {
        // Line breaks would tear the caret from its place; each becomes one space, so places stay.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        // Spans from our own lexer lie on character boundaries; a lossy count is enough for a message.
        let chars = |bytes: usize| text.char_indices().take_while(|(k, _)| *k < bytes).count();
        let at = chars(span.start);
        Self {
            message: message.into(),
            length: chars(span.end).saturating_sub(at).max(1),
            at,
            text,
        }
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where: the character, counted from 0.
    pub fn position(&self) -> usize {
        self.at
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n  {}\n  {}{}",
            self.message,
            self.text,
            " ".repeat(self.at),
            "^".repeat(self.length)
        )
    }
}

impl std::error::Error for SyntaxError {}
