//! Parts whose published values do not correspond to statistics one by one: ratios, variances,
//! quantiles, reports, synthetic records.

use std::sync::Arc;

use super::mechanism::{self, noise};
use super::release::{Common, Queries, query_of};
use super::value::Table;
use crate::error::{Invalid, counted, positive};
use crate::release::law::{
    Answer, Choice, OfAnswer, Quantile, RandomisedResponse, Ratio, SyntheticRecords, Variance,
};
use crate::release::mechanism::Noise;
use crate::release::query::{CentredSquares, Combined, Count, Mean};
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

/// An error where the mechanism of a part with noise on each value is of no kind, or of one that needs
/// another query.
pub(super) fn check_kind(law: &Table) -> Result<(), Invalid> {
    if let Some(choice) = Choice::ALL.into_iter().find(|choice| law.names("kind", choice.name())) {
        return Err(Invalid::new(
            law.field("kind"),
            "chooses one of the candidates of a quantile",
            format!("{:?} with another query", choice.name()),
            "query = { kind = \"quantile\", alpha = 0.5, candidates = [...] }; or noise, such as \
             kind = \"laplace\"",
        ));
    }
    let kinds = Noise::ALL.map(Noise::name).into_iter().chain(LAWS.iter().map(|(name, ..)| *name));
    law.kind(&kinds.collect::<Vec<_>>()).map(|_| ())
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
    let example = "{ kind = \"discrete-laplace\", scale = 1.0 }";
    let own = law.need("noise", example)?.table(example)?;
    own.only(&["kind", "scale", "variance", "epsilon", "rho", "delta", "rule", "sensitivity"])?;
    let query = source.query()?;
    let mechanism = mechanism::read(&own, query.as_ref(), Aggregate::Sum, source.common)?;
    let (noise, scale) = (mechanism.noise(), mechanism.scales()[0]);
    let records: f64 = source.values.iter().sum();
    let made = SyntheticRecords::new(noise, scale, source.values.len(), records.max(0.0) as u64);
    let made = made.map_err(|invalid| source.prefixed(invalid))?;
    source.joint(query, Arc::new(made))
}

/// `query = { kind = "variance", clamp = [low, high], ddof = 1 }`.
fn variance(source: &Source, query: &Table) -> Result<Part, Invalid> {
    let law = source.law;
    let clamp = query.need("clamp", "[low, high]")?.pair()?;
    let ddof = query.get("ddof").map(|ddof| ddof.whole(0..=1)).transpose()?.unwrap_or(1) as f64;
    let squares = CentredSquares::new(clamp).map_err(|invalid| invalid.under(query.path()))?;
    let answer = Variance { ddof };
    let budget = law.get("epsilon").or(law.get("rho")).filter(|_| law.get("sensitivity").is_none());
    let Common { n, neighbours } = *source.common;
    let moved = answer.sensitivity(&squares, neighbours, n.map(|n| n as i64));
    let moved = match (moved, budget) {
        (Some(moved), _) => moved,
        (None, None) => 1.0,
        (None, Some(budget)) => {
            return Err(Invalid::new(
                budget.path(),
                "a variance has no scale that follows from a budget where records are added or removed",
                "a budget",
                "scale = ..., as it was used; or neighbours = \"replace\" and the number of records",
            ));
        }
    };
    // A statistic that a record moves as far as the variance.
    let answered = Mean::new(vec![(0.0, moved)])?;
    let mechanism = mechanism::read(law, &answered, Aggregate::Sum, source.common)?;
    source.joint(Arc::new(squares), Arc::new(OfAnswer { answer, mechanism }))
}

