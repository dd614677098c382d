//! Bounds case by case: what a record can be is divided into cases, and each statistic has an
//! interval in each.
//!
//! Some nodes are cut: a discrete variable into its values, a node that is compared with constants
//! into these and the gaps between them. A case is one piece of each. Every record is in a case, and
//! its statistics are in the box of the intervals there, so two records are no farther apart than
//! the farthest points of two boxes. Statistics that are step functions of one expression have boxes
//! of one point each, and so the exact distances, whatever the expression is.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::sensitivity::{Sensitivity, norms};
use crate::graph::{Binary, Fact, Graph, Level, Node, Op, UNDEFINED, Unary};

/// The largest number of values of a discrete node that are told apart.
const MAX_VALUES: f64 = 64.0;

/// The largest number of pieces of a counted node that is capped.
const MAX_COUNTED: f64 = 1024.0;

/// The largest number of cases.
const MAX_CASES: usize = 4096;

/// The most intervals of nodes that are computed to find the cases.
const MAX_WORK: usize = 4_000_000;

/// The most pairs of intervals whose distance is computed.
const MAX_DISTANCES: usize = 400_000_000;

/// The boxes of the statistics, each once.
pub(super) struct Cases {
    boxes: Vec<Vec<Fact>>,
}

impl Cases {
    /// The cases of `nodes`: of all discrete variables and comparisons if these are few, and
    /// otherwise of those that the statistics are functions of, without the ones with most pieces.
    pub fn find(graph: &Graph, nodes: &[Node]) -> Option<Cases> {
        let cuts = cuts(graph, nodes);
        let all = Search::new(graph, nodes, &cuts).run();
        if all.is_some() || cuts.is_empty() {
            return all;
        }
        let mut outer = outermost(graph, nodes, &cuts);
        while !outer.is_empty() {
            if let Some(cases) = Search::new(graph, nodes, &outer).run() {
                return Some(cases);
            }
            drop_largest(&mut outer);
        }
        None
    }

    /// Whether the statistics are constant in each case.
    pub fn are_points(&self) -> bool {
        self.boxes.iter().flatten().all(|fact| fact.is_point())
    }

    /// The sensitivities to a record replaced, and added or removed.
    pub fn sensitivities(&self) -> [Sensitivity; 2] {
        let none = Sensitivity { l1: 0.0, l2: 0.0 };
        let (mut replace, mut add) = (none, none);
        let mut gaps = vec![0.0; self.boxes.first().map_or(0, Vec::len)];
        for (k, a) in self.boxes.iter().enumerate() {
            fill(&mut gaps, a.iter().map(|a| a.low.abs().max(a.high.abs())));
            add = add.larger(norms(&gaps));
            for b in &self.boxes[..=k] {
                fill(&mut gaps, a.iter().zip(b).map(|(a, b)| (a.high - b.low).max(b.high - a.low)));
                replace = replace.larger(norms(&gaps));
            }
        }
        [replace, add]
    }
}

fn fill(to: &mut [f64], from: impl Iterator<Item = f64>) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
}

type Cuts = BTreeMap<Node, Vec<Fact>>;

/// The pieces of each node that is cut.
fn cuts(graph: &Graph, nodes: &[Node]) -> Cuts {
    let order = graph.sources(nodes);
    let mut uses: BTreeMap<Node, Use> = BTreeMap::new();
    for &node in nodes {
        uses.entry(node).or_default().is_free = true;
    }
    for &node in &order {
        let entry = graph.entry(node);
        for (k, &arg) in entry.args().iter().enumerate() {
            let other = entry.args().get(1 - k.min(1)).and_then(|&b| graph.constant_value(b));
            let own = uses.entry(arg).or_default();
            match (entry.op, other) {
                (Op::Binary(Binary::Lt | Binary::Le | Binary::Eq), Some(value)) => {
                    own.points.push(value);
                }
                (Op::Binary(Binary::Min), Some(value)) => {
                    own.points.push(value);
                    own.is_capped = true;
                }
                _ => own.is_free = true,
            }
        }
    }
    let rows = order.iter().filter(|&&node| graph.level(node) == Level::Row);
    let cut = rows.filter_map(|&node| {
        let pieces = pieces(graph, node, uses.get(&node)?)?;
        (pieces.len() > 1).then_some((node, pieces))
    });
    cut.collect()
}

/// How a node is used.
#[derive(Default)]
struct Use {
    /// What it is compared with, or capped at.
    points: Vec<f64>,
    is_capped: bool,
    /// Whether it is used in another way.
    is_free: bool,
}

fn pieces(graph: &Graph, node: Node, own: &Use) -> Option<Vec<Fact>> {
    let (fact, op) = (graph.fact(node), graph.entry(node).op);
    let whole = |value: f64| Fact { low: value, high: value, integer: true };
    let each = |high: f64| {
        let count = high - fact.low + 1.0;
        (count >= 1.0).then(|| (0..count as usize).map(|k| whole(fact.low + k as f64)))
    };
    let is_source = match op {
        Op::Input(..) | Op::Unary(Unary::Floor) => true,
        Op::Binary(Binary::Lt | Binary::Le | Binary::Eq) => {
            graph.entry(node).args().iter().all(|&arg| graph.constant_value(arg).is_none())
        }
        _ => false,
    };
    let is_counted = fact.integer && (own.is_free || own.is_capped);
    if is_counted && is_source && fact.high - fact.low < MAX_VALUES {
        return each(fact.high).map(Iterator::collect);
    }
    let most = own.points.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
    if is_counted && own.is_capped && most - fact.low < MAX_COUNTED {
        let most = most.min(fact.high);
        let rest = Fact { low: most + 1.0, ..fact };
        return each(most)
            .map(|all| all.chain([rest].into_iter().filter(|f| !f.is_empty())).collect());
    }
    let is_compared = !own.points.is_empty() && (!own.is_capped || fact.integer);
    is_compared.then(|| between(&own.points, fact))
}

