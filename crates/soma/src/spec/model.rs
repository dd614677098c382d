//! The table `[model]`: how a record is drawn, and what was believed of its parameters.

use std::sync::Arc;

use super::value::{Table, Value};
use crate::chain::{Problem, Summary};
use crate::error::Invalid;
use crate::model::{Model, Normal};
use crate::release::Release;

type Read = fn(&Table) -> Result<Arc<dyn Model>, Invalid>;

/// Each kind of model with the keys that it takes and how it is read.
const MODELS: &[(&str, &[&str], Read)] = &[("normal", &["prior"], normal)];

pub(super) fn read(table: &Table, release: Release) -> Result<Problem, Invalid> {
    let names: Vec<&'static str> = MODELS.iter().map(|(name, ..)| *name).collect();
    let kind = table.kind(&names)?;
    let (_, keys, read) = MODELS.iter().find(|(name, ..)| *name == kind).expect("a listed kind");
    table.only(&[&["kind", "fixed", "summaries"], *keys].concat())?;
    let model = read(table)?;
    let fixed = table.get("fixed").map(|fixed| read_fixed(&fixed, &model.parameters()));
    let fixed = match fixed.transpose()? {
        None if model.parameters().is_empty() => Some(Vec::new()),
        fixed => fixed,
    };
    let summaries = table.get("summaries").map(|list| read_summaries(&list)).transpose()?;
    let problem = Problem::new(release, model)?;
    match (fixed, summaries) {
        (Some(theta), summaries) => {
            problem.with_fixed(theta, summaries.unwrap_or_else(|| DEFAULT_SUMMARIES.to_vec()))
        }
        (None, None) => Ok(problem),
        (None, Some(summaries)) => Err(Invalid::new(
            table.field("summaries"),
            "the draws are of the parameters, unless these are fixed",
            format!("{} summaries", summaries.len()),
            "fixed = { ... } beside summaries, or no summaries",
        )),
    }
}

/// What is drawn of the records where parameters are fixed and nothing else is asked for.
const DEFAULT_SUMMARIES: [Summary; 5] = [
    Summary::Mean,
    Summary::Sd,
    Summary::Quantile(0.05),
    Summary::Quantile(0.5),
    Summary::Quantile(0.95),
];

/// A value for each parameter, by name.
fn read_fixed(value: &Value, names: &[String]) -> Result<Vec<f64>, Invalid> {
    let allowed = format!(
        "{{ {} }}",
        names.iter().map(|name| format!("{name} = ...")).collect::<Vec<_>>().join(", ")
    );
    let table = value.table(&allowed)?;
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    table.only(&known)?;
    known.iter().map(|name| table.need(name, "a number")?.number()).collect()
}

/// `"mean"`, `"sd"`, and probabilities of quantiles.
fn read_summaries(value: &Value) -> Result<Vec<Summary>, Invalid> {
    let allowed = "a list such as [\"mean\", \"sd\", 0.25, 0.5]";
    let items = value.list(allowed)?;
    if items.is_empty() {
        return Err(Invalid::new(value.path(), "there would be nothing to draw", "[]", allowed));
    }
    items.iter().map(read_summary).collect()
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

fn normal(table: &Table) -> Result<Arc<dyn Model>, Invalid> {
    let prior = Prior::of(table, "normal-inverse-gamma", &["mean", "lambda", "shape", "rate"])?;
    let model = Normal::new(
        prior.number("mean", 0.0)?,
        prior.number("lambda", 1.0)?,
        prior.number("shape", 1.0)?,
        prior.number("rate", 1.0)?,
    );
    Ok(Arc::new(model.map_err(|invalid| invalid.under(table.path()))?))
}

/// The table `prior = { kind = ..., ... }`; where theta is fixed it may be left out, since
/// nothing depends on it then.
struct Prior<'a> {
    table: Option<Table<'a>>,
}

impl<'a> Prior<'a> {
    fn of(model: &Table<'a>, kind: &'static str, keys: &[&str]) -> Result<Self, Invalid> {
        let example = keys.iter().map(|key| format!("{key} = ...")).collect::<Vec<_>>().join(", ");
        let example = format!("{{ kind = \"{kind}\", {example} }}");
        let value = match model.get("prior") {
            None if model.get("fixed").is_some() => return Ok(Prior { table: None }),
            _ => model.need("prior", &example)?,
        };
        let table = value.table(&example)?;
        table.kind(&[kind])?;
        table.only(&[&["kind"], keys].concat())?;
        Ok(Prior { table: Some(table) })
    }

    /// The number at `key`; `idle` where no prior is needed.
    fn number(&self, key: &str, idle: f64) -> Result<f64, Invalid> {
        self.table.as_ref().map_or(Ok(idle), |table| table.need(key, "a number")?.number())
    }
}
