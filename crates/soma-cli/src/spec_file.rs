//! Specs in files.

use std::io::ErrorKind;
use std::path::Path;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use soma::spec::{Spec, SpecError};

use crate::exit::Failed;

/// The text of the spec at `path`, with the release inserted if it names a file.
pub fn text(path: &Path) -> Result<String, Failed> {
    let text = contents(path)?;
    let Some(file) = soma::spec::release_file(&text) else { return Ok(text) };
    let published = contents(&path.parent().unwrap_or(Path::new("")).join(file))?;
    soma::spec::with_release(&text, &published).map_err(|error| bad(path, &text, error))
}

/// The text of the file at `path`.
pub fn contents(path: &Path) -> Result<String, Failed> {
    std::fs::read_to_string(path).map_err(|error| {
        let path = path.display();
        Failed::Input(match error.kind() {
            ErrorKind::NotFound => format!(
                "{path}: there is no such file. Allowed: the path of a spec; `soma examples` lists \
                 some to start from."
            ),
            _ => format!("{path}: {error}"),
        })
    })
}

/// Parses the spec `text` of the file at `path`.
pub fn parse(path: &Path, text: &str) -> Result<Spec, Failed> {
    Spec::parse(text).map_err(|error| bad(path, text, error))
}

/// The failure for an error in the spec at `path`.
pub fn bad(path: &Path, text: &str, error: SpecError) -> Failed {
    let source = NamedSource::new(path.display().to_string(), text.to_string());
    Failed::Spec(Box::new(BadSpec { error, source }))
}

/// An error in a spec, with the text to show it in.
#[derive(Debug)]
pub struct BadSpec {
    error: SpecError,
    source: NamedSource<String>,
}

/// The largest number of characters of a spec in an error.
const MOST_SHOWN: usize = 2000;

impl BadSpec {
    /// Whether the lines around the error are too long to be shown.
    pub fn is_long(&self) -> bool {
        let text = self.source.inner();
        let span = &self.error.span;
        // The lines before and after the position are shown too.
        let before = text.get(..span.start).unwrap_or(text);
        let from = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at);
        let after = text.get(span.end..).unwrap_or_default();
        let to = after.match_indices('\n').nth(1).map_or(text.len(), |(at, _)| span.end + at);
        to.saturating_sub(from) > MOST_SHOWN
    }

    /// The complete error, in a sentence.
    pub fn in_full(&self) -> String {
        format!("{}, {}", self.source.name(), self.error)
    }
}

impl std::fmt::Display for BadSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let invalid = &self.error.invalid;
        write!(f, "{}, line {}: ", self.source.name(), self.error.line)?;
        write!(f, "{}: {}", invalid.field, invalid.problem)
    }
}

impl std::error::Error for BadSpec {}

impl Diagnostic for BadSpec {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        Some(Box::new(format!("allowed: {}", self.error.invalid.allowed)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = format!("given: {}", self.error.invalid.given);
        let span = LabeledSpan::new_with_span(Some(label), self.error.span.clone());
        Some(Box::new(std::iter::once(span)))
    }
}
