//! Histograms that leave out a part of the records.

use crate::check::Scope;
use crate::syntax::{Entry, Expression, Kind};

/// What is said of each histogram in `expression` whose argument can be outside its edges.
pub(super) fn notes(scope: &Scope<'_>, expression: &Expression) -> Vec<String> {
    let mut notes = Vec::new();
    let mut stack = vec![expression];
    while let Some(own) = stack.pop() {
        match &own.kind {
            Kind::Number(_) | Kind::Name(_) => {}
            Kind::Call { name, arguments, .. } => {
                if name == "histogram" {
                    notes.extend(note(scope, arguments));
                }
                stack.extend(arguments);
            }
            Kind::List(parts) => stack.extend(parts),
            Kind::Index { of, entries } => {
                stack.push(of);
                for entry in entries {
                    match entry {
                        Entry::At(at) => stack.push(at),
                        Entry::Range(ends) => stack.extend(ends.iter()),
                    }
                }
            }
            Kind::Negate(inner) | Kind::Not(inner) => stack.push(inner),
            Kind::Binary { sides, .. } => stack.extend(sides.iter()),
            Kind::If { parts } => stack.extend(parts.iter()),
        }
    }
    notes
}

fn note(scope: &Scope<'_>, arguments: &[Expression]) -> Option<String> {
    let [of, edges] = arguments else { return None };
    let (of, edges) = (scope.value(of).ok()?, scope.edges(edges).ok()?);
    let graph = scope.graph.borrow();
    let fact = graph.fact(*of.nodes.first()?);
    let end = |node: Option<&crate::graph::Node>| graph.constant_value(*node?);
    let (low, high) = (end(edges.value.nodes.first())?, end(edges.value.nodes.last())?);
    (fact.low < low || fact.high > high)
        .then(|| format!("outside [{low}, {high}] a record is in no bin"))
}
