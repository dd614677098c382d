//! A spec with another number of records.

use toml::{Table, Value};

/// The text of a spec with the number of records replaced by `n`, and sums in proportion; unchanged
/// if it has none. For [calibration](crate::calibration), where the released values do not matter
/// but must be possible for n records.
pub fn with_n(text: &str, n: u64) -> String {
    let Ok(mut table) = text.parse::<Table>() else { return text.into() };
    let Some(Value::Table(release)) = table.get_mut("release") else { return text.into() };
    let (Some(before), Ok(n)) = (release.get("n").and_then(Value::as_integer), i64::try_from(n))
    else {
        return text.into();
    };
    let share = n as f64 / before.max(1) as f64;
    let is_sum = release.get("statistic").and_then(Value::as_str) == Some("sum");
    if is_sum && let Some(Value::Array(values)) = release.get_mut("values") {
        for value in values {
            match value {
                Value::Integer(whole) => *whole = (*whole as f64 * share).round() as i64,
                Value::Float(number) => *number *= share,
                _ => {}
            }
        }
    }
    release.insert("n".into(), Value::Integer(n));
    toml::to_string(&table).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    #[test]
    fn n_is_replaced_and_nothing_else() {
        let text = include_str!("../../../../examples/private-mean-n2.toml");
        let spec = Spec::parse(&with_n(text, 7)).unwrap();
        assert_eq!(spec.problem.release().n(), 7);
        let before = Spec::parse(text).unwrap();
        assert_eq!(spec.problem.outputs(), before.problem.outputs());
        assert_eq!(with_n("x = [", 7), "x = [");
        let sums = include_str!("../../../../examples/category-counts.toml");
        let spec = Spec::parse(&with_n(sums, 50)).unwrap();
        assert_eq!(spec.problem.release().values(), [22.0, 15.0, 7.0, 4.0, 3.0]);
    }
}
