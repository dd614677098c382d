//! Parts whose published values do not correspond to statistics one by one: ratios, variances,
//! quantiles.

use std::sync::Arc;

use super::mechanism;
use super::release::{Common, Queries, query_of};
use super::value::Table;
use crate::error::Invalid;
use crate::release::law::{
    Choice, OfAnswer, Quantile, RandomisedResponse, Ratio, SyntheticRecords, Variance,
};
use crate::release::mechanism::Noise;
use crate::release::query::{CentredSquares, Combined, Count};
use crate::release::{Aggregate, JointLaw, Part};

/// The part of a table, if it is one of these.
pub(super) fn part(
    table: &Table,
    law: &Table,
    values: &[f64],
    common: &Common,
    queries: &Queries,
) -> Result<Option<Part>, Invalid> {
    if law.names("kind", "ratio") {
        return ratio(table, law, values, queries).map(Some);
    }
    if law.names("kind", "randomised-response") {
        return reports(table, law, values, queries).map(Some);
    }
    if law.names("kind", "synthetic-records") {
        return synthetic(table, law, values, queries).map(Some);
    }
    let Some(query) = table.get("query").and_then(|query| query.table("").ok()) else {
        return Ok(None);
    };
    if query.names("kind", "variance") {
        return variance(table, &query, law, values, common).map(Some);
    }
    if query.names("kind", "quantile") {
        return quantile(table, &query, law, values).map(Some);
    }
    Ok(None)
}

/// `mechanism = { kind = "ratio", numerator = { ... }, denominator = { ... } }`.
fn ratio(table: &Table, law: &Table, values: &[f64], queries: &Queries) -> Result<Part, Invalid> {
    law.only(&["kind", "numerator", "denominator", "middle", "least"])?;
    let noise = |key: &str, example: &str| {
        let own = law.need(key, example)?.table(example)?;
        own.only(&["kind", "scale"])?;
        let kind = own.kind(&Noise::ALL.map(Noise::name))?;
        let noise = Noise::ALL.into_iter().find(|noise| noise.name() == kind);
        let scale = own.need("scale", "the scale of the noise")?.number()?;
        Ok::<_, Invalid>((noise.expect("a listed kind"), scale))
    };
    let numerator = noise("numerator", "{ kind = \"laplace\", scale = 1.0 }")?;
    let denominator = noise("denominator", "{ kind = \"discrete-laplace\", scale = 1.0 }")?;
    let middle = match law.get("middle") {
        None => vec![0.0; values.len()],
        Some(middle) if middle.is_list() => middle.numbers()?,
        Some(middle) => vec![middle.number()?; values.len()],
    };
    let least = law.get("least").map(|least| least.number()).transpose()?;
    let query = query_of(table, values.len(), queries)?;
    if query.dim() != values.len() || middle.len() != values.len() {
        return Err(Invalid::new(
            table.field("values"),
            "the number of released ratios does not fit the query",
            format!("{} values", values.len()),
            format!("{} values, and as many middles", query.dim()),
        ));
    }
    let law_path = law.path();
    let count = Arc::new(Count::new(query.record_dim()));
    let names = ["sum", "count"].map(String::from).to_vec();
    let query = Arc::new(Combined::new(vec![query, count], names)?);
    let law = Ratio::new(numerator, denominator, middle, least);
    joint(table, query, Arc::new(law.map_err(|invalid| invalid.under(law_path))?), values)
}

/// `mechanism = { kind = "randomised-response", prob = 0.75 }`, or with epsilon.
fn reports(table: &Table, law: &Table, values: &[f64], queries: &Queries) -> Result<Part, Invalid> {
    law.only(&["kind", "prob", "epsilon"])?;
    let response = match (law.get("prob"), law.get("epsilon")) {
        (Some(prob), None) => RandomisedResponse::new(values.len(), prob.number()?),
        (None, Some(epsilon)) => RandomisedResponse::with_epsilon(values.len(), epsilon.number()?),
        (given, _) => {
            let given = if given.is_some() { "both" } else { "none" };
            let allowed = "exactly one of prob = ..., the probability that a report is true, and \
                           epsilon = ..., the local privacy of a person";
            let problem = "how often reports are true must follow from prob or from epsilon";
            return Err(Invalid::new(law.path(), problem, given, allowed));
        }
    };
    let owner = |invalid: Invalid| match invalid.field.as_str() {
        "values" => invalid.under(table.path()),
        _ => invalid.under(law.path()),
    };
    let response = response.map_err(owner)?;
    joint(table, query_of(table, values.len(), queries)?, Arc::new(response), values)
}

