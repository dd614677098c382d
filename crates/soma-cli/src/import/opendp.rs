//! The output of OpenDP's Polars interface: `query.summarize()` and `query.release().collect()`.

use soma::release::mechanism::Noise;

use super::cells::Cells;
use super::frame::Frame;
use super::write::{Part, list, number};
use super::{Imported, Options, variable};

/// The release of the two tables, in any order.
pub fn read(frames: &[Frame], options: &Options) -> Result<Imported, String> {
    let is_summary = |frame: &&Frame| frame.find("distribution").is_some();
    let (summary, result) = match frames {
        [one, other] if is_summary(&one) => (one, other),
        [one, other] if is_summary(&other) => (other, one),
        _ => {
            return Err(format!(
                "OpenDP prints two tables (given: {} files, or none with the column distribution). \
                 Allowed: query.summarize() and query.release().collect(), each with \
                 .write_csv(...).",
                frames.len()
            ));
        }
    };
    let rows = summarised(summary)?;
    let is_wanted =
        |row: &&Summarised| options.columns.is_empty() || options.columns.contains(&row.column);
    rows.iter().filter(is_wanted).try_for_each(|row| result.need(&row.column).map(|_| ()))?;
    let is_value = |column: &String| rows.iter().any(|row| row.column == *column);
    let keys: Vec<usize> =
        (0..result.columns.len()).filter(|&at| !is_value(&result.columns[at])).collect();
    let wanted = |column: &&String| {
        is_value(column) && (options.columns.is_empty() || options.columns.contains(column))
    };
    let columns: Vec<&String> = result.columns.iter().filter(wanted).collect();
    if columns.is_empty() {
        return Err(format!(
            "{}: no column to import (given: {}). Allowed: columns that the summary names.",
            result.source,
            result.columns.join(", ")
        ));
    }
    let of = |column: &str| rows.iter().filter(|row| row.column == column).collect::<Vec<_>>();
    let parts = if keys.is_empty() {
        let one = |column: &&String| scalar(result, column, &of(column), &columns, &of, options);
        columns.iter().map(one).collect::<Result<_, _>>()?
    } else {
        // The threshold is given with the count that it applies to: a group is shown if its count
        // is above it.
        let shown = rows.iter().find_map(|row| row.threshold);
        let one = |column: &&String| grouped(result, column, &of(column), &keys, shown, options);
        columns.iter().map(one).collect::<Result<_, _>>()?
    };
    Ok(Imported {
        parts,
        remarks: vec!["From OpenDP: scales are those of query.summarize().".into()],
    })
}

/// A row of the summary.
struct Summarised {
    column: String,
    aggregate: String,
    kind: &'static str,
    scale: f64,
    threshold: Option<f64>,
}

fn summarised(summary: &Frame) -> Result<Vec<Summarised>, String> {
    let [column, aggregate, distribution, scale] =
        ["column", "aggregate", "distribution", "scale"].map(|name| summary.need(name));
    let (column, aggregate, distribution, scale) = (column?, aggregate?, distribution?, scale?);
    let threshold = summary.find("threshold");
    let read = |row: usize| {
        let cells = &summary.rows[row];
        let kind = match cells[distribution].as_str() {
            "Integer Laplace" => Noise::DiscreteLaplace.name(),
            "Float Laplace" => Noise::Laplace.name(),
            "Integer Gaussian" => Noise::DiscreteGaussian.name(),
            "Float Gaussian" => Noise::Gaussian.name(),
            "ExponentialMin" | "ExponentialMax" => "permute-and-flip",
            "GumbelMin" | "GumbelMax" => "exponential",
            other => {
                return Err(format!(
                    "{}, row {}: this distribution is not known (given: {other:?}). Allowed: \
                     Integer or Float Laplace or Gaussian, ExponentialMin, GumbelMin.",
                    summary.source,
                    row + 1
                ));
            }
        };
        let threshold = match threshold {
            Some(at) if !["", "null"].contains(&cells[at].as_str()) => {
                Some(summary.number(row, at)?)
            }
            _ => None,
        };
        Ok(Summarised {
            column: cells[column].clone(),
            aggregate: cells[aggregate].clone(),
            kind,
            scale: summary.number(row, scale)?,
            threshold,
        })
    };
    (0..summary.rows.len()).map(read).collect()
}

fn is_count(row: &Summarised) -> bool {
    ["Frame Length", "Length", "Len"].contains(&row.aggregate.as_str())
}

/// Noise with its scale, of counts or not. By default counts of OpenDP are unsigned: a zero may
/// have been negative. Under Laplace noise the likelihood is the same.
fn noise(row: &Summarised, values: &[Option<f64>]) -> Vec<(&'static str, String)> {
    let mut law = vec![("kind", format!("{:?}", row.kind)), ("scale", format!("{:?}", row.scale))];
    let is_unsigned = is_count(row) && values.iter().flatten().all(|&value| value >= 0.0);
    if is_unsigned && row.kind == Noise::DiscreteGaussian.name() && row.threshold.is_none() {
        law.push(("clamp", "[0, inf]".into()));
    }
    law
}

