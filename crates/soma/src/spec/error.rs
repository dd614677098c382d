//! An error in a spec, with its place in the text.

use std::ops::Range;

use crate::error::Invalid;

/// A spec that cannot be used: where in the text, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("line {line}: {invalid}")]
pub struct SpecError {
    /// Which field, what was given, what is allowed.
    pub invalid: Invalid,
    /// The place in the text, in bytes.
    pub span: Range<usize>,
    /// The line of the text, from 1.
    pub line: usize,
}

impl SpecError {
    pub(super) fn new(text: &str, span: Range<usize>, invalid: Invalid) -> Self {
        let start = span.start.min(text.len());
        let line = 1 + text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count();
        SpecError { invalid, span, line }
    }
}
