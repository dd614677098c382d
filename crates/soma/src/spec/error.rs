//! An error in a spec, with its position in the text.

use std::ops::Range;

use crate::error::Invalid;

/// An invalid spec: the position in the text and the reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("line {line}: {invalid}")]
pub struct SpecError {
    /// The field, the given value and the allowed values.
    pub invalid: Invalid,
    /// The position in the text, in bytes.
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
