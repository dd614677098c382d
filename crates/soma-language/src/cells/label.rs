//! Names of cells.

use super::cut::Cut;
use super::parts;
use crate::model::Model;

/// The most separate pieces of one variable in a name.
const MAX_PIECES: usize = 4;

/// The values of the variables in each cell, if each of them has a set of its own in every cell.
pub(super) fn of_variables(
    model: &Model,
    cuts: &[Cut],
    cell_of: &[usize],
    count: usize,
) -> Option<Vec<String>> {
    let variables = model.record_names();
    let rows = rows(cell_of, count);
    rows.iter().map(|rows| of_rows(&variables, cuts, rows)).collect()
}

/// The values of the variables in each cell where each of them has a set of its own there, and
/// otherwise the values of the statistics, which have these `names`.
pub(super) fn of_values(
    model: &Model,
    cuts: &[Cut],
    cell_of: &[usize],
    values: &[Vec<f64>],
    names: &[&str],
) -> Vec<String> {
    let variables = model.record_names();
    let label = |(rows, values): (Vec<usize>, &Vec<f64>)| {
        of_rows(&variables, cuts, &rows).unwrap_or_else(|| {
            let each = names.iter().zip(values).map(|(name, value)| format!("{name}={value}"));
            each.collect::<Vec<_>>().join(",")
        })
    };
    rows(cell_of, values.len()).into_iter().zip(values).map(label).collect()
}

/// The rows of each of `count` cells.
fn rows(cell_of: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut rows = vec![Vec::new(); count];
    cell_of.iter().enumerate().for_each(|(row, &cell)| rows[cell].push(row));
    rows
}

/// The values of the variables, if the rows are all combinations of some values of each.
fn of_rows(variables: &[String], cuts: &[Cut], rows: &[usize]) -> Option<String> {
    let mut seen: Vec<Vec<bool>> = cuts.iter().map(|cut| vec![false; cut.parts()]).collect();
    for &row in rows {
        for (seen, part) in seen.iter_mut().zip(parts(cuts, row)) {
            seen[part] = true;
        }
    }
    let count = |seen: &Vec<bool>| seen.iter().filter(|&&seen| seen).count();
    if seen.iter().map(count).product::<usize>() != rows.len() {
        return None;
    }
    let mut pieces = Vec::new();
    for ((name, cut), seen) in variables.iter().zip(cuts).zip(&seen) {
        if seen.iter().all(|&seen| seen) {
            continue;
        }
        let runs = runs(seen);
        if runs.len() > MAX_PIECES {
            return None;
        }
        let own: Vec<String> =
            runs.into_iter().map(|(first, last)| piece(name, cut, first, last)).collect();
        pieces.push(own.join("|"));
    }
    Some(if pieces.is_empty() { "all".into() } else { pieces.join(",") })
}

/// The first and last of each run of parts.
pub(super) fn runs(seen: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for part in (0..seen.len()).filter(|&part| seen[part]) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == part => *last = part,
            _ => runs.push((part, part)),
        }
    }
    runs
}

/// A run of parts of one variable.
fn piece(name: &str, cut: &Cut, first: usize, last: usize) -> String {
    let is_end = last + 1 == cut.parts();
    match cut {
        Cut::Whole => name.into(),
        Cut::Integers { low, is_open, .. } => {
            let (from, to) = (low + first as f64, low + last as f64);
            match (first, first == last) {
                _ if is_end && (*is_open || first < last) => format!("{name}>={from}"),
                (_, true) => format!("{name}={from}"),
                (0, false) => format!("{name}<={to}"),
                _ => format!("{name}={from}..{to}"),
            }
        }
        Cut::Intervals { points, .. } => match (first.checked_sub(1), is_end) {
            (None, _) => format!("{name}<{}", points[last]),
            (Some(before), true) => format!("{name}>={}", points[before]),
            (Some(before), false) => format!("{}<={name}<{}", points[before], points[last]),
        },
    }
}
