//! Fixed parameters, and the summaries of the records that are then drawn.

use std::collections::HashSet;

use super::value::{Table, Value};
use crate::chain::{Problem, Summary};
use crate::error::{Invalid, listed};

/// Applies `fixed` and `summaries` of the table `[model]` to the problem.
pub(super) fn apply(table: &Table, problem: Problem) -> Result<Problem, Invalid> {
    let names = problem.model().parameters();
    let fixed = table.get("fixed").map(|fixed| read_fixed(&fixed, &names)).transpose()?;
    let summaries = table.get("summaries").map(|list| read_summaries(&list)).transpose()?;
    match (fixed, summaries) {
        (Some(theta), summaries) => {
            problem.with_fixed(theta, summaries.unwrap_or_else(|| DEFAULT.to_vec()))
        }
        (None, summaries) if names.is_empty() => {
            problem.with_fixed(Vec::new(), summaries.unwrap_or_else(|| DEFAULT.to_vec()))
        }
        (None, None) => Ok(problem),
        (None, Some(summaries)) => Err(Invalid::new(
            table.field("summaries"),
            "summaries require fixed parameters",
            format!("{} summaries", summaries.len()),
            "fixed = { ... } beside summaries, or no summaries",
        )),
    }
}

/// The default summaries of the records.
const DEFAULT: [Summary; 5] = [
    Summary::Mean,
    Summary::Sd,
    Summary::Quantile(0.05),
    Summary::Quantile(0.5),
    Summary::Quantile(0.95),
];

/// A value for each parameter, by name.
fn read_fixed(value: &Value, names: &[String]) -> Result<Vec<f64>, Invalid> {
    let each: Vec<String> = names.iter().map(|name| format!("{name} = ...")).collect();
    let table = value.table(&format!("{{ {} }}", listed(&each)))?;
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    table.only(&known)?;
    known.iter().map(|name| table.need(name, "a number")?.number()).collect()
}

/// `"mean"`, `"sd"`, and probabilities of quantiles.
fn read_summaries(value: &Value) -> Result<Vec<Summary>, Invalid> {
    let allowed = "a list such as [\"mean\", \"sd\", 0.25, 0.5], each once";
    let items = value.list(allowed)?;
    if items.is_empty() {
        return Err(Invalid::new(value.path(), "must not be empty", "[]", allowed));
    }
    let mut all: Vec<Summary> = Vec::new();
    let mut seen = HashSet::new();
    for item in &items {
        let summary = read_summary(item)?;
        // -0 is the same probability as 0.
        let key = match summary {
            Summary::Mean => ("mean", 0),
            Summary::Sd => ("sd", 0),
            Summary::Quantile(p) => ("quantile", (p + 0.0).to_bits()),
        };
        if !seen.insert(key) {
            return Err(Invalid::new(item.path(), "is given twice", "a duplicate", allowed));
        }
        all.push(summary);
    }
    Ok(all)
}

fn read_summary(item: &Value) -> Result<Summary, Invalid> {
    if item.is_text() {
        return Ok(match item.choice(&["mean", "sd"])? {
            "mean" => Summary::Mean,
            _ => Summary::Sd,
        });
    }
    match item.number()? {
        p if (0.0..=1.0).contains(&p) => Ok(Summary::Quantile(p)),
        p => {
            let allowed = "\"mean\", \"sd\" or a number from 0 to 1";
            Err(Invalid::new(item.path(), "must be a probability", p, allowed))
        }
    }
}
