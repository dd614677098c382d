//! Parts whose published values do not correspond to statistics one by one: ratios, variances,
//! quantiles, reports, synthetic records.

use std::sync::Arc;

use super::mechanism::{self, noise};
use super::release::{Common, Queries, query_of};
use super::value::Table;
use crate::error::{Invalid, counted};
use crate::release::law::{
    Choice, OfAnswer, Quantile, RandomisedResponse, Ratio, SyntheticRecords, Variance,
};
use crate::release::mechanism::Noise;
use crate::release::query::{CentredSquares, Combined, Count};
use crate::release::{Aggregate, JointLaw, Part, Query};

/// What such a part is read from.
struct Source<'a> {
    /// The table of the part.
    part: &'a Table<'a>,
    /// Its table `mechanism`.
    law: &'a Table<'a>,
    /// Its published values.
    values: &'a [f64],
    common: &'a Common,
    queries: &'a Queries<'a>,
}

/// A kind: its name, its other keys, and its reader, which gets the table that names the kind.
type Row = (&'static str, &'static [&'static str], fn(&Source, &Table) -> Result<Part, Invalid>);

/// The kinds of mechanism that determine the statistic.
const LAWS: &[Row] = &[
    ("ratio", &["numerator", "denominator", "middle", "least"], ratio),
    ("randomised-response", &["prob", "epsilon"], reports),
    ("synthetic-records", &["noise"], synthetic),
];

/// The kinds of query whose published value is no sum over the records.
const QUERIES: &[Row] =
    &[("variance", &["clamp", "ddof"], variance), ("quantile", &["alpha", "candidates"], quantile)];

/// The names of the queries whose published value is no sum over the records.
pub(super) fn query_kinds() -> impl Iterator<Item = &'static str> {
    QUERIES.iter().map(|(name, ..)| *name)
}

/// The part of a table, if it is one of these.
pub(super) fn part(
    table: &Table,
    law: &Table,
    values: &[f64],
    common: &Common,
    queries: &Queries,
) -> Result<Option<Part>, Invalid> {
    let source = Source { part: table, law, values, common, queries };
    let query = table.get("query").and_then(|query| query.table("").ok());
    for (rows, own) in [(LAWS, Some(law)), (QUERIES, query.as_ref())] {
        let Some(own) = own else { continue };
        let Some((_, keys, read)) = rows.iter().find(|(name, ..)| own.names("kind", name)) else {
            continue;
        };
        own.only(&[&["kind"], *keys].concat())?;
        return read(&source, own).map(Some);
    }
    Ok(None)
}

impl Source<'_> {
    /// The query of as many values as were published.
    fn query(&self) -> Result<Arc<dyn Query>, Invalid> {
        query_of(self.part, self.values.len(), self.queries)
    }

    /// The part with this law.
    fn joint(&self, query: Arc<dyn Query>, law: Arc<dyn JointLaw>) -> Result<Part, Invalid> {
        if let Some(statistic) = self.part.get("statistic") {
            let problem = "this mechanism determines the statistic";
            return Err(Invalid::new(statistic.path(), problem, "both", "leave the statistic out"));
        }
        let part = Part::joint(query, law, self.values.to_vec());
        part.map_err(|invalid| invalid.under(self.part.path()))
    }

    /// Prefixes an error of a law: with the part if it is of the values, otherwise with the mechanism.
    fn prefixed(&self, invalid: Invalid) -> Invalid {
        match invalid.field.as_str() {
            "values" => invalid.under(self.part.path()),
            _ => invalid.under(self.law.path()),
        }
    }
}

/// `{ kind = "...", scale = ... }` under a key: noise, usually `discrete` or not, and its scale.
fn noise_and_scale(law: &Table, key: &str, discrete: bool) -> Result<(Noise, f64), Invalid> {
    let example = Noise::ALL.into_iter().find(|noise| noise.is_discrete() == discrete);
    let example = example.map_or("...", Noise::name);
    let example = format!("{{ kind = \"{example}\", scale = 1.0 }}");
    let own = law.need(key, &example)?.table(&example)?;
    own.only(&["kind", "scale"])?;
    let noise = noise(&own)?;
    Ok((noise, own.need("scale", "the scale of the noise")?.number()?))
}

