//! Which column of the data is which variable of a record, and the records that they make.

use soma::error::{counted, listed};
use soma::model::Values;
use soma::release::Release;
use soma::release::query::Cells;
use soma::spec::Columns;

use super::data::{Cell, Data};

/// A variable of a record of a model as text.
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The values that it may have.
    pub values: Values,
}

/// What is to be released, and the variables of a record where a model as text names them.
pub struct Source {
    /// The release, whose values do not matter.
    pub release: Release,
    /// The variables.
    pub variables: Option<Vec<Variable>>,
}

/// Where a coordinate of a record stands in the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Its variable, where a model as text names it.
    pub variable: Option<String>,
    /// Its column; none for a variable that no statistic depends on.
    pub column: Option<String>,
}

impl Source {
    fn record_dim(&self) -> usize {
        self.release.record_query().record_dim()
    }

    /// The labels of each axis, where a record is the number of a cell of a table.
    fn axes(&self) -> Option<Vec<Vec<String>>> {
        let levels = self.release.record_query().cells().filter(Cells::is_of_levels)?;
        Some(levels.axes.into_iter().map(|axis| axis.labels).collect())
    }

    fn is_read(&self, c: usize) -> bool {
        self.release.published_parts().iter().any(|part| part.query().reads(c))
    }

    /// Finds the column of each coordinate: by the names in `[data]`, or by those of the variables.
    pub fn places(&self, columns: &Columns, data: &Data) -> Result<Vec<Place>, String> {
        let variables: Option<Vec<String>> =
            self.variables.as_ref().map(|all| all.iter().map(|v| v.name.clone()).collect());
        let expected = self.axes().map_or(self.record_dim(), |axes| axes.len());
        let names = columns.names.as_ref().or(variables.as_ref()).ok_or_else(|| {
            format!(
                "data.columns: the spec does not say which columns make a record (given: none). \
                 Allowed: [data] with columns = [...], {expected} of them."
            )
        })?;
        if names.len() != expected {
            return Err(format!(
                "data.columns: the number of columns does not fit a record (given: {}). Allowed: \
                 {}{}.",
                names.len(),
                counted(expected, "column"),
                variables.as_ref().map_or(String::new(), |own| format!(", for {}", listed(own)))
            ));
        }
        if let (Some(given), Some(variables)) = (&columns.names, &variables) {
            check_order(given, variables)?;
        }
        check_labels(columns, names)?;
        // Only a variable that the spec leaves to the model may be one that was never observed.
        let is_latent =
            |c: usize| columns.names.is_none() && data.count(&names[c]) == 0 && !self.is_read(c);
        let place = |c: usize| Place {
            variable: variables.as_ref().map(|names| names[c].clone()),
            column: (!is_latent(c)).then(|| names[c].clone()),
        };
        let places: Vec<Place> = (0..names.len()).map(place).collect();
        check_present(&places, data)?;
        Ok(places)
    }
}

/// A column with the name of one variable must not stand for another.
fn check_order(given: &[String], variables: &[String]) -> Result<(), String> {
    let wrong = given
        .iter()
        .zip(variables)
        .find(|(column, variable)| column != variable && variables.contains(column));
    let Some((column, variable)) = wrong else { return Ok(()) };
    Err(format!(
        "data.columns: column {column:?} stands for the variable {variable:?}, though {column:?} is \
         a variable itself (given: {}). Allowed: columns in the order of the variables, {}; or no \
         columns, which finds them by their names.",
        listed(given),
        listed(variables)
    ))
}

fn check_labels(columns: &Columns, names: &[String]) -> Result<(), String> {
    match columns.labels.iter().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "data.labels: is no column of a record (given: {name:?}). Allowed: {}.",
            listed(names)
        )),
    }
}

fn check_present(places: &[Place], data: &Data) -> Result<(), String> {
    let needed: Vec<&String> = places.iter().filter_map(|place| place.column.as_ref()).collect();
    let missing: Vec<String> = needed
        .iter()
        .filter(|name| data.count(name) == 0)
        .map(|name| format!("no column {name:?}"))
        .collect();
    if !missing.is_empty() {
        // A table without a header has data in the place of names.
        let its_own = match missing.len() < needed.len() {
            true => format!("it has {}", listed(data.names())),
            false => {
                "what it has instead is not shown, since it is confidential if the file has no \
                      header"
                    .into()
            }
        };
        return Err(format!(
            "the data have {}. Allowed: a file with columns {}; {its_own}.",
            missing.join(" and "),
            listed(&needed),
        ));
    }
    match needed.iter().find(|name| data.count(name) > 1) {
        None => Ok(()),
        Some(twice) => Err(format!(
            "the data have several columns {twice:?}. Allowed: one column of each name."
        )),
    }
}