/// A column of a table with one row.
fn scalar<'a>(
    result: &Frame,
    column: &str,
    rows: &[&Summarised],
    columns: &[&String],
    of: &dyn Fn(&str) -> Vec<&'a Summarised>,
    options: &Options,
) -> Result<Part, String> {
    let value = result.number(0, result.need(column)?)?;
    let values = vec![Some(value)];
    // With several variables only a model as text can define a record.
    let is_variable = |column: &&&String| of(column).iter().any(|row| !is_count(row));
    let several = columns.iter().filter(is_variable).count() > 1;
    let part = |query: String, is_sum: bool, mechanism| Part {
        name: column.to_string(),
        query,
        is_sum,
        values: values.clone(),
        mechanism,
    };
    match rows {
        [row] if is_count(row) && row.scale == 0.0 => Err(format!(
            "column {column}: the number of records was published without noise (given: scale 0). \
             Allowed: --n {value}, and --columns with the others."
        )),
        [row] if is_count(row) => {
            Ok(part("query = { kind = \"count\" }".into(), true, noise(row, &values)))
        }
        [row] if row.aggregate == "Sum" => {
            let mut law = noise(row, &values);
            // Sums of whole numbers: the query need not know that they are.
            if Noise::named(row.kind).is_some_and(Noise::is_discrete) {
                law.push(("granularity", "1".into()));
            }
            Ok(part(variable(column, several, options)?, true, law))
        }
        [row] if row.aggregate.ends_with("-Quantile") => {
            let alpha = row.aggregate.trim_end_matches("-Quantile");
            let candidates = options.candidates_of(column)?;
            let query = format!(
                "query = {{ kind = \"quantile\", alpha = {alpha}, candidates = {} }}",
                list(candidates)
            );
            let scale = row.scale / unit_of_scores(column, alpha, options)?;
            let law = vec![("kind", format!("{:?}", row.kind)), ("scale", format!("{scale:?}"))];
            Ok(part(query, false, law))
        }
        [sum, count] if sum.aggregate == "Sum" && is_count(count) => {
            let noise =
                |row: &Summarised| format!("{{ kind = {:?}, scale = {:?} }}", row.kind, row.scale);
            let law = vec![
                ("kind", "\"ratio\"".to_string()),
                ("numerator", noise(sum)),
                ("denominator", noise(count)),
            ];
            Ok(part(variable(column, several, options)?, false, law))
        }
        _ => Err(unknown(column, rows)),
    }
}

/// What OpenDP multiplies the scores of candidates by, and with them the scale that it prints: the
/// denominator of alpha, a binary fraction, so that scores are whole numbers; at most 2^64 over the
/// `max_length` of the margin, so that they fit in 64 bits.
fn unit_of_scores(column: &str, alpha: &str, options: &Options) -> Result<f64, String> {
    let fraction: f64 = alpha.parse().map_err(|_| {
        format!("column {column}: no quantile (given: {alpha}). Allowed: such as 0.5-Quantile.")
    })?;
    let (mut left, mut denominator) = (fraction, 1.0_f64);
    while left.fract() != 0.0 {
        (left, denominator) = (2.0 * left, 2.0 * denominator);
    }
    match options.max_length {
        _ if denominator <= SAFE_DENOMINATOR => Ok(denominator),
        Some(most @ 1..) => Ok(denominator.min((u64::MAX / most) as f64)),
        _ => Err(format!(
            "max-length: the unit of the scale of the quantile of {column} at {alpha} depends on it \
             (given: {}). Allowed: --max-length M, the max_length of the margin in OpenDP.",
            options.max_length.map_or("nothing".into(), |most| most.to_string())
        )),
    }
}

/// Up to this denominator of alpha scores fit for any number of records.
const SAFE_DENOMINATOR: f64 = 65_536.0;

/// A column of a table with a row for each group.
fn grouped(
    result: &Frame,
    column: &str,
    rows: &[&Summarised],
    keys: &[usize],
    threshold: Option<f64>,
    options: &Options,
) -> Result<Part, String> {
    let [row] = rows else { return Err(unknown(column, rows)) };
    if !is_count(row) {
        return Err(format!(
            "column {column}: of groups, counts are imported, and this is not one (given: {}). \
             Allowed: --columns with the columns of counts.",
            row.aggregate
        ));
    }
    let published: Vec<Option<f64>> =
        result.numbers(result.need(column)?)?.into_iter().map(Some).collect();
    let cells = Cells::new(&result.keys(keys), options)?;
    let values = cells.values(&published, threshold)?;
    let mut mechanism = noise(row, &values);
    if let Some(threshold) = threshold {
        mechanism.push(("threshold", number(threshold)));
    }
    Ok(Part { name: column.to_string(), query: cells.query, is_sum: true, values, mechanism })
}

fn unknown(column: &str, rows: &[&Summarised]) -> String {
    let given: Vec<&str> = rows.iter().map(|row| row.aggregate.as_str()).collect();
    format!(
        "column {column}: this aggregate is not imported (given: {}). Allowed: Frame Length, \
         Length, Sum, a mean (Sum and Length) or a quantile; --columns to choose.",
        given.join(" and ")
    )
}
