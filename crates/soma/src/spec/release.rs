//! The table `[release]`: what was published.

use std::sync::Arc;

use super::query;
use super::size::{self, Size};
use super::value::Table;
use crate::error::Invalid;
use crate::release::mechanism::{Budget, Noise};
use crate::release::{Aggregate, Mechanism, Query, Release};

/// The release of a table; of `query`, where that is not one that a spec can name.
pub(super) fn read(table: &Table, query: Option<Arc<dyn Query>>) -> Result<Release, Invalid> {
    table.only(&["n", "statistic", "values", "query", "statistics", "mechanism"])?;
    let size = size::read(&table.need("n", "the number of records, or \"unknown\"")?)?;
    let aggregate =
        match table.need("statistic", "\"mean\" or \"sum\"")?.choice(&["mean", "sum"])? {
            "mean" => Aggregate::Mean,
            _ => Aggregate::Sum,
        };
    let values = table.need("values", "the released values, as a list")?.numbers()?;
    let n = size.guess(&values);
    let example = "{ kind = \"mean\", clamp = [0.0, 1.0] } or another query";
    let query = match query {
        Some(query) => query,
        None => query::read(&table.need("query", example)?.table(example)?, values.len())?,
    };
    let example = "{ kind = \"laplace\", epsilon = 1.0 } or another mechanism";
    let mechanism = table.need("mechanism", example)?.table(example)?;
    let mechanism = read_mechanism(&mechanism, query.as_ref(), aggregate, n)?;
    let release = Release::new(query, mechanism, aggregate, n, values)
        .and_then(|release| release.check_reach().map(|()| release))
        .and_then(|release| match size {
            Size::Public(_) => Ok(release),
            Size::Unknown(prior) => release.with_unknown_n(prior),
        });
    release.map_err(|invalid| invalid.under(table.path()))
}

fn read_mechanism(
    table: &Table,
    query: &dyn Query,
    aggregate: Aggregate,
    n: usize,
) -> Result<Mechanism, Invalid> {
    let kind = table.kind(&Noise::ALL.map(Noise::name))?;
    let noise = Noise::ALL.into_iter().find(|noise| noise.name() == kind).expect("a listed kind");
    if let Some(delta) = table.get("delta") {
        return Err(Invalid::new(
            delta.path(),
            "epsilon and delta do not tell the scale: there are several rules for it",
            delta.number()?,
            "scale = ..., the standard deviation that was published; or rho = ...",
        ));
    }
    table.only(&["kind", "epsilon", "rho", "scale", "sensitivity"])?;
    let sources: Vec<&str> =
        ["epsilon", "rho", "scale"].into_iter().filter(|key| table.get(key).is_some()).collect();
    let [source] = sources[..] else {
        let given = if sources.is_empty() { "none".to_string() } else { sources.join(" and ") };
        let problem = "the scale of the noise must follow from one of epsilon, rho and scale";
        let allowed = "exactly one of epsilon = ..., rho = ... and scale = ...";
        let field = sources.last().map_or(table.path().to_string(), |key| table.field(key));
        return Err(Invalid::new(field, problem, given, allowed));
    };
    let value = table.need(source, "a number")?;
    let mechanism = match (source, table.get("sensitivity")) {
        ("scale", Some(sensitivity)) => {
            let problem = "with an explicit scale the sensitivity does not matter";
            let given = sensitivity.number()?;
            return Err(Invalid::new(sensitivity.path(), problem, given, "leave one of them out"));
        }
        ("scale", None) if value.is_list() => Mechanism::new(noise, value.numbers()?),
        ("scale", None) => Mechanism::new(noise, vec![value.number()?; query.dim()]),
        (_, sensitivity) => {
            let sensitivity = sensitivity.map(|value| value.number()).transpose()?;
            let amount = value.number()?;
            let budget =
                if source == "rho" { Budget::Rho(amount) } else { Budget::Epsilon(amount) };
            Mechanism::with_budget(noise, budget, sensitivity, query, aggregate, n)
        }
    };
    mechanism.map_err(|invalid| invalid.under(table.path()))
}
