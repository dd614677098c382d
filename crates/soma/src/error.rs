//! Errors.

use std::fmt::{self, Display, Formatter};

pub use soma_language::Mistake;

/// An invalid input: the field, the given value and the allowed values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub struct Invalid {
    /// The field, as a path in the spec, such as `release.mechanism.epsilon`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What was given.
    pub given: String,
    /// What is allowed, and so how to fix it.
    pub allowed: String,
    /// All errors, if the field is a model or statistics as text, of which the other fields give the
    /// first. Their blocks are paths in the spec.
    pub mistakes: Box<[Mistake]>,
}

impl Display for Invalid {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let Invalid { field, problem, given, allowed, mistakes } = self;
        if mistakes.is_empty() {
            let stop = full_stop(allowed);
            return write!(f, "{field}: {problem} (given: {given}). Allowed: {allowed}{stop}");
        }
        let each: Vec<String> = mistakes.iter().map(Mistake::to_string).collect();
        f.write_str(&each.join("\n"))
    }
}

/// The punctuation after a sentence that may be a question.
fn full_stop(sentence: &str) -> &'static str {
    if sentence.ends_with('?') { "" } else { "." }
}

impl Invalid {
    /// An error for `field`: what is wrong, what was given, what is allowed.
    pub fn new(
        field: impl Into<String>,
        problem: impl Into<String>,
        given: impl ToString,
        allowed: impl Into<String>,
    ) -> Self {
        Invalid {
            field: field.into(),
            problem: problem.into(),
            given: given.to_string(),
            allowed: allowed.into(),
            mistakes: Box::default(),
        }
    }

    /// The errors of texts; none, if there are none.
    pub fn of_mistakes(mistakes: impl IntoIterator<Item = Mistake>) -> Option<Self> {
        let mistakes: Box<[Mistake]> = mistakes.into_iter().collect();
        let first = mistakes.first()?;
        let problem = format!("line {}, column {}: {}", first.line, first.column, first.message);
        let given = first.line_text.trim();
        let invalid = Invalid::new(&first.block, problem, given, &first.help);
        Some(Invalid { mistakes, ..invalid })
    }

    /// The same error with its field below `parent`: `epsilon` becomes `release.epsilon`.
    pub fn under(mut self, parent: &str) -> Self {
        let below = |field: &str| match field.is_empty() {
            true => parent.to_string(),
            false => format!("{parent}.{field}"),
        };
        self.field = below(&self.field);
        for mistake in &mut self.mistakes {
            mistake.block = below(&mistake.block);
        }
        self
    }
}

/// The largest number of names in a message.
pub const MOST_NAMES: usize = 10;

/// The largest number of characters of a name or a given value in a message.
const SHOWN: usize = 60;

/// A list of names for a message: the first ten, each truncated if long, and their number.
///
/// ```
/// assert_eq!(soma::error::listed(&["a", "b"]), "a, b");
/// let many: Vec<String> = (0..100).map(|i| i.to_string()).collect();
/// assert_eq!(soma::error::listed(&many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (100 in all)");
/// ```
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| shortened(name.as_ref())).collect();
    let rest = match names.len() {
        all if all > MOST_NAMES => format!(", ... ({all} in all)"),
        _ => String::new(),
    };
    shown.join(", ") + &rest
}

/// A number for people: six significant digits, without zeros at the end.
///
/// ```
/// assert_eq!(soma::error::rounded(0.1 + 0.2), "0.3");
/// assert_eq!(soma::error::rounded(0.0026666679382342006), "0.00266667");
/// ```
pub fn rounded(x: f64) -> String {
    format!("{x:.5e}").parse().map_or_else(|_| x.to_string(), |short: f64| short.to_string())
}

/// A number of things, with the plural where it is one.
///
/// ```
/// use soma::error::counted;
/// assert_eq!((counted(1, "value"), counted(3, "value")), ("1 value".into(), "3 values".into()));
/// ```
pub fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// The beginning of a text, with an ellipsis if it is truncated.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// The reason why a run failed, such as an exception in a user's model.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a step that may fail, possibly in a user's code.
pub type Outcome<T = ()> = Result<T, Failure>;

/// `value` if it is finite and positive, and otherwise an error that names `field`.
pub fn positive(field: &str, value: f64) -> Result<f64, Invalid> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(Invalid::new(field, "must be a positive number", value, "a finite number above 0"))
    }
}

/// `value` if it is finite, and otherwise an error that names `field`.
pub fn finite(field: &str, value: f64) -> Result<f64, Invalid> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(Invalid::new(
            field,
            "must be a finite number",
            value,
            "a number that is not NaN or infinite",
        ))
    }
}

/// `(low, high)` if both are finite and `low < high`, and otherwise an error that names `field`.
pub fn interval(field: &str, (low, high): (f64, f64)) -> Result<(f64, f64), Invalid> {
    if low.is_finite() && high.is_finite() && low < high {
        Ok((low, high))
    } else {
        Err(Invalid::new(
            field,
            "must be an interval",
            format!("[{low}, {high}]"),
            "two finite numbers [low, high] with low < high",
        ))
    }
}
