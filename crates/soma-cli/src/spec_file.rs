//! Specs in files.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use soma::Mistake;
use soma::spec::{MistakeInSpec, Spec, SpecError};

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
    /// What is wrong, each with its place: one fault, or one for each mistake in the texts of a
    /// model.
    pub fn faults(&self) -> Vec<Fault<'_>> {
        if !self.error.mistakes.is_empty() {
            return self.error.mistakes.iter().map(|own| self.in_a_text(own)).collect();
        }
        let invalid = &self.error.invalid;
        vec![Fault {
            message: format!("line {}: {}: {}", self.error.line, invalid.field, invalid.problem),
            help: format!("allowed: {}", invalid.allowed),
            label: Some(format!("given: {}", invalid.given)),
            in_full: self.error.to_string(),
            span: self.error.span.clone(),
            source: &self.source,
        }]
    }

    fn in_a_text<'a>(&'a self, found: &MistakeInSpec) -> Fault<'a> {
        let Mistake { block, line, column, message, line_text, help, .. } = &found.mistake;
        let (message, label) = match found.place {
            Some((line, _)) => (format!("line {line}: {block}: {message}"), None),
            // Where the word stands in the spec is unknown: the line of the text is shown.
            None => (
                format!("{block}, line {line}, column {column}: {message}"),
                Some(format!("given: {}", line_text.trim())),
            ),
        };
        Fault {
            message,
            help: help.clone(),
            label,
            in_full: found.to_string(),
            span: found.span.clone(),
            source: &self.source,
        }
    }

    /// The complete error in sentences, in one line.
    pub fn in_full(&self) -> String {
        let each: Vec<String> = self.faults().iter().map(Fault::in_full).collect();
        each.join("; ")
    }
}

/// One thing that is wrong in a spec.
#[derive(Debug)]
pub struct Fault<'a> {
    message: String,
    help: String,
    label: Option<String>,
    in_full: String,
    span: Range<usize>,
    source: &'a NamedSource<String>,
}

impl Fault<'_> {
    /// Whether the lines around it are too long to be shown.
    pub fn is_long(&self) -> bool {
        let text = self.source.inner();
        // The lines before and after the position are shown too.
        let before = text.get(..self.span.start).unwrap_or(text);
        let from = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at);
        let after = text.get(self.span.end..).unwrap_or_default();
        let to = after.match_indices('\n').nth(1).map_or(text.len(), |(at, _)| self.span.end + at);
        to.saturating_sub(from) > MOST_SHOWN
    }

    /// It in a sentence.
    pub fn in_full(&self) -> String {
        format!("{}, {}", self.source.name(), self.in_full)
    }
}

impl std::fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.source.name(), self.message)
    }
}

impl std::error::Error for Fault<'_> {}

impl Diagnostic for Fault<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn std::fmt::Display + 'a>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = LabeledSpan::new_with_span(self.label.clone(), self.span.clone());
        Some(Box::new(std::iter::once(span)))
    }
}
