//! The table `[data]` of a curator's spec: where in the data the records stand.

use super::value::Table;
use super::{SpecError, with_place};
use crate::error::Invalid;

/// Which columns of a table of data make a record, and how many records a person may have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// The columns, in the order of the coordinates of a record; none are named where the variables
    /// of a model as text say them.
    pub names: Option<Vec<String>>,
    /// The most records of one person: 1, if nothing is said.
    pub contributions: Option<u64>,
    /// The column that says whose record it is, by which the bound is checked.
    pub person: Option<String>,
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
    table.only(&["columns", "contributions", "person"])?;
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
    Ok(Columns { names, contributions: contributions.transpose()?, person })
}
