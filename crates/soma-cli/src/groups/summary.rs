//! What came of the groups: a row for each parameter in a file, and what is wrong on the screen.

use std::path::{Path, PathBuf};

use soma::diagnostics::{Column, Summary};
use soma::grouped::Fitted;
use soma_store::{ResultRow, summary_columns, write_whole};

use crate::exit::{Failed, Outcome};
use crate::report::Row;
use crate::table;

/// A table of more groups than this shows only those that are not trusted, and so many of them.
const SHOWN: usize = 30;

/// The shares of so many groups and cells are printed.
const ANSWERS: (usize, usize) = (5, 4);

/// A row for each parameter of each group; those of the common prior have no group.
pub fn rows(groups: &[Fitted]) -> Vec<ResultRow> {
    let of = |group: &Fitted| {
        let reasons: Vec<String> = group.verdict.reasons.iter().map(ToString::to_string).collect();
        let verdict = if group.verdict.is_trusted() { "trusted" } else { "untrusted" };
        let row = |column: &Column| ResultRow {
            name: group.name.clone(),
            parameter: column.name.clone(),
            summary: Some(column.summary),
            chains: group.chains as u64,
            draws: group.draws as u64,
            verdict,
            reasons: reasons.join("; "),
        };
        group.columns.iter().map(row).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of).collect()
}

/// Writes the rows as CSV. What cannot be told is empty.
pub fn write_csv(path: &Path, rows: &[ResultRow]) -> Outcome {
    let failed = |error: csv::Error| Failed::Run(format!("{}: {error}", path.display()));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let numbers = summary_columns();
    let names = numbers.iter().map(|(name, _)| *name);
    let header = ["group", "parameter"].into_iter().chain(names);
    let header = header.chain(["chains", "draws", "verdict", "reasons"]);
    writer.write_record(header).map_err(failed)?;
    for row in rows {
        let number = |of: fn(&Summary) -> f64| {
            let value = row.summary.as_ref().map_or(f64::NAN, of);
            if value.is_finite() { format!("{value:?}") } else { String::new() }
        };
        let mut cells = vec![row.name.clone(), row.parameter.clone()];
        cells.extend(numbers.iter().map(|(_, of)| number(*of)));
        cells.extend([row.chains.to_string(), row.draws.to_string()]);
        cells.extend([row.verdict.to_string(), row.reasons.clone()]);
        writer.write_record(cells).map_err(failed)?;
    }
    let bytes = writer.into_inner().map_err(|error| Failed::Run(error.to_string()))?;
    Ok(write_whole(path, &bytes)?)
}

/// The shares of the first groups: the mean with its central 90%.
fn answers(groups: &[&Fitted]) -> String {
    let is_share = |name: &str| {
        name.strip_prefix('p')
            .is_some_and(|rest| rest.starts_with(|c: char| c == '[' || c.is_numeric()))
    };
    let shares = |group: &Fitted| -> Vec<Column> {
        group.columns.iter().filter(|column| is_share(&column.name)).cloned().collect()
    };
    let Some(first) = groups.first().map(|group| shares(group)) else { return String::new() };
    let cells = first.len().min(ANSWERS.1);
    let header = ["group"].into_iter().chain(first[..cells].iter().map(|c| c.name.as_str()));
    let rows = groups.iter().take(ANSWERS.0).map(|group| {
        let said = shares(group).into_iter().take(cells).map(|Column { summary, .. }| {
            format!("{:.3} ({:.3} to {:.3})", summary.mean, summary.q5, summary.q95)
        });
        std::iter::once(group.name.clone()).chain(said).collect::<Vec<String>>()
    });
    let framed = table::framed(&header.collect::<Vec<_>>(), rows);
    let left_out = |all: usize, most: usize, what: &str| match all.saturating_sub(most) {
        0 => String::new(),
        more => format!("; {more} more {what}"),
    };
    let groups = left_out(groups.len(), ANSWERS.0, "groups");
    let cells = left_out(first.len(), ANSWERS.1, "cells");
    format!("{framed}\n\nShares: the mean, and the central 90% in brackets{groups}{cells}.\n\n")
}

/// What is printed.
pub fn text(groups: &[Fitted], all: usize, files: &[PathBuf]) -> String {
    let mut text = String::new();
    let (shared, groups): (Vec<&Fitted>, Vec<&Fitted>) =
        groups.iter().partition(|group| group.name.is_empty());
    for shared in &shared {
        let row = |column: &Column| Row {
            name: column.name.clone(),
            summary: column.summary,
            is_comparison: column.is_comparison,
        };
        let rows: Vec<Row> = shared.columns.iter().map(row).collect();
        text += &format!("{}\n\nThe common prior: {}\n\n", table::of(&rows), shared.verdict);
    }
    let is_long = groups.len() > SHOWN;
    let wanted = |group: &&&Fitted| !is_long || !group.verdict.is_trusted();
    let shown: Vec<&&Fitted> = groups.iter().filter(wanted).take(SHOWN).collect();
    if !shown.is_empty() {
        let header = ["group", "verdict", "chains", "draws", "R-hat", "ESS"];
        let cells = shown.iter().map(|group| {
            let verdict = if group.verdict.is_trusted() { "trusted" } else { "untrusted" };
            vec![
                group.name.clone(),
                verdict.to_string(),
                group.chains.to_string(),
                group.draws.to_string(),
                format!("{:.3}", group.verdict.rhat),
                format!("{:.0}", group.verdict.ess),
            ]
        });
        text += &format!("{}\n\n", table::framed(&header, cells));
    }
    text += &answers(&groups);
    let trusted = groups.iter().filter(|group| group.verdict.is_trusted()).count();
    text += &format!("{trusted} of {} groups are trusted.", groups.len());
    if groups.len() < all {
        text += &format!(" {} groups were not fitted.", all - groups.len());
    }
    match files {
        [] => text += " --out FILE.csv or FILE.parquet keeps the results.",
        files => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            text += &format!(" The results are in {}.", names.join(" and "));
        }
    }
    text
}