/// `query = { kind = "quantile", alpha = 0.5, candidates = [...] }`.
fn quantile(source: &Source, query: &Table) -> Result<Part, Invalid> {
    let law = source.law;
    let candidates = query.need("candidates", "the numbers that it is chosen among")?.numbers()?;
    let alpha = query.need("alpha", "0.5, for the median")?.number()?;
    law.only(&["kind", "scale", "epsilon"])?;
    let kind = law.kind(&Choice::ALL.map(Choice::name))?;
    let choice = Choice::ALL.into_iter().find(|choice| choice.name() == kind);
    let choice = choice.expect("a listed kind");
    let scale = match (law.get("scale"), law.get("epsilon")) {
        (Some(scale), None) => scale.number()?,
        (None, Some(epsilon)) => {
            let epsilon = positive(epsilon.path(), epsilon.number()?)?;
            Quantile::scale(alpha, source.common.neighbours, epsilon)
        }
        (given, _) => {
            let given = if given.is_some() { "both" } else { "none" };
            let allowed =
                "exactly one of scale = ..., what scores are divided by, and epsilon = ...";
            let problem = "what scores are divided by must follow from scale or from epsilon";
            return Err(Invalid::new(law.path(), problem, given, allowed));
        }
    };
    let quantile = Quantile::new(candidates, alpha, choice, scale).map_err(|invalid| {
        let owner = if invalid.field == "scale" { law.path() } else { query.path() };
        invalid.under(owner)
    })?;
    let below = quantile.query().map_err(|invalid| invalid.under(query.path()))?;
    source.joint(below, Arc::new(quantile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::mechanism::{Budget, Neighbours};
    use crate::release::{PartLaw, Release};
    use crate::spec::Spec;

    fn part(text: &str) -> Part {
        let text = format!("[release]\n{text}");
        let release = Release::parse(&text).unwrap_or_else(|e| panic!("{text}: {}", e.invalid));
        release.published_parts()[0].clone()
    }

    /// The largest change of the log density of a value between neighbours among data sets of up to
    /// three records on a grid.
    fn largest_change(part: &Part, grid: &[f64], neighbours: Neighbours, values: &[f64]) -> f64 {
        let PartLaw::Joint(law) = part.law() else { panic!("no joint law") };
        let sums = |records: &[f64]| {
            let mut out = vec![0.0; records.len() * part.query().dim()];
            part.query().statistics(records, &mut out).unwrap();
            let rows = out.chunks_exact(part.query().dim());
            rows.fold(vec![0.0; part.query().dim()], |sum, row| {
                sum.iter().zip(row).map(|(a, b)| a + b).collect::<Vec<f64>>()
            })
        };
        let density = |records: &[f64]| -> Vec<f64> {
            values.iter().map(|&value| law.log_density(&[value], &sums(records))).collect()
        };
        let mut most = 0.0_f64;
        for (&a, &b) in grid.iter().flat_map(|a| grid.iter().map(move |b| (a, b))) {
            for &c in grid {
                let here = density(&[a, b, c]);
                let there: Vec<Vec<f64>> = match neighbours {
                    Neighbours::Replace => grid.iter().map(|&d| density(&[a, b, d])).collect(),
                    Neighbours::AddRemove => vec![density(&[a, b])],
                };
                for other in there {
                    let change = here.iter().zip(&other).map(|(p, q)| (p - q).abs());
                    most = most.max(change.fold(0.0, f64::max));
                }
            }
        }
        most
    }

    /// What is said of a ratio, a variance and a quantile is never exceeded, and is attained but where the
    /// bound is not sharp.
    #[test]
    fn epsilon_of_joint_laws_bounds_the_change_of_their_density() {
        let ratio = "n = 3\nvalues = [0.4]\nquery = { kind = \"mean\", clamp = [0.0, 2.0] }\n\
                     mechanism = { kind = \"ratio\", middle = 1.0, least = 1, \
                     numerator = { kind = \"laplace\", scale = 2.0 }, \
                     denominator = { kind = \"discrete-laplace\", scale = 0.8 } }";
        let variance = "n = 3\nvalues = [0.4]\n\
                        query = { kind = \"variance\", clamp = [0.0, 2.0], ddof = DDOF }\n\
                        mechanism = { kind = \"laplace\", epsilon = 0.7 }";
        let quantile = "n = 3\nvalues = [0.5]\n\
                        query = { kind = \"quantile\", alpha = 0.3, candidates = [0.5, 1.0, 1.5] }\n\
                        mechanism = { kind = \"CHOICE\", epsilon = 0.7 }";
        let (replace, added) = (Neighbours::Replace, Neighbours::AddRemove);
        let cases = [
            (ratio.to_string(), vec![(replace, 1.0, 0.99), (added, 0.5 + 1.25, 0.99)]),
            (variance.replace("DDOF", "0"), vec![(replace, 0.7, 0.99)]),
            (variance.replace("DDOF", "1"), vec![(replace, 0.7, 0.99)]),
            (
                quantile.replace("CHOICE", "exponential"),
                vec![(replace, 0.7, 0.3), (added, 0.49, 0.3)],
            ),
            (
                quantile.replace("CHOICE", "permute-and-flip"),
                vec![(replace, 0.7, 0.3), (added, 0.49, 0.3)],
            ),
        ];
        let grid: Vec<f64> = (0..=4).map(|i| 0.5 * f64::from(i)).collect();
        for (text, expected) in cases {
            let part = part(&text);
            let values: Vec<f64> = match text.contains("quantile") {
                true => vec![0.5, 1.0, 1.5],
                false => (-40..=60).map(|i| 0.25 * f64::from(i)).collect(),
            };
            for (neighbours, epsilon, share) in expected {
                let implied = part.implied(neighbours, Some(3));
                let Some(Budget::Epsilon(said)) = implied else { panic!("{text}: {implied:?}") };
                assert!((said - epsilon).abs() < 1e-12, "{text}: {said}");
                let most = largest_change(&part, &grid, neighbours, &values);
                assert!(most < said + 1e-9, "{text} {neighbours:?}: {most}, said {said}");
                assert!(most > share * said, "{text} {neighbours:?}: {most}, said {said}");
            }
        }
    }

    /// OpenDP's privacy maps of quantiles, and the scales that diffprivlib finds for bounded domains.
    #[test]
    fn budgets_are_those_of_the_tools() {
        for (alpha, epsilon) in [(0.5, 0.25), (0.25, 0.375), (0.9, 0.45)] {
            let part = part(&format!(
                "n = 9\nvalues = [1]\nquery = {{ kind = \"quantile\", alpha = {alpha}, candidates = [1, 2] }}\n\
                 mechanism = {{ kind = \"permute-and-flip\", scale = 4.0 }}"
            ));
            assert_eq!(part.implied(Neighbours::AddRemove, None), Some(Budget::Epsilon(epsilon)));
        }
        for (epsilon, sensitivity, scale) in [
            (1.0, 0.4, 0.59232133520316),
            (0.5, 0.4, 1.2333880218199789),
            (2.0, 0.01, 0.00697456667532031),
            (1.0, 1.0, 1.0),
            (0.1, 0.1, 1.877274130248944),
        ] {
            let part = part(&format!(
                "n = 1\nvalues = [0.2]\nstatistic = \"mean\"\nquery = {{ kind = \"mean\", clamp = [0, 1] }}\n\
                 mechanism = {{ kind = \"laplace\", epsilon = {epsilon}, sensitivity = {sensitivity}, \
                 within = [0, 1] }}"
            ));
            let found = part.mechanism().unwrap().scales()[0];
            assert!((found / scale - 1.0).abs() < 1e-9, "{epsilon} {sensitivity}: {found}");
        }
    }

    /// Releases that read as if they were fine, and whose posterior would be of something else.
    #[test]
    fn what_would_be_taken_for_something_else_is_refused() {
        let field = |text: &str| match Spec::parse(text) {
            Err(error) => error.invalid.field,
            Ok(_) => panic!("not refused: {text}"),
        };
        let count = "[[release.parts]]\nquery = { kind = \"count\" }\nstatistic = \"sum\"\n\
                     values = [100]\nmechanism = { kind = \"discrete-laplace\", scale = 2.0 }\n";
        let normal = "[model]\nkind = \"normal\"\nprior = { kind = \"normal-inverse-gamma\", \
                      mean = 0.0, lambda = 1.0, shape = 2.0, rate = 2.0 }\n";
        // n was taken for 1.
        let mean = "[[release.parts]]\nquery = { kind = \"mean\", clamp = [0, 1] }\nstatistic = \"mean\"\n\
                    values = [0.4]\nmechanism = { kind = \"laplace\", epsilon = 1.0 }\n";
        let head = "[release]\nn = \"unknown\"\nneighbours = \"replace\"\n";
        let found = field(&format!("{head}{mean}{count}{normal}"));
        assert_eq!(found, "release.parts[0].mechanism.epsilon");
        // The posterior of n would end at 90.
        let head = "[release]\nn = { prior = \"flat\", slots = 90 }\n";
        let sum = mean.replace("\"mean\"\nvalues", "\"sum\"\nvalues");
        assert_eq!(field(&format!("{head}{sum}{count}{normal}")), "release.n.slots");
        // Categories 0 and 1 are both in the first bin.
        let histogram = "[release]\nn = 20\nquery = { kind = \"histogram\", edges = EDGES }\n\
                         statistic = \"sum\"\nvalues = [12, 8]\n\
                         mechanism = { kind = \"laplace\", scale = 2.0 }\n\
                         [model]\nkind = \"categorical\"\n\
                         prior = { kind = \"dirichlet\", alpha = 1.0 }\n";
        assert_eq!(field(&histogram.replace("EDGES", "[0, 20, 40]")), "model.kind");
        assert!(Spec::parse(&histogram.replace("EDGES", "[0, 1, 2]")).is_ok());
        let chosen = mean.replace("\"laplace\", epsilon", "\"permute-and-flip\", epsilon");
        let found = field(&format!("[release]\nn = 20\n{chosen}{normal}"));
        assert_eq!(found, "release.parts[0].mechanism.kind");
    }
}
