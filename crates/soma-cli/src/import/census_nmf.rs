//! Noisy measurement files of the US Census: geocode, query_name, query_shape, value, variance.

use soma::release::mechanism::Noise;

use super::frame::Frame;
use super::write::{Part, numbers};
use super::{Imported, Options, kind_of, of_geocode, one_frame};

/// The release of one geographic unit: a part for each query, all on one table of counts, of which
/// a query keeps some axes.
pub fn read(frames: &[Frame], options: &Options) -> Result<Imported, String> {
    let frame = one_frame(frames)?;
    let (geocode, rows) = of_geocode(frame, options)?;
    let [name, shape, value, variance] =
        ["query_name", "query_shape", "value", "variance"].map(|name| frame.need(name));
    let (name, shape, value, variance) = (name?, shape?, value?, variance?);
    let wanted = |&&row: &&usize| {
        options.columns.is_empty() || options.columns.contains(&frame.rows[row][name])
    };
    let rows: Vec<usize> = rows.iter().filter(wanted).copied().collect();
    let lists = |column: usize| {
        rows.iter().map(|&row| list(frame, row, column)).collect::<Result<Vec<_>, _>>()
    };
    let (shapes, values, variances) = (lists(shape)?, lists(value)?, lists(variance)?);
    // The number of levels of each axis; it is 1 in a query without the axis.
    let axes = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let levels: Vec<f64> = (0..axes)
        .map(|axis| shapes.iter().filter_map(|shape| shape.get(axis)).fold(1.0, |a, &b| b.max(a)))
        .collect();
    let real: Vec<usize> = (0..axes).filter(|&axis| levels[axis] > 1.0).collect();
    let part = |i: usize| {
        let query_name = &frame.rows[rows[i]][name];
        let (shape, values) = (&shapes[i], &values[i]);
        let kept = |place: usize, axis: usize| match shape.get(axis) {
            Some(&own) if own == levels[axis] => Ok(Some(place)),
            Some(1.0) => Ok(None),
            _ => Err(format!(
                "query_shape of {query_name}: groups levels of an axis of {} (given: {shape:?}). \
                 Allowed: --columns with queries whose axes are whole or left out.",
                levels[axis]
            )),
        };
        let margin: Vec<Option<usize>> = real
            .iter()
            .enumerate()
            .map(|(place, &axis)| kept(place, axis))
            .collect::<Result<_, _>>()?;
        let margin: Vec<String> =
            margin.into_iter().flatten().map(|axis| axis.to_string()).collect();
        let size: f64 = shape.iter().product();
        if size != values.len() as f64 {
            return Err(format!(
                "value of {query_name}: does not fit its query_shape (given: {} values). Allowed: \
                 {size}.",
                values.len()
            ));
        }
        let query = if real.is_empty() {
            "query = { kind = \"count\" }".to_string()
        } else {
            let axes: Vec<String> = real.iter().map(|&axis| levels[axis].to_string()).collect();
            let (axes, margin) = (axes.join(", "), margin.join(", "));
            format!("query = {{ kind = \"table\", axes = [{axes}], margin = [{margin}] }}")
        };
        let mechanism =
            vec![kind_of(Noise::DiscreteGaussian), ("variance", numbers(&variances[i]))];
        let values = values.iter().copied().map(Some).collect();
        Ok(Part { name: query_name.clone(), query, is_sum: true, values, mechanism })
    };
    let parts = (0..rows.len()).map(part).collect::<Result<_, String>>()?;
    let remarks = vec![
        format!("From a noisy measurement file: geocode {geocode}."),
        "The variance is that of the discrete Gaussian itself, not its parameter.".to_string(),
    ];
    Ok(Imported { parts, remarks })
}

/// The numbers in a cell, with any separators.
fn list(frame: &Frame, row: usize, column: usize) -> Result<Vec<f64>, String> {
    let text = &frame.rows[row][column];
    let pieces = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    let numbers = pieces.filter(|piece| !piece.is_empty()).map(str::parse::<f64>);
    numbers.collect::<Result<Vec<f64>, _>>().ok().filter(|numbers| !numbers.is_empty()).ok_or_else(
        || {
            format!(
                "{}, row {}: {} is not a list of numbers (given: {text:?}). Allowed: such as [3, 4].",
                frame.source,
                row + 1,
                frame.columns[column]
            )
        },
    )
}
