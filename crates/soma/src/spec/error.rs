//! An error in a spec, with its position in the text.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use soma_language::Mistake;
use toml::Spanned;
use toml::de::DeTable;

use super::value::{locate, written_at};
use crate::error::Invalid;

/// An invalid spec: the position in the text and the reason.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct SpecError {
    /// The field, the given value and the allowed values.
    pub invalid: Box<Invalid>,
    /// The position in the text, in bytes.
    pub span: Range<usize>,
    /// The line of the text, from 1.
    pub line: usize,
    /// The positions of the mistakes of the reason, if these are in a model or statistics as text.
    pub mistakes: Vec<MistakeInSpec>,
}

/// A mistake in a model or a statistic as text, with its position in the spec.
#[derive(Debug, Clone, PartialEq)]
pub struct MistakeInSpec {
    /// The mistake, with its position in its own text. The block is a path in the spec.
    pub mistake: Mistake,
    /// The bytes of the spec to underline; those of the whole field if it is written with escapes.
    pub span: Range<usize>,
    /// Line and column in the spec, from 1; none, if the field is written with escapes.
    pub place: Option<(usize, usize)>,
}

impl SpecError {
    /// The error `invalid` at a position of `text`.
    pub(super) fn new(text: &str, span: Range<usize>, invalid: Invalid) -> Self {
        let (line, _) = place(text, span.start);
        SpecError { invalid: Box::new(invalid), span, line, mistakes: Vec::new() }
    }

    /// The error `invalid` at the position of its field in `text`, of which `root` was read; its
    /// mistakes at theirs.
    pub(super) fn within(text: &str, root: &Spanned<DeTable<'_>>, invalid: Invalid) -> Self {
        let find = |mistake: &Mistake| {
            let start = written_at(text, root, &mistake.block);
            let bytes = start.map(|at| at + mistake.span.start..at + mistake.span.end);
            let place = bytes.as_ref().map(|bytes| place(text, bytes.start));
            let span = bytes.unwrap_or_else(|| locate(root, &mistake.block));
            MistakeInSpec { mistake: mistake.clone(), span, place }
        };
        let mistakes: Vec<MistakeInSpec> = invalid.mistakes.iter().map(find).collect();
        let span = mistakes.first().map(|first| first.span.clone());
        let span = span.unwrap_or_else(|| locate(root, &invalid.field));
        SpecError { mistakes, ..SpecError::new(text, span, invalid) }
    }

    /// The same error at its position in `text`, of which the spec that was read was made.
    pub fn in_text(self, text: &str) -> Self {
        match DeTable::parse(text) {
            Ok(root) => SpecError::within(text, &root, *self.invalid),
            Err(_) => self,
        }
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.mistakes.is_empty() {
            return write!(f, "line {}: {}", self.line, self.invalid);
        }
        let each: Vec<String> = self.mistakes.iter().map(MistakeInSpec::to_string).collect();
        f.write_str(&each.join("\n"))
    }
}

/// In one line.
impl Display for MistakeInSpec {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Mistake { block, line, column, message, help, .. } = &self.mistake;
        match self.place {
            Some((line, column)) => write!(f, "line {line}, column {column}: {block}: {message}")?,
            None => write!(f, "{block}, line {line}, column {column}: {message}")?,
        }
        if help.is_empty() { Ok(()) } else { write!(f, "; {help}") }
    }
}