/// `mechanism = { kind = "synthetic-records", noise = { kind = "laplace", scale = 2.0 } }`.
fn synthetic(
    table: &Table,
    law: &Table,
    values: &[f64],
    queries: &Queries,
) -> Result<Part, Invalid> {
    law.only(&["kind", "noise"])?;
    let example = "{ kind = \"discrete-laplace\", scale = 2.0 }";
    let own = law.need("noise", example)?.table(example)?;
    own.only(&["kind", "scale"])?;
    let kind = own.kind(&Noise::ALL.map(Noise::name))?;
    let noise = Noise::ALL.into_iter().find(|noise| noise.name() == kind).expect("a listed kind");
    let scale = own.need("scale", "the scale of the noise of a count")?.number()?;
    let records: f64 = values.iter().sum();
    let made = SyntheticRecords::new(noise, scale, values.len(), records.max(0.0) as u64);
    let owner = |invalid: Invalid| match invalid.field.as_str() {
        "values" => invalid.under(table.path()),
        _ => invalid.under(law.path()),
    };
    let made = made.map_err(owner)?;
    joint(table, query_of(table, values.len(), queries)?, Arc::new(made), values)
}

/// `query = { kind = "variance", clamp = [low, high], ddof = 1 }`.
fn variance(
    table: &Table,
    query: &Table,
    law: &Table,
    values: &[f64],
    common: &Common,
) -> Result<Part, Invalid> {
    query.only(&["kind", "clamp", "ddof"])?;
    let clamp = query.need("clamp", "[low, high]")?.pair()?;
    let ddof = query.get("ddof").map(|ddof| ddof.whole(0..=1)).transpose()?.unwrap_or(1) as f64;
    let squares = CentredSquares::new(clamp).map_err(|invalid| invalid.under(query.path()))?;
    if let Some(budget) = law.get("epsilon").or(law.get("rho")) {
        return Err(Invalid::new(
            budget.path(),
            "the scale of a noisy variance is not computed here",
            "a budget",
            "scale = ..., as the publisher says it; to plan or make a release, sums of x and x^2, \
             from which analysts have the variance: query = { kind = \"moments\", degree = 2, clamp \
             = [...] }",
        ));
    }
    let one = Count::new(1);
    let mechanism = mechanism::read(law, &one, Aggregate::Sum, common)?;
    let law = OfAnswer { answer: Variance { ddof }, mechanism };
    joint(table, Arc::new(squares), Arc::new(law), values)
}

/// `query = { kind = "quantile", alpha = 0.5, candidates = [...] }`.
fn quantile(table: &Table, query: &Table, law: &Table, values: &[f64]) -> Result<Part, Invalid> {
    query.only(&["kind", "alpha", "candidates"])?;
    let candidates = query.need("candidates", "the numbers that it is chosen among")?.numbers()?;
    let alpha = query.need("alpha", "0.5, for the median")?.number()?;
    law.only(&["kind", "scale"])?;
    let choice = match law.kind(&["permute-and-flip", "exponential"])? {
        "exponential" => Choice::Exponential,
        _ => Choice::PermuteAndFlip,
    };
    let scale = law.need("scale", "what scores are divided by")?.number()?;
    let quantile = Quantile::new(candidates, alpha, choice, scale).map_err(|invalid| {
        let owner = if invalid.field == "scale" { law.path() } else { query.path() };
        invalid.under(owner)
    })?;
    let below = quantile.query().map_err(|invalid| invalid.under(query.path()))?;
    joint(table, below, Arc::new(quantile), values)
}

fn joint(
    table: &Table,
    query: Arc<dyn crate::release::Query>,
    law: Arc<dyn JointLaw>,
    values: &[f64],
) -> Result<Part, Invalid> {
    if let Some(statistic) = table.get("statistic") {
        let problem = "this mechanism determines the statistic";
        return Err(Invalid::new(statistic.path(), problem, "both", "leave the statistic out"));
    }
    Part::joint(query, law, values.to_vec()).map_err(|invalid| {
        let is_law = ["numerator", "denominator", "mechanism", "middle"];
        let field = invalid.field.trim_start_matches("mechanism.").to_string();
        let below = is_law.iter().any(|name| invalid.field.starts_with(name));
        let owner = if below { table.field("mechanism") } else { table.path().to_string() };
        Invalid { field, ..invalid }.under(&owner)
    })
}
