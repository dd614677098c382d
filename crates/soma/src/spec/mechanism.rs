//! The table `mechanism = { kind = ..., ... }` of a part: the noise of the published values.

use super::release::Common;
use super::value::{Table, Value};
use crate::error::{Invalid, positive};
use crate::release::mechanism::{Budget, GaussianRule, Noise, Publishing, scale_of_variance};
use crate::release::{Aggregate, Mechanism, Query};

/// The keys that can determine a scale.
pub(super) const SOURCES: [&str; 4] = ["epsilon", "rho", "scale", "variance"];

/// The other keys.
const OTHERS: [&str; 9] = [
    "kind",
    "delta",
    "rule",
    "sensitivity",
    "granularity",
    "within",
    "round",
    "clamp",
    "threshold",
];

/// The placeholder for a suppressed value.
const SUPPRESSED: &str = "suppressed";

/// The published values. A suppressed one is replaced by the threshold of the mechanism.
pub(super) fn values(values: &Value, mechanism: &Table) -> Result<Vec<f64>, Invalid> {
    let threshold = mechanism.get("threshold").map(|value| value.number()).transpose()?;
    let read = |value: &Value| {
        if value.is_text() {
            if value.text()? != SUPPRESSED {
                let allowed =
                    format!("a number, or \"{SUPPRESSED}\" for a value that is not shown");
                return Err(value.wrong("must be a number", allowed));
            }
            return threshold.ok_or_else(|| {
                Invalid::new(
                    mechanism.field("threshold"),
                    "is missing: a value was suppressed",
                    "nothing",
                    "threshold = ..., the noisy value up to which none is shown",
                )
            });
        }
        let number = value.number()?;
        match threshold {
            Some(threshold) if number <= threshold => Err(Invalid::new(
                value.path(),
                "a value up to the threshold is not shown",
                number,
                format!("\"{SUPPRESSED}\", or a value above {threshold}"),
            )),
            _ => Ok(number),
        }
    };
    let allowed = "a list of numbers, such as [0.5, 1.0], and \"suppressed\" for one not shown";
    values.list(allowed)?.iter().map(read).collect()
}

/// The noise, its scale and the post-processing.
pub(super) fn read(
    table: &Table,
    query: &dyn Query,
    aggregate: Aggregate,
    common: &Common,
) -> Result<Mechanism, Invalid> {
    let noise = noise(table)?;
    table.only(&[&OTHERS[..1], &SOURCES[..], &OTHERS[1..]].concat())?;
    let (mechanism, budget) = scaled(table, noise, query, aggregate, common)?;
    let mechanism = mechanism.published_by(publishing(table)?).and_then(|mechanism| match budget {
        Some(budget) => mechanism.on_bounded_domain(budget),
        None => Ok(mechanism),
    });
    mechanism.map_err(|invalid| invalid.under(table.path()))
}

/// The kind of noise.
pub(super) fn noise(table: &Table) -> Result<Noise, Invalid> {
    let kind = table.kind(&Noise::ALL.map(Noise::name))?;
    Ok(Noise::named(kind).expect("a listed kind"))
}