/// The records, row after row, with every value checked. NaN stands for what was never observed.
pub fn records(
    data: &Data,
    places: &[Place],
    source: &Source,
    columns: &Columns,
    diagnostics: bool,
) -> Result<Vec<f64>, String> {
    let (n, d) = (data.rows(), source.record_dim());
    let axes = source.axes();
    let mut records = vec![if axes.is_some() { 0.0 } else { f64::NAN }; n * d];
    for (c, place) in places.iter().enumerate() {
        let Some(name) = &place.column else { continue };
        let column = data.column(name).unwrap_or_default();
        check_complete(name, column, diagnostics)?;
        let codes = codes(c, name, source, columns, axes.as_deref())?;
        let coded: Vec<Option<f64>> = column.iter().map(|cell| codes.of(cell)).collect();
        refuse(name, &codes.allowed(), column, |i| coded[i].is_some(), diagnostics)?;
        for (i, value) in coded.into_iter().flatten().enumerate() {
            match &axes {
                // The number of a cell of a table, the last axis running fastest.
                Some(axes) => records[i] = records[i] * axes[c].len() as f64 + value,
                None => records[i * d + c] = value,
            }
        }
    }
    let variables = source.variables.iter().flatten();
    for (c, (place, variable)) in places.iter().zip(variables).enumerate() {
        let Some(name) = &place.column else { continue };
        let allowed = codes(c, name, source, columns, None)?.allowed();
        let holds = |i: usize| variable.values.hold(&records[i * d..][..d], c);
        refuse(name, &allowed, data.column(name).unwrap_or_default(), holds, diagnostics)?;
    }
    Ok(records)
}

fn check_complete(name: &str, column: &[Cell], diagnostics: bool) -> Result<(), String> {
    let missing = column.iter().filter(|cell| **cell == Cell::Missing).count();
    if missing == 0 {
        return Ok(());
    }
    let how_many = match diagnostics {
        true => format!("values are missing, {missing} in all"),
        false => "values are missing".to_string(),
    };
    Err(format!(
        "column {name:?}: {how_many}. Allowed: complete data, in which what is missing is a category \
         or a variable of the model, such as `answered ~ bernoulli(q)`. If such rows are left out \
         instead, the exact number of the others is published as n, and with the number of all rows \
         it says how many did not answer."
    ))
}

/// Refuses a column with a value that is not allowed. The value is confidential.
fn refuse(
    name: &str,
    allowed: &str,
    column: &[Cell],
    is_allowed: impl Fn(usize) -> bool,
    diagnostics: bool,
) -> Result<(), String> {
    let wrong: Vec<usize> = (0..column.len()).filter(|i| !is_allowed(*i)).collect();
    let Some(first) = wrong.first() else { return Ok(()) };
    let given = match (diagnostics, &column[*first]) {
        (false, _) => String::new(),
        (true, Cell::Text(text)) => format!(" (given: {text:?}, and {} in all)", wrong.len()),
        (true, Cell::Number(x)) => format!(" (given: {x}, and {} in all)", wrong.len()),
        (true, Cell::Missing) => format!(" (given: nothing, and {} in all)", wrong.len()),
    };
    Err(format!("column {name:?}: a value is none of these{given}. Allowed: {allowed}."))
}

/// How the cells of a column become numbers.
struct Codes<'a> {
    /// The labels of its categories, and the code of the first.
    labels: Option<(&'a [String], f64)>,
    /// The values of its variable.
    values: Option<&'a Values>,
}

/// The codes of a column: by the labels of the table, those of `[data]`, or as they are.
fn codes<'a>(
    c: usize,
    name: &str,
    source: &'a Source,
    columns: &'a Columns,
    axes: Option<&'a [Vec<String>]>,
) -> Result<Codes<'a>, String> {
    if let Some(axes) = axes {
        return Ok(Codes { labels: Some((axes[c].as_slice(), 0.0)), values: None });
    }
    let values = source.variables.as_ref().map(|all| &all[c].values);
    let Some((_, labels)) = columns.labels.iter().find(|(own, _)| own == name) else {
        return Ok(Codes { labels: None, values });
    };
    let codes = values.and_then(Values::codes);
    match codes {
        Some((first, count)) if count == labels.len() => {
            Ok(Codes { labels: Some((labels.as_slice(), first)), values })
        }
        Some((_, count)) => Err(format!(
            "data.labels.{name}: there is a label for each category (given: {}). Allowed: {}.",
            labels.len(),
            counted(count, "label")
        )),
        None => Err(format!(
            "data.labels.{name}: only categories of a model as text have labels (given: {}). \
             Allowed: a variable that is bernoulli or categorical.",
            listed(labels)
        )),
    }
}

impl Codes<'_> {
    fn allowed(&self) -> String {
        match (self.labels, self.values) {
            (Some((labels, _)), _) => listed(labels),
            (None, Some(values)) => values.to_string(),
            (None, None) => "numbers".into(),
        }
    }

    /// A cell as a number: as it is, or the code of its label.
    fn of(&self, cell: &Cell) -> Option<f64> {
        let Some((labels, first)) = self.labels else { return cell.number() };
        let (text, number) = match cell {
            Cell::Text(text) => (text.clone(), None),
            Cell::Number(x) => (x.to_string(), Some(*x)),
            Cell::Missing => return None,
        };
        let at = labels.iter().position(|label| *label == text).map(|at| first + at as f64);
        // A code stands for its label, unless labels are numbers themselves.
        let is_numbered = labels.iter().any(|label| label.parse::<f64>().is_ok());
        let is_code = |x: &f64| {
            x.fract() == 0.0 && *x >= first && *x - first < labels.len() as f64 && !is_numbered
        };
        at.or(number.filter(is_code))
    }
}
