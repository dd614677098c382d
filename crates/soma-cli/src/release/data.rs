//! Columns of a table of data.

use std::fmt::Write;

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
                text => Cell::Text(text.to_string()),
            },
        }
    }

    /// The number that the cell is; 0 or 1, where it says false or true.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(x) => Some(*x),
            Cell::Text(text) if text.eq_ignore_ascii_case("true") => Some(1.0),
            Cell::Text(text) if text.eq_ignore_ascii_case("false") => Some(0.0),
            _ => None,
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

    /// How many columns have this name.
    pub fn count(&self, name: &str) -> usize {
        self.names.iter().filter(|own| *own == name).count()
    }

    /// A digest of the content, by which a ledger knows these data under another name. The order of
    /// the rows does not matter.
    ///
    /// It is FNV-1a with 128 bits, which is enough against accidents. It has no key: the ledger is
    /// as confidential as the data.
    pub fn digest(&self) -> String {
        let names = fnv(&format!("{:?}", self.names));
        let mut row = String::new();
        let rows = (0..self.rows).map(|i| {
            row.clear();
            for column in &self.columns {
                let _ = write!(row, "{:?};", column[i]);
            }
            fnv(&row)
        });
        format!("{:032x}", rows.fold(names, u128::wrapping_add))
    }
}

fn fnv(text: &str) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    text.bytes().fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_data_apart_and_not_orders_of_rows() {
        let data = |cells: [f64; 4]| {
            let column = |two: &[f64]| two.iter().map(|x| Cell::Number(*x)).collect();
            let columns = vec![column(&cells[..2]), column(&cells[2..])];
            Data::new(vec!["a".into(), "b".into()], columns).digest()
        };
        assert_eq!(data([1.0, 2.0, 3.0, 4.0]), data([2.0, 1.0, 4.0, 3.0]));
        assert_ne!(data([1.0, 2.0, 3.0, 4.0]), data([1.0, 2.0, 4.0, 3.0]));
        assert_eq!(fnv(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
