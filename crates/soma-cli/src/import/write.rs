//! The table `[release]` as text.

use std::fmt::Write;

/// A part of a release, as text of a spec.
pub struct Part {
    /// Its name.
    pub name: String,
    /// `query = ...` or `statistics = ...`.
    pub query: String,
    /// Whether sums were published; otherwise the mechanism determines the statistic.
    pub is_sum: bool,
    /// The values; `None` for a suppressed one.
    pub values: Vec<Option<f64>>,
    /// The table `mechanism`, key by key.
    pub mechanism: Vec<(&'static str, String)>,
}

/// The table `[release]` of parts on the same records, after comments for the reader.
pub fn release(n: Option<&str>, parts: &[Part], remarks: &[String]) -> String {
    let mut text = String::new();
    for remark in remarks {
        let _ = writeln!(text, "# {remark}");
    }
    let n = match n {
        None => "\"unknown\"".to_string(),
        Some(n) if n.parse::<u64>().is_ok() || n.starts_with('{') => n.to_string(),
        Some(n) => quoted(n),
    };
    let _ = writeln!(text, "[release]\nn = {n}");
    for part in parts {
        let _ =
            writeln!(text, "\n[[release.parts]]\nname = {}\n{}", quoted(&part.name), part.query);
        if part.is_sum {
            text.push_str("statistic = \"sum\"\n");
        }
        let value = |value: &Option<f64>| value.map_or("\"suppressed\"".to_string(), number);
        let values: Vec<String> = part.values.iter().map(value).collect();
        let law: Vec<String> =
            part.mechanism.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let _ = writeln!(text, "values = [{}]", values.join(", "));
        let _ = writeln!(text, "mechanism = {{ {} }}", law.join(", "));
    }
    text
}

/// A number; integers without a decimal point.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        format!("{value:?}")
    }
}

/// One number if all are equal, or a list.
pub fn numbers(values: &[f64]) -> String {
    match values {
        [first, rest @ ..] if rest.iter().all(|value| value == first) => format!("{first:?}"),
        _ => list(values),
    }
}

/// A list of numbers.
pub fn list(values: &[f64]) -> String {
    format!("[{}]", values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(", "))
}

/// A quoted string.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A list of strings.
pub fn texts(texts: &[String]) -> String {
    format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
}
