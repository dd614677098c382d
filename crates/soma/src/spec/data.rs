//! The table `[data]` of a curator's spec: where in the data the records stand.

use super::value::Table;
use super::{SpecError, with_place};
use crate::error::{Invalid, positive};

/// The most that all releases of the data together may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Of pure differential privacy.
    Epsilon(f64),
    /// Of zero-concentrated differential privacy.
    Rho(f64),
}

/// Which columns of a table of data make a record, how many records a person may have, and what may
/// be spent on them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Columns {
    /// The columns, in the order of the coordinates of a record; none are named where the variables
    /// of a model as text say them.
    pub names: Option<Vec<String>>,
    /// The most records of one person: 1, if nothing is said.
    pub contributions: Option<u64>,
    /// The column that says whose record it is, by which the bound is checked.
    pub person: Option<String>,
    /// The labels of columns of categories, in the order of the codes of a model as text.
    pub labels: Vec<(String, Vec<String>)>,
    /// The most that all releases of the data may spend.
    pub budget: Option<Limit>,
}

impl Columns {
    /// Reads the table `[data]` of a spec, if it is there.
    ///
    /// ```
    /// let data = soma::spec::Columns::parse("[data]\ncolumns = [\"age\", \"income\"]\n")?;
    /// assert_eq!(data.names.unwrap(), ["age", "income"]);
    /// # Ok::<(), soma::spec::SpecError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        with_place(text, read)
    }
}

pub(super) fn read(root: &Table) -> Result<Columns, Invalid> {
    let Some(value) = root.get("data") else { return Ok(Columns::default()) };
    let table = value.table("lines such as columns = [\"age\", \"income\"]")?;
    table.only(&["columns", "contributions", "person", "labels", "budget"])?;
    let names = table.get("columns").map(|columns| columns.texts()).transpose()?;
    if let Some(names) = &names {
        let twice = (0..names.len()).find(|&i| names[..i].contains(&names[i]));
        if names.is_empty() || twice.is_some() {
            return Err(Invalid::new(
                table.field("columns"),
                "are no columns of a record",
                format!("{names:?}"),
                "the name of the column of each coordinate of a record, each once",
            ));
        }
    }
    let contributions = table.get("contributions").map(|most| most.whole(1..=u64::from(u32::MAX)));
    let person = table.get("person").map(|person| person.text()).transpose()?;
    let contributions = contributions.transpose()?;
    let (labels, budget) = (labels(&table)?, budget(&table)?);
    Ok(Columns { names, contributions, person, labels, budget })
}

/// `labels = { region = ["north", "south"] }`.
fn labels(table: &Table) -> Result<Vec<(String, Vec<String>)>, Invalid> {
    let Some(value) = table.get("labels") else { return Ok(Vec::new()) };
    let example = "{ region = [\"north\", \"south\"], ... }, the labels of a column in order";
    let own = value.table(example)?;
    let read = |name: &str| Ok((name.to_string(), own.need(name, example)?.texts()?));
    own.keys().map(read).collect()
}

/// `budget = 1.0`, of epsilon, or `budget = { rho = 0.5 }`.
fn budget(table: &Table) -> Result<Option<Limit>, Invalid> {
    let Some(value) = table.get("budget") else { return Ok(None) };
    let allowed = "a number, the total of epsilon; or { rho = ... }";
    if !value.is_table() {
        return Ok(Some(Limit::Epsilon(positive(value.path(), value.number()?)?)));
    }
    let own = value.table(allowed)?;
    own.only(&["epsilon", "rho"])?;
    match (own.get("epsilon"), own.get("rho")) {
        (Some(most), None) => Ok(Some(Limit::Epsilon(positive(most.path(), most.number()?)?))),
        (None, Some(most)) => Ok(Some(Limit::Rho(positive(most.path(), most.number()?)?))),
        (one, _) => {
            let given = if one.is_some() { "both" } else { "nothing" };
            Err(Invalid::new(value.path(), "is no budget", given, allowed))
        }
    }
}
