//! Columns of a table of data.

/// A cell of the data.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number.
    Number(f64),
    /// A text that is no number.
    Text(String),
    /// Nothing, or a number that is none.
    Missing,
}

impl Cell {
    /// A text that may be a number, or stand for nothing.
    pub fn of_text(text: &str) -> Cell {
        let text = text.trim();
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Cell::Number(number),
            Ok(_) => Cell::Missing,
            Err(_) => match text {
                "" | "NA" | "N/A" | "null" | "NULL" | "None" => Cell::Missing,
                "true" | "TRUE" | "True" => Cell::Number(1.0),
                "false" | "FALSE" | "False" => Cell::Number(0.0),
                text => Cell::Text(text.to_string()),
            },
        }
    }
}

/// The columns of a table, by name.
#[derive(Debug, Clone)]
pub struct Data {
    names: Vec<String>,
    columns: Vec<Vec<Cell>>,
    rows: usize,
}

impl Data {
    /// The columns of these names, all of one length.
    pub fn new(names: Vec<String>, columns: Vec<Vec<Cell>>) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        Data { names, columns, rows }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A column, if it is there.
    pub fn column(&self, name: &str) -> Option<&[Cell]> {
        let at = self.names.iter().position(|own| own == name)?;
        Some(&self.columns[at])
    }
}
