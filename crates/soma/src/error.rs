//! What can go wrong, said so that it can be mended.

/// An input that cannot be used: which field, what was given, what is allowed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{field}: {problem} (given: {given}). Allowed: {allowed}{}", full_stop(.allowed))]
pub struct Invalid {
    /// The field, as a path in the spec, such as `release.mechanism.epsilon`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What was given.
    pub given: String,
    /// What would be right, and so how to mend it.
    pub allowed: String,
}

/// What ends a sentence that may be a question.
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
        }
    }

    /// The same error, its field put below `parent`: `epsilon` becomes `release.epsilon`.
    pub fn under(mut self, parent: &str) -> Self {
        self.field = if self.field.is_empty() {
            parent.to_string()
        } else {
            format!("{parent}.{}", self.field)
        };
        self
    }
}

/// The most names in a message.
pub const MOST_NAMES: usize = 10;

/// How many characters of a name, or of what was given, a message shows.
const SHOWN: usize = 60;

/// Names as a message lists them: the first ten, each cut where it is long, and how many there are.
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

/// The beginning of a text, with dots where it was cut.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_string(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Why a run could not go on, such as an exception in a user's own model.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a step that may fail in code that is not ours.
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
