//! A spec with a design, a number of records and a budget put into it.

use toml::{Table, Value};

use super::PART_KEYS;
use crate::error::{Invalid, positive};
use crate::release::mechanism::Noise;
use crate::release::potential::Norm;

/// The tables of `[[plan.designs]]`.
pub(super) fn tables(root: &Table) -> Vec<Table> {
    let plan = root.get("plan").and_then(Value::as_table);
    let designs = plan.and_then(|plan| plan.get("designs")).and_then(Value::as_array);
    let tables = designs.into_iter().flatten().filter_map(Value::as_table);
    tables.cloned().collect()
}

/// Puts the keys of a design, n and a total budget into the table `[release]`. Gives what the total
/// budget is then, epsilon or rho, where mechanisms have one.
pub(super) fn apply(
    root: &mut Table,
    design: &Table,
    n: Option<u64>,
    budget: Option<f64>,
) -> Result<Option<(&'static str, f64)>, Invalid> {
    let Some(Value::Table(release)) = root.get_mut("release") else { return Ok(None) };
    if design.contains_key("parts") {
        PART_KEYS.iter().for_each(|key| drop(release.remove(*key)));
    } else if PART_KEYS.iter().any(|key| design.contains_key(*key)) {
        release.remove("parts");
    }
    for (one, other) in [("query", "statistics"), ("statistics", "query")] {
        if design.contains_key(one) {
            release.remove(other);
            release.remove("values");
        }
    }
    for (key, value) in design.iter().filter(|(key, _)| *key != "name") {
        release.insert(key.clone(), value.clone());
    }
    if let Some(n) = n {
        release.insert("n".into(), Value::Integer(i64::try_from(n).unwrap_or(i64::MAX)));
    }
    let has_parts = release.contains_key("parts");
    let tables: Vec<&mut Table> = match has_parts {
        true => match release.get_mut("parts") {
            Some(Value::Array(parts)) => parts.iter_mut().filter_map(Value::as_table_mut).collect(),
            _ => Vec::new(),
        },
        false => vec![release],
    };
    let mechanisms = tables.into_iter().filter_map(|table| table.get_mut("mechanism"));
    let mut mechanisms: Vec<&mut Table> = mechanisms.filter_map(Value::as_table_mut).collect();
    spend(&mut mechanisms, budget)
}

/// The number under a key.
fn number(table: &Table, key: &str) -> Option<f64> {
    let value = table.get(key)?;
    value.as_float().or(value.as_integer().map(|whole| whole as f64))
}

/// Shares a budget out among mechanisms in proportion to what they have, or equally where they say
/// nothing.
fn spend(
    mechanisms: &mut [&mut Table],
    budget: Option<f64>,
) -> Result<Option<(&'static str, f64)>, Invalid> {
    let own = |key: &str| mechanisms.iter().filter(|table| table.contains_key(key)).count();
    let (epsilons, rhos) = (own("epsilon"), own("rho"));
    let silent = mechanisms.iter().all(|table| {
        ["epsilon", "rho", "scale", "variance"].iter().all(|key| !table.contains_key(*key))
    });
    let takes_rho = |table: &&mut Table| {
        let noise = table.get("kind").and_then(Value::as_str).and_then(Noise::named);
        noise.is_some_and(|noise| noise.law().sensitivity_norm() == Some(Norm::L2))
    };
    let key = match (epsilons, rhos) {
        (0, 0) if silent && mechanisms.iter().all(takes_rho) => "rho",
        (0, 0) if silent => "epsilon",
        (all, 0) if all == mechanisms.len() => "epsilon",
        (0, all) if all == mechanisms.len() => "rho",
        _ if budget.is_none() => return Ok(None),
        _ => {
            return Err(Invalid::new(
                "release.mechanism",
                "a budget cannot be shared out",
                "mechanisms with a scale, or with epsilon beside rho",
                "epsilon = ... in each mechanism, or rho = ... in each",
            ));
        }
    };
    if mechanisms.is_empty() {
        return Ok(None);
    }
    let weight = |table: &Table| if silent { Some(1.0) } else { number(table, key) };
    let weights: Option<Vec<f64>> = mechanisms.iter().map(|table| weight(table)).collect();
    let Some(weights) = weights else { return Ok(None) };
    let all: f64 = weights.iter().sum();
    let Some(budget) = budget else {
        return Ok(if silent { None } else { Some((key, all)) });
    };
    positive(&format!("plan.{key}"), budget)?;
    for (table, weight) in mechanisms.iter_mut().zip(&weights) {
        table.insert(key.into(), Value::Float(budget * weight / all));
    }
    Ok(Some((key, budget)))
}