/// The points and the gaps between them.
fn between(points: &[f64], fact: Fact) -> Vec<Fact> {
    let mut points = points.to_vec();
    points.sort_by(f64::total_cmp);
    points.dedup();
    let mut pieces = Vec::new();
    let mut low = f64::NEG_INFINITY;
    for &point in &points {
        pieces.push(Fact { low, high: point.next_down(), integer: false });
        pieces.push(Fact::constant(point));
        low = point.next_up();
    }
    pieces.push(Fact { low, high: f64::INFINITY, integer: false });
    let inside =
        pieces.into_iter().map(|piece| Fact { integer: false, ..piece }.intersection(fact));
    inside.filter(|piece| !piece.is_empty()).collect()
}

/// The nodes of `cuts` that `nodes` are computed from, but not by way of others of them.
fn outermost(graph: &Graph, nodes: &[Node], cuts: &Cuts) -> Cuts {
    let (mut found, mut seen, mut stack) = (Cuts::new(), BTreeSet::new(), nodes.to_vec());
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        match cuts.get(&node) {
            Some(pieces) => drop(found.insert(node, pieces.clone())),
            None => stack.extend(graph.entry(node).args()),
        }
    }
    found
}

/// Leaves out the nodes with the most pieces: an eighth of all, and one at least.
fn drop_largest(cuts: &mut Cuts) {
    let mut sizes: Vec<(usize, Node)> =
        cuts.iter().map(|(&node, pieces)| (pieces.len(), node)).collect();
    sizes.sort();
    for (_, node) in sizes.into_iter().rev().take(1 + cuts.len() / 8) {
        cuts.remove(&node);
    }
}

/// The enumeration of the cases.
struct Search<'g> {
    graph: &'g Graph,
    order: Vec<Node>,
    /// The arguments of each of these, by their place in the order.
    args: Vec<Vec<usize>>,
    /// The pieces of each that is cut.
    pieces: Vec<Option<&'g [Fact]>>,
    may_be_undefined: Vec<bool>,
    /// The places of the statistics.
    wanted: Vec<usize>,
    facts: Vec<Fact>,
    boxes: Vec<Vec<Fact>>,
    known: HashSet<Vec<[u64; 2]>>,
    cases: usize,
    work: usize,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph, nodes: &[Node], cuts: &'g Cuts) -> Self {
        let order = graph.sources(nodes);
        let place = |node: &Node| order.binary_search(node).expect("a source");
        let args = order.iter().map(|&node| graph.entry(node).args().iter().map(place).collect());
        Search {
            args: args.collect(),
            pieces: order.iter().map(|node| cuts.get(node).map(Vec::as_slice)).collect(),
            may_be_undefined: graph.may_be_undefined(&order),
            wanted: nodes.iter().map(place).collect(),
            facts: vec![Fact::ANY; order.len()],
            boxes: Vec::new(),
            known: HashSet::new(),
            cases: 0,
            work: 0,
            graph,
            order,
        }
    }

    /// The cases, if they are not too many.
    fn run(mut self) -> Option<Cases> {
        self.descend(0)?;
        let distances = self.boxes.len() * self.boxes.len() / 2 * self.wanted.len();
        (distances <= MAX_DISTANCES).then_some(Cases { boxes: self.boxes })
    }

    /// All cases that begin with the pieces of the nodes before `from`.
    fn descend(&mut self, from: usize) -> Option<()> {
        if self.work > MAX_WORK {
            return None;
        }
        for at in from..self.order.len() {
            self.work += 1;
            let args: Vec<Fact> = self.args[at].iter().map(|&arg| self.facts[arg]).collect();
            let own = self.graph.enclosed(self.order[at], &args);
            if own.is_empty() {
                return Some(());
            }
            self.facts[at] = own;
            let Some(pieces) = self.pieces[at].filter(|_| !own.is_undefined()) else { continue };
            for piece in pieces {
                let part = own.intersection(*piece);
                if !part.is_empty() {
                    self.facts[at] = part;
                    self.descend(at + 1)?;
                }
            }
            if self.may_be_undefined[at] {
                self.facts[at] = UNDEFINED;
                self.descend(at + 1)?;
            }
            return Some(());
        }
        self.add()
    }

    /// The box of the case.
    fn add(&mut self) -> Option<()> {
        self.cases += 1;
        let of = |&at: &usize| match self.facts[at] {
            fact if fact.is_undefined() => self.graph.fact(self.order[at]),
            fact => fact,
        };
        let own: Vec<Fact> = self.wanted.iter().map(of).collect();
        let bits = |fact: &Fact| [fact.low + 0.0, fact.high + 0.0].map(f64::to_bits);
        if self.known.insert(own.iter().map(bits).collect()) {
            self.boxes.push(own);
        }
        (self.cases <= MAX_CASES).then_some(())
    }
}
