//! Columns of a table of data.

use soma::error::counted;

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

    /// A digest that goes on with this cell. What is the same number is the same cell.
    fn digest(&self, hash: u128) -> u128 {
        match (self.number(), self) {
            // Without the sign of zero.
            (Some(x), _) => fnv(fnv(hash, &[1]), &(x + 0.0).to_bits().to_le_bytes()),
            (None, Cell::Text(text)) => fnv(fnv(fnv(hash, &[2]), text.as_bytes()), &[0]),
            (None, _) => fnv(hash, &[3]),
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
    /// The columns of these names, refused where they are not of one length.
    pub fn new(names: Vec<String>, columns: Vec<Vec<Cell>>) -> Result<Self, String> {
        let rows = columns.first().map_or(0, Vec::len);
        match columns.iter().position(|column| column.len() != rows) {
            None => Ok(Data { names, columns, rows }),
            Some(c) => Err(format!(
                "the data: the columns have different lengths (given: {} in {:?}, {} in {:?}). \
                 Allowed: columns of one length.",
                counted(rows, "value"),
                names[0],
                counted(columns[c].len(), "value"),
                names[c]
            )),
        }
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

    /// A digest of the content, by which a ledger knows these data under another name. The orders of
    /// the rows and of the columns do not matter.
    ///
    /// It is FNV-1a with 128 bits, which is enough against accidents. It has no key: the ledger is
    /// as confidential as the data.
    pub fn digest(&self) -> String {
        let mut columns: Vec<(&String, &Vec<Cell>)> =
            self.names.iter().zip(&self.columns).collect();
        columns.sort_by_key(|(name, _)| *name);
        let names: Vec<&String> = columns.iter().map(|(name, _)| *name).collect();
        let names = fnv(START, format!("{names:?}").as_bytes());
        let row = |i: usize| columns.iter().fold(START, |hash, (_, column)| column[i].digest(hash));
        format!("{:032x}", (0..self.rows).map(row).fold(names, u128::wrapping_add))
    }
}

const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

fn fnv(start: u128, bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0100_0000_0000_0000_0000_013b;
    bytes.iter().fold(start, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_data_apart_and_not_orders_of_rows() {
        let data = |cells: [f64; 4]| {
            let column = |two: &[f64]| two.iter().map(|x| Cell::Number(*x)).collect();
            let columns = vec![column(&cells[..2]), column(&cells[2..])];
            Data::new(vec!["a".into(), "b".into()], columns).unwrap().digest()
        };
        assert_eq!(data([1.0, 2.0, 3.0, 4.0]), data([2.0, 1.0, 4.0, 3.0]));
        assert_ne!(data([1.0, 2.0, 3.0, 4.0]), data([1.0, 2.0, 4.0, 3.0]));
        assert_eq!(fnv(START, b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    /// As two programs write the same table: columns in another order, True and true, 1.0 and 1.
    #[test]
    fn a_digest_is_of_values_and_not_of_how_they_are_written() {
        let data = |names: [&str; 2], cells: [[&str; 2]; 2]| {
            let column = |two: [&str; 2]| two.map(Cell::of_text).to_vec();
            let columns = cells.map(column).to_vec();
            Data::new(names.map(String::from).to_vec(), columns).unwrap().digest()
        };
        let one = data(["is", "x"], [["True", "False"], ["1.0", "-0"]]);
        assert_eq!(one, data(["x", "is"], [["1", "0"], ["true", "false"]]));
        assert_ne!(one, data(["x", "is"], [["1", ""], ["true", "false"]]));
        assert_ne!(one, data(["x", "is"], [["0", "1"], ["true", "false"]]));
        assert_ne!(one, data(["y", "is"], [["1", "0"], ["true", "false"]]));
    }

    #[test]
    fn columns_are_of_one_length() {
        let columns = vec![vec![Cell::Number(1.0); 2], vec![Cell::Number(1.0); 3]];
        let said = Data::new(vec!["a".into(), "b".into()], columns).unwrap_err();
        assert!(said.contains("2 values in \"a\", 3 values in \"b\""), "{said}");
    }
}
