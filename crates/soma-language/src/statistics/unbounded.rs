//! The missing clamp of an unbounded statistic.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::{Binding, Role};
use crate::error::{Problem, Span};
use crate::graph::{Binary, Graph, Node, Op, Unary};

/// The error for a statistic without bounds: the names that need a clamp, or the operation that
/// makes bounded numbers unbounded.
pub(super) fn problem(
    graph: &Graph,
    node: Node,
    span: Span,
    names: &BTreeMap<String, Binding>,
) -> Problem {
    let (mut inputs, mut operations) = (BTreeSet::new(), Vec::new());
    search(graph, node, &mut inputs, &mut operations);
    let named: Vec<String> = inputs.iter().filter_map(|&input| name_of(input, names)).collect();
    let fact = graph.fact(node);
    let ends = match (fact.low.is_finite(), fact.high.is_finite()) {
        (true, false) => format!("it is at least {}, but has no upper bound", fact.low),
        (false, true) => format!("it is at most {}, but has no lower bound", fact.high),
        _ => "it can be any number".into(),
    };
    let help = match (named.as_slice(), operations.first()) {
        ([], Some(Op::Unary(Unary::Log))) => {
            "the argument of `log` can be 0: write `log(clamp(..., low, high))` with low above 0"
                .into()
        }
        ([], Some(Op::Unary(Unary::Sqrt))) => {
            "the argument of `sqrt` can be negative: write `sqrt(clamp(..., 0, high))`".into()
        }
        ([], Some(Op::Binary(Binary::Div))) => {
            "the divisor can be 0: clamp it away from 0, or clamp the statistic".into()
        }
        ([], _) => "clamp it: `clamp(..., low, high)`".into(),
        (names, _) => {
            let clamps: Vec<String> =
                names.iter().map(|name| format!("`clamp({name}, low, high)`")).collect();
            format!(
                "write {} in the place of {}",
                clamps.join(" and "),
                names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(" and ")
            )
        }
    };
    Problem::new(span, format!("the statistic has no bounds: {ends}"), help)
}

/// The unbounded inputs of `node`, and the operations that are unbounded on bounded arguments.
fn search(graph: &Graph, node: Node, inputs: &mut BTreeSet<Node>, operations: &mut Vec<Op>) {
    let mut stack = vec![node];
    let mut seen = BTreeSet::new();
    while let Some(top) = stack.pop() {
        if !seen.insert(top) || graph.fact(top).is_bounded() {
            continue;
        }
        let entry = graph.entry(top);
        if matches!(entry.op, Op::Input(..)) {
            inputs.insert(top);
        } else if entry.args().iter().all(|&arg| graph.fact(arg).is_bounded()) {
            operations.push(entry.op);
        }
        stack.extend(entry.args());
    }
}

fn name_of(node: Node, names: &BTreeMap<String, Binding>) -> Option<String> {
    let records = names.iter().filter(|(_, binding)| binding.role == Role::Record);
    records
        .filter_map(|(name, binding)| {
            let at = binding.value.nodes.iter().position(|&entry| entry == node)?;
            Some(binding.value.shape.entry_name(name, at))
        })
        .next()
}
