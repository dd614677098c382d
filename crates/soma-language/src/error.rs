//! Errors in a text: their position, what is wrong, and a suggestion.

use std::fmt;

/// A half-open range of bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// The range from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Span { start, end }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Self {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// An error before its line and column are known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub span: Span,
    pub message: String,
    pub help: String,
}

impl Problem {
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Problem { span, message: message.into(), help: help.into() }
    }

    /// The error with its line and column in `text`, the text of `block`.
    pub fn within(self, block: &str, text: &str) -> Mistake {
        let start = floor_boundary(text, self.span.start);
        let end = floor_boundary(text, self.span.end.max(start));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line_text = text[line_start..].split('\n').next().unwrap_or("").trim_end_matches('\r');
        let line_end = line_start + line_text.len();
        // What is underlined ends with the line, even if the expression goes on.
        let span = Span::new(start.min(line_end), end.clamp(start.min(line_end), line_end));
        let width = text[span.start..span.end].chars().count();
        Mistake {
            block: block.to_string(),
            span,
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: width.max(1),
            line_text: line_text.to_string(),
            message: self.message,
            help: self.help,
        }
    }
}

/// The last character boundary at or before `at`.
fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// One error: its position, its line, what is wrong and how to fix it.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// The text that it is in: `parameters`, `record`, `statistic 1` or `data`.
    pub block: String,
    /// The bytes of the text to underline.
    pub span: Span,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The number of characters to underline.
    pub width: usize,
    /// The line itself.
    pub line_text: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { block, line, column, message, line_text, help, .. } = self;
        writeln!(f, "{block}, line {line}, column {column}: {message}")?;
        writeln!(f, "  | {}", line_text.replace('\t', " "))?;
        write!(f, "  | {}{}", " ".repeat(column - 1), "^".repeat(self.width))?;
        if help.is_empty() { Ok(()) } else { write!(f, "\n  = {help}") }
    }
}

/// The errors of a text, at most one per line, in the order of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, mistake) in self.0.iter().enumerate() {
            if k > 0 {
                writeln!(f)?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}

/// The name of `known` that is most similar to `given`, if one is similar: they share a letter.
pub(crate) fn nearest<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = given.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| {
            let (one, other) = (name.chars().count(), given.chars().count());
            *distance <= 1 + one.min(other) / 4 && *distance < one.max(other)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
