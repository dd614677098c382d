//! The point from which on statistics do not change with a coordinate, whatever they are computed
//! through.

use crate::graph::{Fact, Graph, Node, Op};

/// The smallest whole number from which on `nodes` do not change with the whole number `column`,
/// whatever the other coordinates are. `None` if there are at most `most` more values than its
/// smallest, or if it changes beyond these.
pub(super) fn settled_from(
    graph: &Graph,
    nodes: &[Node],
    column: Node,
    most: usize,
) -> Option<f64> {
    let fact = graph.fact(column);
    let is_many = fact.high - fact.low >= most as f64;
    if !fact.integer || !fact.low.is_finite() || !is_many {
        return None;
    }
    let order = graph.sources(nodes);
    let is_settled = |offset: usize| {
        let from = Fact { low: fact.low + offset as f64, ..fact };
        is_constant(graph, &order, nodes, column, from)
    };
    if !is_settled(most) {
        return None;
    }
    let (mut low, mut high) = (0, most);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if is_settled(middle) { high = middle } else { low = middle }
    }
    Some(fact.low + high as f64)
}

/// What is known of a node: its interval, and an interval for those of its values that change with
/// the coordinate, where that depends on the others. Without the second it does not change.
#[derive(Clone, Copy)]
struct Reach {
    all: Fact,
    moving: Option<Fact>,
}

/// Whether `nodes` are constant where the coordinate is in `from` and the others are fixed.
fn is_constant(graph: &Graph, order: &[Node], nodes: &[Node], column: Node, from: Fact) -> bool {
    let mut reach = vec![Reach { all: Fact::ANY, moving: None }; order.len()];
    let place = |node: &Node| order.binary_search(node).expect("a source");
    for (at, &node) in order.iter().enumerate() {
        if node == column {
            let moving = (!from.is_point()).then_some(from);
            reach[at] = Reach { all: from, moving };
            continue;
        }
        let args: Vec<Reach> =
            graph.entry(node).args().iter().map(|arg| reach[place(arg)]).collect();
        let all: Vec<Fact> = args.iter().map(|arg| arg.all).collect();
        let moving = match (graph.entry(node).op, &args[..]) {
            (Op::Select, [condition, yes, no]) if condition.moving.is_none() => {
                hull(yes.moving, no.moving)
            }
            _ => moving(graph, node, &args, &all),
        };
        reach[at] = Reach { all: graph.enclosed(node, &all), moving };
    }
    nodes.iter().all(|node| reach[place(node)].moving.is_none())
}

/// The values of `node` that change: where some of its arguments do, and the others do not.
fn moving(graph: &Graph, node: Node, args: &[Reach], all: &[Fact]) -> Option<Fact> {
    let subsets = 1..1usize << args.len();
    let own = subsets.filter_map(|subset| {
        let is_in = |k: usize| subset >> k & 1 == 1;
        let facts: Option<Vec<Fact>> =
            (0..args.len()).map(|k| if is_in(k) { args[k].moving } else { Some(all[k]) }).collect();
        let facts = facts?;
        if graph.leaves_domain(node, &facts) {
            return Some(Fact::ANY);
        }
        Some(graph.enclosed(node, &facts)).filter(|fact| !fact.is_point() && !fact.is_empty())
    });
    own.reduce(Fact::union)
}

fn hull(a: Option<Fact>, b: Option<Fact>) -> Option<Fact> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.union(b)),
        (a, b) => a.or(b),
    }
}
