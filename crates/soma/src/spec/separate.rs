//! A release in a file of its own: `release = "published.toml"`.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::{SpecError, is_release};
use crate::error::Invalid;

/// The file that a spec names instead of the table `[release]`, if any.
pub fn release_file(text: &str) -> Option<String> {
    place(text).map(|(_, file)| file)
}

/// The spec with the named release inserted. `published` is the text of that file, which must have
/// the table `[release]` and nothing else.
///
/// ```
/// let spec = "release = \"published.toml\"\n[model]\nkind = \"normal\"\n";
/// assert_eq!(soma::spec::release_file(spec).as_deref(), Some("published.toml"));
/// let whole = soma::spec::with_release(spec, "[release]\nn = 10\n").unwrap();
/// assert!(whole.contains("n = 10") && soma::spec::release_file(&whole).is_none());
/// let whole = soma::spec::with_release(spec, "format = 1\n[release]\nn = 10\n").unwrap();
/// assert!(whole.starts_with("format = 1\n[model]"));
/// ```
pub fn with_release(text: &str, published: &str) -> Result<String, SpecError> {
    let Some((range, file)) = place(text) else { return Ok(text.to_string()) };
    if !is_release(published) {
        let invalid = Invalid::new(
            "release",
            "the file does not hold a release alone",
            format!("{file:?}"),
            "a file with the table [release], and no other",
        );
        return Err(SpecError::new(text, range, invalid));
    }
    // The table is appended, where it cannot capture keys of another table. The format of the file
    // takes the place of the key, unless the spec has one itself.
    let (format, published) = split_format(published);
    let format = if key_span(text, "format").is_some() { String::new() } else { format };
    let without = format!("{}{format}{}", &text[..range.start], &text[range.end..]);
    Ok(format!("{}\n\n{}", without.trim_end(), published.trim_start()))
}

/// The line `format = ...` of a text, empty if there is none, and the text without it.
fn split_format(text: &str) -> (String, String) {
    match key_span(text, "format") {
        None => (String::new(), text.to_string()),
        Some(span) => (
            text[span.clone()].to_string(),
            format!("{}{}", &text[..span.start], &text[span.end..]),
        ),
    }
}

/// Where a key of the root stands, with its value.
fn key_span(text: &str, name: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let (key, value) = root.get_ref().iter().find(|(key, _)| key.get_ref() == name)?;
    Some(key.span().start..value.span().end)
}

/// The position of `release = "..."`, and the file that it names.
fn place(text: &str) -> Option<(Range<usize>, String)> {
    let root = DeTable::parse(text).ok()?;
    let (key, value) = root.get_ref().iter().find(|(key, _)| key.get_ref() == "release")?;
    match value.get_ref() {
        DeValue::String(file) => Some((key.span().start..value.span().end, file.to_string())),
        _ => None,
    }
}
