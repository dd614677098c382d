//! Models and statistics as text: `parameters` and `record` of `[model]`, `statistics` of
//! `[release]`.

use std::sync::Arc;

use soma_language::{Data, Datum, Mistake, Mistakes};

use super::value::{Table, Value};
use crate::error::{Invalid, counted};
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
        let values =
            values.table("{ name = a number, a list of numbers or a list of rows, ... }")?;
        for name in values.keys() {
            let Some(value) = values.get(name) else { continue };
            data = data.with(name, datum(&value)?);
        }
    }
    let model = model::Text::new(&parameters, &record, &data);
    let model = model.map_err(|mistakes| invalid(mistakes).under(table.path()))?;
    let Some(outputs) = table.get("outputs") else { return Ok(Some(model)) };
    let model = model.with_outputs(&outputs.texts()?);
    model.map(Some).map_err(|invalid| invalid.under(table.path()))
}

/// A number, a vector, or a matrix as a list of its rows.
fn datum(value: &Value) -> Result<Datum, Invalid> {
    if !value.is_list() {
        return Ok(Datum::Scalar(value.number()?));
    }
    let items = value.list("a list of numbers, or of rows")?;
    if !items.iter().any(Value::is_list) {
        return Ok(Datum::Vector(value.numbers()?));
    }
    let mut entries = Vec::new();
    let mut columns = None;
    for (k, row) in items.iter().enumerate() {
        if !row.is_list() {
            let problem = format!("row {} of a matrix must be a list of numbers", k + 1);
            return Err(row.wrong(&problem, "rows of equal length, such as [[4, 1], [1, 4]]"));
        }
        let own = row.numbers()?;
        let columns = *columns.get_or_insert(own.len());
        if own.len() != columns || own.is_empty() {
            let problem =
                format!("row {} of the matrix has {}", k + 1, counted(own.len(), "number"));
            let allowed = match own.is_empty() {
                true => "one number or more in each row".to_string(),
                false => format!("{}, as in row 1", counted(columns, "number")),
            };
            return Err(row.wrong(&problem, allowed));
        }
        entries.extend(own);
    }
    Ok(Datum::Matrix(items.len(), entries))
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
    let query = query.map_err(|mistakes| invalid(mistakes).under(table.path()))?;
    Ok(Some(Arc::new(query)))
}

/// The key of a block: `statistics[1]` of "statistic 2", so that an error points to its line.
fn key(block: &str) -> String {
    let number = block.strip_prefix("statistic ").and_then(|number| number.parse::<usize>().ok());
    number.map_or_else(|| block.into(), |number| format!("statistics[{}]", number - 1))
}

/// All errors, with their positions in the texts; those of data and of an empty list have none.
fn invalid(Mistakes(mistakes): Mistakes) -> Invalid {
    let is_placed = |mistake: &Mistake| !["data", "statistics"].contains(&mistake.block.as_str());
    if let Some(first) = mistakes.iter().find(|mistake| !is_placed(mistake)) {
        return Invalid::new(&first.block, &first.message, "as it stands", &first.help);
    }
    let named = mistakes.into_iter().map(|own| Mistake { block: key(&own.block), ..own });
    Invalid::of_mistakes(named)
        .unwrap_or_else(|| Invalid::new("record", "cannot be read", "the text", "a model"))
}

#[cfg(test)]
mod tests {
    use crate::spec::Spec;

    fn with_data(data: &str) -> Result<Spec, String> {
        let text = format!(
            "[model]\nparameters = \"a ~ normal(0, 1)\"\n\
             record = \"x[1..2] ~ multi_normal([a, 0], cholesky(S))\"\ndata = {{ S = {data} }}\n\
             [release]\nn = 9\nstatistic = \"sum\"\nvalues = [1.0]\n\
             statistics = [\"x[1] > S[2, 1]\"]\n\
             mechanism = {{ kind = \"laplace\", scale = 1.0 }}\n"
        );
        Spec::parse(&text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_matrix_is_a_list_of_rows() {
        let spec = with_data("[[4, 1.5], [1.5, 4]]").unwrap();
        let described = spec.problem.model().describe().unwrap();
        assert!(described.contains("S: a matrix of 2 by 2"), "{described}");
        for (data, said) in [
            ("[[4, 1], [1]]", "row 2 of the matrix has 1 number"),
            ("[[4, 1], 3]", "row 2 of a matrix must be a list"),
            ("[3, [4, 1]]", "row 1 of a matrix must be a list"),
            ("[[], []]", "row 1 of the matrix has 0 numbers"),
            ("[[4, 1], [1, \"4\"]]", "model.data.S[1][1]"),
        ] {
            let error = with_data(data).err().unwrap_or_else(|| panic!("{data} is accepted"));
            assert!(error.contains(said), "{data}: {error}");
        }
    }
}
