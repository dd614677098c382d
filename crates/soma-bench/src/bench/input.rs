//! Validation of the options of `soma bench`.

/// The largest number of records: a guard against typing errors.
const MOST_RECORDS: usize = 100_000_000;

/// A number of records.
pub fn records(text: &str) -> Result<usize, String> {
    let allowed = || format!("must be a whole number from 1 to {MOST_RECORDS}");
    let n = text.replace('_', "").parse().map_err(|_| allowed())?;
    if (1..=MOST_RECORDS).contains(&n) { Ok(n) } else { Err(allowed()) }
}

/// A privacy budget.
pub fn epsilon(text: &str) -> Result<f64, String> {
    positive(text)
}

/// A time.
pub fn seconds(text: &str) -> Result<f64, String> {
    positive(text)
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| "must be a number above 0".to_string())
}