/// Line and column of a byte of `text`, from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = 1 + before[..start].iter().filter(|&&byte| byte == b'\n').count();
    // Bytes that go on with a character of UTF-8 do not count.
    let column = 1 + before[start..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    const SPEC: &str = "[model]
parameters = PARAMETERS
record = RECORD

[release]
n = 40
statistic = \"sum\"
values = [10.0, 3.0]
statistics = [\"x > 0\",
  STATISTIC]
mechanism = { kind = \"laplace\", epsilon = 1.0 }
";

    const PARAMETERS: &str = "\"\"\"\nm ~ normal(0, 1)\n\"\"\"";
    const RECORD: &str = "\"x ~ normal(m, 1)\"";
    const STATISTIC: &str = "\"x > 1\"";

    /// The error of the spec, and the words that it underlines, each with line and column.
    fn underlined(parameters: &str, record: &str, statistic: &str) -> (SpecError, Vec<String>) {
        let text = SPEC.replace("PARAMETERS", parameters).replace("RECORD", record);
        let text = text.replace("STATISTIC", statistic);
        let error = Spec::parse(&text).expect_err(&text);
        let words = error.mistakes.iter().map(|own| {
            let (line, column) = own.place.expect("a place");
            format!("{line}:{column} {}", &text[own.span.clone()])
        });
        let words = words.collect();
        (error, words)
    }

    #[test]
    fn mistakes_are_found_in_the_spec() {
        // Each kind of string: a line break after three quotes does not count.
        for (quotes, place) in [
            ("\"\"\"\nTEXT\"\"\"", "3:12 q"),
            ("\"\"\"TEXT\"\"\"", "2:28 q"),
            ("'''\nTEXT\n'''", "3:12 q"),
            ("\"\"\"\n\n  TEXT\"\"\"", "4:14 q"),
            ("\"TEXT\"", "2:26 q"),
            ("'TEXT'", "2:26 q"),
            ("\"\"\"\r\nTEXT\r\n\"\"\"", "3:12 q"),
        ] {
            let text = quotes.replace("TEXT", "m ~ normal(q, 1)");
            assert_eq!(underlined(&text, RECORD, STATISTIC).1, [place], "{quotes}");
        }
        // Columns count characters.
        let text = "\"\"\"\nm ~ normal(0, 1) # größe\n\tc = 2 − q\n\"\"\"";
        assert_eq!(underlined(text, RECORD, STATISTIC).1, ["4:8 −"]);
        let statistic = "\"voted * 2\"";
        let (error, words) = underlined(PARAMETERS, RECORD, statistic);
        assert_eq!((words, error.line), (vec!["12:4 voted".to_string()], 12));
        assert_eq!(error.mistakes[0].mistake.block, "release.statistics[1]");
        assert_eq!((error.mistakes[0].mistake.line, error.mistakes[0].mistake.column), (1, 1));
    }

    #[test]
    fn all_mistakes_of_both_texts_are_given() {
        let parameters = "\"\"\"\nm ~ nromal(0, 1)\ns ~ half_normal(q)\n\"\"\"";
        let (error, words) = underlined(parameters, "\"x ~ normal(m, r)\"", STATISTIC);
        assert_eq!(words, ["3:5 nromal", "4:17 q", "6:25 r"]);
        let said = error.to_string();
        let first = "line 3, column 5: model.parameters: unknown distribution `nromal`; did you \
                     mean `normal`?";
        assert!(said.starts_with(first) && said.lines().count() == 3, "{said}");
        // Where there is no file, the position in the text is given.
        let said = error.invalid.to_string();
        for place in ["model.parameters, line 1, column 5:", "model.record, line 1, column 15:"] {
            assert!(said.contains(place) && !said.contains("llowed"), "{said}");
        }
        let bad = "\"x * 3\"";
        let (_, words) = underlined(PARAMETERS, RECORD, &format!("{bad}, {bad}"));
        assert_eq!(words, ["12:4 x * 3", "12:13 x * 3"]);
    }

    /// With escapes nobody knows where a word stands: the whole field is underlined.
    #[test]
    fn texts_with_escapes_have_the_place_of_the_field() {
        let text = SPEC.replace("PARAMETERS", "\"m ~ normal(0, 1)\\ns ~ half_normal(q)\"");
        let text = text.replace("RECORD", RECORD).replace("STATISTIC", STATISTIC);
        let error = Spec::parse(&text).unwrap_err();
        assert_eq!((error.line, error.mistakes.len()), (2, 1));
        let found = &error.mistakes[0];
        assert_eq!(found.place, None);
        assert!(text[found.span.clone()].starts_with("parameters = \"m"));
        let said = error.to_string();
        assert!(said.starts_with("model.parameters, line 2, column 17: unknown name"), "{said}");
    }

    /// A draft is read with a number of records put into it.
    #[test]
    fn an_error_can_be_found_in_another_text() {
        let whole = SPEC.replace("PARAMETERS", PARAMETERS).replace("RECORD", RECORD);
        let whole = whole.replace("STATISTIC", "\"x\"");
        let other = format!("# A comment.\n\n{whole}");
        let error = Spec::parse(&whole).unwrap_err();
        assert_eq!(error.mistakes[0].place, Some((12, 4)));
        assert_eq!(error.in_text(&other).mistakes[0].place, Some((14, 4)));
    }
}
