//! A published release with statistics as text, which only a model can check in full.

use soma::error::{counted, rounded};
use toml::{Table, Value};

use super::draft::parts;

/// Whether a text is a release alone, with statistics as text.
pub(super) fn is_of_text(text: &str) -> bool {
    let root: Table = text.parse().unwrap_or_default();
    soma::spec::is_release(text) && parts(&root).iter().any(|part| part.contains_key("statistics"))
}

/// What such a release says of itself.
pub(super) fn describe(text: &str) -> String {
    let root: Table = text.parse().unwrap_or_default();
    let release = root.get("release").and_then(Value::as_table).cloned().unwrap_or_default();
    let n = release.get("n").map_or("unknown".into(), plain);
    let neighbours = release.get("neighbours").map_or("not stated".into(), plain);
    let guarantee = release.get("guarantee").and_then(Value::as_table).map(|own| {
        let said = own.iter().map(|(key, value)| format!("{key} {}", plain(value)));
        format!("; guarantee: {}", said.collect::<Vec<_>>().join(", "))
    });
    let parts: String = parts(&root).into_iter().map(part).collect();
    format!(
        "release  n: {n}, neighbours: {neighbours}{}{parts}\n\
         model    none: this is a release alone, with statistics as text. Their bounds are checked \
         with a model that names the variables, which `soma fit` needs too",
        guarantee.unwrap_or_default()
    )
}

fn part(part: &Table) -> String {
    let list = |key: &str| part.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let statistics: Vec<String> = list("statistics").iter().map(plain).collect();
    let what = match part.get("query").and_then(|query| query.get("kind")) {
        Some(kind) => format!("a {} query", plain(kind)),
        None => statistics.join(", "),
    };
    let name = part.get("name").map_or(String::new(), |name| format!("{}: ", plain(name)));
    let mechanism = part.get("mechanism").and_then(Value::as_table).cloned().unwrap_or_default();
    let noise = mechanism.iter().map(|(key, value)| match key.as_str() {
        "kind" => plain(value),
        key => format!("{key} {}", plain(value)),
    });
    format!(
        "\n  {name}the {} of {what}; {}; noise: {}",
        part.get("statistic").map_or("statistic".into(), plain),
        match part.contains_key("values") {
            true => counted(list("values").len(), "value"),
            false => "no values yet".into(),
        },
        noise.collect::<Vec<_>>().join(", ")
    )
}

/// A value without quotes, and with few digits.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(x) => rounded(*x),
        other => other.to_string(),
    }
}
