//! Models and statistics as text: `parameters` and `record` of `[model]`, `statistics` of
//! `[release]`.

use std::sync::Arc;

use soma_language::{Data, Datum, Mistakes};

use super::value::Table;
use crate::error::Invalid;
use crate::model;
use crate::release::{Query, query};

/// The keys of a model as text.
const KEYS: [&str; 3] = ["parameters", "record", "data"];

/// The keys that a model as text may have beside those of every model.
pub(super) const ALL_KEYS: [&str; 4] = ["parameters", "record", "data", "outputs"];

/// The model of a table, if it is written as text.
pub(super) fn model(table: &Table) -> Result<Option<model::Text>, Invalid> {
    if KEYS.iter().all(|key| table.get(key).is_none()) {
        return Ok(None);
    }
    let text = |key| table.need(key, "lines such as `x ~ normal(m, s)`, in triple quotes")?.text();
    let (parameters, record) = (text("parameters")?, text("record")?);
    let mut data = Data::new();
    if let Some(values) = table.get("data") {
        let values = values.table("{ name = a number or a list of numbers, ... }")?;
        for name in values.keys() {
            let Some(value) = values.get(name) else { continue };
            let datum = match value.is_list() {
                true => Datum::Vector(value.numbers()?),
                false => Datum::Scalar(value.number()?),
            };
            data = data.with(name, datum);
        }
    }
    let model = model::Text::new(&parameters, &record, &data);
    let model = model.map_err(|mistakes| invalid(&mistakes).under(table.path()))?;
    let Some(outputs) = table.get("outputs") else { return Ok(Some(model)) };
    let model = model.with_outputs(&outputs.texts()?);
    model.map(Some).map_err(|invalid| invalid.under(table.path()))
}

/// The query of `statistics`, if the table has them.
pub(super) fn query(
    table: &Table,
    model: Option<&model::Text>,
) -> Result<Option<Arc<dyn Query>>, Invalid> {
    let Some(statistics) = table.get("statistics") else { return Ok(None) };
    if let Some(query) = table.get("query") {
        let problem = "the statistics already determine the query";
        return Err(Invalid::new(query.path(), problem, "both", "statistics alone, or query"));
    }
    let texts = statistics.texts()?;
    let Some(model) = model else {
        return Err(Invalid::new(
            statistics.path(),
            "statistics as text name the variables of a record",
            "a model without `record`",
            "[model] with parameters = ... and record = ...; kind = \"normal\", \"exponential\" or \
             \"beta\" with the variable x; kind = \"regression\" with x1, x2, ... and y; or query = \
             { kind = ..., ... } here",
        ));
    };
    let query = query::Text::new(&texts, model.text());
    let query = query.map_err(|mistakes| invalid(&mistakes).under(table.path()))?;
    Ok(Some(Arc::new(query)))
}

/// The key of a block: `statistics[1]` of "statistic 2", so that an error points to its line.
fn key(block: &str) -> String {
    let number = block.strip_prefix("statistic ").and_then(|number| number.parse::<usize>().ok());
    number.map_or_else(|| block.into(), |number| format!("statistics[{}]", number - 1))
}

/// The first error, with its position in the text.
fn invalid(Mistakes(mistakes): &Mistakes) -> Invalid {
    let Some(first) = mistakes.first() else {
        return Invalid::new("record", "cannot be read", "the text", "see docs/language.md");
    };
    let place = format!("line {}, column {}", first.line, first.column);
    let allowed = if first.help.is_empty() { "see docs/language.md" } else { &first.help };
    let problem = format!("{place}: {}", first.message);
    Invalid::new(key(&first.block), problem, first.line_text.trim(), allowed)
}