/// The noise with the scale from its one source, and the budget where that is one.
fn scaled(
    table: &Table,
    noise: Noise,
    query: &dyn Query,
    aggregate: Aggregate,
    common: &Common,
) -> Result<(Mechanism, Option<Budget>), Invalid> {
    let sources: Vec<&str> =
        SOURCES.into_iter().filter(|source| table.get(source).is_some()).collect();
    let [source] = sources[..] else {
        let given = if sources.is_empty() { "none".to_string() } else { sources.join(" and ") };
        let problem =
            "the scale of the noise must follow from one of epsilon, rho, scale and variance";
        let allowed = "exactly one of epsilon = ..., rho = ..., scale = ... and variance = ...";
        let field = sources.last().map_or(table.path().to_string(), |key| table.field(key));
        return Err(Invalid::new(field, problem, given, allowed));
    };
    let value = table.need(source, "a number")?;
    if let Some(stray) = table.get("delta").or(table.get("rule")).filter(|_| source != "epsilon") {
        let problem = "is allowed with epsilon only";
        return Err(Invalid::new(stray.path(), problem, source, "leave one of them out"));
    }
    let stated = |scale: &dyn Fn(f64) -> f64| {
        if let Some(sensitivity) = table.get("sensitivity") {
            let problem = "with an explicit scale the sensitivity does not matter";
            let given = sensitivity.number()?;
            return Err(Invalid::new(sensitivity.path(), problem, given, "leave one of them out"));
        }
        let given = match value.is_list() {
            true => value.numbers()?,
            false => vec![value.number()?; query.dim()],
        };
        let scales = given.into_iter().map(|given| Ok(scale(positive(source, given)?)));
        Mechanism::new(noise, scales.collect::<Result<_, Invalid>>()?)
    };
    let mechanism = match source {
        "scale" => stated(&|scale| scale).map(|mechanism| (mechanism, None)),
        "variance" => stated(&|variance| scale_of_variance(noise, variance))
            .map(|mechanism| (mechanism, None)),
        _ => {
            let sensitivity = table.get("sensitivity").map(|value| value.number()).transpose()?;
            let budget = budget(table, source, value.number()?)?;
            let Common { n, neighbours } = *common;
            if n.is_none() && aggregate == Aggregate::Mean {
                return Err(Invalid::new(
                    value.path(),
                    "a mean over an unknown number of records has no scale that follows from a budget",
                    value.number()?,
                    "scale = ..., as it was used; or the sum, with a count beside it",
                ));
            }
            let n = n.unwrap_or(1);
            Mechanism::with_budget(noise, budget, sensitivity, neighbours, query, aggregate, n)
                .map(|mechanism| (mechanism, Some(budget)))
        }
    };
    mechanism.map_err(|invalid| {
        if invalid.field.starts_with(table.path()) { invalid } else { invalid.under(table.path()) }
    })
}

/// The budget of `epsilon`, with `delta` and `rule`, or of `rho`.
fn budget(table: &Table, source: &str, amount: f64) -> Result<Budget, Invalid> {
    if source == "rho" {
        return Ok(Budget::Rho(amount));
    }
    let Some(delta) = table.get("delta") else {
        if let Some(rule) = table.get("rule") {
            let problem = "a rule requires epsilon and delta";
            return Err(Invalid::new(rule.path(), problem, rule.text()?, "delta = ... beside it"));
        }
        return Ok(Budget::Epsilon(amount));
    };
    let Some(rule) = table.get("rule") else {
        return Err(Invalid::new(
            delta.path(),
            "epsilon and delta do not determine the scale",
            delta.number()?,
            "rule = \"analytic\" or rule = \"classical\" beside it, as the publisher says; or \
             scale = ..., the standard deviation that was published; or rho = ...",
        ));
    };
    let rule = match rule.choice(&["analytic", "classical"])? {
        "analytic" => GaussianRule::Analytic,
        _ => GaussianRule::Classical,
    };
    Ok(Budget::EpsilonDelta { epsilon: amount, delta: delta.number()?, rule })
}

/// `granularity`, `round`, `clamp` and `threshold`.
fn publishing(table: &Table) -> Result<Publishing, Invalid> {
    let number = |key: &str| table.get(key).map(|value| value.number()).transpose();
    let (low, high) = match table.get("clamp") {
        Some(clamp) => clamp.range()?,
        None => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let threshold = number("threshold")?;
    if let Some(threshold) = threshold
        && low > threshold
    {
        return Err(Invalid::new(
            table.field("threshold"),
            "the clamp begins above the threshold: no value could have been suppressed",
            threshold,
            format!("a threshold of at least {low}, or no clamp"),
        ));
    }
    let low = threshold.unwrap_or(low);
    Ok(Publishing {
        granularity: number("granularity")?,
        within: table.get("within").map(|within| within.pair()).transpose()?,
        rounding: number("round")?,
        low,
        high,
    })
}
