//! Counts by the levels of one column or of several.

use super::Options;
use super::write::texts;

/// A table of counts: the query, and the row of each of its cells.
pub struct Cells {
    /// `query = ...`.
    pub query: String,
    /// The row of each cell; `None` for a suppressed cell.
    pub rows: Vec<Option<usize>>,
}

impl Cells {
    /// The cells of rows with these keys. Levels are sorted, since tools publish rows in any order;
    /// those of one column may be given.
    pub fn new(keys: &[Vec<String>], options: &Options) -> Result<Cells, String> {
        let axes = keys.first().map_or(0, Vec::len);
        let levels: Vec<Vec<String>> = (0..axes)
            .map(|axis| {
                let mut levels: Vec<String> = keys.iter().map(|key| key[axis].clone()).collect();
                levels.sort();
                levels.dedup();
                levels
            })
            .collect();
        let levels = match (&levels[..], options.labels.is_empty()) {
            ([own], false) => vec![given(own, &options.labels)?],
            (_, false) => {
                return Err(format!(
                    "labels: are for counts by one column (given: {axes} columns). Allowed: leave \
                     them out."
                ));
            }
            _ => levels,
        };
        let mut cells: Vec<Vec<String>> = vec![Vec::new()];
        for axis in &levels {
            let with = |cell: &Vec<String>| {
                let cell = cell.clone();
                axis.iter().map(move |level| [&cell[..], std::slice::from_ref(level)].concat())
            };
            cells = cells.iter().flat_map(with).collect();
        }
        let find = |cell: &Vec<String>| keys.iter().position(|key| key == cell);
        let rows: Vec<Option<usize>> = cells.iter().map(find).collect();
        let shown = rows.iter().flatten().count();
        if shown != keys.len() {
            let twice = keys.iter().enumerate().find(|(i, key)| keys[..*i].contains(key));
            let given = twice.map_or_else(String::new, |(_, key)| key.join(", "));
            return Err(format!(
                "the same cell is in two rows (given: {given}). Allowed: one row for each cell."
            ));
        }
        let query = match &levels[..] {
            [labels] => format!("query = {{ kind = \"categories\", labels = {} }}", texts(labels)),
            _ => {
                let axes: Vec<String> = levels.iter().map(|axis| texts(axis)).collect();
                format!("query = {{ kind = \"table\", axes = [{}] }}", axes.join(", "))
            }
        };
        Ok(Cells { query, rows })
    }

    /// The values of the cells.
    pub fn values(
        &self,
        published: &[Option<f64>],
        threshold: Option<f64>,
    ) -> Result<Vec<Option<f64>>, String> {
        let values: Vec<Option<f64>> =
            self.rows.iter().map(|row| row.and_then(|row| published[row])).collect();
        let hidden = values.iter().filter(|value| value.is_none()).count();
        if hidden > 0 && threshold.is_none() {
            return Err(format!(
                "threshold: {hidden} cells are not shown, and it is not known up to which noisy \
                 count (given: nothing). Allowed: --threshold T; or a row for every cell."
            ));
        }
        Ok(values)
    }
}

/// The given labels, if they include all of the table's own.
fn given(own: &[String], labels: &[String]) -> Result<Vec<String>, String> {
    match own.iter().find(|level| !labels.contains(level)) {
        None => Ok(labels.to_vec()),
        Some(level) => Err(format!(
            "labels: {level:?} is in the table and not among them (given: {}). Allowed: the labels \
             of all groups that there could be.",
            labels.join(", ")
        )),
    }
}