/// `mechanism = { kind = "ratio", numerator = { ... }, denominator = { ... } }`.
fn ratio(source: &Source, law: &Table) -> Result<Part, Invalid> {
    let Source { part, values, .. } = *source;
    let numerator = noise_and_scale(law, "numerator", false)?;
    let denominator = noise_and_scale(law, "denominator", true)?;
    let middle = match law.get("middle") {
        None => vec![0.0; values.len()],
        Some(middle) if middle.is_list() => middle.numbers()?,
        Some(middle) => vec![middle.number()?; values.len()],
    };
    let least = law.get("least").map(|least| least.number()).transpose()?;
    let query = source.query()?;
    if query.dim() != values.len() || middle.len() != values.len() {
        return Err(Invalid::new(
            part.field("values"),
            "the number of released ratios does not fit the query",
            counted(values.len(), "value"),
            format!("{}, and as many middles", counted(query.dim(), "value")),
        ));
    }
    let count = Arc::new(Count::new(query.record_dim()));
    let names = ["sum", "count"].map(String::from).to_vec();
    let query = Arc::new(Combined::new(vec![query, count], names)?);
    let ratio = Ratio::new(numerator, denominator, middle, least);
    source.joint(query, Arc::new(ratio.map_err(|invalid| source.prefixed(invalid))?))
}

/// `mechanism = { kind = "randomised-response", prob = 0.75 }`, or with epsilon.
fn reports(source: &Source, law: &Table) -> Result<Part, Invalid> {
    let categories = source.values.len();
    let response = match (law.get("prob"), law.get("epsilon")) {
        (Some(prob), None) => RandomisedResponse::new(categories, prob.number()?),
        (None, Some(epsilon)) => RandomisedResponse::with_epsilon(categories, epsilon.number()?),
        (given, _) => {
            let given = if given.is_some() { "both" } else { "none" };
            let allowed = "exactly one of prob = ..., the probability that a report is true, and \
                           epsilon = ..., the local privacy of a person";
            let problem = "how often reports are true must follow from prob or from epsilon";
            return Err(Invalid::new(law.path(), problem, given, allowed));
        }
    };
    let response = response.map_err(|invalid| source.prefixed(invalid))?;
    source.joint(source.query()?, Arc::new(response))
}

/// `mechanism = { kind = "synthetic-records", noise = { kind = "laplace", scale = 2.0 } }`.
fn synthetic(source: &Source, law: &Table) -> Result<Part, Invalid> {
    let (noise, scale) = noise_and_scale(law, "noise", true)?;
    let records: f64 = source.values.iter().sum();
    let made = SyntheticRecords::new(noise, scale, source.values.len(), records.max(0.0) as u64);
    let made = made.map_err(|invalid| source.prefixed(invalid))?;
    source.joint(source.query()?, Arc::new(made))
}

/// `query = { kind = "variance", clamp = [low, high], ddof = 1 }`.
fn variance(source: &Source, query: &Table) -> Result<Part, Invalid> {
    let law = source.law;
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
    let mechanism = mechanism::read(law, &one, Aggregate::Sum, source.common)?;
    source.joint(Arc::new(squares), Arc::new(OfAnswer { answer: Variance { ddof }, mechanism }))
}

/// `query = { kind = "quantile", alpha = 0.5, candidates = [...] }`.
fn quantile(source: &Source, query: &Table) -> Result<Part, Invalid> {
    let law = source.law;
    let candidates = query.need("candidates", "the numbers that it is chosen among")?.numbers()?;
    let alpha = query.need("alpha", "0.5, for the median")?.number()?;
    law.only(&["kind", "scale"])?;
    let kind = law.kind(&Choice::ALL.map(Choice::name))?;
    let choice = Choice::ALL.into_iter().find(|choice| choice.name() == kind);
    let choice = choice.expect("a listed kind");
    let scale = law.need("scale", "what scores are divided by")?.number()?;
    let quantile = Quantile::new(candidates, alpha, choice, scale).map_err(|invalid| {
        let owner = if invalid.field == "scale" { law.path() } else { query.path() };
        invalid.under(owner)
    })?;
    let below = quantile.query().map_err(|invalid| invalid.under(query.path()))?;
    source.joint(below, Arc::new(quantile))
}
