//! The table `[derived]`: quantities that follow from the outputs.

use toml::de::DeTable;

use super::text;
use super::value::Table;
use crate::chain::{Derived, Problem};
use crate::error::Invalid;
use crate::model::Model;

/// Adds the quantities of `[derived]` to the problem, in the order of the text.
pub(super) fn add(root: &Table, problem: Problem) -> Result<Problem, Invalid> {
    let expressions = expressions(root)?;
    if expressions.is_empty() {
        return Ok(problem);
    }
    let found = problem.with_derived_quantities(&expressions);
    found.map_err(|invalid| invalid.under(&root.field("derived")))
}

/// The names and expressions.
fn expressions(root: &Table) -> Result<Vec<(String, String)>, Invalid> {
    let Some(value) = root.get("derived") else { return Ok(Vec::new()) };
    let table = value.table("lines such as difference = \"p[b] - p[a]\"")?;
    let expression = |key: &str| {
        let text = table.need(key, "an expression of the outputs, in quotes")?.text()?;
        Ok((key.to_string(), text))
    };
    table.keys_in_order().into_iter().map(expression).collect()
}

/// The names of the quantities of `[derived]`, in the order of the text.
pub fn derived_names(text: &str) -> Vec<String> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let found = expressions(&Table::root(root.get_ref())).unwrap_or_default();
    found.into_iter().map(|(name, _)| name).collect()
}

/// Those of the quantities `names` of a draw that are comparisons by the table `[derived]` of a
/// spec, or by the text of its model: 0 or 1 in every draw. A model that is no text need not be
/// known.
pub fn comparisons(text: &str, names: &[String]) -> Vec<String> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let root = Table::root(root.get_ref());
    let table = root.get("model").and_then(|model| model.table("a table").ok());
    let model = table.and_then(|table| text::model(&table).ok().flatten());
    let mut found: Vec<String> = model
        .as_ref()
        .and_then(Model::computed)
        .map_or_else(Vec::new, |computed| computed.comparisons().map(String::from).collect());
    found.retain(|name| names.contains(name));
    let expressions = expressions(&root).unwrap_or_default();
    found.extend(Derived::comparisons_among(&expressions, names));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    const SPEC: &str = r#"
        [release]
        n = 40
        values = [10, 30]
        statistic = "sum"
        query = { kind = "categories", labels = ["a", "b"] }
        mechanism = { kind = "discrete-laplace", scale = 2.0 }
        [model]
        kind = "categorical"
        prior = { kind = "dirichlet", alpha = 1.0 }
        [derived]
        "z first" = "p[b] - p[a]"
        "more b" = "count[b] > count[a]"
        "a share" = "count[a] / n"
    "#;

    #[test]
    fn quantities_are_in_the_order_of_the_text() {
        let problem = Spec::parse(SPEC).unwrap().problem;
        assert_eq!(problem.derived_names(), ["z first", "more b", "a share"]);
        assert_eq!(problem.comparisons(), ["more b"]);
    }

    /// A public n is a constant of the expressions, and no output.
    #[test]
    fn a_public_n_may_be_named() {
        let problem = Spec::parse(SPEC).unwrap().problem;
        assert!(!problem.outputs().contains(&"n".to_string()));
        let draw = problem.with_derived(vec![0.2, 0.8, 8.0, 32.0]);
        assert_eq!(draw[4..], [0.8 - 0.2, 1.0, 0.2]);
    }

    #[test]
    fn comparisons_are_known_without_the_model() {
        let outputs = Spec::parse(SPEC).unwrap().problem.outputs();
        let text = SPEC.replace("kind = \"categorical\"", "kind = \"a class in Python\"");
        assert_eq!(comparisons(&text, &outputs), ["more b"]);
        assert!(comparisons("not TOML", &outputs).is_empty());
        assert!(comparisons("[release]", &outputs).is_empty());
    }
}
