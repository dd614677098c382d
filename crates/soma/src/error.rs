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
