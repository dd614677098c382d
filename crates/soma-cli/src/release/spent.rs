//! What releases of the same data spend together, and whether one more is allowed.

use soma::error::{counted, rounded};
use soma::release::mechanism::Neighbours;
use soma::spec::Limit;

use super::ledger::Entry;
use super::publish::Total;

/// Refuses a second release of the same data, unless it is asked for by `option`.
pub fn check_first(before: &[Entry], again: bool, option: &str) -> Result<(), String> {
    match before.last() {
        Some(last) if !again => Err(format!(
            "these data were released {}, last to {:?}; together that spent {}, and another release \
             spends its budget on top. Allowed: the release that there is, or {option}.",
            times(before.len()),
            last.published,
            together(before, None)
        )),
        _ => Ok(()),
    }
}

/// Refuses a release that spends more than the data may, together with those before it.
pub fn check_budget(before: &[Entry], now: &Entry, most: Option<Limit>) -> Result<(), String> {
    let all = sum(before, Some(now));
    let (name, most, spent) = match most {
        None => return Ok(()),
        Some(Limit::Epsilon(most)) if all.rho == 0.0 => ("epsilon", most, all.epsilon),
        Some(Limit::Rho(most)) => ("rho", most, all.rho_of_all()),
        Some(Limit::Epsilon(most)) => {
            return Err(format!(
                "data.budget: a part has Gaussian noise, which spends rho (given: epsilon {most}). \
                 Allowed: budget = {{ rho = ... }}."
            ));
        }
    };
    // The lattice that sums are computed on adds a little to a budget.
    if spent <= most * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(format!(
        "data.budget: all releases together would spend {name} {}: {} so far, in {}, and {} now \
         (given: {name} {most}). Allowed: a release that spends at most {name} {}.",
        rounded(spent),
        together(before, None),
        counted(before.len(), "release"),
        now.total().said(),
        rounded(room(before, now, most, name)),
    ))
}

/// How much of a budget a release like `now` may spend.
fn room(before: &[Entry], now: &Entry, most: f64, name: &str) -> f64 {
    // In the terms of both, in which what was spent before may count for more.
    let none = Entry { epsilon: 0.0, rho: 0.0, ..now.clone() };
    let (spent, times) = (sum(before, Some(&none)), Apart::of(before, Some(now)).times(now));
    match name {
        "rho" => (most - spent.rho_of_all()).max(0.0) / (times * times),
        _ => (most - spent.epsilon).max(0.0) / times,
    }
}

/// Between which data sets releases are counted together: the farthest apart of any of them.
struct Apart {
    is_replaced: bool,
    contributions: u64,
}

impl Apart {
    fn of(before: &[Entry], now: Option<&Entry>) -> Self {
        let all = || before.iter().chain(now);
        Apart {
            is_replaced: all().any(|entry| entry.is(Neighbours::Replace)),
            contributions: all().map(|entry| entry.contributions).max().unwrap_or(1),
        }
    }

    /// How many steps between neighbours of an entry lead from one of these data sets to another. A
    /// record that is replaced is one removed and one added, and a person with up to m records is m / k
    /// times one with up to k.
    fn times(&self, entry: &Entry) -> f64 {
        let two = self.is_replaced && entry.is(Neighbours::AddRemove);
        let groups = self.contributions.div_ceil(entry.contributions);
        groups as f64 * if two { 2.0 } else { 1.0 }
    }
}

/// What the releases so far and one more spend, between neighbours that suit all of them. k steps take k
/// times the epsilon, and k^2 times the rho (group privacy).
pub fn sum(before: &[Entry], now: Option<&Entry>) -> Total {
    let apart = Apart::of(before, now);
    before.iter().chain(now).fold(Total::default(), |sum, entry| {
        let times = apart.times(entry);
        Total {
            epsilon: sum.epsilon + times * entry.epsilon,
            rho: sum.rho + times * times * entry.rho,
        }
    })
}

/// The same in words.
fn together(before: &[Entry], now: Option<&Entry>) -> String {
    let (all, apart) = (|| before.iter().chain(now), Apart::of(before, now));
    let is_mixed = apart.is_replaced && all().any(|entry| entry.is(Neighbours::AddRemove));
    let note = if is_mixed { " where a record is replaced, one removed and one added" } else { "" };
    let most = apart.contributions;
    let person = match all().any(|entry| entry.contributions != most) {
        true => format!(" for a person with up to {most} records"),
        false => String::new(),
    };
    format!("{}{note}{person}", sum(before, now).said())
}

fn times(count: usize) -> String {
    if count == 1 { "once before".into() } else { format!("{count} times before") }
}

/// Says what had been spent before, if anything had.
pub fn warning(before: &[Entry], now: &Entry) -> Option<String> {
    (!before.is_empty()).then(|| {
        format!(
            "these data were released {}; all releases together spend {}",
            times(before.len()),
            together(before, Some(now))
        )
    })
}
