//! From a problem and its draws to what a report shows.

use soma::Failure;
use soma::chain::Problem;
use soma::diagnostics::Summary;
use soma::interrupt::Interrupted;
use soma::plug_in::plug_in;
use soma::predictive;
use soma::rng::stream;

use crate::content::{Content, Group, Parameter, PlugIn, Predicted, Published, Trust};

/// Draws, and what is known of where they come from.
pub struct Source<'a, E> {
    /// The release and the model, where they are known.
    pub problem: Option<&'a Problem>,
    /// The quantities of a draw, with their summaries.
    pub rows: Vec<(String, Summary)>,
    /// The draws of a quantity, by chain.
    pub column: &'a dyn Fn(usize) -> Result<Vec<Vec<f64>>, E>,
    /// The log density of the release at each draw, by chain.
    pub log_density: Vec<Vec<f64>>,
    /// The seed of what is drawn for the report alone.
    pub seed: u64,
    /// Whether releases are replicated, which costs more than all else.
    pub replicates: bool,
}

/// Quantities with figures of their draws.
const DRAWN: usize = 60;

/// Draws from the prior, and numbers of all of them together.
const PRIOR: (usize, usize) = (4000, 8_000_000);

/// Replicated releases, and records or numbers of all of them together.
const REPLICATIONS: (usize, usize) = (1000, 40_000_000);

/// Fewer replications than this say nothing of tails.
const FEWEST: usize = 50;

/// The probability of the interval of a plug-in answer.
const LEVEL: f64 = 0.9;

/// The stream of draws from the prior: apart from those of chains.
const PRIOR_STREAM: u64 = u64::MAX / 2 + 1;

/// What a report shows of `source`; how the run was made is filled in by the caller.
pub fn gather<E: From<Failure>>(source: Source<E>) -> Result<Content, E> {
    let Source { problem, rows, column, log_density, seed, replicates } = source;
    let size = rows.len();
    let derived = problem.map_or_else(Vec::new, Problem::derived_names);
    let comparisons = problem.map_or_else(Vec::new, Problem::comparisons);
    let mut prior = problem.map_or_else(|| Ok(Vec::new()), |problem| prior(problem, size, seed))?;
    let plug_ins = problem.and_then(|problem| plug_in(problem, LEVEL)).unwrap_or_default();
    let plan = problem.map(|problem| match replicates {
        true => replications(problem, size),
        false => Err("Releases were not replicated.".into()),
    });
    let wanted = plan.as_ref().map_or(0, |plan| plan.as_ref().map_or(0, |count| *count));
    let mut thetas: Vec<Vec<f64>> = vec![Vec::with_capacity(size); wanted];
    let mut parameters = Vec::with_capacity(size);
    for (k, (name, summary)) in rows.into_iter().enumerate() {
        let group = group(&name, &derived);
        let is_drawn = k < DRAWN || group == Group::Derived;
        let mut chains = Vec::new();
        if is_drawn || wanted > 0 {
            chains = column(k)?;
            chains.retain(|chain| !chain.is_empty());
            spread(&chains, &mut thetas);
        }
        let chains = if is_drawn { chains } else { Vec::new() };
        let prior = prior.get_mut(k).map(std::mem::take).unwrap_or_default();
        // What was published of a count has no interval.
        let interval = |it: &soma::plug_in::PlugIn| (it.low < it.high).then_some((it.low, it.high));
        let plug_in = plug_ins
            .iter()
            .find(|it| it.name == name)
            .map(|it| PlugIn { estimate: it.estimate, interval: interval(it) });
        let is_comparison = comparisons.contains(&name);
        parameters.push(Parameter { name, group, summary, chains, prior, plug_in, is_comparison });
    }
    let predicted = match (problem, plan) {
        (Some(problem), Some(Ok(_))) => Ok(predict(problem, &thetas, seed)?),
        (Some(_), Some(Err(why))) => Err(why),
        _ => Err("The model of these draws is not known.".into()),
    };
    let release = problem.map(Problem::release);
    let published = release.map_or_else(Vec::new, |release| {
        let pairs = release.published_labels().into_iter().zip(release.published_values());
        pairs.map(|(label, value)| Published { label, value }).collect()
    });
    Ok(Content {
        title: String::new(),
        release: release.map(|release| release.describe()),
        published,
        model: problem.map(model),
        parameters,
        log_density,
        replications: wanted,
        predicted,
        trust: Trust::Unknown,
        verdict: String::new(),
        settled: Vec::new(),
        settings: Vec::new(),
        spec: None,
        version: env!("CARGO_PKG_VERSION").into(),
        notes: Vec::new(),
    })
}

