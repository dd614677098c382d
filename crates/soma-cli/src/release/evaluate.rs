//! The records that columns make, and the exact sums of their statistics.

use soma::release::Release;
use soma::release::query::{Cells, CoordinateMap, Query};
use soma::spec::Columns;

use super::data::{Cell, Data};

/// What is to be released, and the variables of a record where a model as text names them.
pub struct Source {
    /// The release, whose values do not matter.
    pub release: Release,
    /// The variables.
    pub variables: Option<Vec<String>>,
}

impl Source {
    /// The columns of the record, as the spec names them or the model's text does.
    pub fn names(&self, columns: &Columns) -> Result<Vec<String>, String> {
        columns.names.clone().or_else(|| self.variables.clone()).ok_or_else(|| {
            format!(
                "data.columns: the spec does not say which columns make a record (given: none). \
                 Allowed: [data] with columns = [...], {} of them.",
                self.record_dim()
            )
        })
    }

    fn record_dim(&self) -> usize {
        self.release.record_query().record_dim()
    }

    /// Whether the statistics do not look at a variable: they stay numbers where it is none.
    fn is_unused(&self, names: &[String], name: &str) -> bool {
        let record: Vec<f64> =
            names.iter().map(|own| if own == name { f64::NAN } else { 0.5 }).collect();
        self.release.published_parts().iter().all(|part| {
            let mut out = vec![0.0; part.query().dim()];
            let done = part.query().statistics(&record, &mut out).is_ok();
            done && out.iter().all(|value| !value.is_nan())
        })
    }
}

/// The records, row after row.
pub fn records(
    data: &Data,
    names: &[String],
    source: &Source,
    diagnostics: bool,
) -> Result<Vec<f64>, String> {
    let (n, d) = (data.rows(), source.record_dim());
    let levels = source.release.record_query().cells().filter(Cells::is_of_levels);
    let axes = levels.map(|cells| cells.axes.into_iter().map(|axis| axis.labels));
    let axes: Option<Vec<Vec<String>>> = axes.map(Iterator::collect);
    let expected = axes.as_ref().map_or(d, Vec::len);
    if names.len() != expected {
        return Err(format!(
            "data.columns: the number of columns does not fit a record (given: {}). Allowed: \
             {expected} columns.",
            names.len()
        ));
    }
    let is_latent = |name: &str| {
        let may_be = source.variables.is_some() && data.column(name).is_none();
        may_be && source.is_unused(names, name)
    };
    let mut records = vec![0.0; n * d];
    for (c, name) in names.iter().enumerate() {
        if is_latent(name) {
            continue;
        }
        let column = data.column(name).ok_or_else(|| {
            format!(
                "the data have no column {name:?}. Allowed: a file with columns {}; it has {}.",
                soma::error::listed(names),
                soma::error::listed(data.names()),
            )
        })?;
        let missing = column.iter().filter(|cell| **cell == Cell::Missing).count();
        if missing > 0 {
            let how_many = match diagnostics {
                true => format!("{missing} values are missing"),
                false => "values are missing".to_string(),
            };
            return Err(format!(
                "column {name:?}: {how_many}. Allowed: complete data; leave such rows out, or make \
                 what is missing a category or part of the model."
            ));
        }
        let labels = axes.as_ref().map(|axes| axes[c].as_slice());
        for (i, cell) in column.iter().enumerate() {
            let value = coded(cell, labels).ok_or_else(|| {
                let allowed = labels.map_or("numbers".to_string(), soma::error::listed);
                format!("column {name:?}: a value is none of these. Allowed: {allowed}.")
            })?;
            match &axes {
                // The number of a cell of a table, the last axis running fastest.
                Some(axes) => records[i] = records[i] * axes[c].len() as f64 + value,
                None => records[i * d + c] = value,
            }
        }
    }
    Ok(records)
}

/// A cell as a number: as it is, or the number of its label.
fn coded(cell: &Cell, labels: Option<&[String]>) -> Option<f64> {
    match (cell, labels) {
        (Cell::Number(x), None) => Some(*x),
        (Cell::Text(text), Some(labels)) => {
            labels.iter().position(|label| label == text).map(|at| at as f64)
        }
        (Cell::Number(x), Some(labels)) => {
            let text = x.to_string();
            let at = labels.iter().position(|label| *label == text).map(|at| at as f64);
            let is_code = x.fract() == 0.0 && *x >= 0.0 && (*x as usize) < labels.len();
            at.or(is_code.then_some(*x))
        }
        _ => None,
    }
}

/// Bits between the largest sum of 2^30 statistics and their lattice, so that sums are exact.
const MANTISSA: i32 = 52;
const MOST_RECORDS: i32 = 30;

/// The sums of statistics, exact, and the width of the lattice that each statistic was put on.
pub struct Sums {
    /// The sums.
    pub sums: Vec<f64>,
    /// The width of the lattice of each.
    pub widths: Vec<f64>,
}

/// Sums the statistics of a query over records.
///
/// Floating-point sums depend on the order of their terms, and may differ between neighbours by more
/// than the sensitivity. Each statistic is put on a lattice instead, so wide that a sum of 2^30 of
/// them is a floating-point number: the sum is exact, and neighbours differ by the sensitivity and
/// at most the width of the lattice in each coordinate.
pub fn sums(query: &dyn Query, records: &[f64]) -> Result<Sums, String> {
    let (d, k) = (query.record_dim(), query.dim());
    let width = |(low, high): (f64, f64)| {
        let most = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
        if query.is_integer() {
            1.0
        } else {
            2f64.powi(most.log2().ceil() as i32 + MOST_RECORDS - MANTISSA)
        }
    };
    let bounds = query.bounds();
    let widths: Vec<f64> = bounds.iter().copied().map(width).collect();
    let mut sums = vec![0i64; k];
    let mut out = vec![0.0; k];
    for record in records.chunks_exact(d) {
        query.statistics(record, &mut out).map_err(|error| error.to_string())?;
        for (((sum, t), width), (low, high)) in sums.iter_mut().zip(&out).zip(&widths).zip(&bounds)
        {
            if !(t.is_finite() && *low - width <= *t && *t <= high + width) {
                return Err("a statistic of the data lies outside its bounds".into());
            }
            *sum += (t / width).round() as i64;
        }
    }
    let sums = sums.iter().zip(&widths).map(|(sum, width)| *sum as f64 * width).collect();
    Ok(Sums { sums, widths })
}

/// How many values of each coordinate lie outside the clamp, where the query says what that is.
pub fn clamped(query: &dyn Query, records: &[f64]) -> Option<Vec<usize>> {
    let ranges: Vec<(f64, f64)> = match (query.clamped_moments(), query.coordinate_map()) {
        (Some(moments), _) => {
            let ranges = moments.centre.iter().zip(&moments.half_width);
            ranges.map(|(centre, half)| (centre - half, centre + half)).collect()
        }
        (None, Some(CoordinateMap::Log)) => {
            query.bounds().iter().map(|(low, high)| (low.exp(), high.exp())).collect()
        }
        _ => return None,
    };
    let outside = |c: usize| {
        let column = records.iter().skip(c).step_by(ranges.len());
        column.filter(|x| !(ranges[c].0 <= **x && **x <= ranges[c].1)).count()
    };
    Some((0..ranges.len()).map(outside).collect())
}
