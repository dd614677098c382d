//! A spec with another number of records.

use toml::{Table, Value};

/// The text of a spec with `n` in the place of the n of its release; the text as it is, where it
/// has none. For [calibration](crate::calibration), where the released values do not matter.
pub fn with_n(text: &str, n: u64) -> String {
    let Ok(mut table) = text.parse::<Table>() else { return text.into() };
    let Some(Value::Table(release)) = table.get_mut("release") else { return text.into() };
    let Ok(n) = i64::try_from(n) else { return text.into() };
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
    }
}