fn group(name: &str, derived: &[String]) -> Group {
    match name {
        name if derived.iter().any(|other| other == name) => Group::Derived,
        name if name.starts_with("count[") => Group::Count,
        _ => Group::Parameter,
    }
}

/// The model in words: its text, or its kind.
fn model(problem: &Problem) -> String {
    let fixed = if problem.fixed().is_some() { ", with its parameters held fixed" } else { "" };
    let kind = format!("{}{fixed}", problem.model().kind());
    problem.model().describe().map_or(kind, |text| text.trim_end().to_string())
}

/// Draws from the prior of each quantity, sorted; those that have no proper prior have none.
fn prior(problem: &Problem, size: usize, seed: u64) -> Result<Vec<Vec<f64>>, Failure> {
    let records = if problem.fixed().is_some() { problem.release().n() } else { 0 };
    let count = PRIOR.0.min(PRIOR.1 / (size + records).max(1));
    let mut rng = stream(seed, PRIOR_STREAM);
    let mut columns = vec![Vec::with_capacity(count); size];
    for _ in 0..count {
        let draw = match problem.draw_prior(&mut rng) {
            // A model of the user's own need not say how to draw from its prior.
            Err(failure) if !failure.is::<Interrupted>() => return Ok(Vec::new()),
            draw => draw?,
        };
        columns.iter_mut().zip(draw).for_each(|(column, value)| column.push(value));
    }
    for column in &mut columns {
        column.retain(|x| x.is_finite());
        if column.len() < count {
            column.clear();
        }
        column.sort_unstable_by(f64::total_cmp);
    }
    Ok(columns)
}

/// How many releases are replicated; or why none are.
fn replications(problem: &Problem, size: usize) -> Result<usize, String> {
    let release = problem.release();
    let is_cheap = predictive::is_cheap(problem);
    let records = if is_cheap { 0 } else { release.n() };
    let most = REPLICATIONS.1 / (records + size).max(1);
    match REPLICATIONS.0.min(most) {
        few if few < FEWEST => Err(format!(
            "Releases of n = {} records are not replicated for a report; `posterior.predict` does it.",
            release.n()
        )),
        count => Ok(count),
    }
}

/// Adds the values of draws that are evenly spaced over all chains to one row each.
fn spread(chains: &[Vec<f64>], rows: &mut [Vec<f64>]) {
    let all: usize = chains.iter().map(Vec::len).sum();
    let count = rows.len();
    for (k, row) in rows.iter_mut().enumerate() {
        let mut place = k * all / count;
        for chain in chains {
            match chain.get(place) {
                Some(value) => {
                    row.push(*value);
                    break;
                }
                None => place -= chain.len(),
            }
        }
    }
}

fn predict(problem: &Problem, thetas: &[Vec<f64>], seed: u64) -> Result<Vec<Predicted>, Failure> {
    let releases = predictive::releases(problem, thetas, seed)?;
    let release = problem.release();
    let pairs = release.published_labels().into_iter().zip(release.published_values());
    let of = |(k, (label, published)): (usize, (String, f64))| {
        let mut replicated: Vec<f64> = releases.iter().map(|values| values[k]).collect();
        replicated.sort_unstable_by(f64::total_cmp);
        Predicted { label, published, replicated }
    };
    Ok(pairs.enumerate().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_from_all_chains() {
        let chains = [vec![0.0, 1.0, 2.0, 3.0], vec![10.0, 11.0]];
        let mut rows = vec![Vec::new(); 3];
        spread(&chains, &mut rows);
        assert_eq!(rows, [vec![0.0], vec![2.0], vec![10.0]]);
    }
}
