//! A release that has not been made yet, in words.

use std::path::Path;

use soma::chain::Problem;
use soma::error::{counted, rounded};
use soma::plan::Plan;
use soma::release::Release;
use soma::spec::{Columns, PlanOptions, Spec, SpecError};
use toml::{Table, Value};

use super::alone;
use crate::exit::Failed;
use crate::spec_file;

/// The number of records that a draft without one is described for.
const RECORDS: i64 = 1000;

/// The parts of `[release]`, or the release itself.
pub(super) fn parts(root: &Table) -> Vec<&Table> {
    let Some(release) = root.get("release").and_then(Value::as_table) else { return Vec::new() };
    match release.get("parts").and_then(Value::as_array) {
        Some(parts) => parts.iter().filter_map(Value::as_table).collect(),
        None => vec![release],
    }
}

/// Whether a text is of a release that has not been made yet: no part has values; or a part has
/// none, and `[data]` or `[plan]` says why.
pub(super) fn is_draft(text: &str) -> bool {
    let root: Table = text.parse().unwrap_or_default();
    let parts = parts(&root);
    let mut lack = parts.iter().map(|part| !part.contains_key("values"));
    match root.contains_key("data") || root.contains_key("plan") {
        true => lack.any(|lacks| lacks),
        false => !parts.is_empty() && lack.all(|lacks| lacks),
    }
}

/// What the draft at `path` says.
pub(super) fn describe(path: &Path, text: &str) -> Result<String, Failed> {
    let (whole, note) = with_n(text);
    let said = match said(&whole) {
        // Only a model can say more of these.
        Err(error) if error.invalid.field.ends_with("statistics") && alone::is_of_text(&whole) => {
            Ok(alone::describe(&whole))
        }
        said => said,
    };
    said.map(|said| said + &note).map_err(|mut error| {
        if is_of_columns(&whole) && error.invalid.field.starts_with("model") {
            error.invalid.allowed +=
                "; or columns = [...] below [data]: the query takes as many values";
        }
        spec_file::bad(path, text, error.in_text(text))
    })
}

/// Whether a query takes a value for each column of a record, and no columns are named: it is taken to
/// be of one.
fn is_of_columns(text: &str) -> bool {
    let root: Table = text.parse().unwrap_or_default();
    let kind = |part: &&Table| part.get("query")?.get("kind")?.as_str().map(String::from);
    let mut kinds = parts(&root).into_iter().filter_map(|part| kind(&part));
    let is_named = root.get("data").is_some_and(|data| data.get("columns").is_some());
    !is_named && kinds.any(|kind| kind == "mean" || kind == "log-sum")
}

fn said(whole: &str) -> Result<String, SpecError> {
    let columns = Columns::parse(whole)?.names.map_or(1, |names| names.len());
    let root: Table = whole.parse().unwrap_or_default();
    if root.contains_key("plan") {
        let plan = Plan::parse(whole, PlanOptions::default())?;
        return Ok(of_problem(&plan.settings[0].problem, &planned(&root, &plan)));
    }
    Ok(match root.contains_key("model") {
        true => of_problem(&Spec::parse_unpublished(whole, columns)?.problem, ""),
        false => of_release(&Release::parse_unpublished(whole, columns)?),
    })
}

/// Which setting of a plan the noise is shown of, on a line of its own.
fn planned(root: &Table, plan: &Plan) -> String {
    let first = &plan.settings[0];
    let own = stated(root, plan.budget);
    let budget = match (first.budget, own) {
        (Some(amount), Some(own)) if (amount / own - 1.0).abs() > 1e-9 => format!(
            ", with the {0} {1} of [plan] in the place of the {0} {2} of [release]",
            plan.budget,
            rounded(amount),
            rounded(own)
        ),
        (Some(amount), _) => format!(", with {} {}", plan.budget, rounded(amount)),
        (None, _) => String::new(),
    };
    let settings = counted(plan.settings.len(), "setting");
    format!(
        "\nplan     {settings}; the noise above is that of the first, \"{}\"{budget}",
        first.design
    )
}

/// The budget that the mechanisms of `[release]` state, all together.
fn stated(root: &Table, budget: &str) -> Option<f64> {
    let number = |part: &&Table| {
        let value = part.get("mechanism")?.get(budget)?;
        value.as_float().or(value.as_integer().map(|whole| whole as f64))
    };
    parts(root).iter().map(number).sum()
}

/// The text with a number of records where it has none, as `soma release` takes it from the data.
fn with_n(text: &str) -> (String, String) {
    let mut root: Table = text.parse().unwrap_or_default();
    let is_planned = root.get("plan").is_some_and(|plan| plan.get("n").is_some());
    let Some(Value::Table(release)) = root.get_mut("release") else {
        return (text.to_string(), String::new());
    };
    let is_replace = release.get("neighbours").and_then(Value::as_str) != Some("add-remove");
    if release.contains_key("n") || is_planned {
        return (text.to_string(), String::new());
    }
    let (n, note) = match is_replace {
        true => {
            (Value::Integer(RECORDS), format!("\nn        that of the data; shown for {RECORDS}"))
        }
        false => (Value::String("unknown".into()), String::new()),
    };
    release.insert("n".into(), n);
    (toml::to_string(&root).unwrap_or_else(|_| text.to_string()), note)
}

/// A problem, and what is said of the plan.
fn of_problem(problem: &Problem, plan: &str) -> String {
    let model = problem.model().kind();
    let texts = [problem.model().describe(), problem.release().query().describe()];
    let texts: String =
        texts.iter().flatten().map(|text| format!("\n\n{}", text.trim_end())).collect();
    format!("{}{plan}\nmodel    {model}{texts}", of_release(problem.release()))
}

fn of_release(release: &Release) -> String {
    let moves = release.published_parts().iter().filter(|part| part.mechanism().is_some());
    let moves = moves.map(|part| {
        let name =
            if part.name().is_empty() { String::new() } else { format!("{}: ", part.name()) };
        let (replaced, added) =
            (part.query().sensitivity(), part.query().sensitivity_to_presence());
        format!(
            "\nmoves    {name}a record replaced moves the sum by l1 {}, l2 {}; added or removed by \
             l1 {}, l2 {}",
            rounded(replaced.l1),
            rounded(replaced.l2),
            rounded(added.l1),
            rounded(added.l2)
        )
    });
    format!(
        "release  {}{}\nvalues   none yet: `soma release` makes them from the data",
        release.describe(),
        moves.collect::<String>()
    )
}
